"""Boxes, spheres, ellipsoids, cylinders, capsules and height fields as triangle meshes."""

from functools import cache

import numpy as np
from numpy.typing import NDArray

from rollfilm.scene.corners import compact_order, face_normals, index_corners, position_ids
from rollfilm.scene.mesh import Mesh, MeshLevel

__all__ = ["box", "capsule", "cylinder", "ellipsoid", "height_field_surface", "mesh_from_levels", "sphere"]

#: Subdivisions of the icosahedron's edges: 20480, 5120, 1280, 320, 80 and 20 triangles.
SPHERE_FREQUENCIES = (32, 16, 8, 4, 2, 1)

#: Sides of the polygons that stand for the circles of cylinders and capsules.
CIRCLE_SEGMENTS = (160, 80, 40, 20, 12, 8, 6)


def box(half_size: tuple[float, float, float], name: str = "box") -> Mesh:
    """A box of half sizes (3,), metres: twelve triangles, the only level there is."""
    corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) * np.asarray(half_size)
    quads = np.array([[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]])
    triangles = np.concatenate([quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]])
    normals = np.repeat(face_normals(corners, triangles)[0][:, None], 3, axis=1)
    vertices, vertex_normals, triangles, _ = index_corners(corners, triangles, normals)
    return mesh_from_levels(name, [MeshLevel(vertices, vertex_normals, triangles, 0.0)])


def sphere(radius: float, name: str = "sphere") -> Mesh:
    """A sphere of a radius in metres, about its origin."""
    return ellipsoid((radius, radius, radius), name)


def ellipsoid(radii: tuple[float, float, float], name: str = "ellipsoid") -> Mesh:
    """An ellipsoid of radii (3,), metres. The errors are those of the unit sphere times the largest radius: a bound, exact for spheres."""
    scale = np.asarray(radii, dtype=np.float64)
    levels = []
    for frequency in SPHERE_FREQUENCIES:
        points, triangles, error = _unit_sphere(frequency)
        normals = points / scale
        normals /= np.linalg.norm(normals, axis=1, keepdims=True)
        levels.append(MeshLevel((points * scale).astype(np.float32), normals.astype(np.float32), triangles, error * float(scale.max())))
    return mesh_from_levels(name, levels)


def cylinder(radius: float, half_length: float, name: str = "cylinder") -> Mesh:
    """A closed cylinder about z, metres; its error is the sagitta of the polygon's sides."""
    levels = []
    for segments in CIRCLE_SEGMENTS:
        points, normals, triangles = _unit_cylinder(segments)
        vertices = points * np.array([radius, radius, half_length])
        error = radius * (1.0 - float(np.cos(np.pi / segments)))
        levels.append(MeshLevel(vertices.astype(np.float32), normals.astype(np.float32), triangles, error))
    return mesh_from_levels(name, levels)


