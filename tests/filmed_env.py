"""The counting environment with a real scene and renderer: a box that moves, a camera that rides on it, looks that can be set."""

from functools import cache
from typing import Any

import mujoco
import numpy as np

from counting_env import CountingVectorEnv
from rollfilm.geometry import look_at_quat_wxyz
from rollfilm.render import BatchRenderer, CameraRequest, WorldLooks
from rollfilm.render.options import DEFAULT_OPTIONS
from rollfilm.scene import BodyPoses, Camera, Placement
from rollfilm.scene.mujoco import load_scene

XML = """
<mujoco>
  <asset><texture name="check" type="2d" builtin="checker" rgb1="0.8 0.3 0.1" rgb2="0.1 0.3 0.8" width="64" height="64"/>
    <texture name="sky" type="skybox" builtin="gradient" rgb1="0.2 0.3 0.5" rgb2="0 0 0" width="16" height="96"/>
    <material name="floor" texture="check" texrepeat="4 4"/></asset>
  <worldbody>
    <light name="lamp" pos="0 0 3"/>
    <camera name="front" pos="1.6 0 0.9" xyaxes="0 1 0 -0.5 0 1"/>
    <camera name="eye" mode="targetbody" target="box" pos="-1 0.5 1"/>
    <geom name="ground" type="plane" size="2 2 1" material="floor"/>
    <body name="box" pos="0 0 0.4"><freejoint/><geom name="box" type="box" size="0.1 0.12 0.15" rgba="0.9 0.8 0.1 1"/>
      <geom name="ball" type="sphere" pos="0 0 0.2" size="0.07" rgba="0.2 0.8 0.3 1"/>
      <camera name="wrist" pos="0 0 0.5"/></body>
  </worldbody>
</mujoco>
"""

#: A camera that the scene does not have.
OWN_CAMERA = Camera("own", Placement(0, (1.2, 0.5, 1.2), tuple(look_at_quat_wxyz((1.2, 0.5, 1.2), (0.0, 0.0, 0.3)).tolist())), fx=40.0)


@cache
def small_scene():
    return load_scene(mujoco.MjModel.from_xml_string(XML))


class ScriptedEngine:
    """Poses that follow from the episode and its step alone, whichever world it runs in."""

    device = "cpu"

    def __init__(self, num_worlds: int) -> None:
        self.scene = small_scene()
        self.num_worlds = num_worlds
        self.state_count = 0
        self.position = np.zeros((num_worlds, 2, 3), np.float32)
        self.quat_wxyz = np.zeros((num_worlds, 2, 4), np.float32)
        self.quat_wxyz[..., 0] = 1.0

    def place(self, episode: np.ndarray, step: np.ndarray) -> None:
        self.position[:, 1] = np.stack([0.07 * step - 0.15, 0.03 * (episode % 7) - 0.1, 0.3 + 0.01 * step], axis=1)
        angle = 0.2 * step + 0.1 * episode
        self.quat_wxyz[:, 1] = np.stack([np.cos(angle), 0 * angle, 0 * angle, np.sin(angle)], axis=1)
        self.state_count += 1

    def body_poses(self) -> BodyPoses:
        return BodyPoses(self.position, self.quat_wxyz)

    def get_state(self) -> np.ndarray:
        return np.concatenate([self.position[:, 1], self.quat_wxyz[:, 1]], axis=1).astype(np.float64)


class FilmedVectorEnv(CountingVectorEnv):
    """``cameras`` maps names (``front``, ``wrist``, ``eye``, ``own``) to (H, W)."""

    task_name = "filmed"
    env_id = "Filmed-v0"

    def __init__(self, num_envs: int = 3, cameras: dict[str, tuple[int, int]] | None = None, **options: Any) -> None:
        self.render_options = options.pop("render_options", DEFAULT_OPTIONS)
        super().__init__(num_envs, **options)
        sizes = cameras or {"front": (36, 48), "wrist": (31, 45)}
        self.cameras = tuple(CameraRequest(OWN_CAMERA if name == "own" else name, *size) for name, size in sizes.items())
        self.engine = ScriptedEngine(num_envs)
        self.renderer = BatchRenderer(self.engine.scene, num_envs, self.cameras, num_threads=1, options=self.render_options)
        self.looks: list[WorldLooks | None] = [None] * num_envs
        self.renders = 0

    def reset(self, **kwargs: Any):
        result = super().reset(**kwargs)
        self._place()
        return result

    def step(self, actions):
        result = super().step(actions)
        self._place()
        return result

    def set_looks(self, looks: WorldLooks, worlds: Any = None) -> None:
        mask = np.ones(self.num_envs, bool) if worlds is None else np.asarray(worlds)
        self.renderer.set_looks(looks, mask)
        for world in np.flatnonzero(mask).tolist():
            self.looks[world] = looks.worlds([world]) if looks.used else None

    def frames(self):
        self.renders += 1
        return self.renderer.render(self.engine)

    def _place(self) -> None:
        self.engine.place(self.episode_index, self.elapsed_steps)
        self.state_count = self.engine.state_count
