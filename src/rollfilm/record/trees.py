"""Nested observations and actions of any environment as nested dictionaries of NumPy arrays with a world axis."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rollfilm.errors import InvalidArgumentError
from rollfilm.host import host_array

__all__ = ["first_leaf", "map_leaves", "plain", "put_rows"]


def plain(tree: Any, *, batched: bool, copy: bool = False) -> Any:
    """Mappings become dictionaries, tuples dictionaries with the keys ``"0"``, ``"1"``, ...; leaves NumPy arrays (B, ...).

    Args:
        tree: arrays of any library, in nested mappings and tuples.
        batched: whether leaves have the world axis already; if not, they get one of length 1.
        copy: whether arrays are copied that are NumPy's already.
    """

    def leaf(array: Any) -> NDArray:
        host = host_array(array)
        host = host if batched else host[None]
        return np.array(host) if copy else host

    return map_leaves(leaf, tree)


def map_leaves(function: Callable[[Any], Any], tree: Any) -> Any:
    """The same tree with dictionaries for mappings and tuples, and ``function`` of every leaf."""
    if isinstance(tree, Mapping):
        return {str(name): map_leaves(function, value) for name, value in tree.items()}
    if isinstance(tree, tuple):
        return {str(index): map_leaves(function, value) for index, value in enumerate(tree)}
    return function(tree)


def first_leaf(tree: Any) -> Any:
    """The first array of a tree, None if there is none."""
    while isinstance(tree, Mapping | tuple):
        values = list(tree.values()) if isinstance(tree, Mapping) else list(tree)
        if not values:
            return None
        tree = values[0]
    return tree


def put_rows(target: Any, tree: Any, worlds: Sequence[int], *, row: int | None = None) -> None:
    """Copy rows of ``tree`` into ``target``, both trees of arrays (B, ...).

    Args:
        target: written to in place.
        tree: what is copied.
        worlds: the rows to write, from the same rows of ``tree``.
        row: ``tree`` has no world axis: it is copied to this row alone.

    Raises:
        InvalidArgumentError: the trees differ.
    """
    if isinstance(target, Mapping):
        if not isinstance(tree, Mapping) or set(tree) != set(target):
            raise InvalidArgumentError(
                f"a last observation has the parts {sorted(tree) if isinstance(tree, Mapping) else tree!r}; the "
                f"others have {sorted(target)}"
            )
        for name, value in target.items():
            put_rows(value, tree[name], worlds, row=row)
    elif row is not None:
        target[row] = tree
    else:
        target[list(worlds)] = tree[list(worlds)]
