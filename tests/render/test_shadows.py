"""Shadows: held to rays that try every triangle on their way to the light, and to MuJoCo's own."""

from dataclasses import replace

import numpy as np
import pytest

from render.moving import ALL, moving_scene, random_poses, worlds
from render.raycast import camera_axes, pixel_rays
from render.scenes import look, scene_of, shot, thing
from render.test_lighting import aimed
from render.test_mujoco import difference
from rollfilm import geometry
from rollfilm.engines.mujoco import MujocoEngine
from rollfilm.errors import InvalidArgumentError
from rollfilm.render import BatchRenderer, CameraRequest, RenderOptions, shadows
from rollfilm.scene import Headlight, Light
from rollfilm.scene.primitives import box, sphere

HEIGHT, WIDTH = 60, 80
CAMERA = look((1.3, -1.6, 1.2), (-0.1, 0, 0.15), fov_y_rad=0.5)
BLACK = {"ambient": (0.0, 0.0, 0.0), "specular": (0.0, 0.0, 0.0)}
SUN = Light(kind="directional", placement=aimed((0.6, 0.9, 1.5), (0, 0, 0)), diffuse=(0.5, 0.5, 0.5), **BLACK)
SPOT = Light(kind="spot", placement=aimed((0.9, 0.2, 1.6), (0, 0, 0)), diffuse=(0.5, 0.5, 0.5), **BLACK)
#: Always a sun and a spot, so that tests share a kernel.
NO_SUN, NO_SPOT = replace(SUN, diffuse=(0.0, 0.0, 0.0)), replace(SPOT, diffuse=(0.0, 0.0, 0.0))


def some_things(**options):
    """A ball in the air over a box that stands on the floor, and one that lies askew."""
    tilted = (0.9, 0.3, 0.2, 0.24)
    tilted = tuple(np.array(tilted) / np.linalg.norm(tilted))
    geoms = [
        thing(-1, 1, rgba=(1, 1, 1, 1)),
        thing(0, 2, (0.05, 0.05, 0.62), rgba=(1, 1, 1, 1)),
        thing(1, 3, (0, 0, 0.15), rgba=(1, 1, 1, 1)),
        thing(2, 4, (-0.5, -0.1, 0.2), tilted, rgba=(1, 1, 1, 1)),
    ]
    ball = sphere(0.16)
    ball = replace(ball, levels=(replace(ball.levels[3], error_m=0.0),))
    meshes = [ball, box((0.2, 0.15, 0.15)), box((0.1, 0.2, 0.03))]
    return scene_of(meshes, geoms, headlight=None, **options)


def all_triangles(scene):
    """Corners (T, 3, 3) of all meshes in the world; the bodies are at the origin."""
    corners = []
    for geom in scene.geoms:
        if geom.mesh >= 0:
            level = scene.meshes[geom.mesh].levels[0]
            rotation = geometry.matrix_from_quat(np.array(geom.quat_wxyz, float))
            corners.append((level.vertices.astype(float) @ rotation.T + np.array(geom.position))[level.triangles])
    return np.concatenate(corners)


def hidden(points, towards, corners):
    """Whether a triangle, whichever way it faces, lies on the way from points (N, 3) along ``towards`` (N, 3) up to its end."""
    a, ab, ac = corners[:, 0], corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    cross = np.cross(towards[:, None], ac[None])
    area = np.einsum("nti,ti->nt", cross, ab)
    with np.errstate(divide="ignore", invalid="ignore"):
        offset = points[:, None] - a[None]
        u = np.einsum("nti,nti->nt", offset, cross) / area
        turned = np.cross(offset, ab[None])
        v = np.einsum("nti,ni->nt", turned, towards) / area
        t = np.einsum("nti,ti->nt", turned, ac) / area
    return ((u >= 0) & (v >= 0) & (u + v <= 1) & (t > 1e-4) & (t < 1)).any(axis=1)


