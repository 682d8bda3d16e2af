"""The sky behind a chunk of a row of pixels, and haze and fog before it, sixteen pixels at once: how a CPU goes fastest.

What is computed is what ``shade.shading``'s background and ``veil.veiling`` compute for a pixel, to the bit.
"""

from functools import cache
from typing import NamedTuple

import warp as wp

from rollfilm.render.kernels.features import Features
from rollfilm.render.kernels.filter_chunk import filtering
from rollfilm.render.kernels.shade import Eye, pixel_ray
from rollfilm.render.kernels.types import SceneData
from rollfilm.render.kernels.vectors import GATHERS, VECTORS
from rollfilm.render.kernels.veil import Horizon, may_be_hazy

ChunkOfFloats = wp.types.vector(length=64, dtype=wp.float32)

#: Red of 64 points, then green, then blue.
ChunkOfColors = wp.types.vector(length=192, dtype=wp.float32)

_RAYS = """
    const floats lane = {0.5f, 1.5f, 2.5f, 3.5f, 4.5f, 5.5f, 6.5f, 7.5f, 8.5f, 9.5f, 10.5f, 11.5f, 12.5f, 13.5f, 14.5f, 15.5f};
    const Way corner = all(eye.corner), step_x = all(eye.step_x), step_y = all(eye.step_y), forward = all(eye.forward);
    const floats place_y = (float)y + 0.5f;
    const Way row = {fused(step_y.x, place_y, corner.x), fused(step_y.y, place_y, corner.y), fused(step_y.z, place_y, corner.z)};
    const auto ray_of = [&](int k) {
        const floats place_x = (floats)(float)(x + 16 * k) + lane;
        return Way {fused(step_x.x, place_x, row.x), fused(step_x.y, place_x, row.y), fused(step_x.z, place_x, row.z)};
    };
"""
_BLACK = """
    const auto sky_at = [&](const Way& ray) { return Way {(floats)0.0f, (floats)0.0f, (floats)0.0f}; };
"""
# texture.cube_face, on_face and bilinear_face
_SKY = """
    const wp::uint32* const images = (const wp::uint32*)scene.texture_image.data;
    const int first_face = *wp::address(scene.texture_level, scene.skybox);
    const auto sky_at = [&](const Way& ray) {
        const Way sight = SIGHT;
        const Way d = {sight.x, sight.z, -sight.y};
        const floats ax = __builtin_elementwise_abs(d.x), ay = __builtin_elementwise_abs(d.y), az = __builtin_elementwise_abs(d.z);
        const ints along_x = (ax >= ay) & (ax >= az), along_y = ~along_x & (ay >= az);
        const floats axis = along_x ? d.x : along_y ? d.y : d.z;
        const ints back = axis < 0.0f;
        const ints face = (along_x ? (ints)0 : along_y ? (ints)2 : (ints)4) - back;
        const floats s = along_x ? (back ? d.z : -d.z) : along_y ? d.x : back ? -d.x : d.x;
        const floats t = along_y ? (back ? -d.z : d.z) : -d.y;
        const floats major = back ? -axis : axis;
        const ints number = first_face + face;
        const ints first = gathered(images, 2 * number);
        const ints width = gathered(images, 2 * number + 1) & 0xFFFF;
        const floats half = 0.5f / major;
        const words size = __builtin_bit_cast(words, width);
        const ints limit = (width - 1) << 8;
        const auto bounded = [&](floats place) {
            const ints found = texel_place(fixed_place(least(most(place, 0.0f), 1.0f)), size);
            return found < 0 ? (ints)0 : found > limit ? limit : found;
        };
        const ints u = bounded(fused(s, half, 0.5f)), v = bounded(fused(t, half, 0.5f));
        const ints at = first + (v >> 8) * (width + 1) + (u >> 8);
        words texel[4];
        two_texels(scene.texel.data, at, texel[0], texel[1]);
        two_texels(scene.texel.data, at + width + 1, texel[2], texel[3]);
        const Sums sum = weighed(texel, u, v, (words)256u);
        return Way {filtered(sum.r), filtered(sum.g), filtered(sum.b)};
    };
"""
_SKY_CHUNK = """
    wp::vec_t<192, wp::float32> colors;
    loose* const out = (loose*)colors.c;
    for (int k = 0; k < (count + 15) >> 4; ++k) {
        const Way sky = sky_at(ray_of(k));
        out[k] = sky.x;
        out[4 + k] = sky.y;
        out[8 + k] = sky.z;
    }
    return colors;
"""
_VEIL = """
    const auto mixed = [](const Way& a, const Way& b, floats part) {
        return Way {a.x + part * (b.x - a.x), a.y + part * (b.y - a.y), a.z + part * (b.z - a.z)};
    };
    const auto chosen = [](ints which, const Way& a, const Way& b) {
        return Way {which ? a.x : b.x, which ? a.y : b.y, which ? a.z : b.z};
    };
    const Way up = all(horizon.up), haze_color = all(scene.haze_color), fog_color = all(scene.fog_color);
    const float high = horizon.height, far_sky = horizon.sky, width = scene.haze_width;
    const auto clear_part = [&](floats depth) {
        return least(most((scene.fog_end - depth) / (scene.fog_end - scene.fog_start), 0.0f), 1.0f);
    };
    // veil.haze_strength
    const float elevation = high / far_sky, alpha = wp::atan2(1.0f, width);
    const float densest = wp::sqrt(0.5f) * width * wp::sin(alpha) / wp::sin(0.75f * 3.14159265358979f - alpha);
    wp::vec_t<192, wp::float32> colors;
    loose* const out = (loose*)colors.c;
    for (int k = 0; k < (count + 15) >> 4; ++k) {
        const Way ray = ray_of(k);
        const floats depth = ((const loose*)depths.c)[k];
        Way seen = {
            least(((const loose*)red.c)[k], 1.0f), least(((const loose*)green.c)[k], 1.0f), least(((const loose*)blue.c)[k], 1.0f),
        };
        const floats rise = up.x * ray.x + up.y * ray.y + up.z * ray.z;
        const Way level = {ray.x - rise * up.x, ray.y - rise * up.y, ray.z - rise * up.z};
        const floats run = __builtin_elementwise_sqrt(level.x * level.x + level.y * level.y + level.z * level.z);
        const floats sky_depth = far_sky / most(run, 1.0e-6f);
        const floats away = depth > 0.0f ? depth * run : (floats)1.0e30f;
        ints is_sky = depth <= 0.0f;
        if (HAZE && high > 0.0f) {
            // the sky stands before what is farther away
            const ints before = (away > far_sky) & (depth > 0.0f);
            if (__builtin_reduce_or(before)) {
                seen = chosen(before, sky_at(ray), seen);
                is_sky |= before;
            }
        }
        if (FOG) {
            const Way near_fog = mixed(fog_color, seen, clear_part(depth));
            const Way far_fog = SKYBOX ? mixed(fog_color, seen, clear_part(sky_depth)) : seen;
            seen = chosen((depth > 0.0f) & ~is_sky, near_fog, far_fog);
        }
        if (HAZE && high > 0.0f) {
            const Way haze = FOG ? mixed(fog_color, haze_color, clear_part(sky_depth)) : haze_color;
            const floats slope = -rise / most(run, 1.0e-20f);
            const floats t = (elevation - slope * (1.0f - width)) / most(elevation + slope * width, 1.0e-20f);
            floats strength = t < densest ? t / densest : (1.0f - t) / (1.0f - densest);
            strength = ((t < 0.0f) | (t > 1.0f) | (away < far_sky * (1.0f - width * (1.0f - t)))) ? (floats)0.0f : strength;
            seen = chosen(slope > 0.0f, mixed(seen, haze, strength), seen);
        }
        out[k] = seen.x;
        out[4 + k] = seen.y;
        out[8 + k] = seen.z;
    }
    return colors;
"""


