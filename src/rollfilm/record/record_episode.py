"""``RecordEpisode``: records whatever is done with an environment, with the arguments of ManiSkill's wrapper of that name.

The arguments and methods are those of ``mani_skill.utils.wrappers.record.RecordEpisode`` in mani_skill 3.0.1. What is written, and where
it differs, is told in ``docs/record_episode.md``.
"""

import warnings
import weakref
from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from enum import Enum
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import gymnasium
import numpy as np
from gymnasium.vector import VectorEnv, VectorWrapper

from rollfilm.errors import InvalidArgumentError, NotFoundError
from rollfilm.host import host_array
from rollfilm.record.clips import Clips
from rollfilm.record.layout import Layout
from rollfilm.record.options import Keep, RecorderOptions
from rollfilm.record.pictures import Cameras, picture_source
from rollfilm.record.recorder import Recorder
from rollfilm.record.state_reader import StateReader
from rollfilm.record.watcher import Watcher, WatchOptions
from rollfilm.record.wrapped_env import AutoresetMode, WrappedEnv
from rollfilm.scene import PoseSource

__all__ = ["RecordEpisode"]


class RecordEpisode:
    """Records an environment while it is used as ever: a video of every episode and camera, and its trajectory.

    Takes any Gymnasium vector environment, a batched environment as ManiSkill's, or one world; NumPy or torch. Worlds may be reset by
    hand or reset themselves (in the same step, or the next). An episode of T steps gets T actions and T + 1 states and frames, the
    reset's first and the terminal one last. Frames come from rollfilm's cameras, else from ``env.render()``.

    An episode begins with the first step after a reset, so that a reset without a step leaves nothing. It ends when the environment says
    so (in batched environments of ManiSkill's kind, which go on after that, when the world is reset), or with
    :meth:`flush_trajectory`. Closing cuts episodes in flight.

    Args:
        env: what is recorded. It is stepped and closed through this wrapper.
        output_dir: made if it is not there.
        save_trajectory: write states, observations and actions.
        trajectory_name: of the h5 and json, in the place of ``trajectory.<obs mode>.<control mode>.<engine>``.
        save_video: film. Without it the environment needs no camera.
        info_on_video: write reward and infos on the pictures of videos.
        save_on_reset: keep episodes that a reset ends. If not, only those that :meth:`flush_trajectory` asks for are kept.
        save_video_trigger: a function of the number of steps so far; says which steps the clips of all worlds show, and which episodes
            are filmed: those whose first step it says yes to.
        max_steps_per_video: steps in a clip of all worlds; they are then in ``clips/``, in the place of ``overview.mp4``.
        clean_on_close: accepted; there is nothing to clean. Episodes without a step are never written, and numbers are never changed.
        record_reward, record_env_state: whether the trajectory holds them.
        video_fps: None for the control rate, so that videos play in real time; 30 where nobody knows it.
        render_substeps: show the states within a control step too, in the video of all worlds.
        avoid_overwriting_video: if the folder holds a recording, record to the first free one of ``<output_dir>-2``, ``-3``, ...
        source_type, source_desc: where the actions come from.
        keep: which episodes stay: ``"all"``, ``"success"``, or a function of (episode, outcome).
        cameras: names of the environment's cameras, or sizes (H, W) by name for a renderer of its own; None for all that there are.
        pose_source: what that renderer films, where the environment is not one of ours.
        frames: gives pictures in the place of ``env.render``: uint8 (B, H, W, 3), or those by the name of a camera.
        formats: what trajectories are written as, of ``"maniskill"``, ``"lerobot"``, ``"robomimic"``; None for ManiSkill's alone.
        instruction: what is to be done, in words, for datasets that have them; None for what the environment says.
        success_key: the name in ``infos`` of what tells success.
        autoreset_mode: when worlds reset themselves, ``"disabled"``, ``"next_step"`` or ``"same_step"``; None for what the environment
            says.
        recorder_options: fields of :class:`rollfilm.record.RecorderOptions`, as ``overwrite=True`` or ``video=VideoOptions(crf=30)``.

    Raises:
        RecordingExistsError: the folder holds a recording; give ``overwrite=True`` or ``avoid_overwriting_video=True``.
        InvalidArgumentError: an argument has no meaning, or none for this environment.
        NotFoundError: a camera or an option is unknown.
    """

    def __new__(cls, env: Any, *args: Any, **kwargs: Any) -> Any:
        """Gymnasium's wrappers ask what they wrap: around its environments this is one of them."""
        if cls is RecordEpisode:
            cls = _OfVectorEnv if isinstance(env, VectorEnv) else _OfEnv if isinstance(env, gymnasium.Env) else _OfAnything
        return object.__new__(cls)

    def __init__(
        self,
        env: Any,
        output_dir: str | Path,
        save_trajectory: bool = True,
        trajectory_name: str | None = None,
        save_video: bool = True,
        info_on_video: bool = False,
        save_on_reset: bool = True,
        save_video_trigger: Callable[[int], bool] | None = None,
        max_steps_per_video: int | None = None,
        clean_on_close: bool = True,
        record_reward: bool = True,
        record_env_state: bool = True,
        video_fps: float | None = None,
        render_substeps: bool = False,
        avoid_overwriting_video: bool = False,
        source_type: str | None = None,
        source_desc: str | None = None,
        *,
        keep: Keep = "all",
        cameras: Cameras | None = None,
        pose_source: PoseSource | None = None,
        frames: Callable[[], Any] | None = None,
        formats: Sequence[str] | None = None,
        instruction: str | None = None,
        success_key: str = "success",
        autoreset_mode: AutoresetMode | Enum | None = None,
        **recorder_options: Any,
    ) -> None:
        self._wrap(env)
        self.save_trajectory, self.video_fps, self.save_on_reset = save_trajectory, video_fps, save_on_reset
        self.record_reward, self.record_env_state = record_reward, record_env_state
        self.max_steps_per_video, self.save_video_trigger = max_steps_per_video, save_video_trigger
        self._wrapped = WrappedEnv(env, autoreset_mode)
        if self._wrapped.autoreset_mode != "disabled" and not save_on_reset:
            raise InvalidArgumentError("save_on_reset=False was asked for, but the environment's worlds reset themselves; use discard(env)")
        chosen = {"keep": keep, "fps": video_fps, "pictures": save_video, "record_rewards": record_reward}
        chosen |= {"formats": _chosen_formats(formats, save_trajectory=save_trajectory, trajectory_name=trajectory_name)}
        chosen |= {"trajectory_name": trajectory_name, "source_type": source_type, "source_desc": source_desc}
        cut = save_video_trigger is not None or max_steps_per_video is not None
        options = _recorder_options(recorder_options | chosen)
        if cut and options.video_when == "after":
            raise InvalidArgumentError("clips of all worlds need pictures of every step, and video_when='after' films later; leave one out")
        self._options = replace(options, overview=options.overview and not cut)
        if info_on_video or render_substeps:
            raise InvalidArgumentError("info_on_video and render_substeps are not offered: a video shows each state once, as it was filmed")
        if not save_video:
            _refuse_without_effect(
                cameras=cameras,
                pose_source=pose_source,
                frames=frames,
                save_video_trigger=save_video_trigger,
                max_steps_per_video=max_steps_per_video,
            )
        self.output_dir = _free_folder(Path(output_dir), overwrite=options.overwrite, avoid=avoid_overwriting_video)
        self._source = picture_source(self._wrapped, cameras, pose_source, frames) if save_video else None
        enabled = self._source is not None and options.has_overview
        self._clips = Clips(Layout(self.output_dir).clips, save_video_trigger, max_steps_per_video, enabled=enabled)
        self._watch_options = WatchOptions(bool(options.formats), save_on_reset, success_key)
        self._poses = pose_source or (getattr(self._wrapped.base, "engine", None) if self._wrapped.is_ours else None)
        self._instruction = instruction
        self._recorder: Recorder | None = None
        self._watcher: Watcher | None = None
        if self._source is None or self._source.known:
            self._open()
        self._closed = False

    @property
    def num_envs(self) -> int:
        """B, the number of worlds."""
        return self._wrapped.num_envs

    @property
    def base_env(self) -> Any:
        """The innermost environment."""
        return self._wrapped.base

    @property
    def save_video(self) -> bool:
        """Whether the next step is filmed."""
        return self._source is not None and self._clips.wants(0 if self._watcher is None else self._watcher.num_steps)

    @property
    def recorder(self) -> Recorder:
        """Who writes the files.

        Raises:
            InvalidArgumentError: before the first reset of an environment whose pictures nobody has seen yet.
        """
        if self._recorder is None:
            raise InvalidArgumentError("nothing has been recorded yet: call reset() first")
        return self._recorder

    def reset(
        self, *args: Any, seed: Any = None, options: dict[str, Any] | None = None, save: bool = True, **kwargs: Any
    ) -> tuple[Any, dict[str, Any]]:
        """Reset the environment. Episodes begin in the worlds that this resets, and end there.

        Args:
            args: of the environment's own.
            seed, options: the environment's; ``reset_mask`` or ``env_idx`` among the options name the worlds.
            save: whether episodes that this ends are kept; otherwise they are discarded, also those that have just ended.
            kwargs: of the environment's own.

        Raises:
            RecordingError: a file cannot be written.
        """
        # some environments take the mask out of the options
        given, worlds = dict(options or {}), self._wrapped.worlds_of(options)
        observation, infos = self.env.reset(*args, seed=seed, options=options, **kwargs)
        self._wrapped.learn_from(observation)
        watcher = self._open() if self._watcher is None else self._watcher
        watcher.after_reset(observation, seed, given, worlds, save=save)
        return observation, infos

    def step(self, action: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Step the environment, and record the step.

        Raises:
            InvalidArgumentError: before the first reset.
            RecordingError: a file cannot be written.
        """
        watcher = self._followed()
        actions = watcher.before_step(action)
        with watcher.stepping():
            result = self.env.step(action)
        watcher.after_step(actions, result)
        return result

    def flush_trajectory(
        self,
        verbose: bool = False,
        ignore_empty_transition: bool = True,
        env_idxs_to_flush: Any = None,
        save: bool = True,
    ) -> None:
        """End the episodes in flight and keep them, or throw away those that the worlds' last steps belonged to.

        A world that is stepped on without a reset begins another episode, in the state that it is in.

        Args:
            verbose: print what was kept.
            ignore_empty_transition: pass over episodes without a step; there is no other way.
            env_idxs_to_flush: the worlds, None for all.
            save: whether the episodes are kept.

        Raises:
            InvalidArgumentError: ``ignore_empty_transition=False``: a trajectory without an action has no shape. Or there is no such world.
            RecordingError: a file cannot be written.
        """
        _refuse_empty(ignore_empty_transition)
        given = range(self.num_envs) if env_idxs_to_flush is None else np.atleast_1d(host_array(env_idxs_to_flush)).tolist()
        flushed = self._followed().flush([self._checked_world(world) for world in given], save=save)
        if verbose and save and flushed:
            print(f"recorded the episodes of worlds {', '.join(map(str, flushed))} to {self.output_dir}")

    def flush_video(
        self, name: str | None = None, suffix: str = "", verbose: bool = False, ignore_empty_transition: bool = True, save: bool = True
    ) -> None:
        """End the video of all worlds and keep it in ``clips/``, or throw it away. Videos of episodes end with their episodes.

        Args:
            name: of the file; None for the next number.
            suffix: what follows the number.
            verbose: print the name.
            ignore_empty_transition: pass over a video without a step; there is no other way.
            save: whether it is kept.

        Raises:
            InvalidArgumentError: the name is none of a file, or is taken; or ``ignore_empty_transition=False``.
        """
        _refuse_empty(ignore_empty_transition)
        if self._recorder is not None and (path := self._clips.finish(self._recorder, name, suffix, save=save)) and verbose:
            print(f"wrote {path}")

    def discard(self, env: int) -> bool:
        """Throw away the episode that the last step of a world belonged to, also if that step ended it.

        Args:
            env: the world, from 0.

        Returns:
            Whether there was such an episode.
        """
        return self._followed().discard(self._checked_world(env))

    def close(self, error: BaseException | None = None, **kwargs: Any) -> None:
        """Close the recording and the environment. Episodes in flight are cut: their videos stay, but they are no trajectories.

        Args:
            error: what went wrong: then they have failed.
            kwargs: of the environment's own.

        Raises:
            RecordingError: something could not be written.
        """
        if self._closed:
            return
        self._closed = True
        try:
            if self._recorder is not None and self._watcher is not None:
                self._finalizer.detach()
                self._watcher.close()
                _close(self._recorder, self._clips, error)
        finally:
            self.env.close(**kwargs)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self.close(error)

    def _wrap(self, env: Any) -> None:
        self.env = env
        # a wrapper that was refused closes nothing when it is forgotten
        self._closed = True

    def _open(self) -> Watcher:
        cameras = () if self._source is None else self._source.requests()
        description = self._wrapped.describe(cameras, self._poses, self.video_fps)
        if self._instruction is not None:
            description = replace(description, instruction=self._instruction)
        self._recorder = Recorder(self.output_dir, description, self._options)
        states = self.save_trajectory and self.record_env_state
        reader = StateReader(self._wrapped, self._source, self._poses, env_states=states)
        self._watcher = Watcher(self._wrapped, reader, self._recorder, self._clips, self._watch_options)
        # a script that ends without close() leaves whole files all the same, and a recording that says what happened
        self._finalizer = weakref.finalize(self, _close, self._recorder, self._clips, KeyboardInterrupt("never closed"))
        return self._watcher

    def _followed(self) -> Watcher:
        if self._closed:
            raise InvalidArgumentError("this environment is closed; make another one")
        if self._watcher is None:
            raise InvalidArgumentError("nothing has been recorded yet: call reset() first")
        return self._watcher

    def _checked_world(self, world: Any) -> int:
        if not 0 <= int(world) < self.num_envs:
            raise InvalidArgumentError(f"there is no world {world}; they are 0 to {self.num_envs - 1}")
        return int(world)


class _OfEnv(RecordEpisode, gymnasium.Wrapper):
    def _wrap(self, env: Any) -> None:
        gymnasium.Wrapper.__init__(self, env)
        super()._wrap(env)


# Gymnasium's vector environments call the parameter of step "actions", its single ones "action"
class _OfVectorEnv(RecordEpisode, VectorWrapper):  # pyright: ignore[reportIncompatibleMethodOverride]
    def _wrap(self, env: Any) -> None:
        VectorWrapper.__init__(self, env)
        super()._wrap(env)


class _OfAnything(RecordEpisode):
    def __getattr__(self, name: str) -> Any:
        if name == "env":
            raise AttributeError(name)
        return getattr(self.env, name)


def _close(recorder: Recorder, clips: Clips, error: BaseException | None) -> None:
    if clips.cut and not clips.finish(recorder):
        recorder.end_clip(None)
    recorder.close(error)
    if error is None and recorder.num_ended and not recorder.num_kept:
        warnings.warn(f"no episode was kept of {recorder.num_ended} that ended in {recorder.layout.root}", stacklevel=3)


def _refuse_without_effect(**options: Any) -> None:
    if given := [name for name, value in options.items() if value is not None]:
        raise InvalidArgumentError(f"{given[0]} was given, which has no effect with save_video=False; leave it out")


def _refuse_empty(ignore_empty_transition: bool) -> None:
    if not ignore_empty_transition:
        raise InvalidArgumentError("ignore_empty_transition=False was asked for; what has no step cannot be written")


def _recorder_options(chosen: dict[str, Any]) -> RecorderOptions:
    known = [item.name for item in fields(RecorderOptions)]
    if unknown := [name for name in chosen if name not in known]:
        raise NotFoundError(f"there is no argument {unknown[0]!r}; beside its own, RecordEpisode takes {', '.join(known)}")
    return RecorderOptions(**chosen)


def _chosen_formats(formats: Sequence[str] | None, *, save_trajectory: bool, trajectory_name: str | None) -> tuple[str, ...]:
    chosen = ("maniskill",) if formats is None and save_trajectory else tuple(name for name in formats or () if name != "jsonl")
    if chosen and not save_trajectory:
        raise InvalidArgumentError(f"formats={formats!r} came with save_trajectory=False; leave one of them out")
    if trajectory_name is not None and "maniskill" not in chosen:
        raise InvalidArgumentError(f"trajectory_name={trajectory_name!r} has no effect without ManiSkill's format; leave it out")
    return chosen


def _free_folder(folder: Path, *, overwrite: bool, avoid: bool) -> Path:
    """The folder to record to, which holds no recording yet.

    Raises:
        RecordingExistsError: it does, and that is neither to be overwritten nor avoided.
    """
    if overwrite and avoid:
        raise InvalidArgumentError("overwrite=True and avoid_overwriting_video=True were asked for; choose one")
    candidates = (folder if number == 1 else folder.with_name(f"{folder.name}-{number}") for number in count(1))
    if avoid:
        return next(one for one in candidates if not any(Layout(one).recorded_files()))
    if not overwrite:
        Layout(folder).refuse_existing()
    return folder
