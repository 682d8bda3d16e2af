"""Surfaces that follow several bodies (``rollfilm.scene.DeformingMesh``): their vertices, normals and corners in every world.

Each world has meshes of its own for them, behind those that all worlds share: what draws meshes need not know. Nothing here depends on
what other worlds do, and every sum has one order.
"""

import warp as wp

from rollfilm.cpu_flags import VECTOR_FLAGS
from rollfilm.render.kernels.place import Poses, rotation_matrix
from rollfilm.render.kernels.types import SceneData

wp.set_module_options({"cpu_compiler_flags": VECTOR_FLAGS})

#: Threads that share the vertices of a mesh, to find the box around them.
LANES = 64


@wp.struct
class Deforming:
    """All deforming meshes of a scene, one after the other. P control points, V vertices, T triangles, D meshes, B worlds."""

    bone_first: wp.array(dtype=int)  # (P + 1,)
    bone_body: wp.array(dtype=int)
    bone: wp.array(dtype=wp.vec4)  # offset and weight
    face: wp.array(dtype=wp.vec3i)  # control points
    ring_first: wp.array(dtype=int)  # (P + 1,) where the faces around each control point begin
    ring: wp.array(dtype=int)
    by_area: wp.array(dtype=int)  # (P,)
    anchor: wp.array(dtype=wp.vec3i)  # (V,)
    shape: wp.array(dtype=wp.vec4)  # (V,)
    triangle: wp.array(dtype=wp.vec3i)  # (T,) vertices
    flat: wp.array(dtype=int)  # (T,)
    hangs: wp.array(dtype=wp.vec4)  # (P,) of points of strings, where gravity pulls and how long the string is; else 0
    hang_ends: wp.array(dtype=wp.vec2i)  # (P,) the first and the last point of the string
    mesh_vertex: wp.array(dtype=int)  # (D + 1,) where the vertices of each mesh begin
    num_bodies: int
    num_vertices: int
    num_triangles: int
    num_meshes: int
    first_vertex: int  # of the first world in SceneData
    first_triangle: int
    first_mesh: int
    path: wp.array2d(dtype=wp.vec4)  # (B, path points) and how much of its width a tube has from there on
    point: wp.array2d(dtype=wp.vec4)  # (B, P) where the control points are in this frame, and that share of the width
    point_normal: wp.array2d(dtype=wp.vec3)  # (B, P)
    low: wp.array3d(dtype=wp.vec3)  # (B, D, LANES) corners of boxes
    high: wp.array3d(dtype=wp.vec3)


@wp.kernel(enable_backward=False)
def place_points(poses: Poses, deforming: Deforming):
    """One thread a world and control point."""
    w, p = wp.tid()
    place = wp.vec3(0.0)
    width = float(1.0)
    for k in range(deforming.bone_first[p], deforming.bone_first[p + 1]):
        body = deforming.bone_body[k]
        bone = deforming.bone[k]
        if body < deforming.num_bodies:
            offset = rotation_matrix(poses.quat_wxyz[w, body]) * wp.vec3(bone[0], bone[1], bone[2])
            place += bone[3] * poses.position[w, body] + offset
        else:
            given = deforming.path[w, body - deforming.num_bodies]
            place += wp.vec3(given[0], given[1], given[2])
            width = given[3]
    deforming.point[w, p] = wp.vec4(place[0], place[1], place[2], width)


@wp.func
def point_at(deforming: Deforming, w: int, p: int):
    """Where a control point is."""
    point = deforming.point[w, p]
    return wp.vec3(point[0], point[1], point[2])


@wp.func
def half_span(ratio: float):
    """Where ``sinh(u) / u`` is ``ratio``, above 1 (``rollfilm.scene.hanging``)."""
    u = wp.sqrt(6.0 * (ratio - 1.0))
    if ratio >= 3.0:
        u = wp.log(2.0 * ratio) + wp.log(wp.log(2.0 * ratio))
    for _ in range(8):
        slope = 1.0 / wp.tanh(u) - 1.0 / u
        u -= (wp.log(wp.sinh(u) / u) - wp.log(ratio)) / wp.max(slope, 1.0e-6)
    return u


@wp.kernel(enable_backward=False)
def hang_points(deforming: Deforming):
    """One thread a world and control point: those of slack strings move from the straight line onto a catenary."""
    w, p = wp.tid()
    hangs = deforming.hangs[p]
    ends = deforming.hang_ends[p]
    length = hangs[3]
    if length == 0.0 or p == ends[0] or p == ends[1]:
        return
    down = wp.vec3(hangs[0], hangs[1], hangs[2])
    first = point_at(deforming, w, ends[0])
    between = point_at(deforming, w, ends[1]) - first
    # of what is hardly slack rounding would be seen, and sagging not
    if length <= 1.000001 * wp.length(between):
        return
    drop = wp.dot(between, down)
    level = between - drop * down
    span = wp.max(wp.length(level), 1.0e-6 * length)
    reach = wp.sqrt(length * length - drop * drop)
    u = half_span(reach / span)
    a = 0.5 * span / u
    tilt = drop / reach
    before = u + wp.sign(tilt) * wp.log(wp.abs(tilt) + wp.sqrt(1.0 + tilt * tilt))
    share = float(p - ends[0]) / float(ends[1] - ends[0])
    along = share * length / a - wp.sinh(before)
    steep = wp.sqrt(1.0 + along * along)
    x = a * (wp.sign(along) * wp.log(wp.abs(along) + steep) + before)
    place = first + x / span * level + a * (wp.cosh(before) - steep) * down
    deforming.point[w, p] = wp.vec4(place[0], place[1], place[2], 1.0)


