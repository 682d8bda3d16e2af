"""Rows of a model's arrays as the plain numbers that a scene holds."""

from collections.abc import Iterable

__all__ = ["vector2", "vector3", "vector4"]


def vector2(row: Iterable[float]) -> tuple[float, float]:
    """Two numbers."""
    x, y = (float(value) for value in row)
    return x, y


def vector3(row: Iterable[float]) -> tuple[float, float, float]:
    """Three numbers."""
    x, y, z = (float(value) for value in row)
    return x, y, z


def vector4(row: Iterable[float]) -> tuple[float, float, float, float]:
    """Four numbers."""
    a, b, c, d = (float(value) for value in row)
    return a, b, c, d
