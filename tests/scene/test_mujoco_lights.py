"""Cameras and lights of MuJoCo models: their places are MuJoCo's own for random poses."""

import math

import numpy as np
import pytest

from rollfilm import geometry
from rollfilm.scene import Follow, Placement, world_pose
from rollfilm.scene.mujoco import load_model, load_scene

mujoco = pytest.importorskip("mujoco")

MODES = ("fixed", "track", "trackcom", "targetbody", "targetbodycom")


def views(what, more=""):
    target = {"targetbody": 'target="other"', "targetbodycom": 'target="other"'}
    return "".join(f'<{what} name="{mode}" mode="{mode}" pos=".3 -.4 .5" {more} {target.get(mode, "")}/>' for mode in MODES)


MODEL = f"""<mujoco><worldbody>
  <body name="arm" pos="0 0 1"><freejoint/><geom size=".1" pos=".1 0 0"/>
    <body name="hand" pos=".5 0 0" euler="50 20 -70"><joint type="ball"/><geom type="box" size=".1 .2 .1" pos="0 .3 0"/>
      {views("camera", 'euler="20 30 40"')} {views("light", 'dir="1 2 -1"')}</body></body>
  <body name="other" pos="2 1 0"><freejoint/><geom size=".1"/>
    <body pos="0 0 .4"><joint axis="1 0 0"/><geom type="capsule" size=".05 .3" pos="0 .3 0"/></body></body>
  <camera pos="1 1 1"/>
</worldbody></mujoco>"""


@pytest.fixture(scope="module")
def posed():
    """The model and its data in 20 random poses, as body poses (B, bodies, ...) and MuJoCo's cameras and lights."""
    model = load_model(MODEL)
    data = mujoco.MjData(model)
    random = np.random.default_rng(0)
    names = ("xpos", "xquat", "cam_xpos", "cam_xmat", "light_xpos", "light_xdir", "subtree_com")
    poses = {name: [] for name in names}
    for _ in range(20):
        data.qpos[:] = random.normal(size=model.nq)
        mujoco.mj_normalizeQuat(model, data.qpos)
        mujoco.mj_forward(model, data)
        for name in names:
            poses[name].append(getattr(data, name).copy())
    return model, {name: np.array(value) for name, value in poses.items()}


@pytest.mark.parametrize("index", range(6))
def test_cameras_are_where_mujoco_puts_them(posed, index):
    model, poses = posed
    scene = load_scene(model)
    position, quat = world_pose(scene.cameras[index].placement, scene.bodies, poses["xpos"], poses["xquat"])
    assert np.allclose(position, poses["cam_xpos"][:, index], atol=1e-6)
    assert np.allclose(geometry.matrix_from_quat(quat), poses["cam_xmat"][:, index].reshape(-1, 3, 3), atol=1e-6)


@pytest.mark.parametrize("index", range(5))
def test_lights_are_where_mujoco_puts_them(posed, index):
    model, poses = posed
    scene = load_scene(model)
    position, quat = world_pose(scene.lights[index].placement, scene.bodies, poses["xpos"], poses["xquat"])
    assert np.allclose(position, poses["light_xpos"][:, index], atol=1e-6)
    assert np.allclose(geometry.quat_rotate(quat, np.array([0, 0, -1.0])), poses["light_xdir"][:, index], atol=1e-6)


def test_the_modes_are_told_apart(posed):
    model, _ = posed
    scene = load_scene(model)
    follows = [Follow.FIXED, Follow.TRACK, Follow.TRACK_COM, Follow.TARGET_BODY, Follow.TARGET_BODY_COM]
    assert [camera.placement.follow for camera in scene.cameras] == [Follow.FIXED, *follows]
    assert [light.placement.follow for light in scene.lights] == follows
    assert [camera.name for camera in scene.cameras] == ["camera_0", *MODES]
    assert [camera.placement.target for camera in scene.cameras] == [-1, -1, -1, -1, 3, 3]


def test_a_subtree_without_mass_is_tracked_by_its_body():
    model = load_model("""<mujoco><worldbody><body name="b" pos="1 2 3">
      <camera mode="trackcom" pos="0 0 1"/></body></worldbody></mujoco>""")
    scene = load_scene(model)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    position, _ = world_pose(scene.cameras[0].placement, scene.bodies, data.xpos[None], data.xquat[None])
    assert np.allclose(position[0], data.cam_xpos[0])


def test_batches_of_worlds_differ(posed):
    model, poses = posed
    scene = load_scene(model)
    together = world_pose(scene.cameras[3].placement, scene.bodies, poses["xpos"], poses["xquat"])
    alone = world_pose(scene.cameras[3].placement, scene.bodies, poses["xpos"][7:8], poses["xquat"][7:8])
    assert np.array_equal(together[0][7], alone[0][0])
    assert np.array_equal(together[1][7], alone[1][0])
    assert Placement().body == 0


