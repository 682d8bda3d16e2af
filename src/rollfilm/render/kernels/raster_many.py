"""Triangles into the visibility buffer, many at a time: how a CPU goes fastest.

Which pixels are covered, and with which keys, is what ``raster.raster_triangle`` says, to the bit. The loops are C++ because the
compiler makes vector instructions of them only where it sees memory without Warp's strides, and because a row of pixels needs vectors of
keys. Vectors are those of clang, which compiles for every processor that Warp runs on.

Most triangles cover no pixel. Those that do wait, those of all geoms together, until they fill vectors.
"""

import warp as wp

from rollfilm.render.kernels.power import FUSED
from rollfilm.render.kernels.vectors import CORNERS

#: Triangles that are sorted out by one call.
MANY = wp.constant(64)

#: Pixels of one step along a row: as much may be read and written back unchanged beyond the end of the visibility buffer.
STEP = 8

#: Triangles that may wait of each size, and numbers of each: nine of its corners, its box twice two in a word, its key in two words, the
#: factor on its depth.
_ROOM, _WORDS = 128, 14

#: The sizes are boxes of at most 4 pixels, of at most 24, and larger ones.
_SIZES = 3

#: Numbers that a thread needs for triangles that wait, and how many they are.
WAITING = _SIZES * _WORDS * (_ROOM + 16) + _SIZES

_COMMON = (
    FUSED
    + """
#pragma clang fp contract(off)
    typedef float many_floats __attribute__((ext_vector_type(16)));
    typedef int many_ints __attribute__((ext_vector_type(16)));
    typedef unsigned int many_words __attribute__((ext_vector_type(16)));
    typedef bool many_bits __attribute__((ext_vector_type(16)));
    typedef many_floats loose __attribute__((aligned(4)));
    typedef many_ints loose_ints __attribute__((aligned(4)));
    const int pitch = ROOM + 16;
    int* const waiting_count = (int*)waiting.data + SIZES * WORDS * pitch;
    const auto most = [](many_floats a, many_floats b) { return a > b ? a : b; };
    const auto least = [](many_floats a, many_floats b) { return a < b ? a : b; };
    const auto bits_of = [](many_ints truth) {
        return (unsigned int)__builtin_bit_cast(unsigned short, __builtin_convertvector(truth, many_bits));
    };
"""
)


def _filled(text: str) -> str:
    for word, value in (("ROOM", _ROOM), ("WORDS", _WORDS), ("SIZES", _SIZES)):
        text = text.replace(word, str(value))
    return text


