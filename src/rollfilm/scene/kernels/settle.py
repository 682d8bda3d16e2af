"""Which edges may collapse, and to where: the inner loop of :mod:`rollfilm.scene.collapse` as a Warp kernel on the CPU.

Kernels check one edge each. A check ends with the first thing that forbids the collapse, which arrays of NumPy could not do.
"""

import warp as wp

from rollfilm.cpu_flags import VECTOR_FLAGS

__all__ = ["Around", "settle"]

wp.set_module_options({"cpu_compiler_flags": VECTOR_FLAGS})

#: How far a triangle may turn when an edge beside it collapses, as a cosine.
_TURN_COSINE = wp.constant(wp.float64(0.2))

#: A triangle whose height is a smaller share of its longest side is a needle, which has no direction to speak of.
_NEEDLE = wp.constant(wp.float64(1e-4))

#: Below this share of the fourth power of the longest side, the square of the doubled area says nothing about a direction.
_FLAT = wp.constant(wp.float64(1e-20))

_NONE = wp.constant(wp.float64(0.0))
_HALF = wp.constant(wp.float64(0.5))
_THIRD = wp.constant(wp.float64(1.0 / 3.0))


@wp.struct
class Around:
    """A mesh, and what lies around the edges that are tried: rows of lists, edge e's from ``start[e]`` to ``start[e + 1]``.

    Attributes:
        points: (V,).
        triangles: (T, 3).
        face_start: (E + 1,).
        faces: triangles at either end of each edge.
        watch_start: (E + 1,).
        watches: witnesses whose homes are among these triangles.
        witness: (W,), what must stay near the surface.
    """

    points: wp.array(dtype=wp.vec3d)
    triangles: wp.array2d(dtype=wp.int32)
    face_start: wp.array(dtype=wp.int32)
    faces: wp.array(dtype=wp.int32)
    watch_start: wp.array(dtype=wp.int32)
    watches: wp.array(dtype=wp.int32)
    witness: wp.array(dtype=wp.vec3d)


@wp.func
def segment_squared(p: wp.vec3d, a: wp.vec3d, b: wp.vec3d):
    """Squared distance from a point to a segment."""
    along = b - a
    share = wp.dot(p - a, along) / wp.max(wp.dot(along, along), wp.float64(1e-300))
    away = p - a - wp.clamp(share, _NONE, wp.float64(1.0)) * along
    return wp.dot(away, away)


@wp.func
def triangle_squared(p: wp.vec3d, a: wp.vec3d, b: wp.vec3d, c: wp.vec3d):
    """Squared distance from a point to a triangle, which may be a line."""
    ab, bc, ca = b - a, c - b, a - c
    normal = wp.cross(ab, bc)
    squared = wp.dot(normal, normal)
    longest = wp.max(wp.dot(ab, ab), wp.max(wp.dot(bc, bc), wp.dot(ca, ca)))
    if squared > _FLAT * longest * longest:
        inside = wp.min(wp.dot(wp.cross(ab, p - a), normal), wp.dot(wp.cross(bc, p - b), normal))
        if wp.min(inside, wp.dot(wp.cross(ca, p - c), normal)) >= _NONE:
            height = wp.dot(p - a, normal)
            return height * height / squared
    return wp.min(segment_squared(p, a, b), wp.min(segment_squared(p, b, c), segment_squared(p, c, a)))


@wp.func
def moved(around: Around, vertex: int, u: int, v: int, place: wp.vec3d):
    """Where a vertex lies when the edge from u to v has collapsed."""
    if vertex == u or vertex == v:
        return place
    return around.points[vertex]


@wp.func
def moved_corners(around: Around, face: int, u: int, v: int, place: wp.vec3d):
    """The corners of a triangle when the edge from u to v has collapsed."""
    a = moved(around, around.triangles[face, 0], u, v, place)
    b = moved(around, around.triangles[face, 1], u, v, place)
    c = moved(around, around.triangles[face, 2], u, v, place)
    return a, b, c


@wp.func
def vanishes(around: Around, face: int, u: int, v: int):
    """Whether a triangle holds both ends of an edge."""
    ends = int(0)
    for k in range(3):
        if around.triangles[face, k] == u or around.triangles[face, k] == v:
            ends += 1
    return ends == 2


