"""Lossless pictures: PNG files, from NumPy arrays, with nothing but zlib."""

import struct
import zlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rollfilm.errors import InvalidArgumentError
from rollfilm.record.whole_file import whole_file

__all__ = ["write_png"]

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_GREY, _RGB = 0, 2
_FILTER_UP = 2


def write_png(path: Path, pixels: NDArray[np.uint8] | NDArray[np.uint16]) -> None:
    """Write ``pixels`` to ``path``: uint8 (H, W, 3) as sRGB colours, uint8 or uint16 (H, W) as grey levels.

    The format is that of the PNG specification, third edition, sections 5 (chunks), 7.2 (scanlines) and 9.2 (filters).

    Raises:
        InvalidArgumentError: another shape or dtype.
        OSError: the file cannot be written.
    """
    color = pixels.ndim == 3 and pixels.shape[2] == 3 and pixels.dtype == np.uint8
    grey = pixels.ndim == 2 and pixels.dtype in (np.uint8, np.uint16)
    if not (color or grey) or 0 in pixels.shape:
        raise InvalidArgumentError(
            f"a picture of shape {pixels.shape} and dtype {pixels.dtype}; a PNG takes uint8 (H, W, 3), or uint8 or uint16 (H, W)"
        )
    height, width = pixels.shape[:2]
    header = struct.pack(">IIBBBBB", width, height, 8 * pixels.dtype.itemsize, _RGB if color else _GREY, 0, 0, 0)
    body = zlib.compress(_scanlines(pixels), level=6)
    with whole_file(path) as file:
        file.write(_SIGNATURE + _chunk(b"IHDR", header) + _chunk(b"IDAT", body) + _chunk(b"IEND", b""))


def _scanlines(pixels: NDArray) -> bytes:
    """Rows of big-endian samples, each less the row above it: rendered pictures compress to half the size that way."""
    rows = np.frombuffer(pixels.astype(pixels.dtype.newbyteorder(">")).tobytes(), np.uint8).reshape(pixels.shape[0], -1)
    filtered = np.full((rows.shape[0], rows.shape[1] + 1), _FILTER_UP, np.uint8)
    filtered[0, 1:] = rows[0]
    filtered[1:, 1:] = rows[1:] - rows[:-1]
    return filtered.tobytes()


def _chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
