import numpy as np
import pytest

from rollfilm.scene.closest import ClosestPoints, Rings


def brute_force(points, corners):
    """Distances by sampling-free means: the plane, the three sides, written the long way round."""
    result = []
    for p in points:
        best = np.inf
        for a, b, c in corners:
            normal = np.cross(b - a, c - a)
            if normal @ normal > 1e-20:
                normal = normal / np.linalg.norm(normal)
                foot = p - ((p - a) @ normal) * normal
                weights, *_ = np.linalg.lstsq(np.stack([b - a, c - a], axis=1), foot - a, rcond=None)
                if weights.min() >= 0 and weights.sum() <= 1:
                    best = min(best, np.linalg.norm(p - foot))
            for start, end in ((a, b), (b, c), (c, a)):
                along = end - start
                share = np.clip((p - start) @ along / max(along @ along, 1e-300), 0, 1)
                best = min(best, np.linalg.norm(p - start - share * along))
        result.append(best)
    return np.array(result)


@pytest.fixture
def soup():
    random = np.random.default_rng(3)
    corners = random.normal(size=(57, 1, 3)) + 0.4 * random.normal(size=(57, 3, 3))
    corners[5, 2] = corners[5, 1]
    corners[6, 2] = 0.5 * (corners[6, 0] + corners[6, 1])
    points = random.normal(size=(80, 3)) * 1.5
    return points, corners.reshape(-1, 3), np.arange(171).reshape(57, 3)


def test_nearest_is_what_a_search_of_all_triangles_finds(soup):
    points, vertices, triangles = soup
    expected = brute_force(points, vertices[triangles])
    distance, triangle = ClosestPoints(vertices, triangles).nearest(points)
    assert np.allclose(distance, expected)
    alone = [brute_force(p[None], vertices[triangles[t]][None])[0] for p, t in zip(points, triangle, strict=True)]
    assert np.allclose(alone, expected)


@pytest.mark.parametrize("count", [1, 4, 5, 16, 17])
def test_any_number_of_triangles(soup, count):
    points, vertices, triangles = soup
    distance, _ = ClosestPoints(vertices, triangles[:count]).nearest(points)
    assert np.allclose(distance, brute_force(points, vertices[triangles[:count]]))


def test_farthest_needs_no_more_than_the_slack(soup):
    points, vertices, triangles = soup
    closest = ClosestPoints(vertices, triangles)
    exact = closest.nearest(points)[0]
    for slack in (0.0, 0.3):
        found = closest.farthest(points, exact * 1.7, slack)
        assert exact.max() - 1e-12 <= found <= (1 + slack) * exact.max() + 1e-12
    assert closest.farthest(points, np.full(len(points), np.inf)) == pytest.approx(exact.max())


def test_bounds_measure_the_rings_and_nothing_else(soup):
    points, vertices, triangles = soup
    rings = Rings(np.array([0, 0, 2, 0]), np.array([3, 9, 5, 3]), 3)
    ring = np.arange(len(points)) % 4 - 1
    bounds = ClosestPoints(vertices, triangles).bounds(points, rings, ring)
    assert np.isinf(bounds[(ring == -1) | (ring == 1)]).all()
    assert np.allclose(bounds[ring == 0], brute_force(points[ring == 0], vertices[triangles[[3, 9]]]))
    assert np.allclose(bounds[ring == 2], brute_force(points[ring == 2], vertices[triangles[[5]]]))


def test_bounds_of_a_ring_are_what_a_search_of_it_finds(soup):
    # but for the order in which NumPy adds three products, which differs between machines
    points, vertices, triangles = soup
    closest = ClosestPoints(vertices, triangles)
    distance, triangle = closest.nearest(points)
    alone = Rings(np.arange(len(points)), triangle, len(points))
    assert np.allclose(closest.bounds(points, alone, np.arange(len(points))), distance, rtol=1e-13, atol=1e-15)
