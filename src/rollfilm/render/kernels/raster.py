"""Triangles into the visibility buffer: near clipping, exact shared edges, the minimum over (depth, surface)."""

import warp as wp

from rollfilm.render.kernels.power import fused
from rollfilm.render.kernels.types import Lens, SceneData, ViewBatch, depth_key, layer, surface_key

# columns of a bounding box from which on it pays to find the ends of each row
WIDE = wp.constant(4)

# rounding of what tells the front of a triangle from its back, as a part of (length of edges) x (distance of the eye)^2
DOUBT = wp.constant(3.0e-7)


@wp.struct
class Window:
    """The pixels that may be written: columns x0 to x1 and rows y0 to y1, both ends included."""

    x0: int
    y0: int
    x1: int
    y1: int


@wp.struct
class Edge:
    """An edge of a screen triangle, always taken from the same of its two ends: both triangles at it compute the same number."""

    origin: wp.vec2
    along: wp.vec2
    sign: float  # -1 if it was turned round


@wp.struct
class ScreenTriangle:
    """A triangle on the screen, front face to the eye. Reciprocal depth is affine there, and for an orthographic camera the depth itself.

    What is affine is called z: reciprocal depth, or the depth of an orthographic camera with its sign turned. Nearer is larger.
    """

    front: int  # 0 if it has no pixel's centre in its box
    window: Window  # the pixels that it can cover
    ab: Edge
    bc: Edge
    ca: Edge
    corner: wp.vec3  # x, y and z of one corner
    slope: wp.vec2  # of z
    nearest: float
    farthest: float


@wp.func
def make_edge(a: wp.vec3, b: wp.vec3):
    """The edge from a to b."""
    edge = Edge()
    if a[0] < b[0] or (a[0] == b[0] and a[1] < b[1]):
        edge.origin = wp.vec2(a[0], a[1])
        edge.along = wp.vec2(b[0] - a[0], b[1] - a[1])
        edge.sign = 1.0
    else:
        edge.origin = wp.vec2(b[0], b[1])
        edge.along = wp.vec2(a[0] - b[0], a[1] - b[1])
        edge.sign = -1.0
    return edge


@wp.func_native("""
#if defined(__CUDA_ARCH__)
    // a GPU rounds and converts at a quarter of the speed at which it adds: whole numbers stand in the last bits beside 3 * 2^22
    return __float_as_int(__fadd_ru(place - 0.5f, 12582912.0f)) - 0x4B400000;
#else
    return (int)wp::ceil(place - 0.5f);
#endif
""")
def pixel_from(place: float) -> int:
    """The first pixel whose centre does not lie before a place."""


@wp.func_native("""
#if defined(__CUDA_ARCH__)
    return __float_as_int(__fadd_rd(place - 0.5f, 12582912.0f)) - 0x4B400000;
#else
    return (int)wp::floor(place - 0.5f);
#endif
""")
def pixel_to(place: float) -> int:
    """The last pixel whose centre does not lie beyond a place."""


@wp.func
def pixel_box(window: Window, a: wp.vec3, b: wp.vec3, c: wp.vec3):
    """The pixels of a window whose centres lie in the bounding box of three screen points; empty where an end is before its begin."""
    # clamped before they become integers: corners near the camera's plane may lie anywhere
    box = Window()
    box.x0 = wp.max(window.x0, pixel_from(wp.clamp(wp.min(a[0], wp.min(b[0], c[0])), -1.0, 32768.0)))
    box.x1 = wp.min(window.x1, pixel_to(wp.clamp(wp.max(a[0], wp.max(b[0], c[0])), -1.0, 32768.0)))
    box.y0 = wp.max(window.y0, pixel_from(wp.clamp(wp.min(a[1], wp.min(b[1], c[1])), -1.0, 32768.0)))
    box.y1 = wp.min(window.y1, pixel_to(wp.clamp(wp.max(a[1], wp.max(b[1], c[1])), -1.0, 32768.0)))
    return box


