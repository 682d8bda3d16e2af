"""Texture lookups: bilinear, trilinear over mip levels, cube maps.

A texel on the CPU is one 32-bit word (red lowest). Images lie row after row, with one texel more in each row and one row more: what comes
beyond the edge, the first texel of an image that repeats, the last one again of a face of a cube. So the four texels of a lookup are found
from the address of one, without a branch.

Texels are filtered as the texture units of NVIDIA's GPUs do it, to the bit (found by sampling those of an H200): a place has 21 bits, a
mip level and the place between two texels 8, and all up to eight texels of a lookup have whole weights that sum to 256.
"""

from functools import cache

import warp as wp

from rollfilm.render.kernels.power import fused, log2_of
from rollfilm.render.kernels.types import SceneData


@wp.func
def image_size(image: wp.uint64):
    """Width and height of an image (``SceneData.texture_image``)."""
    return wp.vec2i(int((image >> wp.uint64(32)) & wp.uint64(0xFFFF)), int(image >> wp.uint64(48)))


# Words of 32 bits only, read through pointers: compilers make gathers of 16 lanes of it, which Warp's own indexing prevents.
@wp.func_native("""
    const int right = ((x & 255) * weight + 128) >> 8, left = weight - right;
    const int right_below = ((y & 255) * right + 128) >> 8, left_below = ((y & 255) * left + 127) >> 8;
    const int share[4] = {left - left_below, right - right_below, left_below, right_below};
    // indices of 32 bits, so that one gather fetches as many texels as there are lanes
    const wp::uint32 fetched[4] = {texel.data[at], texel.data[at + 1], texel.data[at + stride], texel.data[at + stride + 1]};
    wp::vec_t<3, wp::int32> sum;
    for (int c = 0; c < 3; ++c) {
        sum.c[c] = 0;
        for (int k = 0; k < 4; ++k)
            sum.c[c] += share[k] * (int)((fetched[k] >> (8 * c)) & 255u);
    }
    return sum;
""")
def weigh_texels(texel: wp.array(dtype=wp.uint32), at: int, stride: int, x: int, y: int, weight: int) -> wp.vec3i:
    """Texel number ``at``, the next, and those ``stride`` further on, times the shares of a weight that 256ths of x and y give them."""


@wp.func_native("""
    const wp::uint32* word = (const wp::uint32*)(image.data + number);
    return wp::vec_t<3, wp::int32>((int)word[0], (int)(word[1] & 0xFFFFu), (int)(word[1] >> 16));
""")
def image_at(image: wp.array(dtype=wp.uint64), number: int) -> wp.vec3i:
    """First texel, width and height of an image."""


@wp.func
def fixed_place(place: float):
    """A place from 0 to 1 in 2^21sts, truncated."""
    return int(place * 2097152.0)


@wp.func
def texel_place(place: int, size: int):
    """The place on an image of so many texels, in 256ths of one from the middle of the first: rounded, in 32 bits."""
    return (((place >> 8) * size + (((place & 255) * size + 4096) >> 8)) >> 5) - 128


@wp.func
def filtered(sum: wp.vec3i):
    """Texels whose weights sum to 256, as 0 to 1 in 65535ths."""
    share = 1.0 / 65535.0
    return wp.vec3(
        float(sum[0] + ((sum[0] + 128) >> 8)) * share,
        float(sum[1] + ((sum[1] + 128) >> 8)) * share,
        float(sum[2] + ((sum[2] + 128) >> 8)) * share,
    )


@wp.func
def part_of_whole(x: float):
    """What is beyond the whole number below."""
    return x - wp.floor(x)


@wp.func
def bilinear(scene: SceneData, number: int, u: float, v: float, weight: int):
    """A repeating image at (u, v), both in [0, 1], v down from its first row, times a weight. Free of branches, for vector units."""
    image = image_at(scene.texture_image, number)
    x = texel_place(fixed_place(u), image[1])
    y = texel_place(fixed_place(v), image[2])
    # half a texel before the first is the last
    column = (x >> 8) + wp.where(x < 0, image[1], 0)
    row = (y >> 8) + wp.where(y < 0, image[2], 0)
    return weigh_texels(scene.texel, image[0] + row * (image[1] + 1) + column, image[1] + 1, x, y, weight)


