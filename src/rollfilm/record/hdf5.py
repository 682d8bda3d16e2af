"""HDF5 files on disks that may be full."""

import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import h5py

__all__ = ["writing_hdf5"]


@contextmanager
def writing_hdf5(path: Path) -> Iterator[h5py.File]:
    """A new HDF5 file to write to in the block.

    HDF5 cannot close a file of its own when the disk is full: it says so several times, and the process crashes at its end. Here it
    writes to an object that takes note of the first failure and drops what follows, so that it closes as always.

    Raises:
        OSError: the disk is full, or says no to something else; the file that is left is of no use.
    """
    with path.open("w+b", buffering=0) as raw:
        target = _Target(raw)
        try:
            with h5py.File(target, "w") as file:
                yield file
        except Exception as error:
            raise (target.failure or error) from None
        if target.failure is not None:
            raise target.failure


class _Target(io.RawIOBase):
    def __init__(self, raw: io.FileIO) -> None:
        self._raw = raw
        self.failure: OSError | None = None

    def readable(self) -> bool:
        return True

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        return self._raw.seek(offset, whence)

    def tell(self) -> int:
        return self._raw.tell()

    def readinto(self, buffer: Any, /) -> int | None:
        return self._raw.readinto(buffer)

    def write(self, data: Any, /) -> int:
        rest = memoryview(data).cast("B")
        size = len(rest)
        try:
            while self.failure is None and len(rest):
                rest = rest[self._raw.write(rest) :]
        except OSError as error:
            self.failure = error
        return size

    def truncate(self, size: int | None = None, /) -> int:
        try:
            return self._raw.truncate(size)
        except OSError as error:
            self.failure = self.failure or error
            return size or 0
