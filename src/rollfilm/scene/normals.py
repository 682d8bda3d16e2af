"""Normals that are smooth across gentle edges and break at sharp ones."""

import math

import numpy as np
from numpy.typing import NDArray

from rollfilm.scene.corners import face_normals

__all__ = ["CREASE_ANGLE_RAD", "CarriedNormals", "crease_normals"]

#: Faces that meet at a larger angle than this do not share their normals.
CREASE_ANGLE_RAD = math.radians(40.0)

#: Steps from 0 to 1 of the coordinates of faces' normals that count as one at a vertex.
_STEPS = 4


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
    total = _summed(weighted[other], corner, len(corner_vertex))
    length = np.linalg.norm(total, axis=1, keepdims=True)
    own = np.repeat(flat, 3, axis=0)
    return np.where(length > 1e-12, total / np.maximum(length, 1e-12), own).reshape(-1, 3, 3)


class CarriedNormals:
    """The normals of a welded mesh, for the corners of simplified ones."""

    def __init__(self, vertices: NDArray, triangles: NDArray, normals: NDArray) -> None:
        """Vertices (V, 3), triangles (T, 3) and a normal for each of their corners, (T, 3, 3)."""
        flat, area = face_normals(vertices, triangles)
        self._vertex = triangles.reshape(-1)
        self._facing = np.repeat(flat * area[:, None], 3, axis=0)
        self._normal = (normals * area[:, None, None]).reshape(-1, 3)
        steps = np.rint(flat * _STEPS).astype(np.int64) + _STEPS
        self._span = 2 * _STEPS + 1
        self._cell = np.repeat((steps[:, 0] * self._span + steps[:, 1]) * self._span + steps[:, 2], 3)

    def at_corners(self, image: NDArray, vertices: NDArray, triangles: NDArray, crease_angle_rad: float) -> NDArray[np.float64]:
        """A normal for each corner of a simplified mesh, (C, 3, 3), unit length.

        It is the mean of the normals at all those corners of the original whose vertices became the corner's and whose triangles turn away
        from the corner's own by no more than the crease angle, each weighted with the area of its triangle: what is round stays
        round, what is flat stays flat, and creases stay. Where there is none it is that of :func:`crease_normals`.

        Args:
            image: (V,), the vertex of the simplified mesh that each of the original became, -1 where it was left out.
            vertices: (N, 3) of the simplified mesh.
            triangles: (C, 3).
            crease_angle_rad: the crease angle.
        """
        became = image[self._vertex]
        known = became >= 0
        # triangles that face about the same way are summed first, so that it matters little how fine the original is
        cells = self._span**3
        key, group = np.unique(became[known] * cells + self._cell[known], return_inverse=True)
        facing, normal = (_summed(values[known], group, len(key)) for values in (self._facing, self._normal))
        corner_vertex = triangles.reshape(-1)
        start, stop = (np.searchsorted(key // cells, corner_vertex, side=side) for side in ("left", "right"))
        count = stop - start
        corner = np.repeat(np.arange(len(corner_vertex)), count)
        member = np.arange(len(corner)) - np.repeat(np.cumsum(count) - count, count) + start[corner]
        flat, _ = face_normals(vertices, triangles)
        alike = np.einsum("ij,ij->i", flat[corner // 3], facing[member])
        smooth = alike >= (math.cos(crease_angle_rad) - 1e-6) * np.linalg.norm(facing[member], axis=1)
        total = _summed(normal[member[smooth]], corner[smooth], len(corner_vertex))
        length = np.linalg.norm(total, axis=1, keepdims=True)
        otherwise = crease_normals(vertices, triangles, crease_angle_rad).reshape(-1, 3)
        return np.where(length > 1e-30, total / np.maximum(length, 1e-30), otherwise).reshape(-1, 3, 3)


def _summed(values: NDArray, group: NDArray, groups: int) -> NDArray[np.float64]:
    """The sums (groups, 3) of vectors (N, 3) by the group (N,) of each."""
    return np.stack([np.bincount(group, values[:, k], minlength=groups).astype(np.float64) for k in range(3)], axis=-1)