def lit_points(scene, light):
    """Of each pixel the share of light that it shows (NaN in the dark or background), and whether rays say that it is lit; the middle of
    those that are neither near a shadow's edge nor turned away."""
    picture = {on: shot(scene, CAMERA, HEIGHT, WIDTH, ALL, lod_pixels=0, shadows=on, shadow_map_size=512) for on in (False, True)}
    depth = picture[False]["depth_m"].reshape(-1)
    eye, _ = camera_axes(CAMERA)
    points = eye + pixel_rays(CAMERA, HEIGHT, WIDTH) * depth[:, None]
    plain = picture[False]["rgb"].reshape(-1, 3)[:, 0].astype(float)
    share = picture[True]["rgb"].reshape(-1, 3)[:, 0] / np.maximum(plain, 1)
    corners = all_triangles(scene)
    place = np.array(light.placement.position)
    direction = geometry.quat_rotate(np.array(light.placement.quat_wxyz), np.array([0, 0, -1.0]))
    towards = np.broadcast_to(-9 * direction, points.shape) if light.kind == "directional" else place - points
    toward = towards / np.linalg.norm(towards, axis=1, keepdims=True)
    right = np.cross(toward, [0.3, 0.5, 0.8])
    right /= np.linalg.norm(right, axis=1, keepdims=True)
    up = np.cross(toward, right)
    seen = (depth > 0) & (plain > 25)
    points, towards, toward, right, up = (array[seen] for array in (points, towards, toward, right, up))
    dark = hidden(points + 2e-3 * toward, towards, corners)
    sure = np.ones_like(dark)
    for x, y in ((1, 0), (-1, 0), (0, 1), (0, -1)):
        for lift in (2e-3, 1.2e-2):
            moved = points + lift * toward + 1e-2 * (x * right + y * up)
            sure &= hidden(moved, towards, corners) == dark
    return share[seen][sure], dark[sure], sure.mean()


@pytest.mark.parametrize("kind", ["sun", "spot", "point"])
def test_what_rays_to_the_light_meet_is_in_shadow(kind):
    lights = {"sun": (SUN, NO_SPOT), "spot": (NO_SUN, SPOT), "point": (NO_SUN, replace(SPOT, kind="point"))}[kind]
    share, dark, sure = lit_points(some_things(lights=lights), lights[kind != "sun"])
    assert sure > 0.8
    assert 0.05 < dark.mean() < 0.6
    np.testing.assert_array_equal(share, np.where(dark, 0.0, 1.0))


@pytest.mark.parametrize("size", [32, 90, 250])
def test_nothing_shades_itself_in_spots(size):
    """A ball and the top of a box alone in the light, at every level of detail: no lit place is darkened."""
    scene = scene_of(
        [sphere(0.3), box((0.2, 0.4, 0.1))],
        [thing(-1, 3), thing(0, 1, (0, 0, 0.31), rgba=(1, 1, 1, 1)), thing(1, 2, (0.8, 0, 0.11), rgba=(1, 1, 1, 1))],
        lights=(SUN, NO_SPOT),
        headlight=None,
    )
    camera = look((1.6, 1.8, 2.2), (0.3, 0, 0.2), fov_y_rad=0.8)
    taken = [shot(scene, camera, size, size, ALL, shadows=s) for s in (True, False)]
    on, off = (picture["rgb"][..., 0].astype(int) for picture in taken)
    lit = (off > 25) & (taken[0]["segmentation"] != 3)  # a fifth of the light and more
    assert lit.mean() > 0.05
    np.testing.assert_array_equal(on[lit], off[lit])


def test_edges_are_soft():
    """Between full light and none lie values between, a few texels wide."""
    scene = some_things(lights=(SUN, NO_SPOT))
    close = look((-0.2, -0.9, 0.5), (-0.2, -0.46, 0), fov_y_rad=0.3)
    coarse, fine = (
        shot(scene, close, 200, 200, ALL, lod_pixels=0, shadows=True, shadow_map_size=size)["rgb"][..., 0].astype(int)
        for size in (128, 1024)
    )
    between = [((p > 0.15 * p.max()) & (p < 0.85 * p.max())).mean() for p in (coarse, fine)]
    assert between[0] > 4 * between[1] > 0
    assert len(np.unique(coarse)) > 20