@wp.func
def turns(around: Around, e: int, u: int, v: int, place: wp.vec3d):
    """Whether a triangle that is left turns too far, or becomes a needle."""
    for i in range(around.face_start[e], around.face_start[e + 1]):
        face = around.faces[i]
        if not vanishes(around, face, u, v):
            i0, i1, i2 = around.triangles[face, 0], around.triangles[face, 1], around.triangles[face, 2]
            before = wp.cross(around.points[i1] - around.points[i0], around.points[i2] - around.points[i0])
            a, b, c = moved_corners(around, face, u, v, place)
            cross = wp.cross(b - a, c - a)
            length, area = wp.length(cross), wp.length(before)
            longest = wp.max(wp.length_sq(b - a), wp.max(wp.length_sq(c - b), wp.length_sq(a - c)))
            if area > _NONE and (wp.dot(cross, before) < _TURN_COSINE * length * area or length < _NEEDLE * longest):
                return True
    return False


@wp.func
def loses_witness(around: Around, e: int, u: int, v: int, place: wp.vec3d, limit_squared: wp.float64, found: wp.array(dtype=wp.int32)):
    """Whether a witness would be too far from all triangles that are left; ``found`` (W,) becomes the nearest of them."""
    for j in range(around.watch_start[e], around.watch_start[e + 1]):
        point = around.witness[around.watches[j]]
        best = wp.float64(wp.inf)
        nearest = int(-1)
        for i in range(around.face_start[e], around.face_start[e + 1]):
            face = around.faces[i]
            if not vanishes(around, face, u, v):
                a, b, c = moved_corners(around, face, u, v, place)
                squared = triangle_squared(point, a, b, c)
                if squared < best:
                    best = squared
                    nearest = face
        if best > limit_squared:
            return True
        found[around.watches[j]] = nearest
    return False


@wp.func
def leaves(around: Around, e: int, point: wp.vec3d, limit_squared: wp.float64):
    """Whether a point is too far from all triangles around an edge as they are."""
    for i in range(around.face_start[e], around.face_start[e + 1]):
        face = around.faces[i]
        a = around.points[around.triangles[face, 0]]
        b = around.points[around.triangles[face, 1]]
        c = around.points[around.triangles[face, 2]]
        if triangle_squared(point, a, b, c) <= limit_squared:
            return False
    return True


@wp.func
def reaches_out(around: Around, e: int, u: int, v: int, place: wp.vec3d, limit_squared: wp.float64):
    """Whether the surface would reach to where it was not: middles of faces and edges that are too far from what is there now."""
    for i in range(around.face_start[e], around.face_start[e + 1]):
        face = around.faces[i]
        if not vanishes(around, face, u, v):
            a, b, c = moved_corners(around, face, u, v, place)
            # a loop that the compiler does not unroll: the check is compiled once
            points = int(4)
            for k in range(points):
                point = (a + b + c) * _THIRD
                if k == 1:
                    point = (a + b) * _HALF
                elif k == 2:
                    point = (b + c) * _HALF
                elif k == 3:
                    point = (c + a) * _HALF
                if leaves(around, e, point, limit_squared):
                    return True
    return False


@wp.kernel(enable_backward=False)
def settle(
    around: Around,
    ends: wp.array2d(dtype=wp.int32),
    limit_squared: wp.float64,
    place: wp.array(dtype=wp.vec3d),
    good: wp.array(dtype=wp.bool),
    found: wp.array(dtype=wp.int32),
):
    """Which of the edges may collapse, and to where: the place that is given, else one of the ends.

    Args:
        around: what lies around the edges, none of it around two of them.
        ends: (E, 2), vertices.
        limit_squared: the square of the distance within which everything must stay.
        place: (E,), the best places; afterwards those that were taken.
        good: (E,), the edges to be tried; afterwards those that may collapse.
        found: (W,), afterwards, of the witnesses of edges that may, the nearest triangles that will be left.
    """
    e = wp.tid()
    if not good[e]:
        return
    u, v = ends[e, 0], ends[e, 1]
    attempts = int(3)
    for attempt in range(attempts):
        candidate = place[e]
        if attempt == 1:
            candidate = around.points[u]
        elif attempt == 2:
            candidate = around.points[v]
        if not turns(around, e, u, v, candidate):
            if not loses_witness(around, e, u, v, candidate, limit_squared, found):
                if not reaches_out(around, e, u, v, candidate, limit_squared):
                    place[e] = candidate
                    return
    good[e] = False
