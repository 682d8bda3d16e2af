"""The formats that a recording's rows can be written as, by name.

Each is a file in ``record/sinks/`` with two functions: ``sink(layout, manifest)``, which writes every finished episode into a segment of
its own and puts the segments together when it is closed, and ``assemble(layout, manifest)``, which does the latter for a recording that
was interrupted.
"""

from collections.abc import Iterable, Mapping
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from rollfilm.errors import InvalidArgumentError, MissingExtraError
from rollfilm.record.layout import Layout
from rollfilm.record.sink import Sink

__all__ = ["FORMATS", "assemble_formats", "checked_formats", "make_sink", "takes_colours"]

#: Videos and ``episodes.jsonl`` are always there, which is all that "jsonl" is.
_MODULES = {
    "maniskill": "rollfilm.record.sinks.maniskill",
    "lerobot": "rollfilm.record.sinks.lerobot",
    "robomimic": "rollfilm.record.sinks.robomimic",
    "jsonl": None,
}

#: Formats that hold the colours of every pixel; others take the videos.
_HOLD_COLOURS = frozenset({"robomimic"})

#: What a format needs that is not always installed: a package, and the extra that brings it.
_NEEDS = {"lerobot": ("pyarrow", "lerobot")}

#: The names that can be asked for.
FORMATS = tuple(_MODULES)


def checked_formats(names: Iterable[str]) -> tuple[str, ...]:
    """The names as they came, once each.

    Raises:
        InvalidArgumentError: one is unknown.
        MissingExtraError: a package that one needs is not installed.
    """
    asked = (names,) if isinstance(names, str) else tuple(names)
    for name in asked:
        if name not in _MODULES:
            raise InvalidArgumentError(f"format {name!r} is unknown; choose from {', '.join(FORMATS)}")
        package, extra = _NEEDS.get(name, (None, None))
        if package is not None and find_spec(package) is None:
            raise MissingExtraError(f"the format {name!r} needs {package}; install it with: pip install 'rollfilm[{extra}]'")
    return tuple(dict.fromkeys(asked))


def takes_colours(names: Iterable[str]) -> bool:
    """Whether one of the formats holds the colours of every pixel as they are."""
    return not _HOLD_COLOURS.isdisjoint(names)


def make_sink(name: str, layout: Layout, manifest: Mapping[str, Any]) -> Sink | None:
    """What writes a recording in a format, or None where nothing more is to be written.

    Args:
        name: of the format.
        layout: where the files go.
        manifest: what ``recording.json`` says.

    Raises:
        RecordingError: the folder cannot be written to.
    """
    module = _MODULES[name]
    return None if module is None else import_module(module).sink(layout, manifest)


def assemble_formats(layout: Layout, manifest: Mapping[str, Any]) -> list[Path]:
    """Put the finished episodes of an interrupted recording together, in every format that it was recorded in.

    Only episodes with a line in ``episodes.jsonl`` that says that they were kept are taken. What was put together before is left as it
    is.

    Returns:
        What was written: a file or a folder a format.

    Raises:
        RecordingError: a file cannot be read or written. The segments stay where they are.
    """
    modules = [module for name in manifest.get("formats", ("maniskill",)) if (module := _MODULES.get(name)) is not None]
    return [path for module in modules if (path := import_module(module).assemble(layout, manifest)) is not None]
