"""The parquet files of a LeRobot dataset: rows, episodes, tasks. pyarrow is loaded when the first one is written."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

__all__ = ["DATA_BYTES", "FILES_PER_CHUNK", "DataFiles", "EpisodeTable", "FileIndex", "write_tasks"]

#: LeRobot's limits: bytes of a file of rows, files in a folder.
DATA_BYTES = 100 << 20
FILES_PER_CHUNK = 1000

#: Episodes that one row group of the table of episodes holds: what is in memory at most.
_EPISODES_PER_GROUP = 100


@dataclass(frozen=True)
class FileIndex:
    """Which file: its place in a folder, and the folder's number."""

    chunk: int = 0
    file: int = 0

    def next(self) -> "FileIndex":
        """The file after this one."""
        return FileIndex(self.chunk + 1, 0) if self.file == FILES_PER_CHUNK - 1 else FileIndex(self.chunk, self.file + 1)

    def __str__(self) -> str:
        return f"chunk-{self.chunk:03d}/file-{self.file:03d}"


class _ParquetFile:
    """One file in the making, whose size is known."""

    def __init__(self, path: Path, schema: Any) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = pa.OSFile(str(path), "wb")
        self._writer = pq.ParquetWriter(self._file, schema, compression="snappy", use_dictionary=True)

    @property
    def num_bytes(self) -> int:
        return self._file.tell()

    def append(self, table: Any) -> None:
        """One row group."""
        self._writer.write_table(table, row_group_size=max(1, table.num_rows))

    def close(self) -> None:
        try:
            self._writer.close()
        finally:
            self._file.close()


class DataFiles:
    """``data/``: the rows of the episodes, one row group each; a new file where one is full.

    Args:
        root: of the dataset.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._index = FileIndex()
        self._current: _ParquetFile | None = None

    def append(self, columns: Mapping[str, NDArray]) -> FileIndex:
        """Append an episode's columns, each (T, D); the file that they are in."""
        table = _table_of(columns)
        if self._current is not None and self._current.num_bytes + table.nbytes > DATA_BYTES:
            self._close()
            self._index = self._index.next()
        if self._current is None:
            self._current = _ParquetFile(self._root / "data" / f"{self._index}.parquet", table.schema)
        self._current.append(table)
        return self._index

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self._close()

    def _close(self) -> None:
        if self._current is not None:
            current, self._current = self._current, None
            current.close()


class EpisodeTable:
    """``meta/episodes/``: a row an episode, with the statistics of its features.

    Args:
        root: of the dataset.
    """

    def __init__(self, root: Path) -> None:
        self._path = root / "meta" / "episodes" / f"{FileIndex()}.parquet"
        self._rows: list[dict[str, Any]] = []
        self._file: _ParquetFile | None = None
        self._schema: Any = None

    def append(self, row: Mapping[str, Any], statistics: Mapping[str, Mapping[str, NDArray]]) -> None:
        """Append an episode's row."""
        numbers = {f"stats/{name}/{key}": value.tolist() for name, values in statistics.items() for key, value in values.items()}
        self._rows.append({**row, "meta/episodes/chunk_index": 0, "meta/episodes/file_index": 0, **numbers})
        if len(self._rows) == _EPISODES_PER_GROUP:
            self._flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self._flush()
        if self._file is not None:
            self._file.close()

    def _flush(self) -> None:
        import pyarrow as pa

        if not self._rows:
            return
        table = pa.Table.from_pylist(self._rows, schema=self._schema)
        if self._file is None:
            self._schema = table.schema
            self._file = _ParquetFile(self._path, table.schema)
        self._file.append(table)
        self._rows = []


def write_tasks(root: Path, tasks: list[str]) -> None:
    """Write ``meta/tasks.parquet``: LeRobot looks tasks up by the index of a pandas table, which is what the schema has to say."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.table({"task_index": pa.array(range(len(tasks)), pa.int64()), "task": pa.array(tasks, pa.string())})
    column = {"name": "task_index", "field_name": "task_index", "pandas_type": "int64", "numpy_type": "int64", "metadata": None}
    index = {"name": "task", "field_name": "task", "pandas_type": "unicode", "numpy_type": "object", "metadata": None}
    label = {"name": None, "field_name": None, "pandas_type": "unicode", "numpy_type": "object", "metadata": {"encoding": "UTF-8"}}
    about = {"index_columns": ["task"], "column_indexes": [label], "columns": [column, index], "creator": {"library": "rollfilm"}}
    schema = table.schema.with_metadata({b"pandas": json.dumps(about).encode()})
    (root / "meta").mkdir(parents=True, exist_ok=True)
    pq.write_table(table.cast(schema), str(root / "meta" / "tasks.parquet"))


def _table_of(columns: Mapping[str, NDArray]) -> Any:
    import pyarrow as pa

    arrays = {}
    for name, column in columns.items():
        # one component is a number, more are a list: so the loader reads a shape of (1,)
        flat = pa.array(np.ascontiguousarray(column).reshape(-1))
        arrays[name] = flat if column.shape[1] == 1 else pa.FixedSizeListArray.from_arrays(flat, column.shape[1])
    return pa.table(arrays)
