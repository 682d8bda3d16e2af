"""Sites and the axes of frames, which are drawn on request, held to MuJoCo's own pictures."""

import numpy as np
import pytest

from rollfilm.engines.mujoco import MujocoEngine
from rollfilm.errors import InvalidArgumentError
from rollfilm.render import BatchRenderer, CameraRequest
from rollfilm.scene.mujoco import load_model, load_scene

mujoco = pytest.importorskip("mujoco")

MODEL = """<mujoco>
  <visual><headlight ambient=".5 .5 .5" diffuse=".4 .4 .4" specular="0 0 0"/><quality offsamples="0" numslices="80" numstacks="40"/>
    <scale framelength="2" framewidth=".3"/></visual>
  <statistic meansize=".15"/>
  <asset><material name="blue" rgba=".2 .3 .9 1"/><mesh name="wedge" vertex="0 0 0 .3 0 0 0 .3 0 0 0 .3"/></asset>
  <worldbody>
    <geom name="floor" type="plane" size="1.5 1.5 .1"/>
    <site name="mark" pos=".6 .5 .2" size=".1"/>
    <body name="arm" pos="-.3 0 .4" euler="20 30 40"><freejoint/>
      <geom name="link" type="box" size=".2 .1 .08" rgba=".8 .4 .2 1"/>
      <site name="tip" type="capsule" pos=".3 0 .1" size=".05 .1" euler="0 60 0" material="blue"/>
      <site name="cup" type="cylinder" pos="-.3 0 .1" size=".08 .05" rgba=".2 .8 .3 1" group="1"/>
      <site name="egg" type="ellipsoid" pos="0 .3 .1" size=".08 .05 .12" rgba=".8 .8 .2 1" group="2"/>
      <site name="unseen" type="box" pos="0 0 .3" size=".1 .1 .1" group="3"/>
    </body>
    <body name="wedge" pos=".6 -.5 .2"><geom type="mesh" mesh="wedge" rgba=".5 .5 .8 1" euler="0 0 30"/></body>
    <camera name="front" pos=".2 -2.2 1.7" xyaxes="1 .1 0 0 .6 1"/>
  </worldbody>
</mujoco>"""


def pictures_of(model, **options):
    engine = MujocoEngine(model, 1)
    renderer = BatchRenderer(load_scene(model, **options), 1, [CameraRequest("front", 180, 240, ("rgb", "segmentation"))])
    frame = renderer.render(engine)["front"]
    result = frame.rgb[0].copy(), frame.segmentation[0].copy()
    renderer.close()
    engine.close()
    return result


@pytest.mark.parametrize("frames", [None, "world", "body", "geom", "site"])
def test_sites_and_frames_look_as_in_mujoco(mujoco_picture, frames):
    model = load_model(MODEL)
    frame = {None: 0, "body": 1, "geom": 2, "site": 3, "world": 7}[frames]
    assert frames is None or int(getattr(mujoco.mjtFrame, f"mjFRAME_{frames.upper()}")) == frame
    want = mujoco_picture(model, "front", 180, 240, frame=frame)
    got, _ = pictures_of(model, site_groups=(0, 1, 2), frames=frames)
    differs = np.abs(got.astype(int) - want).max(axis=-1) > 8
    assert differs.mean() < 0.02  # edges, which lie elsewhere by a part of a pixel, and a circle's polygon
    without, _ = pictures_of(model, site_groups=(0, 1, 2))
    if frames is not None:
        # what was added is where MuJoCo added it
        assert (np.abs(without.astype(int) - want).max(axis=-1) > 8).mean() > 2 * differs.mean()


def test_ids_begin_behind_those_of_geoms(mujoco_picture):
    model = load_model(MODEL)
    _, ids = pictures_of(model, site_groups=(0, 1, 2))
    scene = load_scene(model, site_groups=(0, 1, 2), frames="site")
    assert [(g.kind, g.name, g.source_id) for g in scene.geoms[:8]] == [
        ("geom", "floor", 0),
        ("geom", "link", 1),
        ("geom", "", 2),
        ("site", "mark", 3),
        ("site", "tip", 4),
        ("site", "cup", 5),
        ("site", "egg", 6),
        ("frame", "mark", 8),
    ]
    assert len({g.source_id for g in scene.geoms if g.kind == "frame"}) == 4
    want = mujoco_picture(model, "front", 180, 240, segmentation=True)
    sites = want[..., 1] == mujoco.mjtObj.mjOBJ_SITE
    same = ids == np.where(sites, 3 + want[..., 0], want[..., 0])
    assert set(np.unique(ids)) == {-1, 0, 1, 2, 3, 4, 5, 6}
    assert same.mean() > 0.99


def test_sites_are_named_where_nobody_asked_for_them():
    assert load_scene(MODEL).warnings == ("not drawn: 5 sites (site_groups asks for them)",)
    assert load_scene(MODEL, site_groups=(0,)).warnings == ()


@pytest.mark.parametrize("options", [{"site_groups": (6,)}, {"frames": "joint"}, {"frames": "site"}])
def test_what_cannot_be_shown_is_refused(options):
    with pytest.raises(InvalidArgumentError, match="asked for"):
        load_scene(MODEL, **options)
