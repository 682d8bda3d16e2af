"""``index.html``: a recording to look at in a browser, from the disk, without a server and without a network."""

import base64
import hashlib
import html
import json
import math
from collections.abc import Mapping
from fractions import Fraction
from importlib.resources import files
from pathlib import Path
from typing import Any

from rollfilm import __version__
from rollfilm.errors import RecordingError
from rollfilm.record.layout import PAGE_MARK, Layout
from rollfilm.record.manifest import iterate_episodes, read_manifest
from rollfilm.record.whole_file import whole_file

__all__ = ["write_page"]

_STYLES = ("page.css",)
#: In the order in which they run.
_SCRIPTS = ("data.js", "card.js", "grid.js", "plots.js", "player.js", "page.js")

#: What the page has to know of the recording itself. Not ``"run"``: the same recording gives the same page on any day.
_MANIFEST_FIELDS = (
    "status", "error", "lost", "task", "env_id", "engine", "device", "num_envs", "obs_mode", "control_mode", "control_frequency_hz",
    "max_episode_steps", "seed", "keep", "versions",
)  # fmt: skip

#: What the page has to know of each episode, in the order of the columns; then one path of a video for each camera.
_EPISODE_FIELDS = ("episode", "seed", "world", "steps", "ended", "success", "success_once", "episode_return", "kept", "error")

#: Whole numbers that JavaScript tells apart.
_MAX_SAFE_INTEGER = 2**53 - 1


def write_page(layout: Layout) -> None:
    """Write the page of a recording, in whatever state it is, also while it runs.

    Lines are read and written one at a time; of several of an episode the page shows the last. Videos and posters are referenced by
    relative paths, so that the folder can be moved.

    Raises:
        RecordingError: there is no recording, it cannot be read, or the page cannot be written.
    """
    manifest = read_manifest(layout)
    head, tail = _template(manifest)
    try:
        with whole_file(layout.page) as file:
            file.write(head.encode())
            file.write(b'{"recording":' + _json(_describe(layout, manifest)) + b',\n"episodes":[')
            for number, line in enumerate(iterate_episodes(layout)):
                file.write((b",\n" if number else b"\n") + _json(_row(line, manifest["cameras"])))
            file.write(b"\n]}" + tail.encode())
    except OSError as error:
        raise RecordingError(f"cannot write {layout.page}: {error.strerror or error}") from error


def _template(manifest: Mapping[str, Any]) -> tuple[str, str]:
    """What stands before and after the data."""
    style = "".join(_asset(name) for name in _STYLES)
    script = '"use strict";\n' + "".join(_asset(name) for name in _SCRIPTS)
    # Only this very script runs and nothing is fetched but files beside the page: a second lock behind the escaping.
    policy = (
        f"default-src 'none'; script-src '{_digest(script)}'; style-src '{_digest(style)}'; "
        "img-src 'self' file:; media-src 'self' file:; base-uri 'none'; form-action 'none'"
    )
    title = manifest["task"] or manifest["env_id"] or "recording"
    parts = {
        "mark": PAGE_MARK.decode(),
        "version": html.escape(__version__),
        "policy": html.escape(policy),
        "title": html.escape(title),
        "style": style,
        "script": script,
    }
    head, tail = _asset("page.html").split("{{data}}")
    for name, value in parts.items():
        head, tail = head.replace("{{" + name + "}}", value), tail.replace("{{" + name + "}}", value)
    return head, tail


def _asset(name: str) -> str:
    return (files("rollfilm.record") / "page_files" / name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _describe(layout: Layout, manifest: Mapping[str, Any]) -> dict[str, Any]:
    cameras = [
        {
            "name": name,
            "width": camera["width"],
            "height": camera["height"],
            "posters": _relative(layout, layout.poster(name, 0).parent) + "/",
        }
        for name, camera in manifest["cameras"].items()
    ]
    beside = [layout.overview, layout.episodes, layout.manifest, *sorted(layout.root.glob("trajectory.*")), layout.root / "robomimic.hdf5"]
    return {
        **{name: manifest.get(name) for name in _MANIFEST_FIELDS},
        "fps": _frames_a_second(manifest),
        "codec": manifest["video"]["codec"],
        "cameras": cameras,
        "overview": layout.overview.name if layout.overview.is_file() else None,
        "files": [path.name for path in beside if path.is_file()],
        "columns": list(_EPISODE_FIELDS),
    }


def _row(line: Mapping[str, Any], cameras: Mapping[str, Any]) -> list[Any]:
    """An episode as the page reads it: its fields, then the relative path of each camera's video or None."""
    videos = line.get("videos")
    paths = videos if isinstance(videos, Mapping) and line["kept"] else {}
    known = {camera: path for camera, path in paths.items() if isinstance(path, str)}
    return [*(line.get(name) for name in _EPISODE_FIELDS), *(known.get(camera) for camera in cameras)]


def _frames_a_second(manifest: Mapping[str, Any]) -> float:
    try:
        return float(Fraction(str(manifest.get("fps"))))
    except (ValueError, ZeroDivisionError):
        return float(manifest["control_frequency_hz"])


def _relative(layout: Layout, path: Path) -> str:
    return path.relative_to(layout.root).as_posix()


def _json(value: Any) -> bytes:
    """JSON that may stand in an HTML script element: ``<``, ``>`` and ``&`` are escaped, and so cannot end it."""
    text = json.dumps(_plain(value), separators=(",", ":"), allow_nan=False)  # ASCII only
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026").encode()


def _plain(value: Any) -> Any:
    """The same with what JavaScript would round or refuse written as text: integers beyond 2**53, NaN and infinities."""
    if isinstance(value, Mapping):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, int) and abs(value) > _MAX_SAFE_INTEGER:
        return str(value)
    return value
