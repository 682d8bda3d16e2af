"""What a recorder tells those who write files: one call for a reset, one for a step, one for an episode's end."""

from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from rollfilm.record.ring import Picture
from rollfilm.render.looks import WorldLooks

__all__ = ["Ended", "Episode", "Outcome", "Receipt", "Sink", "StateRow", "StepRow"]

Ended = Literal["terminated", "truncated", "stopped", "cut", "failed"]


@dataclass(frozen=True)
class Episode:
    """Which episode a row belongs to.

    Attributes:
        index: its place in the run, from 0; it names the episode in every file.
        seed: the seed that made this episode, None where there is none.
        world: the world that it runs in.
        run_seed: the seed that was given to the environment, from which it derives ``seed``; None if they are the same.
        reset_kwargs: what else the environment's ``reset`` needs to make it again, as JSON.
        filmed: whether its states have pictures.
        instruction: what is to be done, in words for a policy; None where it is the same for all episodes.
    """

    index: int
    seed: int | None
    world: int
    run_seed: int | None = None
    reset_kwargs: Mapping[str, Any] = field(default_factory=dict)
    filmed: bool = True
    instruction: str | None = None


@dataclass(frozen=True, eq=False)
class StateRow:
    """One state of one world. Arrays are views that live until the call returns; pictures can be retained.

    Attributes:
        observation: what the policy saw, an array or nested mappings of arrays, without the batch axis.
        env_states: ManiSkill's ``{"actors": {name: (13,)}, "articulations": {name: (13 + 2 dof,)}}``, or empty.
        pictures: the picture of each camera; empty if the episode is not filmed.
        scene_state: what a renderer needs to film this state again: ``position`` (bodies, 3) and ``quat_wxyz`` (bodies, 4), with a path
            of tendons ``path`` (Q, 4); with an engine its complete state ``engine_state`` (S,); and ``state_count``, the environment's
            counter. Empty where nobody knows it.
        looks: how the world looks where it does not look as its scene says, of one world; None for as the scene says.
    """

    observation: Any
    env_states: Mapping[str, Any]
    pictures: Mapping[str, Picture]
    scene_state: Mapping[str, NDArray] = field(default_factory=dict)
    looks: WorldLooks | None = None


@dataclass(frozen=True, eq=False)
class StepRow:
    """One step of one world: the action, what came of it, and the state after it.

    Attributes:
        action: float32 (A,).
        reward: of this step.
        terminated, truncated: whether the episode ended with this step.
        success: of the state after the step; None where the environment does not say, which is not False.
        after: the state after the step.
        fail: whether the environment says that the task has failed; None where it does not say.
    """

    action: NDArray[np.float32]
    reward: float
    terminated: bool
    truncated: bool
    success: bool | None
    after: StateRow
    fail: bool | None = None


@dataclass(frozen=True)
class Outcome:
    """How an episode ended.

    Attributes:
        ended: ``"terminated"`` or ``"truncated"`` by the environment; ``"stopped"`` by whoever drives it, who asked that the episode
            be kept as it is; ``"cut"`` when the recording was closed or the world reset before that; ``"failed"`` by an error.
        success: at the last step; None where the environment does not say, which is not False.
        success_once: at any step; None where the environment never said.
        steps: T, the number of steps; there are T + 1 states and T + 1 frames.
        episode_return: sum of the rewards.
        error: the text of the error, for a failed episode.
    """

    ended: Ended
    success: bool | None
    success_once: bool | None
    steps: int
    episode_return: float
    error: str | None = None

    @property
    def complete(self) -> bool:
        """Whether it was ended on purpose, by the environment or by who drives it, so that it is there from its first to its last frame."""
        return self.ended in ("terminated", "truncated", "stopped")


@dataclass(frozen=True, eq=False)
class Receipt:
    """What a sink answers at an episode's end.

    Attributes:
        entry: what the episode's line in ``episodes.jsonl`` says of the sink's files.
        pending: work under way; once all of it is done the files are whole. An exception among them fails the episode.
    """

    entry: Mapping[str, Any] = field(default_factory=dict)
    pending: Sequence[Future[None]] = ()


class Sink(Protocol):
    """Writes one kind of file. Episodes of different worlds overlap; calls come from one thread."""

    def on_reset(self, episode: Episode, first: StateRow) -> None:
        """An episode begins with the state after the reset."""
        ...

    def on_step(self, episode: Episode, row: StepRow) -> None:
        """An episode goes on by one step."""
        ...

    def on_episode_end(self, episode: Episode, outcome: Outcome, *, keep: bool) -> Receipt:
        """An episode is over. What is not kept leaves no file.

        Raises:
            RecordingError: the sink does not hold ``outcome.steps`` rows and one more of states or frames.
        """
        ...

    def close(self) -> None:
        """No further episode comes: make the files whole."""
        ...
