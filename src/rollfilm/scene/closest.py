"""The nearest points of a triangle mesh, in NumPy: a tree of boxes that all query points walk together."""

import numpy as np
from numpy.typing import NDArray

from rollfilm.scene.corners import compact_order, sorted_unique
from rollfilm.scene.loading import load_kernels

__all__ = ["ClosestPoints", "Rings", "framed_squared", "planar_frames"]

_LEAF = 4

#: Query points that walk together: what keeps the temporary arrays in the cache of a core.
_CHUNK = 4096


class Rings:
    """The triangles around each of some vertices."""

    def __init__(self, vertex: NDArray, triangle: NDArray, vertices: int) -> None:
        """Pairs of a vertex (N,), below ``vertices``, and a triangle (N,) at it; a pair may be there more than once."""
        span = int(triangle.max(initial=0)) + 1
        keys = sorted_unique(vertex.astype(np.int64) * span + triangle)
        self.members = keys % span
        # one more, always empty, so that -1 can stand for a vertex that is not known
        self.count = np.append(np.bincount(keys // span, minlength=vertices), 0)
        self.start = np.cumsum(self.count) - self.count


class ClosestPoints:
    """Nearest points of a mesh with vertices (V, 3) and triangles (T, 3), T >= 1."""

    def __init__(self, vertices: NDArray, triangles: NDArray) -> None:
        self._order = compact_order(vertices, triangles, _LEAF)
        leaves = -(-len(triangles) // _LEAF)
        self._depth = max(leaves - 1, 0).bit_length()
        # the tree is complete: leaves beyond the last repeat it
        slots = np.minimum(np.arange(_LEAF << self._depth), len(triangles) - 1)
        self._slots = self._order[slots].reshape(-1, _LEAF)
        self._corners = vertices.astype(np.float64)[triangles]
        self._frames, self._sides = planar_frames(self._corners)
        self._boxes = self._box_tree()
        self._centers = [0.5 * (low + high) for low, high in self._boxes]

    def nearest(self, points: NDArray, bounds: NDArray | None = None) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Distances (N,) from points (N, 3) to the mesh, and the nearest triangle of each (N,).

        ``bounds`` (N,), if known, are distances that are not exceeded; where they cannot be undercut the triangle is -1.
        """
        parts = []
        for start in range(0, len(points), _CHUNK):
            part = points[start : start + _CHUNK]
            best, triangle = self._descend(part)
            if bounds is not None:
                known = bounds[start : start + _CHUNK]
                best, triangle = np.minimum(best, known), np.where(best <= known, triangle, -1)
            parts.append(self._search(part, best, triangle))
        return np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts])

    def bounds(self, points: NDArray, rings: "Rings", ring: NDArray) -> NDArray[np.float64]:
        """Distances (N,) from points (N, 3) to the nearest of the triangles in the ring (N,) of each; infinite for empty rings."""
        load_kernels()
        import warp as wp

        from rollfilm.scene.kernels.ring import ring_distance

        def shared(array: NDArray, dtype: type) -> wp.array:
            return wp.array(np.ascontiguousarray(array), dtype=dtype, device="cpu", copy=False)

        result = np.empty(len(points))
        lists = [shared(part, wp.int64) for part in (ring, rings.start, rings.count, rings.members)]
        inputs = [shared(points, wp.vec3d), *lists, shared(self._frames, wp.vec3d), shared(self._sides, wp.vec3d)]
        wp.launch(ring_distance, dim=len(points), inputs=inputs, outputs=[shared(result, wp.float64)], device="cpu")
        return result

    def farthest(self, points: NDArray, bounds: NDArray, slack: float = 0.0) -> float:
        """The largest of the distances from points (N, 3) to the mesh, overestimated by no more than the share ``slack``.

        Exact searches are made from the points whose upper ``bounds`` (N,) are largest, until those left cannot matter.
        """
        order = np.argsort(-bounds)
        largest, start, count = 0.0, 0, 64
        while start < len(order) and bounds[order[start]] > (1.0 + slack) * largest:
            chosen = order[start : start + count]
            largest = max(largest, float(self.nearest(points[chosen], bounds[chosen])[0].max()))
            start, count = start + count, min(2 * count, _CHUNK)
        return max(largest, float(bounds[order[start]])) if start < len(order) else largest

    def _box_tree(self) -> list[NDArray]:
        """Boxes (2, nodes, 3) as low and high corners, the root first, each level twice as many."""
        corners = self._corners[self._slots].reshape(len(self._slots), -1, 3)
        levels = [np.stack([corners.min(axis=1), corners.max(axis=1)])]
        for _ in range(self._depth):
            low, high = levels[-1]
            levels.append(np.stack([np.minimum(low[::2], low[1::2]), np.maximum(high[::2], high[1::2])]))
        return levels[::-1]

    def _descend(self, points: NDArray) -> tuple[NDArray, NDArray]:
        """Distance and triangle of the leaf at the end of each point's walk to the nearer child."""
        node = np.zeros(len(points), dtype=np.int64)
        for level in range(1, self._depth + 1):
            left, right = points - self._centers[level][2 * node], points - self._centers[level][2 * node + 1]
            node = 2 * node + (np.einsum("ij,ij->i", right, right) < np.einsum("ij,ij->i", left, left))
        return self._leaf_distance(points, node)

    def _search(self, points: NDArray, best: NDArray, triangle: NDArray) -> tuple[NDArray, NDArray]:
        who, node = np.arange(len(points)), np.zeros(len(points), dtype=np.int64)
        for level in range(1, self._depth + 1):
            who, node = np.repeat(who, 2), np.stack([2 * node, 2 * node + 1], axis=1).reshape(-1)
            near = self._box_distance(points[who], level, node) < best[who]
            who, node = who[near], node[near]
        distance, found = self._leaf_distance(points[who], node)
        order = np.lexsort((distance, who))
        who, distance, found = who[order], distance[order], found[order]
        first = np.flatnonzero(np.diff(who, prepend=-1))
        better = first[distance[first] < best[who[first]]]
        best[who[better]], triangle[who[better]] = distance[better], found[better]
        return best, triangle

    def _box_distance(self, points: NDArray, level: int, node: NDArray) -> NDArray:
        low, high = self._boxes[level]
        outside = np.maximum(low[node] - points, points - high[node])
        np.maximum(outside, 0.0, out=outside)
        return np.sqrt(np.einsum("ij,ij->i", outside, outside))

    def _leaf_distance(self, points: NDArray, leaf: NDArray) -> tuple[NDArray, NDArray]:
        slots = self._slots[leaf]
        squared = self._squared(points[:, None], slots)
        best = np.argmin(squared, axis=1)
        rows = np.arange(len(points))
        return np.sqrt(squared[rows, best]), slots[rows, best]

    def _squared(self, points: NDArray, triangle: NDArray) -> NDArray:
        """Squared distances (...) from points (..., 3) to triangles (...)."""
        return framed_squared(points, self._frames[triangle], self._sides[triangle])


def framed_squared(points: NDArray, frames: NDArray, sides: NDArray) -> NDArray:
    """Squared distances (...) from points (..., 3) to triangles in their own planes, (..., 4, 3) and (..., 3)."""
    local = points - frames[..., 3, :]
    x, y, z = (np.einsum("...i,...i->...", local, frames[..., k, :]) for k in range(3))
    return _planar_squared(x, y, sides[..., 0], sides[..., 1], sides[..., 2]) + z * z


def planar_frames(corners: NDArray) -> tuple[NDArray, NDArray]:
    """Each triangle (T, 3, 3) in its own plane: x, along its longest side, y and z axis and origin, (T, 4, 3); and the flat triangle
    (0, 0), (b_x, 0), (c_x, c_y) as those three numbers, (T, 3)."""
    rows = np.arange(len(corners))
    longest = np.argmax(np.linalg.norm(np.roll(corners, -1, axis=1) - corners, axis=-1), axis=1)
    a, b, c = (corners[rows, (longest + k) % 3] for k in range(3))
    b_x = np.linalg.norm(b - a, axis=1)
    x_axis = np.where(b_x[:, None] > 0, b - a, [1.0, 0.0, 0.0])
    x_axis /= np.linalg.norm(x_axis, axis=1, keepdims=True)
    c_x = np.sum((c - a) * x_axis, axis=1)
    up = c - a - c_x[:, None] * x_axis
    c_y = np.linalg.norm(up, axis=1)
    flat = c_y <= 1e-12 * b_x
    # a triangle without area is a line: any direction across it will do
    up = np.where(flat[:, None], np.cross(x_axis, np.eye(3)[np.argmin(np.abs(x_axis), axis=1)]), up)
    y_axis = up / np.linalg.norm(up, axis=1, keepdims=True)
    frames = np.stack([x_axis, y_axis, np.cross(x_axis, y_axis), a], axis=1)
    return frames, np.stack([b_x, c_x, np.where(flat, 0.0, c_y)], axis=1)


def _planar_squared(x: NDArray, y: NDArray, b_x: NDArray, c_x: NDArray, c_y: NDArray) -> NDArray:
    """Squared distances in the plane from points to triangles (0, 0), (b_x, 0), (c_x, c_y), b_x >= 0, c_y >= 0; 0 inside."""
    d_x = c_x - b_x
    inside = (c_y > 0) & (y >= 0) & (c_x * y <= c_y * x) & (d_x * y >= c_y * (x - b_x))
    bottom = _segment_squared(x, y, b_x, 0.0)
    left = _segment_squared(x, y, c_x, c_y)
    right = _segment_squared(x - b_x, y, d_x, c_y)
    return np.where(inside, 0.0, np.minimum(np.minimum(bottom, left), right))


def _segment_squared(x: NDArray, y: NDArray, to_x: NDArray, to_y: NDArray | float) -> NDArray:
    share = np.clip((x * to_x + y * to_y) / np.maximum(to_x * to_x + to_y * to_y, 1e-300), 0.0, 1.0)
    return (x - share * to_x) ** 2 + (y - share * to_y) ** 2
