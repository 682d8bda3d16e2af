"""Checks of arguments that every public edge needs."""

import math
import operator
from collections.abc import Iterable
from dataclasses import fields
from numbers import Real
from typing import Any

from rollfilm.errors import InvalidArgumentError, NotFoundError

__all__ = ["is_number", "numbers_of", "require_fields", "require_integer", "require_number"]


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


def is_number(value: Any) -> bool:
    """Whether ``value`` is a real number of Python's or NumPy's, infinities among them, but no bool and not NaN."""
    return isinstance(value, Real) and not isinstance(value, bool) and not math.isnan(value)


def require_number(value: Any, name: str, allowed: str) -> float:
    """``value`` as a float.

    Raises:
        InvalidArgumentError: it is no real number; the message ends in what is ``allowed``.
    """
    if not is_number(value):
        raise InvalidArgumentError(f"{name} is {value!r}; {allowed}")
    return float(value)


def require_fields(names: Iterable[str], dataclass: Any) -> None:
    """Make sure that all ``names`` are fields of a dataclass.

    Raises:
        NotFoundError: one is none; the message lists those there are.
    """
    known = [field.name for field in fields(dataclass)]
    unknown = sorted(set(names) - set(known))
    if unknown:
        raise NotFoundError(f"{dataclass.__name__} has no {', '.join(map(repr, unknown))}; there are: {', '.join(known)}")


def numbers_of(values: Any) -> tuple[float, ...] | None:
    """Finite numbers in a row, of a list, a tuple or an array, as floats that can be compared and hashed; None if they are none."""
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        return None
    try:
        listed = tuple(values)
    except TypeError:  # an array without axes
        return None
    return tuple(float(value) for value in listed) if all(is_number(v) and math.isfinite(v) for v in listed) else None