class ChunkVeiling(NamedTuple):
    """The functions that give the sky behind a chunk of pixels, tell whether there may be haze or fog before it, and put it there."""

    sky: wp.Function
    hazy: wp.Function
    veil: wp.Function


@cache
def chunk_veiling(features: Features) -> ChunkVeiling:
    """The functions for these features."""
    sky = GATHERS + filtering(16) + _SKY.replace("SIGHT", "forward" if features.flat else "ray") if features.skybox else _BLACK
    # an orthographic camera looks the same way at all pixels, whose rays are places
    veil = _VEIL.replace("ray_of(k)", "forward") if features.flat else _VEIL
    for word, value in (("HAZE", features.haze), ("FOG", features.fog), ("SKYBOX", features.skybox)):
        veil = veil.replace(word, str(value).lower())

    @wp.func_native(VECTORS + _RAYS + sky + _SKY_CHUNK)
    def sky_chunk(scene: SceneData, eye: Eye, x: int, y: int, count: int) -> ChunkOfColors:  # pyright: ignore[reportInvalidTypeForm]
        """Red, green and blue of what is behind everything at ``count`` pixels from column ``x`` of row ``y``."""

    @wp.func_native(VECTORS + _RAYS + sky + veil)
    def veil_many(
        scene: SceneData,
        eye: Eye,
        horizon: Horizon,
        depths: ChunkOfFloats,  # pyright: ignore[reportInvalidTypeForm]
        red: ChunkOfFloats,  # pyright: ignore[reportInvalidTypeForm]
        green: ChunkOfFloats,  # pyright: ignore[reportInvalidTypeForm]
        blue: ChunkOfFloats,  # pyright: ignore[reportInvalidTypeForm]
        x: int,
        y: int,
        count: int,
    ) -> ChunkOfColors:  # pyright: ignore[reportInvalidTypeForm]
        """Colors behind haze and fog; a depth of 0 is the background."""

    @wp.func
    def hazy(scene: SceneData, horizon: Horizon, eye: Eye, x: int, y: int, count: int):
        if wp.static(features.fog):
            return True
        return may_be_hazy(scene, horizon, pixel_ray(eye, x, y), pixel_ray(eye, x + count - 1, y))

    @wp.func
    def veil_chunk(
        scene: SceneData,
        horizon: Horizon,
        eye: Eye,
        depth: ChunkOfFloats,
        red: ChunkOfFloats,
        green: ChunkOfFloats,
        blue: ChunkOfFloats,
        x: int,
        y: int,
        count: int,
    ):
        veiled = veil_many(scene, eye, horizon, depth, red, green, blue, x, y, count)
        j = int(0)
        while j < 64:
            red[j] = veiled[j]
            green[j] = veiled[64 + j]
            blue[j] = veiled[128 + j]
            j += 1
        return red, green, blue

    return ChunkVeiling(sky_chunk, hazy, veil_chunk)
