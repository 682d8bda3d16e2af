"""The last stage of a batch whose colours are wanted in another layout."""

from dataclasses import dataclass

import numpy as np
import warp as wp

from rollfilm.render.kernels.layout import Planes, layout_kernel
from rollfilm.render.kernels.types import WorldData
from rollfilm.render.layouts import LAYOUTS, layout_shape
from rollfilm.render.request import CameraRequest
from rollfilm.render.yuv import packed_weights, thread_columns

__all__ = ["LayoutStage"]


@dataclass(frozen=True, eq=False)
class LayoutStage:
    """Lays out the colours of a batch of views.

    Attributes:
        kernel: one thread a view, two rows and some columns.
        rgb: what was shaded, uint8 (views, H * W * 3).
        planes: what kernels write.
        array: the pictures in their layout, (views, numbers of a picture).
        blocks: threads of a picture, down and across.
    """

    kernel: wp.Kernel
    rgb: wp.array
    planes: Planes  # pyright: ignore[reportInvalidTypeForm]
    array: wp.array
    blocks: tuple[int, int]

    @classmethod
    def build(cls, request: CameraRequest, num_worlds: int, rgb: wp.array, array: wp.array | None) -> "LayoutStage":
        """The stage for the colours ``rgb``; pictures are written to ``array`` if that is given."""
        layout = LAYOUTS[request.rgb_layout]
        if array is None:
            numbers = int(np.prod(layout_shape(request.rgb_layout, 1, request.height, request.width)))
            array = wp.zeros((rgb.shape[0], numbers), dtype=getattr(wp, layout.dtype), device=rgb.device)
        planes = Planes()
        setattr(planes, {"uint8": "bytes", "float16": "halves", "float32": "floats"}[layout.dtype], array)
        mean, std = np.array(request.rgb_mean or (0, 0, 0), float), np.array(request.rgb_std or (1, 1, 1), float)
        planes.scale, planes.shift = wp.vec3(*(1 / (255 * std))), wp.vec3(*(-mean / std))
        if layout.luma is not None:
            planes.yuv = packed_weights(layout.luma)
        planes.span = thread_columns(request.width, rgb.device)
        planes.num_worlds, planes.height, planes.width = num_worlds, request.height, request.width
        kernel = layout_kernel(layout.dtype, normalised=layout.normalised, yuv=layout.luma is not None)
        return cls(kernel, rgb, planes, array, (-(-request.height // 2), -(-request.width // planes.span)))

    def launch(self, first: int, count: int, world: WorldData, *, record: bool = False) -> wp.Launch | None:  # pyright: ignore[reportInvalidTypeForm]
        """Lay out ``count`` views from number ``first`` on, or record how it is done."""
        return wp.launch(
            self.kernel,
            dim=(count, *self.blocks),
            inputs=[first, world, self.rgb, self.planes],
            device=self.rgb.device,
            record_cmd=record,
        )
