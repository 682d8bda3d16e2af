"""From red, green and blue to planar YUV 4:2:0, and averages of its planes: in integers, so that every machine gives the same bytes."""

from typing import Any

import warp as wp

from rollfilm.cpu_flags import VECTOR_FLAGS

wp.set_module_options({"cpu_compiler_flags": VECTOR_FLAGS})

#: Binary digits after the point of :class:`YuvWeights`: as many as leave room for the sum of four pixels in 31 bits. ``store_yuv`` knows
#: them as well.
WEIGHT_DIGITS = 20


@wp.struct
class YuvWeights:
    """What red, green and blue count in brightness (y) and in both colours (u, v), times 2 ** WEIGHT_DIGITS."""

    y: wp.vec3i
    u: wp.vec3i
    v: wp.vec3i


@wp.func_native("""
    // Plain loops over rows, so that compilers for a CPU make vectors of them.
    const int columns = width + (width & 1), rows = height + (height & 1);
    const wp::uint8* const upper = rgb.data + source * (size_t)rgb.strides[0] + y0 * (size_t)width * 3;
    const wp::uint8* const lower = y0 + 1 < height ? upper + width * 3 : upper;
    wp::uint8* const picture = out.data + target * (size_t)out.strides[0];
    const int half = 1 << 19;
    for (int k = 0; k < 2; ++k) {
        const wp::uint8* const from = k ? lower : upper;
        wp::uint8* const to = picture + (y0 + k) * (size_t)columns;
        const int a = y[0], b = y[1], c = y[2];
        for (int x = x0; x < (x1 < width ? x1 : width); ++x)
            to[x] = (wp::uint8)(16 + ((a * from[3 * x] + b * from[3 * x + 1] + c * from[3 * x + 2] + half) >> 20));
        if (x1 > width)
            to[width] = to[width - 1];
    }
    wp::uint8* const blue = picture + rows * (size_t)columns + (y0 / 2) * (size_t)(columns / 2);
    wp::uint8* const red = blue + (rows / 2) * (size_t)(columns / 2);
    const int ua = u[0], ub = u[1], uc = u[2], va = v[0], vb = v[1], vc = v[2];
    for (int x = x0 / 2; x < (x1 < width ? x1 : width) / 2; ++x) {
        const int at = 6 * x;
        const int r = upper[at] + upper[at + 3] + lower[at] + lower[at + 3];
        const int g = upper[at + 1] + upper[at + 4] + lower[at + 1] + lower[at + 4];
        const int s = upper[at + 2] + upper[at + 5] + lower[at + 2] + lower[at + 5];
        blue[x] = (wp::uint8)(128 + ((ua * r + ub * g + uc * s + 4 * half) >> 22));
        red[x] = (wp::uint8)(128 + ((va * r + vb * g + vc * s + 4 * half) >> 22));
    }
    if (x1 > width) {
        const int at = 3 * (width - 1);
        const int r = 2 * (upper[at] + lower[at]), g = 2 * (upper[at + 1] + lower[at + 1]), s = 2 * (upper[at + 2] + lower[at + 2]);
        blue[width / 2] = (wp::uint8)(128 + ((ua * r + ub * g + uc * s + 4 * half) >> 22));
        red[width / 2] = (wp::uint8)(128 + ((va * r + vb * g + vc * s + 4 * half) >> 22));
    }
""")
def store_yuv(
    rgb: wp.array2d(dtype=wp.uint8),
    source: int,
    out: wp.array2d(dtype=wp.uint8),
    target: int,
    y: wp.vec3i,
    u: wp.vec3i,
    v: wp.vec3i,
    height: int,
    width: int,
    y0: int,
    x0: int,
    x1: int,
):
    """Two rows of a picture from ``y0`` on, columns ``x0`` to ``x1``, all even: picture ``source`` of ``rgb``, H * W * 3 bytes a row, to
    the planes of picture ``target`` of ``out``. Limited range (ITU-T H.273, 8.3); a colour is the mean of its four pixels; sides that
    are odd get their last row and column once more."""


