"""Rows of nested arrays, appended one by one and read back in blocks, in constant memory."""

import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rollfilm.errors import RecordingError

__all__ = ["RowSpool", "flatten"]

#: Bytes of an episode that stay in memory; what is beyond goes to an unnamed file, which a killed process leaves nothing of.
_MEMORY_BYTES = 1 << 20
_BLOCK_ROWS = 256


def flatten(tree: Any, prefix: str = "") -> dict[str, NDArray]:
    """The arrays of nested mappings by their path: ``{"a": {"b": x}}`` gives ``{"a/b": x}``."""
    if isinstance(tree, Mapping):
        leaves: dict[str, NDArray] = {}
        for name, value in tree.items():
            leaves |= flatten(value, f"{prefix}/{name}" if prefix else str(name))
        return leaves
    return {prefix: np.asarray(tree)}


class RowSpool:
    """Appends rows of the same leaves, shapes and types, and gives them back in blocks.

    Args:
        folder: where rows go that do not fit into memory.
    """

    def __init__(self, folder: Path) -> None:
        self.count = 0
        self._file = tempfile.SpooledTemporaryFile(max_size=_MEMORY_BYTES, dir=str(folder))  # noqa: SIM115  closed by close()
        self._row: NDArray | None = None

    def append(self, leaves: Mapping[str, NDArray]) -> None:
        """Append one row of arrays by path.

        Raises:
            RecordingError: other leaves or shapes than in the rows before, or no room on the disk.
        """
        if self._row is None:
            self._row = np.zeros((), np.dtype([(name, leaf.dtype, leaf.shape) for name, leaf in leaves.items()]))
        shapes = {name: leaf.shape for name, leaf in leaves.items()}
        expected = {name: self._row.dtype[name].shape for name in self._row.dtype.names or ()}
        if shapes != expected:
            raise RecordingError(f"row {self.count} has the arrays {shapes}, the rows before have {expected}")
        for name, leaf in leaves.items():
            self._row[name] = leaf
        try:
            self._file.write(self._row.tobytes())
        except OSError as error:
            raise RecordingError(f"cannot keep the rows of an episode: {error.strerror or error}") from error
        self.count += 1

    @property
    def layout(self) -> dict[str, tuple[np.dtype, tuple[int, ...]]]:
        """Type and shape of each leaf in one row; empty before the first row."""
        if self._row is None:
            return {}
        return {name: (self._row.dtype[name].base, self._row.dtype[name].shape) for name in self._row.dtype.names or ()}

    def blocks(self) -> Iterator[tuple[int, NDArray]]:
        """The rows in order: the index of the block's first row, and a structured array of its rows."""
        if self._row is None:
            return
        self._file.seek(0)
        for start in range(0, self.count, _BLOCK_ROWS):
            num_rows = min(_BLOCK_ROWS, self.count - start)
            yield start, np.frombuffer(self._file.read(num_rows * self._row.dtype.itemsize), self._row.dtype)

    def close(self) -> None:
        """Give the memory and the unnamed file back."""
        self._file.close()
