"""LeRobot v3.0: what a recorder writes for it while it runs, and what is made of that when it is closed.

While the recorder runs, each finished episode becomes a segment, a file of its own that is written under another name and renamed: a
killed process leaves every finished episode in a file that opens. Parquet has its footer, and LeRobot its counts, only at the end. So
closing puts the segments together, in the order of the episodes; the pictures are those of the episodes' videos, joined without
encoding them again. LeRobot has no row for the terminal state: of T + 1 frames it gets the first T.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from rollfilm.errors import RecordingError
from rollfilm.record.hdf5 import write_rows, writing_hdf5
from rollfilm.record.layout import Layout
from rollfilm.record.rows import RowSpool
from rollfilm.record.sink import Episode, Outcome, Receipt, StateRow, StepRow
from rollfilm.record.sinks.filmed import filmed_lines
from rollfilm.record.sinks.lerobot_dataset import LeRobotEpisode, LeRobotInfo, write_lerobot
from rollfilm.record.vectors import vector_names, vector_of
from rollfilm.record.whole import naming, whole_or_not_there

__all__ = ["LeRobotSink", "assemble", "sink"]

_KIND = "lerobot"


@dataclass
class _OpenEpisode:
    rows: RowSpool
    state: NDArray[np.float32]
    names: dict[str, list[str] | None] = field(default_factory=dict)
    success_known: bool = True


class LeRobotSink:
    """Writes ``lerobot/``, a dataset of the complete episodes that were kept.

    Args:
        layout: where the files go.
        info: what the dataset says of all episodes.

    Raises:
        RecordingError: the folder cannot be written to.
    """

    def __init__(self, layout: Layout, info: LeRobotInfo) -> None:
        self._layout = layout
        self._info = info
        self._open: dict[int, _OpenEpisode] = {}
        with naming(layout.segments):
            layout.segments.mkdir(parents=True, exist_ok=True)

    def on_reset(self, episode: Episode, first: StateRow) -> None:
        """Begin to collect the episode's rows."""
        names = {"observation.state": vector_names(first.observation)}
        self._open[episode.world] = _OpenEpisode(RowSpool(self._layout.root), vector_of(first.observation), names)

    def on_step(self, episode: Episode, row: StepRow) -> None:
        """Append a row: the state before the step, the action, what came of it."""
        current = self._open[episode.world]
        if not current.rows.count:
            current.names["action"] = vector_names(row.action)
        leaves = {
            "observation.state": current.state,
            "action": vector_of(row.action),
            "next.reward": np.asarray([row.reward], np.float32),
            "next.done": np.asarray([row.terminated or row.truncated], bool),
            "next.success": np.asarray([bool(row.success)], bool),
        }
        current.success_known = current.success_known and row.success is not None
        current.rows.append({name: leaf for name, leaf in leaves.items() if leaf.size})
        current.state = vector_of(row.after.observation)

    def on_episode_end(self, episode: Episode, outcome: Outcome, *, keep: bool) -> Receipt:
        """Write the episode's segment."""
        current = self._open.pop(episode.world, None)
        if current is None:
            return Receipt()
        try:
            if not (keep and outcome.complete):
                return Receipt()
            if current.rows.count != outcome.steps:
                raise RecordingError(f"episode {episode.index}: {current.rows.count} LeRobot rows for {outcome.steps} steps")
            path = self._layout.segment(episode.index, _KIND)
            with naming(path), whole_or_not_there(path) as partial, writing_hdf5(partial) as file:
                file.attrs["names"] = json.dumps(current.names)
                write_rows(file, current.rows)
        finally:
            current.rows.close()
        return Receipt({"lerobot": {"success_known": current.success_known}})

    def close(self) -> None:
        """Put the episodes together."""
        for current in self._open.values():
            current.rows.close()
        self._open.clear()
        _assemble(self._layout, self._info)


def sink(layout: Layout, manifest: Mapping[str, Any]) -> LeRobotSink:
    """The sink of a recording."""
    return LeRobotSink(layout, LeRobotInfo.of_manifest(manifest))


def assemble(layout: Layout, manifest: Mapping[str, Any]) -> Path | None:
    """Put the segments of a recording together; None if that was done before, or if there is no episode."""
    if layout.lerobot.is_dir():
        # segments are deleted only after the dataset has got its name
        layout.remove_segments(_KIND)
        return None
    return _assemble(layout, LeRobotInfo.of_manifest(manifest))


def _assemble(layout: Layout, info: LeRobotInfo) -> Path | None:
    segments = layout.segments_of(_KIND)
    lines = filmed_lines(layout, "lerobot")
    if lines:
        info = info if lines[0].get("videos") else replace(info, cameras=())
        write_lerobot(layout.lerobot, info, _episodes(layout, lines, segments))
    layout.remove_segments(_KIND)
    return layout.lerobot if lines else None


def _episodes(layout: Layout, lines: list[dict[str, Any]], segments: Mapping[int, Path]) -> Iterator[LeRobotEpisode]:
    # a feature that some episodes lack would not load
    left_out = [] if all(line["lerobot"]["success_known"] for line in lines) else ["next.success"]
    for line in lines:
        index = line["episode"]
        if index not in segments:
            raise RecordingError(f"{layout.root}: the LeRobot rows of episode {index} are missing ({layout.segment(index, _KIND)})")
        try:
            with h5py.File(segments[index], "r") as file:
                names = json.loads(str(file.attrs["names"]))
                columns = {name: np.asarray(dataset) for name, dataset in file.items() if name not in left_out}
        except (OSError, KeyError, ValueError) as error:
            raise RecordingError(f"{segments[index]} cannot be read: {error}") from error
        videos = {camera: layout.root / path for camera, path in line.get("videos", {}).items()}
        yield LeRobotEpisode(index, line["seed"], line.get("instruction"), columns, names, videos)
