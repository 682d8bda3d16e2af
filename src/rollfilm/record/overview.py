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
from rollfilm.record.video import VideoOptions, padded_size
from rollfilm.render.layouts import averaged_size

__all__ = ["MAX_OVERVIEW_SIDE", "OverviewGrid", "OverviewVideo"]

#: Pixels that an overview is wide or high at most, as long as its cells keep at least one pixel, and pixels that become one at most.
MAX_OVERVIEW_SIDE = 1280
_MAX_FACTOR = 2048

#: Y, U and V of an empty cell, dark grey, and of the border of a world in success, RGB (40, 200, 80).
_EMPTY_YUV = (30, 128, 128)
_SUCCESS_YUV = (151, 91, 63)


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
        return min(math.ceil(side / MAX_OVERVIEW_SIDE), max(self.height, self.width), _MAX_FACTOR)

    @property
    def cell_size(self) -> tuple[int, int]:
        """The size (H, W) of a cell, even."""
        return averaged_size(padded_size(self.height, self.width), self.factor)

    @property
    def size(self) -> tuple[int, int]:
        """The size (H, W) of the overview."""
        return self.rows * self.cell_size[0], self.columns * self.cell_size[1]

    def compose(self, cells: NDArray[np.uint8], framed: Sequence[int] = ()) -> NDArray[np.uint8]:
        """The planes of one picture, uint8 (H * 3 / 2, W).

        Args:
            cells: the planes of each world, uint8 (B, h * 3 / 2, w), h and w being the size of a cell.
            framed: worlds that get a green border.
        """
        (height, width), thickness = self.cell_size, max(1, min(self.cell_size) // 96)
        grid = np.empty((self.size[0] * 3 // 2, self.size[1]), np.uint8)
        begin = first = 0
        for half, empty, success in zip((1, 2, 2), _EMPTY_YUV, _SUCCESS_YUV, strict=True):
            shape, border = (height // half, width // half), thickness * 2 // half
            area = shape[0] * shape[1]
            pictures = np.full((self.rows * self.columns, *shape), empty, np.uint8)
            pictures[: self.num_worlds] = cells.reshape(self.num_worlds, -1)[:, begin : begin + area].reshape(-1, *shape)
            for world in framed:
                picture = pictures[world]
                picture[:border] = picture[-border:] = success
                picture[:, :border] = picture[:, -border:] = success
            laid = pictures.reshape(self.rows, self.columns, *shape).transpose(0, 2, 1, 3)
            grid.reshape(-1)[first : first + pictures.size] = laid.reshape(-1)
            begin, first = begin + area, first + pictures.size
        return grid


class OverviewVideo:
    """The video of all worlds: a frame for the first reset and one for each control step.

    Pictures are put together in the encoder's thread.

    Args:
        path: of the file.
        pool: who encodes.
        camera: which one is shown.
        grid: where each world lies.
        fps: frames a second when played.
        options: how to encode.
    """

    def __init__(self, path: Path, pool: EncoderPool, camera: str, grid: OverviewGrid, fps: Fraction, options: VideoOptions) -> None:
        self._grid = grid
        self._camera = camera
        # what loses nothing is for machines; this is for eyes
        self._video = pool.open(path, self._grid.size, fps, VideoOptions() if options.encoder.lossless else options)

    @property
    def num_frames(self) -> int:
        """Frames so far."""
        return self._video.frames_submitted

    def add(self, slot: FrameSlot, framed: Sequence[int] = ()) -> None:
        """Append the pictures of all worlds; those in ``framed`` get a green border."""
        self._video.write(slot, lambda: self._grid.compose(slot.cells(self._camera, self._grid.factor), framed))

    def finish(self, path: Path | None = None) -> Future[None]:
        """Finish the file, under another name if one is given."""
        return self._video.finish(path)

    def discard(self) -> Future[None]:
        """Throw the file away."""
        return self._video.discard()