def capsule(radius: float, half_length: float, name: str = "capsule") -> Mesh:
    """A cylinder about z of ``half_length``, metres, without the half spheres of ``radius`` at its ends."""
    levels = []
    for segments in CIRCLE_SEGMENTS:
        points, triangles, error = _unit_capsule(segments)
        vertices = points * radius
        vertices[:, 2] += np.where(np.arange(len(points)) < len(points) // 2, half_length, -half_length)
        levels.append(MeshLevel(vertices.astype(np.float32), points.astype(np.float32), triangles, error * radius))
    return mesh_from_levels(name, levels)


def height_field_surface(heights: NDArray, half_size: tuple[float, float], base: float) -> tuple[NDArray, NDArray]:
    """The closed surface of a height field: its top, its four sides and its bottom, as MuJoCo draws them.

    Args:
        heights: (rows, columns) metres above z = 0, rows along y, columns along x.
        half_size: half of its size along x and y, metres.
        base: thickness below z = 0, metres.

    Returns:
        Vertices (V, 3) and triangles (T, 3). The bottom is a fan around its middle, so that it shares the vertices of the sides.
    """
    rows, columns = heights.shape
    x = np.linspace(-half_size[0], half_size[0], columns)
    y = np.linspace(-half_size[1], half_size[1], rows)
    top = np.stack([*np.meshgrid(x, y), heights], axis=-1).reshape(-1, 3)
    ids = np.arange(rows * columns).reshape(rows, columns)
    near_left, near_right, far_left, far_right = ids[:-1, :-1], ids[:-1, 1:], ids[1:, :-1], ids[1:, 1:]
    parts = [np.stack([far_left, near_left, far_right], axis=-1), np.stack([near_left, near_right, far_right], axis=-1)]
    rim = np.concatenate([ids[0, :-1], ids[:-1, -1], ids[-1, :0:-1], ids[:0:-1, 0]])
    foot = top[rim] * np.array([1, 1, 0]) - np.array([0, 0, base])
    lower = rows * columns + np.arange(len(rim))
    next_rim, next_lower = np.roll(rim, -1), np.roll(lower, -1)
    middle = np.full_like(rim, rows * columns + len(rim))
    parts += [np.stack(t, axis=-1) for t in ((lower, next_lower, rim), (next_lower, next_rim, rim), (next_lower, lower, middle))]
    vertices = np.concatenate([top, foot, [[0.0, 0.0, -base]]])
    return vertices, np.concatenate([part.reshape(-1, 3) for part in parts])


def mesh_from_levels(name: str, levels: list[MeshLevel]) -> Mesh:
    """A mesh of these levels, the finest first, with a sphere around all of them."""
    points = np.concatenate([level.vertices for level in levels])
    center = (0.5 * (points.min(axis=0) + points.max(axis=0))).astype(np.float32)
    radius = float(np.linalg.norm(points - center, axis=1).max())
    # one unit in the last place of float32 covers the rounding of the centre
    return Mesh(name=name, levels=tuple(levels), center=center, radius=radius * (1.0 + 1e-6))


@cache
def _unit_sphere(frequency: int) -> tuple[NDArray, NDArray[np.int32], float]:
    """Points (V, 3) of an icosahedron with divided edges, on the unit sphere; triangles; and how deep they lie below the sphere."""
    golden = (1.0 + 5.0**0.5) / 2.0
    signs = [(s, t * golden) for s in (-1.0, 1.0) for t in (-1.0, 1.0)]
    corners = np.array([np.roll([0.0, s, t], k) for k in range(3) for s, t in signs])
    pairs = np.linalg.norm(corners[:, None] - corners[None], axis=-1) < 2.1
    faces = [(i, j, k) for i in range(12) for j in range(i) for k in range(j) if pairs[i, j] and pairs[j, k] and pairs[i, k]]
    steps = [(i, j) for i in range(frequency + 1) for j in range(frequency + 1 - i)]
    place = {step: n for n, step in enumerate(steps)}
    weights = np.array([(frequency - i - j, i, j) for i, j in steps]) / frequency
    cells = [(place[i, j], place[i + 1, j], place[i, j + 1]) for i, j in steps if i + j < frequency]
    cells += [(place[i + 1, j], place[i + 1, j + 1], place[i, j + 1]) for i, j in steps if i + j < frequency - 1]
    points = np.concatenate([weights @ corners[list(face)] for face in faces])
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    triangles = np.concatenate([np.array(cells) + n * len(steps) for n in range(len(faces))])
    ids, first = position_ids(points)
    points, triangles = points[first], ids[triangles]
    return points, _outward_and_compact(points, triangles), _depth_below_unit_sphere(points, triangles)


@cache
def _unit_cylinder(segments: int) -> tuple[NDArray, NDArray, NDArray[np.int32]]:
    """Points, normals and triangles of a closed cylinder of radius 1 from z = -1 to 1."""
    angle = 2.0 * np.pi * np.arange(segments) / segments
    ring = np.stack([np.cos(angle), np.sin(angle), np.zeros(segments)], axis=1)
    up = np.array([0.0, 0.0, 1.0])
    points = np.concatenate([ring + up, ring - up, ring + up, ring - up, [up, -up]])
    normals = np.concatenate([ring, ring, np.tile(up, (segments, 1)), np.tile(-up, (segments, 1)), [up, -up]])
    here = np.arange(segments)
    there = np.roll(here, -1)
    n = segments
    sides = [(here + n, there + n, there), (here + n, there, here)]
    caps = [(here + 2 * n, there + 2 * n, 0 * here + 4 * n), (there + 3 * n, here + 3 * n, 0 * here + 4 * n + 1)]
    triangles = np.concatenate([np.stack(t, axis=1) for t in sides + caps])
    return points, normals, triangles[compact_order(points, triangles)].astype(np.int32)


@cache
def _unit_capsule(segments: int) -> tuple[NDArray, NDArray[np.int32], float]:
    """Points of two unit half spheres (the upper one's first, then as many of the lower one's), the triangles that join them to a
    capsule, and how deep they lie below it."""
    rings = max(segments // 4, 1)
    latitude = 0.5 * np.pi * np.arange(rings) / rings
    angle = 2.0 * np.pi * np.arange(segments) / segments
    ring = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    upper = [np.column_stack([np.cos(a) * ring, np.full(segments, np.sin(a))]) for a in latitude]
    top = np.concatenate([*upper, [[0.0, 0.0, 1.0]]])
    points = np.concatenate([top, top * np.array([1.0, 1.0, -1.0])])
    here = np.arange(segments)
    there = np.roll(here, -1)
    cap = [(here + (rings - 1) * segments, there + (rings - 1) * segments, 0 * here + rings * segments)]
    for k in range(rings - 1):
        low, high = k * segments, (k + 1) * segments
        cap += [(here + low, there + low, there + high), (here + low, there + high, here + high)]
    upper_triangles = np.concatenate([np.stack(t, axis=1) for t in cap])
    low = len(top)
    belt = np.concatenate([np.stack(t, axis=1) for t in ((here + low, there + low, there), (here + low, there, here))])
    triangles = np.concatenate([upper_triangles, upper_triangles[:, ::-1] + low, belt])
    error = max(_depth_below_unit_sphere(points, upper_triangles), 1.0 - float(np.cos(np.pi / segments)))
    spread = points + np.where(np.arange(len(points)) < low, 1.0, -1.0)[:, None] * np.array([0.0, 0.0, 1.0])
    return points, triangles[compact_order(spread, triangles)].astype(np.int32), error


def _outward_and_compact(points: NDArray, triangles: NDArray) -> NDArray[np.int32]:
    normals, _ = face_normals(points, triangles)
    inward = np.sum(normals * points[triangles[:, 0]], axis=1) < 0
    triangles = np.where(inward[:, None], triangles[:, ::-1], triangles)
    return triangles[compact_order(points, triangles)].astype(np.int32)


def _depth_below_unit_sphere(points: NDArray, triangles: NDArray) -> float:
    """The largest distance from triangles with corners on the unit sphere to the sphere: that of the planes through the corners."""
    normals, _ = face_normals(points, triangles)
    return 1.0 - float(np.min(np.abs(np.sum(normals * points[triangles[:, 0]], axis=1))))
