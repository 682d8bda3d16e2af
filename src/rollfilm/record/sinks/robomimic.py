"""robomimic's hdf5: ``data/demo_<episode>`` with T rows of states, actions, rewards, dones and observations. Opened with robomimic 0.3.0.

As in the other formats, each finished episode is first a segment, a file of its own, and closing puts them together. Pictures are the
renderer's own, before any codec. The terminal state is the last row of ``next_obs``, which holds all but the pictures.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import h5py
import numpy as np
from numpy.typing import NDArray

from rollfilm.errors import RecordingError
from rollfilm.record.hdf5 import write_rows, writing_hdf5
from rollfilm.record.layout import Layout
from rollfilm.record.rows import RowSpool, flatten
from rollfilm.record.sink import Episode, Outcome, Receipt, StateRow, StepRow
from rollfilm.record.sinks.filmed import filmed_lines
from rollfilm.record.vectors import vector_names, vector_of
from rollfilm.record.whole import naming, whole_or_not_there

__all__ = ["RobomimicInfo", "RobomimicSink", "assemble", "join_demos", "sink"]

_KIND = "robomimic"

#: What robomimic calls an environment that Gymnasium makes (``robomimic.envs.env_base.EnvType.GYM_TYPE``).
_GYM_TYPE = 2


@dataclass(frozen=True)
class RobomimicInfo:
    """What the file says of all episodes.

    Attributes:
        env_id, env_kwargs: how Gymnasium makes the environment.
        rollfilm: where the file comes from.
    """

    env_id: str
    env_kwargs: Mapping[str, Any]
    rollfilm: Mapping[str, Any]

    @classmethod
    def of_manifest(cls, manifest: Mapping[str, Any], *, pictures: str = "as rendered") -> Self:
        """What a recording's ``recording.json`` says of it, and where the pictures come from."""
        names = ("task", "engine", "control_mode", "control_frequency_hz", "obs_mode", "instruction", "versions")
        said = {name: manifest[name] for name in names if name in manifest}
        return cls(manifest["env_id"], manifest["env_kwargs"], {**said, "pictures": pictures})


def observation_leaves(observation: Any) -> dict[str, NDArray]:
    """The arrays of an observation by robomimic's flat names, ``"agent_qpos"``; a plain array is ``"state"``."""
    return {
        name.replace("/", "_"): leaf for name, leaf in flatten(observation, "" if isinstance(observation, Mapping) else "state").items()
    }


@dataclass
class _Before:
    """The state before a step; arrays of its own."""

    observation: dict[str, NDArray]
    env_states: NDArray[np.float32]
    pictures: dict[str, NDArray[np.uint8]]

    @classmethod
    def of_row(cls, state: StateRow) -> Self:
        leaves = {name: np.array(leaf) for name, leaf in observation_leaves(state.observation).items()}
        pictures = {camera: picture.rgb.copy() for camera, picture in state.pictures.items()}
        return cls(leaves, vector_of(state.env_states), pictures)


@dataclass
class _OpenEpisode:
    rows: RowSpool
    before: _Before
    state_names: list[str]


class RobomimicSink:
    """Writes ``robomimic.hdf5``, the complete episodes that were kept.

    Args:
        layout: where the files go.
        info: what the file says of all episodes.
    """

    def __init__(self, layout: Layout, info: RobomimicInfo) -> None:
        self._layout = layout
        self._info = info
        self._open: dict[int, _OpenEpisode] = {}
        with naming(layout.segments):
            layout.segments.mkdir(parents=True, exist_ok=True)

    def on_reset(self, episode: Episode, first: StateRow) -> None:
        """Begin to collect the episode's rows."""
        names = vector_names(first.env_states) or []
        self._open[episode.world] = _OpenEpisode(RowSpool(self._layout.root), _Before.of_row(first), names)

    def on_step(self, episode: Episode, row: StepRow) -> None:
        """Append a row: the state before the step, the action, what came of it, the observation after it."""
        current = self._open[episode.world]
        before, after = current.before, _Before.of_row(row.after)
        leaves: dict[str, NDArray] = {
            "states": before.env_states,
            "actions": vector_of(row.action),
            "rewards": np.asarray(row.reward, np.float32),
            "dones": np.asarray(row.terminated or row.truncated, np.int64),
            **{f"obs/{name}": leaf for name, leaf in before.observation.items()},
            **{f"next_obs/{name}": leaf for name, leaf in after.observation.items()},
            **{f"obs/{image_name(camera)}": picture for camera, picture in before.pictures.items()},
        }
        current.rows.append(leaves)
        current.before = after

    def on_episode_end(self, episode: Episode, outcome: Outcome, *, keep: bool) -> Receipt:
        """Write the episode's segment."""
        current = self._open.pop(episode.world, None)
        if current is None:
            return Receipt()
        try:
            if not (keep and outcome.complete):
                return Receipt()
            if current.rows.count != outcome.steps:
                raise RecordingError(f"episode {episode.index}: {current.rows.count} robomimic rows for {outcome.steps} steps")
            path = self._layout.segment(episode.index, _KIND)
            with naming(path), whole_or_not_there(path) as partial, writing_hdf5(partial) as file:
                write_rows(file, current.rows)
                describe_demo(file, outcome.steps, episode.seed, current.state_names)
        finally:
            current.rows.close()
        return Receipt({"robomimic": demo_name(episode.index)})

    def close(self) -> None:
        """Put the episodes together."""
        for current in self._open.values():
            current.rows.close()
        self._open.clear()
        _assemble(self._layout, self._info)