@wp.kernel(enable_backward=False)
def rgb_to_yuv420(
    order: wp.array(dtype=int),
    rgb: wp.array2d(dtype=wp.uint8),
    out: wp.array2d(dtype=wp.uint8),
    weights: YuvWeights,
    height: int,
    width: int,
    span: int,
):
    """One thread a picture, two rows and ``span`` columns; picture k of ``out`` is number ``order[k]`` of ``rgb``."""
    k, pair, block = wp.tid()
    x0 = block * span
    x1 = wp.min(x0 + span, width + width % 2)
    store_yuv(rgb, order[k], out, k, weights.y, weights.u, weights.v, height, width, 2 * pair, x0, x1)


@wp.kernel(enable_backward=False)
def gather_rows(order: wp.array(dtype=int), source: wp.array2d(dtype=Any), out: wp.array2d(dtype=Any)):
    """One thread a number: row k of ``out`` is row ``order[k]`` of ``source``."""
    k, i = wp.tid()
    out[k, i] = source[order[k], i]


wp.overload(gather_rows, [wp.array(dtype=int), wp.array2d(dtype=wp.uint8), wp.array2d(dtype=wp.uint8)])
wp.overload(gather_rows, [wp.array(dtype=int), wp.array2d(dtype=wp.int32), wp.array2d(dtype=wp.int32)])


@wp.func_native("""
    const wp::uint8* const in = source.data + k * (size_t)source.strides[0] + first;
    wp::uint8* const to = out.data + k * (size_t)out.strides[0] + out_first + row * (size_t)columns;
    const int y0 = (row < (height - 1) / factor ? row : (height - 1) / factor) * factor;
    const int y1 = y0 + factor < height ? y0 + factor : height;
    const int last = (width - 1) / factor;
#if !defined(__CUDA_ARCH__)
    // sums down the rows are vectors
    for (int begin = 0; begin < width; begin += 4096 / factor * factor) {
        const int end = begin + 4096 / factor * factor < width ? begin + 4096 / factor * factor : width;
        wp::uint32 sums[4096];
        for (int x = begin; x < end; ++x)
            sums[x - begin] = 0;
        for (int y = y0; y < y1; ++y)
            for (int x = begin; x < end; ++x)
                sums[x - begin] += in[y * (size_t)width + x];
        for (int c = begin / factor; c * factor < end; ++c) {
            const int x1 = (c + 1) * factor < end ? (c + 1) * factor : end;
            const wp::uint32 area = (y1 - y0) * (x1 - c * factor);
            wp::uint32 sum = area / 2;
            for (int x = c * factor; x < x1; ++x)
                sum += sums[x - begin];
            to[c] = (wp::uint8)(sum / area);
        }
    }
    for (int c = last + 1; c < columns; ++c)
        to[c] = to[last];
#else
    for (int c = column; c < column + 1; ++c) {
        const int x0 = (c < last ? c : last) * factor;
        const int x1 = x0 + factor < width ? x0 + factor : width;
        const wp::uint32 area = (y1 - y0) * (x1 - x0);
        wp::uint32 sum = area / 2;
        for (int y = y0; y < y1; ++y)
            for (int x = x0; x < x1; ++x)
                sum += in[y * (size_t)width + x];
        to[c] = (wp::uint8)(sum / area);
    }
#endif
""")
def store_averages(
    source: wp.array2d(dtype=wp.uint8),
    first: int,
    height: int,
    width: int,
    out: wp.array2d(dtype=wp.uint8),
    out_first: int,
    columns: int,
    factor: int,
    k: int,
    row: int,
    column: int,
):
    """A row of averages over blocks of a plane of picture ``k``, or on a GPU one of them: what the last block has, and where there is
    none any more the last block again."""


@wp.kernel(enable_backward=False)
def average_plane(
    source: wp.array2d(dtype=wp.uint8),
    first: int,
    height: int,
    width: int,
    out: wp.array2d(dtype=wp.uint8),
    out_first: int,
    columns: int,
    factor: int,
):
    """One thread a picture, row and column of averages; on a CPU one a row."""
    k, row, column = wp.tid()
    store_averages(source, first, height, width, out, out_first, columns, factor, k, row, column)
