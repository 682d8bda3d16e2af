"""Lenses that bend straight lines: held to OpenCV's formulas, and to a ray caster along the rays that these give."""

import math
from dataclasses import replace

import numpy as np
import pytest

from render.moving import moving_scene, random_poses, worlds
from render.raycast import camera_axes, geom_depths
from render.scenes import look, scene_of, shot, still, thing
from render.test_outputs import EVERY
from render.test_visibility import soup
from rollfilm.errors import InvalidArgumentError
from rollfilm.render import BatchRenderer, CameraRequest, RenderOptions, WorldLooks
from rollfilm.scene import Camera, Fog, Placement
from rollfilm.scene.distortion import pixel_directions
from rollfilm.scene.primitives import box

SIZE = (36, 48)
EYE = look((1.1, -0.9, 0.7), (0.0, 0.1, 0.0))
BARREL = {"fx": 30.0, "fy": 26.0, "cx": 22.0, "cy": 19.0, "distortion": (-0.12, 0.02, 0.004, -0.003, 0.001)}
CUSHION = {"fx": 40.0, "distortion": (0.15, 0.03, -0.002, 0.002, 0.0)}
FISHEYE = {"fx": 26.0, "fy": 24.0, "cx": 25.0, "cy": 17.0, "fisheye": (0.02, -0.006, 0.003, -0.0005)}
WIDE = {"fx": 13.0, "fisheye": (0.0, 0.0, 0.0, 0.0)}  # 212 degrees across
LENSES = {"barrel": BARREL, "cushion": CUSHION, "fisheye": FISHEYE, "wide": WIDE}


def bent(name: str, camera: Camera = EYE) -> Camera:
    return replace(camera, name=name, **LENSES[name])


def seen_at(camera: Camera, point: np.ndarray) -> np.ndarray:
    """Column and row (..., 2), from the outer corner, of points (..., 3) in OpenCV's axes: OpenCV's documented formulas."""
    height, width = SIZE
    fy = camera.fx if camera.fy is None else camera.fy
    cx, cy = width / 2 if camera.cx is None else camera.cx, height / 2 if camera.cy is None else camera.cy
    x, y, z = np.moveaxis(point, -1, 0)
    if camera.fisheye is not None:
        radius = np.hypot(x, y)
        theta = np.arctan2(radius, z)
        bent = theta * (1 + sum(k * theta ** (2 * i + 2) for i, k in enumerate(camera.fisheye)))
        x, y = (np.divide(bent * axis, radius, out=np.zeros_like(axis), where=radius > 0) for axis in (x, y))
    else:
        k1, k2, p1, p2, k3 = camera.distortion
        u, v = x / z, y / z
        r2 = u**2 + v**2
        radial = 1 + k1 * r2 + k2 * r2**2 + k3 * r2**3
        x = u * radial + 2 * p1 * u * v + p2 * (r2 + 2 * u**2)
        y = v * radial + p1 * (r2 + 2 * v**2) + 2 * p2 * u * v
    return np.stack([camera.fx * x + cx, fy * y + cy], axis=-1)


def pixel_centres():
    columns, rows = np.meshgrid(np.arange(SIZE[1]) + 0.5, np.arange(SIZE[0]) + 0.5)
    return np.stack([columns, rows], axis=-1)


@pytest.mark.parametrize("name", LENSES)
def test_rays_are_seen_at_their_pixels(name):
    camera = bent(name)
    directions = pixel_directions(camera, *SIZE)
    np.testing.assert_allclose(np.linalg.norm(directions, axis=-1), 1)
    np.testing.assert_allclose(seen_at(camera, directions * (1, -1, -1)), pixel_centres(), atol=1e-6)
    assert (name == "wide") == (directions[..., 2].max() > 0)


def cast_bent(scene, camera):
    """Ids (H, W), distances along the rays, whether another geom is less than a pixel away, and how much distances differ there."""
    ids = np.array([geom.source_id for geom in scene.geoms])
    _, axes = camera_axes(camera)

    def look_at(right, down):
        fx, fy, cx, cy = camera.intrinsics(*SIZE)
        moved = replace(camera, fx=fx, fy=fy, cx=cx - right, cy=cy - down)
        rays = pixel_directions(moved, *SIZE).reshape(-1, 3) @ axes.T
        distances = geom_depths(replace(scene, near_m=1e-9), camera, rays)
        distance = distances.min(axis=0)
        return np.where(np.isfinite(distance), ids[distances.argmin(axis=0)], -1), np.where(np.isfinite(distance), distance, 0.0)

    seen, distance = look_at(0, 0)
    edge, spread = np.zeros(len(seen), bool), np.zeros(len(seen))
    for right in (-0.75, 0, 0.75):
        for down in (-0.75, 0, 0.75):
            other, other_distance = look_at(right, down)
            edge |= other != seen
            spread = np.maximum(spread, np.abs(other_distance - distance))
    return (array.reshape(SIZE) for array in (seen, distance, edge, spread))


