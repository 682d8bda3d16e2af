"""One world of a task as a plain Gymnasium environment."""

from typing import Any

import gymnasium
import numpy as np
from numpy.typing import ArrayLike

from rollfilm.envs.catalog import make
from rollfilm.errors import InvalidArgumentError

__all__ = ["TaskEnv"]


class TaskEnv(gymnasium.Env):
    """One world of a task, without the leading batch axis.

    Args:
        task: the task's name.
        options: those of :func:`rollfilm.make` but for ``num_envs``.
    """

    def __init__(self, task: str, **options: Any):
        self.vector = make(task, **options, num_envs=1)
        # Gymnasium reads the render modes from the class or the instance; the autoreset mode is a vector environment's business.
        self.metadata = {name: value for name, value in self.vector.metadata.items() if name != "autoreset_mode"}
        self.render_mode = self.vector.render_mode
        self.action_space = self.vector.single_action_space
        self.observation_space = self.vector.single_observation_space

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin an episode: the first of the run ``seed``, or the next. Option ``"episode_index"``: which one."""
        super().reset(seed=seed)
        options = dict(options or {})
        if "reset_mask" in options:
            raise InvalidArgumentError("reset_mask was given to an environment of one world; leave it out")
        if "episode_index" in options:
            options["episode_index"] = np.atleast_1d(options["episode_index"])
        observation, infos = self.vector.reset(seed=seed, options=options)
        return _first(observation), _first_info(infos)

    def step(self, action: ArrayLike) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Act; see :meth:`rollfilm.envs.TaskVectorEnv.step`."""
        observation, reward, terminated, truncated, infos = self.vector.step(np.asarray(action)[None])
        return _first(observation), float(reward[0]), bool(terminated[0]), bool(truncated[0]), _first_info(infos)

    def render(self) -> Any:
        """A picture (H, W, 3), or None without ``render_mode="rgb_array"``."""
        pictures = self.vector.render()
        return None if pictures is None else pictures[0]

    def close(self) -> None:
        """End the threads of the engine and of the renderer."""
        self.vector.close()


def _first(batch: Any) -> Any:
    if isinstance(batch, dict):
        return {name: _first(value) for name, value in batch.items()}
    return batch[0]


def _first_info(infos: dict[str, Any]) -> dict[str, Any]:
    return {name: value[0].item() for name, value in infos.items() if not name.startswith("_")}
