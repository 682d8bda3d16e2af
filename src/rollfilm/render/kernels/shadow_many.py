"""Triangles into shadow maps, 64 at a time: how a CPU goes fastest.

Which texels are raised, and to what, is what ``shadow_raster.raster_on_map`` says, to the bit. Triangles are set up sixteen side by side,
and so are the ends of the rows of one: most have about as many.
"""

import warp as wp

from rollfilm.render.kernels.types import LightView
from rollfilm.render.kernels.vectors import CORNERS, VECTORS


@wp.func_native(
    VECTORS
    + CORNERS
    + """
    // 1. all triangles to the map: which have a texel's centre in their box, which must be clipped, and the lines along their sides
    //    (shadow_raster.touching and side_line)
    const bool spot = view.perspective == 1;
    const floats low_x = (float)x0, high_x = (float)(x1 + 1);
    float top[64], bottom[64], line_x[3][64], line_y[3][64], line_slope[3][64], line_end[3][64];
    float first_x[64], first_y[64], first_z[64], slope_x[64], slope_y[64], nearest[64], farthest[64];
    const wp::uint64 counted = count < 64 ? ((wp::uint64)1 << count) - 1 : ~(wp::uint64)0;
    wp::uint64 drawn = 0, clipped = 0;
    for (int j = 0; j < count; j += 16) {
        floats height[3];
        const auto on_map = [&](int number) {
            const Corner p = corners_at(number, j);
            height[number] = p.z;
            // shadow_raster.on_map
            const floats depth = -p.z;
            const floats share = spot ? 1.0f / most(depth, 1.0e-12f) : (floats)1.0f;
            const floats scale = view.scale * share;
            return Way {view.center[0] + scale * p.x, view.center[1] - scale * p.y, spot ? share : view.reach - depth};
        };
        const Way a = on_map(0), p = on_map(1), q = on_map(2);
        const floats from_x = most(__builtin_elementwise_ceil(least(a.x, least(p.x, q.x)) - 0.5f), (float)x0);
        const floats to_x = least(__builtin_elementwise_floor(most(a.x, most(p.x, q.x)) - 0.5f), (float)x1);
        const floats from_y = most(__builtin_elementwise_ceil(least(a.y, least(p.y, q.y)) - 0.5f), (float)y0);
        const floats to_y = least(__builtin_elementwise_floor(most(a.y, most(p.y, q.y)) - 0.5f), (float)y1);
        ints touches = (from_x <= to_x) & (from_y <= to_y);
        if (spot) {
            const ints before = most(height[0], most(height[1], height[2])) <= -near;
            const ints partly = least(height[0], least(height[1], height[2])) <= -near;
            touches &= before;
            clipped |= (wp::uint64)__builtin_bit_cast(unsigned short, __builtin_convertvector(~before & partly, bits_of_lanes)) << j;
        }
        floats area = (p.x - a.x) * (q.y - a.y) - (p.y - a.y) * (q.x - a.x);
        touches &= area != 0.0f;
        drawn |= (wp::uint64)__builtin_bit_cast(unsigned short, __builtin_convertvector(touches, bits_of_lanes)) << j;
        const ints turned = area > 0.0f;
        const Way b = {turned ? q.x : p.x, turned ? q.y : p.y, turned ? q.z : p.z};
        const Way c = {turned ? p.x : q.x, turned ? p.y : q.y, turned ? p.z : q.z};
        area = turned ? -area : area;
        const Way* const ends[4] = {&a, &b, &c, &a};
        for (int k = 0; k < 3; ++k) {
            const Way &one = *ends[k], &other = *ends[k + 1];
            const ints swapped = (other.y < one.y) | ((other.y == one.y) & (other.x < one.x));
            const floats low = swapped ? other.x : one.x, high = swapped ? one.x : other.x;
            const floats base = swapped ? other.y : one.y, rise = (swapped ? one.y : other.y) - base;
            *(loose*)(line_x[k] + j) = low;
            *(loose*)(line_y[k] + j) = base;
            *(loose*)(line_slope[k] + j) = (high - low) / rise;
            *(loose*)(line_end[k] + j) = rise <= 0.0f ? (floats)0.0f : swapped ? (floats)1.0f : (floats)-1.0f;
        }
        const floats inverse_area = 1.0f / area;
        *(loose*)(slope_x + j) = inverse_area * ((b.z - a.z) * (c.y - a.y) - (c.z - a.z) * (b.y - a.y));
        *(loose*)(slope_y + j) = inverse_area * ((c.z - a.z) * (b.x - a.x) - (b.z - a.z) * (c.x - a.x));
        *(loose*)(nearest + j) = most(a.z, most(b.z, c.z));
        *(loose*)(farthest + j) = least(a.z, least(b.z, c.z));
        *(loose*)(first_x + j) = a.x;
        *(loose*)(first_y + j) = a.y;
        *(loose*)(first_z + j) = a.z;
        *(loose*)(top + j) = from_y;
        *(loose*)(bottom + j) = to_y;
    }

    // 2. row after row, as shadow_raster.raise_rows
    wp::uint32* const first_line = map.data + (size_t)row * (size_t)map.shape[1];
    const floats lane = {0.0f, 1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f, 7.0f, 8.0f, 9.0f, 10.0f, 11.0f, 12.0f, 13.0f, 14.0f, 15.0f};
    for (wp::uint64 left_over = drawn & counted; left_over; left_over &= left_over - 1) {
        const int j = __builtin_ctzll(left_over);
        const floats last_row = bottom[j], near_bound = nearest[j], far_bound = farthest[j];
        const floats slope = slope_x[j], begin_x = first_x[j];
        for (floats y = (floats)top[j] + lane; y[0] <= last_row[0]; y += 16.0f) {
            const floats center_y = y + 0.5f;
            floats left = low_x, right = high_x;
            for (int k = 0; k < 3; ++k) {
                const floats along = line_x[k][j] + (center_y - line_y[k][j]) * line_slope[k][j];
                const float end = line_end[k][j];
                left = most(end < 0.0f ? along : low_x, left);
                right = least(end > 0.0f ? along : high_x, right);
            }
            const floats start = first_z[j] + slope_y[j] * (center_y - first_y[j]);
            const ints filled = (left <= right) & (y <= last_row);
            unsigned int rows = __builtin_bit_cast(unsigned short, __builtin_convertvector(filled, bits_of_lanes));
            float lefts[16], rights[16], starts[16];
            *(loose*)lefts = left;
            *(loose*)rights = right;
            *(loose*)starts = start;
            wp::uint32* const block_of_lines = first_line + (size_t)((int)y[0] * pitch);
            for (; rows; rows &= rows - 1) {
                const int i = __builtin_ctz(rows);
                wp::uint32* const line = block_of_lines + (size_t)(i * pitch);
                const floats from = lefts[i], to = rights[i];
                // sixteen texels at once, always the same: what is read was stored as a whole
                for (int block = (int)lefts[i] & ~15; (float)block < rights[i]; block += 16) {
                    const floats center_x = (floats)(float)block + lane + 0.5f;
                    floats value = starts[i] + slope * (center_x - begin_x);
                    floats bound = center_x < from ? (floats)0.0f : near_bound;
                    bound = center_x > to ? (floats)0.0f : bound;
                    value = value < far_bound ? far_bound : value;
                    value = value > bound ? bound : value;
                    const words bits = __builtin_bit_cast(words, value);
                    typedef words loose_words __attribute__((aligned(4)));
                    const words there = *(const loose_words*)(line + block);
                    *(loose_words*)(line + block) = there < bits ? bits : there;
                }
            }
        }
    }
    return clipped & counted;
"""
)
def raise_many(
    map: wp.array2d(dtype=wp.uint32),
    row: int,
    pitch: int,
    corner: wp.array2d(dtype=float),
    t: int,
    count: int,
    rotation: wp.mat33,
    position: wp.vec3,
    view: LightView,
    near: float,
    x0: int,
    x1: int,
    y0: int,
    y1: int,
) -> wp.uint64:
    """Raise what at most 64 triangles from number ``t`` on cover of a window of a map; rotation and position are as the light sees them.

    Returns:
        A bit for each triangle that was left out because it lies across the near plane of a spot.
    """
