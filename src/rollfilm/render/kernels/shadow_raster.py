"""Triangles into shadow maps: both faces, depth alone, whole runs of texels at once."""

import warp as wp

from rollfilm.render.kernels.raster import Window, camera_triangle, near_cut, pixel_box, turned
from rollfilm.render.kernels.types import LightView, SceneData, WorldData

# how a triangle touches a map
WHOLE = wp.constant(1)
CUT = wp.constant(2)


@wp.func_native("""
    const float low_x = (float)x0, high_x = (float)(x1 + 1);
    for (int y = y0; y <= y1; ++y) {
        const float center_y = (float)y + 0.5f;
        const float p = ab[0] + (center_y - ab[1]) * ab[2];
        const float q = bc[0] + (center_y - bc[1]) * bc[2];
        const float r = ca[0] + (center_y - ca[1]) * ca[2];
        float left = low_x, right = high_x;
        left = ab[3] < 0.0f && p > left ? p : left;
        left = bc[3] < 0.0f && q > left ? q : left;
        left = ca[3] < 0.0f && r > left ? r : left;
        right = ab[3] > 0.0f && p < right ? p : right;
        right = bc[3] > 0.0f && q < right ? q : right;
        right = ca[3] > 0.0f && r < right ? r : right;
        if (!(left <= right)) continue;
        const float start = corner[2] + slope[1] * (center_y - corner[1]);
        wp::uint32* const line = map.data + (size_t)row * (size_t)map.shape[1] + (size_t)(y * pitch);
#if defined(__CUDA_ARCH__)
        for (int x = (int)left; x <= x1; ++x) {
            const float center_x = (float)x + 0.5f;
            if (center_x > right) break;
            float value = start + slope[0] * (center_x - corner[0]);
            value = value < farthest ? farthest : value;
            value = value > nearest ? nearest : value;
            const wp::uint32 bits = wp::cast<wp::uint32>(value);
            if (center_x >= left && line[x] < bits) atomicMax(line + x, bits);
        }
#else
        // sixteen texels at once, always the same: what is read was stored as a whole
        for (int block = (int)left & ~15; (float)block < right; block += 16) {
            for (int i = 0; i < 16; ++i) {
                const float center_x = (float)(block + i) + 0.5f;
                float value = start + slope[0] * (center_x - corner[0]);
                float most = center_x < left ? 0.0f : nearest;
                most = center_x > right ? 0.0f : most;
                value = value < farthest ? farthest : value;
                value = value > most ? most : value;
                const wp::uint32 bits = wp::cast<wp::uint32>(value);
                const wp::uint32 there = line[block + i];
                line[block + i] = there < bits ? bits : there;
            }
        }
#endif
    }
""")
def raise_rows(
    map: wp.array2d(dtype=wp.uint32),
    row: int,
    pitch: int,
    x0: int,
    x1: int,
    y0: int,
    y1: int,
    ab: wp.vec4,
    bc: wp.vec4,
    ca: wp.vec4,
    corner: wp.vec3,
    slope: wp.vec2,
    farthest: float,
    nearest: float,
):
    """Raise the texels of a map whose centres lie between three lines (``side_line``) and inside a window to an affine nearness."""


@wp.func_native("""
    wp::uint32* const line = map.data + (size_t)row * (size_t)map.shape[1] + (size_t)at;
    for (int x = 0; x < count; ++x) line[x] = 0u;
""")
def clear_run(map: wp.array2d(dtype=wp.uint32), row: int, at: int, count: int):
    """Empty ``count`` texels of a map from number ``at``."""


@wp.func
def on_map(view: LightView, p: wp.vec3):
    """Column, row and nearness of a point in a light's axes, in front of a spot."""
    depth = -p[2]
    share = wp.where(view.perspective == 1, 1.0 / wp.max(depth, 1.0e-12), 1.0)
    nearness = wp.where(view.perspective == 1, share, view.reach - depth)
    scale = view.scale * share
    return wp.vec3(view.center[0] + scale * p[0], view.center[1] - scale * p[1], nearness)


@wp.func
def side_line(a: wp.vec3, b: wp.vec3):
    """The line through two corners, always from the lower of them: both triangles at it compute the same columns."""
    low = a
    high = b
    end = float(-1.0)  # going down it bounds the left end
    if b[1] < a[1] or (b[1] == a[1] and b[0] < a[0]):
        low = b
        high = a
        end = 1.0
    rise = high[1] - low[1]
    if rise <= 0.0:
        return wp.vec4(0.0)
    return wp.vec4(low[0], low[1], (high[0] - low[0]) / rise, end)


