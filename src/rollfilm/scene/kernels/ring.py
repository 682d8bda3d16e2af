"""How far points are from the triangles of their rings: the inner loop of :meth:`rollfilm.scene.closest.ClosestPoints.bounds`.

One thread a point. Products and sums are rounded one by one (``fuse_fp``), as those of ``closest.framed_squared`` are: with AVX-512,
where NumPy adds in the same order, the numbers are the same.
"""

import warp as wp

from rollfilm.cpu_flags import VECTOR_FLAGS

__all__ = ["ring_distance"]

wp.set_module_options({"cpu_compiler_flags": VECTOR_FLAGS, "fuse_fp": False})

_NONE = wp.constant(wp.float64(0.0))
_ONE = wp.constant(wp.float64(1.0))


@wp.func
def product(a: wp.vec3d, b: wp.vec3d):
    """The dot product, added in the order of NumPy's ``einsum`` with AVX-512."""
    return (a[0] * b[0] + a[2] * b[2]) + a[1] * b[1]


@wp.func
def side_squared(x: wp.float64, y: wp.float64, to_x: wp.float64, to_y: wp.float64):
    """Squared distance in the plane from a point to the segment from the origin to another point."""
    share = wp.clamp((x * to_x + y * to_y) / wp.max(to_x * to_x + to_y * to_y, wp.float64(1e-300)), _NONE, _ONE)
    away_x = x - share * to_x
    away_y = y - share * to_y
    return away_x * away_x + away_y * away_y


@wp.func
def framed_squared(point: wp.vec3d, frame: wp.array2d(dtype=wp.vec3d), side: wp.array(dtype=wp.vec3d), t: int):
    """Squared distance from a point to triangle ``t`` in its own plane (``rollfilm.scene.closest.planar_frames``)."""
    local = point - frame[t, 3]
    x = product(local, frame[t, 0])
    y = product(local, frame[t, 1])
    z = product(local, frame[t, 2])
    b_x, c_x, c_y = side[t][0], side[t][1], side[t][2]
    d_x = c_x - b_x
    plane = _NONE
    if not (c_y > _NONE and y >= _NONE and c_x * y <= c_y * x and d_x * y >= c_y * (x - b_x)):
        plane = wp.min(wp.min(side_squared(x, y, b_x, _NONE), side_squared(x, y, c_x, c_y)), side_squared(x - b_x, y, d_x, c_y))
    return plane + z * z


@wp.kernel(enable_backward=False)
def ring_distance(
    point: wp.array(dtype=wp.vec3d),
    ring: wp.array(dtype=wp.int64),
    start: wp.array(dtype=wp.int64),
    count: wp.array(dtype=wp.int64),
    member: wp.array(dtype=wp.int64),
    frame: wp.array2d(dtype=wp.vec3d),
    side: wp.array(dtype=wp.vec3d),
    distance: wp.array(dtype=wp.float64),
):
    """Distances from points to the nearest triangles of their rings, row after row in ``member``; infinite for empty rings."""
    i = wp.tid()
    r = int(ring[i])
    if r < 0:
        r += start.shape[0]
    first = int(start[r])
    nearest = wp.float64(wp.inf)
    for k in range(first, first + int(count[r])):
        nearest = wp.min(nearest, framed_squared(point[i], frame, side, int(member[k])))
    distance[i] = wp.sqrt(nearest)
