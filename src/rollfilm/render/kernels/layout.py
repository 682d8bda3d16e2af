"""From colours pixel by pixel to other layouts, one thread for each block of 2 x 2 pixels."""

from functools import cache

import warp as wp

from rollfilm.cpu_flags import VECTOR_FLAGS
from rollfilm.render.kernels.types import WorldData


@wp.struct
class Planes:
    """Pictures in another layout; of the three arrays one is there. Offset and scale are those of each channel."""

    bytes: wp.array2d(dtype=wp.uint8)
    halves: wp.array2d(dtype=wp.float16)
    floats: wp.array2d(dtype=wp.float32)
    scale: wp.vec3  # what a byte of each channel is multiplied with
    shift: wp.vec3  # and what is added then
    luma: wp.vec3  # weights of red, green and blue
    num_worlds: int
    height: int
    width: int


@wp.func
def color_at(rgb: wp.array2d(dtype=wp.uint8), v: int, pixel: int):
    """Red, green and blue of a pixel, 0 to 255."""
    return wp.vec3(float(rgb[v, 3 * pixel]), float(rgb[v, 3 * pixel + 1]), float(rgb[v, 3 * pixel + 2]))


@wp.func
def yuv_byte(value: float):
    """The nearest byte."""
    return wp.uint8(int(wp.clamp(value + 0.5, 0.0, 255.0)))


@wp.func
def store_yuv_block(rgb: wp.array2d(dtype=wp.uint8), planes: Planes, v: int, y0: int, x0: int):
    """Brightness of four pixels and their mean colour, limited range (ITU-T H.273, 8.3); the last row and column are repeated."""
    columns = planes.width + planes.width % 2
    rows = planes.height + planes.height % 2
    mean = wp.vec3(0.0)
    for dy in range(2):
        for dx in range(2):
            y = wp.min(y0 + dy, planes.height - 1)
            x = wp.min(x0 + dx, planes.width - 1)
            color = color_at(rgb, v, y * planes.width + x)
            mean += 0.25 * color
            planes.bytes[v, (y0 + dy) * columns + x0 + dx] = yuv_byte(16.0 + wp.dot(planes.luma, color) * (219.0 / 255.0))
    brightness = wp.dot(planes.luma, mean)
    blue = (mean[2] - brightness) * (112.0 / 255.0) / (1.0 - planes.luma[2])
    red = (mean[0] - brightness) * (112.0 / 255.0) / (1.0 - planes.luma[0])
    at = rows * columns + (y0 // 2) * (columns // 2) + x0 // 2
    planes.bytes[v, at] = yuv_byte(128.0 + blue)
    planes.bytes[v, at + (rows // 2) * (columns // 2)] = yuv_byte(128.0 + red)


@cache
def layout_kernel(dtype: str, *, normalised: bool, yuv: bool):
    """The kernel for a layout."""

    @wp.kernel(enable_backward=False, module="unique", module_options={"cpu_compiler_flags": VECTOR_FLAGS})
    def lay_out(first_view: int, world: WorldData, rgb: wp.array2d(dtype=wp.uint8), planes: Planes):
        """One thread a view and block of pixels."""
        row, block_y, block_x = wp.tid()
        v = first_view + row
        if world.active[v % planes.num_worlds] == 0:
            return
        y0 = 2 * block_y
        x0 = 2 * block_x
        if wp.static(yuv):
            store_yuv_block(rgb, planes, v, y0, x0)
        else:
            size = planes.height * planes.width
            for y in range(y0, wp.min(y0 + 2, planes.height)):
                for x in range(x0, wp.min(x0 + 2, planes.width)):
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
