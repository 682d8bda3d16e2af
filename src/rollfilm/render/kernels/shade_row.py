"""Shading for a CPU: a chunk of a row of pixels at a time, one step for the whole chunk after the other.

Between the steps values lie in small arrays on the stack, so that compilers turn each step into vector instructions. The loops are
written with ``while``, whose counters compilers see through. What is computed is what the GPU computes for one pixel.
"""

from functools import cache
from typing import NamedTuple

import warp as wp

from rollfilm.render.kernels.features import Features
from rollfilm.render.kernels.ground_chunk import ground_shading
from rollfilm.render.kernels.light_chunk import chunk_lighting
from rollfilm.render.kernels.shade import (
    SURFACE,
    Eye,
    Plane,
    Surface,
    cube_coordinates,
    pixel_ray,
    plane_depth,
    ray_at,
    seen_depth,
    shading,
    sight,
    texture_coordinates,
)
from rollfilm.render.kernels.shadow_share import chunk_shares
from rollfilm.render.kernels.surface_points import surface_pointing
from rollfilm.render.kernels.texture import bilinear, filtered, mip_level, part_of_whole, trilinear_face
from rollfilm.render.kernels.types import EMPTY_KEY, Pictures, SceneData, WorldData, key_geom
from rollfilm.render.kernels.veil import Horizon, veiling
from rollfilm.render.kernels.veil_chunk import chunk_veiling

ROW_CHUNK = wp.constant(64)
ChunkOfFloats = wp.types.vector(length=64, dtype=wp.float32)
ChunkOfInts = wp.types.vector(length=64, dtype=wp.int32)
ChunkOfKeys = wp.types.vector(length=64, dtype=wp.uint64)
SortedKeys = wp.types.vector(length=67, dtype=wp.int32)


@wp.func
def sample_chunk(
    scene: SceneData, count: int, image: ChunkOfInts, last: ChunkOfInts, u: ChunkOfFloats, v: ChunkOfFloats, level: ChunkOfFloats
):
    """The textures of ``count`` pixels between two mip levels each: red, green and blue, 0 to 1."""
    red = ChunkOfFloats()
    green = ChunkOfFloats()
    blue = ChunkOfFloats()
    sum_r = ChunkOfInts()
    sum_g = ChunkOfInts()
    sum_b = ChunkOfInts()
    between = int(0)
    j = int(0)
    while j < count:
        fine = int(wp.min(level[j], float(last[j] - image[j])) * 256.0)
        between = between | (fine & 255)
        sum = bilinear(scene, image[j] + (fine >> 8), part_of_whole(u[j]), part_of_whole(1.0 - v[j]), 256 - (fine & 255))
        sum_r[j] = sum[0]
        sum_g[j] = sum[1]
        sum_b[j] = sum[2]
        j += 1
    # close to a texture its finest image is all
    if between > 0:
        j = int(0)
        while j < count:
            fine = int(wp.min(level[j], float(last[j] - image[j])) * 256.0)
            number = wp.min(image[j] + (fine >> 8) + 1, last[j])
            sum = bilinear(scene, number, part_of_whole(u[j]), part_of_whole(1.0 - v[j]), fine & 255)
            sum_r[j] = sum_r[j] + sum[0]
            sum_g[j] = sum_g[j] + sum[1]
            sum_b[j] = sum_b[j] + sum[2]
            j += 1
    j = int(0)
    while j < count:
        color = filtered(wp.vec3i(sum_r[j], sum_g[j], sum_b[j]))
        red[j] = color[0]
        green[j] = color[1]
        blue[j] = color[2]
        j += 1
    return red, green, blue


