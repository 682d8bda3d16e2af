from itertools import pairwise

import numpy as np
import pytest

from rollfilm.scene import primitives
from rollfilm.scene.corners import face_normals


def distance_to_capsule(points, radius, half_length):
    axis = np.clip(points[:, 2], -half_length, half_length)
    return np.linalg.norm(points - np.stack([0 * axis, 0 * axis, axis], axis=1), axis=1) - radius


def distance_to_cylinder(points, radius, half_length):
    out = np.stack([np.hypot(points[:, 0], points[:, 1]) - radius, np.abs(points[:, 2]) - half_length], axis=1)
    return np.linalg.norm(np.maximum(out, 0), axis=1) + np.minimum(out.max(axis=1), 0)


def distance_to_box(points, half_size):
    out = np.abs(points) - half_size
    return np.linalg.norm(np.maximum(out, 0), axis=1) + np.minimum(out.max(axis=1), 0)


SHAPES = {
    "box": (primitives.box((0.1, 0.2, 0.3)), lambda p: distance_to_box(p, np.array([0.1, 0.2, 0.3]))),
    "sphere": (primitives.sphere(0.25), lambda p: np.linalg.norm(p, axis=1) - 0.25),
    "capsule": (primitives.capsule(0.1, 0.3), lambda p: distance_to_capsule(p, 0.1, 0.3)),
    "cylinder": (primitives.cylinder(0.2, 0.05), lambda p: distance_to_cylinder(p, 0.2, 0.05)),
}


def surface_points(level, per_triangle=16):
    weights = np.random.default_rng(0).dirichlet([1, 1, 1], (len(level.triangles), per_triangle))
    return np.einsum("tsk,tki->tsi", weights, level.vertices[level.triangles].astype(np.float64)).reshape(-1, 3)


@pytest.mark.parametrize("name", SHAPES)
def test_every_level_lies_within_its_error_of_the_shape(name):
    mesh, distance = SHAPES[name]
    for level in mesh.levels:
        assert np.abs(distance(surface_points(level))).max() <= level.error_m + 1e-6


@pytest.mark.parametrize("name", ["sphere", "cylinder", "capsule"])
def test_errors_are_not_much_larger_than_what_is_found(name):
    mesh, distance = SHAPES[name]
    for level in mesh.levels:
        assert np.abs(distance(surface_points(level, 200))).max() >= 0.8 * level.error_m


def test_ellipsoid_points_lie_on_it_and_between_them_within_the_error():
    radii = np.array([0.1, 0.2, 0.4])
    for level in primitives.ellipsoid((0.1, 0.2, 0.4)).levels:
        assert np.abs(np.linalg.norm(level.vertices / radii, axis=1) - 1).max() < 1e-5
        # the way to the surface along the line from the middle is at least as long as the shortest
        share = np.linalg.norm(surface_points(level) / radii, axis=1)
        assert ((1 - share) * radii.min()).max() <= level.error_m + 1e-7


@pytest.mark.parametrize("mesh", [*(mesh for mesh, _ in SHAPES.values()), primitives.ellipsoid((0.1, 0.2, 0.4))])
def test_surfaces_are_closed_wind_outward_and_have_outward_unit_normals(mesh):
    for level in mesh.levels:
        vertices = level.vertices.astype(np.float64)
        a, b, c = (vertices[level.triangles[:, k]] for k in range(3))
        volume = np.sum(a * np.cross(b, c)) / 6
        assert volume > 0
        flat, area = face_normals(vertices, level.triangles)
        assert np.abs((flat * area[:, None]).sum(axis=0)).max() < 1e-7 * area.sum() + 1e-9
        assert np.abs(np.linalg.norm(level.normals, axis=1) - 1).max() < 1e-5
        assert (np.sum(level.normals[level.triangles] * flat[:, None], axis=-1) > 0.2).all()


@pytest.mark.parametrize("mesh", [mesh for mesh, _ in SHAPES.values()])
def test_levels_are_coarser_with_growing_errors_inside_the_sphere(mesh):
    errors = [level.error_m for level in mesh.levels]
    counts = [len(level.triangles) for level in mesh.levels]
    assert all(b > a for a, b in pairwise(errors))
    assert all(b < a for a, b in pairwise(counts))
    for level in mesh.levels:
        assert np.linalg.norm(level.vertices - mesh.center, axis=1).max() <= mesh.radius


def test_a_sphere_that_fills_512_pixels_is_round():
    # the finest level strays by less than a tenth of a pixel from a circle of 256 pixels
    assert primitives.sphere(256.0).levels[0].error_m < 0.1
    assert primitives.cylinder(256.0, 1.0).levels[0].error_m < 0.1


def test_height_field_surface_has_top_sides_and_bottom():
    heights = np.array([[0.0, 0.1, 0.2], [0.3, 0.0, 0.1]])
    vertices, triangles = primitives.height_field_surface(heights, (1.0, 2.0), 0.5)
    flat, area = face_normals(vertices, triangles)
    up = flat[:, 2] > 1e-9
    # the top has two triangles a cell, seen from above they cover the field
    assert up.sum() == 4
    assert (area[up] * flat[up, 2]).sum() == pytest.approx(2 * 4)
    assert (area[flat[:, 2] < -0.999]).sum() == pytest.approx(2 * 4)
    assert vertices[:, 2].min() == -0.5
    # closed: every edge is there once in each sense
    edges = np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]])
    forward = {tuple(e) for e in edges.tolist()}
    assert len(forward) == len(edges)
    assert forward == {(b, a) for a, b in forward}
    # the cell's diagonal runs from its near left to its far right corner, as in MuJoCo
    assert {0, 4} <= set(triangles[0].tolist()) & set(triangles[2].tolist()) or (0, 4) in forward
