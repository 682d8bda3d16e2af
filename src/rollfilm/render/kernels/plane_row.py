"""A plane into a row of a visibility buffer, sixteen pixels at once: how a CPU goes fastest.

The keys are what ``shade.plane_key`` gives for a pixel, to the bit.
"""

import warp as wp

from rollfilm.render.kernels.shade import Eye, Plane
from rollfilm.render.kernels.types import LAYER_MASK, LAYER_STEP
from rollfilm.render.kernels.vectors import VECTORS

ChunkOfKeys = wp.types.vector(length=64, dtype=wp.uint64)

_KEYS = (
    VECTORS
    + """
    typedef unsigned long long keys __attribute__((ext_vector_type(16)));
    typedef unsigned long long loose_keys __attribute__((ext_vector_type(16), aligned(8)));
    typedef long long longs __attribute__((ext_vector_type(16)));
    const keys empty = ~0ull;
    const floats lane = {0.5f, 1.5f, 2.5f, 3.5f, 4.5f, 5.5f, 6.5f, 7.5f, 8.5f, 9.5f, 10.5f, 11.5f, 12.5f, 13.5f, 14.5f, 15.5f};
    const Way corner = all(eye.corner), step_x = all(eye.step_x), step_y = all(eye.step_y), inverse_depth = all(plane.inverse_depth);
    const Way axis_x = all(plane.axis_x), axis_y = all(plane.axis_y);
    const floats place_y = (float)y + 0.5f;
    const Way start = {fused(step_y.x, place_y, corner.x), fused(step_y.y, place_y, corner.y), fused(step_y.z, place_y, corner.z)};
    const float layer = 1.0f + (float)(plane.geom & LAYER_MASK) * LAYER_STEP;
    const wp::uint64 surface = (wp::uint64)(16383 - plane.geom) << 22;
    const auto plane_keys = [&](int column) {
        const floats place_x = (floats)(float)column + lane;
        const Way ray = {fused(step_x.x, place_x, start.x), fused(step_x.y, place_x, start.y), fused(step_x.z, place_x, start.z)};
        const floats inverse = dot(inverse_depth, ray);
        const floats across = __builtin_elementwise_abs(fused(-plane.origin[0], inverse, dot(axis_x, ray)));
        const floats along = __builtin_elementwise_abs(fused(-plane.origin[1], inverse, dot(axis_y, ray)));
        const ints hidden = (inverse * far < 1.0f) | (inverse * near > 1.0f) | (across > plane.half_size[0] * inverse)
            | (along > plane.half_size[1] * inverse);
        const words bits = __builtin_bit_cast(words, most(inverse, 0.0f) * layer) >> 3;
        const keys found = __builtin_convertvector(0x0FFFFFFFu - bits, keys) << 36 | surface;
        return found | __builtin_bit_cast(keys, __builtin_convertvector(hidden, longs));
    };
""".replace("LAYER_MASK", str(LAYER_MASK)).replace("LAYER_STEP", f"{LAYER_STEP!r}f")
)


@wp.func_native(
    _KEYS
    + """
    wp::uint64* const pixels = (wp::uint64*)((char*)vis.data + row * (size_t)vis.strides[0]) + at;
    int j = 0;
    for (; j + 16 <= count; j += 16) {
        const keys there = *(const loose_keys*)(pixels + j), fresh = plane_keys(x + j);
        *(loose_keys*)(pixels + j) = fresh < there ? fresh : there;
    }
    if (j < count) {
        const keys fresh = plane_keys(x + j);
        for (int i = 0; j + i < count; ++i)
            pixels[j + i] = fresh[i] < pixels[j + i] ? fresh[i] : pixels[j + i];
    }
"""
)
def lay_plane_row(
    vis: wp.array2d(dtype=wp.uint64), row: int, at: int, eye: Eye, plane: Plane, near: float, far: float, x: int, y: int, count: int
):
    """A plane into ``count`` keys from number ``at`` of a row of the buffer, which are column ``x`` of row ``y`` of the picture."""


@wp.func_native(
    _KEYS
    + """
    wp::uint64* const pixels = (wp::uint64*)((char*)vis.data + row * (size_t)vis.strides[0]) + at;
    wp::vec_t<64, wp::uint64> taken;
    loose_keys* const out = (loose_keys*)taken.c;
    for (int j = 0; j < count; j += 16) {
        keys there = empty;
        if (!untouched) {
            if (j + 16 <= count) {
                there = *(const loose_keys*)(pixels + j);
                *(loose_keys*)(pixels + j) = empty;
            } else {
                for (int i = 0; j + i < count; ++i) {
                    there[i] = pixels[j + i];
                    pixels[j + i] = ~0ull;
                }
            }
        }
        if (plane.seen != 0) {
            const keys fresh = plane_keys(x + j);
            there = fresh < there ? fresh : there;
        }
        out[j >> 4] = there;
    }
    return taken;
"""
)
def take_keys(
    vis: wp.array2d(dtype=wp.uint64),
    row: int,
    at: int,
    untouched: bool,
    eye: Eye,
    plane: Plane,
    near: float,
    far: float,
    x: int,
    y: int,
    count: int,
) -> ChunkOfKeys:
    """The same keys, at most 64, with the plane before them, which leaves the buffer empty; it is so if ``untouched``."""
