"""Decodes a whole video and keeps of each frame what verifying needs: its time, and the luma of a few pixels."""

import json
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
from av.error import FFmpegError
from av.video.reformatter import ColorRange
from numpy.typing import NDArray

from rollfilm.record.fingerprint import luma_of, sample

__all__ = ["DecodedVideo", "decode"]

_LUMA_PLANES = ("yuv420p", "yuv422p", "yuv444p", "nv12", "gray")
_FULL_RANGE = ("yuvj420p", "yuvj422p", "yuvj444p")


@dataclass
class DecodedVideo:
    """What a video file holds.

    Attributes:
        pts: presentation time of each frame that could be decoded, in the order of decoding, in units of ``time_base``.
        luma: uint8 (frames, h, w), the pixels of the fingerprint's grid.
        time_base: seconds of one unit.
        codec: its name.
        size: (H, W) in the file, with padding.
        picture: what the file's comment declares of the picture, empty if nothing.
        error: why decoding ended, or could not begin; None if it came to the end.
    """

    pts: list[int | None] = field(default_factory=list)
    luma: NDArray[np.uint8] = field(default_factory=lambda: np.zeros((0, 0, 0), np.uint8))
    time_base: Fraction = Fraction(0)
    codec: str = ""
    size: tuple[int, int] = (0, 0)
    picture: dict[str, Any] = field(default_factory=dict)
    error: str | None = None


def decode(path: Path, size: tuple[int, int] | None = None) -> DecodedVideo:
    """Decode a video from its first to its last frame, as far as it goes.

    Args:
        path: of the file.
        size: (H, W) of the picture without padding; None for what the file declares.
    """
    video = DecodedVideo()
    lumas: list[NDArray[np.uint8]] = []
    try:
        with av.open(str(path)) as container:
            if not container.streams.video:
                video.error = "it holds no video"
                return video
            stream = container.streams.video[0]
            # a decoder conceals what is damaged unless it is told not to
            stream.codec_context.options = {"err_detect": "crccheck+bitstream+buffer+explode"}
            stream.codec_context.thread_count = 1
            _describe(video, container, stream)
            height, width = size or (video.picture.get("height", video.size[0]), video.picture.get("width", video.size[1]))
            for frame in container.decode(stream):
                video.pts.append(frame.pts)
                lumas.append(_luma(frame, height, width))
    except (FFmpegError, OSError, ValueError) as error:
        video.error = str(getattr(error, "strerror", None) or error)
    video.luma = np.stack(lumas) if lumas else video.luma
    return video


def _describe(video: DecodedVideo, container: Any, stream: Any) -> None:
    context = stream.codec_context
    video.codec = context.name
    video.size = (context.height, context.width)
    video.time_base = Fraction(stream.time_base or 0)
    try:
        declared = json.loads(container.metadata.get("comment", "{}"))
        video.picture = dict(declared["picture"]) if isinstance(declared, dict) and "picture" in declared else {}
    except (ValueError, TypeError, RecursionError):
        video.picture = {}


def _luma(frame: av.VideoFrame, height: int, width: int) -> NDArray[np.uint8]:
    if frame.format.name in _LUMA_PLANES or frame.format.name in _FULL_RANGE:
        plane = frame.planes[0]
        rows = np.frombuffer(memoryview(plane), np.uint8).reshape(plane.height, plane.line_size)
        luma = sample(rows[:height, :width]).copy()
        if frame.format.name in _FULL_RANGE or frame.color_range == ColorRange.JPEG:
            return (16.5 + luma * (219 / 255)).astype(np.uint8)
        return luma
    rgb = frame.reformat(format="rgb24", dst_color_range=ColorRange.JPEG).to_ndarray()
    return luma_of(sample(np.asarray(rgb, np.uint8)[:height, :width]))
