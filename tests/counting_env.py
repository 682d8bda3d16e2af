"""A vector environment whose pictures can be counted: every pixel is 10 * world + step; episodes last 3, 4, 5, 3, ... steps.

Neighbouring levels can become one in limited-range video: tests that tell frames apart by their pixels set ``contrast``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode

from rollfilm.render.frames import CameraFrames, Frames
from rollfilm.render.request import CameraRequest


@dataclass(frozen=True)
class CountingConfig:
    num_envs: int
    engine: str = "counting"
    device: str = "cpu"


class CountingVectorEnv(gymnasium.vector.VectorEnv):
    """Episode k lasts ``lengths[k % 3]`` steps and succeeds unless k % 4 == 3 or it is ``hopeless``.

    Pixels are 10 * world + contrast * step, modulo 256; the second camera's are 128 more. Depth and ids are there if a
    camera asks for them. Rewards are 1; the action changes nothing.
    """

    metadata = {"autoreset_mode": AutoresetMode.DISABLED}  # noqa: RUF012
    task_name = "counting"
    env_id = "Counting-v0"
    obs_mode = "state"
    control_mode = "pd_joint_delta_pos"
    control_frequency_hz = 20
    max_episode_steps = 5

    def __init__(
        self,
        num_envs: int = 3,
        sizes: dict[str, tuple[int, int]] | Sequence[CameraRequest] | None = None,
        *,
        lengths: tuple[int, ...] = (3, 4, 5),
        reports_success: bool = True,
        contrast: int = 1,
        hopeless: bool = False,
    ) -> None:
        self.num_envs = num_envs
        sizes = {"front": (32, 32)} if sizes is None else sizes
        self.cameras = (
            tuple(CameraRequest(name, height, width) for name, (height, width) in sizes.items())
            if isinstance(sizes, Mapping)
            else tuple(sizes)
        )
        self.single_action_space = gymnasium.spaces.Box(-1, 1, (2,), np.float32)
        self.single_observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (3,), np.float32)
        self.action_space = gymnasium.vector.utils.batch_space(self.single_action_space, num_envs)
        self.observation_space = gymnasium.vector.utils.batch_space(self.single_observation_space, num_envs)
        self.lengths = lengths
        self.reports_success = reports_success
        self.contrast = contrast
        self.hopeless = hopeless
        self.state_count = 0
        self.config = CountingConfig(num_envs)
        self.episode_index = np.zeros(num_envs, int)
        self.episode_seed = np.zeros(num_envs, int)
        self.elapsed_steps = np.zeros(num_envs, int)
        self.timings = {"physics": 0.0, "render": 0.0}
        self._run_seed = 0
        # as a renderer's, these are overwritten by the next frames
        self._pictures = {c.name: np.zeros((num_envs, c.height, c.width, 3), np.uint8) for c in self.cameras}

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
        options = options or {}
        mask = options.get("reset_mask", np.ones(self.num_envs, bool))
        self._run_seed = self._run_seed if seed is None else seed
        indices = options.get("episode_index", np.arange(self.num_envs))
        self.episode_index = np.where(mask, indices, self.episode_index)
        self.episode_seed = 1000 * self._run_seed + self.episode_index
        self.elapsed_steps = np.where(mask, 0, self.elapsed_steps)
        self.state_count += 1
        return self._observation(), {}

    def step(self, actions):
        self.elapsed_steps = self.elapsed_steps + 1
        self.state_count += 1
        ended = self.elapsed_steps >= np.array(self.lengths)[self.episode_index % len(self.lengths)]
        success = ended & (self.episode_index % 4 != 3) & (not self.hopeless)
        infos: dict[str, Any] = {"elapsed_steps": self.elapsed_steps.copy()}
        if self.reports_success:
            infos["success"] = success
        return self._observation(), np.ones(self.num_envs, np.float32), success, ended & ~success, infos

    @property
    def has_ended(self) -> np.ndarray:
        return self.elapsed_steps >= np.array(self.lengths)[self.episode_index % len(self.lengths)]

    def frames(self) -> Frames:
        value = (10 * np.arange(self.num_envs) + self.contrast * self.elapsed_steps) % 256
        cameras = {}
        for number, camera in enumerate(self.cameras):
            level = ((value + 128 * number) % 256).astype(np.uint8)
            self._pictures[camera.name][:] = level[:, None, None, None]
            cameras[camera.name] = CameraFrames(rgb=self._pictures[camera.name], **self._other_outputs(camera, value + 128 * number))
        return Frames(cameras, self.state_count)

    def _other_outputs(self, camera: CameraRequest, value: np.ndarray) -> dict[str, np.ndarray]:
        """Depth is a thousandth of the number that pixels hold, ids are its negative; both grow by one from pixel to pixel."""
        pixels = np.arange(camera.height * camera.width).reshape(camera.height, camera.width) + value[:, None, None]
        outputs = {"depth_m": pixels.astype(np.float32) / 1000, "segmentation": -pixels.astype(np.int32)}
        return {name: outputs[name] for name in camera.outputs if name in outputs}

    def env_states(self) -> dict[str, dict[str, np.ndarray]]:
        value = (10 * np.arange(self.num_envs) + self.elapsed_steps).astype(np.float32)
        return {
            "actors": {"cube": np.repeat(value[:, None], 13, axis=1)},
            "articulations": {"panda": np.repeat(value[:, None], 13 + 18, axis=1)},
        }

    def _observation(self) -> np.ndarray:
        return np.stack([np.arange(self.num_envs), self.elapsed_steps, self.episode_index], axis=1).astype(np.float32)


def counting_policy(observation: np.ndarray) -> np.ndarray:
    """The actions (B, 2): the step and the episode, so that rows can be told apart."""
    return observation[:, 1:3].astype(np.float32)
