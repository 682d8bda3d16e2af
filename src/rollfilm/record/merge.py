"""Makes one recording of several: episodes renumbered, rows, datasets, statistics, digests and the page made anew."""

import json
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py

from rollfilm.errors import InvalidArgumentError, RecordingError
from rollfilm.record.digest import episode_digests, file_sha256
from rollfilm.record.formats import assemble_formats, checked_formats, make_sink
from rollfilm.record.hdf5 import writing_hdf5
from rollfilm.record.layout import Layout
from rollfilm.record.manifest import shared_digests, write_manifest
from rollfilm.record.page import write_page
from rollfilm.record.reading import Recording
from rollfilm.record.replay import replay
from rollfilm.record.sink import Sink
from rollfilm.record.whole import naming, whole_or_not_there

__all__ = ["Merged", "merge"]

#: What recordings must have in common, beside their cameras.
_SAME = ("task", "env_id", "env_kwargs", "obs_mode", "control_mode", "engine", "control_frequency_hz", "fps", "renderer")

_NUMBER = re.compile(r"_\d{6,}\.")

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Merged:
    """What was made.

    Attributes:
        recording: of all episodes.
        left_out: formats that only some of the recordings have.
        twice: how many kept episodes began from the same seed as another one.
    """

    recording: Recording
    left_out: tuple[str, ...]
    twice: int


def merge(folders: Sequence[str | Path], out: str | Path, *, progress: Progress | None = None) -> Merged:
    """Put the episodes of recordings into a new one, in the order of the recordings and of their episodes.

    Episodes are numbered from 0; ``"source"`` in ``episodes.jsonl`` says which each was. Videos and states are copied as they are.
    Trajectory file, LeRobot dataset and robomimic file are made anew from all rows: indices, references to videos and statistics are not
    those of the parts. There is no overview. What was written is counted again at the end.

    Args:
        folders: of at least two recordings that are closed.
        out: a folder that holds no recording.
        progress: called with how many of how many episodes are done.

    Raises:
        InvalidArgumentError: fewer than two recordings, or one of them twice.
        RecordingExistsError: ``out`` holds a recording.
        RecordingError: the recordings differ in what they record (the message says in what), one was never closed, or a file cannot
            be read or written. Nothing is left behind.
    """
    paths = [Path(folder).resolve() for folder in folders]
    if len(paths) < 2 or len(set(paths)) < len(paths):
        raise InvalidArgumentError(f"{len(set(paths))} different recordings were given; merge two or more, each once")
    recordings = [Recording(folder) for folder in folders]
    _check_alike(recordings)
    common = _common_formats(recordings)
    left_out = tuple(name for name in dict.fromkeys(n for r in recordings for n in _formats(r)) if name not in common)
    layout = Layout(Path(out))
    was_there = layout.root.exists()
    lock = layout.prepare(overwrite=False)
    try:
        manifest = _manifest(layout, recordings, common)
        write_manifest(layout, manifest)
        _write(layout, recordings, manifest, progress)
        merged = Recording(layout.root)
        _count_again(merged)
    except BaseException:
        layout.remove()
        if not was_there:
            with suppress(OSError):
                layout.root.rmdir()
        raise
    finally:
        lock.release()
    seeds = [(line["seed"], str(line.get("reset_kwargs")) if line["seed"] is None else "") for line in merged.kept]
    return Merged(merged, left_out, len(seeds) - len(set(seeds)))


def _formats(recording: Recording) -> tuple[str, ...]:
    return tuple(recording.manifest.get("formats", ("maniskill",)))


def _common_formats(recordings: Sequence[Recording]) -> tuple[str, ...]:
    common = [name for name in _formats(recordings[0]) if all(name in _formats(recording) for recording in recordings)]
    if "maniskill" not in common:  # a LeRobot dataset is made from the rows of the trajectory file
        common = [name for name in common if name != "lerobot"]
    return checked_formats(common)


def _check_alike(recordings: Sequence[Recording]) -> None:
    first = recordings[0]
    for recording in recordings:
        if recording.manifest["status"] == "recording":
            raise RecordingError(f"{recording.layout.root} was never closed; make it whole first: rollfilm recover {recording.layout.root}")
    for other in recordings[1:]:
        cameras = [{name: (camera["width"], camera["height"]) for name, camera in r.manifest["cameras"].items()} for r in (first, other)]
        _demand_same("cameras", (first, cameras[0]), (other, cameras[1]))
        for name in _SAME:
            _demand_same(name, (first, first.manifest.get(name)), (other, other.manifest.get(name)))
        scenes = [file_sha256(r.layout.scene) if r.layout.scene.is_file() else None for r in (first, other)]
        if scenes[0] != scenes[1]:
            raise RecordingError(f"{other.layout.scene} is another scene than {first.layout.scene}: their states cannot be filmed as one")


def _demand_same(name: str, one: tuple[Recording, Any], other: tuple[Recording, Any]) -> None:
    if one[1] != other[1]:
        where = f"{name} is {one[1]!r} in {one[0].layout.root} and {other[1]!r} in {other[0].layout.root}"
        raise RecordingError(f"{where}; only recordings of the same can be merged")


