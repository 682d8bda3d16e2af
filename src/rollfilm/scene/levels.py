"""Levels of detail of a mesh, each with the distance measured between it and the original."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rollfilm.scene.closest import ClosestPoints, Rings
from rollfilm.scene.collapse import Collapser
from rollfilm.scene.corners import compact_order, face_normals, index_corners, position_ids, without_twins
from rollfilm.scene.mesh import MeshLevel
from rollfilm.scene.normals import CarriedNormals

__all__ = ["LevelConfig", "Surface", "build_levels"]


@dataclass(frozen=True, eq=False)
class Surface:
    """Triangles whose corners carry what is drawn.

    Attributes:
        positions: (V, 3), metres.
        triangles: (T, 3), indices into ``positions``.
        normals: (T, 3, 3), one for each corner.
        uvs: (T, 3, 2), one for each corner, or None.
    """

    positions: NDArray
    triangles: NDArray
    normals: NDArray
    uvs: NDArray | None = None


@dataclass(frozen=True)
class LevelConfig:
    """How levels are made.

    Attributes:
        free_error: what the first simplified level may depart from the surface, as a share of the mesh's largest side: next to nothing, so
            that flat faces lose their inner corners and nothing else does.
        finest_error: what the second one may depart.
        error_growth: by how much each level may depart more than the one before it.
        largest_error: what the last one may depart, as a share of the mesh's largest side.
        fewest_triangles: a level that has no more is the last.
        least_gain: a level is kept only if it has at most this share of the triangles of the level before it.
        crease_angle_rad: by how much a triangle of the surface may turn away from one of a simplified level to lend it its normals.
        margin: what is added, as a share, to the largest distance found between the samples of two surfaces, for the places between.
    """

    free_error: float = 1e-6
    finest_error: float = 1e-3
    error_growth: float = 1.8
    largest_error: float = 0.2
    fewest_triangles: int = 12
    least_gain: float = 0.75
    crease_angle_rad: float = math.radians(20.0)
    margin: float = 0.15


def build_levels(surface: Surface, config: LevelConfig | None = None) -> tuple[MeshLevel, ...]:
    """The surface itself and ever coarser ones, errors growing strictly; nothing if the surface has no area.

    Vertices at one place are welded before the first reduction. The finest level keeps its corners' normals, coarser ones get the means
    of those around (:class:`~rollfilm.scene.normals.CarriedNormals`). Texture coordinates of coarser levels are those of the nearest place
    of the original, looked up a little inside each corner, so that they are right on both sides of a seam; a triangle that spans a seam is
    smeared.
    """
    config = config or LevelConfig()
    ids, first = position_ids(surface.positions)
    positions = surface.positions[first].astype(np.float64)
    triangles = ids[surface.triangles]
    solid = face_normals(positions, triangles)[1] > 0
    if not solid.any():
        return ()
    welded = Surface(positions, triangles[solid], surface.normals[solid], None if surface.uvs is None else surface.uvs[solid])
    levels = [_indexed(welded, 0.0)]
    carried = CarriedNormals(positions, welded.triangles, welded.normals)
    measure = _Measure(positions, welded.triangles, config.margin)
    size = float(np.ptp(positions, axis=0).max())
    coarse = Collapser(positions, welded.triangles)
    limit = config.free_error * size
    while limit <= config.largest_error * size and len(coarse.triangles) > config.fewest_triangles:
        coarse.reduce(limit)
        vertices, triangles = coarse.vertices, without_twins(coarse.triangles)
        if len(triangles) <= config.least_gain * len(levels[-1].triangles):
            error = measure.error(vertices, triangles, coarse.image, coarse.departure_m())
            uvs = None if welded.uvs is None else _carried_uvs(welded, measure.original, vertices, triangles)
            normals = carried.at_corners(coarse.image, vertices, triangles, config.crease_angle_rad)
            _append(levels, _indexed(Surface(vertices, triangles, normals, uvs), error))
        limit = max(config.error_growth * limit, config.finest_error * size)
    return tuple(levels)


class _Measure:
    """How far simplified surfaces lie from the original one, at corners and in the middles of their faces and edges."""

    def __init__(self, vertices: NDArray, triangles: NDArray, margin: float) -> None:
        self.original = ClosestPoints(vertices, triangles)
        self._triangles = triangles
        self._margin = margin

    def error(self, vertices: NDArray, triangles: NDArray, image: NDArray, departure_m: float) -> float:
        """The largest distance, with the margin: from the simplified surface, and ``departure_m``, that to it. ``image`` (V,) is the
        simplified vertex that each original one became, or -1.

        A point is first measured against those triangles whose corners became its vertex: a bound that is mostly the distance itself.
        """
        became = image[self._triangles.reshape(-1)]
        known = became >= 0
        before = Rings(became[known], np.repeat(np.arange(len(self._triangles)), 3)[known], len(vertices))
        points, ring = _samples(vertices, triangles)
        largest = self.original.farthest(points, self.original.bounds(points, before, ring), self._margin)
        # a level is stored in float32, so no error is 0
        rounding = float(np.finfo(np.float32).eps * np.abs(vertices).max())
        return (1.0 + self._margin) * max(departure_m, largest) + rounding


def _append(levels: list[MeshLevel], level: MeshLevel) -> None:
    """Add a coarser level in the place of those, but for the finest, that are hardly more accurate."""
    while len(levels) > 1 and levels[-1].error_m >= 0.98 * level.error_m:
        levels.pop()
    levels.append(level)


def _indexed(surface: Surface, error_m: float) -> MeshLevel:
    order = compact_order(surface.positions, surface.triangles)
    uvs = None if surface.uvs is None else surface.uvs[order]
    vertices, normals, triangles, vertex_uvs = index_corners(surface.positions, surface.triangles[order], surface.normals[order], uvs)
    return MeshLevel(vertices, normals, triangles, error_m, vertex_uvs)


def _samples(vertices: NDArray, triangles: NDArray) -> tuple[NDArray[np.float64], NDArray]:
    """Points of a surface (the corners, the middles of the edges and of the faces), and a vertex near each of them."""
    used = np.unique(triangles)
    corners = vertices[triangles]
    ahead = np.roll(triangles, -1, axis=1)
    forward = triangles < ahead
    middles = 0.5 * (corners + np.roll(corners, -1, axis=1))[forward]
    return np.concatenate([vertices[used], middles, corners.mean(axis=1)]), np.concatenate([used, triangles[forward], triangles[:, 0]])


def _carried_uvs(original: Surface, closest: ClosestPoints, vertices: NDArray, triangles: NDArray) -> NDArray:
    """Texture coordinates (T, 3, 2) of corners, from the triangles of the original that are nearest to a point a little inside."""
    corners = vertices[triangles]
    inside = corners + 0.02 * (corners.mean(axis=1, keepdims=True) - corners)
    _, nearest = closest.nearest(inside.reshape(-1, 3))
    source = original.positions[original.triangles[nearest]]
    weights = _barycentric(corners.reshape(-1, 3), source)
    assert original.uvs is not None
    return np.einsum("nk,nkd->nd", weights, original.uvs[nearest]).reshape(-1, 3, 2)


def _barycentric(points: NDArray, corners: NDArray) -> NDArray:
    """Weights (N, 3) of the corners (N, 3, 3) for the feet of points (N, 3) on the planes of triangles, kept within a triangle of twice
    the size, so that slivers cannot throw them far."""
    a, ab, ac = corners[:, 0], corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    p = points - a
    aa, bb, cc = np.sum(ab * ab, axis=1), np.sum(ab * ac, axis=1), np.sum(ac * ac, axis=1)
    pb, pc = np.sum(p * ab, axis=1), np.sum(p * ac, axis=1)
    scale = np.maximum(aa * cc - bb * bb, 1e-30)
    weights = np.stack([np.zeros(len(p)), (cc * pb - bb * pc) / scale, (aa * pc - bb * pb) / scale], axis=1)
    weights[:, 0] = 1.0 - weights[:, 1] - weights[:, 2]
    weights = np.clip(weights, -0.5, 1.5)
    return weights / weights.sum(axis=1, keepdims=True)