@wp.func
def make_screen_triangle(window: Window, a: wp.vec3, b: wp.vec3, c: wp.vec3):
    """Set up a triangle of screen points (x, y, z) for the pixels of a window."""
    triangle = ScreenTriangle()
    box = pixel_box(window, a, b, c)
    triangle.window = box
    area = (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
    # rows grow downwards: counter-clockwise to the eye has negative area here, but for slivers whose area has no digits left; they cover
    # what their edges say, so that they leave no hole, and are as deep as their corner
    if box.x0 <= box.x1 and box.y0 <= box.y1:
        triangle.front = 1
        triangle.ab = make_edge(a, b)
        triangle.bc = make_edge(b, c)
        triangle.ca = make_edge(c, a)
        inverse_area = wp.where(area < 0.0, 1.0 / area, 0.0)
        triangle.corner = a
        triangle.slope = inverse_area * wp.vec2(
            (b[2] - a[2]) * (c[1] - a[1]) - (c[2] - a[2]) * (b[1] - a[1]),
            (c[2] - a[2]) * (b[0] - a[0]) - (b[2] - a[2]) * (c[0] - a[0]),
        )
        triangle.nearest = wp.max(a[2], wp.max(b[2], c[2]))
        triangle.farthest = wp.min(a[2], wp.min(b[2], c[2]))
    return triangle


@wp.func
def edge_row(edge: Edge, py: float):
    """The part of an edge's value that a row of pixels shares."""
    return edge.along[0] * (py - edge.origin[1])


@wp.func
def edge_value(edge: Edge, row: float, px: float):
    """At most 0 on the inner side of an edge, 0 on it."""
    return edge.sign * (row - edge.along[1] * (px - edge.origin[0]))


@wp.func
def depth_in(triangle: ScreenTriangle, row: float, px: float):
    """Reciprocal depth at a pixel, never beyond the corners'."""
    z = wp.clamp(fused(triangle.slope[0], px - triangle.corner[0], row), triangle.farthest, triangle.nearest)
    if triangle.nearest < 0.0:
        return -1.0 / z
    return z


@wp.func
def cut_span(span: wp.vec2, edge: Edge, row: float):
    """Cut a row's first and last column to what lies on the inner side of an edge, give or take a pixel."""
    cut = span
    across = edge.along[1]
    meeting = edge.origin[0] + row / wp.where(across == 0.0, 1.0e-30, across)
    direction = edge.sign * across
    if direction > 0.0:
        cut[0] = wp.clamp(wp.floor(meeting) - 1.0, span[0], 32768.0)
    elif direction < 0.0:
        cut[1] = wp.clamp(wp.ceil(meeting), -1.0, span[1])
    return cut


@wp.func
def raster_rows(vis: wp.array2d(dtype=wp.uint64), row: int, width: int, triangle: ScreenTriangle, key: wp.uint64, depth_factor: float):
    """A triangle into row ``row`` of the visibility buffer, one row of pixels after the other: how one thread goes fastest.

    A pixel belongs to a triangle if its centre lies inside or on an edge; two triangles at an edge leave no gap.
    """
    box = triangle.window
    wide = box.x1 - box.x0 >= WIDE
    for y in range(box.y0, box.y1 + 1):
        py = float(y) + 0.5
        rab = edge_row(triangle.ab, py)
        rbc = edge_row(triangle.bc, py)
        rca = edge_row(triangle.ca, py)
        rz = triangle.corner[2] + triangle.slope[1] * (py - triangle.corner[1])
        left = int(box.x0)
        right = int(box.x1)
        if wide:
            # leave out most of the bounding box that is outside; the edges themselves are still tested below
            span = wp.vec2(float(box.x0), float(box.x1))
            span = cut_span(span, triangle.ab, rab)
            span = cut_span(span, triangle.bc, rbc)
            span = cut_span(span, triangle.ca, rca)
            left = int(span[0])
            right = int(span[1])
        for x in range(left, right + 1):
            px = float(x) + 0.5
            eab = edge_value(triangle.ab, rab, px)
            ebc = edge_value(triangle.bc, rbc, px)
            eca = edge_value(triangle.ca, rca, px)
            if eab <= 0.0 and ebc <= 0.0 and eca <= 0.0:
                wp.atomic_min(vis, row, y * width + x, depth_key(depth_in(triangle, rz, px) * depth_factor) | key)


@wp.func
def raster_box(vis: wp.array2d(dtype=wp.uint64), row: int, width: int, triangle: ScreenTriangle, key: wp.uint64, depth_factor: float):
    """The same pixels by one loop over the bounding box: how many threads side by side wait least for each other."""
    box = triangle.window
    x = int(box.x0)
    y = int(box.y0)
    while y <= box.y1:
        px = float(x) + 0.5
        py = float(y) + 0.5
        eab = edge_value(triangle.ab, edge_row(triangle.ab, py), px)
        ebc = edge_value(triangle.bc, edge_row(triangle.bc, py), px)
        eca = edge_value(triangle.ca, edge_row(triangle.ca, py), px)
        if eab <= 0.0 and ebc <= 0.0 and eca <= 0.0:
            rz = triangle.corner[2] + triangle.slope[1] * (py - triangle.corner[1])
            wp.atomic_min(vis, row, y * width + x, depth_key(depth_in(triangle, rz, px) * depth_factor) | key)
        x += 1
        if x > box.x1:
            x = box.x0
            y += 1


@wp.func
def near_cut(inside: wp.vec3, outside: wp.vec3, near: float):
    """Where an edge meets the near plane; always from its inner end, so that neighbours agree."""
    t = (-near - inside[2]) / (outside[2] - inside[2])
    p = inside + t * (outside - inside)
    return wp.vec3(p[0], p[1], -near)


@wp.func
def project(p: wp.vec3, lens: Lens):
    """Screen x and y in pixels, and z (``ScreenTriangle``), of a point in front of the camera. Free of branches, for vector units."""
    inverse_depth = -1.0 / p[2]
    scale = wp.where(lens.flat == 1, 1.0, inverse_depth)
    return wp.vec3(
        fused(p[0] * scale, lens.fx, lens.cx), fused(-p[1] * scale, lens.fy, lens.cy), wp.where(lens.flat == 1, p[2], inverse_depth)
    )


@wp.func
def faces_away(lens: Lens, a: wp.vec3, b: wp.vec3, c: wp.vec3):
    """Whether a triangle in the camera's frame is seen from behind beyond doubt.

    Where rounding leaves a doubt, as with slivers, it is drawn: of a triangle from behind no pixel passes the edges, and a sliver that was
    left out by mistake would be a hole.
    """
    ab = b - a
    ac = c - a
    normal = wp.cross(ab, ac)
    doubt = DOUBT * (wp.abs(ab[0]) + wp.abs(ab[1]) + wp.abs(ab[2]) + wp.abs(ac[0]) + wp.abs(ac[1]) + wp.abs(ac[2]))
    if lens.flat == 1:
        return -normal[2] >= doubt * (wp.abs(a[0]) + wp.abs(a[1]) + wp.abs(a[2]))
    return wp.dot(normal, a) >= doubt * wp.dot(a, a)


@wp.func_native("""
    const float* const at = corner.data + t;
    const size_t next = (size_t)corner.shape[1];
    return wp::mat_t<3, 3, float>(
        at[0], at[next], at[2 * next], at[3 * next], at[4 * next], at[5 * next], at[6 * next], at[7 * next], at[8 * next]
    );
""")
def corners_at(corner: wp.array2d(dtype=float), t: int) -> wp.mat33:
    """The corners of triangle ``t``, one a row (``SceneData.corner``)."""


@wp.func
def camera_triangle(scene: SceneData, t: int, rotation: wp.mat33, position: wp.vec3):
    """The three corners of triangle ``t``, counted over all meshes, in the camera's frame."""
    m = corners_at(scene.corner, t)
    a = rotation * wp.vec3(m[0, 0], m[0, 1], m[0, 2]) + position
    b = rotation * wp.vec3(m[1, 0], m[1, 1], m[1, 2]) + position
    c = rotation * wp.vec3(m[2, 0], m[2, 1], m[2, 2]) + position
    return a, b, c


@wp.func
def turned(a: wp.vec3, b: wp.vec3, c: wp.vec3, a_in: bool, b_in: bool, c_in: bool):
    """A triangle that the near plane cuts, turned until its first corner is the only one inside, or its last the only one outside."""
    if (b_in and not a_in and not c_in) or (b_in and c_in and not a_in):
        return b, c, a
    if (c_in and not a_in and not b_in) or (c_in and a_in and not b_in):
        return c, a, b
    return a, b, c


@wp.func
def side(a: wp.vec3, b: wp.vec3):
    """The length of a side on the screen."""
    return wp.abs(b[0] - a[0]) + wp.abs(b[1] - a[1])


@wp.func
def screen_triangles(near: float, lens: Lens, a0: wp.vec3, b0: wp.vec3, c0: wp.vec3):
    """What is left of a triangle beyond the near plane: the number of triangles (0, 1 or 2) and their screen points p, q, r, s.

    The first is (p, q, r), the second (r, s, p). Triangles that face away give 0. Those that were cut begin with a short side, as all do
    in the scene (``scene_data``): the slope of their depth, which is computed from the two sides at the first corner, then has most digits.
    """
    zero = wp.vec3(0.0)
    a_in = a0[2] <= -near
    b_in = b0[2] <= -near
    c_in = c0[2] <= -near
    if not (a_in or b_in or c_in) or faces_away(lens, a0, b0, c0):
        return 0, zero, zero, zero, zero
    if a_in and b_in and c_in:
        return 1, project(a0, lens), project(b0, lens), project(c0, lens), zero
    a, b, c = turned(a0, b0, c0, a_in, b_in, c_in)
    p = project(a, lens)
    s = project(near_cut(a, c, near), lens)
    if b[2] <= -near:
        q = project(b, lens)
        r = project(near_cut(b, c, near), lens)
        if wp.min(side(p, q), side(r, s)) <= wp.min(side(q, r), side(s, p)):
            return 2, p, q, r, s
        return 2, q, r, s, p
    q = project(near_cut(a, b, near), lens)
    if side(p, q) <= wp.min(side(q, s), side(s, p)):
        return 1, p, q, s, zero
    if side(q, s) <= side(s, p):
        return 1, q, s, p, zero
    return 1, s, p, q, zero


@wp.func
def raster_triangle(
    vis: wp.array2d(dtype=wp.uint64),
    row: int,
    scene: SceneData,
    batch: ViewBatch,
    window: Window,
    geom: int,
    first: int,
    triangle: int,
    lens: Lens,
    rotation: wp.mat33,
    position: wp.vec3,
):
    """One triangle of a mesh that begins with triangle ``first``, whole, into row ``row`` of the visibility buffer."""
    a, b, c = camera_triangle(scene, first + triangle, rotation, position)
    n, p, q, r, s = screen_triangles(scene.near, lens, a, b, c)
    if n > 0:
        key = surface_key(geom, triangle)
        screen = make_screen_triangle(window, p, q, r)
        if screen.front == 1:
            raster_rows(vis, row, batch.width, screen, key, layer(geom))
        if n > 1:
            second = make_screen_triangle(window, r, s, p)
            if second.front == 1:
                raster_rows(vis, row, batch.width, second, key, layer(geom))
