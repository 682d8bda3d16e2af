import numpy as np
import pytest

from rollfilm.record.overview import MAX_OVERVIEW_SIDE, OverviewGrid, box_downscale


@pytest.mark.parametrize(
    ("num_worlds", "rows", "columns"), [(1, 1, 1), (2, 1, 2), (3, 2, 2), (5, 2, 3), (7, 3, 3), (16, 4, 4), (128, 11, 12)]
)
def test_the_grid_is_nearly_square(num_worlds, rows, columns):
    grid = OverviewGrid(num_worlds, 8, 8)
    assert (grid.rows, grid.columns) == (rows, columns)


def test_seven_worlds_lie_in_reading_order_and_the_rest_is_dark():
    images = np.broadcast_to((10 * np.arange(1, 8, dtype=np.uint8))[:, None, None, None] + 100, (7, 6, 8, 3))
    picture = OverviewGrid(7, 6, 8).compose(images)
    assert picture.shape == (18, 24, 3)
    cells = picture.reshape(3, 6, 3, 8, 3)[:, 3, :, 4, 0]
    assert cells.tolist() == [[110, 120, 130], [140, 150, 160], [170, 16, 16]]


def test_a_world_in_success_has_a_green_border():
    picture = OverviewGrid(4, 48, 48).compose(np.full((4, 48, 48, 3), 90, np.uint8), framed=[3])
    assert picture[48, 48].tolist() == [40, 200, 80]
    assert picture[-1, -1].tolist() == [40, 200, 80]
    assert (picture[:48] == 90).all()
    assert (picture[50:94, 50:94] == 90).all()


def test_large_overviews_are_averaged_down():
    grid = OverviewGrid(16, 512, 512)
    assert grid.factor == 2
    assert max(grid.size) <= MAX_OVERVIEW_SIDE
    assert max(OverviewGrid(128, 512, 512).size) <= MAX_OVERVIEW_SIDE


def test_the_average_is_that_of_the_block_also_at_the_edge():
    images = np.random.default_rng(0).integers(0, 256, (2, 7, 5, 3)).astype(np.uint8)
    small = box_downscale(images, 3)
    assert small.shape == (2, 3, 2, 3)
    for row in range(3):
        for column in range(2):
            block = images[:, 3 * row : 3 * row + 3, 3 * column : 3 * column + 3].astype(float)
            assert np.abs(small[:, row, column] - block.mean(axis=(1, 2))).max() <= 0.5
