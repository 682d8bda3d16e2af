"""The rows of episodes in ManiSkill's format: counts, order, what the json says of them, and their digests."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import h5py
import numpy as np

from rollfilm.errors import RecordingError
from rollfilm.record.digest import rows_sha256
from rollfilm.record.reading import EpisodeRows, Recording
from rollfilm.record.verify.faults import Fault, Job

__all__ = ["check_rows"]

_STATES = ("obs", "env_states")


def check_rows(recording: Recording) -> Iterator[Job]:
    """A job for the file of all episodes and its json, and one for the rows of each episode."""
    if not (recording.manifest.get("files") or {}).get("trajectory"):
        return
    if recording.manifest["status"] != "recording":
        yield Job(lambda: _check_file(recording))
    for line in recording.kept:
        if "trajectory" in line:
            yield Job(lambda line=line: _check_episode(recording, line))


def _check_file(recording: Recording) -> Iterator[Fault]:
    path = recording.trajectory_file
    expected = [line["episode"] for line in recording.kept if "trajectory" in line]
    try:
        with h5py.File(path, "r") as file:
            groups = sorted(_number(str(name)) for name in file)
    except (OSError, RuntimeError) as error:
        yield Fault(path.name, f"it cannot be read: {error}" if path.exists() else "it is not there")
        return
    for index in sorted(set(groups) ^ set(expected)):
        text = "no line says that it has rows" if index in groups else "its rows are not there"
        yield Fault(path.name, text, index if index >= 0 else None)
    yield from _check_json(recording, expected)


def _check_json(recording: Recording, expected: list[int]) -> Iterator[Fault]:
    path = recording.trajectory_file.with_suffix(".json")
    try:
        document = json.loads(path.read_text())
        entries = {entry["episode_id"]: entry for entry in document["episodes"]}
        order = [entry["episode_id"] for entry in document["episodes"]]
        env_info = document["env_info"]
    except FileNotFoundError:
        yield Fault(path.name, "it is not there")
        return
    except (OSError, ValueError, TypeError, LookupError, RecursionError) as error:
        yield Fault(path.name, f"it cannot be read: {error!r}")
        return
    if order != expected:
        yield Fault(path.name, f"it lists the episodes {_few(order)}; {_few(expected)} are needed, in this order")
    if isinstance(env_info, Mapping) and env_info.get("env_id") != recording.manifest["env_id"]:
        yield Fault(path.name, f"the environment is {env_info.get('env_id')!r}; it was {recording.manifest['env_id']!r}")
    for line in recording.kept:
        entry = entries.get(line["episode"])
        if entry is None:
            continue
        right = {"episode_seed": line["seed"], "elapsed_steps": line["steps"], "reset_kwargs": line.get("reset_kwargs", {})}
        right |= {} if line["success"] is None else {"success": line["success"]}
        for name, value in right.items():
            if entry.get(name) != value:
                yield Fault(path.name, f"{name!r} is {entry.get(name)!r}; {value!r} is needed", line["episode"])


def _check_episode(recording: Recording, line: dict[str, Any]) -> Iterator[Fault]:
    name, index = recording.trajectory_file.name, line["episode"]
    try:
        rows = recording.trajectory(index)
    except RecordingError as error:
        if recording.trajectory_file.is_file():
            yield Fault(name, str(error), index)
        return
    for path, array in rows.items():
        needed = line["steps"] + (path.split("/")[0] in _STATES)
        if len(array) != needed:
            yield Fault(name, f"{len(array)} rows of {path} for {line['steps']} steps; {needed} are needed", index, min(len(array), needed))
    for text, frame in _content_faults(rows, line):
        yield Fault(name, text, index, frame)
    if "rows_sha256" in line and rows_sha256(rows) != line["rows_sha256"]:
        yield Fault(name, "its rows were changed after they were written", index)


def _content_faults(rows: EpisodeRows, line: dict[str, Any]) -> Iterator[tuple[str, int | None]]:
    for flag in ("terminated", "truncated"):
        early = np.flatnonzero(rows[flag][:-1]) if flag in rows else []
        if len(early) and line["ended"] != "stopped":
            yield f"{flag} before its last step", int(early[0])
        if line["ended"] == flag and flag in rows and not (len(rows[flag]) and rows[flag][-1]):
            yield f"it ended as {flag!r}, which the last row does not say", len(rows[flag]) - 1
    if line["success"] is not None and "success" in rows and len(rows["success"]) and bool(rows["success"][-1]) != line["success"]:
        yield f"success is {bool(rows['success'][-1])} in the last row and {line['success']} in episodes.jsonl", len(rows["success"]) - 1
    total = float(np.sum(rows["rewards"], dtype=np.float64))
    if not np.isclose(total, line["episode_return"], rtol=1e-4, atol=1e-4 * max(1, len(rows["rewards"])), equal_nan=True):
        yield f"the rewards add up to {total:.6g}; episodes.jsonl says {line['episode_return']:.6g}", None


def _number(name: str) -> int:
    return int(name[5:]) if name.startswith("traj_") and name[5:].isdecimal() else -1


def _few(numbers: list[int]) -> str:
    shown = ", ".join(map(str, numbers[:8]))
    return f"{shown}, ... ({len(numbers)})" if len(numbers) > 8 else shown or "none"
