"""``rollfilm info``: says what a recording holds."""

import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tyro
from rich.console import Console
from rich.table import Table
from rich.text import Text

from rollfilm.memory import format_bytes

if TYPE_CHECKING:
    from rollfilm.record.layout import Layout

__all__ = ["Info", "find_faults"]

#: Columns where the output is no terminal, so that names of files stay on one line.
_WIDTH_OF_FILES = 200


@dataclass
class Info:
    """Say what a recording holds: episodes, success, cameras, files, and what is wrong with it."""

    folder: tyro.conf.Positional[Path]
    """folder of the recording"""
    episodes: tyro.conf.FlagCreatePairsOff[bool] = False
    """list every episode"""

    def run(self) -> int:
        """Read and print."""
        from rollfilm.record.layout import Layout
        from rollfilm.record.manifest import read_episodes, read_manifest

        layout = Layout(self.folder)
        manifest = read_manifest(layout)
        episodes = read_episodes(layout)
        console = Console(highlight=False, markup=False, width=None if sys.stdout.isatty() else _WIDTH_OF_FILES)
        console.print(_overview_table(manifest, episodes))
        console.print(_camera_table(layout, manifest))
        console.print(_file_table(layout))
        if self.episodes:
            console.print(_episode_table(episodes))
        for warning in find_faults(layout, manifest, episodes):
            console.print(Text.assemble(("warning:", "bold yellow"), " ", warning))
        return 0


def find_faults(layout: "Layout", manifest: dict[str, Any], episodes: list[dict[str, Any]]) -> Iterator[str]:
    """What is wrong with a recording, in sentences."""
    from rollfilm.record.video import PARTIAL_SUFFIX

    status = manifest["status"]
    if status == "recording":
        yield (
            "it was never closed: it is still running, or its process was killed; what is listed as finished is whole "
            "(rollfilm recover puts it together)"
        )
    elif status == "recovered":
        lost = manifest.get("lost") or ["nothing that is known of"]
        yield f"it was recovered after its process was killed; lost: {'; '.join(lost)}"
    elif status == "interrupted":
        yield "it was interrupted (Ctrl-C); episodes in flight were cut"
    elif status == "failed":
        yield f"it ended with an error: {manifest['error']}"
    if episodes and not any(line["kept"] for line in episodes):
        yield f"no episode was kept (keep: {manifest['keep']})"
    if segments := sorted(layout.segments.glob("traj_*.h5")):
        yield f"{len(segments)} trajectories in {layout.segments.name}/ were not put together"
    for path in layout.recorded_files():
        if path.name.endswith(PARTIAL_SUFFIX):
            yield f"{path.relative_to(layout.root)} was not finished"
    for line in episodes:
        for path in _videos_of(line):
            if not (layout.root / path).is_file():
                yield f"episode {line['episode']}: {path} is not there"


def _videos_of(line: dict[str, Any]) -> Iterator[str]:
    videos = line.get("videos")
    yield from (path for path in videos.values() if isinstance(path, str)) if isinstance(videos, dict) else ()


def _overview_table(manifest: dict[str, Any], episodes: list[dict[str, Any]]) -> Table:
    table = _plain_table()
    table.add_row("task", f"{manifest['task']} ({manifest['env_id']})")
    table.add_row("made by", f"{manifest['engine']} on {manifest['device']}, {manifest['num_envs']} worlds, seed {manifest['seed']}")
    table.add_row("modes", f"{manifest['obs_mode']}, {manifest['control_mode']}, {manifest['control_frequency_hz']} Hz control")
    table.add_row("status", f"{manifest['status']}, {manifest['run']['ended'] or manifest['run']['started']}")
    ended = Counter(line["ended"] for line in episodes)
    table.add_row("episodes", f"{len(episodes)}" + (f" ({', '.join(f'{n} {how}' for how, n in ended.items())})" if episodes else ""))
    known = [line["success"] for line in episodes if line["success"] is not None and line["ended"] not in ("cut", "failed")]
    table.add_row("success", f"{sum(known)}/{len(known)} at the end" if known else "not known")
    table.add_row("kept", f"{sum(line['kept'] for line in episodes)} (keep: {manifest['keep']})")
    if episodes:
        lengths = [line["steps"] for line in episodes]
        table.add_row("steps", f"{min(lengths)} to {max(lengths)}, {sum(lengths) / len(lengths):.1f} on average")
    table.add_row("versions", ", ".join(f"{name} {version}" for name, version in manifest["versions"].items()))
    return table


def _camera_table(layout: "Layout", manifest: dict[str, Any]) -> Table:
    table = Table(
        "camera", "size", "padding in the file", "field of view", "videos", "bytes", box=None, pad_edge=False, header_style="bold"
    )
    for name, camera in manifest["cameras"].items():
        paths = sorted(layout.video(name, 0).parent.glob("episode_*.mp4"))
        right, bottom = camera["pad_right"], camera["pad_bottom"]
        padding = f"{right} right, {bottom} bottom" if right or bottom else "none"
        fov = camera["fov_y_rad"]
        table.add_row(
            name,
            f"{camera['width']}x{camera['height']}",
            padding,
            "" if fov is None else f"{fov:.4f} rad",
            f"{len(paths)}, {manifest['video']['codec']}",
            format_bytes(sum(path.stat().st_size for path in paths)),
        )
    return table


def _file_table(layout: "Layout") -> Table:
    table = _table("file", "bytes")
    for path in layout.recorded_files():
        if path.parent == layout.root:
            table.add_row(str(path), format_bytes(path.stat().st_size))
    return table


def _episode_table(episodes: list[dict[str, Any]]) -> Table:
    table = _table("episode", "seed", "steps", "ended", "success", "return", "kept")
    for line in episodes:
        success = {True: "yes", False: "no", None: ""}[line["success"]]
        kept = "yes" if line["kept"] else "no"
        seed, total = str(line["seed"]), f"{line['episode_return']:.3f}"
        table.add_row(str(line["episode"]), seed, str(line["steps"]), line["ended"], success, total, kept)
    return table


def _table(*columns: str) -> Table:
    return Table(*columns, box=None, pad_edge=False, header_style="bold")


def _plain_table() -> Table:
    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    return table