def test_a_lights_whole_share_goes_and_the_others_stay():
    """In shadow nothing of the light is left, its ambient and highlights neither; headlight and emission stay."""
    paint = {"rgba": (0.5, 0.6, 0.7, 1.0), "emission": 0.2, "specular": 0.7}
    geoms = [thing(-1, 1, **paint), thing(0, 2, (0, 0, 0.5), **paint)]
    head = Headlight(ambient=(0.1, 0.1, 0.1), diffuse=(0.2, 0.2, 0.2), specular=(0.1, 0.1, 0.1))
    sun = replace(SUN, placement=aimed((0, 0, 2), (0, 0, 0)), ambient=(0.2, 0.1, 0.3), specular=(0.4, 0.4, 0.4))
    camera = look((0, -2, 0.4), (0, 0, 0), fov_y_rad=0.3)
    scene = scene_of([box((0.5, 0.5, 0.02))], geoms, headlight=head, lights=(sun, NO_SPOT))
    with_sun, plain = (shot(scene, camera, 40, 40, ALL, shadows=on)["rgb"] for on in (True, False))
    without = shot(replace(scene, lights=(NO_SUN, NO_SPOT)), camera, 40, 40, ALL)["rgb"]
    casting_none = tuple(replace(light, cast_shadow=False) for light in scene.lights)
    no_cast = shot(replace(scene, lights=casting_none), camera, 40, 40, ALL, shadows=True)["rgb"]
    np.testing.assert_array_equal(with_sun[20, 20], without[20, 20])
    assert (plain[20, 20].astype(int) - with_sun[20, 20] > 20).all()
    np.testing.assert_array_equal(no_cast, plain)


@pytest.mark.parametrize("kind", ["sun", "spot"])
def test_planes_cast_shadows(kind):
    """What lies beyond a plane is dark: all of it behind an infinite one, its outline behind a table."""

    def alone(position, target):
        sun, spot = replace(SUN, placement=aimed(position, target)), replace(SPOT, placement=aimed(position, target))
        return (sun, NO_SPOT) if kind == "sun" else (NO_SUN, spot)

    scene = some_things(lights=alone((0.2, 0.1, -2), (0.0, 0.05, 0)))
    up = look((0.4, -1.5, 0.2), (0, 0, 0.4), fov_y_rad=0.8)
    assert not shot(scene, up, 40, 40, ALL, shadows=True)["rgb"].any()
    assert shot(scene, up, 40, 40, ALL)["rgb"].any()
    table = replace(thing(-1, 5, (0, 0, 0.5), rgba=(1, 1, 1, 1)), plane_half_size=(0.2, 0.1))
    floor = thing(0, 1, (0, 0, -0.1), rgba=(1, 1, 1, 1))
    scene = scene_of([box((2, 2, 0.1))], [floor, table], lights=alone((0, 0, 2.5), (0, 0, 0)), headlight=None)
    camera = look((0, -3, 0.45), (0, 0, 0), fov_y_rad=0.35)  # it sees the floor below the table
    on = shot(scene, camera, HEIGHT, WIDTH, ALL, shadows=True)
    point = camera_axes(camera)[0] + pixel_rays(camera, HEIGHT, WIDTH) * on["depth_m"].reshape(-1)[:, None]
    below = (on["segmentation"].reshape(-1) == 1) & (np.abs(point).max(axis=1) < 1) & (point[:, 2] > -1e-3)
    grown = 1.0 if kind == "sun" else 2.5 / 2.0
    inside = (np.abs(point[:, 0]) < 0.2 * grown) & (np.abs(point[:, 1]) < 0.1 * grown)
    np.testing.assert_array_equal(on["rgb"].reshape(-1, 3)[below, 0] == 0, inside[below])
    assert inside[below].sum() > 20


def test_what_fell_far_away_does_not_blur_the_others():
    lone = some_things(lights=(SUN, NO_SPOT))
    far = thing(1, 9, (300.0, 50.0, -900.0), rgba=(1, 1, 1, 1))
    sharp, blurred = (
        shot(scene, CAMERA, HEIGHT, WIDTH, ALL, shadows=True)["rgb"] for scene in (lone, replace(lone, geoms=(*lone.geoms, far)))
    )
    np.testing.assert_array_equal(sharp, blurred)


def test_hills_that_the_others_stand_on_do_not_blur_them():
    lone = some_things(lights=(SUN, NO_SPOT))
    hills = thing(len(lone.meshes), 9, (0.0, 0.0, -6.0), rgba=(1, 1, 1, 1))
    wide = replace(lone, meshes=(*lone.meshes, box((60.0, 60.0, 2.0))), geoms=(*lone.geoms, hills))
    sharp, blurred = (shot(scene, CAMERA, HEIGHT, WIDTH, ALL, shadows=True)["rgb"] for scene in (lone, wide))
    np.testing.assert_array_equal(sharp, blurred)


