from itertools import pairwise

import numpy as np
import pytest

from rollfilm.scene import primitives
from rollfilm.scene.closest import ClosestPoints
from rollfilm.scene.corners import face_normals, position_ids
from rollfilm.scene.levels import Surface, build_levels


def surface_of(vertices, triangles, uvs=None):
    flat, _ = face_normals(vertices, triangles)
    return Surface(vertices, triangles, np.repeat(flat[:, None], 3, axis=1), uvs)


def sphere_surface(level=2):
    level = primitives.sphere(0.2).levels[level]
    return Surface(level.vertices, level.triangles, level.normals[level.triangles])


def bumpy_sheet(n=40):
    """An open surface with a sharp ridge, a smooth wave and texture coordinates."""
    x, y = np.meshgrid(np.linspace(-1, 1, n), np.linspace(-1, 1, n))
    z = 0.2 * np.sin(3 * x) * np.cos(2 * y) + 0.3 * np.abs(y)
    vertices = np.stack([x, y, z], axis=-1).reshape(-1, 3)
    ids = np.arange(n * n).reshape(n, n)
    quads = np.stack([ids[:-1, :-1], ids[:-1, 1:], ids[1:, 1:], ids[1:, :-1]], axis=-1).reshape(-1, 4)
    triangles = np.concatenate([quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]])
    return vertices, triangles


def dense_points(vertices, triangles, per_triangle=4):
    weights = np.random.default_rng(1).dirichlet([1, 1, 1], (len(triangles), per_triangle))
    return np.einsum("tsk,tki->tsi", weights, vertices[triangles].astype(np.float64)).reshape(-1, 3)


@pytest.mark.parametrize("surface", [sphere_surface(), surface_of(*bumpy_sheet())], ids=["sphere", "sheet"])
def test_the_error_bounds_the_distance_of_dense_samples_both_ways(surface):
    levels = build_levels(surface)
    assert len(levels) >= 4
    original = ClosestPoints(surface.positions, surface.triangles)
    samples = dense_points(surface.positions, surface.triangles)
    for level in levels[1:]:
        there = ClosestPoints(level.vertices, level.triangles).nearest(samples)[0].max()
        count = max(4, 1000 // len(level.triangles))
        back = original.nearest(dense_points(level.vertices, level.triangles, count))[0].max()
        assert max(there, back) <= level.error_m + 1e-6
        # and says no more than what is there, give or take the margin
        assert level.error_m <= 1.5 * max(there, back)


def test_levels_get_coarser_and_errors_grow_strictly():
    levels = build_levels(sphere_surface())
    assert levels[0].error_m == 0
    counts = [len(level.triangles) for level in levels]
    errors = [np.float32(level.error_m) for level in levels]
    assert all(b <= 0.75 * a for a, b in pairwise(counts))
    assert all(b > a for a, b in pairwise(errors))
    assert counts[-1] <= 64


def test_the_finest_level_is_the_surface_with_its_own_normals():
    surface = sphere_surface()
    finest = build_levels(surface)[0]
    assert len(finest.triangles) == len(surface.triangles)
    expected = np.sort(surface.positions[surface.triangles].mean(axis=1), axis=0)
    assert np.allclose(np.sort(finest.vertices[finest.triangles].mean(axis=1), axis=0), expected, atol=1e-6)
    assert np.allclose(finest.normals, finest.vertices / 0.2, atol=1e-3)


def test_an_unwelded_mesh_is_simplified_as_a_welded_one():
    welded = sphere_surface()
    apart = Surface(welded.positions[welded.triangles].reshape(-1, 3), np.arange(3 * len(welded.triangles)).reshape(-1, 3), welded.normals)
    levels = build_levels(apart)
    last = levels[-1]
    ids, first = position_ids(last.vertices)
    edges = np.concatenate([ids[last.triangles][:, pair] for pair in ([0, 1], [1, 2], [2, 0])])
    # still closed: no edge is without its opposite
    assert {tuple(e) for e in edges.tolist()} == {tuple(e[::-1]) for e in edges.tolist()}
    assert len(first) < 100


def test_a_flat_surface_is_reduced_at_almost_no_error():
    vertices, triangles = bumpy_sheet(20)
    vertices[:, 2] = 0
    levels = build_levels(surface_of(vertices, triangles))
    free = [level for level in levels[1:] if level.error_m < 1e-6]
    # one level of them is enough
    assert len(free) == 1
    assert len(free[0].triangles) < 0.2 * len(triangles)


def test_texture_coordinates_follow_the_surface():
    vertices, triangles = bumpy_sheet()
    uvs = (0.5 + 0.5 * vertices[triangles][..., :2]).astype(np.float32)
    for level in build_levels(surface_of(vertices, triangles, uvs)):
        assert level.uvs is not None
        assert np.abs(level.uvs - (0.5 + 0.5 * level.vertices[:, :2])).max() < 0.5 * level.error_m + 0.02


def test_texture_coordinates_stay_on_their_side_of_a_seam():
    # the seam runs along a ridge, so that corners of simplified triangles lie on it
    vertices, triangles = bumpy_sheet(41)
    vertices[:, 2] = 0.5 * np.abs(vertices[:, 0]) + 0.1 * np.sin(3 * vertices[:, 1])
    right = vertices[triangles][..., 0].mean(axis=1) > 0
    uvs = np.where(right[:, None, None], 10.0, 0.0) + 0.5 * vertices[triangles][..., :2]
    level = build_levels(surface_of(vertices, triangles, uvs.astype(np.float32)))[1]
    corners = level.vertices[level.triangles][..., 0]
    near = 2 * level.error_m  # an edge of the surface moves by no more than its corners
    one_sided = (corners.min(axis=1) > -near) | (corners.max(axis=1) < near)
    assert one_sided.mean() > 0.9
    on_the_seam = np.abs(corners) < near
    assert on_the_seam[one_sided].sum() > 10
    expected = corners.mean(axis=1)[one_sided, None] > 0
    assert ((level.uvs[level.triangles][one_sided][..., 0] > 5) == expected).all()


@pytest.mark.parametrize(
    ("vertices", "triangles"),
    [
        (np.zeros((3, 3)), [[0, 1, 2]]),
        (np.array([[0, 0, 0], [1, 0, 0], [2, 0, 0]]), [[0, 1, 2]]),
    ],
)
def test_what_has_no_area_has_no_levels(vertices, triangles):
    assert build_levels(surface_of(vertices.astype(float), np.array(triangles))) == ()


def test_double_and_degenerate_triangles_do_no_harm():
    surface = sphere_surface()
    triangles = np.concatenate([surface.triangles, surface.triangles[:50], surface.triangles[50:90, ::-1], [[0, 0, 1], [2, 2, 2]]])
    levels = build_levels(surface_of(surface.positions.astype(float), triangles))
    assert len(levels) >= 3
    for level in levels:
        assert np.isfinite(level.normals).all()
        assert face_normals(level.vertices, level.triangles)[1].min() > 0
