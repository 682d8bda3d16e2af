"""Statistics of the columns of a dataset: exact, over all rows, in constant memory."""

import tempfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rollfilm.errors import RecordingError
from rollfilm.record.video_reader import VideoReader

__all__ = ["QUANTILES", "ColumnSpool", "histogram_statistics", "picture_histogram", "sampled_frames", "vector_statistics"]

#: The quantiles that LeRobot asks for, by their names.
QUANTILES: Mapping[str, float] = {"q01": 0.01, "q10": 0.10, "q50": 0.50, "q90": 0.90, "q99": 0.99}

#: Sides from which on LeRobot looks at every k-th pixel only, and what is left of them.
_LARGE_SIDE, _SMALL_SIDE = 300, 150


def vector_statistics(rows: NDArray) -> dict[str, NDArray]:
    """``min``, ``max``, ``mean``, ``std`` (of the population) and quantiles of each column of (N, D) numbers, each float64 (D,), and
    ``count``, int64 (1,). Quantiles are interpolated linearly, as NumPy's are.
    """
    values = np.asarray(rows, np.float64)
    statistics = {"min": values.min(0), "max": values.max(0), "mean": values.mean(0), "std": values.std(0)}
    quantiles = np.quantile(values, list(QUANTILES.values()), axis=0)
    return {**statistics, "count": np.array([len(values)]), **dict(zip(QUANTILES, quantiles, strict=True))}


class ColumnSpool:
    """Keeps the rows of a column of vectors on the disk, for statistics over all of them.

    Args:
        folder: where they go, in a file without a name, which a killed process leaves nothing of.
        dtype: of the numbers.
    """

    def __init__(self, folder: Path, dtype: np.dtype) -> None:
        self._file = tempfile.TemporaryFile(dir=str(folder))  # noqa: SIM115  closed by close()
        self._dtype = dtype
        self._width = 0

    def append(self, rows: NDArray) -> None:
        """Append rows (N, D).

        Raises:
            RecordingError: no room on the disk.
        """
        self._width = rows.shape[1]
        try:
            self._file.write(np.ascontiguousarray(rows, self._dtype).tobytes())
        except OSError as error:
            raise RecordingError(f"cannot keep the rows of a dataset: {error.strerror or error}") from error

    def statistics(self) -> dict[str, NDArray]:
        """Those of :func:`vector_statistics`; one component at a time is in memory."""
        self._file.flush()
        rows = np.memmap(self._file, self._dtype, "r").reshape(-1, self._width)
        columns = [vector_statistics(rows[:, k : k + 1]) for k in range(self._width)]
        return {name: columns[0][name] if name == "count" else np.concatenate([c[name] for c in columns]) for name in columns[0]}

    def close(self) -> None:
        """Give the file back."""
        self._file.close()


def sampled_frames(num_frames: int, at_most: int = 16) -> list[int]:
    """Which frames of an episode are looked at for the statistics of its pictures: evenly spaced, first and last among them."""
    return np.unique(np.linspace(0, num_frames - 1, min(at_most, num_frames)).round().astype(int)).tolist()


def picture_histogram(path: Path, frames: list[int]) -> NDArray[np.int64]:
    """How often each value occurs in each channel, int64 (3, 256), in some frames of a video.

    Of large pictures only every k-th row and column counts, by LeRobot's rule.

    Raises:
        RecordingError: the video cannot be read.
    """
    counts = np.zeros((3, 256), np.int64)
    with VideoReader(path) as video:
        height, width = video.size
        longest = max(height, width)
        stride = longest // _SMALL_SIDE if longest >= _LARGE_SIDE else 1
        for frame in frames:
            picture = video[frame][::stride, ::stride]
            for channel in range(3):
                counts[channel] += np.bincount(picture[..., channel].ravel(), minlength=256)
    return counts


def histogram_statistics(counts: NDArray[np.int64], num_frames: int) -> dict[str, NDArray]:
    """Statistics of pixel values in [0, 1] from how often each of 0 to 255 occurs, (3, 256): exactly those of the pixels.

    Returns:
        ``min``, ``max``, ``mean``, ``std`` and quantiles as float64 (3, 1, 1), and ``count``, the number of frames, int64 (1,).
    """
    levels = np.arange(256) / 255
    total = counts.sum(1, keepdims=True)
    mean = (counts * levels).sum(1, keepdims=True) / total
    std = np.sqrt((counts * (levels - mean) ** 2).sum(1, keepdims=True) / total)
    cumulative = counts.cumsum(1)

    def value_at(rank: NDArray) -> NDArray:
        """The value of the pixel with this rank, (3, 1), in each channel."""
        return levels[[int(np.searchsorted(cumulative[c], rank[c, 0], side="right")) for c in range(3)]][:, None]

    statistics = {"min": value_at(np.zeros((3, 1), int)), "max": value_at(total - 1), "mean": mean, "std": std}
    for name, quantile in QUANTILES.items():
        position = quantile * (total - 1)
        below = np.floor(position).astype(np.int64)
        low, high = value_at(below), value_at(np.minimum(below + 1, total - 1))
        statistics[name] = low + (high - low) * (position - below)
    shaped = {name: value.reshape(3, 1, 1) for name, value in statistics.items()}
    return {**shaped, "count": np.array([num_frames])}
