"""A scene of which every world can look different, and looks for it."""

import dataclasses
import functools

import numpy as np

from rollfilm.scene import Scene
from rollfilm.scene.extend import mesh_from_triangles, texture_from_image, with_meshes, with_textures
from rollfilm.scene.mujoco import load_scene

MODEL = """
<mujoco>
  <asset>
    <texture name="squares" type="2d" builtin="checker" rgb1=".2 .3 .4" rgb2=".8 .7 .6" width="64" height="64"/>
    <texture name="shades" type="2d" builtin="gradient" rgb1="1 .3 .4" rgb2=".1 .2 .9" width="64" height="64"/>
    <texture name="sky" type="skybox" builtin="gradient" rgb1=".3 .5 .7" rgb2=".1 .1 .2" width="16" height="96"/>
    <material name="tiles" texture="squares" texrepeat="4 4" texuniform="true"/>
    <material name="paint" rgba=".2 .7 .3 1" specular=".8"/>
    <mesh name="wedge" vertex="0 0 0 .4 0 0 0 .3 0 0 0 .5"/>
  </asset>
  <worldbody>
    <light name="sun" pos="0 0 3" dir=".2 .3 -1" directional="true"/>
    <light name="lamp" pos="0 0 2" dir="0 0 -1" cutoff="50" exponent="4" attenuation="1 .2 0"/>
    <geom name="floor" type="plane" size="1.5 1.5 .1" material="tiles"/>
    <body name="box" pos="0 0 .3"><freejoint/><geom name="box" type="box" size=".1 .2 .15" material="tiles"/></body>
    <body name="ball" pos=".5 .3 .4"><freejoint/><geom name="ball" type="sphere" size=".25" material="paint"/></body>
    <body name="wedge" pos="-.5 .3 .4"><freejoint/><geom type="mesh" mesh="wedge" material="paint"/></body>
    <camera name="front" pos="0 -2 1" xyaxes="1 0 0 0 .4 1"/>
    <camera name="above" pos="0 0 3"/>
  </worldbody>
</mujoco>
"""

CORNERS = np.array([[x, y, z] for x in (-0.2, 0.2) for y in (-0.15, 0.15) for z in (-0.1, 0.3)])
FACES = np.array([[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]])


@functools.cache
def looks_scene() -> Scene:
    """The scene, with a mesh and a texture that no geom has."""
    scene = load_scene(MODEL)
    block = mesh_from_triangles("block", CORNERS, np.concatenate([FACES[:, [0, 1, 2]], FACES[:, [0, 2, 3]]]))
    noise = np.random.default_rng(0).integers(0, 256, (16, 24, 3)).astype(np.uint8)
    return with_textures(with_meshes(scene, block), texture_from_image("noise", noise))


def geom_index(name: str) -> int:
    """The place of a geom of the scene."""
    return ["floor", "box", "ball", "geom_3"].index(name)


def with_geom(scene: Scene, name: str, /, **changes) -> Scene:
    """The scene with one geom changed; changes of its material begin with ``material_``."""
    geoms = list(scene.geoms)
    geom = geoms[geom_index(name)]
    material = {key.removeprefix("material_"): value for key, value in changes.items() if key.startswith("material_")}
    others = {key: value for key, value in changes.items() if not key.startswith("material_")}
    geoms[geom_index(name)] = dataclasses.replace(geom, material=dataclasses.replace(geom.material, **material), **others)
    return dataclasses.replace(scene, geoms=tuple(geoms))


def with_light(scene: Scene, name: str, **changes) -> Scene:
    """The scene with one light changed."""
    lights = tuple(dataclasses.replace(light, **changes) if light.name == name else light for light in scene.lights)
    return dataclasses.replace(scene, lights=lights)


def with_camera(scene: Scene, name: str, **changes) -> Scene:
    """The scene with one camera changed."""
    cameras = tuple(dataclasses.replace(camera, **changes) if camera.name == name else camera for camera in scene.cameras)
    return dataclasses.replace(scene, cameras=cameras)