@wp.func
def raster_on_map(map: wp.array2d(dtype=wp.uint32), row: int, pitch: int, window: Window, a: wp.vec3, b0: wp.vec3, c0: wp.vec3):
    """What a triangle covers of a window, whichever way it faces. A texel belongs to it if its centre lies inside or on a side."""
    box = pixel_box(window, a, b0, c0)
    area = (b0[0] - a[0]) * (c0[1] - a[1]) - (b0[1] - a[1]) * (c0[0] - a[0])
    if box.x0 <= box.x1 and box.y0 <= box.y1 and area != 0.0:
        b = b0
        c = c0
        if area > 0.0:
            b = c0
            c = b0
            area = -area
        ab = side_line(a, b)
        bc = side_line(b, c)
        ca = side_line(c, a)
        inverse_area = 1.0 / area
        slope_x = inverse_area * ((b[2] - a[2]) * (c[1] - a[1]) - (c[2] - a[2]) * (b[1] - a[1]))
        slope_y = inverse_area * ((c[2] - a[2]) * (b[0] - a[0]) - (b[2] - a[2]) * (c[0] - a[0]))
        nearest = wp.max(a[2], wp.max(b[2], c[2]))
        farthest = wp.min(a[2], wp.min(b[2], c[2]))
        raise_rows(map, row, pitch, box.x0, box.x1, box.y0, box.y1, ab, bc, ca, a, wp.vec2(slope_x, slope_y), farthest, nearest)


@wp.func
def map_triangles(view: LightView, near: float, a0: wp.vec3, b0: wp.vec3, c0: wp.vec3):
    """What is left of a triangle before a light: the number of triangles (0, 1 or 2) and their corners p, q, r, s on the map.

    The first is (p, q, r), the second (p, r, s). A spot sees nothing that is nearer than ``near``.
    """
    zero = wp.vec3(0.0)
    a_in = view.perspective == 0 or a0[2] <= -near
    b_in = view.perspective == 0 or b0[2] <= -near
    c_in = view.perspective == 0 or c0[2] <= -near
    if not (a_in or b_in or c_in):
        return 0, zero, zero, zero, zero
    if a_in and b_in and c_in:
        return 1, on_map(view, a0), on_map(view, b0), on_map(view, c0), zero
    a, b, c = turned(a0, b0, c0, a_in, b_in, c_in)
    p = on_map(view, a)
    s = on_map(view, near_cut(a, c, near))
    if b[2] <= -near:
        return 2, p, on_map(view, b), on_map(view, near_cut(b, c, near)), s
    return 1, p, on_map(view, near_cut(a, b, near)), s, zero


@wp.func
def geom_before_light(world: WorldData, view: LightView, w: int, geom: int):
    """Rotation and position of a geom in a light's axes."""
    return view.from_world * world.geom_rotation[w, geom], view.from_world * (world.geom_position[w, geom] - view.origin)


@wp.func
def raster_corners(
    map: wp.array2d(dtype=wp.uint32),
    row: int,
    pitch: int,
    near: float,
    view: LightView,
    window: Window,
    a: wp.vec3,
    b: wp.vec3,
    c: wp.vec3,
):
    """What a triangle, its corners in a light's axes, covers of a window of a map."""
    n, p, q, r, s = map_triangles(view, near, a, b, c)
    if n > 0:
        raster_on_map(map, row, pitch, window, p, q, r)
        if n > 1:
            raster_on_map(map, row, pitch, window, p, r, s)


@wp.func
def touching(scene: SceneData, view: LightView, window: Window, t: int, rotation: wp.mat33, position: wp.vec3):
    """WHOLE if triangle ``t`` has a texel's centre in its box, CUT if it must be clipped first, else 0; and its corners on the map.

    Free of branches, for vector units.
    """
    a, b, c = camera_triangle(scene, t, rotation, position)
    p = on_map(view, a)
    q = on_map(view, b)
    r = on_map(view, c)
    left = wp.max(wp.ceil(wp.min(p[0], wp.min(q[0], r[0])) - 0.5), float(window.x0))
    right = wp.min(wp.floor(wp.max(p[0], wp.max(q[0], r[0])) - 0.5), float(window.x1))
    top = wp.max(wp.ceil(wp.min(p[1], wp.min(q[1], r[1])) - 0.5), float(window.y0))
    bottom = wp.min(wp.floor(wp.max(p[1], wp.max(q[1], r[1])) - 0.5), float(window.y1))
    touches = wp.where(left <= right, wp.where(top <= bottom, WHOLE, 0), 0)
    nearest = wp.max(a[2], wp.max(b[2], c[2]))
    farthest = wp.min(a[2], wp.min(b[2], c[2]))
    # in front of the near plane as a whole, behind it as a whole, or across it
    seen = wp.where(nearest <= -scene.near, touches, wp.where(farthest <= -scene.near, CUT, 0))
    return wp.where(view.perspective == 1, seen, touches), p, q, r
