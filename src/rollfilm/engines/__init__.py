"""Physics engines behind one small contract, found through the entry-point group ``rollfilm.engines``."""

from importlib.metadata import entry_points
from typing import Any

from rollfilm.engines.protocol import Engine, EngineState
from rollfilm.errors import NotFoundError

__all__ = ["Engine", "EngineState", "engine_class", "engine_names"]

_GROUP = "rollfilm.engines"
#: Known without installed metadata, as in a source checkout on the path.
_BUILT_IN = {"mujoco": "rollfilm.engines.mujoco:MujocoEngine"}


def engine_names() -> tuple[str, ...]:
    """The names of all engines, our own and those of installed packages, sorted."""
    return tuple(sorted({*_BUILT_IN, *(point.name for point in entry_points(group=_GROUP))}))


def engine_class(name: str) -> Any:
    """The class of the engine called ``name``; what it takes is its own business.

    Raises:
        NotFoundError: there is none; the message lists those there are.
    """
    for point in entry_points(group=_GROUP):
        if point.name == name:
            return point.load()
    if name in _BUILT_IN:
        from importlib.metadata import EntryPoint

        return EntryPoint(name, _BUILT_IN[name], _GROUP).load()
    raise NotFoundError(
        f"no engine {name!r}; engines: {', '.join(engine_names())}. A package adds one through the entry-point group {_GROUP!r}"
    )
