"""Surfaces that follow more than one body: skins, soft bodies, tendons."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rollfilm.scene.hanging import hung

__all__ = ["DeformingMesh", "deformed", "tubes"]

#: Sides of the polygon that stands for the circle of a tube, and rings of each of its rounded ends.
_TUBE_SIDES = 12
_TUBE_RINGS = 2


@dataclass(frozen=True, eq=False)
class DeformingMesh:
    """How the vertices of a mesh follow bodies: control points follow bodies, and vertices follow control points.

    A control point is at the sum over its bones of ``weight * p + R @ offset``, with a body at ``p`` turned by ``R``. What no body says
    (the path of a tendon around a geom) is a path point, which the source of the poses gives. Vertices are in the world's frame.

    P control points, N bones, F faces, V vertices and T triangles of the mesh.

    Attributes:
        mesh: index into ``Scene.meshes``: one level, with the triangles, texture coordinates and, in the model's initial pose, vertices.
        bone_first: int32 (P + 1,), where the bones of each control point begin.
        bone_body: int32 (N,), a body; numbers from that of the bodies on are path points.
        bone: float32 (N, 4), the offset in the body's frame, metres, times the weight; and the weight.
        faces: int32 (F, 3), triangles of control points: the normal of a point is the sum of theirs, of unit length.
        by_area: whether a face counts there by its area, or as much as every other.
        anchor: int32 (V, 3), the control point that a vertex is at, and, if it is on a tube, the two points of its axis, else -1.
        shape: float32 (V, 4). On a surface ``(side, height, 0, 0)``: the vertex lies ``height`` metres along the normal of its point, and
            its own normal is ``side`` times that. On a tube its normal, z along the axis, and the radius.
        flat: bool (T,), triangles that have their own normal at all their corners, which are theirs alone.
        hangs: of a string, where gravity pulls (3), of length 1, and its length, metres: its control points, which bones put in a straight
            line from end to end, hang between the first and the last of them while they are nearer. None for others.
    """

    mesh: int
    bone_first: NDArray[np.int32]
    bone_body: NDArray[np.int32]
    bone: NDArray[np.float32]
    faces: NDArray[np.int32]
    by_area: bool
    anchor: NDArray[np.int32]
    shape: NDArray[np.float32]
    flat: NDArray[np.bool_]
    hangs: tuple[float, float, float, float] | None = None


def tubes(segments: NDArray, radius: float) -> tuple[NDArray[np.int32], NDArray[np.float32], NDArray[np.int32]]:
    """Capsules around segments.

    Args:
        segments: int (S, 2), control points at the ends.
        radius: metres.

    Returns:
        ``anchor`` and ``shape`` of the vertices as in :class:`DeformingMesh`, and triangles (T, 3).
    """
    latitude = 0.5 * np.pi * np.arange(_TUBE_RINGS) / _TUBE_RINGS
    angle = 2.0 * np.pi * np.arange(_TUBE_SIDES) / _TUBE_SIDES
    ring = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    rings = [np.column_stack([np.cos(a) * ring, np.full(_TUBE_SIDES, np.sin(a))]) for a in latitude]
    top = np.concatenate([*rings, [[0.0, 0.0, 1.0]]])
    normals = np.concatenate([top * np.array([1.0, 1.0, -1.0]), top])
    here = np.arange(_TUBE_SIDES)
    there = np.roll(here, -1)
    cap = []
    for k in range(_TUBE_RINGS - 1):
        low, high = k * _TUBE_SIDES, (k + 1) * _TUBE_SIDES
        cap += [(here + low, there + low, there + high), (here + low, there + high, here + high)]
    last = (_TUBE_RINGS - 1) * _TUBE_SIDES
    cap.append((here + last, there + last, np.full_like(here, len(top) - 1)))
    upper = np.concatenate([np.stack(t, axis=1) for t in cap])
    belt = np.concatenate([np.stack(t, axis=1) for t in ((here, there, there + len(top)), (here, there + len(top), here + len(top)))])
    triangles = np.concatenate([upper[:, ::-1], upper + len(top), belt])
    count = len(normals)
    end = (np.arange(count) >= len(top)).astype(int)
    anchor = np.concatenate([segments[:, end, None], np.repeat(segments[:, None], count, axis=1)], axis=2)
    shape = np.tile(np.column_stack([normals, np.full(count, radius)]), (len(segments), 1))
    shifted = triangles[None] + count * np.arange(len(segments))[:, None, None]
    return anchor.reshape(-1, 3).astype(np.int32), shape.astype(np.float32), shifted.reshape(-1, 3).astype(np.int32)


def deformed(
    mesh: DeformingMesh, triangles: NDArray, position: NDArray, rotation: NDArray, path: NDArray | None = None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Where the vertices of one world are: the reference for every renderer.

    Args:
        mesh: how they follow.
        triangles: int (T, 3), those of its mesh.
        position: of the bodies, (bodies, 3), metres.
        rotation: of the bodies, (bodies, 3, 3), world from body.
        path: path points (Q, 4): a place, and how much of its width a tube has from there on. None where there are none.

    Returns:
        Vertices (V, 3) and their unit normals (V, 3), world frame.
    """
    owner = np.repeat(np.arange(len(mesh.bone_first) - 1), np.diff(mesh.bone_first))
    given = mesh.bone_body >= len(position)
    body = np.where(given, 0, mesh.bone_body)
    bone = mesh.bone.astype(np.float64)
    terms = bone[:, 3:] * position[body] + np.einsum("nij,nj->ni", rotation[body], bone[:, :3])
    width = np.ones(len(mesh.bone_first) - 1)
    if path is not None and given.any():
        at = mesh.bone_body[given] - len(position)
        terms[given] = path[at, :3]
        width[owner[given]] = path[at, 3]
    points = np.zeros((len(width), 3))
    np.add.at(points, owner, terms)
    if mesh.hangs is not None:
        points = hung(points[[0, -1]], mesh.hangs[:3], mesh.hangs[3], len(points))
    across = np.cross(points[mesh.faces[:, 1]] - points[mesh.faces[:, 0]], points[mesh.faces[:, 2]] - points[mesh.faces[:, 0]])
    if not mesh.by_area:
        across = _unit(across)
    turned = np.zeros_like(points)
    np.add.at(turned, mesh.faces.reshape(-1), np.repeat(across, 3, axis=0))
    turned = _unit(turned)[mesh.anchor[:, 0]]
    shape = mesh.shape.astype(np.float64)
    on_tube = mesh.anchor[:, 1] >= 0
    # what has no width is a point
    vertices = points[np.where(on_tube & (width[mesh.anchor[:, 1]] == 0), mesh.anchor[:, 1], mesh.anchor[:, 0])]
    axis = points[mesh.anchor[:, 2]] - points[mesh.anchor[:, 1]]
    axis[np.linalg.norm(axis, axis=1) == 0] = 0.0, 0.0, 1.0
    axis = _unit(axis)
    right = _unit(np.cross(np.eye(3)[np.argmin(np.abs(axis), axis=1)], axis))
    around = shape[:, :1] * right + shape[:, 1:2] * np.cross(axis, right) + shape[:, 2:3] * axis
    lift = np.where(on_tube[:, None], shape[:, 3:] * width[mesh.anchor[:, 1], None] * around, shape[:, 1:2] * turned)
    vertices = vertices + lift
    normals = np.where(on_tube[:, None], around, shape[:, :1] * turned)
    flat = triangles[mesh.flat]
    faces = _unit(np.cross(vertices[flat[:, 1]] - vertices[flat[:, 0]], vertices[flat[:, 2]] - vertices[flat[:, 0]]))
    normals[flat.reshape(-1)] = np.repeat(faces, 3, axis=0)
    return vertices, normals


def _unit(vectors: NDArray) -> NDArray:
    """Vectors of length 1, or of length 0."""
    return vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-30)