def demo_name(episode: int) -> str:
    """The name of an episode's group: robomimic reads the number from it and sorts by that."""
    return f"demo_{episode}"


def image_name(camera: str) -> str:
    """The name of a camera's pictures among the observations, as robomimic's own."""
    return f"{camera.replace('/', '_')}_image"


def describe_demo(group: h5py.Group, steps: int, seed: int | None, state_names: list[str]) -> None:
    """Write the attributes of a demonstration."""
    group.attrs["num_samples"] = steps
    if seed is not None:
        group.attrs["seed"] = seed
    group["states"].attrs["names"] = state_names


def sink(layout: Layout, manifest: Mapping[str, Any]) -> RobomimicSink:
    """The sink of a recording."""
    return RobomimicSink(layout, RobomimicInfo.of_manifest(manifest))


def assemble(layout: Layout, manifest: Mapping[str, Any]) -> Path | None:
    """Put the segments of a recording together; None if that was done before, or if there is no episode."""
    if layout.robomimic.is_file():
        # segments are deleted only after the file has got its name
        layout.remove_segments(_KIND)
        return None
    return _assemble(layout, RobomimicInfo.of_manifest(manifest))


def _assemble(layout: Layout, info: RobomimicInfo) -> Path | None:
    lines = filmed_lines(layout, "robomimic")
    if lines:
        join_demos(layout, info, lines)
    layout.remove_segments(_KIND)
    return layout.robomimic if lines else None


def join_demos(layout: Layout, info: RobomimicInfo, lines: list[dict[str, Any]]) -> None:
    """Put the segments of the episodes that ``lines`` tell of into one file, in their order, and delete them.

    Raises:
        RecordingError: one is missing, or a file cannot be read or written. The segments stay where they are.
    """
    path, total, segments = layout.robomimic, 0, layout.segments_of(_KIND)
    with naming(path), whole_or_not_there(path) as partial, writing_hdf5(partial) as file:
        data = file.create_group("data", track_order=True)
        for line in lines:
            index = line["episode"]
            if index not in segments:
                raise RecordingError(f"{layout.root}: the robomimic rows of episode {index} are missing ({layout.segment(index, _KIND)})")
            with h5py.File(segments[index], "r") as source:
                demo = data.create_group(demo_name(index))
                for name in source:
                    source.copy(name, demo)
                for name, value in source.attrs.items():
                    demo.attrs[name] = value
            total += line["steps"]
        describe_file(file, info, total, lines)
    layout.remove_segments(_KIND)


def describe_file(file: h5py.File, info: RobomimicInfo, total: int, lines: list[dict[str, Any]]) -> None:
    """Write what the file says of all episodes, and the filters ``mask/success`` and ``mask/failure``."""
    env_args = {"env_name": info.env_id, "type": _GYM_TYPE, "env_kwargs": dict(info.env_kwargs)}
    file["data"].attrs["total"] = total
    file["data"].attrs["env_args"] = json.dumps(env_args)
    file["data"].attrs["rollfilm"] = json.dumps(dict(info.rollfilm))
    for name, value in (("success", True), ("failure", False)):
        demos = [demo_name(line["episode"]) for line in lines if line["success"] is value]
        if demos:
            file.create_dataset(f"mask/{name}", data=np.array(demos, "S"))
