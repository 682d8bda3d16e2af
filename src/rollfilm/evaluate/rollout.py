"""Running a fixed list of episodes in parallel worlds."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rollfilm.errors import InvalidArgumentError
from rollfilm.interrupt import DeferredInterrupt
from rollfilm.record.batch import ResetBatch, StepBatch
from rollfilm.record.clock import timed
from rollfilm.record.recorder import Recorder

__all__ = ["EpisodeResult", "Policy", "Rollout", "run_episodes"]

#: Maps observations (B, ...) to actions (B, A). If it has a method ``reset(world_mask)``, it is told where episodes begin.
Policy = Callable[[Any], Any]


@dataclass(frozen=True)
class EpisodeResult:
    """How one episode went.

    Attributes:
        index: its place in the list.
        seed: the seed that made it.
        length: T, steps.
        episode_return: sum of the rewards.
        success_once, success_at_end: at any step, and at the last one; None where the environment does not say.
        terminated: whether the task ended it, else the time limit did.
    """

    index: int
    seed: int
    length: int
    episode_return: float
    success_once: bool | None
    success_at_end: bool | None
    terminated: bool


@dataclass
class Rollout:
    """What has been run so far.

    Attributes:
        num_episodes: how many there will be.
        episodes: those that have ended, in the order of their index once all have.
        control_steps: steps of the batch.
        pictures: pictures that were rendered and recorded.
        timings: seconds by phase: ``policy``, ``physics``, ``render``, ``encode``, ``write``, and ``other`` for the rest.
        wall_seconds: in all.
    """

    num_episodes: int
    episodes: list[EpisodeResult] = field(default_factory=list)
    control_steps: int = 0
    pictures: int = 0
    timings: dict[str, float] = field(default_factory=dict)
    wall_seconds: float = 0.0


def run_episodes(
    env: Any,
    policy: Policy,
    *,
    num_episodes: int,
    seed: int,
    recorder: Recorder | None = None,
    progress: Callable[[Rollout], None] | None = None,
) -> Rollout:
    """Run the episodes 0 to ``num_episodes`` - 1 of the run ``seed``, each to its end.

    Which episodes are run is fixed before the first step: a world that ends one takes the next of the list, and a world for which
    none is left idles with zero actions, neither counted nor recorded. Ctrl-C takes effect between two steps.

    Args:
        env: a vector environment of ours.
        policy: maps observations to actions.
        num_episodes: how many.
        seed: of the run.
        recorder: told of every reset and step; closing it is the caller's.
        progress: called after every step with what has been run so far, always the same object.

    Raises:
        InvalidArgumentError: ``num_episodes`` is below 1.
        RecordingError: the recorder's.
    """
    if num_episodes < 1:
        raise InvalidArgumentError(f"{num_episodes} episodes were asked for; run at least 1")
    return _Run(env, policy, num_episodes, seed, recorder).run(progress)


class _Run:
    def __init__(self, env: Any, policy: Policy, num_episodes: int, seed: int, recorder: Recorder | None) -> None:
        self._env = env
        self._policy = policy
        self._seed = seed
        self._recorder = recorder
        self._rollout = Rollout(num_episodes)
        self._seconds = {"policy": 0.0}
        self._before = dict(env.timings)
        self._index = np.arange(env.num_envs)
        self._active = self._index < num_episodes
        self._next = min(env.num_envs, num_episodes)
        self._return = np.zeros(env.num_envs)
        self._length = np.zeros(env.num_envs, int)
        self._success_once: list[bool | None] = [None] * env.num_envs

    def run(self, progress: Callable[[Rollout], None] | None) -> Rollout:
        started = time.perf_counter()
        try:
            with DeferredInterrupt() as interrupt:
                observation, _ = self._env.reset(seed=self._seed, options={"episode_index": self._index})
                self._begin(observation, self._active)
                while self._active.any():
                    interrupt.check()
                    observation = self._step(observation)
                    self._measure(started)
                    if progress is not None:
                        progress(self._rollout)
        finally:
            self._measure(started)
            self._rollout.episodes.sort(key=lambda result: result.index)
        return self._rollout

    def _step(self, observation: Any) -> Any:
        with timed(self._seconds, "policy"):
            actions = np.asarray(self._policy(observation))
        actions = np.where(self._active.reshape(-1, *[1] * (actions.ndim - 1)), actions, 0).astype(actions.dtype)
        result = self._env.step(actions)
        batch = self._batch(actions, result)
        if self._recorder is not None and batch is not None:
            self._recorder.on_step(batch)
        self._rollout.control_steps += 1
        ended = self._count(result)
        return self._restart(result[0], ended) if ended.any() else result[0]

    def _count(self, result: tuple[Any, Any, Any, Any, dict[str, Any]]) -> NDArray[np.bool_]:
        """Add the step to the active worlds' episodes; which of them ended, bool (B,)."""
        _, rewards, terminated, truncated, infos = result
        ended = np.zeros(self._env.num_envs, bool)
        for world in np.flatnonzero(self._active).tolist():
            success = success_of(infos, world)
            self._return[world] += float(rewards[world])
            self._length[world] += 1
            if success is not None:
                self._success_once[world] = bool(self._success_once[world]) or success
            if terminated[world] or truncated[world]:
                ended[world] = True
                outcome = EpisodeResult(
                    index=int(self._index[world]),
                    seed=int(self._env.episode_seed[world]),
                    length=int(self._length[world]),
                    episode_return=float(self._return[world]),
                    success_once=self._success_once[world],
                    success_at_end=success,
                    terminated=bool(terminated[world]),
                )
                self._rollout.episodes.append(outcome)
        return ended

    def _restart(self, observation: Any, ended: NDArray[np.bool_]) -> Any:
        """Give the next episodes of the list to the worlds that ended one; the observation after that."""
        begins = np.zeros_like(ended)
        for world in np.flatnonzero(ended):
            self._active[world] = begins[world] = self._next < self._rollout.num_episodes
            if begins[world]:
                self._index[world] = self._next
                self._next += 1
        if not begins.any():
            return observation
        observation, _ = self._env.reset(options={"reset_mask": begins, "episode_index": self._index})
        self._begin(observation, begins)
        return observation

    def _begin(self, observation: Any, begins: NDArray[np.bool_]) -> None:
        worlds = np.flatnonzero(begins)
        self._return[worlds], self._length[worlds] = 0.0, 0
        for world in worlds:
            self._success_once[world] = None
        if reset := getattr(self._policy, "reset", None):
            with timed(self._seconds, "policy"):
                reset(begins)
        if (recorder := self._recorder) is not None:
            recorder.on_reset(ResetBatch.of_env(self._env, observation, worlds.tolist(), self._seed, pictures=recorder.wants_frames))

    def _batch(self, actions: NDArray, result: tuple[Any, Any, Any, Any, dict[str, Any]]) -> StepBatch | None:
        recorder = self._recorder
        return None if recorder is None else StepBatch.of_env(self._env, actions, result, pictures=recorder.wants_frames)

    def _measure(self, started: float) -> None:
        rollout = self._rollout
        rollout.wall_seconds = time.perf_counter() - started
        phases = {"policy": self._seconds["policy"]}
        phases |= {name: seconds - self._before.get(name, 0.0) for name, seconds in self._env.timings.items()}
        if self._recorder is not None:
            phases |= self._recorder.timings
            rollout.pictures = self._recorder.num_pictures
        rollout.timings = {**phases, "other": max(0.0, rollout.wall_seconds - sum(phases.values()))}


def success_of(infos: dict[str, Any], world: int) -> bool | None:
    """Whether a world is in success; None where ``infos`` do not say. ``_success`` is Gymnasium's mask of the worlds that say so."""
    known = infos.get("_success")
    if "success" not in infos or (known is not None and not known[world]):
        return None
    return bool(infos["success"][world])
