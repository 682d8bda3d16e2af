import json
import resource
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest

from recorded_files import decode
from rollfilm.errors import InvalidArgumentError, RecordingError
from rollfilm.record.video import VideoOptions, VideoWriter


def write(path, pictures, fps=Fraction(20), options=None):
    writer = VideoWriter(path, *pictures[0].shape[:2], fps, options)
    for picture in pictures:
        writer.write(picture)
    writer.close()
    return path


@pytest.mark.parametrize("color", [(255, 0, 0), (0, 255, 0), (0, 0, 255), (255, 255, 255), (0, 0, 0), (200, 120, 40)])
def test_colors_come_back(tmp_path, color):
    picture = np.full((32, 48, 3), color, np.uint8)
    shown = decode(write(tmp_path / "color.mp4", [picture] * 3))
    assert np.abs(shown.astype(int) - picture).max() <= 3


def test_the_stream_says_bt709_and_limited_range(tmp_path):
    path = write(tmp_path / "tags.mp4", [np.zeros((16, 16, 3), np.uint8)])
    with av.open(str(path)) as container:
        context = container.streams.video[0].codec_context
        assert (context.colorspace, context.color_primaries, context.color_trc, context.color_range) == (1, 1, 1, 1)
        assert context.pix_fmt == "yuv420p"


@pytest.mark.parametrize(("height", "width"), [(1, 1), (63, 85), (64, 64), (84, 84), (90, 90), (1, 200), (2, 3)])
def test_any_size_is_written_as_it_is_and_padding_is_declared(tmp_path, height, width):
    column = np.linspace(0, 255, width).astype(np.uint8)
    picture = np.broadcast_to(column[None, :, None], (height, width, 3)).copy()
    path = write(tmp_path / "size.mp4", [picture] * 2, options=VideoOptions(crf=0))
    shown = decode(path)
    assert shown.shape == (2, height + height % 2, width + width % 2, 3)
    with av.open(str(path)) as container:
        declared = json.loads(container.metadata["comment"])["picture"]
    assert declared == {"width": width, "height": height, "pad_right": width % 2, "pad_bottom": height % 2}
    # luma is kept for each pixel; greys need no chroma
    assert np.abs(shown[:, :height, :width].astype(int) - picture).max() <= 2
    if width % 2:
        assert np.abs(shown[:, :, -1].astype(int) - shown[:, :, -2]).max() <= 2


@pytest.mark.parametrize("fps", [Fraction(20), Fraction(30), Fraction(30000, 1001), Fraction(1, 2), Fraction(500)])
def test_presentation_times_are_integers_at_any_rate(tmp_path, fps):
    path = write(tmp_path / "rate.mp4", [np.full((16, 16, 3), 10 * k, np.uint8) for k in range(7)], fps)
    with av.open(str(path)) as container:
        times = [frame.pts * frame.time_base for frame in container.decode(video=0)]
    assert times == [k / fps for k in range(7)]


def test_the_same_pictures_give_the_same_bytes(tmp_path):
    pictures = list(np.random.default_rng(0).integers(0, 256, (12, 40, 52, 3), np.uint8))
    assert write(tmp_path / "a.mp4", pictures).read_bytes() == write(tmp_path / "b.mp4", pictures).read_bytes()


def test_the_encoder_runs_without_what_does_not_repeat(tmp_path):
    # one file in hundreds differs with the macroblock tree: too rare to wait for; x264 writes its settings into the stream
    stream = write(tmp_path / "a.mp4", [np.zeros((16, 16, 3), np.uint8)]).read_bytes()
    assert b" mbtree=0 " in stream
    assert b" threads=1 " in stream
    assert b" bframes=0 " in stream


def test_a_video_has_its_name_only_once_it_is_whole(tmp_path):
    writer = VideoWriter(tmp_path / "late.mp4", 16, 16, Fraction(20))
    for _ in range(60):
        writer.write(np.zeros((16, 16, 3), np.uint8))
    assert [path.name for path in tmp_path.iterdir()] == ["late.mp4.part"]
    writer.close()
    assert [path.name for path in tmp_path.iterdir()] == ["late.mp4"]


def test_an_aborted_video_leaves_nothing(tmp_path):
    writer = VideoWriter(tmp_path / "gone.mp4", 16, 16, Fraction(20))
    for _ in range(60):
        writer.write(np.zeros((16, 16, 3), np.uint8))
    writer.abort()
    assert list(tmp_path.iterdir()) == []


def test_aborting_never_fails(tmp_path, monkeypatch):
    # it runs in an encoder's thread, which must go on with the other videos
    def refuse(self, missing_ok=False):
        raise PermissionError(13, "Permission denied")

    writer = VideoWriter(tmp_path / "stuck.mp4", 16, 16, Fraction(20))
    writer.write(np.zeros((16, 16, 3), np.uint8))
    monkeypatch.setattr(Path, "unlink", refuse)
    writer.abort()
    assert not (tmp_path / "stuck.mp4").exists()


def test_a_full_disk_is_one_clear_error_that_leaves_nothing(tmp_path):
    noise = np.random.default_rng(0).integers(0, 256, (8, 128, 128, 3), np.uint8)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, hard))
    try:
        with pytest.raises(RecordingError, match=r"cannot write .*full\.mp4"):
            write(tmp_path / "full.mp4", list(noise))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert not (tmp_path / "full.mp4").exists()


def test_a_picture_of_another_size_is_refused(tmp_path):
    writer = VideoWriter(tmp_path / "size.mp4", 16, 16, Fraction(20))
    with pytest.raises(InvalidArgumentError, match=r"\(16, 18, 3\) came"):
        writer.write(np.zeros((16, 18, 3), np.uint8))
    writer.abort()


@pytest.mark.parametrize("wrong", [{"codec": "mjpeg"}, {"preset": "warp"}, {"crf": 52}, {"keyframe_interval": 0}])
def test_unknown_options_are_refused(wrong):
    with pytest.raises(InvalidArgumentError, match=next(iter(wrong))):
        VideoOptions(**wrong)
