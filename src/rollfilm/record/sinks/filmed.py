"""Which episodes of a recording a dataset of pictures can hold."""

from typing import Any

from rollfilm.record.layout import Layout
from rollfilm.record.manifest import read_episodes

__all__ = ["filmed_lines"]


def filmed_lines(layout: Layout, entry: str) -> list[dict[str, Any]]:
    """The lines of the kept episodes that have an ``entry``, in the order of their indices.

    Datasets have the same features in every episode: where some episodes have videos, those without are left out.
    """
    lines = [line for line in read_episodes(layout) if line["kept"] and line.get(entry)]
    filmed = [line for line in lines if line.get("videos")]
    return filmed or lines
