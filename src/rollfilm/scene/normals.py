"""Normals that are smooth across gentle edges and break at sharp ones."""

import math

import numpy as np
from numpy.typing import NDArray

from rollfilm.scene.corners import face_normals

__all__ = ["CREASE_ANGLE_RAD", "crease_normals"]

#: Faces that meet at a larger angle than this do not share their normals.
CREASE_ANGLE_RAD = math.radians(40.0)


def crease_normals(vertices: NDArray, triangles: NDArray, crease_angle_rad: float = CREASE_ANGLE_RAD) -> NDArray[np.float64]:
    """A normal for each corner of a welded mesh, (T, 3, 3), unit length.

    It is the mean of the normals of those faces around the corner's vertex that turn away from the corner's own face by no more than
    the crease angle, each weighted with its area, so that the large flat faces of a machined part stay flat beside their small rounded
    edges. (Weighted with the angles at the vertex instead, simplified robots look less like the original ones.)

    Args:
        vertices: (V, 3).
        triangles: (T, 3).
        crease_angle_rad: 0 gives every face its own normal, pi makes everything smooth.
    """
    flat, area = face_normals(vertices, triangles)
    weighted = np.repeat(flat * area[:, None], 3, axis=0)
    corner_vertex = triangles.reshape(-1)
    by_vertex = np.argsort(corner_vertex, kind="stable")
    valence = np.bincount(corner_vertex, minlength=len(vertices))
    start = np.cumsum(valence) - valence
    # all pairs of corners that share a vertex
    count = valence[corner_vertex]
    corner = np.repeat(np.arange(len(corner_vertex)), count)
    step = np.arange(len(corner)) - np.repeat(np.cumsum(count) - count, count)
    other = by_vertex[np.repeat(start[corner_vertex], count) + step]
    # a little slack: faces of one plane count as one also at a crease angle of 0
    smooth = np.einsum("ij,ij->i", flat[corner // 3], flat[other // 3]) >= math.cos(crease_angle_rad) - 1e-6
    corner, other = corner[smooth], other[smooth]
    total = np.stack([np.bincount(corner, weighted[other, k], minlength=len(corner_vertex)) for k in range(3)], axis=-1)
    length = np.linalg.norm(total, axis=1, keepdims=True)
    own = np.repeat(flat, 3, axis=0)
    return np.where(length > 1e-12, total / np.maximum(length, 1e-12), own).reshape(-1, 3, 3)
