"""Fewer triangles by collapsing edges, many at once, while nothing of the original is left too far from the surface.

Edges collapse in the order of their quadric error: the sum of squared distances to the planes of the original triangles that were drawn
together, weighted with their areas (Garland and Heckbert, "Surface simplification using quadric error metrics", 1997). In each pass
every edge that is the cheapest of all that touch its triangles may collapse, so that passes are a few operations on whole arrays; what a
collapse would do to the surface is checked edge by edge, in a kernel.
"""

import numpy as np
from numpy.typing import NDArray

from rollfilm.scene.checks import settled
from rollfilm.scene.closest import framed_squared, planar_frames
from rollfilm.scene.corners import face_normals, sorted_unique, without_twins

__all__ = ["Collapser"]

#: What keeps borders where they are: the weight of planes that stand on them, by the area of a square on the edge.
_BORDER_WEIGHT = 1.0

#: Where a surface is flat or straight, a vertex is drawn towards the middle of its edge by this share of the quadric.
_TOWARDS_MIDDLE = 1e-3

#: Of two edges that cost the same, as in a plane, the shorter goes: this share of its squared length counts as squared distance.
_LENGTH_SHARE = 1e-6

#: How much longer than the error an edge may be whose collapse closes a hole or tears one open: such holes are too small to be seen.
_SMALL_HOLE = 1.0

#: How often edges are chosen for a pass, each time among those that touch no triangle of one that was.
_ROUNDS = 3

#: Passes go on while each takes at least this share of the triangles away.
_LEAST_PROGRESS = 0.01


