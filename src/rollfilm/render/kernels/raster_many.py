"""Triangles into the visibility buffer, 64 at a time: how a CPU goes fastest.

Which pixels are covered, and with which keys, is what ``raster.raster_triangle`` says, to the bit. The loops are C++ because the
compiler makes vector instructions of them only where it sees memory without Warp's strides, and because a row of pixels needs vectors of
keys. Vectors are those of clang, which compiles for every processor that Warp runs on.
"""

import warp as wp

from rollfilm.render.kernels.power import FUSED

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

    // 1. all triangles to the screen: which face the camera and have a pixel's centre in their box, which must be clipped
    float ax[64], ay[64], az[64], bx[64], by[64], bz[64], cx[64], cy[64], cz[64], left[64], right[64], top[64], bottom[64];
    int seen[64];
    const float* from[9];
    for (int k = 0; k < 9; ++k)
        from[k] = (const float*)((const char*)corner.data + k * (size_t)corner.strides[0]) + t;
    for (int j = 0; j < count; ++j) {
        const wp::vec3 a = wp::add(wp::mul(rotation, wp::vec3(from[0][j], from[1][j], from[2][j])), position);
        const wp::vec3 b = wp::add(wp::mul(rotation, wp::vec3(from[3][j], from[4][j], from[5][j])), position);
        const wp::vec3 c = wp::add(wp::mul(rotation, wp::vec3(from[6][j], from[7][j], from[8][j])), position);
        // as raster.faces_away
        const wp::vec3 ab = wp::sub(b, a), ac = wp::sub(c, a), normal = wp::cross(ab, ac);
        const float doubt
            = 3.0e-7f * (wp::abs(ab[0]) + wp::abs(ab[1]) + wp::abs(ab[2]) + wp::abs(ac[0]) + wp::abs(ac[1]) + wp::abs(ac[2]));
        const bool front = flat ? -normal[2] < doubt * (wp::abs(a[0]) + wp::abs(a[1]) + wp::abs(a[2]))
                                : wp::dot(normal, a) < doubt * wp::dot(a, a);
        const float scale_a = flat ? 1.0f : -1.0f / a[2];
        ax[j] = ROLLFILM_FUSED(a[0] * scale_a, fx, center_x);
        ay[j] = ROLLFILM_FUSED(-a[1] * scale_a, fy, center_y);
        az[j] = flat ? a[2] : scale_a;
        const float scale_b = flat ? 1.0f : -1.0f / b[2];
        bx[j] = ROLLFILM_FUSED(b[0] * scale_b, fx, center_x);
        by[j] = ROLLFILM_FUSED(-b[1] * scale_b, fy, center_y);
        bz[j] = flat ? b[2] : scale_b;
        const float scale_c = flat ? 1.0f : -1.0f / c[2];
        cx[j] = ROLLFILM_FUSED(c[0] * scale_c, fx, center_x);
        cy[j] = ROLLFILM_FUSED(-c[1] * scale_c, fy, center_y);
        cz[j] = flat ? c[2] : scale_c;
        left[j] = wp::max(wp::ceil(wp::min(ax[j], wp::min(bx[j], cx[j])) - 0.5f), (float)x0);
        right[j] = wp::min(wp::floor(wp::max(ax[j], wp::max(bx[j], cx[j])) - 0.5f), (float)x1);
        top[j] = wp::max(wp::ceil(wp::min(ay[j], wp::min(by[j], cy[j])) - 0.5f), (float)y0);
        bottom[j] = wp::min(wp::floor(wp::max(ay[j], wp::max(by[j], cy[j])) - 0.5f), (float)y1);
        const float nearest = wp::max(a[2], wp::max(b[2], c[2]));
        const float farthest = wp::min(a[2], wp::min(b[2], c[2]));
        const int covers = (left[j] <= right[j]) & (top[j] <= bottom[j]);
        seen[j] = front ? (nearest <= -near ? covers : (farthest <= -near ? 2 : 0)) : 0;
    }

    // 2. those that cover a pixel, side by side, get their edges and the slopes of their depth; edges are taken from the same of their two
    // ends by both triangles that share them
    wp::uint64 clipped = 0;
    int which[64] = {0};
    int n = 0;
    for (int j = 0; j < count; ++j) {
        which[n] = j;
        n += seen[j] == 1;
        clipped |= (wp::uint64)(seen[j] == 2) << j;
    }
    float origin_x[3][64], origin_y[3][64], along_x[3][64], along_y[3][64], slope_x[64], slope_y[64], nearest[64], farthest[64];
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
        slope_x[i] = inverse_area * ((bz[j] - az[j]) * (y[2] - y[0]) - (cz[j] - az[j]) * (y[1] - y[0]));
        slope_y[i] = inverse_area * ((cz[j] - az[j]) * (x[1] - x[0]) - (bz[j] - az[j]) * (x[2] - x[0]));
        nearest[i] = wp::max(az[j], wp::max(bz[j], cz[j]));
        farthest[i] = wp::min(az[j], wp::min(bz[j], cz[j]));
    }

    // 3. their pixels, eight at a time
    const int chunks = (width + 63) >> 6;
    wp::uint64* const pixels = (wp::uint64*)((char*)vis.data + row * (size_t)vis.strides[0]);
    const floats lane = {0.5f, 1.5f, 2.5f, 3.5f, 4.5f, 5.5f, 6.5f, 7.5f};
    for (int i = 0; i < n; ++i) {
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