@wp.func
def unit(v: wp.vec3):
    """A vector of length 1, or of length 0."""
    return v * (1.0 / wp.max(wp.length(v), 1.0e-30))


@wp.kernel(enable_backward=False)
def turn_points(deforming: Deforming):
    """One thread a world and control point: the normal, from the faces around it."""
    w, p = wp.tid()
    normal = wp.vec3(0.0)
    for k in range(deforming.ring_first[p], deforming.ring_first[p + 1]):
        face = deforming.face[deforming.ring[k]]
        a = point_at(deforming, w, face[0])
        across = wp.cross(point_at(deforming, w, face[1]) - a, point_at(deforming, w, face[2]) - a)
        if deforming.by_area[p] == 0:
            across = unit(across)
        normal += across
    deforming.point_normal[w, p] = unit(normal)


@wp.kernel(enable_backward=False)
def place_vertices(deforming: Deforming, scene: SceneData):
    """One thread a world and vertex."""
    w, v = wp.tid()
    anchor = deforming.anchor[v]
    shape = deforming.shape[v]
    at = anchor[0]
    if anchor[1] >= 0 and deforming.point[w, wp.max(anchor[1], 0)][3] == 0.0:
        at = anchor[1]  # what has no width is a point
    place = point_at(deforming, w, at)
    normal = wp.vec3(0.0)
    if anchor[1] < 0:
        normal = deforming.point_normal[w, anchor[0]]
        place += shape[1] * normal
        normal = shape[0] * normal
    else:
        axis = point_at(deforming, w, anchor[2]) - point_at(deforming, w, anchor[1])
        length = wp.length(axis)
        axis = wp.where(length > 0.0, axis / wp.max(length, 1.0e-30), wp.vec3(0.0, 0.0, 1.0))
        # the world's axis that is farthest from it
        helper = wp.vec3(1.0, 0.0, 0.0)
        if wp.abs(axis[0]) > wp.abs(axis[1]) or wp.abs(axis[0]) > wp.abs(axis[2]):
            helper = wp.where(wp.abs(axis[1]) < wp.abs(axis[2]), wp.vec3(0.0, 1.0, 0.0), wp.vec3(0.0, 0.0, 1.0))
        right = wp.normalize(wp.cross(helper, axis))
        normal = shape[0] * right + shape[1] * wp.cross(axis, right) + shape[2] * axis
        place += (shape[3] * deforming.point[w, anchor[1]][3]) * normal
    target = deforming.first_vertex + w * deforming.num_vertices + v
    scene.vertex[target] = place
    scene.normal[target] = normal


@wp.kernel(enable_backward=False)
def place_corners(deforming: Deforming, scene: SceneData):
    """One thread a world and triangle: its corners, and its normal where it is flat."""
    w, t = wp.tid()
    first = deforming.first_vertex + w * deforming.num_vertices
    triangle = deforming.triangle[t]
    a = scene.vertex[first + triangle[0]]
    b = scene.vertex[first + triangle[1]]
    c = scene.vertex[first + triangle[2]]
    at = deforming.first_triangle + w * deforming.num_triangles + t
    for k in range(3):
        scene.corner[k, at] = a[k]
        scene.corner[3 + k, at] = b[k]
        scene.corner[6 + k, at] = c[k]
    if deforming.flat[t] == 1:
        normal = unit(wp.cross(b - a, c - a))
        scene.normal[first + triangle[0]] = normal
        scene.normal[first + triangle[1]] = normal
        scene.normal[first + triangle[2]] = normal


@wp.kernel(enable_backward=False)
def box_parts(lanes: int, deforming: Deforming, scene: SceneData):
    """``lanes`` threads a world and mesh: each the box around its share of the vertices."""
    w, d, lane = wp.tid()
    first = deforming.first_vertex + w * deforming.num_vertices
    low = wp.vec3(1.0e30)
    high = wp.vec3(-1.0e30)
    v = deforming.mesh_vertex[d] + lane
    while v < deforming.mesh_vertex[d + 1]:
        low = wp.min(low, scene.vertex[first + v])
        high = wp.max(high, scene.vertex[first + v])
        v += lanes
    deforming.low[w, d, lane] = low
    deforming.high[w, d, lane] = high


@wp.kernel(enable_backward=False)
def bound(lanes: int, deforming: Deforming, scene: SceneData):
    """One thread a world and mesh: a sphere around the box around its vertices."""
    w, d = wp.tid()
    low = deforming.low[w, d, 0]
    high = deforming.high[w, d, 0]
    for lane in range(1, lanes):
        low = wp.min(low, deforming.low[w, d, lane])
        high = wp.max(high, deforming.high[w, d, lane])
    mesh = deforming.first_mesh + w * deforming.num_meshes + d
    scene.mesh_center[mesh] = 0.5 * (low + high)
    scene.mesh_radius[mesh] = 0.500001 * wp.length(high - low)


@wp.kernel(enable_backward=False)
def copy_topology(deforming: Deforming, uv: wp.array(dtype=wp.vec2), scene: SceneData):
    """One thread a world and triangle, once: triangles and texture coordinates, which no frame changes."""
    w, t = wp.tid()
    first = deforming.first_vertex + w * deforming.num_vertices
    triangle = deforming.triangle[t]
    scene.triangle[deforming.first_triangle + w * deforming.num_triangles + t] = wp.vec3i(
        first + triangle[0], first + triangle[1], first + triangle[2]
    )
    for k in range(3):
        scene.uv[first + triangle[k]] = uv[triangle[k]]
