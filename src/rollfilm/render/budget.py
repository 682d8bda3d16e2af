"""How much memory a renderer takes, checked before it takes any."""

from collections.abc import Sequence

import warp as wp

from rollfilm.memory import require_memory
from rollfilm.render.batch import CameraMember, picture_bytes
from rollfilm.render.composite import SceneSurfaces, composite_keys
from rollfilm.render.cuda import VISIBILITY_BYTES
from rollfilm.render.deform import deforming_bytes
from rollfilm.render.options import RenderOptions
from rollfilm.render.shadows import map_bytes, map_side
from rollfilm.scene import Scene

__all__ = ["require_room", "world_bytes"]

_KEY_BYTES = 8
#: Of a pixel in the list of those that show meshes, on CUDA.
_LISTED_BYTES = 4
#: Of a geom, camera or light in one world: a position and a rotation, float32.
_PLACE_BYTES = 48


def world_bytes(scene: Scene, num_cameras: int) -> int:
    """Bytes that one world takes beside its pictures: where its bodies, geoms, cameras and lights are, and what deforms."""
    places = _PLACE_BYTES * (len(scene.bodies.names) + len(scene.geoms) + num_cameras + len(scene.lights))
    return places + deforming_bytes(scene)


def require_room(
    scene: Scene,
    num_worlds: int,
    groups: Sequence[Sequence[CameraMember]],
    device: wp.Device,
    num_threads: int,
    options: RenderOptions,
    *,
    given: int = 0,
) -> None:
    """Make sure that pictures, visibility buffers, shadow maps and places fit into the memory of ``device``.

    Args:
        scene: what is filmed.
        num_worlds: B.
        groups: the cameras that are rendered together.
        device: where.
        num_threads: on the CPU.
        options: how pictures are drawn.
        given: bytes of pictures that the caller has arrays for.

    Raises:
        MemoryBudgetError: they do not; the message says how much is needed and how much is free.
    """
    requests = [member.request for group in groups for member in group]
    plans = [member.plan for group in groups for member in group if member.plan is not None]
    surfaces = SceneSurfaces.of(scene)
    plain = [_visibility_pixels(group[0]) for group in groups]
    composite = [0 if group[0].plan else composite_keys(group[0].request, surfaces, options) for group in groups]
    tables = sum(plan.ray.nbytes + plan.pixel.nbytes for plan in plans)
    if device.is_cuda:
        views = [num_worlds * len(group) for group in groups]
        keys = [max(p, k) for p, k in zip(plain, composite, strict=True)]
        chunks = [max(1, min(v, VISIBILITY_BYTES // (_KEY_BYTES * n))) for n, v in zip(keys, views, strict=True)]
        visibility = max(_KEY_BYTES * n * count for n, count in zip(keys, chunks, strict=True))
        visibility += max(_LISTED_BYTES * n * count for n, count in zip(plain, chunks, strict=True))
    else:
        visibility = num_threads * _KEY_BYTES * (sum(plain) + sum(composite))
    needed = picture_bytes(requests, num_worlds) - given + tables + visibility + num_worlds * world_bytes(scene, len(requests))
    sides = [map_side(options, request.height, request.width) for request in requests if "rgb" in request.outputs]
    if options.shadows and sides:
        needed += map_bytes(num_worlds, sum(light.cast_shadow for light in scene.lights), max(sides), is_cuda=device.is_cuda)
    require_memory(needed, f"pictures of {num_worlds} worlds", available=int(device.free_memory) if device.is_cuda else None)


def _visibility_pixels(member: CameraMember) -> int:
    """Pixels that a view is rasterised to: its own, or those of its lens's faces."""
    plan = member.plan
    return member.request.height * member.request.width if plan is None else plan.num_faces * plan.height * plan.width
