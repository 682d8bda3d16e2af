"""What an environment's ``infos`` say of each world: Gymnasium's masks, its final infos, ManiSkill's tensors."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rollfilm.errors import InvalidArgumentError
from rollfilm.host import host_array
from rollfilm.record.trees import map_leaves, plain, put_rows

__all__ = ["Said", "last_observation", "said_of"]

#: A value a world, and of which worlds it was said: (B,) and bool (B,); or None where it was said of none.
Said = tuple[NDArray, NDArray[np.bool_]] | None


def said_of(infos: Mapping[str, Any], name: str, num_worlds: int, reset: NDArray[np.bool_]) -> Said:
    """What a step's ``infos`` say of the states after it under ``name``.

    Args:
        infos: of the step.
        name: for example ``"success"``.
        num_worlds: B.
        reset: bool (B,), the worlds that were reset within the step: what was true of them before stands in ``infos["final_info"]``.

    Raises:
        InvalidArgumentError: there is not one value a world.
    """
    said = _said(infos, name, num_worlds)
    if not reset.any():
        return said
    final = infos.get("final_info")
    before = _said(final, name, num_worlds) if isinstance(final, Mapping) else _said_one_by_one(final, name, num_worlds)
    if before is None:
        return None if said is None else (said[0], said[1] & ~reset)
    if said is None:
        # ManiSkill's vector wrapper moves what it says of all worlds into the final infos when one of them is reset
        return before
    return np.where(reset, before[0], said[0]), np.where(reset, before[1], said[1])


def last_observation(infos: Mapping[str, Any], like: Any, worlds: NDArray[np.intp]) -> Any:
    """The last observations of ``worlds``, which were reset within the step, in a tree like that of all observations.

    Args:
        infos: of the step: Gymnasium's ``"final_obs"``, ManiSkill's ``"final_observation"``.
        like: nested dictionaries of arrays (B, ...).
        worlds: whose rows are meant; the others are zero.

    Returns:
        Nested dictionaries of arrays (B, ...); None where ``infos`` do not hold them.

    Raises:
        InvalidArgumentError: they are built in another way.
    """
    given = next((infos[name] for name in ("final_obs", "final_observation") if infos.get(name) is not None), None)
    if given is None:
        return None
    target = map_leaves(np.zeros_like, like)
    if isinstance(given, np.ndarray) and given.dtype == object:
        for world in worlds:
            if given[world] is None:
                return None
            put_rows(target, map_leaves(host_array, given[world]), (), row=int(world))
    else:
        put_rows(target, plain(given, batched=True), worlds.tolist())
    return target


def _said(infos: Mapping[str, Any], name: str, num_worlds: int) -> Said:
    value = infos.get(name)
    if value is None:
        return None
    array = np.asarray(host_array(value)).reshape(-1)
    if array.shape != (num_worlds,):
        raise InvalidArgumentError(f"infos[{name!r}] has the shape {np.shape(array)} for {num_worlds} worlds; one value a world is needed")
    known = np.ones(num_worlds, bool)
    if array.dtype == object:
        known = np.array([one is not None for one in array])
        array = np.array([bool(one) for one in array])
    mask = infos.get(f"_{name}")
    return array, known if mask is None else known & np.asarray(host_array(mask), bool)


def _said_one_by_one(final: Any, name: str, num_worlds: int) -> Said:
    """Of an array of the infos of single worlds, as older versions of Gymnasium have it."""
    if final is None:
        return None
    values = [one.get(name) if isinstance(one, Mapping) else None for one in final]
    known = np.array([value is not None for value in values])
    return (np.array([bool(value) for value in values]), known) if known.any() and len(values) == num_worlds else None
