"""Checks of arguments that every public edge needs."""

import operator
from typing import Any

from rollfilm.errors import InvalidArgumentError

__all__ = ["require_integer"]


def require_integer(value: Any, name: str, *, lowest: int) -> int:
    """``value`` as an int: Python's or NumPy's, but no bool and no float.

    Raises:
        InvalidArgumentError: it is something else, or below ``lowest``.
    """
    try:
        number = None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = None
    if number is None:
        raise InvalidArgumentError(f"{name} is {value!r}; it must be an integer of at least {lowest}")
    if number < lowest:
        raise InvalidArgumentError(f"{name} is {number}; it must be at least {lowest}")
    return number
