"""``recording.json``, ``episodes.jsonl``, and whether the files that they name are there, are the right ones and are unchanged."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from rollfilm.errors import RecordingError
from rollfilm.record.digest import file_sha256
from rollfilm.record.manifest import iterate_episodes, manifest_checksum
from rollfilm.record.reading import Recording
from rollfilm.record.verify.faults import Fault, Job
from rollfilm.record.video import PARTIAL_SUFFIX

__all__ = ["check_listing"]

_ENDED = ("terminated", "truncated", "stopped", "cut", "failed")


def check_listing(recording: Recording) -> Iterator[Job]:
    """A job for what is said, one for what lies about, and one for each file with a digest."""
    yield Job(lambda: _check_manifest(recording))
    yield Job(lambda: _check_lines(recording))
    yield Job(lambda: _check_leftovers(recording))
    owners = _owners(recording)
    for path, digest in (recording.manifest.get("sha256") or {}).items():
        yield Job(lambda path=path, digest=digest: _check_digest(recording, path, digest, None, owners))
    for line in recording.kept:
        for path, digest in (line.get("sha256") or {}).items():
            yield Job(lambda path=path, digest=digest, index=line["episode"]: _check_digest(recording, path, digest, index, owners))


def _check_manifest(recording: Recording) -> Iterator[Fault]:
    manifest, name = recording.manifest, recording.layout.manifest.name
    said = manifest["run"].get("checksum")
    if said is not None and said != manifest_checksum(manifest):
        yield Fault(name, "it was changed after it was written: its checksum is another one")
    if manifest["status"] == "recording":
        yield Fault(name, "the recording was never closed: it is running, or its process was killed; rollfilm recover makes it whole")
    elif manifest["status"] == "failed":
        yield Fault(name, f"the recording ended with an error: {manifest['error']}")
    elif manifest["status"] not in ("complete", "interrupted", "recovered"):
        yield Fault(name, f"the status {manifest['status']!r} is unknown")


def _check_lines(recording: Recording) -> Iterator[Fault]:
    name = recording.layout.episodes.name
    if not recording.layout.episodes.is_file():
        if recording.manifest["status"] != "recording":
            yield Fault(name, "it is not there")
        return
    if not recording.layout.episodes.read_bytes().endswith(b"\n") and recording.layout.episodes.stat().st_size:
        yield Fault(name, "its last line is not whole")
    times = Counter(line["episode"] for line in iterate_episodes(recording.layout))
    for line in recording.episodes:
        index = line["episode"]
        if times[index] > 1 and line["kept"]:
            yield Fault(name, f"{times[index]} lines; of several, the last one has to say that it was not kept", index)
        for text in _line_faults(recording, line):
            yield Fault(name, text, index)


def _line_faults(recording: Recording, line: dict[str, Any]) -> Iterator[str]:
    layout, index = recording.layout, line["episode"]
    if line["ended"] not in _ENDED:
        yield f"'ended' is {line['ended']!r}; choose from {', '.join(_ENDED)}"
    if (line["ended"] == "failed") != (line.get("error") is not None):
        yield f"it ended as {line['ended']!r} with the error {line.get('error')!r}"
    if index < 0 or line["steps"] < 0:
        yield f"{line['steps']} steps"
    if line["success"] and line.get("success_once") is False:
        yield "success at the end, but never"
    if not line["kept"]:
        return
    if line["ended"] == "failed" or (recording.manifest["keep"] == "success" and line["success"] is not True):
        yield f"it was kept though it ended as {line['ended']!r} with success {line['success']}"
    videos = line.get("videos")
    for camera, path in videos.items() if isinstance(videos, dict) else ():
        right = layout.video(camera, index).relative_to(layout.root).as_posix()
        if path != right:
            yield f"the video of camera {camera!r} is said to be {path}; {right} is it"
        elif not (layout.root / right).is_file():
            yield f"{right} is not there"
    if videos:
        for camera in recording.cameras:
            if camera not in videos:
                yield f"there is no video of camera {camera!r}"


def _check_leftovers(recording: Recording) -> Iterator[Fault]:
    layout = recording.layout
    kept = {line["episode"] for line in recording.kept}
    closed = recording.manifest["status"] != "recording"
    for path in layout.recorded_files():
        if path.name.endswith(PARTIAL_SUFFIX):
            yield Fault(path.relative_to(layout.root).as_posix(), "it was not finished; rollfilm recover deletes it")
    for episode, path in layout.files_of_episodes():
        name = path.relative_to(layout.root).as_posix()
        if episode not in kept:
            yield Fault(name, "no line says that this episode was kept", episode)
        elif closed and path.parent == layout.segments:
            yield Fault(name, "it was not put together with the others; rollfilm recover does that", episode)


def _check_digest(recording: Recording, path: str, digest: str, episode: int | None, owners: dict[str, str]) -> Iterator[Fault]:
    file = recording.layout.root / path
    if not file.is_file():
        # that a video is not there is said where lines are checked
        if not path.startswith("videos/"):
            yield Fault(path, "it is not there", episode)
        return
    try:
        found = file_sha256(file)
    except RecordingError as error:
        yield Fault(path, str(error), episode)
        return
    if found != digest:
        owner = f": it is {owners[found]}" if found in owners else ""
        yield Fault(path, f"it was changed after it was written{owner}", episode)


def _owners(recording: Recording) -> dict[str, str]:
    """The paths of files by their digest."""
    lines = (line.get("sha256") or {} for line in recording.kept)
    return {digest: path for said in lines for path, digest in said.items()}