# Whole chunks are interleaved by shuffles, which compilers only see to if the number of pixels is a constant.
@wp.func_native("""
    wp::uint8 r[64], g[64], b[64];
    for (int j = 0; j < 64; ++j) {
        r[j] = (wp::uint8)(int)(wp::clamp(red.c[j], 0.0f, 1.0f) * 255.0f + 0.5f);
        g[j] = (wp::uint8)(int)(wp::clamp(green.c[j], 0.0f, 1.0f) * 255.0f + 0.5f);
        b[j] = (wp::uint8)(int)(wp::clamp(blue.c[j], 0.0f, 1.0f) * 255.0f + 0.5f);
    }
    wp::uint8* out = (wp::uint8*)((char*)rgb.data + view * (size_t)rgb.strides[0]) + 3 * (size_t)pixel;
    if (count == 64) {
        for (int j = 0; j < 64; ++j) {
            out[3 * j] = r[j];
            out[3 * j + 1] = g[j];
            out[3 * j + 2] = b[j];
        }
    } else {
        for (int j = 0; j < count; ++j) {
            out[3 * j] = r[j];
            out[3 * j + 1] = g[j];
            out[3 * j + 2] = b[j];
        }
    }
""")
def store_bytes(
    rgb: wp.array2d(dtype=wp.uint8), view: int, pixel: int, count: int, red: ChunkOfFloats, green: ChunkOfFloats, blue: ChunkOfFloats
):
    """``count`` pixels, from number ``pixel`` of the picture of a view, as bytes, rounded as ``shade.to_byte`` does."""


@wp.func_native("""
    wp::uint8 bytes[3][64];
    for (int j = 0; j < 64; ++j) {
        bytes[0][j] = (wp::uint8)(int)(wp::clamp(red.c[j], 0.0f, 1.0f) * 255.0f + 0.5f);
        bytes[1][j] = (wp::uint8)(int)(wp::clamp(green.c[j], 0.0f, 1.0f) * 255.0f + 0.5f);
        bytes[2][j] = (wp::uint8)(int)(wp::clamp(blue.c[j], 0.0f, 1.0f) * 255.0f + 0.5f);
    }
    wp::uint8* const picture = (wp::uint8*)((char*)rgb.data + view * (size_t)rgb.strides[0]);
    for (int j = 0; j < count; ++j) {
        wp::uint8* const out = picture + 3 * (size_t)pixel.c[j];
        out[0] = bytes[0][j];
        out[1] = bytes[1][j];
        out[2] = bytes[2][j];
    }
""")
def scatter_bytes(
    rgb: wp.array2d(dtype=wp.uint8),
    view: int,
    pixel: ChunkOfInts,
    count: int,
    red: ChunkOfFloats,
    green: ChunkOfFloats,
    blue: ChunkOfFloats,
):
    """``store_bytes`` for pixels anywhere in the picture."""


@wp.func_native("""
    typedef unsigned long long keys __attribute__((ext_vector_type(16)));
    typedef unsigned long long loose_keys __attribute__((ext_vector_type(16), aligned(8)));
    typedef bool bits_of_lanes __attribute__((ext_vector_type(16)));
    wp::uint64 empty = 0, floored = 0;
    for (int j = 0; j < 64; j += 16) {
        const keys k = *(const loose_keys*)(key.c + j);
        empty |= (wp::uint64)__builtin_bit_cast(unsigned short, __builtin_convertvector(k == ~0ull, bits_of_lanes)) << j;
        const auto is_floor = (k & 0xFFFFFFFFFull) == (keys)floor_key;
        floored |= (wp::uint64)__builtin_bit_cast(unsigned short, __builtin_convertvector(is_floor, bits_of_lanes)) << j;
    }
    const wp::uint64 counted = count < 64 ? ((wp::uint64)1 << count) - 1 : ~(wp::uint64)0;
    empty &= counted;
    floored &= counted & ~empty;
    wp::vec_t<67, wp::int32> sorted;
    int n = 0;
    for (wp::uint64 others = counted & ~empty & ~floored; others; others &= others - 1)
        sorted.c[n++] = __builtin_ctzll(others);
    sorted.c[64] = n;
    sorted.c[65] = __builtin_popcountll(floored);
    sorted.c[66] = __builtin_popcountll(empty);
    return sorted;
""")
def sort_keys(key: ChunkOfKeys, floor_key: wp.uint64, count: int) -> SortedKeys:
    """Which of ``count`` keys show neither the floor nor nothing, then how many they are, how many show the floor, and how many nothing."""


@wp.func_native("""
    const char* out = (const char*)rgb.data + view * (size_t)rgb.strides[0] + 3 * (size_t)pixel;
    for (int at = 0; at < 3 * count; at += 64)
        __builtin_prefetch(out + at, 1);
""")
def expect_bytes(rgb: wp.array2d(dtype=wp.uint8), view: int, pixel: int, count: int):
    """Fetch what ``store_bytes`` will write to: pictures are larger than caches, and stores that wait for memory hold up all others."""


