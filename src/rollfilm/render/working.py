"""What stages hand on to one another while a frame is made: how much memory it takes, and how it shrinks to what there is."""

from collections.abc import Sequence
from dataclasses import dataclass

import warp as wp

from rollfilm.render import limits
from rollfilm.render.batch import KEY_BYTES, CameraMember, ViewSize
from rollfilm.render.options import RenderOptions
from rollfilm.render.shadows import map_bytes, map_side, worlds_at_once
from rollfilm.scene import Scene

__all__ = ["Maps", "Working", "plan_working"]


@dataclass(frozen=True)
class Maps:
    """The shadow maps of a renderer.

    Attributes:
        num_worlds: B.
        num_lights: how many lights cast shadows.
        side: texels along a side of the largest.
        fewest: worlds that have their maps at once at least.
    """

    num_worlds: int
    num_lights: int
    side: int
    fewest: int = 1

    @classmethod
    def of(cls, scene: Scene, num_worlds: int, groups: Sequence[Sequence[CameraMember]], options: RenderOptions) -> "Maps":
        """Those that pictures look up."""
        requests = [member.request for group in groups for member in group]
        sides = [map_side(options, request.height, request.width) for request in requests if "rgb" in request.outputs]
        casting = sum(light.cast_shadow for light in scene.lights) if options.shadows and sides else 0
        return cls(num_worlds, casting, max(sides, default=0))

    def worlds_at_once(self, left: int | None, *, is_cuda: bool) -> int:
        """How many worlds have their maps at once, if possible in no more memory than what is ``left``."""
        return max(self.fewest, worlds_at_once(self.num_worlds, self.num_lights, self.side, is_cuda=is_cuda, left=left))

    def num_bytes(self, at_once: int) -> int:
        """Bytes of the maps of so many worlds."""
        return map_bytes(at_once, self.num_lights, self.side)


@dataclass(frozen=True)
class Working:
    """What stages hand on to one another while a frame is made.

    Attributes:
        num_bytes: of visibility buffers and, on a GPU, lists.
        views_at_once: for each batch, how many views share a visibility buffer; on the CPU one for each thread.
        visibility_bytes: on a GPU how much the visibility buffer may take; 0 on the CPU.
        maps_at_once: worlds that have shadow maps at once.
        map_bytes: of these maps.
    """

    num_bytes: int
    views_at_once: tuple[int, ...]
    visibility_bytes: int
    maps_at_once: int
    map_bytes: int


def plan_working(
    scene: Scene,
    sizes: Sequence[ViewSize],
    device: wp.Device,
    *,
    num_threads: int,
    maps: Maps,
    worst: int,
    left: int | None,
) -> Working:
    """Visibility buffers, lists and shadow maps, smaller where more than ``left`` bytes would be taken.

    Args:
        scene: what is filmed.
        sizes: of the batches.
        device: where.
        num_threads: on the CPU.
        maps: shadow maps.
        worst: clusters of a view that sees all meshes at their finest levels.
        left: bytes that may be taken, None where nobody knows. It may not suffice.
    """
    if not device.is_cuda:
        keys = num_threads * KEY_BYTES * sum(size.pixels + size.samples for size in sizes)
        at_once = maps.worlds_at_once(None if left is None else left - keys, is_cuda=False)
        return Working(keys, tuple(min(num_threads, size.num_views) for size in sizes), 0, at_once, maps.num_bytes(at_once))
    # to take in the kernels that these are buffers of takes time, which a CPU's first picture need not wait for
    from rollfilm.render.gpu_buffers import plan_buffers

    at_once, visibility = maps.worlds_at_once(left, is_cuda=True), limits.VISIBILITY_BYTES
    while True:
        buffers = plan_buffers(
            sizes,
            num_maps=at_once * maps.num_lights,
            num_geoms=len(scene.geoms),
            num_lights=len(scene.lights),
            worst_clusters=worst,
            num_multiprocessors=device.sm_count,
            visibility_bytes=visibility,
        )
        taken = buffers.num_bytes + maps.num_bytes(at_once)
        split = at_once > maps.fewest, max(buffers.views_at_once) > 1
        if left is None or taken <= left or not any(split):
            return Working(buffers.num_bytes, buffers.views_at_once, visibility, at_once, maps.num_bytes(at_once))
        # the larger of the two gives way
        if split[0] and (not split[1] or maps.num_bytes(at_once) > buffers.num_bytes):
            at_once = max(maps.fewest, at_once * 3 // 4)
        else:
            most = max(KEY_BYTES * size.keys * count for size, count in zip(sizes, buffers.views_at_once, strict=True))
            visibility = min(visibility, most) * 3 // 4