@wp.func_native(
    _filled(
        _COMMON
        + CORNERS
        + """
    const auto dot = [](const Corner& a, const Corner& b) { return a.x * b.x + a.y * b.y + a.z * b.z; };
    const auto sum_of_sides = [](const Corner& a) {
        return __builtin_elementwise_abs(a.x) + __builtin_elementwise_abs(a.y) + __builtin_elementwise_abs(a.z);
    };
#if defined(__AVX512F__)
    typedef int raw_ints __attribute__((vector_size(64)));
    const auto together = [](many_ints from, unsigned int chosen) {
        return (many_ints)__builtin_ia32_compresssi512_mask((raw_ints)from, (raw_ints)from, (unsigned short)chosen);
    };
#else
    const auto together = [](many_ints from, unsigned int chosen) {
        many_ints to = from;
        for (int n = 0; chosen; chosen &= chosen - 1)
            to[n++] = from[__builtin_ctz(chosen)];
        return to;
    };
#endif
    wp::uint64 clipped = 0;
    for (int j = 0; j < count; j += 16) {
        // to the screen: which face the camera and have a pixel's centre in their box, which must be clipped
        const Corner a = corners_at(0, j), b = corners_at(1, j), c = corners_at(2, j);
        // as raster.faces_away
        const Corner ab = {b.x - a.x, b.y - a.y, b.z - a.z}, ac = {c.x - a.x, c.y - a.y, c.z - a.z};
        const Corner normal = {ab.y * ac.z - ab.z * ac.y, ab.z * ac.x - ab.x * ac.z, ab.x * ac.y - ab.y * ac.x};
        const many_floats doubt = 3.0e-7f
            * (sum_of_sides(ab) + __builtin_elementwise_abs(ac.x) + __builtin_elementwise_abs(ac.y) + __builtin_elementwise_abs(ac.z));
        const many_ints front = flat ? -normal.z < doubt * sum_of_sides(a) : dot(normal, a) < doubt * dot(a, a);
        const unsigned int counted = count - j < 16 ? (1u << (count - j)) - 1 : 0xFFFFu;
        const unsigned int seen = bits_of(front) & counted;
        if (!seen)
            continue;
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
        clipped |= (wp::uint64)(seen & bits_of(~whole & partly)) << j;
        const unsigned int covering = seen & bits_of(whole & (from_x <= to_x) & (from_y <= to_y));
        if (!covering)
            continue;
        const many_floats pixels = (to_x - from_x + 1.0f) * (to_y - from_y + 1.0f);
        const unsigned int few = bits_of(pixels <= 24.0f), tiny = bits_of(pixels <= 4.0f);
        const many_ints box_x = __builtin_convertvector(from_x, many_ints) | __builtin_convertvector(to_x, many_ints) << 16;
        const many_ints box_y = __builtin_convertvector(from_y, many_ints) | __builtin_convertvector(to_y, many_ints) << 16;
        const many_ints number = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
        const unsigned int of_size[3] = {covering & tiny, covering & few & ~tiny, covering & ~few};
        for (int size = 0; size < 3; ++size) {
            const unsigned int chosen = of_size[size];
            if (!chosen)
                continue;
            int* const to = (int*)waiting.data + size * WORDS * pitch + waiting_count[size];
            waiting_count[size] += __builtin_popcount(chosen);
            const auto keep = [&](int word, many_ints value) { *(loose_ints*)(to + word * pitch) = together(value, chosen); };
            const auto keep_float = [&](int word, many_floats value) { keep(word, __builtin_bit_cast(many_ints, value)); };
            keep_float(0, xa);
            keep_float(1, ya);
            keep_float(2, flat ? a.z : scale_a);
            keep_float(3, xb);
            keep_float(4, yb);
            keep_float(5, flat ? b.z : scale_b);
            keep_float(6, xc);
            keep_float(7, yc);
            keep_float(8, flat ? c.z : scale_c);
            keep(9, box_x);
            keep(10, box_y);
            keep(11, number + ((int)(wp::uint32)key + j));
            *(loose_ints*)(to + 12 * pitch) = (many_ints)(int)(key >> 32);
            *(loose*)(to + 13 * pitch) = (many_floats)depth_factor;
        }
    }
    return clipped;
"""
    )
)
def sort_out(
    waiting: wp.array(dtype=float),
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
    """Of at most 64 triangles from number ``t`` on, keep those in ``waiting`` that may cover pixels x0 to x1 and y0 to y1.

    There must be room for them (``room_left``). ``rotation`` and ``position`` are the mesh's in the camera's frame, ``key`` is that of the
    first triangle's surface.

    Returns:
        A bit for each triangle that was left out because the near plane cuts it.
    """


@wp.func_native(
    _filled("""
    const int* const count = (const int*)waiting.data + SIZES * WORDS * (ROOM + 16);
    int room = ROOM;
    for (int size = 0; size < SIZES; ++size)
        room = wp::min(room, ROOM - count[size]);
    return room;
""")
)
def room_left(waiting: wp.array(dtype=float)) -> int:
    """How many triangles of any size may still wait."""


@wp.func_native(
    _filled(
        _COMMON
        + """
    typedef float floats __attribute__((ext_vector_type(8)));
    typedef int ints __attribute__((ext_vector_type(8)));
    typedef long long longs __attribute__((ext_vector_type(8)));
    typedef wp::uint64 words __attribute__((ext_vector_type(8), aligned(8)));
    const int chunks = (width + 63) >> 6;
    wp::uint64* const pixels = (wp::uint64*)((char*)vis.data + row * (size_t)vis.strides[0]);
    const many_ints number = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    for (int size = 0; size < SIZES; ++size) {
        const int n = waiting_count[size];
        waiting_count[size] = 0;
        for (int i = 0; i < n; i += 16) {
            // sixteen triangles side by side get their edges and the slopes of their depth; edges are taken from the same of their two
            // ends by both triangles that share them
            const int* const from = (const int*)waiting.data + size * WORDS * pitch + i;
            const auto word = [&](int number) { return *(const loose_ints*)(from + number * pitch); };
            const auto real = [&](int number) { return *(const loose*)(from + number * pitch); };
            const many_floats x[4] = {real(0), real(3), real(6), real(0)}, y[4] = {real(1), real(4), real(7), real(1)};
            const many_floats z[3] = {real(2), real(5), real(8)};
            many_floats origin_x[3], origin_y[3], along_x[3], along_y[3];
            for (int k = 0; k < 3; ++k) {
                const many_ints forward = (x[k] < x[k + 1]) | ((x[k] == x[k + 1]) & (y[k] < y[k + 1]));
                origin_x[k] = forward ? x[k] : x[k + 1];
                origin_y[k] = forward ? y[k] : y[k + 1];
                // with the sign of an edge that was turned round
                along_x[k] = x[k + 1] - x[k];
                along_y[k] = y[k + 1] - y[k];
            }
            const many_floats area = (x[1] - x[0]) * (y[2] - y[0]) - (y[1] - y[0]) * (x[2] - x[0]);
            const many_floats inverse_area = area < 0.0f ? 1.0f / area : (many_floats)0.0f;
            const many_floats slope_x = inverse_area * ((z[1] - z[0]) * (y[2] - y[0]) - (z[2] - z[0]) * (y[1] - y[0]));
            const many_floats slope_y = inverse_area * ((z[2] - z[0]) * (x[1] - x[0]) - (z[1] - z[0]) * (x[2] - x[0]));
            const many_floats nearest = most(z[0], most(z[1], z[2])), farthest = least(z[0], least(z[1], z[2]));
            const many_floats layers = real(13);
            const many_words box_x = __builtin_bit_cast(many_words, word(9)), box_y = __builtin_bit_cast(many_words, word(10));

            if (size < 2) {
                // of few pixels: one pixel of each after the other
                const many_floats left = __builtin_convertvector(box_x & 0xFFFF, many_floats);
                const many_floats right = __builtin_convertvector(box_x >> 16, many_floats);
                const many_floats bottom = number + i < n ? __builtin_convertvector(box_y >> 16, many_floats) : (many_floats)-1.0f;
                many_floats column = left, line = __builtin_convertvector(box_y & 0xFFFF, many_floats);
                while (true) {
                    const many_ints alive = line <= bottom;
                    if (!bits_of(alive))
                        break;
                    const many_floats px = column + 0.5f, py = line + 0.5f;
                    many_ints inside = alive;
                    for (int k = 0; k < 3; ++k)
                        inside &= along_x[k] * (py - origin_y[k]) - along_y[k] * (px - origin_x[k]) <= 0.0f;
                    unsigned int left_over = bits_of(inside);
                    if (left_over) {
                        const many_floats depth = slope_y * (py - y[0]) + z[0];
                        many_floats met = ROLLFILM_FUSED_MANY(slope_x, px - x[0], depth);
                        met = met >= farthest ? met : farthest;
                        met = met > nearest ? nearest : met;
                        if (flat)
                            met = -1.0f / met;
                        const many_ints bits = 0x0FFFFFFF - (__builtin_bit_cast(many_ints, met * layers) >> 3);
                        const many_ints at = __builtin_convertvector(line, many_ints) * width + __builtin_convertvector(column, many_ints);
                        const many_ints marks = __builtin_convertvector(line, many_ints) * chunks
                            + (__builtin_convertvector(column, many_ints) >> 6);
                        int pixel[16], upper[16], mark[16];
                        *(loose_ints*)pixel = at;
                        *(loose_ints*)upper = bits << 4 | word(12);
                        *(loose_ints*)mark = marks;
                        do {
                            const int lane = __builtin_ctz(left_over);
                            left_over &= left_over - 1;
                            const wp::uint64 fresh = (wp::uint64)(wp::uint32)upper[lane] << 32 | (wp::uint32)from[11 * pitch + lane];
                            wp::uint64* const to = pixels + pixel[lane];
                            *to = fresh < *to ? fresh : *to;
                            touched.data[mark[lane]] = 1;
                        } while (left_over);
                    }
                    const many_ints turn = column >= right;
                    line = turn ? line + 1.0f : line;
                    column = turn ? left : column + 1.0f;
                }
                continue;
            }

            // the pixels of larger ones, eight at a time
            const auto kept = [](const many_floats& value, int lane) { return ((const volatile float*)&value)[lane]; };
            const floats step = {0.5f, 1.5f, 2.5f, 3.5f, 4.5f, 5.5f, 6.5f, 7.5f};
            for (int lane = 0; lane < wp::min(16, n - i); ++lane) {
                const wp::uint64 surface = (wp::uint64)(wp::uint32)from[12 * pitch + lane] << 32 | (wp::uint32)from[11 * pitch + lane];
                const wp::uint32 of_x = from[9 * pitch + lane], of_y = from[10 * pitch + lane];
                const float left = (float)(of_x & 0xFFFF), right = (float)(of_x >> 16);
                const float corner_x = kept(x[0], lane), corner_y = kept(y[0], lane), corner_z = kept(z[0], lane);
                const float right_slope = kept(slope_x, lane), down_slope = kept(slope_y, lane);
                const float highest = kept(nearest, lane), deepest = kept(farthest, lane), depth_factor = kept(layers, lane);
                float edge_x[3], edge_y[3], edge_along_x[3], edge_along_y[3];
                for (int k = 0; k < 3; ++k) {
                    edge_x[k] = kept(origin_x[k], lane);
                    edge_y[k] = kept(origin_y[k], lane);
                    edge_along_x[k] = kept(along_x[k], lane);
                    edge_along_y[k] = kept(along_y[k], lane);
                }
                for (int v = (int)(of_y & 0xFFFFu); v <= (int)(of_y >> 16); ++v) {
                    const float py = (float)v + 0.5f;
                    float begin = left, end = right;
                    float value[3];
                    for (int k = 0; k < 3; ++k) {
                        value[k] = edge_along_x[k] * (py - edge_y[k]);
                        if (right - left > 15.0f) {
                            // leave out most of the box that is outside, give or take a pixel; the edges themselves are tested below
                            const float meeting = edge_x[k] + value[k] / (edge_along_y[k] == 0.0f ? 1.0e-30f : edge_along_y[k]);
                            if (edge_along_y[k] > 0.0f)
                                begin = wp::clamp(wp::floor(meeting) - 1.0f, begin, 32768.0f);
                            else if (edge_along_y[k] < 0.0f)
                                end = wp::clamp(wp::ceil(meeting), -1.0f, end);
                        }
                    }
                    const float depth = down_slope * (py - corner_y) + corner_z;
                    if (begin <= end) {
                        // all between the first and the last 64 columns that are written to
                        wp::uint8* const marks = touched.data + v * chunks;
                        for (int chunk = (int)begin >> 6; chunk <= (int)end >> 6; ++chunk)
                            marks[chunk] = 1;
                    }
                    for (int u = (int)begin; u <= (int)end; u += 8) {
                        const floats px = (float)u + step;
                        const floats ab = value[0] - edge_along_y[0] * (px - edge_x[0]);
                        const floats bc = value[1] - edge_along_y[1] * (px - edge_x[1]);
                        const floats ca = value[2] - edge_along_y[2] * (px - edge_x[2]);
                        const ints inside = (ab <= 0.0f) & (bc <= 0.0f) & (ca <= 0.0f) & (px < end + 1.0f);
                        floats met = ROLLFILM_FUSED_MANY((floats)right_slope, px - corner_x, (floats)depth);
                        // what is not a number is as deep as the farthest corner
                        met = met >= deepest ? met : (floats)deepest;
                        met = met > highest ? (floats)highest : met;
                        if (flat)
                            met = -1.0f / met;
                        const ints bits = 0x0FFFFFFF - (__builtin_bit_cast(ints, met * depth_factor) >> 3);
                        const longs outside = ~__builtin_convertvector(inside, longs);
                        const words fresh = (__builtin_convertvector(__builtin_convertvector(bits, longs), words) << 36) | surface
                            | __builtin_convertvector(outside, words);
                        words* const at = (words*)(pixels + (size_t)v * width + u);
                        const words old = *at;
                        *at = fresh < old ? fresh : old;
                    }
                }
            }
        }
    }
"""
    )
)
def draw_waiting(
    vis: wp.array2d(dtype=wp.uint64), touched: wp.array(dtype=wp.uint8), waiting: wp.array(dtype=float), row: int, width: int, flat: int
):
    """All triangles that wait into row ``row`` of the visibility buffer; none waits any longer.

    ``touched`` has a byte for every 64 columns of every row, which becomes 1 where something may have been written.
    """
