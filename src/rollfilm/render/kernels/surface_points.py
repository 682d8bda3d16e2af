"""Surfaces for a CPU: up to 64 pixels side by side, each with what it sees, set up for lighting.

What is computed is what ``shade.load_surface`` and ``shade.surface_normal`` compute for a pixel, to the bit. Setting up a triangle takes as
long as it takes to wait for its corners; sixteen at a time they are waited for together. At small sizes hardly two pixels see the same.
"""

from functools import cache

import warp as wp

from rollfilm.render.kernels.features import Features
from rollfilm.render.kernels.shade import Eye
from rollfilm.render.kernels.types import LAYER_MASK, LAYER_STEP, SceneData, WorldData
from rollfilm.render.kernels.vectors import GATHERS, VECTORS

ChunkOfFloats = wp.types.vector(length=64, dtype=wp.float32)
ChunkOfKeys = wp.types.vector(length=64, dtype=wp.uint64)

#: Of 64 points, number after number: normal (not of unit length), depth, colour, emission, specular, exponent.
ChunkOfPoints = wp.types.vector(length=640, dtype=wp.float32)

_SET_UP = """
    typedef unsigned long long keys __attribute__((ext_vector_type(16)));
    typedef unsigned long long loose_keys __attribute__((ext_vector_type(16), aligned(8)));
    wp::vec_t<640, wp::float32> points;
    loose* const out = (loose*)points.c;
    const int w = eye.world;
    const Way corner = all(eye.corner), step_x = all(eye.step_x), step_y = all(eye.step_y);
    const Way forward = all(eye.forward);
    const auto plain_dot = [](const Way& a, const Way& b) { return a.x * b.x + a.y * b.y + a.z * b.z; };
    const auto cross = [](const Way& a, const Way& b) {
        return Way {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
    };
    const auto minus = [](const Way& a, const Way& b) { return Way {a.x - b.x, a.y - b.y, a.z - b.z}; };
    const auto turned = [](const floats* m, const Way& v) {
        return Way {m[0] * v.x + m[1] * v.y + m[2] * v.z, m[3] * v.x + m[4] * v.y + m[5] * v.z, m[6] * v.x + m[7] * v.y + m[8] * v.z};
    };
    const auto way_at = [&](const wp::array_t<wp::vec3>& from, ints at) {
        const wp::uint32* const first = (const wp::uint32*)from.data;
        words x, y;
        two_texels(first, 3 * at, x, y);
        return Way {
            __builtin_bit_cast(floats, x),
            __builtin_bit_cast(floats, y),
            __builtin_bit_cast(floats, gathered(first, 3 * at + 2)),
        };
    };
    for (int k = 0; k < (count + 15) >> 4; ++k) {
        // lanes beyond the last see what the last sees
        keys seen = ((const loose_keys*)key.c)[k];
        const ints lane = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
        if (16 * k + 16 > count)
            for (int i = count - 16 * k; i < 16; ++i)
                seen[i] = key.c[count - 1];
        const ints geom = 16383 - __builtin_convertvector((seen >> 22) & 16383ull, ints);
        ints triangle = __builtin_convertvector(seen & 4194303ull, ints);
        const words bits = 0x0FFFFFFFu - __builtin_convertvector(seen >> 36, words);
        const floats layer = 1.0f + __builtin_convertvector(geom & LAYER_MASK, floats) * LAYER_STEP;
        out[12 + k] = layer / __builtin_bit_cast(floats, (bits << 3) | 4u);

        // what belongs to geoms: of each that is seen
        floats rotation[9], turns_normal[9], place[3], look[6];
        floats flat_normal[3];
        ints is_flat = 0;
        for (int e = 0; e < 9; ++e)
            rotation[e] = turns_normal[e] = 0.0f;
        for (int e = 0; e < 3; ++e)
            place[e] = flat_normal[e] = 0.0f;
        for (int e = 0; e < 6; ++e)
            look[e] = 0.0f;
        unsigned int left_over = 0xFFFFu;
        while (left_over) {
            const int g = geom[__builtin_ctz(left_over)];
            const ints these = geom == g;
            left_over &= ~(unsigned int)__builtin_bit_cast(unsigned short, __builtin_convertvector(these, bits_of_lanes));
            const float* const r = &wp::address(world.geom_rotation, w, g)->data[0][0];
            const int mesh = *wp::address(scene.geom_mesh, w, g);
            const wp::vec3 color = *wp::address(scene.geom_color, w, g), finish = *wp::address(scene.geom_finish, g);
            for (int e = 0; e < 3; ++e) {
                look[e] = these ? (floats)color.c[e] : look[e];
                look[3 + e] = these ? (floats)finish.c[e] : look[3 + e];
            }
            if (mesh < 0) {
                for (int e = 0; e < 3; ++e)
                    flat_normal[e] = these ? (floats)r[3 * e + 2] : flat_normal[e];
                is_flat |= these;
                continue;
            }
            const wp::vec3 from_eye = wp::sub(*wp::address(world.geom_position, w, g), eye.position);
            for (int e = 0; e < 9; ++e)
                rotation[e] = these ? (floats)r[e] : rotation[e];
            for (int e = 0; e < 3; ++e)
                place[e] = these ? (floats)from_eye.c[e] : place[e];
            SIZES
            triangle += these & *wp::address(scene.mesh_triangle, mesh);
        }
        Way normal = {flat_normal[0], flat_normal[1], flat_normal[2]};
        if (__builtin_reduce_and(is_flat) == 0) {
            // planes are looked up as the first triangle, and put back below
            triangle = is_flat ? (ints)0 : triangle;
            const wp::uint32* const first = (const wp::uint32*)scene.triangle.data;
            words corner_a, corner_b;
            two_texels(first, 3 * triangle, corner_a, corner_b);
            const ints ta = __builtin_bit_cast(ints, corner_a), tb = __builtin_bit_cast(ints, corner_b);
            const ints tc = gathered(first, 3 * triangle + 2);
            // shade.edges_of
            const Way va = way_at(scene.vertex, ta);
            Way a = turned(rotation, va);
            a = Way {a.x + place[0], a.y + place[1], a.z + place[2]};
            const Way ab = turned(rotation, minus(way_at(scene.vertex, tb), va));
            const Way ac = turned(rotation, minus(way_at(scene.vertex, tc), va));
            const Way na = way_at(scene.normal, ta);
            const Way nb = minus(way_at(scene.normal, tb), na), nc = minus(way_at(scene.normal, tc), na);
            const Way n = cross(ac, ab);
            WEIGHTS
            // normal_matrix * (outer(na, n) + outer(nb, wb) + outer(nc, wc)), as matrices are multiplied
            const floats* const of_a = &na.x;
            const floats* const of_b = &nb.x;
            const floats* const of_c = &nc.x;
            floats bent[9];
            for (int e = 0; e < 3; ++e) {
                bent[3 * e] = of_a[e] * sum.x + of_b[e] * wb.x + of_c[e] * wc.x;
                bent[3 * e + 1] = of_a[e] * sum.y + of_b[e] * wb.y + of_c[e] * wc.y;
                bent[3 * e + 2] = of_a[e] * sum.z + of_b[e] * wb.z + of_c[e] * wc.z;
            }
            const floats u = ((const loose*)place_x.c)[k], v = ((const loose*)place_y.c)[k];
            const Way ray = {
                fused(step_x.x, u, fused(step_y.x, v, corner.x)),
                fused(step_x.y, u, fused(step_y.y, v, corner.y)),
                fused(step_x.z, u, fused(step_y.z, v, corner.z)),
            };
            floats met[3];
            for (int e = 0; e < 3; ++e) {
                const floats* const m = NORMALS + 3 * e;
                const auto times_column = [&](int i) {
                    return __builtin_elementwise_fma(m[2], bent[6 + i], __builtin_elementwise_fma(m[1], bent[3 + i], m[0] * bent[i]));
                };
                met[e] = dot(Way {times_column(0), times_column(1), times_column(2)}, ray);
            }
            normal = Way {is_flat ? normal.x : met[0], is_flat ? normal.y : met[1], is_flat ? normal.z : met[2]};
        }
        out[k] = normal.x;
        out[4 + k] = normal.y;
        out[8 + k] = normal.z;
        for (int e = 0; e < 6; ++e)
            out[4 * (4 + e) + k] = look[e];
    }
    // so that whoever goes on with all 64 finds numbers
    for (int k = (count + 15) >> 4; k < 4; ++k)
        for (int e = 0; e < 10; ++e)
            out[4 * e + k] = out[4 * e];
    return points;
"""
_SIZES = """
            const float* const m = &wp::address(world.geom_normal, w, g)->data[0][0];
            for (int e = 0; e < 9; ++e)
                turns_normal[e] = these ? (floats)m[e] : turns_normal[e];
"""
# shade.load_triangle and shade.flat_triangle
_WEIGHTS = "const Way sum = n, wb = cross(a, ac), wc = cross(ab, a);"
_FLAT_WEIGHTS = """
            const auto times = [](floats f, const Way& a) { return Way {f * a.x, f * a.y, f * a.z}; };
            const auto plus = [](const Way& a, const Way& b) { return Way {a.x + b.x, a.y + b.y, a.z + b.z}; };
            const Way sum = times(plain_dot(forward, n), forward);
            const Way wb = plus(times(plain_dot(forward, cross(a, ac)), forward), cross(forward, ac));
            const Way wc = minus(times(plain_dot(forward, cross(ab, a)), forward), cross(forward, ab));
"""


@cache
def surface_pointing(features: Features) -> wp.Function:
    """The function for these features."""
    text = _SET_UP.replace("LAYER_MASK", str(LAYER_MASK)).replace("LAYER_STEP", f"{LAYER_STEP!r}f")
    text = text.replace("SIZES", _SIZES if features.sizes else "").replace("NORMALS", "turns_normal" if features.sizes else "rotation")
    text = text.replace("WEIGHTS", _FLAT_WEIGHTS if features.flat else _WEIGHTS)

    @wp.func_native(VECTORS + GATHERS + text)
    def surface_points(
        scene: SceneData,
        world: WorldData,
        eye: Eye,
        key: ChunkOfKeys,  # pyright: ignore[reportInvalidTypeForm]
        place_x: ChunkOfFloats,  # pyright: ignore[reportInvalidTypeForm]
        place_y: ChunkOfFloats,  # pyright: ignore[reportInvalidTypeForm]
        count: int,
    ) -> ChunkOfPoints:  # pyright: ignore[reportInvalidTypeForm]
        """What ``count`` keys show, none of them the empty one, where rays through places of the picture meet them."""

    return surface_points
