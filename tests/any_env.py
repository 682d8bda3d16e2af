"""Environments that rollfilm knows nothing of, whose pictures can be counted: every pixel is 10 * world + 25 * step, modulo 256.

Episode k of world w lasts ``lengths[(w + k) % 3]`` steps; it succeeds unless k % 4 == 3, when it is truncated. Rewards are 1.
"""

from typing import Any

import gymnasium
import numpy as np

LENGTHS = (3, 4, 5)


def picture(world: int, step: int, size: tuple[int, int] = (32, 32)) -> np.ndarray:
    return np.full((*size, 3), (10 * world + 25 * step) % 256, np.uint8)


def length_of(world: int, episode: int) -> int:
    return LENGTHS[(world + episode) % 3]


class OneWorld(gymnasium.Env):
    """One world, with plain numbers; its observation is (world, step, episode)."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 10}  # noqa: RUF012

    def __init__(self, world: int = 0, *, size: tuple[int, int] = (32, 32), render_mode: str | None = "rgb_array", nested: bool = False):
        self.observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (3,), np.float32)
        if nested:
            self.observation_space = gymnasium.spaces.Dict({"state": self.observation_space})
        self.action_space = gymnasium.spaces.Box(-np.inf, np.inf, (2,), np.float32)
        self.render_mode = render_mode
        self.world, self.episode, self.steps = world, -1, 0
        self.size, self.nested, self.closed = size, nested, False

    def _observation(self) -> Any:
        state = np.array([self.world, self.steps, self.episode], np.float32)
        return {"state": state} if self.nested else state

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
        super().reset(seed=seed)
        self.episode += 1
        self.steps = 0
        return self._observation(), {}

    def step(self, action: Any):
        self.steps += 1
        ended = self.steps >= length_of(self.world, self.episode)
        success = ended and self.episode % 4 != 3
        return self._observation(), 1.0, success, ended and not success, {"success": success}

    def render(self) -> Any:
        return picture(self.world, self.steps, self.size) if self.render_mode else None

    def close(self) -> None:
        self.closed = True


class Batched(gymnasium.Env):
    """B worlds in one environment that never resets itself, with tensors of ``array``'s kind, as ManiSkill's are.

    Worlds go on after they are terminated; ``options["env_idx"]`` names those to reset.
    """

    def __init__(self, num_envs: int = 3, *, array: Any = np.asarray):
        self.num_envs, self._array = num_envs, array
        self.single_observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (3,), np.float32)
        self.single_action_space = gymnasium.spaces.Box(-np.inf, np.inf, (2,), np.float32)
        self.observation_space = gymnasium.vector.utils.batch_space(self.single_observation_space, num_envs)
        self.action_space = gymnasium.vector.utils.batch_space(self.single_action_space, num_envs)
        self.render_mode = "rgb_array"
        self.control_freq = 20
        self.worlds = np.arange(num_envs)
        self.steps = np.zeros(num_envs, int)
        self.episodes = np.full(num_envs, -1)

    def _observation(self) -> Any:
        return self._array(np.stack([self.worlds, self.steps, self.episodes], axis=1).astype(np.float32))

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None):
        chosen = np.asarray((options or {}).get("env_idx", self.worlds))
        self.steps[chosen] = 0
        self.episodes[chosen] += 1
        return self._observation(), {"reconfigure": False}

    def step(self, action: Any):
        self.steps = self.steps + 1
        ended = self.steps >= np.array([length_of(w, k) for w, k in enumerate(self.episodes)])
        success = ended & (self.episodes % 4 != 3)
        infos = {"success": self._array(success)}
        rewards = self._array(np.ones(self.num_envs, np.float32))
        return self._observation(), rewards, self._array(success), self._array(ended & ~success), infos

    def render(self) -> Any:
        return self._array(np.stack([picture(w, s) for w, s in enumerate(self.steps)]))


def sync(num_envs: int, mode: gymnasium.vector.AutoresetMode, **options: Any) -> gymnasium.vector.SyncVectorEnv:
    return gymnasium.vector.SyncVectorEnv([lambda w=w: OneWorld(w, **options) for w in range(num_envs)], autoreset_mode=mode)