def test_shadows_follow_a_robot_that_walks_away():
    """Far from where the model began, shadows are as sharp."""
    scene = some_things(lights=(SUN, NO_SPOT))
    away = np.array([80.0, -50.0, 0.0])
    moved = replace(
        scene, geoms=tuple(replace(g, position=tuple(np.array(g.position) + (away if g.mesh >= 0 else 0))) for g in scene.geoms)
    )
    there = replace(CAMERA, placement=replace(CAMERA.placement, position=tuple(np.array(CAMERA.placement.position) + away)))
    near = shot(scene, CAMERA, HEIGHT, WIDTH, ALL, shadows=True)["rgb"].astype(int)
    far = shot(moved, there, HEIGHT, WIDTH, ALL, shadows=True)["rgb"].astype(int)
    assert (np.abs(near - far).max(axis=-1) > 8).mean() < 0.02  # pixels on edges


def pictures(source, options, **others):
    requests = [CameraRequest(name, 37, 90, ALL) for name in ("front", "above")]
    renderer = BatchRenderer(source.scene, source.num_worlds, requests, options=options, **others)
    frames = renderer.render(source)
    copies = {(name, output): getattr(frames[name], output).copy() for name in frames for output in ALL}
    renderer.close()
    return copies


NUM_WORLDS = 7
OPTIONS = RenderOptions(shadows=True, shadow_map_size=256)


@pytest.fixture(scope="module")
def poses():
    return random_poses(NUM_WORLDS, seed=5)


@pytest.fixture(scope="module")
def reference(poses):
    return pictures(worlds(poses, np.arange(NUM_WORLDS)), OPTIONS, num_threads=1)


@pytest.mark.parametrize("num_threads", [1, 3])
@pytest.mark.parametrize("count", [1, 2, 5])
def test_batch_size_slot_and_threads_change_no_shadow(poses, reference, count, num_threads):
    which = np.random.default_rng(count).permutation(NUM_WORLDS)[:count]
    for key, picture in pictures(worlds(poses, which), OPTIONS, num_threads=num_threads).items():
        np.testing.assert_array_equal(picture, reference[key][which], err_msg=str(key))


def test_worlds_in_groups_are_the_same(poses, reference, monkeypatch):
    monkeypatch.setattr(shadows, "CPU_BYTES", 2 * 2 * 4 * 256 * 272)  # two lights of two worlds
    for key, picture in pictures(worlds(poses, np.arange(NUM_WORLDS)), OPTIONS, num_threads=2).items():
        np.testing.assert_array_equal(picture, reference[key], err_msg=str(key))


def test_shadows_change_colors_and_nothing_else(poses, reference):
    plain = pictures(worlds(poses, np.arange(NUM_WORLDS)), RenderOptions())
    for key, picture in plain.items():
        assert np.array_equal(picture, reference[key]) == (key[1] != "rgb"), key


def test_memory_counts_maps():
    needed = {}
    for size in (None, 64, 1024):
        options = RenderOptions(shadows=size is not None, shadow_map_size=size)
        renderer = BatchRenderer(moving_scene(), 3, [CameraRequest("front", 8, 8)], num_threads=1, options=options)
        renderer.close()
        needed[size] = renderer.memory_plan.total_bytes
    # two lights in three worlds
    assert needed[1024] - needed[None] >= 3 * 2 * 4 * 1024**2
    assert 3 * 2 * 4 * 64**2 <= needed[64] - needed[None] < 3 * 2 * 4 * 128**2
    at_once = shadows.worlds_at_once(1000, 2, 1024, is_cuda=False)
    assert shadows.map_bytes(at_once, 2, 1024) <= shadows.CPU_BYTES


def test_each_size_of_picture_has_maps_of_its_own(poses):
    """A camera's shadows do not change with the cameras beside it, whatever their sizes."""
    source = worlds(poses, np.arange(NUM_WORLDS))
    requests = [CameraRequest("front", 20, 30), CameraRequest("above", 90, 120), CameraRequest("rider", 20, 30)]
    options = RenderOptions(shadows=True)
    assert shadows.map_side(options, 20, 30) != shadows.map_side(options, 90, 120)
    together = BatchRenderer(moving_scene(), NUM_WORLDS, requests, options=options)
    frames = together.render(source)
    for request in requests:
        alone = BatchRenderer(moving_scene(), NUM_WORLDS, [request], options=options)
        np.testing.assert_array_equal(frames[request.camera].rgb, alone.render(source)[request.camera].rgb)
        alone.close()
    together.close()


