"""One picture of all worlds: a near-square grid of one camera."""

import math
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rollfilm.record.pool import EncoderPool
from rollfilm.record.ring import FrameSlot
from rollfilm.record.video import VideoOptions

__all__ = ["MAX_OVERVIEW_SIDE", "OverviewGrid", "OverviewVideo", "box_downscale"]

#: Pixels that an overview is wide or high at most, as long as its cells keep at least one pixel.
MAX_OVERVIEW_SIDE = 1280

_EMPTY_GREY = 16
_SUCCESS_RGB = (40, 200, 80)


def box_downscale(images: NDArray[np.uint8], factor: int) -> NDArray[np.uint8]:
    """Average blocks of ``factor`` x ``factor`` pixels of images (B, H, W, C); an incomplete last block averages what it has."""
    if factor == 1:
        return images
    height, width = images.shape[1:3]
    sums = np.add.reduceat(np.add.reduceat(images, range(0, height, factor), axis=1, dtype=np.uint32), range(0, width, factor), axis=2)
    rows = np.minimum(factor, height - np.arange(0, height, factor))
    columns = np.minimum(factor, width - np.arange(0, width, factor))
    areas = (rows[:, None] * columns[None, :])[None, :, :, None].astype(np.uint32)
    return ((sums + areas // 2) // areas).astype(np.uint8)


@dataclass(frozen=True)
class OverviewGrid:
    """Where each world lies in the overview: in reading order, cells without a world dark.

    Attributes:
        num_worlds: B.
        height, width: of a camera's picture, pixels.
    """

    num_worlds: int
    height: int
    width: int

    @property
    def columns(self) -> int:
        """Cells in a row."""
        return math.ceil(math.sqrt(self.num_worlds))

    @property
    def rows(self) -> int:
        """Rows of cells; rows * columns >= B."""
        return math.ceil(self.num_worlds / self.columns)

    @property
    def factor(self) -> int:
        """How many pixels become one, in each direction."""
        side = max(self.columns * self.width, self.rows * self.height)
        return min(math.ceil(side / MAX_OVERVIEW_SIDE), max(self.height, self.width))

    @property
    def cell_size(self) -> tuple[int, int]:
        """The size (H, W) of a cell."""
        return math.ceil(self.height / self.factor), math.ceil(self.width / self.factor)

    @property
    def size(self) -> tuple[int, int]:
        """The size (H, W) of the overview."""
        return self.rows * self.cell_size[0], self.columns * self.cell_size[1]

    def compose(self, images: NDArray[np.uint8], framed: Sequence[int] = ()) -> NDArray[np.uint8]:
        """One picture uint8 (H, W, 3) of ``images`` (B, h, w, 3); the worlds in ``framed`` get a green border."""
        cells = np.full((self.rows * self.columns, *self.cell_size, 3), _EMPTY_GREY, np.uint8)
        cells[: self.num_worlds] = box_downscale(images, self.factor)
        thickness = max(1, min(self.cell_size) // 48)
        for world in framed:
            cell = cells[world]
            cell[:thickness] = cell[-thickness:] = _SUCCESS_RGB
            cell[:, :thickness] = cell[:, -thickness:] = _SUCCESS_RGB
        height, width = self.cell_size
        grid = cells.reshape(self.rows, self.columns, height, width, 3).transpose(0, 2, 1, 3, 4)
        return np.ascontiguousarray(grid.reshape(*self.size, 3))


class OverviewVideo:
    """The video of all worlds: a frame for the first reset and one for each control step.

    Pictures are scaled down and put together in the encoder's thread.

    Args:
        path: of the file.
        pool: who encodes.
        camera: which one is shown.
        shape: (B, H, W), number of worlds and size of the camera's pictures.
        fps: frames a second when played.
        options: how to encode.
    """

    def __init__(
        self, path: Path, pool: EncoderPool, camera: str, shape: tuple[int, int, int], fps: Fraction, options: VideoOptions
    ) -> None:
        self._grid = OverviewGrid(*shape)
        self._camera = camera
        self._video = pool.open(path, self._grid.size, fps, options)

    @property
    def num_frames(self) -> int:
        """Frames so far."""
        return self._video.frames_submitted

    def add(self, slot: FrameSlot, framed: Sequence[int] = ()) -> None:
        """Append the pictures of all worlds; those in ``framed`` get a green border."""
        self._video.write(slot, lambda: self._grid.compose(slot.arrays[self._camera], framed))

    def finish(self, path: Path | None = None) -> Future[None]:
        """Finish the file, under another name if one is given."""
        return self._video.finish(path)

    def discard(self) -> Future[None]:
        """Throw the file away."""
        return self._video.discard()
