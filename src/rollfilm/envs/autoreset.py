"""Wrappers that reset ended worlds by themselves, in Gymnasium's two ways.

See https://farama.org/Vector-Autoreset-Mode for what the modes mean. Both begin the next episodes of the run, in slot order.
"""

from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode, VectorWrapper
from numpy.typing import NDArray

from rollfilm.envs.vector_env import TaskVectorEnv
from rollfilm.errors import InvalidArgumentError

__all__ = ["NextStepAutoreset", "SameStepAutoreset"]


class _Autoreset(VectorWrapper):
    mode: AutoresetMode

    def __init__(self, env: TaskVectorEnv):
        given = env.metadata.get("autoreset_mode")
        if given != AutoresetMode.DISABLED:
            raise InvalidArgumentError(f"{type(self).__name__} wraps environments that do not reset themselves; this one's mode is {given}")
        super().__init__(env)
        self._base = env
        self.metadata = {**env.metadata, "autoreset_mode": self.mode}


class SameStepAutoreset(_Autoreset):
    """Resets a world in the step that ends its episode: the observation is the new episode's first.

    The old episode's last observation and facts are in ``infos["final_obs"]`` (object array (B,), None where no episode ended) and
    ``infos["final_info"]`` (a dict of arrays (B,)), with the ended worlds under ``"_final_obs"`` and ``"_final_info"``, as Gymnasium has
    them.
    """

    mode = AutoresetMode.SAME_STEP

    def step(self, actions: Any) -> tuple[Any, NDArray, NDArray, NDArray, dict[str, Any]]:
        """Step, then reset the worlds that ended."""
        observation, reward, terminated, truncated, infos = self.env.step(actions)
        ended = terminated | truncated
        if not ended.any():
            return observation, reward, terminated, truncated, infos
        final_obs = np.full(self.num_envs, None, dtype=object)
        for world in np.flatnonzero(ended):
            final_obs[world] = _world_of(observation, int(world))
        final_info = {name: _only(value, ended) for name, value in infos.items() if not name.startswith("_")}
        final_info |= {f"_{name}": ended.copy() for name in list(final_info)}
        observation, infos = self.env.reset(options={"reset_mask": ended})
        infos |= {"final_obs": final_obs, "_final_obs": ended.copy(), "final_info": final_info, "_final_info": ended.copy()}
        return observation, reward, terminated, truncated, infos


class NextStepAutoreset(_Autoreset):
    """Resets a world in the step after the one that ended its episode: that step ignores its action and gives reward 0."""

    mode = AutoresetMode.NEXT_STEP

    def __init__(self, env: TaskVectorEnv):
        super().__init__(env)
        self._ended = np.zeros(self.num_envs, dtype=np.bool_)

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Reset the masked worlds, all without a mask."""
        observation, infos = self.env.reset(seed=seed, options=options)
        self._ended = self._base.has_ended.copy()
        return observation, infos

    def step(self, actions: Any) -> tuple[Any, NDArray, NDArray, NDArray, dict[str, Any]]:
        """Step the running worlds and reset those that ended in the last step."""
        resetting = self._ended
        observation, reward, terminated, truncated, infos = self.env.step(actions)
        if resetting.any():
            # They stood still during the step, so their reward is 0 already.
            observation, infos = self.env.reset(options={"reset_mask": resetting})
            terminated, truncated = terminated & ~resetting, truncated & ~resetting
        self._ended = terminated | truncated
        return observation, reward, terminated, truncated, infos


def _world_of(batch: Any, world: int) -> Any:
    if isinstance(batch, dict):
        return {name: _world_of(value, world) for name, value in batch.items()}
    return batch[world].copy()


def _only(values: NDArray, mask: NDArray[np.bool_]) -> NDArray:
    """The values of the masked worlds, zero elsewhere, as Gymnasium fills what is not there."""
    return np.where(mask, values, np.zeros_like(values))
