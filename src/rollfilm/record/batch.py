"""What is handed to a recorder: the rows of a batch of worlds. B is the number of worlds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from rollfilm.host import host_array
from rollfilm.record.ring import Picture
from rollfilm.record.sink import Episode, StateRow, StepRow
from rollfilm.render.frames import Frames
from rollfilm.render.looks import WorldLooks
from rollfilm.scene import PoseSource

__all__ = ["FinalBatch", "ResetBatch", "StateBatch", "StepBatch", "scene_state_of"]


def scene_state_of(source: PoseSource) -> dict[str, Any]:
    """What a renderer needs to film the current state of ``source`` again, and its complete state where it is an engine: no copies.

    Returns:
        Arrays of B worlds: ``position`` (B, bodies, 3), ``quat_wxyz`` (B, bodies, 4), ``path`` (B, Q, 4) where there are paths, and
        ``engine_state`` (B, S) where ``source`` has ``get_state``.
    """
    poses = source.body_poses()
    state = {"position": poses.position, "quat_wxyz": poses.quat_wxyz}
    if poses.path is not None:
        state["path"] = poses.path
    if get_state := getattr(source, "get_state", None):
        state["engine_state"] = get_state()
    return state


@dataclass(frozen=True, eq=False)
class StateBatch:
    """One state of all worlds.

    Attributes:
        frames: the pictures of this state; may be empty where no episode is filmed.
        state_count: the environment's counter of its state; frames of another state are refused.
        observation: (B, ...), an array or nested mappings of arrays.
        env_states: ManiSkill's layout, ``{"actors": {name: (B, 13)}, "articulations": {name: (B, 13 + 2 dof)}}``.
        scene_state: what a renderer needs to film the state again, as :func:`scene_state_of` gives it; empty where nobody knows it.
        looks: of each world, how it looks where it does not look as its scene says (looks of one world), or None; None for all of them.
    """

    frames: Frames
    state_count: int
    observation: Any
    env_states: Mapping[str, Any] = field(default_factory=dict)
    scene_state: Mapping[str, Any] = field(default_factory=dict)
    looks: Sequence[WorldLooks | None] | None = None

    @classmethod
    def of_env(cls, env: Any, observation: Any, *, pictures: bool = True) -> Self:
        """The current state of one of our environments; without ``pictures`` nothing is rendered (``Recorder.wants_frames``)."""
        engine = getattr(env, "engine", None)
        scene_state = {} if engine is None else scene_state_of(engine)
        frames = env.frames() if pictures else Frames({}, env.state_count)
        return cls(frames, env.state_count, observation, env.env_states(), scene_state, getattr(env, "looks", None))

    def on_host(self) -> Self:
        """The same with observation and states as NumPy arrays: one copy an array, however many worlds there are."""
        return replace(
            self,
            observation=_map(host_array, self.observation),
            env_states=_map(host_array, self.env_states),
            scene_state=_map(host_array, self.scene_state),
        )

    def row(self, world: int, pictures: Mapping[str, Picture]) -> StateRow:
        """The part of one world; arrays are views."""

        def part(array: Any) -> Any:
            return array[world]

        state = {name: array[world] for name, array in self.scene_state.items()}
        if state:
            state["state_count"] = np.asarray(self.state_count, np.int64)
        looks = None if self.looks is None else self.looks[world]
        return StateRow(_map(part, self.observation), _map(part, self.env_states), pictures, state, looks)


@dataclass(frozen=True, eq=False)
class ResetBatch:
    """Worlds in which an episode begins.

    Attributes:
        state: after the reset.
        worlds: those in which an episode begins.
        episode_index: int (B,).
        episode_seed: (B,), the seed that made each episode, None for one that has none; or None for all.
        run_seed: the seed that was given to the environment, from which it derives those, one for all or one a world; None if they are
            the same.
        reset_kwargs: of each world, what else ``reset`` needs to make its episode again; None for nothing.
        filmed: whether the episodes get pictures.
        instructions: of each world, what is to be done in its episode, in words; None where it is the same for all.
    """

    state: StateBatch
    worlds: Sequence[int]
    episode_index: NDArray[np.integer]
    episode_seed: Sequence[int | None] | NDArray[np.integer] | None = None
    run_seed: int | Sequence[int | None] | None = None
    reset_kwargs: Sequence[Mapping[str, Any]] | None = None
    filmed: bool = True
    instructions: Sequence[str] | None = None

    @classmethod
    def of_env(cls, env: Any, observation: Any, worlds: Sequence[int], run_seed: int, *, pictures: bool = True) -> Self:
        """The reset that one of our environments has just made."""
        return cls(
            state=StateBatch.of_env(env, observation, pictures=pictures),
            worlds=worlds,
            episode_index=env.episode_index,
            episode_seed=env.episode_seed,
            run_seed=run_seed,
            reset_kwargs=[{"options": {"episode_index": [int(index)]}} for index in env.episode_index],
            instructions=getattr(env, "instructions", None),
        )

    def episode(self, world: int) -> Episode:
        """The episode that begins in a world."""
        seed = None if self.episode_seed is None else self.episode_seed[world]
        return Episode(
            index=int(self.episode_index[world]),
            seed=None if seed is None else int(seed),
            world=world,
            run_seed=self.run_seed[world] if isinstance(self.run_seed, Sequence) else self.run_seed,
            reset_kwargs={} if self.reset_kwargs is None else self.reset_kwargs[world],
            filmed=self.filmed,
            instruction=None if self.instructions is None else self.instructions[world],
        )


@dataclass(frozen=True, eq=False)
class FinalBatch:
    """The last states of episodes in worlds that an environment has already reset when it hands out a step.

    Attributes:
        state: what these worlds were in before that; other rows mean nothing.
        worlds: those that were reset.
        missing: what of the last state nobody can tell any more, among ``"pictures"``, ``"observation"`` and ``"env_states"``: the rows
            hold something else in its place, and the episodes' lines say so.
    """

    state: StateBatch
    worlds: Sequence[int]
    missing: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class StepBatch:
    """One control step of all worlds.

    Attributes:
        state: after the step.
        actions: float32 (B, A).
        rewards: float (B,).
        terminated, truncated: bool (B,).
        success: bool (B,) after the step, or None where the environment does not say.
        success_known: bool (B,), of which worlds it says so; None for all.
        elapsed_steps: int (B,), how many steps the environment counts in each episode, to be compared; None to trust.
        fail: bool (B,) after the step, or None where the environment does not say.
        fail_known: bool (B,), of which worlds it says so; None for all.
        ends: bool (B,), which episodes end with this step; None for those that are terminated or truncated. One that is, and goes on,
            ends when :meth:`Recorder.end` says so.
        final: the last states of worlds whose ``state`` shows the next episode already.
    """

    state: StateBatch
    actions: Any
    rewards: Any
    terminated: Any
    truncated: Any
    success: Any = None
    success_known: Any = None
    elapsed_steps: Any = None
    fail: Any = None
    fail_known: Any = None
    ends: Any = None
    final: FinalBatch | None = None

    @classmethod
    def of_env(cls, env: Any, actions: Any, result: tuple[Any, Any, Any, Any, dict[str, Any]], *, pictures: bool = True) -> Self:
        """The step that one of our environments has just made, ``result`` being what its ``step`` returned."""
        observation, rewards, terminated, truncated, infos = result
        return cls(
            state=StateBatch.of_env(env, observation, pictures=pictures),
            actions=actions,
            rewards=rewards,
            terminated=terminated,
            truncated=truncated,
            success=infos.get("success"),
            success_known=infos.get("_success"),
            elapsed_steps=infos.get("elapsed_steps"),
            fail=infos.get("fail"),
            fail_known=infos.get("_fail"),
        )

    def on_host(self) -> "StepBatch":
        """The same with NumPy arrays."""

        def fetch(array: Any) -> Any:
            return None if array is None else host_array(array)

        return StepBatch(
            state=self.state.on_host(),
            actions=_map(host_array, self.actions),
            rewards=host_array(self.rewards),
            terminated=host_array(self.terminated),
            truncated=host_array(self.truncated),
            success=fetch(self.success),
            success_known=fetch(self.success_known),
            elapsed_steps=fetch(self.elapsed_steps),
            fail=fetch(self.fail),
            fail_known=fetch(self.fail_known),
            ends=fetch(self.ends),
            final=None if self.final is None else replace(self.final, state=self.final.state.on_host()),
        )

    def success_of(self, world: int) -> bool | None:
        """Whether the world is in success; None where the environment does not say."""
        return _said_of(self.success, self.success_known, world)

    def missing_of(self, world: int) -> tuple[str, ...]:
        """What there is no record of for the state of the world after the step."""
        return self.final.missing if self.final is not None and world in self.final.worlds else ()

    def row(self, world: int, pictures: Mapping[str, Picture]) -> StepRow:
        """The part of one world."""
        state = self.final.state if self.final is not None and world in self.final.worlds else self.state
        return StepRow(
            action=_map(lambda a: np.asarray(a[world], np.float32), self.actions),
            reward=float(self.rewards[world]),
            terminated=bool(self.terminated[world]),
            truncated=bool(self.truncated[world]),
            success=self.success_of(world),
            after=state.row(world, pictures),
            fail=_said_of(self.fail, self.fail_known, world),
        )


def _said_of(values: Any, known: Any, world: int) -> bool | None:
    if values is None or (known is not None and not known[world]):
        return None
    return bool(values[world])


def _map(function: Any, tree: Any) -> Any:
    if isinstance(tree, Mapping):
        return {name: _map(function, value) for name, value in tree.items()}
    return function(tree)
