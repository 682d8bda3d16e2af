"""Rows of many worlds, appended a whole batch at a time and read back world by world, in constant memory."""

import tempfile
from collections.abc import Hashable, Iterator, Mapping
from pathlib import Path
from typing import IO, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from rollfilm.errors import RecordingError

__all__ = ["BatchSpool"]

#: Bytes of rows that stay in memory, of all worlds together.
_MEMORY_BYTES = 16 << 20
_MOST_ROWS = 64

Name = TypeVar("Name", bound=Hashable)


class BatchSpool(Generic[Name]):
    """Keeps rows of named arrays for each of B worlds. Appending costs one copy an array, however many worlds there are.

    The last rows of each world are in memory; older ones go to unnamed files, which a killed process leaves nothing of.

    Args:
        folder: where the files are.
        num_worlds: B.
    """

    def __init__(self, folder: Path, num_worlds: int) -> None:
        self._folder = folder
        self._num_worlds = num_worlds
        self._buffers: dict[Name, NDArray] = {}
        self._rows_in_memory = 0
        self._in_memory = np.zeros(num_worlds, np.int64)
        self._on_disk = np.zeros(num_worlds, np.int64)
        self._files: dict[int, IO[bytes]] = {}

    def append(self, worlds: NDArray[np.int64], leaves: Mapping[Name, NDArray]) -> None:
        """Append a row to some worlds.

        Args:
            worlds: which, (n,).
            leaves: arrays of all worlds (B, ...).

        Raises:
            RecordingError: other arrays, shapes or types than in the rows before, or no room on the disk.
        """
        if not self._buffers:
            self._allocate(leaves)
        self._check(leaves)
        for world in worlds[self._in_memory[worlds] == self._rows_in_memory].tolist():
            self._flush(world)
        places = self._in_memory[worlds]
        for name, leaf in leaves.items():
            self._buffers[name][worlds, places] = leaf[worlds]
        self._in_memory[worlds] += 1

    def count(self, world: int) -> int:
        """How many rows a world has."""
        return int(self._in_memory[world] + self._on_disk[world])

    def blocks(self, world: int) -> Iterator[dict[Name, NDArray]]:
        """The rows of a world in order, in blocks: arrays (rows, ...), of which the last ones live until the next row is appended.

        Raises:
            RecordingError: they cannot be read back.
        """
        if world in self._files:
            self._files[world].seek(0)
        for _ in range(int(self._on_disk[world]) // self._rows_in_memory if self._rows_in_memory else 0):
            yield {name: self._read(world, buffer[world]) for name, buffer in self._buffers.items()}
        if count := int(self._in_memory[world]):
            yield {name: buffer[world, :count] for name, buffer in self._buffers.items()}

    def drop(self, world: int) -> None:
        """Forget the rows of a world."""
        self._in_memory[world] = self._on_disk[world] = 0
        if (file := self._files.pop(world, None)) is not None:
            file.close()

    def close(self) -> None:
        """Give memory and files back."""
        for world in list(self._files):
            self.drop(world)
        self._buffers.clear()

    def _allocate(self, leaves: Mapping[Name, NDArray]) -> None:
        row_bytes = sum(leaf.nbytes for leaf in leaves.values())  # of all worlds
        self._rows_in_memory = max(1, min(_MOST_ROWS, _MEMORY_BYTES // max(1, row_bytes)))
        for name, leaf in leaves.items():
            self._buffers[name] = np.empty((self._num_worlds, self._rows_in_memory, *leaf.shape[1:]), leaf.dtype)

    def _check(self, leaves: Mapping[Name, NDArray]) -> None:
        kinds = {name: (leaf.dtype, leaf.shape[1:]) for name, leaf in leaves.items()}
        expected = {name: (buffer.dtype, buffer.shape[2:]) for name, buffer in self._buffers.items()}
        if kinds != expected:
            raise RecordingError(f"rows of the arrays {kinds} came, those before have {expected}")

    def _flush(self, world: int) -> None:
        try:
            if world not in self._files:
                self._files[world] = tempfile.TemporaryFile(dir=str(self._folder))  # noqa: SIM115  closed by drop()
            for buffer in self._buffers.values():
                self._files[world].write(buffer[world].tobytes())
        except OSError as error:
            raise RecordingError(f"cannot keep the rows of an episode: {error.strerror or error}") from error
        self._on_disk[world] += self._rows_in_memory
        self._in_memory[world] = 0

    def _read(self, world: int, like: NDArray) -> NDArray:
        data = self._files[world].read(like.nbytes)
        if len(data) != like.nbytes:
            raise RecordingError("cannot read the rows of an episode back")
        return np.frombuffer(data, like.dtype).reshape(like.shape)
