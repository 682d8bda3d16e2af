"""Closed surfaces have no holes, whatever their triangles: every pixel whose ray passes well inside is covered."""

import numpy as np
import pytest

from render.raycast import camera_axes, pixel_rays, rays_inside_sphere
from render.scenes import film, look, scene_of, shot, thing, triangles
from rollfilm.scene.primitives import sphere


def test_a_fine_sphere_has_no_hole():
    mesh = sphere(0.5)
    corners = mesh.levels[0].vertices.astype(float)[mesh.levels[0].triangles]
    assert len(corners) > 10_000
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    inner = (np.einsum("ti,ti->t", normal, corners[:, 0]) / np.linalg.norm(normal, axis=1)).min()
    random = np.random.default_rng(0)
    eyes = random.normal(size=(24, 3))
    eyes *= random.uniform(0.52, 3.0, (24, 1)) / np.linalg.norm(eyes, axis=1, keepdims=True)
    cameras = [look(eye, random.uniform(-0.2, 0.2, 3), f"eye{i}", 0.9) for i, eye in enumerate(eyes)]
    pictures = film(scene_of([mesh], [thing(0, 1)]), cameras, 64, 80, lod_pixels=0)
    for camera in cameras:
        inside = rays_inside_sphere(camera, 64, 80, inner * (1 - 1e-6))
        assert inside.sum() > 100
        assert (pictures[camera.name]["segmentation"][0][inside] == 1).all(), camera.name


def slivers(count: int, seed: int):
    """A wall of 4 x 4 m in the plane y = 0, seen from -y, cut into triangles by random lines from top to bottom."""
    random = np.random.default_rng(seed)
    top, bottom = (np.concatenate([[-2.0], np.sort(random.uniform(-2, 2, count)), [2.0]]) for _ in range(2))
    vertices = np.concatenate([np.stack([x, np.zeros_like(x), np.full_like(x, z)], axis=1) for x, z in ((top, 2.0), (bottom, -2.0))])
    n = count + 2
    i = np.arange(n - 1)
    faces = np.concatenate([np.stack([i, i + n, i + 1], axis=1), np.stack([i + 1, i + n, i + n + 1], axis=1)])
    return triangles(vertices, faces)


def wall_shots(count: int):
    """Pictures of the wall from near by, with the pixels that it covers and its true depth there."""
    scene = scene_of([slivers(count, 0)], [thing(0, 1)], near_m=0.01)
    random = np.random.default_rng(1)
    for _ in range(16):
        target = np.array([random.uniform(-0.6, 0.6), 0.0, random.uniform(-0.6, 0.6)])
        eye = target + random.uniform((-0.5, -1.4, -0.5), (0.5, -0.05, 0.5))
        camera = look(eye, target, fov_y_rad=0.6)
        rays = pixel_rays(camera, 96, 96)
        depth = -eye[1] / np.where(rays[:, 1] > 0, rays[:, 1], 1e-9)
        wall = ((rays[:, 1] > 0) & (np.abs(eye + depth[:, None] * rays).max(axis=1) < 1.999)).reshape(96, 96)
        yield shot(scene, camera, 96, 96), wall, depth.reshape(96, 96)


@pytest.mark.parametrize("count", [10, 3000])
def test_a_wall_of_slivers_has_no_hole(count):
    covered = 0
    for seen, wall, _ in wall_shots(count):
        assert (seen["segmentation"][wall] == 1).all()
        # never beyond the corners of the wall
        assert seen["depth_m"].max() < 5
        covered += wall.sum()
    assert covered > 100_000


@pytest.mark.parametrize(("count", "error"), [pytest.param(10, 1e-4, id="wide"), pytest.param(3000, 1e-3, id="slivers")])
def test_the_depth_of_a_wall_does_not_depend_on_its_triangles(count, error):
    for seen, wall, depth in wall_shots(count):
        np.testing.assert_allclose(seen["depth_m"][wall], depth[wall], rtol=error)


def test_a_floor_that_is_cut_at_the_near_plane_has_no_hole():
    # 60 x 60 squares around the camera, most of them across the near plane or behind
    n = 61
    x, y = np.meshgrid(np.linspace(-1, 1, n), np.linspace(-1, 1, n))
    random = np.random.default_rng(2)
    inner = (np.abs(x) < 0.99) & (np.abs(y) < 0.99)
    x, y = (v + inner * random.uniform(-0.01, 0.01, v.shape) for v in (x, y))
    i = (np.arange(n - 1)[:, None] * n + np.arange(n - 1)).ravel()
    faces = np.concatenate([np.stack([i, i + 1, i + n], axis=1), np.stack([i + 1, i + n + 1, i + n], axis=1)])
    mesh = triangles(np.stack([x.ravel(), y.ravel(), np.zeros(n * n)], axis=1), faces)
    scene = scene_of([mesh], [thing(0, 1)], near_m=0.05)
    for turn in np.linspace(0, 6, 9):
        camera = look((0.013, 0.007, 0.04), (0.013 + 0.02 * np.cos(turn), 0.007 + 0.02 * np.sin(turn), 0.03), fov_y_rad=1.2)
        seen = shot(scene, camera, 90, 90)["segmentation"]
        rays = pixel_rays(camera, 90, 90)
        with np.errstate(divide="ignore"):
            depth = np.where(rays[:, 2] < 0, -0.04 / rays[:, 2], np.inf)
        meets = np.abs(camera_axes(camera)[0] + np.where(np.isfinite(depth), depth, 0)[:, None] * rays)[:, :2].max(axis=1) < 0.999
        floor = (np.isfinite(depth) & meets & (depth > 0.05 * (1 + 1e-5))).reshape(90, 90)
        assert floor.sum() > 1000
        assert (seen[floor] == 1).all()
