"""Writes what was recorded in another format."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rollfilm.errors import InvalidArgumentError, RecordingError, RecordingExistsError
from rollfilm.record.formats import checked_formats
from rollfilm.record.layout import Layout
from rollfilm.record.reading import Recording
from rollfilm.record.replay import replay, tree_below
from rollfilm.record.sinks.lerobot_dataset import LeRobotEpisode, LeRobotInfo, write_lerobot
from rollfilm.record.sinks.maniskill import ManiSkillSink, TrajectoryInfo
from rollfilm.record.sinks.robomimic import RobomimicInfo, RobomimicSink, join_demos
from rollfilm.record.vectors import vector_names, vector_of

__all__ = ["EXPORTS", "export"]

#: What can be exported to.
EXPORTS = ("lerobot", "maniskill", "robomimic")

Progress = Callable[[int, int], None]


def export(recording: Recording, name: str, out: str | Path, *, progress: Progress | None = None) -> Path:
    """Write the complete, kept episodes of a recording in a format, and compare the counts of what was written.

    LeRobot gets the pictures of the videos, which are joined and not encoded again. robomimic gets pictures that are rendered again from
    the stored states, the same bytes as online, or where there are no states the decoded ones of the videos; the attribute ``rollfilm``
    of its ``data`` says which.

    Args:
        recording: whose rows were recorded in the format ``"maniskill"``.
        name: ``"lerobot"``, ``"maniskill"`` or ``"robomimic"``.
        out: the folder of the dataset; it is made, and must be empty if it is there.
        progress: called with how many of how many episodes are done.

    Returns:
        What is to be opened: the folder of a LeRobot dataset, or the file.

    Raises:
        InvalidArgumentError: the format is unknown.
        MissingExtraError: a package that it needs is not installed.
        RecordingExistsError: there is something in ``out``.
        RecordingError: the recording has no episode with rows, or a file cannot be read or written. Nothing is left behind.
    """
    if name not in EXPORTS:
        raise InvalidArgumentError(f"format {name!r} cannot be exported to; choose from {', '.join(EXPORTS)}")
    checked_formats([name])
    lines = [line for line in recording.kept if "trajectory" in line]
    if not lines:
        raise RecordingError(f"{recording.layout.root} has no complete, kept episode with rows (format 'maniskill') to export")
    folder = Path(out)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise RecordingExistsError(f"{folder} is there already; take another folder")
    counted = _counting(lines, progress)
    write = {"lerobot": _lerobot, "maniskill": _maniskill, "robomimic": _robomimic}[name]
    was_there = folder.exists()
    try:
        return write(recording, counted, lines, folder)
    except BaseException:
        layout = Layout(folder)
        layout.remove()
        if not was_there and folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()
        raise


def _counting(lines: list[dict[str, Any]], progress: Progress | None) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(lines):
        yield line
        if progress is not None:
            progress(number + 1, len(lines))


def _lerobot(recording: Recording, counted: Iterator[dict[str, Any]], lines: list[dict[str, Any]], folder: Path) -> Path:
    filmed = [line for line in lines if line.get("videos")]
    info = LeRobotInfo.of_manifest(recording.manifest, with_cameras=bool(filmed))
    # a feature that some episodes lack would not load
    with_success = all(line["success"] is not None for line in lines)
    episodes = (_lerobot_episode(recording, line, with_success) for line in counted if line.get("videos") or not filmed)
    write_lerobot(folder, info, episodes)
    return folder


def _lerobot_episode(recording: Recording, line: Mapping[str, Any], with_success: bool) -> LeRobotEpisode:
    rows = recording.trajectory(line["episode"])
    observation, actions = tree_below(rows, "obs"), tree_below(rows, "actions")
    done = rows["terminated"] | rows["truncated"]
    columns = {
        "observation.state": _vectors(observation, rows.steps),
        "action": _vectors(actions, rows.steps),
        "next.reward": rows["rewards"][:, None].astype(np.float32),
        "next.done": done[:, None],
    }
    if with_success:
        if "success" not in rows or "success_known" in rows:
            raise RecordingError(f"episode {line['episode']}: success is not known after every step")
        columns["next.success"] = rows["success"][:, None]
    names = {"observation.state": vector_names(_first(observation)), "action": vector_names(_first(actions))}
    videos = {camera: recording.video_path(camera, line["episode"]) for camera in line.get("videos", {})}
    columns = {name: column for name, column in columns.items() if column.shape[1]}
    return LeRobotEpisode(line["episode"], line["seed"], line.get("instruction"), columns, names, videos)


def _vectors(tree: Any, count: int) -> NDArray[np.float32]:
    return np.stack([vector_of(_at(tree, k)) for k in range(count)])


def _first(tree: Any) -> Any:
    return _at(tree, 0)


def _at(tree: Any, k: int) -> Any:
    return {name: _at(branch, k) for name, branch in tree.items()} if isinstance(tree, Mapping) else tree[k]


def _maniskill(recording: Recording, counted: Iterator[dict[str, Any]], lines: list[dict[str, Any]], folder: Path) -> Path:
    info = TrajectoryInfo.of_manifest(recording.manifest)
    layout = Layout(folder)
    sink = ManiSkillSink(layout, info)
    for line in counted:
        rows = recording.trajectory(line["episode"])
        replay(sink, line, rows, ({} for _ in range(rows.steps + 1)))
    sink.close()
    return layout.trajectory(info.obs_mode, info.control_mode, info.backend)


def _robomimic(recording: Recording, counted: Iterator[dict[str, Any]], lines: list[dict[str, Any]], folder: Path) -> Path:
    from_states = recording.manifest.get("renderer") is not None and all(line.get("states") for line in lines)
    source = "rendered from states" if from_states else "decoded from videos"
    info = RobomimicInfo.of_manifest({**recording.manifest}, pictures=source)
    layout = Layout(folder)
    sink = RobomimicSink(layout, info)
    shown = _rendered if from_states else _decoded
    for line in counted:
        replay(sink, line, recording.trajectory(line["episode"]), shown(recording, line))
    join_demos(layout, info, lines)
    return layout.robomimic


def _decoded(recording: Recording, line: Mapping[str, Any]) -> Iterator[dict[str, NDArray[np.uint8]]]:
    """The pictures of each state, by camera."""
    cameras = tuple(line.get("videos", {}))
    if not cameras:
        yield from ({} for _ in range(line["steps"] + 1))
        return
    with ExitStack() as stack:
        videos = [stack.enter_context(recording.video(camera, line["episode"])) for camera in cameras]
        lengths = {camera: len(video) for camera, video in zip(cameras, videos, strict=True)}
        if set(lengths.values()) != {line["steps"] + 1}:
            raise RecordingError(f"episode {line['episode']}: the videos have {lengths} frames, {line['steps'] + 1} are needed")
        for pictures in zip(*videos, strict=True):
            yield dict(zip(cameras, pictures, strict=True))


def _rendered(recording: Recording, line: Mapping[str, Any]) -> Iterator[dict[str, NDArray[np.uint8]]]:
    from rollfilm.host import host_array
    from rollfilm.record.rerender import rerender_episodes

    for block in rerender_episodes(recording, [line["episode"]]):
        pictures = {camera: host_array(frames.rgb)[: block.count] for camera, frames in block.cameras.items()}
        for k in range(block.count):
            yield {camera: picture[k] for camera, picture in pictures.items()}
