"""A scene with all that makes pixels show more than one surface, and how to film it."""

import numpy as np

from rollfilm.engines.still import StillPoses
from rollfilm.render import BatchRenderer, CameraRequest, RenderOptions
from rollfilm.scene import BodyPoses
from rollfilm.scene.mujoco import load_scene

HEIGHT, WIDTH = 90, 120

MODEL = """
<mujoco>
  <visual><quality offsamples="{samples}" shadowsize="0"/></visual>
  <asset>
    <texture name="sky" type="skybox" builtin="gradient" rgb1=".3 .5 .7" rgb2=".1 .1 .2" width="32" height="192"/>
    <material name="floor" rgba=".3 .35 .4 1" reflectance="{floor}"/>
    <material name="table" rgba=".3 .3 .4 1" reflectance="{table}"/>
    <material name="glass" rgba=".2 .7 .3 .4"/>
    <material name="solid" rgba=".2 .7 .3 1"/>
  </asset>
  <worldbody>
    <light name="sun" pos="0 0 3" dir=".2 .3 -1" directional="true" castshadow="false" diffuse=".4 .4 .4"/>
    <geom name="floor" type="plane" size="3 3 .1" material="floor"/>
    <geom name="ball" type="sphere" size=".3" pos="0 .8 .3" rgba=".9 .3 .2 1"/>
    <geom name="pane" type="box" size=".25 .05 .3" pos="-.2 0 .35" material="{glass}"/>
    <geom name="pane2" type="box" size=".25 .05 .3" pos=".1 -.4 .35" material="{glass}"/>
    <geom name="table" type="box" size=".4 .3 .15" pos=".9 .3 .17" material="table"/>
    <geom name="can" type="cylinder" size=".08 .12" pos=".9 .3 .44" rgba=".8 .8 .1 1"/>
    <geom name="sunk" type="capsule" size=".08 .2" pos="-.8 .2 .1" euler="30 0 0" rgba=".8 .2 .8 1"/>
    <camera name="front" pos=".3 -2.2 1" xyaxes="1 0 0 0 .4 1" fovy="55"/>
    <camera name="below" pos=".3 -2.2 -.6" xyaxes="1 0 0 0 -.3 1" fovy="55"/>
  </worldbody>
</mujoco>"""


def film_model(model: str, camera: str, outputs=("rgb",), **options) -> dict[str, np.ndarray]:
    """What rollfilm shows, by output."""
    scene = load_scene(model)
    bodies = len(scene.bodies.names)
    poses = BodyPoses(np.zeros((1, bodies, 3), np.float32), np.tile(np.float32([1, 0, 0, 0]), (1, bodies, 1)))
    renderer = BatchRenderer(scene, 1, [CameraRequest(camera, HEIGHT, WIDTH, outputs)], options=RenderOptions(**options))
    frames = renderer.render(StillPoses(scene, poses))[camera]
    pictures = {name: getattr(frames, name)[0].copy() for name in outputs}
    renderer.close()
    return pictures