@pytest.mark.parametrize("wrong", [{"shadows": 1}, {"shadow_map_size": 32}, {"shadow_map_size": 1e3}, {"shadow_map_size": 10000}], ids=str)
def test_wrong_options_are_refused(wrong):
    with pytest.raises(InvalidArgumentError, match=next(iter(wrong))):
        RenderOptions(**wrong)


def test_worlds_that_are_left_out_keep_their_pictures(poses, reference):
    """A call that films some worlds draws the shadows of those alone."""
    request = CameraRequest("front", 37, 90, ALL)
    renderer = BatchRenderer(moving_scene(), NUM_WORLDS, [request], options=OPTIONS)
    renderer.render(worlds(poses, np.arange(NUM_WORLDS)))
    others = random_poses(NUM_WORLDS, seed=6)
    mask = np.arange(NUM_WORLDS) % 3 == 1
    frame = renderer.render(worlds(others, np.arange(NUM_WORLDS)), worlds=mask)["front"].rgb.copy()
    fresh = pictures(worlds(others, np.flatnonzero(mask)), OPTIONS)["front", "rgb"]
    renderer.close()
    np.testing.assert_array_equal(frame[~mask], reference["front", "rgb"][~mask])
    np.testing.assert_array_equal(frame[mask], fresh)


MODEL = """
<mujoco>
  <visual><map shadowscale="1" shadowclip="2"/><headlight ambient=".2 .2 .2" diffuse=".2 .2 .2" specular="0 0 0"/></visual>
  <asset>
    <texture name="squares" type="2d" builtin="checker" rgb1=".2 .3 .4" rgb2=".8 .7 .6" width="128" height="128"/>
    <material name="squares" texture="squares" texrepeat="3 3" texuniform="true"/>
  </asset>
  <worldbody>
    <light pos="0 0 3" dir=".4 .3 -1" directional="true" diffuse=".4 .4 .4"/>
    <light pos="-1 -1.2 2" dir=".5 .6 -1" cutoff="40" exponent="2" diffuse=".6 .5 .4"/>
    <geom type="plane" size="2 2 .1" material="squares"/>
    <geom type="box" size=".3 .2 .02" pos="0 0 .4" rgba=".9 .3 .2 1"/>
    <geom type="box" size=".02 .02 .2" pos=".25 .15 .2" rgba=".9 .3 .2 1"/>
    <geom size=".12" pos="-.1 0 .54" rgba=".2 .7 .3 1"/>
    <geom type="capsule" size=".05" fromto=".5 -.3 .1 .3 -.5 .6" rgba=".3 .4 .9 1"/>
    <geom type="cylinder" size=".15 .2" pos="-.6 .2 .2" rgba=".7 .2 .8 1"/>
    <camera name="front" pos=".3 -2 1.4" xyaxes="1 .1 0 0 .6 1"/>
  </worldbody>
</mujoco>
"""


def test_shadows_are_those_of_mujoco(mujoco_picture):
    engine = MujocoEngine(MODEL, 1)
    want = mujoco_picture(engine.model, "front", 240, 320, effects=("SHADOW",))
    taken = {}
    for on in (True, False):
        options = RenderOptions(shadows=on)
        renderer = BatchRenderer(engine.scene, 1, [CameraRequest("front", 240, 320, ALL)], options=options)
        taken[on] = renderer.render(engine)["front"].rgb[0].copy()
        renderer.close()
    engine.close()
    # nearly all of it at edges, which MuJoCo smooths
    assert difference(taken[True], want) < 1.5
    wrong = {
        "none": taken[False],
        "two pixels to the right": np.roll(taken[True], 2, axis=1),
        "half as dark": ((taken[True].astype(int) + taken[False]) // 2).astype(np.uint8),
        "red and blue swapped": taken[True][..., ::-1],
    }
    for what, picture in wrong.items():
        assert difference(picture, want) > 2.0, what
