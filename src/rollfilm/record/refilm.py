"""A recording filmed again as a new one: the same episodes, rows and states, in pictures of other cameras, sizes or looks."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from rollfilm.errors import NotFoundError, RecordingError
from rollfilm.record.batch import ResetBatch, StateBatch, StepBatch
from rollfilm.record.layout import Layout
from rollfilm.record.manifest import EnvDescription
from rollfilm.record.options import RecorderOptions
from rollfilm.record.reading import EpisodeRows, Recording
from rollfilm.record.recorder import Recorder
from rollfilm.record.replay import episode_of, tree_below
from rollfilm.record.rerender import RerenderOptions, recorded_options, requests_of
from rollfilm.record.states import EpisodeStates
from rollfilm.record.video import VideoOptions
from rollfilm.render.frames import Frames
from rollfilm.render.looks import WorldLooks

__all__ = ["Refilmed", "refilm"]

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Refilmed:
    """What was made.

    Attributes:
        layout: of the new recording.
        episodes: how many it holds.
        left_out: kept episodes of the old one that were cut, so that there are no rows of them.
    """

    layout: Layout
    episodes: int
    left_out: tuple[int, ...]


def refilm(
    recording: Recording,
    out: str | Path,
    episodes: Sequence[int] | None = None,
    options: RerenderOptions | None = None,
    *,
    changes: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> Refilmed:
    """Make a new recording of stored states: videos, rows in the same formats, states with the new cameras and looks, and a page.

    Args:
        recording: with states and rows, which stays as it is.
        out: a folder that holds no recording.
        episodes: indices of kept episodes; None for all that have rows. They keep their indices.
        options: how they are filmed.
        changes: fields of :class:`RecorderOptions` that shall be other than in the old recording, as ``video`` or ``overwrite``.
        progress: called with how many of how many episodes are done.

    Raises:
        NotFoundError: no such episode or camera.
        RecordingError: an episode has no states or rows, or observations that hold pictures, which would not be those of the new videos;
            or a file cannot be read or written.
        RecordingExistsError: ``out`` holds a recording.
    """
    options = options or RerenderOptions()
    chosen = [line["episode"] for line in recording.kept if line.get("states") and line["ended"] != "cut"] if episodes is None else episodes
    left_out = [line["episode"] for line in recording.kept if line["ended"] == "cut"] if episodes is None else []
    if not chosen:
        raise RecordingError(f"{recording.layout.root} holds no kept, complete episode with states; there is nothing to film")
    for index in chosen:
        if not recording.episode(index)["kept"]:
            raise NotFoundError(f"episode {index} of {recording.layout.root} was not kept; there is nothing to film it from")
    sources = _sources(recording, chosen)
    first = next(sources)  # what cannot be read is said before anything is made
    with Recorder(out, _description(recording, options), _recorder_options(recording, changes or {})) as recorder:
        for done, source in enumerate(_chained(first, sources)):
            source.record(recorder, options.looks_of)
            if progress is not None:
                progress(done + 1, len(chosen))
    return Refilmed(recorder.layout, len(chosen), tuple(left_out))


@dataclass(frozen=True, eq=False)
class _Source:
    """An episode as it was recorded."""

    line: Mapping[str, Any]
    rows: EpisodeRows
    states: EpisodeStates

    def record(self, recorder: Recorder, looks_of: Callable[[int], WorldLooks | None] | None) -> None:
        """Hand it to a recorder, step by step."""
        episode, steps = episode_of(self.line), self.rows.steps
        own = None if looks_of is None else looks_of(episode.index)

        def state(k: int) -> StateBatch:
            return self.state(k, own if looks_of is not None else self.states.looks_at(k))

        recorder.on_reset(
            ResetBatch(
                state(0),
                [0],
                np.array([episode.index]),
                [episode.seed],
                run_seed=[episode.run_seed],
                reset_kwargs=[episode.reset_kwargs],
                instructions=None if episode.instruction is None else [episode.instruction],
            )
        )
        for k in range(steps):
            recorder.on_step(self.step(k, state(k + 1), last=k == steps - 1))

    def state(self, k: int, looks: WorldLooks | None) -> StateBatch:
        """The state after k actions, one world."""
        count, stored = int(self.states.state_count[k]), self.states
        arrays = {name: getattr(stored, name) for name in ("position", "quat_wxyz", "path", "engine_state")}
        return StateBatch(
            Frames({}, count),
            count,
            _row(tree_below(self.rows, "obs"), k),
            _row(tree_below(self.rows, "env_states"), k),
            {name: array[k : k + 1] for name, array in arrays.items() if array is not None},
            [looks],
        )

    def step(self, k: int, state: StateBatch, *, last: bool) -> StepBatch:
        """Step k, one world."""
        names = ("success", "success_known", "fail", "fail_known")
        flags: dict[str, Any] = {name: self.rows[name][k : k + 1] for name in names if name in self.rows}
        return StepBatch(
            state,
            _row(tree_below(self.rows, "actions"), k),
            self.rows["rewards"][k : k + 1],
            self.rows["terminated"][k : k + 1],
            self.rows["truncated"][k : k + 1],
            ends=np.array([last]),
            **flags,
        )


def _sources(recording: Recording, episodes: Sequence[int]) -> Iterator[_Source]:
    for index in episodes:
        rows, states = recording.trajectory(index), recording.states(index)
        for name, array in rows.items():
            if name.startswith("obs") and array.dtype == np.uint8 and array.ndim >= 4:
                raise RecordingError(
                    f"{recording.layout.root}: the observations hold pictures ({name}), which would not be those of the new videos; "
                    'record with obs_mode="state" and film the cameras that the policy needs'
                )
        if len(states) != rows.steps + 1:
            raise RecordingError(f"{recording.layout.root}, episode {index}: {len(states)} states for {rows.steps} steps")
        yield _Source(recording.episode(index), rows, states)


def _chained(first: _Source, others: Iterator[_Source]) -> Iterator[_Source]:
    yield first
    yield from others


def _row(tree: Any, k: int) -> Any:
    return {name: _row(branch, k) for name, branch in tree.items()} if isinstance(tree, Mapping) else tree[k : k + 1]


def _description(recording: Recording, options: RerenderOptions) -> EnvDescription:
    said = recording.manifest
    kept = {field.name: said[field.name] for field in fields(EnvDescription) if field.name in said}
    cameras = requests_of(recording, options.cameras)
    return replace(
        EnvDescription(**{**kept, "num_envs": 1, "cameras": cameras}),
        device=options.device or said["renderer"]["device"],
        scene=recording.scene,
        render_options=options.render or recorded_options(recording),
        fov_y_rad={camera.name: camera.fov_y_rad for camera in recording.scene.cameras if not camera.orthographic},
    )


def _recorder_options(recording: Recording, changes: Mapping[str, Any]) -> RecorderOptions:
    said = recording.manifest
    own = {name: said[name] for name in ("seed", "record_rewards", "source_type", "source_desc") if name in said}
    own |= {"fps": float(Fraction(said["fps"])), "formats": tuple(said.get("formats", ("maniskill",))), "video_when": "after"}
    return RecorderOptions(**{**own, "video": VideoOptions(**said["video"]), **changes})
