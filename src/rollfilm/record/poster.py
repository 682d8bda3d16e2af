"""Posters: the last frame of a video as a small JPEG, so that a page of many episodes shows how each of them ended."""

import contextlib
from fractions import Fraction
from pathlib import Path

import av
from av.error import FFmpegError
from av.video.reformatter import Colorspace

from rollfilm.record.whole_file import whole_file

__all__ = ["MAX_POSTER_SIDE", "poster_size", "write_poster"]

#: Pixels that a poster is wide or high at most: a card of the page on a screen with two pixels to a dot. 8 kB or so.
MAX_POSTER_SIDE = 320

#: Of mjpeg's quantiser, 2 (best) to 31.
_QUANTISER = "3"


def poster_size(height: int, width: int) -> tuple[int, int]:
    """The size (H, W) of the poster of a picture: as it is, or scaled down to fit."""
    scale = min(1.0, MAX_POSTER_SIDE / max(height, width))
    return max(1, round(height * scale)), max(1, round(width * scale))


def write_poster(path: Path, frame: av.VideoFrame, size: tuple[int, int]) -> bool:
    """Write a poster, whole or not at all, in a folder that exists.

    A poster is a convenience: where it cannot be written, the video still counts, and the page shows an empty card.

    Args:
        path: of the JPEG.
        frame: the picture as it went to the encoder or came from the decoder, with or without the padding of odd sides.
        size: (H, W) of the picture without padding.

    Returns:
        Whether it is there.
    """
    with contextlib.suppress(OSError, FFmpegError):
        content = _jpeg(_without_padding(frame, size), poster_size(*size))
        with whole_file(path) as file:
            file.write(content)
        return True
    return False


def _without_padding(frame: av.VideoFrame, size: tuple[int, int]) -> av.VideoFrame:
    height, width = size
    if (frame.height, frame.width) == size:
        return frame
    return av.VideoFrame.from_ndarray(frame.to_ndarray(format="rgb24")[:height, :width].copy(), format="rgb24")


def _jpeg(frame: av.VideoFrame, size: tuple[int, int]) -> bytes:
    height, width = size
    # JFIF means BT.601 with full range (the j of yuvj420p), whatever the video's colours are
    small = frame.reformat(width=width, height=height, format="yuvj420p", dst_colorspace=Colorspace.ITU601, threads=1)
    small.pts = 0
    context = av.CodecContext.create("mjpeg", "w")
    assert isinstance(context, av.VideoCodecContext)
    context.width, context.height, context.pix_fmt = width, height, "yuvj420p"
    context.time_base = Fraction(1)
    context.thread_count = 1
    context.options = {"qmin": _QUANTISER, "qmax": _QUANTISER}
    return b"".join(bytes(packet) for packet in [*context.encode(small), *context.encode(None)])
