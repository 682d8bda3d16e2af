from fractions import Fraction

import numpy as np
import pytest

from rollfilm.record import VideoOptions, VideoWriter
from rollfilm.record.statistics import ColumnSpool, histogram_statistics, picture_histogram, sampled_frames, vector_statistics


def check(statistics, values):
    for name, expected in (("min", values.min(0)), ("max", values.max(0)), ("mean", values.mean(0)), ("std", values.std(0))):
        np.testing.assert_allclose(statistics[name].ravel(), expected, atol=1e-12)
    for name, quantile in (("q01", 0.01), ("q10", 0.1), ("q50", 0.5), ("q90", 0.9), ("q99", 0.99)):
        np.testing.assert_allclose(statistics[name].ravel(), np.quantile(values, quantile, axis=0), atol=1e-12)


@pytest.mark.parametrize("count", [1, 2, 3, 7, 50, 1001])
def test_statistics_of_a_histogram_are_those_of_the_pixels(count):
    pixels = np.random.default_rng(count).integers(0, 256, (count, 3))
    counts = np.stack([np.bincount(pixels[:, channel], minlength=256) for channel in range(3)])
    statistics = histogram_statistics(counts, 5)
    assert statistics["count"].tolist() == [5]
    assert statistics["q10"].shape == (3, 1, 1)
    check(statistics, pixels / 255)


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.bool_])
def test_a_spool_gives_the_statistics_of_all_rows(tmp_path, dtype):
    rows = np.random.default_rng(0).normal(0, 3, (300, 4)).astype(dtype)
    spool = ColumnSpool(tmp_path, rows.dtype)
    for start in range(0, 300, 7):
        spool.append(rows[start : start + 7])
    statistics = spool.statistics()
    spool.close()
    assert statistics["count"].tolist() == [300]
    check(statistics, rows.astype(np.float64))
    check(vector_statistics(rows), rows.astype(np.float64))
    assert not list(tmp_path.iterdir())


def test_sampled_frames_are_all_or_evenly_spaced():
    assert sampled_frames(1) == [0]
    assert sampled_frames(16) == list(range(16))
    assert sampled_frames(31) == list(range(0, 31, 2))
    assert len(sampled_frames(1000)) == 16
    assert sampled_frames(1000)[::15] == [0, 999]


def test_large_pictures_are_looked_at_in_every_other_pixel(tmp_path):
    writer = VideoWriter(tmp_path / "a.mp4", 64, 320, Fraction(20), VideoOptions())
    for _ in range(3):
        writer.write(np.full((64, 320, 3), 80, np.uint8))
    writer.close()
    counts = picture_histogram(tmp_path / "a.mp4", [0, 2])
    assert counts.sum(1).tolist() == [2 * 32 * 160] * 3
    assert np.abs(counts.argmax(1) - 80).max() <= 2
