"""A few pixels of every frame, taken before it is encoded, that tell frames apart afterwards.

At most 16 x 16 pixels of a picture, each the luma that a video stores (BT.709, limited range). A decoded frame is close to its own
fingerprint and not to that of another one, so that a frame that was dropped, doubled or swapped is found without filming it again.

A file holds one line of JSON, ``{"frames": T + 1, "cameras": {name: [h, w]}}``, and then for each frame the bytes of each camera in
that order, compressed with zlib.
"""

import json
import tempfile
import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rollfilm.errors import RecordingError

__all__ = ["FingerprintSpool", "luma_of", "read_fingerprints", "sample"]

#: Pixels that are taken along each side, at most.
_GRID = 16

#: Weights of R, G, B in 8-bit luma: BT.709-6, items 3.2 and 3.4, limited range.
_LUMA_WEIGHTS = np.array([0.2126, 0.7152, 0.0722], np.float32) * np.float32(219 / 255)
_BLACK = np.float32(16.5)

_BLOCK_BYTES = 1 << 16
_MEMORY_BYTES = 1 << 17


def sample(picture: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The pixels of a picture (H, W, ...) on the grid of fingerprints, a view (h, w, ...) with h and w at most 16."""
    down, right = (-(-side // _GRID) for side in picture.shape[:2])
    return picture[down // 2 :: down, right // 2 :: right]


def luma_of(rgb: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The luma (...) of pixels (..., 3), as a video stores it: 16 for black, 235 for white."""
    return (rgb @ _LUMA_WEIGHTS + _BLACK).astype(np.uint8)


class FingerprintSpool:
    """The fingerprints of one episode while it runs, in constant memory.

    Args:
        folder: where goes what does not fit into memory, in a file without a name.
    """

    def __init__(self, folder: Path) -> None:
        self.count = 0
        self._sizes: dict[str, tuple[int, int]] = {}
        self._block = bytearray()
        self._compressor = zlib.compressobj(1)
        self._file = tempfile.SpooledTemporaryFile(max_size=_MEMORY_BYTES, dir=str(folder))  # noqa: SIM115  closed by close()

    def append(self, cameras: Sequence[str], samples: Sequence[NDArray[np.uint8]]) -> None:
        """Append a frame: :func:`sample` of the luma of each camera's picture, always the same ones.

        Raises:
            RecordingError: no room on the disk.
        """
        if not self._sizes:
            self._sizes = {name: (len(pixels), len(pixels[0])) for name, pixels in zip(cameras, samples, strict=True)}
        for pixels in samples:
            self._block += pixels.tobytes()
        self.count += 1
        if len(self._block) >= _BLOCK_BYTES:
            self._flush()

    def write(self, path: Path) -> None:
        """Write all of them to a file.

        Raises:
            OSError: it cannot be written.
        """
        self._flush()
        with path.open("wb") as file:
            file.write(json.dumps({"frames": self.count, "cameras": self._sizes}).encode() + b"\n")
            self._file.seek(0)
            while block := self._file.read(_BLOCK_BYTES):
                file.write(block)
            file.write(self._compressor.flush())

    def close(self) -> None:
        """Give the memory and the unnamed file back."""
        self._file.close()

    def _flush(self) -> None:
        block, self._block = bytes(self._block), bytearray()
        try:
            self._file.write(self._compressor.compress(block))
        except OSError as error:
            raise RecordingError(f"cannot keep the fingerprints of an episode: {error.strerror or error}") from error


def read_fingerprints(path: Path) -> dict[str, NDArray[np.uint8]]:
    """The fingerprints of an episode by camera, uint8 (T + 1, h, w) each.

    Raises:
        RecordingError: the file cannot be read.
    """
    try:
        header, _, data = path.read_bytes().partition(b"\n")
        content = json.loads(header)
        sizes = {str(name): (int(height), int(width)) for name, (height, width) in content["cameras"].items()}
        rows = np.frombuffer(zlib.decompress(data), np.uint8).reshape(content["frames"], -1)
        ends = np.cumsum([height * width for height, width in sizes.values()])
        parts = np.split(rows, ends, axis=1)
        if parts.pop().size:
            raise ValueError("it holds more bytes than it says")
        return {name: part.reshape(-1, *size) for (name, size), part in zip(sizes.items(), parts, strict=True)}
    except OSError as error:
        raise RecordingError(f"{path} cannot be read: {error.strerror or error}") from error
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError, zlib.error) as error:
        raise RecordingError(f"{path} cannot be read: {error}") from error
