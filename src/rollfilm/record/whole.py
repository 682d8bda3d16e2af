"""Files that are whole or not there, and errors that name them."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rollfilm.errors import RecordingError
from rollfilm.record.video import PARTIAL_SUFFIX

__all__ = ["naming", "whole_or_not_there"]


@contextmanager
def whole_or_not_there(path: Path) -> Iterator[Path]:
    """A name to write to; the file gets the name ``path`` after the block, and is deleted if the block fails."""
    partial = path.with_name(path.name + PARTIAL_SUFFIX)
    try:
        yield partial
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
    os.replace(partial, path)


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """What the system says no to in the block names the file.

    Raises:
        RecordingError: instead of an OSError.
    """
    try:
        yield
    except RecordingError:
        raise
    except OSError as error:
        raise RecordingError(f"cannot write {path}: {error.strerror or error}") from error
