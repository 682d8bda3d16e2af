"""Colours of the planes that encoders take."""

import av
import numpy as np
from av.video.reformatter import ColorRange, Colorspace, VideoReformatter
from numpy.typing import NDArray

__all__ = ["rgb_of_planes"]


def rgb_of_planes(planes: NDArray[np.uint8], size: tuple[int, int]) -> NDArray[np.uint8]:
    """The colours, uint8 (H, W, 3), of the planes of one picture of H x W pixels: what a player shows, but for the codec's losses."""
    frame = VideoReformatter().reformat(
        av.VideoFrame.from_ndarray(np.ascontiguousarray(planes), format="yuv420p"),
        format="rgb24",
        src_colorspace=Colorspace.ITU709,
        src_color_range=ColorRange.MPEG,
        dst_color_range=ColorRange.JPEG,
        threads=1,
    )
    return np.ascontiguousarray(frame.to_ndarray()[: size[0], : size[1]], np.uint8)
