"""Tells a recorder what happens in an environment that is stepped and reset by someone else."""

import warnings
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np

from rollfilm.errors import InvalidArgumentError
from rollfilm.record.batch import FinalBatch, ResetBatch, StateBatch, StepBatch
from rollfilm.record.clips import Clips
from rollfilm.record.infos import said_of
from rollfilm.record.last_states import LastStates
from rollfilm.record.recorder import Recorder
from rollfilm.record.state_reader import StateReader
from rollfilm.record.trees import map_leaves
from rollfilm.record.wrapped_env import WrappedEnv
from rollfilm.render.frames import Frames

__all__ = ["WatchOptions", "Watcher"]


@dataclass(frozen=True)
class WatchOptions:
    """What is told.

    Attributes:
        observations: tell observations.
        save_on_reset: a reset ends episodes and keeps them; else only :meth:`Watcher.flush` does.
        success_key: the name in ``infos`` of what tells success.
    """

    observations: bool = True
    save_on_reset: bool = True
    success_key: str = "success"


@dataclass(frozen=True)
class _Beginning:
    """The episode that a world waits to begin."""

    seed: int | None = None
    run_seed: int | None = None
    reset_kwargs: Mapping[str, Any] | None = None
    steps_before: int = 0


class Watcher:
    """Follows the episodes of an environment's worlds, whoever resets them, and tells a recorder of them.

    An episode begins with the first step after a reset, so that a reset that no step follows leaves nothing.

    Args:
        env: the environment.
        reader: reads its states.
        recorder: who is told.
        clips: the videos of all worlds.
        options: what is told.
    """

    def __init__(self, env: WrappedEnv, reader: StateReader, recorder: Recorder, clips: Clips, options: WatchOptions) -> None:
        self._env = env
        self._reader = reader
        self._source = reader.source
        self._recorder = recorder
        self._clips = clips
        self._options = options
        self._last_states = LastStates(env, reader) if env.autoreset_mode == "same_step" else None
        self._ends_on_flags = env.ends_on_flags and options.save_on_reset
        self._waiting: dict[int, _Beginning] = {}
        self._steps_before = np.zeros(env.num_envs, int)
        self._elapsed = np.zeros(env.num_envs, int)
        self._ended = np.zeros(env.num_envs, bool)
        self._not_flushed: set[int] = set()
        self._observation: Any = {}
        self._frames: Frames | None = None
        self._warned = False
        self.num_steps = 0
        self.num_begun = 0

    def after_reset(self, observation: Any, seed: Any, options: Mapping[str, Any], worlds: Sequence[int], *, save: bool) -> None:
        """Worlds were reset by hand: their episodes are over, and others wait for their first step.

        Args:
            observation: of all worlds.
            seed, options: what the environment was reset with.
            worlds: that were reset.
            save: whether episodes that this ends are kept; otherwise those that have just ended are thrown away as well.
        """
        self._observation, self._frames = self._rows(observation, copy=True), None
        self.flush(worlds, save=save and self._options.save_on_reset)
        self._wait(worlds, seed, options)

    def before_step(self, action: Any) -> Any:
        """Begin the episodes that wait; the actions (B, ...) as they are before the environment gets them."""
        if self._waiting:
            waiting, self._waiting = self._waiting, {}
            self._begin(waiting)
        self._clips.before_step(self._recorder, self._current_frames, self.num_steps)
        return self._env.rows(action, copy=True)

    def stepping(self) -> AbstractContextManager[None]:
        """Around the environment's step."""
        if self._last_states is None:
            return nullcontext()
        return self._last_states.inside_step(filming=self._recorder.needs_pictures)

    def after_step(self, actions: Any, result: tuple[Any, Any, Any, Any, Mapping[str, Any]]) -> None:
        """Record a step, and let worlds that have reset themselves wait for the next.

        Args:
            actions: what :meth:`before_step` gave.
            result: of the environment's ``step``.
        """
        observation, rewards, terminated, truncated, infos = result
        env, mode = self._env, self._env.autoreset_mode
        terminated, truncated = (env.vector(flags, "flags").astype(bool) for flags in (terminated, truncated))
        ended = terminated | truncated
        reset = ended if mode == "same_step" else np.zeros_like(ended)
        self._elapsed += 1
        self._frames = self._source.frames() if self._source is not None and self._recorder.needs_pictures else None
        self._observation = self._rows(observation)
        now = self._reader.read(self._frames, self._observation)
        (success, success_known), (fail, fail_known) = (
            said_of(infos, name, env.num_envs, reset) or (None, None) for name in (self._options.success_key, "fail")
        )
        batch = StepBatch(
            state=now,
            actions=actions,
            rewards=env.vector(rewards, "rewards"),
            terminated=terminated,
            truncated=truncated,
            success=success,
            success_known=success_known,
            elapsed_steps=self._counted(infos),
            fail=fail,
            fail_known=fail_known,
            ends=None if self._ends_on_flags else np.zeros_like(ended),
            final=self._final(np.flatnonzero(reset).tolist(), infos, now),
        )
        in_flight = {world for world in range(env.num_envs) if self._recorder.in_flight(world) is not None}
        self._recorder.on_step(batch)
        self._not_flushed -= in_flight
        self._not_flushed |= in_flight.intersection(np.flatnonzero(ended).tolist()) if self._ends_on_flags else set()
        self.num_steps += 1
        self._clips.after_step(self._recorder)
        begins = reset if mode == "same_step" else self._ended if mode == "next_step" else np.zeros_like(ended)
        self._wait(np.flatnonzero(begins).tolist(), None, {})
        self._ended = ended

    def flush(self, worlds: Sequence[int], *, save: bool) -> list[int]:
        """End the episodes in flight and keep them, or throw away those that the worlds' last steps belonged to.

        Returns:
            The worlds in which episodes were in flight. They begin others if they are stepped on.
        """
        in_flight = [world for world in worlds if self._recorder.in_flight(world) is not None]
        if save:
            self._recorder.end(worlds)
        else:
            for world in self._not_flushed.union(in_flight).intersection(worlds):
                self._recorder.discard(world)
        self._not_flushed.difference_update(worlds)
        for world in in_flight:
            self._waiting[world] = _Beginning(steps_before=int(self._elapsed[world]))
        return in_flight

    def discard(self, world: int) -> bool:
        """Throw away the episode that the last step of a world belonged to; whether there was one."""
        self._not_flushed.discard(world)
        return self._recorder.discard(world)

    def close(self) -> None:
        """Leave the environment as it was."""
        if self._last_states is not None:
            self._last_states.remove()

    def _wait(self, worlds: Sequence[int], seed: Any, options: Mapping[str, Any]) -> None:
        """Worlds have been reset, by hand or by themselves."""
        if worlds:
            seeds = self._env.seeds_of(seed, worlds)
            for world in worlds:
                self._waiting[world] = _Beginning(*seeds[world], self._env.reset_kwargs_of(options, world))
            self._ended[worlds] = False
            self._elapsed[worlds] = 0

    def _begin(self, waiting: Mapping[int, _Beginning]) -> None:
        count, worlds = self._env.num_envs, sorted(waiting)
        filmed = self._source is not None and self._clips.wants(self.num_steps)
        seen = filmed and self._recorder.wants_frames
        indices = np.full(count, -1)
        indices[worlds] = self.num_begun + np.arange(len(worlds))
        self.num_begun += len(worlds)
        self._steps_before[worlds] = [waiting[world].steps_before for world in worlds]
        each = [waiting.get(world, _Beginning()) for world in range(count)]
        self._recorder.on_reset(
            ResetBatch(
                state=self._reader.read(self._current_frames() if seen else None, self._observation),
                worlds=worlds,
                episode_index=indices,
                episode_seed=[one.seed for one in each],
                run_seed=[one.run_seed for one in each],
                reset_kwargs=[one.reset_kwargs or {} for one in each],
                filmed=filmed,
                instructions=getattr(self._env.base, "instructions", None) if self._env.is_ours else None,
            )
        )

    def _current_frames(self) -> Frames:
        assert self._source is not None
        # those of the last step are still right where no reset has followed; our own environments know by themselves
        if self._frames is None or self._source.known:
            self._frames = self._source.frames()
        return self._frames

    def _final(self, worlds: Sequence[int], infos: Mapping[str, Any], now: StateBatch) -> FinalBatch | None:
        if not worlds or self._last_states is None:
            return None
        final = self._last_states.batch(worlds, infos, now)
        if final.missing and not self._warned:
            self._warned = True
            warnings.warn(
                f"the environment resets worlds before anyone can see how their episodes end: {' and '.join(final.missing)} of last states "
                "are missing, and the recording says so (missing_at_end). Let it reset in the next step, or not by itself, to have them",
                stacklevel=4,
            )
        return final

    def _rows(self, observation: Any, *, copy: bool = False) -> Any:
        rows = self._env.rows(observation, copy=copy) if self._options.observations else {}
        map_leaves(_check_leaf, rows)
        return rows

    def _counted(self, infos: Mapping[str, Any]) -> Any:
        """How many steps the environment counts since an episode began: ours and ManiSkill's do, under a name that others may use."""
        counted = infos.get("elapsed_steps")
        if counted is None or not (self._env.is_ours or self._env.is_maniskill) or self._env.autoreset_mode == "same_step":
            return None
        return self._env.vector(counted, "elapsed_steps") - self._steps_before


def _check_leaf(array: np.ndarray) -> None:
    if array.dtype.kind not in "biuf":
        raise InvalidArgumentError(
            f"the observation holds {array.dtype} values of shape {array.shape}, which no trajectory can; "
            "record without it (save_trajectory=False)"
        )
