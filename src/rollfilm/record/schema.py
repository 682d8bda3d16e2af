"""Checks that what a JSON file holds has the fields and types that its reader relies on."""

from collections.abc import Mapping
from types import NoneType
from typing import Any

from rollfilm.errors import RecordingError

__all__ = ["EPISODE_FIELDS", "MANIFEST_FIELDS", "check_fields"]

_NUMBER = (int, float)
_TEXT_OR_NONE = (str, NoneType)

#: Of ``recording.json``. A mapping stands for an object with those fields; under ``"*"`` is what every value of an object is.
MANIFEST_FIELDS: dict[str, Any] = {
    "status": str,
    "error": _TEXT_OR_NONE,
    "task": str,
    "env_id": str,
    "engine": str,
    "device": str,
    "num_envs": int,
    "obs_mode": str,
    "control_mode": str,
    "control_frequency_hz": _NUMBER,
    "seed": (int, NoneType),
    "keep": str,
    "video": {"codec": str},
    "cameras": {"*": {"width": int, "height": int, "pad_right": int, "pad_bottom": int, "fov_y_rad": (*_NUMBER, NoneType)}},
    "versions": {"*": str},
    "run": {"started": str, "ended": _TEXT_OR_NONE},
}

#: Of a line of ``episodes.jsonl``.
EPISODE_FIELDS: dict[str, Any] = {
    "episode": int,
    "seed": (int, NoneType),
    "steps": int,
    "ended": str,
    "success": (bool, NoneType),
    "episode_return": _NUMBER,
    "kept": bool,
}


def check_fields(content: Any, expected: Mapping[str, Any], where: str) -> None:
    """Make sure that ``content`` is an object with the ``expected`` fields; others may stand beside them.

    Args:
        content: what was read.
        expected: types by name, as in :data:`MANIFEST_FIELDS`.
        where: the file, as the message begins.

    Raises:
        RecordingError: a field is missing or of another type; the message names it.
    """
    if not isinstance(content, Mapping):
        raise RecordingError(f"{where} is damaged: it holds {type(content).__name__} where an object belongs")
    names = content if "*" in expected else expected
    for name in names:
        kind = expected.get("*", expected.get(name))
        if name not in content:
            raise RecordingError(f"{where} is damaged: {name!r} is missing")
        if isinstance(kind, Mapping):
            check_fields(content[name], kind, f"{where}, {name!r},")
        elif not isinstance(content[name], kind):
            raise RecordingError(f"{where} is damaged: {name!r} is {type(content[name]).__name__}")
