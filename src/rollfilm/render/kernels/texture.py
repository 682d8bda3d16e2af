"""Texture lookups: bilinear, trilinear over mip levels, cube maps.

A texel is three lanes of 21 bits in one 64-bit word (red lowest), so that one multiplication weighs three colors. Weights are whole
numbers that add up to 8192, so that eight bits of color and thirteen of weight just fill a lane.
"""

from functools import cache

import warp as wp

from rollfilm.render.kernels.power import log2_of
from rollfilm.render.kernels.types import SceneData

TOTAL_WEIGHT = wp.constant(8192)


@wp.func
def image_first(image: wp.uint64):
    """The first texel of an image (``SceneData.texture_image``)."""
    return int(image & wp.uint64(0xFFFFFFFF))


@wp.func
def image_size(image: wp.uint64):
    """Width and height of an image."""
    return wp.vec2i(int((image >> wp.uint64(32)) & wp.uint64(0xFFFF)), int(image >> wp.uint64(48)))


@wp.func
def four_texels(scene: SceneData, image: wp.uint64, x0: int, x1: int, y0: int, y1: int, part_x: int, part_y: int, weight: int):
    """The weighted sum of the texels at columns x0, x1 and rows y0, y1 of an image, by 256ths of a texel. Tiles are 4 x 4."""
    right = (weight * part_x) >> 8
    left = weight - right
    bottom_left = (left * part_y) >> 8
    bottom_right = (right * part_y) >> 8
    first = image_first(image)
    across = ((image_size(image)[0] + 3) >> 2) << 4  # texels in a row of tiles
    row0 = first + (y0 >> 2) * across + ((y0 & 3) << 2)
    row1 = first + (y1 >> 2) * across + ((y1 & 3) << 2)
    column0 = ((x0 >> 2) << 4) + (x0 & 3)
    column1 = ((x1 >> 2) << 4) + (x1 & 3)
    # unsigned indices spare the check for negative ones
    total = scene.texel[wp.uint32(row0 + column0)] * wp.uint64(left - bottom_left)
    total += scene.texel[wp.uint32(row0 + column1)] * wp.uint64(right - bottom_right)
    total += scene.texel[wp.uint32(row1 + column0)] * wp.uint64(bottom_left)
    total += scene.texel[wp.uint32(row1 + column1)] * wp.uint64(bottom_right)
    return total


@wp.func
def lane_colors(lanes: wp.uint64):
    """Red, green and blue, 0 to 1, of a weighted sum."""
    red = float(int(lanes & wp.uint64(0x1FFFFF)))
    green = float(int((lanes >> wp.uint64(21)) & wp.uint64(0x1FFFFF)))
    blue = float(int(lanes >> wp.uint64(42)))
    return wp.vec3(red, green, blue) * (1.0 / (255.0 * 8192.0))


@wp.func
def bilinear(scene: SceneData, image: wp.uint64, u: float, v: float, weight: int):
    """A repeating image at (u, v), both in [0, 1], v up from its last row, times ``weight``."""
    size = image_size(image)
    x = int(u * float(size[0] << 8)) - 128
    y = int((1.0 - v) * float(size[1] << 8)) - 128
    x0 = x >> 8
    y0 = y >> 8
    x1 = x0 + 1
    y1 = y0 + 1
    # a neighbour is at most one texel beyond an edge
    if x0 < 0:
        x0 = size[0] - 1
    if x1 >= size[0]:
        x1 = 0
    if y0 < 0:
        y0 = size[1] - 1
    if y1 >= size[1]:
        y1 = 0
    return four_texels(scene, image, x0, x1, y0, y1, x & 255, y & 255, weight)


@wp.func
def mip_level(size: wp.vec2, uv_dx: wp.vec2, uv_dy: wp.vec2):
    """The level of OpenGL for a pixel over which texture coordinates change by ``uv_dx`` and ``uv_dy``, counted from the finest.

    It is the logarithm of the longer side of the pixel in texels.
    """
    dx = wp.cw_mul(uv_dx, size)
    dy = wp.cw_mul(uv_dy, size)
    return wp.max(0.5 * log2_of(wp.max(wp.max(wp.dot(dx, dx), wp.dot(dy, dy)), 1.0e-12)), 0.0)


@wp.func_native("""
#if defined(__CUDA_ARCH__)
    const float4 color = tex2D<float4>(unit, u, v);
    return wp::vec3(color.x, color.y, color.z);
#else
    return wp::vec3();
#endif
""")
def texture_unit(unit: wp.uint64, u: float, v: float) -> wp.vec3:
    """A bilinear sample by a GPU's texture unit, v down from the first row; 0 to 1. There are none on the CPU."""


