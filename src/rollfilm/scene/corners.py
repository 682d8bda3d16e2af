"""Triangles whose corners carry their own normals and texture coordinates, and how they become an indexed mesh."""

import numpy as np
from numpy.typing import NDArray

__all__ = ["compact_order", "face_normals", "index_corners", "position_ids", "sorted_unique", "without_twins"]

#: Triangles in a run that should lie close together: what a renderer culls as one.
RUN_LENGTH = 64


def face_normals(vertices: NDArray, triangles: NDArray) -> tuple[NDArray, NDArray]:
    """Unit normals (T, 3) and areas (T,) of triangles; a triangle without area has the normal zero."""
    a, b, c = (vertices[triangles[:, k]].astype(np.float64) for k in range(3))
    cross = np.cross(b - a, c - a)
    length = np.linalg.norm(cross, axis=1)
    return np.divide(cross, length[:, None], out=np.zeros_like(cross), where=length[:, None] > 0), 0.5 * length


def position_ids(vertices: NDArray) -> tuple[NDArray, NDArray]:
    """Which of the points (V, 3) are one: an id for each point, (V,), and the index of one point for each id.

    Points are one if they fall on the same place of a grid of 2^21 steps along each side of their box: half a micrometre for a metre.
    """
    low = vertices.min(axis=0)
    span = np.maximum(vertices.max(axis=0) - low, 1e-30)
    grid = np.rint((vertices.astype(np.float64) - low) * ((2**21 - 1) / span)).astype(np.int64)
    key = (grid[:, 0] << 42) | (grid[:, 1] << 21) | grid[:, 2]
    _, first, ids = np.unique(key, return_index=True, return_inverse=True)
    return ids, first


def index_corners(
    positions: NDArray, triangles: NDArray, normals: NDArray, uvs: NDArray | None = None
) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.int32], NDArray[np.float32] | None]:
    """Make one vertex of all corners that agree in everything.

    Args:
        positions: (V, 3).
        triangles: (T, 3), indices into ``positions``.
        normals: (T, 3, 3), one for each corner; they agree if they differ by less than about 1e-4.
        uvs: (T, 3, 2), one for each corner, or None; they agree if they are equal.

    Returns:
        Vertices (N, 3), normals (N, 3), triangles (T, 3) and uvs (N, 2) or None.
    """
    corner = triangles.reshape(-1).astype(np.int64)
    flat_normals = normals.reshape(-1, 3)
    steps = np.rint(flat_normals.astype(np.float64) * 2**13).astype(np.int64) + 2**14
    _, normal_id = np.unique((steps[:, 0] << 32) | (steps[:, 1] << 16) | steps[:, 2], return_inverse=True)
    key = corner * (int(normal_id.max(initial=0)) + 1) + normal_id
    if uvs is not None:
        bits = np.ascontiguousarray(uvs.reshape(-1, 2), dtype=np.float32).view(np.int64)[:, 0]
        _, uv_id = np.unique(bits, return_inverse=True)
        _, key = np.unique(key, return_inverse=True)
        key = key * (int(uv_id.max(initial=0)) + 1) + uv_id
    _, first, index = np.unique(key, return_index=True, return_inverse=True)
    # vertices in the order of their first use, so that neighbours in space are neighbours in memory
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    first = first[order]
    return (
        positions[corner[first]].astype(np.float32),
        flat_normals[first].astype(np.float32),
        rank[index].reshape(-1, 3).astype(np.int32),
        None if uvs is None else uvs.reshape(-1, 2)[first].astype(np.float32),
    )


def compact_order(vertices: NDArray, triangles: NDArray, run: int = RUN_LENGTH) -> NDArray[np.int64]:
    """An order (T,) of the triangles in which each run of ``run`` is compact.

    The centroids are parted along their longest side, again and again, until a run is left. The first part always has a power of two
    of runs, at least half of all: pairs of runs, pairs of pairs and so on make the complete binary tree of the partition.
    """
    centroids = vertices[triangles].mean(axis=1)
    order = np.arange(len(triangles))
    pending = [(0, len(triangles))]
    while pending:
        start, stop = pending.pop()
        runs = -(-(stop - start) // run)
        if runs <= 1:
            continue
        part = order[start:stop]
        points = centroids[part]
        axis = int(np.argmax(np.ptp(points, axis=0)))
        cut = run << (runs - 1).bit_length() - 1
        order[start:stop] = part[np.argpartition(points[:, axis], cut)]
        pending += [(start, start + cut), (start + cut, stop)]
    return order


def sorted_unique(keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """What ``np.unique`` gives of keys (N,), which looks them up in a table of hashes: to sort them takes half the time."""
    ordered = np.sort(keys)
    first = np.ones(len(ordered), bool)
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    return ordered[first]


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