class Collapser:
    """A mesh that gets ever coarser.

    Attributes:
        triangles: (T, 3), indices into ``vertices``.
        image: (V,), the vertex that each original one has become, -1 where its part was left out.
    """

    def __init__(self, vertices: NDArray, triangles: NDArray) -> None:
        """Welded vertices (V, 3) and triangles (T, 3), without those that have no area."""
        self._low = vertices.min(axis=0)
        self._size = float(np.ptp(vertices, axis=0).max())
        # quadrics lose digits far from the origin, so the mesh lies around it and has size 1
        self._points = (vertices - self._low) / self._size - 0.5
        self.triangles = without_twins(triangles)
        # what must stay near the surface, corners and middles of triangles, and the triangle that each is nearest to
        used, first = np.unique(self.triangles, return_index=True)
        self._witness = np.concatenate([self._points[used], self._points[self.triangles].mean(axis=1)])
        self._home = np.concatenate([first // 3, np.arange(len(self.triangles))])
        self.image = np.where(np.isin(np.arange(len(vertices)), self.triangles), np.arange(len(vertices)), -1)
        self._quadrics = self._first_quadrics()

    @property
    def vertices(self) -> NDArray[np.float64]:
        """(V, 3), metres: the original ones, moved by what collapsed into them; not all are in use."""
        return (self._points + 0.5) * self._size + self._low

    def departure_m(self) -> float:
        """How far the corners and middles of the original triangles are from the surface at most, but for parts that were left out."""
        frames, sides = planar_frames(self._points[self.triangles])
        return float(np.sqrt(framed_squared(self._witness, frames[self._home], sides[self._home]).max())) * self._size

    def reduce(self, error_m: float) -> None:
        """Collapse what can be while corners and middles of all original triangles stay within ``error_m`` of the surface.

        Parts of the mesh that hang together and are smaller than that as a whole are left out, unless nothing else is there.
        """
        limit = error_m / self._size
        self._drop_parts(limit)
        blocked = np.zeros(0, np.int64)
        while True:
            before = len(self.triangles)
            blocked, tried = self._pass(limit, blocked)
            if not tried or before - len(self.triangles) < _LEAST_PROGRESS * before:
                break

    def _drop_parts(self, limit: float) -> None:
        part = self._parts()
        corners = self._points[self.triangles]
        low, high = np.full((len(self._points), 3), np.inf), np.full((len(self._points), 3), -np.inf)
        np.minimum.at(low, part, corners.min(axis=1))
        np.maximum.at(high, part, corners.max(axis=1))
        gone = np.linalg.norm(high[part] - low[part], axis=1) < limit
        if gone.any() and not gone.all():
            self._keep(~gone)
            used = np.zeros(len(self._points) + 1, bool)
            used[self.triangles] = True
            self.image = np.where(used[self.image], self.image, -1)

    def _keep(self, kept: NDArray) -> None:
        """Leave out triangles, and those witnesses that are at one of them."""
        number = np.where(kept, np.cumsum(kept) - 1, -1)
        self.triangles, home = self.triangles[kept], number[self._home]
        self._witness, self._home = self._witness[home >= 0], home[home >= 0]

    def _parts(self) -> NDArray:
        """For each triangle (T,) which of the parts it belongs to that hang together; parts are named by one of their vertices."""
        label = np.arange(len(self._points))
        while True:
            new = label.copy()
            np.minimum.at(new, self.triangles.reshape(-1), np.repeat(label[self.triangles].min(axis=1), 3))
            new = new[new]
            if np.array_equal(new, label):
                return label[self.triangles[:, 0]]
            label = new

    def _first_quadrics(self) -> NDArray:
        """The quadric of each vertex, (V, 11): those of the planes of its triangles, and of planes that stand on its borders."""
        normals, areas = face_normals(self._points, self.triangles)
        planes = np.concatenate([normals, -np.sum(normals * self._points[self.triangles[:, 0]], axis=1, keepdims=True)], axis=1)
        corner, quadric = self.triangles.reshape(-1), np.repeat(_quadric(planes, areas), 3, axis=0)
        keys, first, count = np.unique(self._edge_keys(), return_index=True, return_counts=True)
        u, v = np.divmod(keys[count != 2], len(self._points))
        along = self._points[v] - self._points[u]
        across = np.cross(along, np.tile(normals, (3, 1))[first[count != 2]])
        across /= np.maximum(np.linalg.norm(across, axis=1, keepdims=True), 1e-30)
        border = np.concatenate([across, -np.sum(across * self._points[u], axis=1, keepdims=True)], axis=1)
        upright = _quadric(border, _BORDER_WEIGHT * np.sum(along * along, axis=1))
        corner, quadric = np.concatenate([corner, u, v]), np.concatenate([quadric, upright, upright])
        return np.stack([np.bincount(corner, quadric[:, k], minlength=len(self._points)) for k in range(11)], axis=1)

    def _edge_keys(self) -> NDArray[np.int64]:
        """The edges of all triangles, (3 T,): first those from corners 0 to 1, then 1 to 2 and 2 to 0."""
        start = self.triangles.T.reshape(-1).astype(np.int64)
        end = self.triangles[:, [1, 2, 0]].T.reshape(-1).astype(np.int64)
        return np.minimum(start, end) * len(self._points) + np.maximum(start, end)

    def _pass(self, limit: float, blocked: NDArray) -> tuple[NDArray, bool]:
        """Collapse edges that do not touch each other's triangles: those that cannot now, and whether any were tried."""
        keys = sorted_unique(self._edge_keys())
        if len(blocked):
            at = np.minimum(np.searchsorted(blocked, keys), len(blocked) - 1)
            keys = keys[blocked[at] != keys]
        u, v = np.divmod(keys, len(self._points))
        place, cost, mean_squared = self._placed(u, v)
        # the mean is below the largest: what exceeds the limit on average need not be tried
        cheap = np.flatnonzero(mean_squared < 0.25 * limit * limit)
        chosen = cheap[self._apart(u[cheap], v[cheap], cost[cheap])]
        if not len(chosen):
            return blocked, False
        keys, u, v = keys[chosen], u[chosen], v[chosen]
        small = np.linalg.norm(self._points[u] - self._points[v], axis=1) < _SMALL_HOLE * limit
        good, place = self._settled(u, v, place[chosen], self._keeps_shape(u, v) | small, limit)
        blocked = np.union1d(blocked, keys[~good])
        if good.any():
            blocked = self._collapse(u[good], v[good], place[good], blocked)
        return blocked, True

    def _placed(self, u: NDArray, v: NDArray) -> tuple[NDArray, NDArray, NDArray]:
        """The best place (E, 3) of each edge's one vertex, what it costs (E,), and its mean squared distance from the planes (E,)."""
        quadric = self._quadrics[u] + self._quadrics[v]
        middle = 0.5 * (self._points[u] + self._points[v])
        place = middle + _solved(quadric, middle)
        along = self._points[v] - self._points[u]
        squared = np.maximum(_value(quadric, place), 0.0)
        return place, squared + _LENGTH_SHARE * quadric[:, 10] * np.sum(along * along, axis=1), squared / np.maximum(quadric[:, 10], 1e-300)

    def _apart(self, u: NDArray, v: NDArray, cost: NDArray) -> NDArray:
        """Which edges are the cheapest of all that touch their triangles, but for factors below 1.5.

        Among costs that are about the same a scrambled order decides: where costs grow steadily along a surface few edges are cheaper than
        all around them.
        """
        rank = np.empty(len(cost), np.int64)
        scrambled = (u * 73856093 ^ v * 19349663) & 0xFFFF
        rank[np.lexsort((v, u, scrambled, np.floor(2.0 * np.log2(np.maximum(cost, 1e-30)))))] = np.arange(len(cost))
        chosen: list[NDArray] = []
        left = np.arange(len(cost))
        for _ in range(_ROUNDS):
            best = np.full(len(self._points), len(cost), np.int64)
            np.minimum.at(best, u[left], rank[left])
            np.minimum.at(best, v[left], rank[left])
            around = best[self.triangles].min(axis=1)
            np.minimum.at(best, self.triangles.reshape(-1), np.repeat(around, 3))
            cheapest = (best[u[left]] == rank[left]) & (best[v[left]] == rank[left])
            chosen.append(left[cheapest])
            taken, near = np.zeros(len(self._points), bool), np.zeros(len(self._points), bool)
            taken[u[chosen[-1]]] = taken[v[chosen[-1]]] = True
            near[self.triangles[taken[self.triangles].any(axis=1)]] = True
            left = left[~(near[u[left]] | near[v[left]])]
        return np.sort(np.concatenate(chosen))

    def _settled(self, u: NDArray, v: NDArray, place: NDArray, wanted: NDArray, limit: float) -> tuple[NDArray, NDArray]:
        """Which of the ``wanted`` edges may collapse, and to where: the best place, else one of the ends. Their witnesses move on to the
        nearest of the triangles that will be left around them."""
        owner = np.full(len(self._points), -1, np.int32)
        owner[u] = owner[v] = np.arange(len(u))
        owned = owner[self.triangles].max(axis=1)
        watching = owned[self._home]
        good, place = wanted.copy(), np.ascontiguousarray(place)
        faces, watches = _rows(owned, len(u)), _rows(watching, len(u))
        mesh = self._points, self.triangles, self._witness
        home = settled(mesh, np.stack([u, v], axis=1), faces, watches, limit, place, good)
        moves = watches[1][good[watching[watches[1]]]]
        self._home[moves] = home[moves]
        return good, place

    def _keeps_shape(self, u: NDArray, v: NDArray) -> NDArray[np.bool_]:
        """Whether each edge can collapse without closing a hole or tearing one open: its ends must have no other neighbours in common than
        the corners of its triangles (the link condition), and an edge between two borders must itself lie on one."""
        owner = np.full(len(self._points), -1)
        owner[u] = owner[v] = np.arange(len(u))
        touched = owner[self.triangles]
        face = (touched >= 0).any(axis=1)
        corners, touched = self.triangles[face], touched[face]
        edge = touched.max(axis=1)
        own = np.bincount(edge[(touched >= 0).sum(axis=1) == 2], minlength=len(u))
        neighbours, borders = [], np.zeros(len(u), np.int64)
        for end in (u, v):
            row, column = np.nonzero(corners == end[edge][:, None])
            sides = np.concatenate([edge[row] * len(self._points) + corners[row, (column + step) % 3] for step in (1, 2)])
            around, count = np.unique(sides, return_counts=True)
            borders[np.unique(around[count == 1] // len(self._points))] += 1
            neighbours.append(around)
        around, count = np.unique(np.concatenate(neighbours), return_counts=True)
        common = np.bincount(around[count == 2] // len(self._points), minlength=len(u))
        return (common == own) & ((borders < 2) | (own == 1))

    def _collapse(self, u: NDArray, v: NDArray, place: NDArray, blocked: NDArray) -> NDArray:
        """Collapse edges; gives those of the blocked ones back around which nothing has changed."""
        self._points[u] = place
        self._quadrics[u] += self._quadrics[v]
        becomes = np.arange(len(self._points) + 1)
        becomes[-1] = -1
        becomes[v] = u
        self.image = becomes[self.image]
        moved, around = np.zeros(len(self._points), bool), np.zeros(len(self._points), bool)
        moved[u] = moved[v] = True
        around[self.triangles[moved[self.triangles].any(axis=1)].reshape(-1)] = True
        self.triangles = becomes[self.triangles]
        a, b, c = self.triangles.T
        self._keep((a != b) & (b != c) & (c != a))
        start, end = np.divmod(blocked, len(self._points))
        return blocked[~(around[start] | around[end])]


def _rows(owned: NDArray, rows: int) -> tuple[NDArray, NDArray]:
    """Things (N,) owned by rows, -1 for none, as lists: where each row starts, (rows + 1,), and the things, row after row."""
    things = np.flatnonzero(owned >= 0)
    start = np.zeros(rows + 1, np.int32)
    np.cumsum(np.bincount(owned[things], minlength=rows), out=start[1:])
    return start, things[np.argsort(owned[things], kind="stable")].astype(np.int32)


def _quadric(plane: NDArray, weight: NDArray) -> NDArray:
    """Quadrics (N, 11) of planes (N, 4): xx, xy, xz, yy, yz, zz, xw, yw, zw, ww and the weight."""
    a, b, c, d = plane.T
    return np.stack([a * a, a * b, a * c, b * b, b * c, c * c, a * d, b * d, c * d, d * d, np.ones_like(a)], axis=1) * weight[:, None]


def _value(quadric: NDArray, place: NDArray) -> NDArray:
    """Weighted squared distances (N,) of places (N, 3)."""
    xx, xy, xz, yy, yz, zz, xw, yw, zw, ww, _ = quadric.T
    x, y, z = place.T
    return x * (xx * x + 2 * (xy * y + xz * z + xw)) + y * (yy * y + 2 * (yz * z + yw)) + z * (zz * z + 2 * zw) + ww


def _solved(quadric: NDArray, middle: NDArray) -> NDArray:
    """How far (N, 3) the cheapest places lie from ``middle`` (N, 3), drawn towards it a little where a quadric does not say."""
    xx, xy, xz, yy, yz, zz, xw, yw, zw, _, _ = quadric.T
    x, y, z = middle.T
    right = -np.stack([xx * x + xy * y + xz * z + xw, xy * x + yy * y + yz * z + yw, xz * x + yz * y + zz * z + zw])
    more = _TOWARDS_MIDDLE * (xx + yy + zz) + 1e-30
    a, d, f = xx + more, yy + more, zz + more
    c00, c01, c02 = d * f - yz * yz, xz * yz - xy * f, xy * yz - xz * d
    c11, c12, c22 = a * f - xz * xz, xy * xz - a * yz, a * d - xy * xy
    share = 1.0 / np.maximum(a * c00 + xy * c01 + xz * c02, 1e-300)
    px, py, pz = right
    x, y, z = c00 * px + c01 * py + c02 * pz, c01 * px + c11 * py + c12 * pz, c02 * px + c12 * py + c22 * pz
    return np.stack([x, y, z], axis=1) * share[:, None]
