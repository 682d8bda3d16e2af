"""HDF5 files on disks that may be full, and rows in them."""

import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import h5py

from rollfilm.record.rows import RowSpool

__all__ = ["compression_of", "require_group", "write_rows", "writing_hdf5"]

#: Leaves that ManiSkill stores compressed: pictures.
_COMPRESSED = ("rgb", "depth", "seg")


def write_rows(group: h5py.Group, spool: RowSpool) -> None:
    """Write the rows of a spool below ``group``, each leaf as a dataset whose first axis counts the rows."""
    targets = {}
    for name, (dtype, shape) in spool.layout.items():
        parent_name, _, leaf = name.rpartition("/")
        parent = require_group(group, parent_name)
        targets[name] = parent.create_dataset(leaf, (spool.count, *shape), dtype, **compression_of(leaf))
    for start, block in spool.blocks():
        for name, target in targets.items():
            target[start : start + len(block)] = block[name]


def compression_of(leaf: str) -> dict[str, Any]:
    """How ManiSkill stores a dataset of this name."""
    return {"compression": "gzip", "compression_opts": 5} if leaf in _COMPRESSED else {}


def require_group(group: h5py.Group, path: str) -> h5py.Group:
    """The group at ``path`` below ``group``, made if it is not there, with its members in the order of their creation."""
    for name in filter(None, path.split("/")):
        # an argument of require_group would do, but h5py has no order of creation there
        group = group.require_group(name) if name in group else group.create_group(name, track_order=True)
    return group


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