class ChunkShading(NamedTuple):
    """The functions that shade a chunk: what lies behind all meshes, surfaces anywhere in the picture, nothing but a plane.

    Then those that give the colours of surfaces, and of what lies behind; whether there may be haze before a chunk; and what is worked
    out once a view about its floor.
    """

    shade_ground: wp.Function
    shade_surfaces: wp.Function
    shade_plane: wp.Function
    surfaces: wp.Function
    ground: wp.Function
    hazy: wp.Function
    ground_numbers: type
    make_ground: wp.Function


@cache
def chunk_shading(features: Features) -> ChunkShading:
    """The functions for these features."""
    load_surface, _ = shading(features, hardware=False)
    light_surfaces = chunk_lighting(features)
    Ground, make_ground, ground_chunk = ground_shading(features)
    surface_points = surface_pointing(features)
    _, _, surface_spot, _ = sight(features)
    shadows = len(features.shadows)
    shares_of_chunk = chunk_shares(features) if shadows else None
    sky_chunk, hazy, veil = chunk_veiling(features)
    veil_point = veiling(features, hardware=False)
    # what each light adds is cut at 1 where there are shadows, else the sum of all
    brightest = wp.constant(1.0e30 if shadows else 1.0)

    @wp.func
    def plane_colors(
        scene: SceneData,
        world: WorldData,
        eye: Eye,
        plane: Plane,
        surface: Surface,
        ground: Ground,  # pyright: ignore[reportInvalidTypeForm]
        x: int,
        y: int,
        count: int,
    ):
        """Red, green and blue of a plane at ``count`` pixels from column ``x`` of row ``y``, as if it were all that is seen."""
        red = ChunkOfFloats()
        green = ChunkOfFloats()
        blue = ChunkOfFloats()
        if wp.static(shadows > 0):
            depth = ChunkOfFloats()
            normal_x = ChunkOfFloats()
            normal_y = ChunkOfFloats()
            normal_z = ChunkOfFloats()
            place_x = ChunkOfFloats()
            place_y = ChunkOfFloats()
            j = int(0)
            while j < count:
                depth[j] = plane_depth(plane, pixel_ray(eye, x + j, y))
                normal_x[j] = surface.facet[0]
                normal_y[j] = surface.facet[1]
                normal_z[j] = surface.facet[2]
                place_x[j] = float(x + j) + 0.5
                place_y[j] = float(y) + 0.5
                j += 1
            shares = shares_of_chunk(
                scene, world, eye, depth, normal_x, normal_y, normal_z, place_x, place_y, count, wp.static(1 if features.planes == 1 else 0)
            )
            lit = ground_chunk(scene, ground, surface, x, y, count, shares)
        else:
            lit = ground_chunk(scene, ground, surface, x, y, count, ChunkOfFloats())
        j = int(0)
        while j < count:
            red[j] = lit[j]
            green[j] = lit[ROW_CHUNK + j]
            blue[j] = lit[2 * ROW_CHUNK + j]
            j += 1
        return red, green, blue

    @wp.func
    def shade_plane(
        scene: SceneData,
        world: WorldData,
        eye: Eye,
        plane: Plane,
        floor: Surface,
        ground: Ground,  # pyright: ignore[reportInvalidTypeForm]
        horizon: Horizon,
        pictures: Pictures,
        v: int,
        pixel: int,
        x: int,
        y: int,
        count: int,
    ):
        """``shade_chunk`` where a plane is all that is seen."""
        red, green, blue = plane_colors(scene, world, eye, plane, floor, ground, x, y, count)
        if wp.static(features.haze or features.fog):
            if hazy(scene, horizon, eye, x, y, count):
                away = ChunkOfFloats()
                j = int(0)
                while j < count:
                    away[j] = plane_depth(plane, pixel_ray(eye, x + j, y))
                    j += 1
                red, green, blue = veil(scene, horizon, eye, away, red, green, blue, x, y, count)
        store_bytes(pictures.rgb, v, pixel, count, red, green, blue)

    @wp.func
    def surface_colors(
        scene: SceneData, world: WorldData, eye: Eye, key: ChunkOfKeys, place_x: ChunkOfFloats, place_y: ChunkOfFloats, n: int
    ):
        """Red, green and blue of ``n`` surfaces, side by side, where rays through places of the picture (in pixels) meet them."""
        image = ChunkOfInts()
        last_image = ChunkOfInts()
        painted = ChunkOfInts()
        tex_u = ChunkOfFloats()
        tex_v = ChunkOfFloats()
        level = ChunkOfFloats()
        cube_r = ChunkOfFloats()
        cube_g = ChunkOfFloats()
        cube_b = ChunkOfFloats()
        textured = int(0)
        cubes = int(0)
        if wp.static(features.textures):
            i = int(0)
            while i < n:
                end = i + 1
                if scene.geom_texture[eye.world, key_geom(key[i])] >= 0:
                    # neighbours mostly see the same triangle: set it up once
                    which = key[i] & SURFACE
                    surface = load_surface(scene, world, eye, key[i])
                    textured += 1 - surface.cube
                    j = int(i)
                    while j < n and (key[j] & SURFACE) == which:
                        j += 1
                    end = int(j)
                    if wp.static(features.cubes):
                        if surface.cube == 1:
                            levels = (surface.last_image - surface.image + 1) // 6
                            j = wp.max(i, 0)
                            while j < end:
                                spot = surface_spot(eye, surface, ray_at(eye, place_x[j], place_y[j]), seen_depth(key[j]))
                                face, uv, uv_x, uv_y = cube_coordinates(surface, spot)
                                wanted = mip_level(surface.texture_size, uv_x, uv_y)
                                paint = trilinear_face(scene, surface.image + face, levels, uv, wanted)
                                cube_r[j] = paint[0]
                                cube_g[j] = paint[1]
                                cube_b[j] = paint[2]
                                painted[j] = 2
                                cubes = 1
                                j += 1
                    if surface.cube == 0:
                        j = wp.max(i, 0)
                        while j < end:
                            spot = surface_spot(eye, surface, ray_at(eye, place_x[j], place_y[j]), seen_depth(key[j]))
                            uv, uv_x, uv_y = texture_coordinates(surface, spot)
                            painted[j] = 1
                            image[j] = surface.image
                            last_image[j] = surface.last_image
                            tex_u[j] = uv[0]
                            tex_v[j] = uv[1]
                            level[j] = mip_level(surface.texture_size, uv_x, uv_y)
                            j += 1
                i = end

        red = ChunkOfFloats()
        green = ChunkOfFloats()
        blue = ChunkOfFloats()
        # whole vectors, whose last lanes nobody looks at
        full = (n + 15) // 16 * 16
        if n > 0:
            points = surface_points(scene, world, eye, key, place_x, place_y, n)
            if wp.static(shadows > 0):
                normal_x = ChunkOfFloats()
                normal_y = ChunkOfFloats()
                normal_z = ChunkOfFloats()
                depth = ChunkOfFloats()
                j = int(0)
                while j < full:
                    normal_x[j] = points[j]
                    normal_y[j] = points[ROW_CHUNK + j]
                    normal_z[j] = points[2 * ROW_CHUNK + j]
                    depth[j] = points[3 * ROW_CHUNK + j]
                    j += 1
                shares = shares_of_chunk(scene, world, eye, depth, normal_x, normal_y, normal_z, place_x, place_y, full, 0)
                lit = light_surfaces(scene, world, eye, place_x, place_y, points, full, shares)
            else:
                lit = light_surfaces(scene, world, eye, place_x, place_y, points, full, ChunkOfFloats())
            j = int(0)
            while j < full:
                red[j] = lit[j]
                green[j] = lit[ROW_CHUNK + j]
                blue[j] = lit[2 * ROW_CHUNK + j]
                j += 1
        if wp.static(features.textures):
            if textured > 0:
                paint_r, paint_g, paint_b = sample_chunk(scene, full, image, last_image, tex_u, tex_v, level)
                j = int(0)
                while j < full:
                    red[j] = wp.min(red[j], brightest) * wp.where(painted[j] == 1, paint_r[j], 1.0)
                    green[j] = wp.min(green[j], brightest) * wp.where(painted[j] == 1, paint_g[j], 1.0)
                    blue[j] = wp.min(blue[j], brightest) * wp.where(painted[j] == 1, paint_b[j], 1.0)
                    j += 1
        if wp.static(features.cubes):
            if cubes > 0:
                j = int(0)
                while j < full:
                    red[j] = wp.min(red[j], brightest) * wp.where(painted[j] == 2, cube_r[j], 1.0)
                    green[j] = wp.min(green[j], brightest) * wp.where(painted[j] == 2, cube_g[j], 1.0)
                    blue[j] = wp.min(blue[j], brightest) * wp.where(painted[j] == 2, cube_b[j], 1.0)
                    j += 1
        return red, green, blue

    @wp.func
    def ground_colors(
        scene: SceneData,
        world: WorldData,
        eye: Eye,
        plane: Plane,
        floor: Surface,
        ground: Ground,  # pyright: ignore[reportInvalidTypeForm]
        floored: int,
        empty: int,
        keys: ChunkOfKeys,
        x: int,
        y: int,
        count: int,
    ):
        """Red, green and blue of what is behind all meshes: the floor, if ``floored`` pixels show it, and before it the background."""
        out_r = ChunkOfFloats()
        out_g = ChunkOfFloats()
        out_b = ChunkOfFloats()
        if wp.static(features.planes == 1 and not features.flat):
            if floored > 0:
                floor_r, floor_g, floor_b = plane_colors(scene, world, eye, plane, floor, ground, x, y, count)
                j = int(0)
                while j < count:
                    out_r[j] = floor_r[j]
                    out_g[j] = floor_g[j]
                    out_b[j] = floor_b[j]
                    j += 1
        if empty > 0:
            sky = sky_chunk(scene, eye, x, y, count)
            j = int(0)
            while j < count:
                out_r[j] = wp.where(keys[j] == EMPTY_KEY, sky[j], out_r[j])
                out_g[j] = wp.where(keys[j] == EMPTY_KEY, sky[ROW_CHUNK + j], out_g[j])
                out_b[j] = wp.where(keys[j] == EMPTY_KEY, sky[2 * ROW_CHUNK + j], out_b[j])
                j += 1
        return out_r, out_g, out_b

    @wp.func
    def shade_ground(
        scene: SceneData,
        world: WorldData,
        eye: Eye,
        plane: Plane,
        floor: Surface,
        ground: Ground,  # pyright: ignore[reportInvalidTypeForm]
        floored: int,
        empty: int,
        horizon: Horizon,
        pictures: Pictures,
        keys: ChunkOfKeys,
        v: int,
        pixel: int,
        x: int,
        y: int,
        count: int,
    ):
        """``count`` pixels from column ``x`` of row ``y`` of view ``v``, but for what is neither floor nor background: it comes later.

        The first is number ``pixel`` of the picture.
        """
        red, green, blue = ground_colors(scene, world, eye, plane, floor, ground, floored, empty, keys, x, y, count)
        if wp.static(features.haze or features.fog):
            if hazy(scene, horizon, eye, x, y, count):
                away = ChunkOfFloats()
                j = int(0)
                while j < count:
                    away[j] = seen_depth(keys[j])
                    j += 1
                red, green, blue = veil(scene, horizon, eye, away, red, green, blue, x, y, count)
        store_bytes(pictures.rgb, v, pixel, count, red, green, blue)

    @wp.func
    def shade_surfaces(
        scene: SceneData,
        world: WorldData,
        eye: Eye,
        horizon: Horizon,
        pictures: Pictures,
        key: ChunkOfKeys,
        place_x: ChunkOfFloats,
        place_y: ChunkOfFloats,
        pixel: ChunkOfInts,
        misty: bool,
        v: int,
        n: int,
    ):
        """``n`` pixels anywhere in the picture of view ``v``, none of which is background; ``misty`` if there may be haze before some."""
        red, green, blue = surface_colors(scene, world, eye, key, place_x, place_y, n)
        if wp.static(features.haze or features.fog):
            if misty:
                j = int(0)
                while j < n:
                    color = wp.vec3(red[j], green[j], blue[j])
                    color = veil_point(scene, eye, horizon, ray_at(eye, place_x[j], place_y[j]), seen_depth(key[j]), color)
                    red[j] = color[0]
                    green[j] = color[1]
                    blue[j] = color[2]
                    j += 1
        scatter_bytes(pictures.rgb, v, pixel, n, red, green, blue)

    return ChunkShading(shade_ground, shade_surfaces, shade_plane, surface_colors, ground_colors, hazy, Ground, make_ground)
