"""Fewer triangles for the same surface."""

import threading

import fast_simplification  # pyright: ignore[reportMissingImports]
import numpy as np
from numpy.typing import NDArray

from rollfilm.scene.corners import face_normals

__all__ = ["simplified", "without_twins"]

#: Where edges collapse no further than to this multiple of the target, vertices are clustered instead.
_FAR_FROM_TARGET = 1.2

#: The simplifier keeps its mesh in global variables.
_SIMPLIFIER = threading.Lock()


def simplified(vertices: NDArray, triangles: NDArray, target: int, aggressiveness: float) -> tuple[NDArray, NDArray, NDArray]:
    """About ``target`` triangles, by collapsing edges in the order of their quadric error.

    Open borders stay where they are. Where edges cannot collapse any more without turning triangles over, as between thin walls,
    vertices that lie in one cell of a grid become one: less accurate, but there is always a grid that is coarse enough.

    Args:
        vertices: (V, 3), welded.
        triangles: (T, 3), without those that have no area.
        target: how many triangles to leave.
        aggressiveness: how fast the threshold of the errors rises (``agg`` of fast-simplification).

    Returns:
        Vertices, triangles, and the new index of each old vertex, -1 where it is not known. There may be no triangles left.
    """
    points, faces, image = _collapsed(vertices, triangles, target, aggressiveness)
    if len(faces) > _FAR_FROM_TARGET * target:
        points, faces, image = _clustered(vertices, triangles, target)
    faces = faces[face_normals(points, faces)[1] > 0]
    return points, without_twins(faces) if len(faces) else faces, image


def without_twins(triangles: NDArray) -> NDArray:
    """Each triangle (T, 3) once: those with the same corners in the same sense are one."""
    first = np.argmin(triangles, axis=1)
    rows = np.arange(len(triangles))
    turned = np.stack([triangles[rows, (first + k) % 3] for k in range(3)], axis=1).astype(np.int64)
    base = int(triangles.max()) + 1
    # three indices do not fit into one word of 64 bits for every mesh, so the first two become one before
    _, pair = np.unique(turned[:, 0] * base + turned[:, 1], return_inverse=True)
    _, kept = np.unique(pair * base + turned[:, 2], return_index=True)
    return triangles[np.sort(kept)]


def _collapsed(vertices: NDArray, triangles: NDArray, target: int, aggressiveness: float) -> tuple[NDArray, NDArray, NDArray]:
    """Points, faces and image of vertices from fast-simplification. Its thresholds are lengths, so it gets a mesh of size 1."""
    low = vertices.min(axis=0)
    size = float(np.ptp(vertices, axis=0).max())
    with _SIMPLIFIER:
        points, faces, collapses = fast_simplification.simplify(  # pyright: ignore[reportAssignmentType]  (three for return_collapses)
            np.ascontiguousarray((vertices - low) / size),
            np.ascontiguousarray(triangles, dtype=np.int32),
            target_reduction=1.0 - target / len(triangles),
            agg=aggressiveness,
            return_collapses=True,
            preserve_border=True,
        )
    root = np.arange(len(vertices))
    root[collapses[:, 1]] = collapses[:, 0]
    while not np.array_equal(root, root[root]):
        root = root[root]
    # the survivors keep their order; those that no triangle holds any more are gone
    kept = root[triangles]
    kept = np.unique(kept[(kept[:, 0] != kept[:, 1]) & (kept[:, 1] != kept[:, 2]) & (kept[:, 2] != kept[:, 0])])
    rank = np.full(len(vertices), -1)
    if len(kept) == len(points):
        rank[kept] = np.arange(len(kept))
    return points * size + low, faces.astype(np.int64), rank[root]


def _clustered(vertices: NDArray, triangles: NDArray, target: int) -> tuple[NDArray, NDArray, NDArray]:
    """The finest grid of cubes that leaves no more than ``target`` triangles, the vertices of each cell moved to their mean (Rossignac and
    Borrel, "Multi-resolution 3D approximations for rendering complex scenes", 1993)."""
    low = vertices.min(axis=0)
    size = float(np.ptp(vertices, axis=0).max())
    coarse, fine = 1, 1024
    while fine - coarse > 1:
        middle = (coarse + fine) // 2
        if len(_cells(vertices, triangles, low, size / middle)[1]) > target:
            fine = middle
        else:
            coarse = middle
    image, faces = _cells(vertices, triangles, low, size / coarse)
    count = np.bincount(image)
    return np.stack([np.bincount(image, vertices[:, k]) / count for k in range(3)], axis=1), faces, image


def _cells(vertices: NDArray, triangles: NDArray, low: NDArray, side: float) -> tuple[NDArray, NDArray]:
    """The cell of each vertex (V,), and the triangles that still have three corners, each once."""
    place = np.floor((vertices - low) / side).astype(np.int64)
    _, image = np.unique((place[:, 0] << 42) | (place[:, 1] << 21) | place[:, 2], return_inverse=True)
    faces = image[triangles]
    faces = faces[(faces[:, 0] != faces[:, 1]) & (faces[:, 1] != faces[:, 2]) & (faces[:, 2] != faces[:, 0])]
    return image, without_twins(faces) if len(faces) else faces
