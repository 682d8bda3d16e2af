"""One writer a folder: a lock that the system takes back when its process is gone, however it went."""

import fcntl
import os
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from rollfilm.errors import RecordingError

__all__ = ["FolderLock"]


class FolderLock:
    """Holds the folder of a recording until :meth:`release`, or the end of the ``with`` block. No file is written.

    File systems that know no locks (some network ones) give none; then nothing is refused.

    Args:
        folder: that exists.

    Raises:
        RecordingError: another process, or another recorder of this one, holds it.
    """

    def __init__(self, folder: Path) -> None:
        self._descriptor: int | None = None
        try:
            self._descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self.release()
            raise RecordingError(f"{folder} is being recorded to; wait until that ends, or take another folder") from None
        except OSError:
            self.release()

    def release(self) -> None:
        """Let go of the folder."""
        if self._descriptor is not None:
            with suppress(OSError):
                os.close(self._descriptor)
            self._descriptor = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self.release()
