"""From colours pixel by pixel to other layouts, two rows of pixels at a time."""

from functools import cache

import warp as wp

from rollfilm.cpu_flags import VECTOR_FLAGS
from rollfilm.render.kernels.types import WorldData
from rollfilm.render.kernels.yuv import YuvWeights, store_yuv


@wp.struct
class Planes:
    """Pictures in another layout; of the three arrays one is there. Offset and scale are those of each channel."""

    bytes: wp.array2d(dtype=wp.uint8)
    halves: wp.array2d(dtype=wp.float16)
    floats: wp.array2d(dtype=wp.float32)
    scale: wp.vec3  # what a byte of each channel is multiplied with
    shift: wp.vec3  # and what is added then
    yuv: YuvWeights
    span: int  # columns that a thread lays out
    num_worlds: int
    height: int
    width: int


@cache
def layout_kernel(dtype: str, *, normalised: bool, yuv: bool):
    """The kernel for a layout."""

    @wp.kernel(enable_backward=False, module="unique", module_options={"cpu_compiler_flags": VECTOR_FLAGS})
    def lay_out(first_view: int, world: WorldData, rgb: wp.array2d(dtype=wp.uint8), planes: Planes):
        """One thread a view, two rows and ``planes.span`` columns."""
        row, block_y, block_x = wp.tid()
        v = first_view + row
        if world.active[v % planes.num_worlds] == 0:
            return
        y0 = 2 * block_y
        x0 = planes.span * block_x
        if wp.static(yuv):
            x1 = wp.min(x0 + planes.span, planes.width + planes.width % 2)
            weights = planes.yuv
            store_yuv(rgb, v, planes.bytes, v, weights.y, weights.u, weights.v, planes.height, planes.width, y0, x0, x1)
        else:
            size = planes.height * planes.width
            for y in range(y0, wp.min(y0 + 2, planes.height)):
                for x in range(x0, wp.min(x0 + planes.span, planes.width)):
                    pixel = y * planes.width + x
                    for c in range(3):
                        byte = rgb[v, 3 * pixel + c]
                        if wp.static(not normalised):
                            planes.bytes[v, c * size + pixel] = byte
                        elif wp.static(dtype == "float16"):
                            planes.halves[v, c * size + pixel] = wp.float16(float(byte) * planes.scale[c] + planes.shift[c])
                        else:
                            planes.floats[v, c * size + pixel] = float(byte) * planes.scale[c] + planes.shift[c]

    return lay_out