@wp.func
def trilinear_unit(scene: SceneData, first: int, last: int, u: float, v: float, level: float):
    """A repeating image between two of its mip levels, v up from its last row, by a GPU's texture units; 0 to 1."""
    fine = int(wp.min(level, float(last - first)) * 256.0)
    at = first + (fine >> 8)
    color = texture_unit(scene.texture_unit[at], u, 1.0 - v)
    if (fine & 255) > 0:
        color += (texture_unit(scene.texture_unit[at + 1], u, 1.0 - v) - color) * (float(fine & 255) * (1.0 / 256.0))
    return color


@wp.func
def cube_face(direction: wp.vec3):
    """The face of a cube map that is seen along a direction, 0 to 5 (OpenGL 2.1, table 3.19)."""
    x = wp.abs(direction[0])
    y = wp.abs(direction[1])
    z = wp.abs(direction[2])
    axis = int(2)
    if x >= y and x >= z:
        axis = 0
    elif y >= z:
        axis = 1
    face = 2 * axis
    if direction[axis] < 0.0:
        face += 1
    return face


@wp.func
def on_face(face: int, v: wp.vec3):
    """What a vector is in the axes of a face: right, down, and into it."""
    if face == 0:
        return wp.vec3(-v[2], -v[1], v[0])
    if face == 1:
        return wp.vec3(v[2], -v[1], -v[0])
    if face == 2:
        return wp.vec3(v[0], v[2], v[1])
    if face == 3:
        return wp.vec3(v[0], -v[2], -v[1])
    if face == 4:
        return wp.vec3(v[0], -v[1], v[2])
    return wp.vec3(-v[0], -v[1], -v[2])


@wp.func
def bilinear_face(scene: SceneData, image: wp.uint64, s: float, t: float, major: float, weight: int):
    """A face of a cube map at (s, t), right and down from its middle, both at most ``major``; times ``weight``."""
    n = image_size(image)[0]
    half = 128.0 * float(n) / major
    limit = (n - 1) << 8
    px = wp.clamp(int((s + major) * half) - 128, 0, limit)
    py = wp.clamp(int((t + major) * half) - 128, 0, limit)
    x0 = px >> 8
    y0 = py >> 8
    return four_texels(scene, image, x0, wp.min(x0 + 1, n - 1), y0, wp.min(y0 + 1, n - 1), px & 255, py & 255, weight)


@wp.func
def trilinear_face(scene: SceneData, first: int, levels: int, uv: wp.vec2, level: float):
    """A face of a cube map, whose finest image is ``first``, between two of its mip levels; v down from its first row.

    A weighted sum, as ``lane_colors`` takes it.
    """
    fine = int(wp.min(level, float(levels - 1)) * 256.0)
    image = first + 6 * (fine >> 8)
    part = (fine & 255) * (TOTAL_WEIGHT >> 8)
    s = uv[0] - 0.5
    t = uv[1] - 0.5
    lanes = bilinear_face(scene, scene.texture_image[image], s, t, 0.5, TOTAL_WEIGHT - part)
    if part > 0:
        lanes += bilinear_face(scene, scene.texture_image[image + 6], s, t, 0.5, part)
    return lanes


@wp.func
def trilinear_face_unit(scene: SceneData, first: int, levels: int, uv: wp.vec2, level: float):
    """The same by a GPU's texture units; 0 to 1."""
    fine = int(wp.min(level, float(levels - 1)) * 256.0)
    image = first + 6 * (fine >> 8)
    color = texture_unit(scene.texture_unit[image], uv[0], uv[1])
    if (fine & 255) > 0:
        color += (texture_unit(scene.texture_unit[image + 6], uv[0], uv[1]) - color) * (float(fine & 255) * (1.0 / 256.0))
    return color


@cache
def cube_sampling(*, hardware: bool):
    """The function that samples the finest level of cube maps: by a GPU's texture units, or by arithmetic.

    Both filter with weights of eight bits, so that they agree to less than a step of a byte.
    """

    @wp.func
    def cube_map(scene: SceneData, texture: int, direction: wp.vec3):
        """Six images (+x, -x, +y, -y, +z, -z) seen along ``direction``; 0 to 1."""
        face = cube_face(direction)
        place = on_face(face, direction)
        number = scene.texture_level[texture] + face
        if wp.static(hardware):
            return texture_unit(scene.texture_unit[number], 0.5 * place[0] / place[2] + 0.5, 0.5 * place[1] / place[2] + 0.5)
        return lane_colors(bilinear_face(scene, scene.texture_image[number], place[0], place[1], place[2], TOTAL_WEIGHT))

    return cube_map
