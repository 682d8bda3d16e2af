import math

import numpy as np

from rollfilm.scene import primitives
from rollfilm.scene.corners import compact_order, face_normals, index_corners, position_ids
from rollfilm.scene.levels import Surface, build_levels
from rollfilm.scene.normals import CarriedNormals, crease_normals


def welded(level):
    ids, first = position_ids(level.vertices)
    return level.vertices[first].astype(np.float64), ids[level.triangles]


def test_edges_of_a_box_stay_sharp_and_become_smooth_at_a_larger_angle():
    vertices, triangles = welded(primitives.box((1.0, 2.0, 3.0)).levels[0])
    flat, _ = face_normals(vertices, triangles)
    sharp = crease_normals(vertices, triangles, math.radians(40))
    assert np.allclose(sharp, flat[:, None])
    smooth = crease_normals(vertices, triangles, math.radians(91))
    for vertex in range(len(vertices)):
        around = smooth[triangles == vertex]
        assert np.allclose(around, around[0])
        # it leans towards all three faces, and most towards the largest, the one across x
        assert (around[0] * np.sign(vertices[vertex]) > 0.1).all()
        assert np.argmax(np.abs(around[0])) == 0


def test_a_large_flat_face_stays_flat_beside_a_small_round_edge():
    # a strip of length 10 and one of length 0.1 that bends away by 30 degrees
    bend = 0.1 * np.array([math.cos(math.radians(30)), 0, -math.sin(math.radians(30))])
    ends = np.array([[0, 0, 0], [10, 0, 0], np.array([10, 0, 0]) + bend])
    vertices = np.concatenate([ends, ends + np.array([0, 1, 0])])
    triangles = np.array([[0, 1, 4], [0, 4, 3], [1, 2, 5], [1, 5, 4]])
    assert crease_normals(vertices, triangles)[:2, :, 2].min() > 0.999


def test_a_sphere_is_smooth():
    vertices, triangles = welded(primitives.sphere(1.0).levels[2])
    normals = crease_normals(vertices, triangles)
    assert np.sum(normals * vertices[triangles], axis=-1).min() > 0.999


def test_the_rim_of_a_cylinder_breaks_and_its_side_does_not():
    vertices, triangles = welded(primitives.cylinder(1.0, 1.0).levels[1])
    normals = crease_normals(vertices, triangles)
    flat, _ = face_normals(vertices, triangles)
    side = np.abs(flat[:, 2]) < 0.5
    radial = vertices[triangles[side]] * np.array([1, 1, 0])
    assert np.abs(normals[side][..., 2]).max() < 1e-6
    assert np.sum(normals[side] * radial, axis=-1).min() > 0.999
    assert np.allclose(normals[~side], flat[~side][:, None])


def hexagon():
    """The open side of a hexagonal prism that is lit as a cylinder: vertices, triangles and normals of their corners."""
    turn = np.arange(6) * math.pi / 3
    ring = np.stack([np.cos(turn), np.sin(turn), np.zeros(6)], axis=1)
    vertices = np.concatenate([ring, ring + np.array([0, 0, 1])])
    i, j = np.arange(6), (np.arange(6) + 1) % 6
    triangles = np.concatenate([np.stack([i, j, j + 6], axis=1), np.stack([i, j + 6, i + 6], axis=1)])
    return vertices, triangles, np.concatenate([ring, ring])[triangles]


def test_carried_normals_are_those_of_the_original_where_nothing_changed():
    vertices, triangles, normals = hexagon()
    carried = CarriedNormals(vertices, triangles, normals).at_corners(np.arange(12), vertices, triangles, math.radians(20))
    assert np.allclose(carried, normals)
    # from the shape alone they cannot be told
    assert not np.allclose(crease_normals(vertices, triangles, math.radians(20)), normals, atol=0.2)


def test_carried_normals_do_not_mix_what_faces_elsewhere():
    vertices, triangles = welded(primitives.box((1.0, 2.0, 3.0)).levels[0])
    flat, _ = face_normals(vertices, triangles)
    carried = CarriedNormals(vertices, triangles, np.repeat(flat[:, None], 3, axis=1))
    assert np.allclose(carried.at_corners(np.arange(8), vertices, triangles, math.radians(40)), flat[:, None])
    assert not np.allclose(carried.at_corners(np.arange(8), vertices, triangles, math.radians(91)), flat[:, None])


def test_where_nothing_is_carried_the_shape_gives_the_normals():
    vertices, triangles, normals = hexagon()
    image = np.where(np.arange(12) == 3, -1, np.arange(12))
    carried = CarriedNormals(vertices, triangles, normals).at_corners(image, vertices, triangles, math.radians(20))
    shape = crease_normals(vertices, triangles, math.radians(20))
    assert np.allclose(carried[triangles == 3], shape[triangles == 3])
    assert np.allclose(carried[triangles != 3], normals[triangles != 3])


def test_simplified_levels_of_a_sphere_are_lit_rounder_than_they_are():
    ball = primitives.sphere(1.0).levels[0]
    normals = ball.normals[ball.triangles]
    coarse = [level for level in build_levels(Surface(ball.vertices, ball.triangles, normals))[1:] if len(level.triangles) < 400]
    assert coarse
    for level in coarse:
        vertices, triangles = welded(level)
        radial = vertices[triangles] / np.linalg.norm(vertices[triangles], axis=-1, keepdims=True)
        own = level.normals[level.triangles]
        flat = np.repeat(face_normals(vertices, triangles)[0][:, None], 3, axis=1)
        error = {name: np.arccos(np.clip(np.sum(n * radial, axis=-1), -1, 1)).mean() for name, n in (("own", own), ("flat", flat))}
        assert error["own"] < 0.85 * error["flat"], len(triangles)


def test_index_corners_keeps_every_corner_and_merges_what_agrees():
    level = primitives.box((1.0, 1.0, 1.0)).levels[0]
    assert len(level.vertices) == 24
    uvs = np.zeros((12, 3, 2), dtype=np.float32)
    uvs[0] = 0.5
    positions, triangles = welded(level)
    normals = level.normals[level.triangles]
    vertices, vertex_normals, indices, vertex_uvs = index_corners(positions, triangles, normals, uvs)
    assert np.allclose(vertices[indices], positions[triangles])
    assert np.allclose(vertex_normals[indices], normals)
    assert np.array_equal(vertex_uvs[indices], uvs)
    # the one triangle with other coordinates shares its two common corners no longer
    assert len(vertices) == 26


def test_compact_order_is_an_order_whose_runs_are_small():
    level = primitives.sphere(1.0).levels[1]
    shuffled = level.triangles[np.random.default_rng(0).permutation(len(level.triangles))]
    order = compact_order(level.vertices, shuffled)
    assert np.array_equal(np.sort(order), np.arange(len(shuffled)))
    centroids = level.vertices[shuffled[order]].mean(axis=1)[: len(order) // 64 * 64].reshape(-1, 64, 3)
    extent = np.linalg.norm(np.ptp(centroids, axis=1), axis=1)
    # 80 runs share the area of the sphere: a square run would have a diagonal of 0.56
    assert np.median(extent) < 0.7
