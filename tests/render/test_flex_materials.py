"""A flex whose elements are of several materials shows each where MuJoCo shows it."""

import numpy as np
import pytest

from rollfilm.engines.mujoco import MujocoEngine
from rollfilm.render import BatchRenderer, CameraRequest, WorldLooks

mujoco = pytest.importorskip("mujoco")

MODEL = """
<mujoco>
  <visual><headlight ambient=".4 .4 .4" diffuse=".4 .4 .4" specular="0 0 0"/></visual>
  <asset><material name="red" rgba="1 0 0 1"/><material name="green" rgba="0 1 0 1"/></asset>
  <worldbody>
    <light pos="0 0 3"/>
    <flexcomp name="soft" type="grid" dim="{dim}" count="4 4 {layers}" spacing=".2 .2 .2" radius=".02" material="red">
      <contact selfcollide="none"/></flexcomp>
    <camera name="eye" pos="0 -.8 1" xyaxes="1 0 0 0 1 .8"/>
  </worldbody>
</mujoco>
"""
HEIGHT, WIDTH = 90, 120


@pytest.mark.parametrize(("dim", "layers"), [(2, 1), (3, 2)])
def test_each_element_has_its_material(mujoco_picture, dim, layers):
    model = mujoco.MjModel.from_xml_string(MODEL.format(dim=dim, layers=layers))
    model.flex_matid[model.nflexelem // 2 :] = 1
    engine = MujocoEngine(model, 1, num_threads=1)
    scene = engine.scene
    assert not any("materials" in warning for warning in scene.warnings)
    assert [(geom.name, geom.source_id) for geom in scene.geoms] == [("soft/red", 0), ("soft/green", 0)]
    renderer = BatchRenderer(scene, 1, [CameraRequest("eye", HEIGHT, WIDTH, ("rgb", "segmentation"))])
    frame = renderer.render(engine)["eye"]
    got = frame.rgb[0].astype(int)
    want = mujoco_picture(model, "eye", HEIGHT, WIDTH).astype(int)
    assert (frame.segmentation[0] >= 0).mean() > 0.1
    for color in (0, 1):
        mine, theirs = (picture[..., color] > 2 * picture[..., 1 - color] + 20 for picture in (got, want))
        assert theirs.sum() > 200
        assert (mine != theirs).sum() < 0.1 * theirs.sum()  # MuJoCo smooths edges
    renderer.set_looks(WorldLooks(geom_rgba={"soft/green": np.array([[0, 0, 1, 1]])}))
    painted = renderer.render(engine)["eye"].rgb[0].astype(int)
    assert ((painted[..., 2] > 40) == (got[..., 1] > 2 * got[..., 0] + 20)).mean() > 0.97
    renderer.close()
    engine.close()
