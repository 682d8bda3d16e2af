from fractions import Fraction

import av
import numpy as np
import pytest
from PIL import Image

from full_disk import files_of_at_most
from rollfilm.record import VideoWriter
from rollfilm.record.poster import MAX_POSTER_SIDE, poster_size, write_poster


def write(folder, pictures):
    writer = VideoWriter(folder / "a.mp4", *pictures[0].shape[:2], Fraction(20), poster=folder / "a.jpg")
    for picture in pictures:
        writer.write(picture)
    writer.close()
    return folder / "a.jpg"


def flat(height, width, colour):
    return np.broadcast_to(np.array(colour, np.uint8), (height, width, 3)).copy()


@pytest.mark.parametrize("colour", [(200, 40, 60), (30, 180, 90), (20, 60, 230), (0, 0, 0), (255, 255, 255)])
def test_the_poster_is_the_last_frame_in_its_colours(tmp_path, colour):
    poster = write(tmp_path, [flat(64, 64, (128, 128, 128)), flat(64, 64, colour)])
    with Image.open(poster) as image:
        assert image.format == "JPEG"
        assert np.abs(np.asarray(image.convert("RGB")).astype(int) - colour).max() <= 6


@pytest.mark.parametrize(("height", "width"), [(64, 64), (85, 63), (1, 1), (1, 3), (90, 84), (512, 512), (500, 1301), (2, 2000)])
def test_posters_have_the_shape_of_the_picture_without_padding(tmp_path, height, width):
    with Image.open(write(tmp_path, [flat(height, width, (90, 90, 90))])) as image:
        assert image.size == poster_size(height, width)[::-1]
        assert max(image.size) == min(MAX_POSTER_SIDE, max(height, width))
        assert abs(image.size[0] * height - image.size[1] * width) <= max(height, width)


def test_the_padding_of_odd_sides_is_not_in_the_poster(tmp_path):
    picture = np.zeros((9, 9, 3), np.uint8)
    picture[:, 8] = 255
    with Image.open(write(tmp_path, [picture])) as image:
        row = np.asarray(image.convert("L")).astype(int)[4]
    assert row[:8].max() < 60
    assert row[8] > 195


def test_the_same_pictures_give_the_same_poster(tmp_path):
    pictures = [np.random.default_rng(0).integers(0, 256, (90, 84, 3)).astype(np.uint8)] * 3
    (tmp_path / "again").mkdir()
    assert write(tmp_path, pictures).read_bytes() == write(tmp_path / "again", pictures).read_bytes()


def test_a_poster_that_cannot_be_written_costs_no_video(tmp_path):
    writer = VideoWriter(tmp_path / "a.mp4", 16, 16, Fraction(20), poster=tmp_path / "no" / "a.jpg")
    writer.write(flat(16, 16, (1, 2, 3)))
    writer.close()
    assert [path.name for path in tmp_path.iterdir()] == ["a.mp4"]


def test_a_poster_on_a_full_disk_is_not_there_at_all(tmp_path):
    noise = av.VideoFrame.from_ndarray(np.random.default_rng(0).integers(0, 256, (300, 300, 3)).astype(np.uint8), format="rgb24")
    assert write_poster(tmp_path / "a.jpg", noise, (300, 300))
    assert (tmp_path / "a.jpg").stat().st_size > 10_000
    with files_of_at_most(5_000):
        assert not write_poster(tmp_path / "b.jpg", noise, (300, 300))
    assert [path.name for path in tmp_path.iterdir()] == ["a.jpg"]