@pytest.mark.parametrize("name", LENSES)
def test_bent_lenses_see_what_rays_see(name):
    scene = soup(0, count=8, most=120)
    camera = bent(name)
    got = shot(scene, camera, *SIZE, EVERY, lod_pixels=0)
    seen, distance, edge, spread = cast_bent(scene, camera)
    clear = ~edge
    assert clear.mean() > 0.5
    assert len(np.unique(seen[clear])) > 3
    np.testing.assert_array_equal(got["geom_id"][clear], seen[clear])
    wrong = np.abs(got["ray_distance_m"] - distance)[clear]
    assert (wrong <= 2e-5 * distance[clear] + spread[clear]).all()
    # off by half a pixel at edges, not by more
    assert (got["geom_id"] == seen).mean() > 0.93


@pytest.mark.parametrize("name", LENSES)
def test_what_is_flat_is_met_exactly(name):
    # a big box: four walls, whose triangles are much larger than a pixel
    scene = scene_of([box((0.5, 0.5, 0.5))], [thing(-1, 1, (0, 0, -0.6)), thing(0, 2)])
    camera = bent(name)
    got = shot(scene, camera, *SIZE, EVERY, lod_pixels=0)
    seen, distance, _, _ = cast_bent(scene, camera)
    same = got["geom_id"] == seen
    assert same.mean() > 0.95
    inside = same & (np.abs(got["normal_world"]).max(axis=-1) > 0.999)
    close = np.abs(got["ray_distance_m"] - distance)[inside] <= 2e-5 * distance[inside]
    # where two walls of the box meet the nearest pixel of a face may show the other wall
    assert close.mean() > 0.98
    points = got["position_world_m"][got["geom_id"] == 1]
    np.testing.assert_allclose(points[:, 2], -0.6, atol=1e-4)
    eye, axes = camera_axes(camera)
    there = got["geom_id"] >= 0
    in_cv = ((got["position_world_m"] - eye) @ axes * (1, -1, -1))[there].astype(float)
    np.testing.assert_allclose(seen_at(camera, in_cv), pixel_centres()[there], atol=5e-3)
    np.testing.assert_allclose(in_cv[:, 2], got["depth_m"][there], atol=2e-5, rtol=2e-5)


@pytest.mark.parametrize("shadows", [False, True])
def test_a_lens_that_does_not_bend_is_a_pinhole(shadows):
    scene = moving_scene()
    front = replace(scene.camera("front"), fx=40.0, cx=20.0, cy=18.0)
    source = worlds(random_poses(2), [0, 1])
    pictures = []
    for camera in (front, replace(front, distortion=(0.0, 0.0, 0.0, 0.0, 0.0))):
        renderer = BatchRenderer(scene, 2, [CameraRequest(camera, *SIZE, EVERY)], options=RenderOptions(shadows=shadows))
        frames = renderer.render(source)["front"]
        pictures.append({output: getattr(frames, output).astype(float) for output in EVERY})
        renderer.close()
    plain, straight = pictures
    assert (plain["geom_id"] == straight["geom_id"]).mean() > 0.98
    same = plain["geom_id"] == straight["geom_id"]
    assert (np.abs(plain["rgb"] - straight["rgb"]).max(axis=-1)[same] <= 3).mean() > 0.97
    assert np.isclose(plain["depth_m"], straight["depth_m"], rtol=1e-4)[same].mean() > 0.97
    assert (np.abs(plain["normal_camera"] - straight["normal_camera"]).max(axis=-1)[same] < 0.02).mean() > 0.95


def test_fog_grows_with_the_distance_along_the_ray():
    scene = replace(moving_scene(), fog=Fog((0.5, 0.6, 0.7), 1.0, 4.0))
    camera = bent("fisheye", scene.camera("front"))
    source = worlds(random_poses(1), [0])
    clear, foggy = (shot(scene, camera, *SIZE, EVERY, source=source, fog=fog) for fog in (False, True))
    there = clear["geom_id"] >= 0
    part = np.clip((4.0 - clear["ray_distance_m"]) / 3.0, 0, 1)[..., None]
    want = 255 * np.array((0.5, 0.6, 0.7)) * (1 - part) + part * clear["rgb"]
    assert np.abs(foggy["rgb"] - want)[there].max() <= 1.5
    assert (part[there] < 0.9).any()


