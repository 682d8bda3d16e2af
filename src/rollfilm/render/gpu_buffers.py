"""What a GPU's stages hand on to one another: how large each buffer is, for the plan of memory and for the pipeline that takes them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import warp as wp

from rollfilm.render import limits
from rollfilm.render.batch import KEY_BYTES, ViewSize
from rollfilm.render.kernels.batch import CLUSTER, SEGMENTS
from rollfilm.render.kernels.lamps import LAMP, lamps_of_view
from rollfilm.render.kernels.outlook import Outlook
from rollfilm.render.kernels.types import CLUSTER_SIZE, Lens

__all__ = ["GpuBuffers", "plan_buffers"]

#: Pixels of a column that one thread shades at most: one bit of an integer each.
MAX_ROWS = 32


@dataclass(frozen=True)
class GpuBuffers:
    """The buffers of one renderer.

    Attributes:
        views_at_once: for each batch, how many of its views share the visibility buffer: the batch is rendered in chunks of so many.
        columns: for each batch, pixels of a column that one thread shades.
        lists: shape and type of what the fields of ``WorkLists`` hold.
        others: of the visibility buffer (``visibility``), and of what all pixels of a view share (``outlooks``, ``lamps``).
    """

    views_at_once: tuple[int, ...]
    columns: tuple[int, ...]
    lists: dict[str, tuple[tuple[int, ...], Any]]
    others: dict[str, tuple[tuple[int, ...], Any]]

    @property
    def num_bytes(self) -> int:
        """Of all of them."""
        everything = (*self.lists.values(), *self.others.values())
        return sum(math.prod(shape) * wp.types.type_size_in_bytes(dtype) for shape, dtype in everything)


def plan_buffers(
    batches: Sequence[ViewSize],
    *,
    num_maps: int,
    num_geoms: int,
    num_lights: int,
    worst_clusters: int,
    num_multiprocessors: int,
    visibility_bytes: int,
) -> GpuBuffers:
    """The buffers that batches share.

    Args:
        batches: what is rendered.
        num_maps: shadow maps that are drawn together; a map takes a row of the lists, as a view does.
        num_geoms, num_lights: of the scene.
        worst_clusters: of a view that sees all meshes at their finest levels.
        num_multiprocessors: of the GPU.
        visibility_bytes: of the visibility buffer at most, unless a single view takes more.
    """
    chunks = [max(1, min(batch.num_views, visibility_bytes // (KEY_BYTES * batch.keys))) for batch in batches]
    columns = [_column(batch, count, num_multiprocessors) for batch, count in zip(batches, chunks, strict=True)]
    listed = max(_listed(*of_batch) for of_batch in zip(batches, chunks, columns, strict=True))
    most_pixels = max(count * batch.keys for count, batch in zip(chunks, batches, strict=True))
    most_views = max(*chunks, num_maps)
    worst = max(1, most_views * worst_clusters)
    small = max(1, min(worst * CLUSTER_SIZE, limits.MAX_SMALL // SEGMENTS))
    lists = {
        "placed": ((most_views, num_geoms), wp.mat44),
        "lens": ((most_views,), Lens),
        "cluster": ((SEGMENTS, max(1, min(worst * (CLUSTER_SIZE // CLUSTER), limits.MAX_CLUSTERS // SEGMENTS))), wp.vec4i),
        "small": ((SEGMENTS, small), wp.vec3i),
        "medium": ((SEGMENTS, max(1, small // 4)), wp.vec3i),
        "tile": ((SEGMENTS, max(1, min(most_pixels // 16 + 4096, limits.MAX_TILES) // SEGMENTS)), wp.vec4i),
        "pixel": ((SEGMENTS, listed), int),
        "count": ((5, SEGMENTS, 32), int),
    }
    others = {
        "visibility": ((most_pixels,), wp.uint64),
        "outlooks": ((most_views,), Outlook),
        "lamps": ((most_views, LAMP * lamps_of_view(num_lights)), float),
    }
    return GpuBuffers(tuple(chunks), tuple(columns), lists, others)


def _column(batch: ViewSize, count: int, num_multiprocessors: int) -> int:
    """Pixels of a column for each thread: long columns share more work, short ones keep a small batch spread over the whole GPU."""
    most = min(MAX_ROWS, max(1, count * batch.height * batch.width // (num_multiprocessors * 4096)))
    return -(-batch.height // -(-batch.height // most))  # all of a length, nearly


def _listed(batch: ViewSize, count: int, rows: int) -> int:
    """Pixels that a segment of the list of ``count`` views must hold: all that those warps count which list there."""
    warps = -(-count * -(-batch.height // rows) * batch.width // 32)
    return -(-warps // SEGMENTS) * 32 * rows
