import numpy as np
import pytest

from rollfilm.scene.checks import settled
from rollfilm.scene.closest import ClosestPoints


def hill(height):
    """A hexagon, flat but for its middle, vertex 6; its triangles, all around the edge from 6 to 0; and witnesses: its ends."""
    turn = np.arange(6) * np.pi / 3
    points = np.append(np.stack([np.cos(turn), np.sin(turn), np.zeros(6)], axis=1), [[0.0, 0.0, height]], axis=0)
    triangles = np.array([[6, k, (k + 1) % 6] for k in range(6)])
    return points, triangles, np.array([points[6], points[0]])


def check(height, limit, place, wanted=True, points_witness=None):
    points, triangles, witness = hill(height)
    witness = witness if points_witness is None else points_witness
    place, good = np.array([place], np.float64), np.array([wanted])
    faces = np.array([0, 6], np.int32), np.arange(6, dtype=np.int32)
    watches = np.array([0, len(witness)], np.int32), np.arange(len(witness), dtype=np.int32)
    home = settled((points, triangles, witness), np.array([[0, 6]]), faces, watches, limit, place, good)
    return good[0], place[0], home


@pytest.mark.parametrize(("limit", "expected"), [(0.05, False), (0.5, True)])
def test_a_collapse_that_leaves_a_witness_behind_is_refused(limit, expected):
    # one end or the other is lost wherever the edge goes
    good, _, _ = check(0.3, limit, [1.0, 0.0, 0.0])
    assert good == expected


def test_what_settles_says_which_triangle_is_nearest():
    witness = np.random.default_rng(2).uniform([-0.8, -0.5, 0.0], [0.6, 0.5, 0.1], (40, 3))
    good, place, home = check(0.1, 0.3, [1.0, 0.0, 0.0], points_witness=witness)
    assert good
    points, triangles, _ = hill(0.1)
    points[6] = place
    left = [1, 2, 3, 4]
    expected, _ = ClosestPoints(points, triangles[left]).nearest(witness)
    assert set(home) <= set(left)
    assert len(set(home)) > 2
    found = [ClosestPoints(points, triangles[[face]]).nearest(point[None])[0][0] for face, point in zip(home, witness, strict=True)]
    assert np.allclose(found, expected)


def test_an_end_is_taken_where_the_best_place_will_not_do():
    # far outside, the triangles would reach to where there was no surface
    good, place, _ = check(0.0, 0.1, [3.0, 0.0, 0.0])
    assert good
    assert np.array_equal(place, [1.0, 0.0, 0.0])


def test_a_collapse_that_turns_a_triangle_over_is_refused():
    # beyond the corner across, whatever the distance
    good, place, _ = check(0.0, 10.0, [-2.0, 0.0, 0.0])
    assert good
    assert np.array_equal(place, [1.0, 0.0, 0.0])


def test_an_edge_that_is_not_wanted_stays():
    assert not check(0.0, 10.0, [1.0, 0.0, 0.0], wanted=False)[0]
