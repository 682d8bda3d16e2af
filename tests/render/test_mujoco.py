"""Pictures of MuJoCo models: ids and depth held to MuJoCo's rays, colors to MuJoCo's own renderer."""

import numpy as np
import pytest

from render.raycast import camera_axes, pixel_rays
from render.scenes import SHAPE, look
from rollfilm import geometry
from rollfilm.engines.mujoco import MujocoEngine
from rollfilm.render import BatchRenderer, CameraRequest, RenderOptions
from rollfilm.scene import Camera, Placement

mujoco = pytest.importorskip("mujoco")

MIXED = """
<mujoco>
  <visual><headlight ambient=".2 .2 .2" diffuse=".4 .4 .4" specular=".3 .3 .3"/></visual>
  <asset>
    <texture name="sky" type="skybox" builtin="gradient" rgb1=".3 .5 .7" rgb2=".8 .3 .2" width="64" height="384"/>
    <texture name="squares" type="2d" builtin="checker" rgb1=".2 .3 .4" rgb2=".8 .7 .6" width="128" height="128"/>
    <material name="squares" texture="squares" texrepeat="3 3" texuniform="true"/>
    <mesh name="wedge" vertex="0 0 0 .4 0 0 0 .3 0 0 0 .5"/>
    <hfield name="hills" nrow="4" ncol="5" elevation="0 .2 .3 0 .1  .5 1 .4 .2 .6  0 .1 0 .7 .3  .2 .4 .1 0 .2" size=".4 .3 .2 .05"/>
  </asset>
  <worldbody>
    <light pos="0 0 3" dir=".2 .3 -1" directional="true" diffuse=".4 .4 .4"/>
    <light pos="-1 -1.5 2" dir=".5 .7 -1" cutoff="40" exponent="5" diffuse=".5 .4 .3"/>
    <geom name="floor" type="plane" size="2 1.5 .1" material="squares"/>
    <geom name="hills" type="hfield" hfield="hills" pos="-.9 .7 .06" rgba=".5 .6 .3 1"/>
    <body pos="0 0 .5" euler="10 20 30"><freejoint/><geom name="box" type="box" size=".1 .2 .15" rgba=".9 .3 .2 1"/>
      <geom name="inner" type="box" size=".05 .05 .05" group="3"/></body>
    <body pos=".6 .3 .4"><freejoint/><geom name="ball" size=".2" rgba=".2 .7 .3 1"/></body>
    <body pos="-.6 -.2 .3" euler="0 70 20"><freejoint/><geom name="can" type="cylinder" size=".12 .2" rgba=".3 .4 .9 1"/></body>
    <body pos=".5 -.4 .3" euler="30 0 80"><freejoint/><geom name="pill" type="capsule" size=".08 .2" rgba=".8 .8 .1 1"/></body>
    <body pos="-.2 .6 .5" euler="50 10 0"><freejoint/><geom name="egg" type="ellipsoid" size=".1 .2 .25" rgba=".7 .2 .8 1"/></body>
    <body pos=".1 -.5 .1" euler="0 0 40"><freejoint/><geom name="wedge" type="mesh" mesh="wedge" rgba=".2 .8 .8 1"/></body>
    <camera name="front" pos=".3 -2 1.2" xyaxes="1 .1 0 0 .5 1"/>
    <camera name="side" pos="2 1 .7" xyaxes="-.5 1 0 -.2 0 1"/>
  </worldbody>
</mujoco>
"""
HEIGHT, WIDTH = 36, 48


@pytest.fixture(scope="module")
def mixed():
    engine = MujocoEngine(MIXED, num_worlds=1)
    yield engine
    engine.close()


def rays_of_mujoco(model, data, camera, right=0.0, down=0.0):
    """Ids and depths (H, W) along the rays through pixel centres, moved by a part of a pixel."""
    eye, _ = camera_axes(camera)
    groups = np.array([1, 1, 1, 0, 0, 0], np.uint8)
    ids, depths = [], []
    for ray in pixel_rays(camera, HEIGHT, WIDTH, right, down):
        hit = np.full(1, -1, np.int32)
        # distances come in lengths of the ray, which is one metre of depth
        depths.append(mujoco.mj_ray(model, data, eye, ray, groups, 1, -1, hit))
        ids.append(hit[0])
    return np.array(ids).reshape(HEIGHT, WIDTH), np.array(depths).reshape(HEIGHT, WIDTH)


@pytest.mark.parametrize("name", ["front", "side"])
def test_ids_and_depth_are_those_of_mujocos_rays(mixed, name):
    camera = mixed.scene.camera(name)
    renderer = BatchRenderer(mixed.scene, 1, [CameraRequest(name, HEIGHT, WIDTH, SHAPE)], options=RenderOptions(lod_pixels=0))
    frame = renderer.render(mixed)[name]
    renderer.close()
    data = mixed.world_data(0)
    ids, depth = rays_of_mujoco(mixed.model, data, camera)
    clear = np.ones_like(ids, bool)
    for right, down in ((-0.1, -0.1), (-0.1, 0.1), (0.1, -0.1), (0.1, 0.1)):
        clear &= rays_of_mujoco(mixed.model, data, camera, right, down)[0] == ids
    assert clear.mean() > 0.9
    assert len(np.unique(ids[clear])) >= 7
    np.testing.assert_array_equal(frame.segmentation[0][clear], ids[clear])
    hit = clear & (ids >= 0)
    # curved surfaces are made of triangles
    np.testing.assert_allclose(frame.depth_m[0][hit], depth[hit], rtol=1e-3)


