"""Makes a recording whole whose process was killed, and says what was lost."""

import json
import re
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rollfilm.cores import available_cores
from rollfilm.errors import RecordingError
from rollfilm.record.digest import episode_digests
from rollfilm.record.formats import assemble_formats
from rollfilm.record.layout import Layout
from rollfilm.record.lock import FolderLock
from rollfilm.record.manifest import read_episodes, read_manifest, shared_digests, write_manifest
from rollfilm.record.page import write_page
from rollfilm.record.posters import make_missing_posters
from rollfilm.record.reading import Recording
from rollfilm.record.video import PARTIAL_SUFFIX
from rollfilm.record.whole import naming

__all__ = ["Recovery", "recover"]

_NUMBER = re.compile(r"_(\d{6,})\.")


@dataclass
class Recovery:
    """What became of a recording.

    Attributes:
        needed: whether there was anything to do.
        kept: how many episodes there are with all of their files.
        episodes: how many have ended.
        lost: what is not there, in sentences.
    """

    needed: bool
    kept: int = 0
    episodes: int = 0
    lost: list[str] = field(default_factory=list)


def recover(folder: str | Path, *, progress: Callable[[int, int], None] | None = None) -> Recovery:
    """Make an interrupted recording whole.

    What was in flight is deleted: files without a line in ``episodes.jsonl``, and files that had not got their name. Finished episodes
    are compared with their digests, and one that is damaged, as after a power failure, is deleted and its line says so. Then finished
    rows are put together in each format, ``recording.json`` says ``"recovered"`` and what was lost, and the page is made again. A
    recovery that is killed can be begun again. A recording that was closed is left as it is.

    Args:
        folder: of the recording.
        progress: called with how many of how many episodes have been looked at.

    Returns:
        What there is now. Where the process was killed before it had said what it records, nothing was recorded, and the folder no
        longer holds a recording.

    Raises:
        RecordingError: the folder holds no recording, it is being recorded to, or a file cannot be read or written.
    """
    layout = Layout(Path(folder))
    if not layout.root.is_dir():
        read_manifest(layout)  # says what is wrong
    with FolderLock(layout.root):
        if layout.manifest.is_file() and not layout.manifest.stat().st_size:
            layout.remove()
            return Recovery(True, lost=["the process was killed before the first episode began"])
        manifest = read_manifest(layout)
        if manifest["status"] != "recording" and not _leftovers(layout):
            episodes = read_episodes(layout)
            return Recovery(False, sum(line["kept"] for line in episodes), len(episodes))
        lost = [*_cut_half_line(layout), *_remove_damaged(layout, progress), *_remove_unfinished(layout)]
        assemble_formats(layout, manifest)
        episodes = read_episodes(layout)
        head = {"format": manifest["format"], "status": "recovered", "error": manifest["error"]}
        lost = [*manifest.get("lost", ()), *lost]
        write_manifest(layout, {**manifest, **head, "lost": lost, "sha256": shared_digests(layout)})
        if (manifest.get("files") or {}).get("page"):
            make_missing_posters(Recording(layout.root))
            write_page(layout)
    return Recovery(True, sum(line["kept"] for line in episodes), len(episodes), lost)


def _leftovers(layout: Layout) -> list[Path]:
    """What a recording that was closed without an error does not have."""
    return [path for path in layout.recorded_files() if path.name.endswith(PARTIAL_SUFFIX) or path.parent == layout.segments]


def _cut_half_line(layout: Layout) -> Iterator[str]:
    """A line that was being written when the process was killed would be in the way of the next one."""
    if not layout.episodes.is_file():
        with naming(layout.episodes):
            layout.episodes.touch()
        return
    with naming(layout.episodes), layout.episodes.open("r+b") as file:
        content = file.read()
        end = content.rfind(b"\n") + 1
        if end < len(content):
            file.truncate(end)
            yield f"the last line of {layout.episodes.name} was half written"


def _remove_damaged(layout: Layout, progress: Callable[[int, int], None] | None) -> Iterator[str]:
    """Finished episodes whose files are not what their lines say."""
    kept = [line for line in read_episodes(layout) if line["kept"]]
    with ThreadPoolExecutor(available_cores()) as pool:
        for number, (line, damage) in enumerate(zip(kept, pool.map(lambda line: _damage(layout, line), kept), strict=True), start=1):
            if damage is not None:
                layout.remove_episode(line["episode"])
                _append_line(layout, {**_without_files(line), "ended": "failed", "kept": False, "error": damage})
                yield f"episode {line['episode']}: {damage}"
            if progress is not None:
                progress(number, len(kept))


def _damage(layout: Layout, line: dict[str, Any]) -> str | None:
    try:
        found = episode_digests(layout, line["episode"])
    except RecordingError as error:
        return str(error)
    said = line.get("sha256", {})
    for path, digest in said.items():
        if path not in found["sha256"]:
            return f"{path} is not there"
        if found["sha256"][path] != digest:
            return f"{path} is damaged"
    segment = layout.segment(line["episode"])
    if "rows_sha256" in line and segment.is_file() and found.get("rows_sha256") != line["rows_sha256"]:
        return f"{segment.relative_to(layout.root)} is damaged"
    return None


def _without_files(line: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in line.items() if name not in ("videos", "trajectory", "sha256", "rows_sha256")}


def _append_line(layout: Layout, line: dict[str, Any]) -> None:
    with naming(layout.episodes), layout.episodes.open("a") as file:
        file.write(json.dumps(line) + "\n")


def _remove_unfinished(layout: Layout) -> Iterator[str]:
    """Files that have not got their name, and those of episodes without a line."""
    kept_by_episode = {line["episode"]: line["kept"] for line in read_episodes(layout)}
    in_flight: set[int] = set()
    for episode, path in list(layout.files_of_episodes()):
        if not kept_by_episode.get(episode, False):
            in_flight.add(episode)
            path.unlink(missing_ok=True)
    for path in list(layout.recorded_files()):
        if path.name.endswith(PARTIAL_SUFFIX):
            if match := _NUMBER.search(path.name):
                in_flight.add(int(match[1]))
            elif path.name == layout.overview.name + PARTIAL_SUFFIX:
                yield f"{layout.overview.name} was not finished"
            path.unlink(missing_ok=True)
    for folder in layout.root.glob("*" + PARTIAL_SUFFIX):
        if folder.is_dir():
            shutil.rmtree(folder)
    if in_flight := in_flight - kept_by_episode.keys():
        yield f"{_episodes(sorted(in_flight))} in flight"


def _episodes(numbers: list[int]) -> str:
    if len(numbers) == 1:
        return f"episode {numbers[0]} was"
    return f"episodes {', '.join(map(str, numbers[:-1]))} and {numbers[-1]} were"
