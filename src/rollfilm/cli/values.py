"""Values of the command line that are written in a small language of their own."""

import re

from rollfilm.errors import InvalidArgumentError
from rollfilm.render.request import MAX_IMAGE_SIZE

__all__ = ["parse_integers", "parse_size"]


def parse_size(text: str) -> tuple[int, int]:
    """``"640x480"`` is (640, 480), width and height; ``"512"`` is a square.

    Raises:
        InvalidArgumentError: something else, or a side below 1 or above MAX_IMAGE_SIZE.
    """
    match = re.fullmatch(r"(\d+)(?:x(\d+))?", text.strip().lower())
    if match is None:
        raise InvalidArgumentError(f"--size {text}: give WIDTHxHEIGHT in pixels, as in 640x480")
    width, height = int(match[1]), int(match[2] or match[1])
    if not (1 <= width <= MAX_IMAGE_SIZE and 1 <= height <= MAX_IMAGE_SIZE):
        raise InvalidArgumentError(f"--size {text}: width and height go from 1 to {MAX_IMAGE_SIZE}")
    return width, height


def parse_integers(text: str, *, option: str, lowest: int, highest: int) -> tuple[int, ...]:
    """``"0,1,2"`` is (0, 1, 2).

    Raises:
        InvalidArgumentError: something that is no integer, or one outside of ``lowest`` to ``highest``.
    """
    words = [word.strip() for word in text.split(",")]
    if not all(word.isdecimal() and lowest <= int(word) <= highest for word in words):
        raise InvalidArgumentError(f"{option} {text}: give integers from {lowest} to {highest} with commas between them, as in 0,1,2")
    return tuple(int(word) for word in words)
