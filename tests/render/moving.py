"""A scene with everything that kernels are specialised for, and worlds that differ in the poses of its bodies."""

import functools

import numpy as np

from rollfilm.engines.still import StillPoses
from rollfilm.scene import BodyPoses, Scene
from rollfilm.scene.mujoco import load_scene

ALL = ("rgb", "depth_m", "segmentation")

MODEL = """
<mujoco>
  <asset>
    <texture name="sky" type="skybox" builtin="gradient" rgb1=".3 .5 .7" rgb2=".1 .1 .2" width="32" height="192"/>
    <texture name="squares" type="2d" builtin="checker" rgb1=".2 .3 .4" rgb2=".8 .7 .6" width="64" height="64"/>
    <material name="squares" texture="squares" texrepeat="4 4" texuniform="true"/>
    <mesh name="wedge" vertex="0 0 0 .4 0 0 0 .3 0 0 0 .5"/>
  </asset>
  <worldbody>
    <light name="sun" pos="0 0 3" dir=".2 .3 -1" directional="true"/>
    <geom name="floor" type="plane" size="3 3 .1" material="squares"/>
    <body name="box" pos="0 0 .3"><freejoint/><geom type="box" size=".1 .2 .15" rgba=".9 .3 .2 1"/>
      <light name="lamp" pos="0 0 1" dir="0 0 -1" cutoff="50" exponent="4" attenuation="1 .2 0"/>
      <camera name="rider" pos="0 -.2 .4" xyaxes="1 0 0 0 .3 1"/>
    </body>
    <body name="ball" pos=".5 .3 .4"><freejoint/><geom type="sphere" size=".2" rgba=".2 .7 .3 1"/></body>
    <body name="wedge" pos="-.5 .3 .4"><freejoint/><geom type="mesh" mesh="wedge" rgba=".3 .4 .9 1"/></body>
    <camera name="front" pos="0 -2 1" xyaxes="1 0 0 0 .4 1"/>
    <camera name="above" mode="targetbody" target="ball" pos="1 1 2"/>
  </worldbody>
</mujoco>
"""


@functools.cache
def moving_scene() -> Scene:
    """The scene, loaded once."""
    return load_scene(MODEL)


def random_poses(num_worlds: int, seed: int = 0) -> BodyPoses:
    """Every body somewhere else in every world; the world's body stays."""
    random = np.random.default_rng(seed)
    bodies = len(moving_scene().bodies.names)
    position = random.uniform((-0.8, -0.6, 0.1), (0.8, 0.8, 0.9), (num_worlds, bodies, 3)).astype(np.float32)
    quat = random.normal(size=(num_worlds, bodies, 4))
    quat = (quat / np.linalg.norm(quat, axis=-1, keepdims=True)).astype(np.float32)
    position[:, 0], quat[:, 0] = 0, (1, 0, 0, 0)
    return BodyPoses(position, quat)


def worlds(poses: BodyPoses, which) -> StillPoses:
    """A source of some of the worlds, in the order of their indices."""
    return StillPoses(moving_scene(), BodyPoses(poses.position[which].copy(), poses.quat_wxyz[which].copy()))
