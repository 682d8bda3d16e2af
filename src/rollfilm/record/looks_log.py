"""How a world looked from frame to frame of an episode: a line for each change, in constant memory."""

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

from rollfilm.errors import RecordingError
from rollfilm.render.looks import WorldLooks

__all__ = ["LooksLog"]

_MEMORY_BYTES = 1 << 16


class LooksLog:
    """Takes note of when looks change. They are told apart as objects: looks that were set once are one change.

    Args:
        folder: where lines go that do not fit into memory.

    Attributes:
        num_changes: how many there were so far.
        last: the looks of the frame that was appended last.
    """

    def __init__(self, folder: Path) -> None:
        self.num_changes = 0
        self._folder = folder
        self.last: WorldLooks | None = None
        self._file: tempfile.SpooledTemporaryFile[bytes] | None = None

    def append(self, frame: int, looks: WorldLooks | None) -> None:
        """Frame ``frame`` shows ``looks`` of one world; None for what the scene says.

        Raises:
            RecordingError: no room on the disk.
        """
        if looks is self.last:
            return
        self.last = looks
        self.num_changes += 1
        try:
            if self._file is None:
                self._file = tempfile.SpooledTemporaryFile(max_size=_MEMORY_BYTES, dir=str(self._folder))  # noqa: SIM115  closed by close()
            self._file.write(json.dumps([frame, None if looks is None else looks.to_dict()]).encode() + b"\n")
        except OSError as error:
            raise RecordingError(f"cannot keep the looks of an episode: {error.strerror or error}") from error

    def changes(self) -> Iterator[tuple[int, WorldLooks | None]]:
        """Each change in order: the first frame with the looks, and those."""
        if self._file is None:
            return
        self._file.seek(0)
        for line in self._file:
            frame, plain = json.loads(line)
            yield frame, None if plain is None else WorldLooks.from_dict(plain)

    def close(self) -> None:
        """Give the memory and the unnamed file back."""
        if self._file is not None:
            self._file.close()