@wp.func
def mip_level(size: wp.vec2, uv_dx: wp.vec2, uv_dy: wp.vec2):
    """The level of OpenGL for a pixel over which texture coordinates change by ``uv_dx`` and ``uv_dy``, counted from the finest.

    It is the logarithm of the longer side of the pixel in texels.
    """
    dx = wp.cw_mul(uv_dx, size)
    dy = wp.cw_mul(uv_dy, size)
    longer = wp.max(fused(dx[0], dx[0], dx[1] * dx[1]), fused(dy[0], dy[0], dy[1] * dy[1]))
    return wp.max(0.5 * log2_of(wp.max(longer, 1.0e-12)), 0.0)


@wp.func
def trilinear(scene: SceneData, first: int, last: int, u: float, v: float, level: float):
    """A repeating image between two of its mip levels, v up from its last row; 0 to 1."""
    fine = int(wp.min(level, float(last - first)) * 256.0)
    image = first + (fine >> 8)
    right = part_of_whole(u)
    down = part_of_whole(1.0 - v)
    sum = bilinear(scene, image, right, down, 256 - (fine & 255))
    if (fine & 255) > 0:
        sum += bilinear(scene, image + 1, right, down, fine & 255)
    return filtered(sum)


@wp.func_native("""
#if defined(__CUDA_ARCH__)
    const float4 color = tex2DLod<float4>(unit, u, v, level);
    return wp::vec3(color.x, color.y, color.z);
#else
    return wp::vec3();
#endif
""")
def texture_unit(unit: wp.uint64, u: float, v: float, level: float) -> wp.vec3:
    """A sample by a GPU's texture unit between two mip levels, v down from the first row; 0 to 1. There are none on the CPU."""


@wp.func
def cube_face(direction: wp.vec3):
    """The face of a cube map that is seen along a direction, 0 to 5 (OpenGL 2.1, table 3.19)."""
    x = wp.abs(direction[0])
    y = wp.abs(direction[1])
    z = wp.abs(direction[2])
    if x >= y and x >= z:
        return wp.where(direction[0] < 0.0, 1, 0)
    if y >= z:
        return wp.where(direction[1] < 0.0, 3, 2)
    return wp.where(direction[2] < 0.0, 5, 4)


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
def bilinear_face(scene: SceneData, number: int, s: float, t: float, weight: int):
    """A face of a cube map at (s, t), right and down from its upper left corner, 0 to 1, times a weight."""
    image = image_at(scene.texture_image, number)
    limit = (image[1] - 1) << 8
    x = wp.clamp(texel_place(fixed_place(wp.clamp(s, 0.0, 1.0)), image[1]), 0, limit)
    y = wp.clamp(texel_place(fixed_place(wp.clamp(t, 0.0, 1.0)), image[1]), 0, limit)
    return weigh_texels(scene.texel, image[0] + (y >> 8) * (image[1] + 1) + (x >> 8), image[1] + 1, x, y, weight)


@wp.func
def trilinear_face(scene: SceneData, first: int, levels: int, uv: wp.vec2, level: float):
    """A face of a cube map, whose finest image is ``first``, between two of its mip levels, v down from its first row; 0 to 1."""
    fine = int(wp.min(level, float(levels - 1)) * 256.0)
    number = first + 6 * (fine >> 8)
    sum = bilinear_face(scene, number, uv[0], uv[1], 256 - (fine & 255))
    if (fine & 255) > 0:
        sum += bilinear_face(scene, number + 6, uv[0], uv[1], fine & 255)
    return filtered(sum)


@cache
def cube_sampling(*, hardware: bool):
    """The function that samples the finest level of cube maps: by a GPU's texture units, or by arithmetic.

    Both filter alike, so that they agree to less than a step of a byte.
    """

    @wp.func
    def cube_map(scene: SceneData, texture: int, direction: wp.vec3):
        """Six images (+x, -x, +y, -y, +z, -z) seen along ``direction``; 0 to 1."""
        face = cube_face(direction)
        place = on_face(face, direction)
        number = scene.texture_level[texture] + face
        half = 0.5 / place[2]
        s = fused(place[0], half, 0.5)
        t = fused(place[1], half, 0.5)
        if wp.static(hardware):
            return texture_unit(scene.texture_unit[number], s, t, 0.0)
        return filtered(bilinear_face(scene, number, s, t, 256))

    return cube_map
