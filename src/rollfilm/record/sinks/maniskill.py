"""ManiSkill's trajectories: one HDF5 file with a group an episode, and a json beside it.

The format is that of ``mani_skill.utils.wrappers.record.RecordEpisode`` in mani_skill 3.0.1: ``/traj_<episode>`` holds T + 1 rows of
``obs`` and ``env_states`` and T rows of ``actions``, ``terminated``, ``truncated``, ``success`` and ``rewards``.

Each finished episode is first a file of its own, written under another name and renamed, so that a killed process leaves every
finished episode in a file that opens. Closing puts them together in the order of the episodes, which makes the file independent of
who ended first. HDF5 itself gives no such promise: a process killed inside a write can leave a file that does not open at all.
"""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import h5py
import numpy as np
from numpy.typing import NDArray

from rollfilm.errors import RecordingError
from rollfilm.record.hdf5 import compression_of, require_group, writing_hdf5
from rollfilm.record.layout import Layout
from rollfilm.record.rows import RowSpool, flatten
from rollfilm.record.sink import Episode, Outcome, Receipt, StateRow, StepRow
from rollfilm.record.whole import naming, whole_or_not_there

__all__ = ["ManiSkillSink", "TrajectoryInfo", "assemble", "assemble_trajectories", "sink"]

#: What an environment may say of a step, or not; while an episode runs, 0, 1 or this.
_FLAGS = ("success", "fail")
_UNKNOWN = 2
_KNOWN = "_known"


@dataclass(frozen=True)
class TrajectoryInfo:
    """What the json says of all episodes.

    Attributes:
        env_id, env_kwargs, max_episode_steps: how the environment is made.
        obs_mode, control_mode, backend: ManiSkill's names, parts of the file's name.
        name: of the files, in the place of one made of those.
        rewards: whether they are written.
        source_type, source_desc: where the actions come from, None to say nothing.
    """

    env_id: str
    env_kwargs: Mapping[str, Any]
    max_episode_steps: int | None
    obs_mode: str
    control_mode: str
    backend: str
    name: str | None = None
    rewards: bool = True
    source_type: str | None = None
    source_desc: str | None = None

    @classmethod
    def of_manifest(cls, manifest: Mapping[str, Any]) -> Self:
        """What a recording's ``recording.json`` says of it."""
        return cls(
            env_id=manifest["env_id"],
            env_kwargs=manifest["env_kwargs"],
            max_episode_steps=manifest["max_episode_steps"],
            obs_mode=manifest["obs_mode"],
            control_mode=manifest["control_mode"],
            backend=manifest["engine"],
            name=manifest["files"]["trajectory"].removesuffix(".h5") if (manifest.get("files") or {}).get("trajectory") else None,
            rewards=manifest.get("record_rewards", True),
            source_type=manifest.get("source_type"),
            source_desc=manifest.get("source_desc"),
        )


@dataclass
class _OpenEpisode:
    states: RowSpool
    steps: RowSpool
    fail: bool | None = None
    known: Counter[str] = field(default_factory=Counter)

    def close(self) -> None:
        self.states.close()
        self.steps.close()


class ManiSkillSink:
    """Writes ``trajectory.<obs mode>.<control mode>.<backend>.h5`` and ``.json``.

    Only complete episodes are written: the format has no word for one that was cut. Where the environment says of some steps alone
    whether the task has succeeded (or failed), ``success_known`` (``fail_known``) of bool (T,) stands beside ``success``, which is false
    where it is not known.

    Args:
        layout: where the files go.
        info: what the json says of all episodes.
    """

    def __init__(self, layout: Layout, info: TrajectoryInfo) -> None:
        self._layout = layout
        self._info = info
        self._open: dict[int, _OpenEpisode] = {}
        with naming(layout.segments):
            layout.segments.mkdir(parents=True, exist_ok=True)

    def on_reset(self, episode: Episode, first: StateRow) -> None:
        """Begin to collect the episode's rows."""
        self._open[episode.world] = _OpenEpisode(RowSpool(self._layout.root), RowSpool(self._layout.root))
        self._append_state(episode, first)

    def on_step(self, episode: Episode, row: StepRow) -> None:
        """Append a row."""
        leaves = flatten(row.action, "actions") | {
            "terminated": np.asarray(row.terminated, bool),
            "truncated": np.asarray(row.truncated, bool),
        }
        if self._info.rewards:
            leaves["rewards"] = np.asarray(row.reward, np.float32)
        rows = self._open[episode.world]
        rows.fail = row.fail
        for name, said in (("success", row.success), ("fail", row.fail)):
            leaves[name] = np.asarray(_UNKNOWN if said is None else said, np.uint8)
            rows.known[name] += said is not None
        rows.steps.append(leaves)
        self._append_state(episode, row.after)

    def on_episode_end(self, episode: Episode, outcome: Outcome, *, keep: bool) -> Receipt:
        """Write the episode's group."""
        rows = self._open.pop(episode.world, None)
        if rows is None:
            rows = _OpenEpisode(RowSpool(self._layout.root), RowSpool(self._layout.root))
        try:
            if not (keep and outcome.complete):
                return Receipt()
            if rows.steps.count != outcome.steps or rows.states.count != outcome.steps + 1:
                raise RecordingError(
                    f"episode {episode.index}: {rows.states.count} states and {rows.steps.count} actions for {outcome.steps} steps; "
                    f"{outcome.steps + 1} and {outcome.steps} are needed"
                )
            self._write_segment(episode, outcome, rows)
        finally:
            rows.close()
        return Receipt({"trajectory": _group_name(episode.index)})

    def close(self) -> None:
        """Put the episodes together and write the json."""
        for rows in self._open.values():
            rows.close()
        self._open.clear()
        assemble_trajectories(self._layout, self._info)

    def _append_state(self, episode: Episode, state: StateRow) -> None:
        leaves = flatten(state.observation, "obs") | flatten(state.env_states, "env_states")
        self._open[episode.world].states.append(leaves)

    def _write_segment(self, episode: Episode, outcome: Outcome, rows: _OpenEpisode) -> None:
        path = self._layout.segment(episode.index)
        with naming(path), whole_or_not_there(path) as partial, writing_hdf5(partial) as file:
            group = file.create_group(_group_name(episode.index), track_order=True)
            group.attrs["json"] = json.dumps(self._json_entry(episode, outcome, rows.fail))
            _write_rows(group, rows.states, {})
            _write_rows(group, rows.steps, rows.known)

    def _json_entry(self, episode: Episode, outcome: Outcome, fail: bool | None) -> dict[str, Any]:
        entry: dict[str, Any] = {
            "episode_id": episode.index,
            "episode_seed": episode.seed,
            "control_mode": self._info.control_mode,
            "elapsed_steps": outcome.steps,
            "reset_kwargs": dict(episode.reset_kwargs),
        }
        if episode.run_seed is not None:
            entry["run_seed"] = episode.run_seed
        if outcome.success is not None:
            entry["success"] = outcome.success
        if fail is not None:
            entry["fail"] = fail
        return entry


