"""Triangles into the visibility buffer: near clipping, exact shared edges, the minimum over (depth, surface)."""

import warp as wp

from rollfilm.render.kernels.types import SceneData, ViewBatch, depth_key, layer, surface_key

# columns of a bounding box from which on it pays to find the ends of each row
WIDE = wp.constant(4)


@wp.struct
class Window:
    """The pixels that may be written: columns x0 to x1 and rows y0 to y1, both ends included."""

    x0: int
    y0: int
    x1: int
    y1: int


@wp.func
def edge_order(ax: float, ay: float, bx: float, by: float):
    """1 if an edge is evaluated from a to b, -1 if from b to a: both triangles at an edge must compute the same number."""
    if ax < bx or (ax == bx and ay < by):
        return 1.0
    return -1.0


@wp.func
def cut_span(span: wp.vec2, direction: float, origin: float, along: float, across: float):
    """Cut a row's first and last column to what lies on the inner side of an edge, give or take a pixel.

    The edge meets the row at ``origin + along / across``; pixels are inside on the right of it where ``direction`` is positive.
    """
    cut = span
    meeting = origin + along / wp.where(across == 0.0, 1.0e-30, across)
    if direction > 0.0:
        cut[0] = wp.clamp(wp.floor(meeting) - 1.0, span[0], 32768.0)
    elif direction < 0.0:
        cut[1] = wp.clamp(wp.ceil(meeting), -1.0, span[1])
    return cut


