"""What files and rows hold, in a number of 256 bits: a byte that changes later is found.

A line of ``episodes.jsonl`` holds under ``"sha256"`` the digests of the episode's own files, and under ``"rows_sha256"`` that of its
rows, which lie in one file with those of others. ``recording.json`` holds the digests of the files that all episodes share.
"""

import hashlib
import queue
import threading
from collections.abc import Iterable, Mapping
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rollfilm.errors import RecordingError
from rollfilm.record.layout import Layout

__all__ = ["EpisodeDigester", "episode_digests", "file_sha256", "files_sha256", "rows_sha256"]


def file_sha256(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal.

    Raises:
        RecordingError: it cannot be read.
    """
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise RecordingError(f"{path} cannot be read: {error.strerror or error}") from error


def files_sha256(root: Path, paths: Iterable[Path]) -> dict[str, str]:
    """The digests of files by their path below ``root``, in the order of the paths.

    Raises:
        RecordingError: one of them cannot be read.
    """
    return {path.relative_to(root).as_posix(): file_sha256(path) for path in sorted(paths)}


def rows_sha256(rows: Mapping[str, NDArray]) -> str:
    """The SHA-256 of arrays by name: of names, types, shapes and values, whatever the order and however a file stores them."""
    digest = hashlib.sha256()
    for name in sorted(rows):
        array = np.ascontiguousarray(rows[name])
        digest.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
        digest.update(array.view(np.uint8).data if array.size else b"")
    return digest.hexdigest()


def episode_digests(layout: Layout, episode: int) -> dict[str, Any]:
    """What the line of an episode says of the files that it has now: ``"sha256"``, and ``"rows_sha256"`` where it has rows.

    Raises:
        RecordingError: a file cannot be read.
    """
    from rollfilm.record.reading import read_rows

    # segments are gone once they are put together, posters can be made again
    files = [path for path in layout.episode_files(episode) if not {layout.segments, layout.posters} & set(path.parents)]
    entry: dict[str, Any] = {"sha256": files_sha256(layout.root, files)}
    if layout.segment(episode).is_file() and (rows := read_rows(layout.segment(episode), episode)) is not None:
        entry["rows_sha256"] = rows_sha256(rows)
    return entry


class EpisodeDigester:
    """A thread that reads the files of finished episodes, while the loop goes on.

    It goes on while the interpreter ends, as the pool of encoders does and an executor of the standard library does not: a recording
    that nobody closed is closed then.
    """

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._tasks: queue.SimpleQueue[tuple[int, Future[dict[str, Any]]] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="rollfilm-digests", daemon=True)
        self._thread.start()

    def submit(self, episode: int) -> Future[dict[str, Any]]:
        """Read the files of an episode, all of which are whole; the result is that of :func:`episode_digests`."""
        future: Future[dict[str, Any]] = Future()
        self._tasks.put((episode, future))
        return future

    def close(self) -> None:
        """Wait for what is under way and end the thread."""
        self._tasks.put(None)
        self._thread.join()

    def _run(self) -> None:
        while (task := self._tasks.get()) is not None:
            episode, future = task
            try:
                future.set_result(episode_digests(self._layout, episode))
            except Exception as error:
                future.set_exception(error)