def assemble_trajectories(layout: Layout, info: TrajectoryInfo) -> Path:
    """Put the finished episodes of a recording into one file, in their order, and write the json beside it.

    Returns:
        The path of the HDF5 file.

    Raises:
        RecordingError: a file cannot be read or written. The episodes' own files stay where they are.
    """
    path = layout.trajectory(info.obs_mode, info.control_mode, info.backend, info.name)
    episodes = []
    segments = sorted(layout.segments.glob("traj_*.h5"))
    with naming(path), whole_or_not_there(path) as partial, writing_hdf5(partial) as file:
        for segment in segments:
            with h5py.File(segment, "r") as source:
                for name, group in source.items():
                    episodes.append(json.loads(group.attrs["json"]))
                    source.copy(group, file, name)
                    # the groups of the format carry no attributes; this one was a note for us
                    del file[name].attrs["json"]
    sources = {"source_type": info.source_type, "source_desc": info.source_desc}
    document = {
        "env_info": {"env_id": info.env_id, "env_kwargs": dict(info.env_kwargs), "max_episode_steps": info.max_episode_steps},
        "commit_info": None,
        **{name: value for name, value in sources.items() if value is not None},
        "episodes": episodes,
    }
    json_path = path.with_suffix(".json")
    with naming(json_path), whole_or_not_there(json_path) as partial:
        partial.write_text(json.dumps(document, indent=2) + "\n")
    layout.remove_segments("traj")
    return path


def _write_rows(group: h5py.Group, spool: RowSpool, known: Mapping[str, int]) -> None:
    targets = {}
    for name, (dtype, shape) in spool.layout.items():
        if name in _FLAGS:
            continue
        parent_name, _, leaf = name.rpartition("/")
        parent = require_group(group, parent_name)
        targets[name] = parent.create_dataset(leaf, (spool.count, *shape), dtype, **compression_of(leaf))
    for flag, count in known.items():
        for name in (flag,) * (count > 0) + (flag + _KNOWN,) * (0 < count < spool.count):
            targets[name] = group.create_dataset(name, (spool.count,), bool)
    for start, block in spool.blocks():
        for name, target in targets.items():
            target[start : start + len(block)] = _column(block, name)


def _column(block: NDArray, name: str) -> NDArray:
    if name in _FLAGS:
        return block[name] == 1
    return block[name.removesuffix(_KNOWN)] != _UNKNOWN if name.removesuffix(_KNOWN) in _FLAGS else block[name]


def _group_name(episode: int) -> str:
    return f"traj_{episode}"


def sink(layout: Layout, manifest: Mapping[str, Any]) -> ManiSkillSink:
    """The sink of a recording."""
    return ManiSkillSink(layout, TrajectoryInfo.of_manifest(manifest))


def assemble(layout: Layout, manifest: Mapping[str, Any]) -> Path | None:
    """Put the segments of a recording together; None if that was done before."""
    info = TrajectoryInfo.of_manifest(manifest)
    path = layout.trajectory(info.obs_mode, info.control_mode, info.backend)
    if path.is_file() and path.with_suffix(".json").is_file():
        # segments are deleted only after both have got their names
        layout.remove_segments("traj")
        return None
    return assemble_trajectories(layout, info)
