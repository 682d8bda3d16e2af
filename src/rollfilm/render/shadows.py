"""The shadow maps of a renderer: how many there are at once, and where."""

from collections.abc import Iterator

import warp as wp

from rollfilm.render.kernels.types import LightView, WorldData
from rollfilm.render.options import RenderOptions

__all__ = ["allocate_maps", "map_bytes", "map_side", "view_runs", "world_groups", "worlds_at_once"]

#: Bytes of shadow maps above which the worlds of a batch are rendered one group after the other. A CPU goes on with what is in its caches.
CPU_BYTES = 1 << 27
CUDA_BYTES = 1 << 32

#: Sides of maps where nobody asks for another.
SMALLEST_SIDE = 64
LARGEST_SIDE = 1024


def map_side(options: RenderOptions, height: int, width: int) -> int:
    """Texels along a side of the shadow maps that pictures of a size are drawn with."""
    return options.shadow_map_size or min(max(height, width, SMALLEST_SIDE), LARGEST_SIDE)


def _pitch(side: int) -> int:
    """Texels from one line of a map to the next: whole runs of 16, and one more, as lines a power of two apart would share cache lines."""
    return 16 * (-(-side // 16) + 1)


def _one_map_bytes(side: int) -> int:
    return 4 * side * _pitch(side)


def worlds_at_once(num_worlds: int, num_lights: int, side: int, *, is_cuda: bool, left: int | None = None) -> int:
    """How many worlds have their maps at once, in no more memory than what is ``left``; all of them where nothing casts shadows."""
    if not num_lights:
        return num_worlds
    limit = CUDA_BYTES if is_cuda else CPU_BYTES
    limit = limit if left is None else min(limit, left)
    return max(1, min(num_worlds, limit // (_one_map_bytes(side) * num_lights)))


def map_bytes(at_once: int, num_lights: int, side: int) -> int:
    """Bytes of the maps of ``at_once`` worlds, the largest of which have ``side`` x ``side`` texels."""
    return _one_map_bytes(side) * num_lights * at_once


def allocate_maps(
    world: WorldData,  # pyright: ignore[reportInvalidTypeForm]
    num_worlds: int,
    at_once: int,
    num_lights: int,
    side: int,
    device: wp.Device,
) -> None:
    """Give ``world`` its maps, of ``at_once`` worlds and so many lights that cast shadows; smaller maps lie in a corner of the largest,
    of ``side`` texels.
    """
    world.maps_at_once = at_once
    world.map_pitch = _pitch(side)
    world.light_view = wp.zeros((num_worlds, num_lights), dtype=LightView, device=device)
    maps = world.maps_at_once * num_lights
    world.caster = wp.zeros((num_worlds, world.geom_position.shape[1]) if maps else (0, 0), dtype=wp.vec4, device=device)
    world.shadow_map = wp.zeros((maps, side * world.map_pitch if maps else 0), dtype=wp.uint32, device=device)


def view_runs(num_views: int, num_worlds: int, first_world: int, count: int) -> Iterator[tuple[int, int]]:
    """First view and number of views of each run that shows only worlds of a group; of all worlds one run."""
    if count == num_worlds:
        yield 0, num_views
        return
    for camera in range(num_views // num_worlds):
        yield camera * num_worlds + first_world, count


def world_groups(num_worlds: int, at_once: int) -> Iterator[tuple[int, int]]:
    """First world and number of worlds of each group that is rendered together."""
    for first in range(0, num_worlds, at_once):
        yield first, min(at_once, num_worlds - first)
