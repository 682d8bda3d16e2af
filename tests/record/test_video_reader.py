from fractions import Fraction

import av
import numpy as np
import pytest

from rollfilm.errors import RecordingError
from rollfilm.record import VideoOptions, VideoReader, VideoWriter


def write(path, count=47, size=(48, 64), options=None, fps=Fraction(20)):
    """A video whose frame k has the level 5 * k."""
    with_noise = np.random.default_rng(0).integers(0, 3, (*size, 1), np.uint8)
    writer = VideoWriter(path, *size, fps, options or VideoOptions())
    for k in range(count):
        writer.write(np.broadcast_to(with_noise + 5 * k, (*size, 3)).astype(np.uint8))
    writer.close()
    return path


def level(picture):
    return round(float(picture.mean() - 1) / 5)


def test_any_frame_is_the_right_one_in_any_order(tmp_path):
    with VideoReader(write(tmp_path / "a.mp4")) as video:
        assert len(video) == 47
        order = [*np.random.default_rng(1).permutation(47).tolist(), 46, 0, 19, 20, 21, 21, 20, 3, 4, 5]
        assert [level(video[k]) for k in order] == order
        assert [level(picture) for picture in video] == list(range(47))
        assert level(video[-1]) == 46
        # after an iteration that was broken off
        for picture in video:
            assert level(picture) == 0
            break
        assert level(video[30]) == 30


def test_a_picture_is_the_same_however_it_is_reached(tmp_path):
    with VideoReader(write(tmp_path / "a.mp4")) as video:
        for k, picture in enumerate(list(video)):
            assert level(video[46 - k]) == 46 - k
            np.testing.assert_array_equal(video[k], picture)


@pytest.mark.parametrize("size", [(63, 85), (64, 64), (84, 84), (90, 90), (1, 1)])
def test_padding_is_cut_off(tmp_path, size):
    with VideoReader(write(tmp_path / "a.mp4", 3, size)) as video:
        assert video.size == size
        assert [picture.shape for picture in video] == [(*size, 3)] * 3
        assert (video[2].dtype, video[2].flags.c_contiguous) == (np.uint8, True)


@pytest.mark.parametrize("color", [(255, 0, 0), (0, 255, 0), (0, 0, 255), (200, 120, 40), (0, 0, 0), (255, 255, 255)])
def test_colors_come_back(tmp_path, color):
    writer = VideoWriter(tmp_path / "a.mp4", 32, 48, Fraction(20))
    writer.write(np.full((32, 48, 3), color, np.uint8))
    writer.close()
    with VideoReader(tmp_path / "a.mp4") as video:
        assert np.abs(video[0].astype(int) - color).max() <= 3


@pytest.mark.parametrize("fps", [Fraction(20), Fraction(30000, 1001), Fraction(1, 2)])
def test_times_are_those_of_the_file(tmp_path, fps):
    with VideoReader(write(tmp_path / "a.mp4", 23, fps=fps)) as video:
        assert video.fps == fps
        assert [int(pts) * video.time_base for pts in video.pts] == [k / fps for k in range(23)]
        assert [level(video[k]) for k in (22, 3, 21)] == [22, 3, 21]


def test_videos_of_others_with_frames_out_of_order_are_read_in_the_order_of_presentation(tmp_path):
    with av.open(str(tmp_path / "b.mp4"), "w") as container:
        stream = container.add_stream("libx264", rate=10, options={"bf": "3", "b-adapt": "0"})
        stream.width, stream.height, stream.pix_fmt = 48, 32, "yuv420p"
        for k in range(20):
            container.mux(stream.encode(av.VideoFrame.from_ndarray(np.full((32, 48, 3), 5 * k + 1, np.uint8), format="rgb24")))
        container.mux(stream.encode(None))
    with VideoReader(tmp_path / "b.mp4") as video:
        assert [level(picture) for picture in video] == list(range(20))
        assert [level(video[k]) for k in (13, 2, 19, 0)] == [13, 2, 19, 0]


def test_what_is_no_video_or_damaged_is_an_error_with_the_file_s_name(tmp_path):
    with pytest.raises(RecordingError, match=r"none\.mp4 cannot be read: No such file"):
        VideoReader(tmp_path / "none.mp4")
    (tmp_path / "text.mp4").write_text("no video" * 100)
    with pytest.raises(RecordingError, match=r"text\.mp4 cannot be read"):
        VideoReader(tmp_path / "text.mp4")
    whole = write(tmp_path / "a.mp4")
    (tmp_path / "cut.mp4").write_bytes(whole.read_bytes()[:1000])
    with pytest.raises(RecordingError, match=r"cut\.mp4 cannot be read"):
        VideoReader(tmp_path / "cut.mp4")
    with VideoReader(whole) as video, pytest.raises(IndexError, match="47 frames; frame 47 was asked for"):
        video[47]


def test_a_declared_picture_that_does_not_fit_is_an_error(tmp_path):
    with av.open(str(tmp_path / "c.mp4"), "w") as container:
        container.metadata["comment"] = '{"picture": {"width": 200, "height": 20}}'
        stream = container.add_stream("libx264", rate=10)
        stream.width, stream.height, stream.pix_fmt = 48, 32, "yuv420p"
        container.mux(stream.encode(av.VideoFrame.from_ndarray(np.zeros((32, 48, 3), np.uint8), format="rgb24")))
        container.mux(stream.encode(None))
    with pytest.raises(RecordingError, match="declares a picture of 200x20 in 48x32 pixels"):
        VideoReader(tmp_path / "c.mp4")
