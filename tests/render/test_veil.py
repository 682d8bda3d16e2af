"""Haze and fog: held to MuJoCo's own, and to their geometry."""

from dataclasses import replace

import numpy as np
import pytest

from render.raycast import camera_axes, pixel_rays
from render.scenes import look, still
from render.test_mujoco import difference
from rollfilm.engines.mujoco import MujocoEngine
from rollfilm.errors import InvalidArgumentError
from rollfilm.render import BatchRenderer, CameraRequest, RenderOptions
from rollfilm.scene.mujoco import load_scene

mujoco = pytest.importorskip("mujoco")

#: A camera high above a floor whose end is near, so that much of the picture is haze, and a pole that rises out of it.
MODEL = """
<mujoco>
  <statistic extent="1" center="0 0 0"/>
  <visual><map znear=".01" zfar="10" haze=".4" fogstart="1" fogend="5"/><rgba haze=".9 .3 .2 1" fog=".2 .8 .3 1"/>
    <headlight ambient=".5 .5 .5" diffuse=".3 .3 .3" specular="0 0 0"/></visual>
  <asset><texture name="sky" type="skybox" builtin="flat" rgb1=".2 .3 .9" width="16" height="96"/></asset>
  <worldbody>
    <geom name="floor" type="plane" size="0 0 .1" rgba=".4 .4 .4 1"/>
    <geom name="pole" type="box" size=".2 .2 2" pos="0 3 1" rgba=".9 .9 .2 1"/>
    <geom name="far pole" type="box" size=".4 .4 3" pos="-2 5.5 1" rgba=".9 .2 .9 1"/>
    <camera name="eye" pos="0 0 1.5" xyaxes="1 0 0 0 .15 1"/>
  </worldbody>
</mujoco>
"""
HEIGHT, WIDTH = 120, 160


@pytest.fixture(scope="module")
def engine():
    engine = MujocoEngine(MODEL, num_worlds=1)
    yield engine
    engine.close()


def picture(scene, camera="eye", height=HEIGHT, width=WIDTH, **options):
    request = CameraRequest(camera, height, width, ("rgb", "depth_m", "segmentation"))
    renderer = BatchRenderer(scene, 1, [request], options=RenderOptions(**options))
    frame = renderer.render(still(scene))["eye"]
    copies = frame.rgb[0].copy(), frame.depth_m[0].copy(), frame.segmentation[0].copy()
    renderer.close()
    return copies


@pytest.mark.parametrize("effects", [("HAZE",), ("HAZE", "FOG")], ids=str)
def test_it_looks_as_in_mujoco(engine, mujoco_picture, effects):
    want = mujoco_picture(engine.model, "eye", HEIGHT, WIDTH, effects=effects)
    got = picture(engine.scene, fog="FOG" in effects)[0]
    # MuJoCo's cylinder and cone have 28 sides, ours are round
    assert difference(got, want) < 2.0
    clear = picture(replace(engine.scene, haze=None))[0]
    assert difference(clear, want) > 8.0
    assert difference(np.roll(got, 2, axis=0), want) > 2.5


def test_depth_and_ids_do_not_change(engine):
    hazy, foggy, clear = (
        picture(scene, fog=fog) for scene, fog in ((engine.scene, False), (engine.scene, True), (replace(engine.scene, haze=None), False))
    )
    for other in (hazy, foggy):
        assert (other[0] != clear[0]).any()
        np.testing.assert_array_equal(other[1], clear[1])
        np.testing.assert_array_equal(other[2], clear[2])


def test_an_orthographic_camera_sees_fog_as_mujoco_and_no_haze(mujoco_picture):
    model = mujoco.MjModel.from_xml_string(MODEL.replace('"eye"', '"eye" projection="orthographic" fovy="3"'))
    scene = load_scene(model)
    want = mujoco_picture(model, "eye", HEIGHT, WIDTH, effects=("FOG",))
    foggy, clear = picture(scene, fog=True)[0], picture(scene)[0]
    assert difference(foggy, want) < 2.0
    assert difference(clear, want) > 20.0
    np.testing.assert_array_equal(picture(replace(scene, haze=None))[0], clear)
    assert difference(picture(scene, fog=True, samples=4)[0], want) < 2.0


def test_haze_covers_the_plane_from_where_its_cone_leaves_it(engine):
    """Nearer than 0.6 of the way to the sky, and above the horizon, nothing is changed; in between there is a place that is all haze."""
    scene = replace(engine.scene, geoms=engine.scene.geoms[:1])
    hazy = picture(scene)[0]
    clear = picture(replace(scene, haze=None))[0]
    camera = scene.camera("eye")
    rays = pixel_rays(camera, HEIGHT, WIDTH)
    slope = (-rays[:, 2] / np.linalg.norm(rays[:, :2], axis=1)).reshape(HEIGHT, WIDTH)
    steepest = camera_axes(camera)[0][2] / (0.7 * scene.far_m * 0.6)
    free = (slope > 1.01 * steepest) | (slope < 0)
    np.testing.assert_array_equal(hazy[free], clear[free])
    assert 0.2 < (~free).mean() < 0.8
    nearest = np.abs(hazy.astype(int) - np.array([230, 76, 51])).max(axis=-1)
    assert nearest.min() < 15
    assert (nearest[free] > 60).all()


def test_there_is_no_haze_from_below_or_without_a_sky(engine):
    plane = replace(engine.scene, geoms=engine.scene.geoms[:1])
    for scene in (replace(plane, skybox=-1), plane):
        camera = look((0, 0, -0.5), (0, 3, -0.4)) if scene is plane else "eye"
        np.testing.assert_array_equal(picture(scene, camera)[0], picture(replace(scene, haze=None), camera)[0])


def test_fog_is_linear_in_depth(engine):
    scene = replace(engine.scene, haze=None, skybox=-1)
    foggy, depth, _ = picture(scene, fog=True)
    clear = picture(scene)[0].astype(float)
    left = np.clip((scene.fog.end_m - depth) / (scene.fog.end_m - scene.fog.start_m), 0, 1)[..., None]
    want = np.where(depth[..., None] > 0, left * clear + (1 - left) * 255 * np.array(scene.fog.rgb), 0)
    assert np.abs(foggy - want).max() <= 1.01
    assert ((left > 0.2) & (left < 0.8)).mean() > 0.1


def test_fog_must_be_there(engine):
    with pytest.raises(InvalidArgumentError, match="fog"):
        picture(replace(engine.scene, fog=None), fog=True)