@pytest.mark.parametrize("distance", [0.3, 2.0])
def test_depth_is_planar_and_right_to_a_tenth_of_a_millimetre(distance):
    """A wall square to the optical axis has one depth everywhere, however far from the middle of the picture; a floor has its own."""
    wall = f'<geom name="wall" type="box" size="9 .1 9" pos="0 {distance + 0.1} 0"/>'
    near = '<visual><map znear="0.001"/></visual>'
    engine = MujocoEngine(f'<mujoco>{near}<worldbody><geom type="plane" size="0 0 .1" pos="0 0 -.2"/>{wall}</worldbody></mujoco>', 1)
    camera = look((0, 0, 0), (0, 1, 0), fov_y_rad=1.6)
    renderer = BatchRenderer(engine.scene, 1, [CameraRequest(camera, 60, 80, SHAPE)])
    frame = renderer.render(engine)["eye"]
    depth, ids = frame.depth_m[0], frame.segmentation[0]
    renderer.close()
    engine.close()
    down = -pixel_rays(camera, 60, 80)[:, 2].reshape(60, 80)
    with np.errstate(divide="ignore"):
        floor = np.where(down > 0, 0.2 / down, np.inf)
    np.testing.assert_array_equal(ids == 0, floor < distance)
    assert np.abs(depth - np.minimum(floor, distance)).max() < 1e-4
    assert (ids == 0).any()
    assert (ids[0] == 1).all()


def test_depth_of_a_tilted_face_off_the_middle():
    quat = geometry.look_at_quat_wxyz(np.array([0.4, -1.0, 0.7]), np.array([-0.3, 0.5, 0.2]))
    camera = Camera("eye", Placement(position=(0.4, -1.0, 0.7), quat_wxyz=tuple(map(float, quat))), 1.2)
    engine = MujocoEngine('<mujoco><worldbody><geom type="box" size="3 .1 3" pos="0 .6 0" euler="10 0 25"/></worldbody></mujoco>', 1)
    renderer = BatchRenderer(engine.scene, 1, [CameraRequest(camera, HEIGHT, WIDTH, SHAPE)])
    depth = renderer.render(engine)["eye"].depth_m[0]
    renderer.close()
    ids, want = rays_of_mujoco(engine.model, engine.world_data(0), camera)
    engine.close()
    assert (ids == 0).mean() > 0.9
    assert np.abs(depth - want)[ids == 0].max() < 1e-4


#: Mean difference of a channel from MuJoCo's own picture, in 255ths: 1.0 was measured, nearly all of it at edges, which MuJoCo smooths.
MOST_DIFFERENT = 2.0


def difference(got, want) -> float:
    """The largest of the channels' mean differences: a channel that is wrong is not averaged away by two that are right."""
    return float(np.abs(got.astype(int) - want.astype(int)).mean(axis=(0, 1)).max())


@pytest.mark.parametrize("name", ["front", "side"])
def test_colors_are_those_of_mujocos_renderer(mixed, mujoco_picture, name):
    want = mujoco_picture(mixed.model, name, 120, 160)
    renderer = BatchRenderer(mixed.scene, 1, [CameraRequest(name, 120, 160)])
    got = renderer.render(mixed)[name].rgb[0].copy()
    renderer.close()
    assert difference(got, want) < MOST_DIFFERENT
    wrong = {
        "black": np.zeros_like(got),
        "red and blue swapped": got[..., ::-1],
        "upside down": got[::-1],
        "left and right swapped": got[:, ::-1],
        "a pixel to the right": np.roll(got, 1, axis=1),
        "a twentieth darker": (0.95 * got).astype(np.uint8),
        "no green": got * np.array([1, 0, 1], np.uint8),
    }
    for what, picture in wrong.items():
        assert difference(picture, want) > MOST_DIFFERENT, what


def test_mirrored_and_degenerate_meshes_are_right_side_out(mujoco_picture):
    """A negative scale turns triangles inside out unless their corners are turned too; a triangle without area is nothing."""
    faces = "0 2 1 0 1 3 0 3 2 1 2 3 1 1 2"
    scales = ("1 1 1", "-1 1 1", "1 -1 1.5", "-1 -1 -1", "-1 -1 1")
    meshes = "".join(
        f'<mesh name="m{i}" vertex="0 0 0 .4 0 0 0 .3 0 0 0 .5" face="{faces}" scale="{scale}" inertia="shell"/>'
        for i, scale in enumerate(scales)
    )
    geoms = "".join(f'<geom type="mesh" mesh="m{i}" pos="{i - 2} 0 0" euler="20 30 40" rgba=".7 .5 .3 1"/>' for i in range(len(scales)))
    xml = f"""<mujoco><visual><quality offsamples="0"/></visual><statistic center="0 0 0" extent="3"/><asset>{meshes}</asset><worldbody>
      <light pos="1 -3 4" dir="-.2 .6 -1" directional="true"/>{geoms}<camera name="front" pos="0 -3 2" xyaxes="1 0 0 0 .55 .83"/>
    </worldbody></mujoco>"""
    engine = MujocoEngine(xml, 1)
    want = mujoco_picture(engine.model, "front", 120, 320)
    renderer = BatchRenderer(
        engine.scene, 1, [CameraRequest("front", 120, 320, ("rgb", "segmentation"))], options=RenderOptions(lod_pixels=0)
    )
    frame = renderer.render(engine)["front"]
    got, ids = frame.rgb[0].copy(), frame.segmentation[0].copy()
    renderer.close()
    engine.close()
    assert set(np.unique(ids)) == {-1, 0, 1, 2, 3, 4}
    assert (np.abs(got.astype(int) - want).max(axis=-1) > 6).mean() < 0.01
