"""How much memory a recording takes."""

from collections.abc import Mapping

from rollfilm.record.ring import FrameRing

__all__ = ["recording_bytes"]

#: Bytes that an open h264 encoder takes for each pixel, and for itself: measured with preset veryfast on noise, 16x16 to 512x512.
_ENCODER_BYTES_PER_PIXEL = 40
_ENCODER_BYTES = 1_200_000


def recording_bytes(sizes: Mapping[str, tuple[int, int]], num_worlds: int, buffered_steps: int) -> int:
    """About how much memory a recording takes: buffers of frames and encoders, for cameras of size (H, W) by name."""
    pixels = num_worlds * sum(height * width for height, width in sizes.values())
    encoders = num_worlds * len(sizes) * _ENCODER_BYTES + pixels * _ENCODER_BYTES_PER_PIXEL
    return FrameRing.size_bytes(sizes, num_worlds, buffered_steps) + encoders
