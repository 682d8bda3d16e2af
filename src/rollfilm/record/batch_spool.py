"""Rows of many worlds, appended a whole batch at a time and read back world by world, in constant memory."""

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from rollfilm.errors import RecordingError

__all__ = ["BatchSpool", "LeafPath"]

#: Where a leaf of nested mappings is: ``("obs", "rgb", "front")``.
LeafPath = tuple[str, ...]

#: Bytes of rows that stay in memory, of all worlds together.
_MEMORY_BYTES = 16 << 20
_MOST_ROWS = 64


class BatchSpool:
    """Keeps rows of arrays for each of B worlds. Appending is a copy of each array, however many worlds there are.

    The last rows of each world are in memory; older ones go to unnamed files, which a killed process leaves nothing of.

    Args:
        folder: where the files are.
        num_worlds: B.
    """

    def __init__(self, folder: Path, num_worlds: int) -> None:
        self._folder = folder
        self._paths: list[LeafPath] = []
        self._kinds: list[tuple[np.dtype, tuple[int, ...]]] = []
        self._fields: list[NDArray] = []
        self._row = np.dtype(np.void)
        self._batch = np.empty(num_worlds, np.uint8)
        self._buffer = np.empty((num_worlds, 0), np.uint8)
        self._in_memory = np.zeros(num_worlds, np.int64)
        self._on_disk = np.zeros(num_worlds, np.int64)
        self._files: dict[int, IO[bytes]] = {}

    def append(self, worlds: Sequence[int], leaves: Mapping[LeafPath, NDArray]) -> None:
        """Append a row to some worlds.

        Args:
            worlds: which.
            leaves: arrays of all worlds (B, ...).

        Raises:
            RecordingError: other arrays, shapes or types than in the rows before, or no room on the disk.
        """
        if not self._paths:
            self._allocate(leaves)
        kinds = [(leaf.dtype, leaf.shape) for leaf in leaves.values()]
        if kinds != self._kinds or list(leaves) != self._paths:
            before = dict(zip(self._paths, self._kinds, strict=True))
            raise RecordingError(f"rows of the arrays {dict(zip(leaves, kinds, strict=True))} came, those before have {before}")
        index = np.array(worlds, np.int64)
        places = self._in_memory[index]
        if (full := places == self._buffer.shape[1]).any():
            for world in index[full].tolist():
                self._flush(world)
            places[full] = 0
        # put together first, as plain bytes: one fancy index for the rows, and not one for each leaf
        for field, leaf in zip(self._fields, leaves.values(), strict=True):
            field[...] = leaf
        self._buffer.view(self._row)[index, places] = self._batch.view(self._row)[index]
        self._in_memory[index] = places + 1

    def count(self, world: int) -> int:
        """How many rows a world has."""
        return int(self._in_memory[world] + self._on_disk[world])

    def blocks(self, world: int) -> Iterator[dict[LeafPath, NDArray]]:
        """The rows of a world in order, in blocks: arrays (rows, ...), of which the last ones live until its next row is appended.

        Raises:
            RecordingError: they cannot be read back.
        """
        rows = self._buffer.shape[1]
        if world in self._files:
            self._files[world].seek(0)
        for _ in range(int(self._on_disk[world]) // rows if rows else 0):
            data = self._files[world].read(rows * self._buffer.itemsize)
            if len(data) != rows * self._buffer.itemsize:
                raise RecordingError("cannot read the rows of an episode back")
            yield self._named(np.frombuffer(data, self._buffer.dtype))
        if count := int(self._in_memory[world]):
            yield self._named(self._buffer[world, :count])

    def drop(self, world: int) -> None:
        """Forget the rows of a world."""
        self._in_memory[world] = self._on_disk[world] = 0
        if (file := self._files.pop(world, None)) is not None:
            file.close()

    def close(self) -> None:
        """Give the files back."""
        for world in list(self._files):
            self.drop(world)

    def _allocate(self, leaves: Mapping[LeafPath, NDArray]) -> None:
        self._paths = list(leaves)
        self._kinds = [(leaf.dtype, leaf.shape) for leaf in leaves.values()]
        row = np.dtype([(f"{number}", kind, shape[1:]) for number, (kind, shape) in enumerate(self._kinds)], align=True)
        num_worlds = len(self._batch)
        self._batch = np.zeros(num_worlds, row)
        self._fields = [self._batch[f"{number}"] for number in range(len(leaves))]
        self._row = np.dtype((np.void, row.itemsize))
        self._buffer = np.empty((num_worlds, max(1, min(_MOST_ROWS, _MEMORY_BYTES // (num_worlds * row.itemsize)))), row)

    def _flush(self, world: int) -> None:
        try:
            if world not in self._files:
                self._files[world] = tempfile.TemporaryFile(dir=str(self._folder))  # noqa: SIM115  closed by drop()
            self._files[world].write(self._buffer[world].tobytes())
        except OSError as error:
            raise RecordingError(f"cannot keep the rows of an episode: {error.strerror or error}") from error
        self._on_disk[world] += self._buffer.shape[1]

    def _named(self, rows: NDArray) -> dict[LeafPath, NDArray]:
        return {path: rows[f"{number}"] for number, path in enumerate(self._paths)}