@wp.func
def raster_projected(
    vis: wp.array2d(dtype=wp.uint64),
    row: int,
    width: int,
    window: Window,
    key: wp.uint64,
    depth_factor: float,
    a: wp.vec3,
    b: wp.vec3,
    c: wp.vec3,
):
    """One triangle of screen points (x, y, reciprocal depth) into row ``row`` of the visibility buffer.

    Reciprocal depth is affine on the screen. A pixel belongs to a triangle if its centre lies inside or on an edge; an edge
    function is always evaluated from the same of its two ends, so that two triangles that share an edge leave no gap.
    """
    x0 = wp.max(window.x0, int(wp.ceil(wp.max(wp.min(a[0], wp.min(b[0], c[0])) - 0.5, -1.0))))
    x1 = wp.min(window.x1, int(wp.floor(wp.min(wp.max(a[0], wp.max(b[0], c[0])) - 0.5, 32768.0))))
    if x0 > x1:
        return
    y0 = wp.max(window.y0, int(wp.ceil(wp.max(wp.min(a[1], wp.min(b[1], c[1])) - 0.5, -1.0))))
    y1 = wp.min(window.y1, int(wp.floor(wp.min(wp.max(a[1], wp.max(b[1], c[1])) - 0.5, 32768.0))))
    if y0 > y1:
        return
    area = (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
    if area >= 0.0:  # rows grow downwards: a front face, counter-clockwise to the eye, has negative area here
        return

    sab = edge_order(a[0], a[1], b[0], b[1])
    sbc = edge_order(b[0], b[1], c[0], c[1])
    sca = edge_order(c[0], c[1], a[0], a[1])
    oab = a
    if sab < 0.0:
        oab = b
    obc = b
    if sbc < 0.0:
        obc = c
    oca = c
    if sca < 0.0:
        oca = a
    abx = sab * (b[0] - a[0])
    aby = sab * (b[1] - a[1])
    bcx = sbc * (c[0] - b[0])
    bcy = sbc * (c[1] - b[1])
    cax = sca * (a[0] - c[0])
    cay = sca * (a[1] - c[1])

    inverse_area = 1.0 / area
    slope_x = ((b[2] - a[2]) * (c[1] - a[1]) - (c[2] - a[2]) * (b[1] - a[1])) * inverse_area
    slope_y = ((c[2] - a[2]) * (b[0] - a[0]) - (b[2] - a[2]) * (c[0] - a[0])) * inverse_area
    nearest = wp.max(a[2], wp.max(b[2], c[2]))
    farthest = wp.min(a[2], wp.min(b[2], c[2]))

    wide = x1 - x0 >= WIDE
    for y in range(y0, y1 + 1):
        py = float(y) + 0.5
        rab = abx * (py - oab[1])
        rbc = bcx * (py - obc[1])
        rca = cax * (py - oca[1])
        rz = a[2] + slope_y * (py - a[1])
        left = int(x0)
        right = int(x1)
        if wide:
            # leave out most of the bounding box that is outside; the edges themselves are still tested below
            span = wp.vec2(float(x0), float(x1))
            span = cut_span(span, sab * aby, oab[0], rab, aby)
            span = cut_span(span, sbc * bcy, obc[0], rbc, bcy)
            span = cut_span(span, sca * cay, oca[0], rca, cay)
            left = int(span[0])
            right = int(span[1])
        for x in range(left, right + 1):
            px = float(x) + 0.5
            eab = sab * (rab - aby * (px - oab[0]))
            ebc = sbc * (rbc - bcy * (px - obc[0]))
            eca = sca * (rca - cay * (px - oca[0]))
            if eab <= 0.0 and ebc <= 0.0 and eca <= 0.0:
                z = wp.clamp(rz + slope_x * (px - a[0]), farthest, nearest)
                wp.atomic_min(vis, row, y * width + x, depth_key(z * depth_factor) | key)


@wp.func
def near_cut(inside: wp.vec3, outside: wp.vec3, near: float):
    """Where an edge meets the near plane; always from its inner end, so that neighbours agree."""
    t = (-near - inside[2]) / (outside[2] - inside[2])
    p = inside + t * (outside - inside)
    return wp.vec3(p[0], p[1], -near)


@wp.func
def project(p: wp.vec3, focal: float, center_x: float, center_y: float):
    """Screen x and y in pixels, and reciprocal depth, of a point in front of the camera."""
    inverse_depth = -1.0 / p[2]
    return wp.vec3(center_x + p[0] * inverse_depth * focal, center_y - p[1] * inverse_depth * focal, inverse_depth)


@wp.func
def camera_triangle(scene: SceneData, mesh: int, triangle: int, rotation: wp.mat33, position: wp.vec3):
    """The three corners of a triangle in the camera's frame."""
    t = scene.mesh_triangle[mesh] + triangle
    a = rotation * wp.vec3(scene.corner[0, t], scene.corner[1, t], scene.corner[2, t]) + position
    b = rotation * wp.vec3(scene.corner[3, t], scene.corner[4, t], scene.corner[5, t]) + position
    c = rotation * wp.vec3(scene.corner[6, t], scene.corner[7, t], scene.corner[8, t]) + position
    return a, b, c


@wp.func
def screen_triangles(near: float, focal: float, batch: ViewBatch, a0: wp.vec3, b0: wp.vec3, c0: wp.vec3):
    """What is left of a triangle beyond the near plane: the number of triangles (0, 1 or 2) and their screen points p, q, r, s.

    The first is (p, q, r), the second (p, r, s). Triangles that face away give 0.
    """
    zero = wp.vec3(0.0)
    a_in = a0[2] <= -near
    b_in = b0[2] <= -near
    c_in = c0[2] <= -near
    if not (a_in or b_in or c_in) or wp.dot(wp.cross(b0 - a0, c0 - a0), a0) >= 0.0:
        return 0, zero, zero, zero, zero
    cx = 0.5 * float(batch.width)
    cy = 0.5 * float(batch.height)
    if a_in and b_in and c_in:
        return 1, project(a0, focal, cx, cy), project(b0, focal, cx, cy), project(c0, focal, cx, cy), zero
    # turn the triangle until a is the only corner inside, or c the only one outside
    a = a0
    b = b0
    c = c0
    if (b_in and not a_in and not c_in) or (b_in and c_in and not a_in):
        a = b0
        b = c0
        c = a0
    elif (c_in and not a_in and not b_in) or (c_in and a_in and not b_in):
        a = c0
        b = a0
        c = b0
    p = project(a, focal, cx, cy)
    s = project(near_cut(a, c, near), focal, cx, cy)
    if b[2] <= -near:
        return 2, p, project(b, focal, cx, cy), project(near_cut(b, c, near), focal, cx, cy), s
    return 1, p, project(near_cut(a, b, near), focal, cx, cy), s, zero


@wp.func
def raster_triangle(
    vis: wp.array2d(dtype=wp.uint64),
    row: int,
    scene: SceneData,
    batch: ViewBatch,
    window: Window,
    geom: int,
    triangle: int,
    focal: float,
    rotation: wp.mat33,
    position: wp.vec3,
):
    """One triangle of a mesh, whole, into row ``row`` of the visibility buffer."""
    a, b, c = camera_triangle(scene, scene.geom_mesh[geom], triangle, rotation, position)
    n, p, q, r, s = screen_triangles(scene.near, focal, batch, a, b, c)
    if n > 0:
        key = surface_key(geom, triangle)
        raster_projected(vis, row, batch.width, window, key, layer(geom), p, q, r)
        if n > 1:
            raster_projected(vis, row, batch.width, window, key, layer(geom), p, r, s)
