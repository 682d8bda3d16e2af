"""What the buffers between renderer and encoders hold of each camera."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rollfilm.errors import InvalidArgumentError
from rollfilm.record.video import VideoOptions, padded_size
from rollfilm.render.layouts import averaged_size, layout_shape
from rollfilm.render.outputs import picture_format
from rollfilm.render.request import CameraRequest

__all__ = ["CELLS", "LOSSLESS_OUTPUTS", "PLANES", "RGB", "BufferKey", "CameraBuffer", "camera_buffers", "stored_outputs"]

#: Names of what is buffered beside outputs of a renderer: what encoders of 4:2:0 take, colours as they are,
#: and planes scaled down for the overview.
PLANES, RGB, CELLS = "yuv420", "rgb", "cells"

#: Outputs of a renderer that can be stored as they are, one number a pixel.
LOSSLESS_OUTPUTS = ("depth_m", "segmentation", "geom_id", "body_id", "ray_distance_m")

#: The layouts of colours that can be recorded: (B, H, W, 3), and planes already.
_AS_THEY_ARE, _PLANAR = "nhwc_uint8", "yuv420"


class BufferKey(NamedTuple):
    """Which buffer: of a camera, ``PLANES``, ``RGB`` or the name of an output."""

    camera: str
    what: str


@dataclass(frozen=True)
class CameraBuffer:
    """One array of a slot.

    Attributes:
        source: the field of ``CameraFrames`` that it is filled from.
        source_shape: of that, without the worlds; arrays of another shape are refused.
        shape: of a picture in the buffer.
        dtype: NumPy's name of the type of both.
        size: H and W of the picture, without padding.
        converted: colours become planes on the way.
        factor: blocks of so many pixels, squared, of the camera's ``PLANES`` are averaged; 1 for none.
    """

    source: str
    source_shape: tuple[int, ...]
    shape: tuple[int, ...]
    dtype: str
    size: tuple[int, int]
    converted: bool = False
    factor: int = 1

    @property
    def picture_bytes(self) -> int:
        """Bytes of a picture."""
        return int(np.prod(self.shape)) * np.dtype(self.dtype).itemsize


def camera_buffers(
    cameras: Sequence[CameraRequest], video: VideoOptions, *, exact: bool = False, overview: int = 0, outputs: Iterable[str] = ()
) -> dict[BufferKey, CameraBuffer]:
    """What has to be buffered of some cameras.

    Args:
        cameras: what is filmed.
        video: how it is encoded: from planes, or from colours as they are if nothing may be lost.
        exact: someone else wants colours as they are.
        overview: the first camera is seen in an overview, which is made of planes, scaled down by that factor; 0 for no overview.
        outputs: outputs that are stored, of the cameras that have them.

    Raises:
        InvalidArgumentError: colours come in a layout that cannot be recorded so.
    """
    lossless = video.encoder.lossless
    buffers: dict[BufferKey, CameraBuffer] = {}
    for camera in cameras:
        layout, size = camera.rgb_layout, (camera.height, camera.width)
        allowed = (_AS_THEY_ARE,) if lossless else (_AS_THEY_ARE, _PLANAR)
        if layout not in allowed:
            raise InvalidArgumentError(
                f"camera {camera.name!r}: rgb_layout {layout!r} cannot be recorded as {video.codec}; take {' or '.join(allowed)}"
            )
        source_shape = layout_shape(layout, 1, *size)[1:]
        shown = overview if camera is cameras[0] else 0
        if not lossless or shown:
            planes = layout_shape(_PLANAR, 1, *size)[1:]
            buffers[BufferKey(camera.name, PLANES)] = CameraBuffer("rgb", source_shape, planes, "uint8", size, layout != _PLANAR)
        if shown > 1:
            cells = layout_shape(_PLANAR, 1, *averaged_size(padded_size(*size), shown))[1:]
            buffers[BufferKey(camera.name, CELLS)] = CameraBuffer("rgb", source_shape, cells, "uint8", size, factor=shown)
        if (exact or lossless) and layout == _AS_THEY_ARE:
            buffers[BufferKey(camera.name, RGB)] = CameraBuffer("rgb", source_shape, source_shape, "uint8", size)
        for name in outputs:
            if name in camera.outputs:
                shape, dtype = picture_format(camera, name, 1)
                buffers[BufferKey(camera.name, name)] = CameraBuffer(name, shape[1:], shape[1:], dtype, size)
    return buffers


def stored_outputs(cameras: Iterable[CameraRequest], wanted: Collection[str] | None) -> tuple[str, ...]:
    """Which outputs are stored as they are.

    Args:
        cameras: what is filmed.
        wanted: names of outputs; None for all that are filmed and can be stored.

    Raises:
        InvalidArgumentError: an output that cannot be stored, or that no camera films.
    """
    filmed = {name for camera in cameras for name in camera.outputs}
    if wanted is None:
        return tuple(name for name in LOSSLESS_OUTPUTS if name in filmed)
    for name in wanted:
        if name not in LOSSLESS_OUTPUTS:
            raise InvalidArgumentError(f"{name!r} cannot be stored as it is; choose from {', '.join(LOSSLESS_OUTPUTS)}")
        if name not in filmed:
            raise InvalidArgumentError(f"{name!r} was to be stored, but no camera films it; name it in CameraRequest(outputs=...)")
    return tuple(wanted)