def test_batch_size_slot_threads_and_other_outputs_change_nothing():
    scene = moving_scene()
    cameras = [bent(name, scene.camera("front")) for name in ("barrel", "wide")]

    def filmed(which, outputs=EVERY, **options):
        source = worlds(random_poses(4, 3), which)
        renderer = BatchRenderer(scene, len(which), [CameraRequest(camera, *SIZE, outputs) for camera in cameras], **options)
        frames = renderer.render(source)
        copies = {(name, output): getattr(frames[name], output).copy() for name in frames for output in outputs}
        again = renderer.render(source)
        for (name, output), picture in copies.items():
            np.testing.assert_array_equal(getattr(again[name], output), picture)
        renderer.close()
        return copies

    whole = filmed([0, 1, 2, 3])
    assert len(np.unique(whole["wide", "rgb"])) > 50
    for which, options in (([2], {"num_threads": 3}), ([3, 1], {"num_threads": 1}), ([1, 0, 3], {"outputs": ("rgb",)})):
        for key, picture in filmed(which, **options).items():
            np.testing.assert_array_equal(picture, whole[key][which])


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"samples": 4}, "samples=4"),
        ({"reflections": True}, "reflections"),
        ({"samples": 16, "reflections": True}, "samples=16 and reflections"),
    ],
)
def test_what_a_bent_lens_does_not_show_is_refused(options, what):
    requests = [CameraRequest(camera, *SIZE) for camera in (EYE, bent("barrel"))]
    with pytest.raises(InvalidArgumentError, match=f"camera 'barrel': {what} came with a lens that bends"):
        BatchRenderer(soup(0, count=8, most=120), 1, requests, options=RenderOptions(**options))


@pytest.mark.parametrize(
    ("lens", "message"),
    [
        ({"distortion": (0.0,) * 5}, "distortion came without fx"),
        ({"fisheye": (0.0,) * 4, "extent_y_m": 1.0}, "fisheye came without fx"),
        ({"fx": 9.0, "distortion": (0.0,) * 5, "fisheye": (0.0,) * 4}, "came together"),
        ({"fx": 9.0, "distortion": (0.0,) * 4}, "is 5 finite numbers"),
        ({"fx": 9.0, "fisheye": (0.0, math.nan, 0.0, 0.0)}, "is 4 finite numbers"),
    ],
)
def test_lenses_that_are_none_are_refused(lens, message):
    with pytest.raises(InvalidArgumentError, match=f"camera 'odd'.*{message}"):
        Camera("odd", Placement(), **lens)


@pytest.mark.parametrize(
    "lens",
    [
        {"fx": 20.0, "distortion": (-0.5, 0.0, 0.0, 0.0, 0.0)},  # folds back inside the picture
        {"fx": 20.0, "distortion": (0.0, 0.0, 2.0, 0.0, 0.0)},
        {"fx": 6.0, "fisheye": (0.0, 0.0, 0.0, 0.0)},  # corners beyond 180 degrees from the axis
        {"fx": 20.0, "fisheye": (-0.3, 0.0, 0.0, 0.0)},
    ],
    ids=str,
)
def test_coefficients_that_do_not_hold_over_the_picture_are_refused(lens):
    with pytest.raises(
        InvalidArgumentError, match=r"camera 'odd': its (distortion|fisheye) has no single ray for \d+ pixels, the first in row"
    ):
        BatchRenderer(moving_scene(), 1, [CameraRequest(Camera("odd", **lens), *SIZE)])


def test_worlds_share_a_bent_lens():
    camera = bent("barrel")
    renderer = BatchRenderer(moving_scene(), 2, [CameraRequest(camera, *SIZE)])
    with pytest.raises(InvalidArgumentError, match="'barrel', whose lens bends straight lines; all worlds share such a lens"):
        renderer.set_looks(WorldLooks(camera_fov_y_rad={"barrel": np.float32([0.5, 0.6])}))
    renderer.close()


def test_any_size():
    scene = scene_of([box((0.5, 0.5, 0.5))], [thing(-1, 1, (0, 0, -0.6)), thing(0, 2)])
    for size in ((1, 1), (1, 7), (5, 1)):
        renderer = BatchRenderer(scene, 1, [CameraRequest(replace(EYE, fx=5.0, fisheye=(0.0,) * 4), *size, EVERY)])
        frame = renderer.render(still(scene))["eye"]
        assert frame.rgb.shape == (1, *size, 3)
        assert (frame.geom_id >= 1).any()
        renderer.close()
