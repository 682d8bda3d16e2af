"""The shadow maps of a renderer: how many there are at once, and where."""

from collections.abc import Iterator

import warp as wp

from rollfilm.render.kernels.types import LightView, WorldData
from rollfilm.render.options import RenderOptions

__all__ = ["allocate_maps", "map_bytes", "view_runs", "world_groups", "worlds_at_once"]

#: Bytes of shadow maps above which the worlds of a batch are rendered one group after the other. A CPU goes on with what is in its caches.
CPU_BYTES = 1 << 27
CUDA_BYTES = 1 << 32


def _pitch(options: RenderOptions) -> int:
    """Texels from one line of a map to the next: whole runs of 16, and one more, as lines a power of two apart would share cache lines."""
    return 16 * (-(-options.shadow_map_size // 16) + 1)


def _one_map_bytes(options: RenderOptions) -> int:
    return 4 * options.shadow_map_size * _pitch(options)


def worlds_at_once(num_worlds: int, num_lights: int, options: RenderOptions, *, is_cuda: bool) -> int:
    """How many worlds have their maps at once; all of them where nothing casts shadows."""
    if not num_lights or not options.shadows:
        return num_worlds
    one = _one_map_bytes(options) * num_lights
    return max(1, min(num_worlds, (CUDA_BYTES if is_cuda else CPU_BYTES) // one))


def map_bytes(num_worlds: int, num_lights: int, options: RenderOptions, *, is_cuda: bool) -> int:
    """Bytes of all maps that are there at once."""
    if not options.shadows:
        return 0
    at_once = worlds_at_once(num_worlds, num_lights, options, is_cuda=is_cuda)
    return _one_map_bytes(options) * num_lights * at_once


def allocate_maps(
    world: WorldData,  # pyright: ignore[reportInvalidTypeForm]
    num_worlds: int,
    num_lights: int,
    options: RenderOptions,
    device: wp.Device,
) -> None:
    """Give ``world`` its maps, of lights that cast shadows; none where shadows are off."""
    lights = num_lights if options.shadows else 0
    world.maps_at_once = worlds_at_once(num_worlds, lights, options, is_cuda=device.is_cuda)
    world.map_pitch = _pitch(options)
    world.light_view = wp.zeros((num_worlds, lights), dtype=LightView, device=device)
    maps = world.maps_at_once * lights
    world.shadow_map = wp.zeros((maps, options.shadow_map_size * world.map_pitch if maps else 0), dtype=wp.uint32, device=device)


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