def test_lenses():
    scene = load_scene("""<mujoco><worldbody>
      <camera name="plain" fovy="60"/>
      <camera name="sized" fovy="50" resolution="320 240"/>
      <camera name="sensor" sensorsize=".0036 .0024" focal=".004 .004" resolution="300 200"/>
      <camera name="shifted" sensorsize=".0036 .0024" focal=".004 .004" principal=".0005 0" resolution="300 200"/>
      <camera name="stretched" sensorsize=".0036 .0024" focal=".006 .004" resolution="300 200"/>
      <camera name="flat" projection="orthographic" fovy="2"/></worldbody></mujoco>""")
    plain, sized, sensor, shifted, stretched, flat = scene.cameras
    assert plain.fov_y_rad == pytest.approx(math.radians(60))
    assert (plain.height, plain.width) == (None, None)
    assert (sized.height, sized.width) == (240, 320)
    assert sensor.fov_y_rad == pytest.approx(2 * math.atan(0.0012 / 0.004))
    assert (sensor.height, sensor.width) == (200, 300)
    # lengths of the sensor in its pixels; a focal length of .004 m on .0024 m of 200 rows is 333.3 pixels
    assert (sensor.fx, sensor.fy, sensor.cx, sensor.cy) == pytest.approx((1000 / 3, 1000 / 3, 150, 100))
    assert shifted.cx == pytest.approx(150 - 300 * 0.0005 / 0.0036)
    assert (stretched.fx, stretched.fy) == pytest.approx((500, 1000 / 3))
    assert flat.orthographic
    assert flat.extent_y_m == 2
    assert not scene.warnings


def test_a_sensor_sees_what_mujoco_sees(mujoco_picture):
    model = load_model("""<mujoco><visual><headlight ambient="1 1 1"/></visual><worldbody>
      <geom type="box" size=".5 .5 .01" rgba="1 0 0 1"/>
      <camera pos="0 0 2" sensorsize=".004 .003" focal=".005 .005" resolution="160 120"/></worldbody></mujoco>""")
    red = mujoco_picture(model)[..., 0] > 128
    camera = load_scene(model).cameras[0]
    focal = 60 / math.tan(camera.fov_y_rad / 2)
    assert red.sum() == pytest.approx((2 * focal * 0.5 / 1.99) ** 2, rel=0.03)


def test_lights_keep_their_parameters():
    scene = load_scene("""<mujoco><worldbody>
      <light name="sun" type="directional" castshadow="false" diffuse=".1 .2 .3" ambient=".4 .5 .6" specular=".7 .8 .9"/>
      <light name="spot" cutoff="30" exponent="5" attenuation="1 .1 .01"/>
      <light name="wide" cutoff="120"/>
      <light name="off" active="false"/></worldbody></mujoco>""")
    sun, spot, wide = scene.lights
    assert (sun.kind, sun.cast_shadow) == ("directional", False)
    assert sun.diffuse == pytest.approx((0.1, 0.2, 0.3))
    assert sun.ambient == pytest.approx((0.4, 0.5, 0.6))
    assert sun.specular == pytest.approx((0.7, 0.8, 0.9))
    assert (spot.kind, spot.exponent, spot.cast_shadow) == ("spot", 5, True)
    assert spot.cutoff_rad == pytest.approx(math.radians(30))
    assert spot.attenuation == pytest.approx((1, 0.1, 0.01))
    assert wide.cutoff_rad == math.pi


def test_the_headlight_and_what_shines_without_any(mujoco_picture):
    geom = '<worldbody><geom type="box" size="1 1 .1" rgba=".8 .6 .4 1"/><camera pos="0 0 2"/>{}</worldbody></mujoco>'
    off = '<mujoco><visual><headlight active="0"/></visual>'
    on = load_scene(
        "<mujoco>" + '<visual><headlight ambient=".1 .2 .3" diffuse=".4 .5 .6" specular=".7 .8 .9"/></visual>' + geom.format("")
    )
    assert on.headlight.diffuse == pytest.approx((0.4, 0.5, 0.6))
    assert load_scene(off + geom.format("<light/>")).headlight is None
    model = load_model(off + geom.format(""))
    dark = load_scene(model).headlight
    assert (dark.diffuse, dark.specular) == ((0, 0, 0), (0, 0, 0))
    expected = 255 * np.array(dark.ambient) * np.array([0.8, 0.6, 0.4])
    assert np.abs(mujoco_picture(model)[60, 80] - expected).max() <= 1.01


def test_point_lights_haze_and_fog():
    scene = load_scene(
        """<mujoco><statistic extent="2"/>
        <visual><map haze=".4" fogstart="2" fogend="8"/><rgba haze=".1 .2 .3 1" fog=".4 .5 .6 1"/></visual>
        <worldbody><geom size=".1"/><light name="bulb" type="point" attenuation="1 0 .5" exponent="7" cutoff="20"/></worldbody></mujoco>"""
    )
    bulb = scene.lights[0]
    assert (bulb.kind, bulb.attenuation, bulb.cutoff_rad) == ("point", (1.0, 0.0, 0.5), np.pi)
    assert any("bulb" in line and "MuJoCo" in line for line in scene.warnings)
    assert (scene.haze.width, scene.fog.start_m, scene.fog.end_m) == pytest.approx((0.4, 4.0, 16.0))
    np.testing.assert_allclose((scene.haze.rgb, scene.fog.rgb), ((0.1, 0.2, 0.3), (0.4, 0.5, 0.6)), rtol=1e-6)


def test_an_image_light_is_named_with_what_is_not_drawn():
    model = load_model('<mujoco><worldbody><light name="sky"/><light/><site/></worldbody></mujoco>')
    model.light_type[0] = mujoco.mjtLightType.mjLIGHT_IMAGE
    scene = load_scene(model)
    assert scene.warnings == ("not drawn: light 'sky' (image lights do not shine); 1 sites (site_groups asks for them)",)
    assert len(scene.lights) == 1
