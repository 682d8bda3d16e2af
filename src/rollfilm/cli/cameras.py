"""``front:256x256,wrist:128x128``: cameras and their sizes on the command line."""

import re

from rollfilm.errors import InvalidArgumentError
from rollfilm.render.request import MAX_IMAGE_SIZE

__all__ = ["parse_cameras"]


def parse_cameras(text: str) -> dict[str, tuple[int, int]]:
    """Height and width by camera name, of ``NAME:WIDTHxHEIGHT`` with commas between them.

    Raises:
        InvalidArgumentError: something else, a camera twice, or a side below 1 or above MAX_IMAGE_SIZE.
    """
    cameras: dict[str, tuple[int, int]] = {}
    for part in text.split(","):
        match = re.fullmatch(r"\s*([^:\s]+):(\d+)x(\d+)\s*", part)
        if match is None:
            raise InvalidArgumentError(
                f"--cameras {text}: {part.strip()!r} is not NAME:WIDTHxHEIGHT; write it as in front:256x256,wrist:128x128"
            )
        name, width, height = match[1], int(match[2]), int(match[3])
        if not (1 <= width <= MAX_IMAGE_SIZE and 1 <= height <= MAX_IMAGE_SIZE):
            raise InvalidArgumentError(f"--cameras {text}: {name} is {width}x{height}; width and height go from 1 to {MAX_IMAGE_SIZE}")
        if name in cameras:
            raise InvalidArgumentError(f"--cameras {text}: {name} is there twice; name each camera once")
        cameras[name] = (height, width)
    return cameras