def _manifest(layout: Layout, recordings: Sequence[Recording], formats: tuple[str, ...]) -> dict[str, Any]:
    """That of the first recording, with what is no longer true replaced."""
    first = recordings[0].manifest
    files = {**first.get("files", {}), "overview": None}
    for entry, name in (("trajectory", "maniskill"), ("lerobot", "lerobot"), ("robomimic", "robomimic")):
        files[entry] = files.get(entry) if name in formats else None
    seeds = {recording.manifest["seed"] for recording in recordings}
    said = ("seed", "keep", "device", "num_envs", "source_type", "source_desc", "versions")
    parts = []
    for recording in recordings:
        about = {name: recording.manifest[name] for name in said if name in recording.manifest}
        parts.append({"recording": recording.layout.root.name, "episodes": len(recording.episodes), **about})
    head = {"format": first["format"], "status": "recording", "error": None}
    new = {"seed": seeds.pop() if len(seeds) == 1 else None, "files": files, "formats": list(formats), "merged_from": parts}
    return {**first, **head, **new, "sha256": {}}


def _write(layout: Layout, recordings: Sequence[Recording], manifest: dict[str, Any], progress: Progress | None) -> None:
    formats = manifest["formats"]
    sinks = [sink for name in ("maniskill", "lerobot") if name in formats and (sink := make_sink(name, layout, manifest)) is not None]
    if recordings[0].layout.scene.is_file():
        _copy(recordings[0].layout.scene, layout.scene)
    total = sum(len(recording.episodes) for recording in recordings)
    with naming(layout.episodes), whole_or_not_there(layout.episodes) as partial, partial.open("w") as file:
        for index, (recording, line) in enumerate(_episodes(recordings)):
            file.write(json.dumps(_take(layout, recording, line, index, sinks, "robomimic" in formats)) + "\n")
            if progress is not None:
                progress(index + 1, total)
    assemble_formats(layout, manifest)
    if manifest["files"].get("page"):
        write_page(layout)
    write_manifest(layout, {**manifest, "status": "complete", "sha256": shared_digests(layout)})


def _episodes(recordings: Sequence[Recording]) -> Iterator[tuple[Recording, dict[str, Any]]]:
    for recording in recordings:
        for line in recording.episodes:
            yield recording, line


def _take(
    layout: Layout, recording: Recording, line: Mapping[str, Any], index: int, sinks: Sequence[Sink], with_robomimic: bool
) -> dict[str, Any]:
    """Copy the files of an episode and write its rows; its line under the new number."""
    source = {"recording": recording.layout.root.name, "episode": line["episode"]}
    dropped = ("trajectory", "lerobot", "robomimic", "sha256", "rows_sha256")
    new = {name: value for name, value in line.items() if name not in dropped} | {"episode": index, "source": source}
    if not line["kept"]:
        return new
    for path in recording.layout.episode_files(line["episode"]):
        if recording.layout.segments not in path.parents:
            name = path.relative_to(recording.layout.root).as_posix()
            # new digests are taken below: damage from before would be hidden by them
            if (digest := line.get("sha256", {}).get(name)) is not None and file_sha256(path) != digest:
                raise RecordingError(
                    f"{path} is not what it was when it was recorded; see what is wrong with {recording.layout.root} first"
                )
            _copy(path, layout.root / _renumbered(name, index))
    if layout.state(index).is_file():
        _rename_states(layout.state(index), index)
    new |= {name: _renumbered(value, index) for name, value in new.items() if name == "states"}
    if "videos" in new:
        new["videos"] = {camera: _renumbered(path, index) for camera, path in new["videos"].items()}
    if "trajectory" in line and sinks:
        rows = recording.trajectory(line["episode"])
        for sink in sinks:
            new |= replay(sink, new, rows, ({} for _ in range(rows.steps + 1))).entry
    if with_robomimic and "robomimic" in line:
        new["robomimic"] = _take_demo(layout, recording, line["robomimic"], index)
    return new | episode_digests(layout, index)


def _take_demo(layout: Layout, recording: Recording, demo: str, index: int) -> str:
    """Make a segment of an episode in a robomimic file; its new name."""
    path = layout.segment(index, "robomimic")
    source_path = recording.layout.robomimic
    with naming(path), whole_or_not_there(path) as partial, writing_hdf5(partial) as file, h5py.File(source_path, "r") as source:
        group = source.get(f"data/{demo}")
        if not isinstance(group, h5py.Group):
            raise RecordingError(f"{source_path} lacks {demo}")
        for name in group:
            source.copy(group[name], file, name)
        for name, value in group.attrs.items():
            file.attrs[name] = value
    return f"demo_{index}"


def _rename_states(path: Path, index: int) -> None:
    """The states say which episode they are of."""
    with naming(path), h5py.File(path, "r+") as file:
        provenance = json.loads(str(file.attrs["provenance"]))
        file.attrs["provenance"] = json.dumps({**provenance, "episode": index})


def _renumbered(path: str, index: int) -> str:
    folder, slash, name = path.rpartition("/")
    return folder + slash + _NUMBER.sub(f"_{index:06d}.", name)


def _copy(source: Path, target: Path) -> None:
    with naming(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)


def _count_again(recording: Recording) -> None:
    """Make sure that each kept episode of T steps has T rows and T + 1 frames."""
    for line in recording.kept:
        if "trajectory" in line and (steps := recording.trajectory(line["episode"]).steps) != line["steps"]:
            raise RecordingError(f"episode {line['episode']} has {steps} rows for {line['steps']} steps")
        for camera in line.get("videos", {}):
            with recording.video(camera, line["episode"]) as video:
                if len(video) != line["steps"] + 1:
                    raise RecordingError(f"{video.path} has {len(video)} frames for {line['steps']} steps")
