import numpy as np
import pytest

from rollfilm.record.overview import MAX_OVERVIEW_SIDE, OverviewGrid
from rollfilm.record.planes import rgb_of_planes
from rollfilm.render.layouts import averaged_size
from rollfilm.render.yuv import averaged_on_host, yuv420_of


def composed(grid, images, framed=()):
    """The colours (H, W, 3) of an overview of images (B, h, w, 3)."""
    return rgb_of_planes(grid.compose(averaged_on_host(yuv420_of(images), grid.factor), framed), grid.size)


@pytest.mark.parametrize(
    ("num_worlds", "rows", "columns"), [(1, 1, 1), (2, 1, 2), (3, 2, 2), (5, 2, 3), (7, 3, 3), (16, 4, 4), (128, 11, 12)]
)
def test_the_grid_is_nearly_square(num_worlds, rows, columns):
    grid = OverviewGrid(num_worlds, 8, 8)
    assert (grid.rows, grid.columns) == (rows, columns)


@pytest.mark.parametrize(("height", "width"), [(6, 8), (5, 7)])
def test_seven_worlds_lie_in_reading_order_and_the_rest_is_dark(height, width):
    images = np.broadcast_to((10 * np.arange(1, 8, dtype=np.uint8))[:, None, None, None] + 100, (7, height, width, 3))
    picture = composed(OverviewGrid(7, height, width), images)
    assert picture.shape == (18, 24, 3)
    cells = picture.reshape(3, 6, 3, 8, 3)
    assert np.abs(cells[:, 3, :, 4].astype(int) - np.array([[110, 120, 130], [140, 150, 160], [170, 16, 16]])[:, :, None]).max() <= 1
    assert (cells == cells[:, 3:4, :, 4:5]).all(), "cells are filled to their edges"


def test_a_world_in_success_has_a_green_border():
    picture = composed(OverviewGrid(4, 48, 48), np.full((4, 48, 48, 3), 90, np.uint8), framed=[3])
    assert np.abs(picture[[48, -1], [48, -1]].astype(int) - [40, 200, 80]).max() <= 2
    assert np.abs(picture[:48].astype(int) - 90).max() <= 1
    assert np.abs(picture[50:94, 50:94].astype(int) - 90).max() <= 1


def test_large_overviews_are_averaged_down():
    grid = OverviewGrid(16, 512, 512)
    assert grid.factor == 2
    assert max(grid.size) <= MAX_OVERVIEW_SIDE
    assert max(OverviewGrid(128, 512, 512).size) <= MAX_OVERVIEW_SIDE


@pytest.mark.parametrize("factor", [1, 2, 3, 5])
@pytest.mark.parametrize(("height", "width"), [(14, 10), (64, 5000), (2, 2)])
def test_the_average_is_that_of_the_block_also_at_the_edge(factor, height, width):
    planes = np.random.default_rng(0).integers(0, 256, (2, height * 3 // 2, width), np.uint8)
    small = averaged_on_host(planes, factor).reshape(2, -1)
    rows, columns = averaged_size((height, width), factor)
    begin = out = 0
    for half in (1, 2, 2):
        h, w, r, c = height // half, width // half, rows // half, columns // half
        plane = planes.reshape(2, -1)[:, begin : begin + h * w].reshape(2, h, w).astype(float)
        for y in range(r):
            for x in {0, c // 2, c - 1}:
                y0, x0 = min(y, (h - 1) // factor) * factor, min(x, (w - 1) // factor) * factor
                mean = plane[:, y0 : y0 + factor, x0 : x0 + factor].mean(axis=(1, 2))
                assert np.abs(small[:, out + y * c + x] - mean).max() <= 0.5
        begin, out = begin + h * w, out + r * c
