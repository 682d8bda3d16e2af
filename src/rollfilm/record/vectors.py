"""Nested observations and actions as one vector, for formats that know no nesting."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rollfilm.record.rows import flatten

__all__ = ["vector_names", "vector_of"]


def _leaves(tree: Any) -> dict[str, NDArray]:
    """The leaves that belong into a vector, in their order: numbers, but no pictures."""
    return {path: leaf for path, leaf in flatten(tree).items() if leaf.ndim <= 2 and leaf.dtype.kind in "fiub"}


def vector_of(tree: Any) -> NDArray[np.float32]:
    """The numbers of an array or of nested mappings of arrays, float32 (D,), in their order. Arrays of three axes or more, pictures
    that is, are left out.
    """
    parts = [leaf.astype(np.float32).ravel() for leaf in _leaves(tree).values()]
    return np.concatenate(parts) if parts else np.zeros(0, np.float32)


def vector_names(tree: Any) -> list[str] | None:
    """What each number of :func:`vector_of` is, as ``"agent.qpos.3"``; None for a plain array, whose numbers have no names."""
    names = []
    for path, leaf in _leaves(tree).items():
        if not path:
            return None
        dotted = path.replace("/", ".")
        names += [dotted] if leaf.size == 1 else [f"{dotted}.{k}" for k in range(leaf.size)]
    return names
