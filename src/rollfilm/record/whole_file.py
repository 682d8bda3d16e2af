"""Files that are either whole or not there."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

__all__ = ["whole_file"]


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """A file to write to in the block, which takes the place of ``path`` after it; nothing is left or replaced if the block fails.

    Raises:
        OSError: it cannot be written.
    """
    partial = path.with_name(path.name + ".part")
    try:
        with partial.open("wb") as file:
            yield file
        os.replace(partial, path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
