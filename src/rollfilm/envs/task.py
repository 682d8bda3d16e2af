"""What a task is: a model, its initial states, and what a state means. No physics, no rendering, no episodes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from rollfilm.engines.protocol import EngineState
from rollfilm.render.randomize import LooksConfig

__all__ = ["InitialState", "Observation", "Task"]

#: Nested dicts of float32 or bool arrays with a leading B, in a fixed order.
Observation = dict[str, Any]


@dataclass(frozen=True, eq=False)
class InitialState:
    """How one world begins: qpos (nq,), qvel (nv,), and the poses of its mocap bodies, (M, 3) metres and (M, 4) wxyz."""

    qpos: NDArray[np.float64]
    qvel: NDArray[np.float64]
    mocap_position: NDArray[np.float64]
    mocap_quat_wxyz: NDArray[np.float64]


class Task(Protocol):
    """One task. Everything is a function of what it is given, so that worlds cannot depend on each other."""

    name: ClassVar[str]
    env_id: ClassVar[str]
    max_episode_steps: ClassVar[int]
    control_modes: ClassVar[tuple[str, ...]]
    max_reward: ClassVar[float]

    @property
    def model(self) -> Any:
        """The model that the engine steps."""
        ...

    def action_size(self, control_mode: str) -> int:
        """The number of components of an action."""
        ...

    def initial_state(self, rng: np.random.Generator) -> InitialState:
        """Draw the initial state of one world."""
        ...

    def looks(self, filmed: Sequence[str]) -> LooksConfig:
        """What may look different from episode to episode, where cameras of these names are filmed."""
        ...

    def control(self, control_mode: str, actions: NDArray[np.float64], state: EngineState) -> NDArray[np.float64]:
        """What the engine's actuators get (B, nu) for normalised actions (B, A)."""
        ...

    def evaluate(self, state: EngineState) -> dict[str, NDArray]:
        """Facts on each world, each (B,); ``"success"`` bool among them."""
        ...

    def observe(self, state: EngineState, facts: dict[str, NDArray], *, privileged: bool) -> Observation:
        """The observation, with what only a simulator knows (``privileged``) or without."""
        ...

    def dense_reward(self, state: EngineState, facts: dict[str, NDArray]) -> NDArray[np.float64]:
        """The shaped reward (B,), at most ``max_reward``."""
        ...

    def env_states(self, state: EngineState) -> dict[str, dict[str, NDArray[np.float32]]]:
        """The state in ManiSkill's layout: ``actors`` and ``articulations`` by name."""
        ...
