"""Frames to record: a robot in slow motion, every world in another phase, kept where they were rendered."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from rollfilm.engines.still import StillPoses
from rollfilm.render import BatchRenderer, CameraRequest
from rollfilm.render.frames import CameraFrames, Frames
from rollfilm.scene import BodyPoses, Scene
from rollfilm.scene.mujoco import load_scene
from scenes import build_model, place

CAMERA = "front"

#: States in which a joint swings once, and how far.
PERIOD = 100
SWING_RAD = 0.3


@dataclass(frozen=True, eq=False)
class Film:
    """States of all worlds, and their pictures.

    Attributes:
        scene: what is filmed.
        poses: of each state.
        rgb: of each state, uint8 (B, H, W, 3) on the device.
        size: H and W.
        device: where the pictures are.
    """

    scene: Scene
    poses: list[BodyPoses]
    rgb: list[Any]
    size: int
    device: str

    @classmethod
    def shoot(cls, num_worlds: int, size: int, num_states: int, device: str, menagerie: Path | None) -> "Film":
        """Place all worlds in all states and film them."""
        model, qpos = build_model("panda", menagerie, size)
        scene = load_scene(model)
        poses = [_poses(model, qpos, num_worlds, state, device) for state in range(num_states)]
        film = cls(scene, poses, [], size, device)
        renderer = film.renderer(num_worlds)
        for state in range(num_states):
            film.rgb.append(_copy(renderer.render(film.source(state))[CAMERA].rgb))
        renderer.close()
        return film

    @property
    def num_worlds(self) -> int:
        """B."""
        return self.poses[0].position.shape[0]

    @property
    def request(self) -> CameraRequest:
        """What is asked of the renderer."""
        return CameraRequest(CAMERA, self.size, self.size)

    def renderer(self, num_worlds: int) -> BatchRenderer:
        """A renderer for it."""
        return BatchRenderer(self.scene, num_worlds, [self.request], device=self.device)

    def source(self, state: int) -> StillPoses:
        """The poses of a state, for a renderer."""
        return StillPoses(self.scene, self.poses[state], self.device)

    def at(self, step: int) -> int:
        """The state that is shown at a step: to and fro, so that the motion never jumps."""
        last = len(self.poses) - 1
        return last - abs(last - step % (2 * last)) if last else 0

    def frames(self, step: int) -> Frames:
        """The pictures of a step, with the step as the counter of the state."""
        return Frames({CAMERA: CameraFrames(rgb=self.rgb[self.at(step)])}, step)


def _poses(model: mujoco.MjModel, qpos: np.ndarray, num_worlds: int, state: int, device: str) -> BodyPoses:
    data = mujoco.MjData(model)
    phases = np.random.default_rng(0).uniform(0, 2 * np.pi, (num_worlds, 7))
    position, quat_wxyz = (np.zeros((num_worlds, model.nbody, n), np.float32) for n in (3, 4))
    for world, phase in enumerate(phases):
        moved = qpos.copy()
        moved[:7] += SWING_RAD * np.sin(2 * np.pi * state / PERIOD + phase)
        place(model, data, moved)
        position[world], quat_wxyz[world] = data.xpos, data.xquat
    if device == "cpu":
        return BodyPoses(position, quat_wxyz)
    import warp as wp

    return BodyPoses(wp.array(position, dtype=float, device=device), wp.array(quat_wxyz, dtype=float, device=device))


def _copy(array: Any) -> Any:
    """A copy where the array is: NumPy, torch or Warp."""
    if isinstance(array, np.ndarray):
        return array.copy()
    if hasattr(array, "clone"):
        return array.clone()
    import warp as wp

    return wp.clone(array)
