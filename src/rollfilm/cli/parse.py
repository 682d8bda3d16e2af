"""Options of the command line, from the fields of a dataclass."""

import io
import re
from collections.abc import Sequence
from contextlib import redirect_stderr
from typing import TypeVar

import tyro

from rollfilm.errors import InvalidArgumentError

__all__ = ["parse"]

T = TypeVar("T")


def parse(options: type[T], words: Sequence[str], *, prog: str) -> T:
    """Read ``words`` into a new instance of the dataclass ``options``.

    Raises:
        InvalidArgumentError: an option is unknown, missing, empty or has a wrong value; the message is one line.
        SystemExit: after ``--help`` was printed.
    """
    _refuse_empty(words, prog)
    said = io.StringIO()
    try:
        with redirect_stderr(said):
            return tyro.cli(options, args=list(words), prog=prog)
    except SystemExit as stop:
        if stop.code in (None, 0):
            raise
        raise InvalidArgumentError(f"{one_line(said.getvalue())} (see {prog} --help)") from None


def _refuse_empty(words: Sequence[str], prog: str) -> None:
    # Mostly a variable of the shell that is not set; an empty path would mean the working folder.
    for before, word in zip([prog, *words], words, strict=False):
        option = before if not word.strip() else word
        if option is before or (word.startswith("--") and word.endswith("=")):
            raise InvalidArgumentError(f"the value after {option} is empty; give one, or leave the option out")


def one_line(box: str) -> str:
    """The message inside one of tyro's framed errors, without the frame, its title and the hint on help."""
    plain = re.sub(r"\x1b\[[0-9;]*m", "", box)
    paragraphs = []
    for section in re.split(r"^│ ─+ │$", plain, flags=re.MULTILINE):
        rows = [row.strip("│ ") for row in section.splitlines() if not row.startswith(("╭", "╰"))]
        paragraphs.append(" ".join(" ".join(rows).split()))
    kept = [text for text in paragraphs if text and not text.startswith(("For full helptext", "Argument helptext"))]
    return "; ".join(kept) or "these options cannot be read"
