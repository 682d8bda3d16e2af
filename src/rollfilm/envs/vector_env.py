"""B worlds of one task as a Gymnasium vector environment, on any engine."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import ArrayLike, NDArray

from rollfilm.engines import engine_class
from rollfilm.engines.protocol import Engine, EngineState
from rollfilm.envs.config import EnvConfig, camera_requests
from rollfilm.envs.episode_looks import EpisodeLooks
from rollfilm.envs.seeds import EpisodeSeeds
from rollfilm.envs.task import Observation, Task
from rollfilm.errors import InvalidArgumentError, NotFoundError
from rollfilm.host import host_array
from rollfilm.render.frames import Frames
from rollfilm.render.looks import WorldLooks
from rollfilm.render.options import RenderOptions
from rollfilm.render.request import CameraRequest

__all__ = ["TaskVectorEnv"]

_RESET_OPTIONS = ("reset_mask", "episode_index")


class TaskVectorEnv(VectorEnv[Any, NDArray, NDArray]):
    """B worlds of a task that never reset themselves (Gymnasium's ``AutoresetMode.DISABLED``).

    A world whose episode has ended (``terminated`` by success or by physics that became unstable, ``truncated`` by the step limit)
    stands still until it is reset: :meth:`step` ignores its action, gives reward 0 and repeats its flags and observation. So a batch
    can run to the end of its last episode without counting a step too many. Wrappers in :mod:`rollfilm.envs.autoreset` reset by
    themselves.

    Args:
        task: what is simulated.
        config: how.

    Raises:
        InvalidArgumentError: an option has a value that is not allowed.
        NotFoundError: the control mode, engine, a camera, or what ``randomize`` names is unknown.
    """

    def __init__(self, task: Task, config: EnvConfig):
        if config.control_mode not in task.control_modes:
            raise NotFoundError(f"{task.name} has no control mode {config.control_mode!r}; choose from {', '.join(task.control_modes)}")
        self.task = task
        self.config = config
        self._substeps = config.substeps
        self.cameras: tuple[CameraRequest, ...] = camera_requests(config, [task.model.camera(i).name for i in range(task.model.ncam)])
        self.engine: Engine = engine_class(config.engine)(task.model, config.num_envs, num_threads=config.num_threads)
        self.num_envs = config.num_envs
        self.render_mode = config.render_mode
        self.metadata = {
            "autoreset_mode": AutoresetMode.DISABLED,
            "render_modes": ["rgb_array"],
            "render_fps": config.control_frequency_hz,
        }
        self.max_episode_steps = config.max_episode_steps or task.max_episode_steps
        #: Seconds spent so far, by phase.
        self.timings: dict[str, float] = {"physics": 0.0, "task": 0.0, "render": 0.0}
        #: Index in its run, and seed, of the episode that each world is in, int64 (B,).
        self.episode_index = np.full(self.num_envs, -1, dtype=np.int64)
        self.episode_seed = np.full(self.num_envs, -1, dtype=np.int64)
        #: Control steps of the current episode so far, int64 (B,).
        self.elapsed_steps = np.zeros(self.num_envs, dtype=np.int64)
        self._terminated = np.zeros(self.num_envs, dtype=np.bool_)
        self._truncated = np.zeros(self.num_envs, dtype=np.bool_)
        self._seeds = EpisodeSeeds(self.num_envs)
        self._episode_looks: EpisodeLooks | None = None
        if config.randomize:
            own = task.looks([request.name for request in self.cameras]) if config.randomize is True else config.randomize
            self._episode_looks = EpisodeLooks(own, self.engine.scene, self.cameras)
        self._looks: list[WorldLooks | None] = [None] * self.num_envs
        self._renderer: Any = None
        self._frames: Frames | None = None
        # worlds whose pictures are of an older state, and the last state that this was known of
        self._unfilmed = np.ones(self.num_envs, dtype=np.bool_)
        self._known_state = -1
        self._read: tuple[int, EngineState, dict[str, NDArray]] | None = None
        self.single_action_space = spaces.Box(-1.0, 1.0, (task.action_size(config.control_mode),), np.float32)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self.single_observation_space = self._observation_space()
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)

    @property
    def task_name(self) -> str:
        """The task's short name."""
        return self.task.name

    @property
    def instruction(self) -> str:
        """What is to be done, in words for a policy that reads them; empty where the task does not say."""
        return getattr(self.task, "instruction", "")

    @property
    def env_id(self) -> str:
        """The id under which Gymnasium knows the task."""
        return self.task.env_id

    @property
    def obs_mode(self) -> str:
        """What is observed."""
        return self.config.obs_mode

    @property
    def control_mode(self) -> str:
        """What an action means."""
        return self.config.control_mode

    @property
    def control_frequency_hz(self) -> float:
        """Actions a second."""
        return self.config.control_frequency_hz

    @property
    def render_options(self) -> RenderOptions:
        """How pictures are drawn."""
        return self.config.render

    @property
    def state_count(self) -> int:
        """Grows with every change of state; the frames of this state carry it."""
        return self.engine.state_count

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin new episodes.

        Args:
            seed: begins a run: an integer of 0 or more; or one each world (a sequence of B, None for a world that keeps its own), whose
                episodes are then counted by themselves. None goes on with the run. An episode's initial state is a function of the
                run's seed and of the episode's index in it alone, and so are its looks (``EnvConfig.randomize``).
            options: ``"reset_mask"`` bool (B,): the worlds to reset, all if left out; the others stay as they are.
                ``"episode_index"`` int (B,): the episodes that the masked worlds begin; if left out, the next ones in slot order.

        Returns:
            The observation, and the facts of :meth:`step`.

        Raises:
            InvalidArgumentError: a seed, mask or index of the wrong kind, shape or range; a mask without a world in it.
            NotFoundError: an option is unknown.
        """
        self._refuse_if_closed()
        mask, chosen = self._reset_options(options)
        if seed is not None:
            self._seeds.start_run(seed)
        indices, seeds = self._seeds.take(mask, chosen)
        self.episode_index[mask], self.episode_seed[mask] = indices[mask], seeds[mask]
        self.elapsed_steps[mask] = 0
        self._terminated[mask] = self._truncated[mask] = False
        self._place(mask)
        if self._episode_looks is not None:
            with self._timed("render"):
                self.set_looks(self._episode_looks.draw(self.episode_seed, mask), mask)
        return self.observe(), self._infos()

    def step(self, actions: ArrayLike) -> tuple[Any, NDArray, NDArray, NDArray, dict[str, Any]]:
        """Act in every world whose episode goes on.

        Args:
            actions: (B, A), -1 to 1; what lies outside is clipped.

        Returns:
            The observation; reward float32 (B,); terminated and truncated bool (B,); and infos, all (B,): ``success`` and the task's
            other facts, ``elapsed_steps`` int64, ``diverged`` bool (the world's physics became unstable, which ends its episode).

        Raises:
            InvalidArgumentError: another shape, an action that is not a number (the message names the world), or a world that was never
                reset.
        """
        self._refuse_if_closed()
        running = ~self.has_ended
        checked = self._checked_actions(actions, running)
        with self._timed("task"):
            control = self.task.control(self.control_mode, checked, self._state_and_facts()[0])
        with self._timed("physics"):
            self._will_change(running)
            self.engine.step(control, self._substeps, world_mask=running)
            self._known_state = self.engine.state_count
        state, facts = self._state_and_facts()
        self.elapsed_steps[running] += 1
        with self._timed("task"):
            reward = np.where(running, self._reward(state, facts), 0.0).astype(np.float32)
        self._terminated |= running & (facts["success"] | self.engine.diverged)
        self._truncated |= running & (self.elapsed_steps >= self.max_episode_steps)
        return self.observe(), reward, self._terminated.copy(), self._truncated.copy(), self._infos()

    @property
    def run_seeds(self) -> tuple[int, ...]:
        """The seed of the run that each world's episode belongs to (B,): the one that was given to :meth:`reset`, or drawn."""
        return self._seeds.runs

    @property
    def has_ended(self) -> NDArray[np.bool_]:
        """Worlds (B,) whose episode has ended and that wait for a reset."""
        return self._terminated | self._truncated

    def observe(self) -> Any:
        """The observation of the current state, also after the engine's state was set from outside."""
        if self.obs_mode == "state_dict":
            return self._observation(privileged=True)
        if self.obs_mode == "state":
            return self.state_vector()
        frames = self.frames()
        pictures = {request.name: np.array(host_array(frames[request.name].rgb)) for request in self.cameras if "rgb" in request.outputs}
        return {"state": _flatten(self._observation(privileged=False)), "rgb": pictures}

    def state_vector(self) -> NDArray[np.float32]:
        """The flat state observation (B, S), whatever the observation mode."""
        return _flatten(self._observation(privileged=True))

    def frames(self) -> Frames:
        """Pictures of the current state, rendered at most once per state; overwritten when the next state is rendered.

        Raises:
            InvalidArgumentError: no camera was asked for.
        """
        if not self.cameras:
            raise InvalidArgumentError("this environment films no camera; make it with cameras={'front': (256, 256)}, for example")
        frames = self._frames
        if frames is None or frames.state_count != self.engine.state_count:
            with self._timed("render"):
                renderer = self._made_renderer()
                self._will_change(np.zeros(self.num_envs, dtype=np.bool_))
                changed = None if self._unfilmed.all() else self._unfilmed
                self._frames = frames = renderer.render(self.engine, worlds=changed)
                self._unfilmed[:] = False
                self._known_state = self.engine.state_count
        return frames

    def set_looks(self, looks: WorldLooks, worlds: ArrayLike | None = None) -> None:
        """Let worlds look as ``looks`` say from now on, in pictures of the current state too (:meth:`observe` gives them).

        A reset of an environment with ``randomize`` gives the worlds that it resets other looks.

        Args:
            looks: of B worlds.
            worlds: mask (B,) bool of the worlds that get them; None for all.

        Raises:
            InvalidArgumentError: no camera was asked for; or see ``BatchRenderer.set_looks``.
            NotFoundError: see there.
        """
        self._refuse_if_closed()
        if not self.cameras:
            raise InvalidArgumentError("this environment films no camera; make it with cameras={'front': (256, 256)}, for example")
        self._made_renderer().set_looks(looks, worlds)
        self._frames = None
        mask = np.ones(self.num_envs, dtype=np.bool_) if worlds is None else np.asarray(worlds)
        self._unfilmed |= mask
        for world in np.flatnonzero(mask).tolist():
            self._looks[world] = looks.worlds([world]) if looks.used else None

    @property
    def looks(self) -> tuple[WorldLooks | None, ...]:
        """How each world looks (looks of one world), as :meth:`set_looks` was told last; None for as the scene says."""
        return tuple(self._looks)

    def _made_renderer(self) -> Any:
        if self._renderer is None:
            from rollfilm.render import BatchRenderer

            self._renderer = BatchRenderer(
                self.engine.scene, self.num_envs, list(self.cameras), device=self.config.device, options=self.render_options
            )
        return self._renderer

    @property
    def renderer(self) -> Any:
        """The renderer, None before the first picture."""
        return self._renderer

    def render(self) -> tuple[NDArray[np.uint8], ...] | None:
        """A picture (H, W, 3) a world by the first camera, or None without ``render_mode="rgb_array"``."""
        if self.render_mode is None:
            return None
        return tuple(np.array(host_array(self.frames()[self.cameras[0].name].rgb)))

    def env_states(self) -> dict[str, dict[str, NDArray[np.float32]]]:
        """The current state in ManiSkill's layout: actors (B, 13) and articulations (B, 13 + 2 dof) by name."""
        return self.task.env_states(self._state_and_facts()[0])

    def close_extras(self, **kwargs: Any) -> None:
        """End the threads of the engine and of the renderer."""
        for part in (self.engine, self._renderer):
            if close := getattr(part, "close", None):
                close()
        self._renderer = self._frames = None

    def _refuse_if_closed(self) -> None:
        if self.closed:
            raise InvalidArgumentError("this environment is closed; make another one")

    def _place(self, mask: NDArray[np.bool_]) -> None:
        with self._timed("task"):
            starts = {int(w): self.task.initial_state(np.random.default_rng(int(self.episode_seed[w]))) for w in np.flatnonzero(mask)}
        some = next(iter(starts.values()))
        batch = [starts.get(world, some) for world in range(self.num_envs)]
        with self._timed("physics"):
            self._will_change(mask)
            self.engine.reset(mask, qpos=np.stack([one.qpos for one in batch]), qvel=np.stack([one.qvel for one in batch]))
            positions = np.stack([one.mocap_position for one in batch])
            self.engine.set_mocap(mask, position=positions, quat_wxyz=np.stack([one.mocap_quat_wxyz for one in batch]))
            self._known_state = self.engine.state_count

    def _will_change(self, mask: NDArray[np.bool_]) -> None:
        """The masked worlds get another state; all have one if the engine's state was changed from outside since we last saw it."""
        self._unfilmed |= mask | (self.engine.state_count != self._known_state)

    def _state_and_facts(self) -> tuple[EngineState, dict[str, NDArray]]:
        if self._read is None or self._read[0] != self.engine.state_count:
            with self._timed("task"):
                state = self.engine.read_state()
                self._read = (self.engine.state_count, state, self.task.evaluate(state))
        return self._read[1], self._read[2]

    def _infos(self) -> dict[str, Any]:
        facts = {name: value.copy() for name, value in self._state_and_facts()[1].items()}
        infos: dict[str, Any] = {**facts, "elapsed_steps": self.elapsed_steps.copy(), "diverged": self.engine.diverged.copy()}
        # Gymnasium's wrappers look for the worlds that have a value under the name with an underscore.
        return infos | {f"_{name}": np.ones(self.num_envs, dtype=np.bool_) for name in infos}

    def _observation(self, *, privileged: bool) -> Observation:
        state, facts = self._state_and_facts()
        with self._timed("task"):
            return self.task.observe(state, facts, privileged=privileged)

    def _observation_space(self) -> spaces.Space:
        if self.obs_mode == "state_dict":
            return _space_of(self._observation(privileged=True))
        if self.obs_mode == "state":
            return _box(self.state_vector())
        shapes = {request.name: (request.height, request.width, 3) for request in self.cameras if "rgb" in request.outputs}
        pictures: dict[str, spaces.Space] = {name: spaces.Box(0, 255, shape, np.uint8) for name, shape in shapes.items()}
        return spaces.Dict({"state": _box(_flatten(self._observation(privileged=False))), "rgb": spaces.Dict(pictures)})

    def _reward(self, state: EngineState, facts: dict[str, NDArray]) -> NDArray:
        mode = self.config.reward_mode
        if mode == "none":
            return np.zeros(self.num_envs)
        if mode == "sparse":
            return facts["success"].astype(np.float64)
        dense = self.task.dense_reward(state, facts)
        return dense / self.task.max_reward if mode == "normalized_dense" else dense

    def _checked_actions(self, actions: ArrayLike, running: NDArray[np.bool_]) -> NDArray[np.float64]:
        if (self.episode_index < 0).any():
            never = np.flatnonzero(self.episode_index < 0).tolist()
            raise InvalidArgumentError(f"worlds {never} were never reset; call reset() before step()")
        try:
            array = np.asarray(actions)
        except ValueError as error:
            raise InvalidArgumentError(f"the actions are no array: {error}") from None
        if array.dtype.kind not in "fiub":
            raise InvalidArgumentError(f"the actions are {array.dtype}; give numbers from -1 to 1")
        array = array.astype(np.float64)
        expected = (self.num_envs, *(self.single_action_space.shape or ()))
        if array.shape != expected:
            raise InvalidArgumentError(
                f"the actions have shape {array.shape}; {self.control_mode} with {self.num_envs} worlds takes {expected}"
            )
        bad = running & ~np.isfinite(array).all(axis=1)
        if bad.any():
            raise InvalidArgumentError(f"the actions of worlds {np.flatnonzero(bad).tolist()} are not finite; give numbers from -1 to 1")
        return np.clip(np.where(running[:, None], array, 0.0), -1.0, 1.0)

    def _reset_options(self, options: dict[str, Any] | None) -> tuple[NDArray[np.bool_], NDArray[np.int64] | None]:
        options = {} if options is None else options
        if not isinstance(options, dict):
            raise InvalidArgumentError(f"options is {options!r}; give a dict with {' and '.join(map(repr, _RESET_OPTIONS))}, or None")
        unknown = sorted(set(options) - set(_RESET_OPTIONS))
        if unknown:
            raise NotFoundError(f"unknown reset options {', '.join(map(repr, unknown))}; known: {', '.join(_RESET_OPTIONS)}")
        mask = np.asarray(options.get("reset_mask", np.ones(self.num_envs, dtype=np.bool_)))
        if mask.dtype != np.bool_ or mask.shape != (self.num_envs,) or not mask.any():
            raise InvalidArgumentError(
                f"reset_mask is {mask.dtype} of shape {mask.shape}; it must be bool of shape ({self.num_envs},) with one True or more"
            )
        if "episode_index" not in options:
            return mask, None
        chosen = np.asarray(options["episode_index"])
        if chosen.dtype.kind not in "iu" or chosen.shape != (self.num_envs,) or (chosen[mask] < 0).any():
            raise InvalidArgumentError(
                f"episode_index is {chosen.dtype} of shape {chosen.shape}; it must hold integers of 0 or more in shape ({self.num_envs},)"
            )
        return mask, chosen.astype(np.int64)

    @contextmanager
    def _timed(self, phase: str) -> Iterator[None]:
        start = time.perf_counter()
        try:
            yield
        finally:
            self.timings[phase] += time.perf_counter() - start


def _flatten(observation: Observation) -> NDArray[np.float32]:
    parts = [_flatten(value) if isinstance(value, dict) else value for value in observation.values()]
    return np.concatenate(parts, axis=-1).astype(np.float32)


def _box(batch: NDArray) -> spaces.Box:
    return spaces.Box(-np.inf, np.inf, batch.shape[1:], np.float32)


def _space_of(observation: Observation) -> spaces.Dict:
    return spaces.Dict({name: _space_of(value) if isinstance(value, dict) else _box(value) for name, value in observation.items()})
