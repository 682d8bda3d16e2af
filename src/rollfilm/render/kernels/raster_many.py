"""Triangles into the visibility buffer, 64 at a time: how a CPU goes fastest.

Which pixels are covered, and with which keys, is what ``raster.raster_triangle`` says, to the bit. The loops are C++ because the
compiler makes vector instructions of them only where it sees memory without Warp's strides, and because a row of pixels needs vectors of
keys. Vectors are those of clang, which compiles for every processor that Warp runs on.
"""

import warp as wp

from rollfilm.render.kernels.power import FUSED
from rollfilm.render.kernels.vectors import CORNERS

#: Triangles of one call.
MANY = wp.constant(64)

#: Pixels of one step along a row: as much may be read and written back unchanged beyond the end of the visibility buffer.
STEP = 8


@wp.func_native(
    FUSED
    + """
#pragma clang fp contract(off)
    typedef float floats __attribute__((ext_vector_type(8)));
    typedef int ints __attribute__((ext_vector_type(8)));
    typedef long long longs __attribute__((ext_vector_type(8)));
    typedef wp::uint64 words __attribute__((ext_vector_type(8), aligned(8)));
    typedef float many_floats __attribute__((ext_vector_type(16)));
    typedef int many_ints __attribute__((ext_vector_type(16)));
    typedef bool many_bits __attribute__((ext_vector_type(16)));

    typedef many_floats loose __attribute__((aligned(4)));
    typedef many_ints loose_ints __attribute__((aligned(4)));
"""
    + CORNERS
    + """
    const auto most = [](many_floats a, many_floats b) { return a > b ? a : b; };
    const auto least = [](many_floats a, many_floats b) { return a < b ? a : b; };
    const auto dot = [](const Corner& a, const Corner& b) { return a.x * b.x + a.y * b.y + a.z * b.z; };
    const auto sum_of_sides = [](const Corner& a) {
        return __builtin_elementwise_abs(a.x) + __builtin_elementwise_abs(a.y) + __builtin_elementwise_abs(a.z);
    };
    const auto bits_of = [](many_ints truth) {
        return (wp::uint64)__builtin_bit_cast(unsigned short, __builtin_convertvector(truth, many_bits));
    };

    // 1. all triangles to the screen, sixteen at once: which face the camera and have a pixel's centre in their box, which must be clipped
    float ax[64], ay[64], az[64], bx[64], by[64], bz[64], cx[64], cy[64], cz[64], left[64], right[64], top[64], bottom[64];
    const wp::uint64 counted = count < 64 ? ((wp::uint64)1 << count) - 1 : ~(wp::uint64)0;
    wp::uint64 covering = 0, clipped = 0, of_few = 0;
    for (int j = 0; j < count; j += 16) {
        const Corner a = corners_at(0, j), b = corners_at(1, j), c = corners_at(2, j);
        // as raster.faces_away
        const Corner ab = {b.x - a.x, b.y - a.y, b.z - a.z}, ac = {c.x - a.x, c.y - a.y, c.z - a.z};
        const Corner normal = {ab.y * ac.z - ab.z * ac.y, ab.z * ac.x - ab.x * ac.z, ab.x * ac.y - ab.y * ac.x};
        const many_floats doubt = 3.0e-7f
            * (__builtin_elementwise_abs(ab.x) + __builtin_elementwise_abs(ab.y) + __builtin_elementwise_abs(ab.z)
               + __builtin_elementwise_abs(ac.x) + __builtin_elementwise_abs(ac.y) + __builtin_elementwise_abs(ac.z));
        const many_ints front = flat ? -normal.z < doubt * sum_of_sides(a) : dot(normal, a) < doubt * dot(a, a);
        const many_floats scale_a = flat ? (many_floats)1.0f : -1.0f / a.z;
        const many_floats scale_b = flat ? (many_floats)1.0f : -1.0f / b.z;
        const many_floats scale_c = flat ? (many_floats)1.0f : -1.0f / c.z;
        const many_floats xa = ROLLFILM_FUSED_MANY(a.x * scale_a, (many_floats)fx, (many_floats)center_x);
        const many_floats ya = ROLLFILM_FUSED_MANY(-a.y * scale_a, (many_floats)fy, (many_floats)center_y);
        const many_floats xb = ROLLFILM_FUSED_MANY(b.x * scale_b, (many_floats)fx, (many_floats)center_x);
        const many_floats yb = ROLLFILM_FUSED_MANY(-b.y * scale_b, (many_floats)fy, (many_floats)center_y);
        const many_floats xc = ROLLFILM_FUSED_MANY(c.x * scale_c, (many_floats)fx, (many_floats)center_x);
        const many_floats yc = ROLLFILM_FUSED_MANY(-c.y * scale_c, (many_floats)fy, (many_floats)center_y);
        const many_floats from_x = most(__builtin_elementwise_ceil(least(xa, least(xb, xc)) - 0.5f), (float)x0);
        const many_floats to_x = least(__builtin_elementwise_floor(most(xa, most(xb, xc)) - 0.5f), (float)x1);
        const many_floats from_y = most(__builtin_elementwise_ceil(least(ya, least(yb, yc)) - 0.5f), (float)y0);
        const many_floats to_y = least(__builtin_elementwise_floor(most(ya, most(yb, yc)) - 0.5f), (float)y1);
        const many_ints whole = most(a.z, most(b.z, c.z)) <= -near;
        const many_ints partly = least(a.z, least(b.z, c.z)) <= -near;
        covering |= bits_of(front & whole & (from_x <= to_x) & (from_y <= to_y)) << j;
        of_few |= bits_of((to_x - from_x + 1.0f) * (to_y - from_y + 1.0f) <= 24.0f) << j;
        clipped |= bits_of(front & ~whole & partly) << j;
        *(loose*)(ax + j) = xa;
        *(loose*)(ay + j) = ya;
        *(loose*)(az + j) = flat ? a.z : scale_a;
        *(loose*)(bx + j) = xb;
        *(loose*)(by + j) = yb;
        *(loose*)(bz + j) = flat ? b.z : scale_b;
        *(loose*)(cx + j) = xc;
        *(loose*)(cy + j) = yc;
        *(loose*)(cz + j) = flat ? c.z : scale_c;
        *(loose*)(left + j) = from_x;
        *(loose*)(right + j) = to_x;
        *(loose*)(top + j) = from_y;
        *(loose*)(bottom + j) = to_y;
    }
    covering &= counted;
    clipped &= counted;

    // 2. those that cover a pixel, first those of few, side by side get their edges and the slopes of their depth; edges are taken from the
    // same of their two ends by both triangles that share them
    int which[64 + 16] = {0};
    int n = 0;
    for (wp::uint64 left_over = covering & of_few; left_over; left_over &= left_over - 1)
        which[n++] = __builtin_ctzll(left_over);
    const int num_few = n;
    for (wp::uint64 left_over = covering & ~of_few; left_over; left_over &= left_over - 1)
        which[n++] = __builtin_ctzll(left_over);
    float origin_x[3][64], origin_y[3][64], along_x[3][64], along_y[3][64], slope_x[64], slope_y[64], nearest[64], farthest[64];
    float first_x[64], first_y[64], first_z[64], box_left[64], box_right[64], box_top[64], box_bottom[64];
    const int full = (n + 15) & ~15; // whole vectors, whose last lanes nobody looks at
    for (int i = 0; i < full; ++i) {
        const int j = which[i];
        const float x[4] = {ax[j], bx[j], cx[j], ax[j]};
        const float y[4] = {ay[j], by[j], cy[j], ay[j]};
        for (int k = 0; k < 3; ++k) {
            const bool forward = (x[k] < x[k + 1]) | ((x[k] == x[k + 1]) & (y[k] < y[k + 1]));
            origin_x[k][i] = forward ? x[k] : x[k + 1];
            origin_y[k][i] = forward ? y[k] : y[k + 1];
            // with the sign of an edge that was turned round
            along_x[k][i] = x[k + 1] - x[k];
            along_y[k][i] = y[k + 1] - y[k];
        }
        const float area = (x[1] - x[0]) * (y[2] - y[0]) - (y[1] - y[0]) * (x[2] - x[0]);
        const float inverse_area = area < 0.0f ? 1.0f / area : 0.0f;
        first_x[i] = x[0];
        first_y[i] = y[0];
        first_z[i] = az[j];
        slope_x[i] = inverse_area * ((bz[j] - az[j]) * (y[2] - y[0]) - (cz[j] - az[j]) * (y[1] - y[0]));
        slope_y[i] = inverse_area * ((cz[j] - az[j]) * (x[1] - x[0]) - (bz[j] - az[j]) * (x[2] - x[0]));
        nearest[i] = wp::max(az[j], wp::max(bz[j], cz[j]));
        farthest[i] = wp::min(az[j], wp::min(bz[j], cz[j]));
        box_left[i] = left[j];
        box_right[i] = right[j];
        box_top[i] = top[j];
        box_bottom[i] = bottom[j];
    }

    // 3. sixteen triangles of few pixels at once, one pixel of each after the other
    const int chunks = (width + 63) >> 6;
    wp::uint64* const pixels = (wp::uint64*)((char*)vis.data + row * (size_t)vis.strides[0]);
    const many_ints number = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    for (int i = 0; i < num_few; i += 16) {
#define MANY_OF(array) (*(const loose*)((array) + i))
        many_floats x = MANY_OF(box_left), y = MANY_OF(box_top);
        const many_floats end = MANY_OF(box_right);
        const many_floats bottom_row = number + i < num_few ? MANY_OF(box_bottom) : (many_floats)-1.0f;
        while (true) {
            const many_ints alive = y <= bottom_row;
            if (!__builtin_reduce_or(alive))
                break;
            const many_floats px = x + 0.5f, py = y + 0.5f;
            many_ints inside = alive;
            for (int k = 0; k < 3; ++k)
                inside &= MANY_OF(along_x[k]) * (py - MANY_OF(origin_y[k])) - MANY_OF(along_y[k]) * (px - MANY_OF(origin_x[k])) <= 0.0f;
            unsigned int left_over = __builtin_bit_cast(unsigned short, __builtin_convertvector(inside, many_bits));
            if (left_over) {
                const many_floats depth = MANY_OF(slope_y) * (py - MANY_OF(first_y)) + MANY_OF(first_z);
                many_floats z = ROLLFILM_FUSED_MANY(MANY_OF(slope_x), px - MANY_OF(first_x), depth);
                const many_floats deepest = MANY_OF(farthest), highest = MANY_OF(nearest);
                z = z >= deepest ? z : deepest;
                z = z > highest ? highest : z;
                if (flat)
                    z = -1.0f / z;
                const many_ints bits = 0x0FFFFFFF - (__builtin_bit_cast(many_ints, z * depth_factor) >> 3);
                int at[16], nearness[16], column[16];
                *(loose_ints*)at = __builtin_convertvector(y, many_ints) * width + __builtin_convertvector(x, many_ints);
                *(loose_ints*)nearness = bits;
                *(loose_ints*)column
                    = __builtin_convertvector(y, many_ints) * chunks + (__builtin_convertvector(x, many_ints) >> 6);
                do {
                    const int lane = __builtin_ctz(left_over);
                    left_over &= left_over - 1;
                    const wp::uint64 fresh = ((wp::uint64)nearness[lane] << 36) | (key + (wp::uint64)which[i + lane]);
                    wp::uint64* const pixel = pixels + at[lane];
                    *pixel = fresh < *pixel ? fresh : *pixel;
                    touched.data[column[lane]] = 1;
                } while (left_over);
            }
            const many_ints turn = x >= end;
            y = turn ? y + 1.0f : y;
            x = turn ? MANY_OF(box_left) : x + 1.0f;
        }
#undef MANY_OF
    }

    // 4. the pixels of larger ones, eight at a time
    const floats lane = {0.5f, 1.5f, 2.5f, 3.5f, 4.5f, 5.5f, 6.5f, 7.5f};
    for (int i = num_few; i < n; ++i) {
        const int j = which[i];
        const wp::uint64 surface = key + (wp::uint64)j;
        const int last = (int)bottom[j];
        for (int v = (int)top[j]; v <= last; ++v) {
            const float py = (float)v + 0.5f;
            float begin = left[j], end = right[j];
            float value[3];
            for (int k = 0; k < 3; ++k) {
                value[k] = along_x[k][i] * (py - origin_y[k][i]);
                if (right[j] - left[j] > 15.0f) {
                    // leave out most of the bounding box that is outside, give or take a pixel; the edges themselves are tested below
                    const float meeting = origin_x[k][i] + value[k] / (along_y[k][i] == 0.0f ? 1.0e-30f : along_y[k][i]);
                    if (along_y[k][i] > 0.0f)
                        begin = wp::clamp(wp::floor(meeting) - 1.0f, begin, 32768.0f);
                    else if (along_y[k][i] < 0.0f)
                        end = wp::clamp(wp::ceil(meeting), -1.0f, end);
                }
            }
            const float depth = slope_y[i] * (py - ay[j]) + az[j];
            if (begin <= end) {
                // all between the first and the last 64 columns that are written to
                wp::uint8* const marks = touched.data + v * chunks;
                for (int chunk = (int)begin >> 6; chunk <= (int)end >> 6; ++chunk)
                    marks[chunk] = 1;
            }
            for (int u = (int)begin; u <= (int)end; u += 8) {
                const floats px = (float)u + lane;
                const floats ab = value[0] - along_y[0][i] * (px - origin_x[0][i]);
                const floats bc = value[1] - along_y[1][i] * (px - origin_x[1][i]);
                const floats ca = value[2] - along_y[2][i] * (px - origin_x[2][i]);
                const ints inside = (ab <= 0.0f) & (bc <= 0.0f) & (ca <= 0.0f) & (px < end + 1.0f);
                floats z = ROLLFILM_FUSED_MANY((floats)slope_x[i], px - ax[j], (floats)depth);
                // what is not a number is as deep as the farthest corner
                z = z >= farthest[i] ? z : (floats)farthest[i];
                z = z > nearest[i] ? (floats)nearest[i] : z;
                if (flat)
                    z = -1.0f / z;
                const ints bits = 0x0FFFFFFF - (__builtin_bit_cast(ints, z * depth_factor) >> 3);
                const longs outside = ~__builtin_convertvector(inside, longs);
                const words fresh = (__builtin_convertvector(__builtin_convertvector(bits, longs), words) << 36) | surface
                    | __builtin_convertvector(outside, words);
                words* const at = (words*)(pixels + (size_t)v * width + u);
                const words old = *at;
                *at = fresh < old ? fresh : old;
            }
        }
    }
    return clipped;
"""
)
def raster_many(
    vis: wp.array2d(dtype=wp.uint64),
    touched: wp.array(dtype=wp.uint8),
    row: int,
    width: int,
    corner: wp.array2d(dtype=float),
    t: int,
    count: int,
    rotation: wp.mat33,
    position: wp.vec3,
    fx: float,
    fy: float,
    center_x: float,
    center_y: float,
    flat: int,
    near: float,
    x0: int,
    y0: int,
    x1: int,
    y1: int,
    key: wp.uint64,
    depth_factor: float,
) -> wp.uint64:
    """At most 64 triangles from number ``t`` on into row ``row`` of the visibility buffer, pixels x0 to x1 and y0 to y1 of it.

    ``touched`` has a byte for every 64 columns of every row, which becomes 1 where something may have been written.
    ``rotation`` and ``position`` are the mesh's in the camera's frame, ``key`` is that of the first triangle's surface.

    Returns:
        A bit for each triangle that was left out because the near plane cuts it.
    """
