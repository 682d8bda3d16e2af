"""How much memory a renderer takes: planned, and checked, before it takes any."""

from collections.abc import Sequence
from dataclasses import dataclass

import warp as wp

from rollfilm.errors import MemoryBudgetError
from rollfilm.memory import available_memory_bytes, format_bytes
from rollfilm.render.batch import CameraMember, picture_bytes
from rollfilm.render.composite import SceneSurfaces, composite_keys
from rollfilm.render.deform import deforming_bytes
from rollfilm.render.kernels.batch import CLUSTER, SEGMENTS
from rollfilm.render.kernels.types import CLUSTER_SIZE
from rollfilm.render.limits import MAX_CLUSTERS, MAX_SMALL, MAX_TILES, VISIBILITY_BYTES
from rollfilm.render.options import RenderOptions
from rollfilm.render.shadows import map_bytes, map_side, worlds_at_once
from rollfilm.scene import Scene

__all__ = ["MemoryPlan", "plan_memory", "require_free", "work_list_bytes", "world_bytes"]

_KEY_BYTES = 8
#: Of a pixel in the list of those that show meshes, on CUDA.
_LISTED_BYTES = 4
#: Of a geom, camera or light in one world: a position and a rotation, float32.
_PLACE_BYTES = 48
#: Of a vertex, with normal and texture coordinates, and of a triangle, with its corners once more.
_VERTEX_BYTES, _TRIANGLE_BYTES = 32, 48
#: Of a texel of a texture, with all smaller levels.
_TEXEL_BYTES = 6


@dataclass(frozen=True)
class MemoryPlan:
    """The memory of a renderer, part by part; ``print(renderer.memory_plan)`` shows it as a table.

    Attributes:
        device: where it is.
        num_worlds: B.
        parts: bytes of each part by name, the largest first.
        available: bytes that were free on the device before any were taken, None where nobody knows.
        worlds_at_once: how many worlds have shadow maps at once: a batch whose maps do not fit is rendered in groups of so many. All of
            them where there are no shadows.
        views_at_once: for each group of cameras of one size, on a GPU how many pictures share the visibility buffer at once: a batch of
            more is rendered in chunks of so many. On the CPU one for each thread.
    """

    device: str
    num_worlds: int
    parts: dict[str, int]
    available: int | None
    worlds_at_once: int
    views_at_once: tuple[int, ...]

    @property
    def total_bytes(self) -> int:
        """Of all parts."""
        return sum(self.parts.values())

    def __str__(self) -> str:
        free = "" if self.available is None else f" of {format_bytes(self.available)} free"
        rows = [(name, format_bytes(size)) for name, size in self.parts.items() if size]
        width = max(len(name) for name, _ in rows)
        lines = [f"memory of {self.num_worlds} worlds on {self.device}: {format_bytes(self.total_bytes)}{free}"]
        lines += [f"  {name:<{width}}  {size:>9}" for name, size in rows]
        if self.worlds_at_once < self.num_worlds:
            lines.append(f"  shadow maps of {self.worlds_at_once} worlds at once")
        return "\n".join(lines)


def world_bytes(scene: Scene, num_cameras: int) -> int:
    """Bytes that one world takes beside its pictures: where its bodies, geoms, cameras and lights are, and what deforms."""
    places = _PLACE_BYTES * (len(scene.bodies.names) + len(scene.geoms) + num_cameras + len(scene.lights))
    return places + deforming_bytes(scene)


def scene_bytes(scene: Scene) -> int:
    """About how many bytes the meshes and textures take that all worlds share."""
    levels = [level for mesh in scene.meshes for level in mesh.levels]
    meshes = sum(_VERTEX_BYTES * len(level.vertices) + _TRIANGLE_BYTES * len(level.triangles) for level in levels)
    return meshes + sum(_TEXEL_BYTES * texture.pixels.size // 3 for texture in scene.textures)


def work_list_bytes(most_views: int, most_pixels: int, num_geoms: int, worst_clusters: int) -> int:
    """Bytes of a GPU's lists of work but that of pixels (``_work_lists`` of the CUDA pipeline)."""
    worst = max(1, most_views * worst_clusters)
    cluster = min(worst * (CLUSTER_SIZE // CLUSTER), MAX_CLUSTERS // SEGMENTS)
    small = min(worst * CLUSTER_SIZE, MAX_SMALL // SEGMENTS)
    tile = min(most_pixels // 16 + 4096, MAX_TILES) // SEGMENTS
    entries = 16 * cluster + 12 * small + 12 * max(1, small // 4) + 16 * tile
    return most_views * (64 * num_geoms + 20) + SEGMENTS * entries + 4 * 5 * SEGMENTS * 32


def plan_memory(
    scene: Scene,
    num_worlds: int,
    groups: Sequence[Sequence[CameraMember]],
    device: wp.Device,
    num_threads: int,
    options: RenderOptions,
    *,
    given: int = 0,
) -> MemoryPlan:
    """What pictures, visibility buffers, shadow maps and places take, and how a batch is split to fit into the memory of ``device``.

    Args:
        scene: what is filmed.
        num_worlds: B.
        groups: the cameras that are rendered together.
        device: where.
        num_threads: on the CPU.
        options: how pictures are drawn.
        given: bytes of pictures that the caller has arrays for.

    Raises:
        MemoryBudgetError: it does not fit; the message says how much is needed, how much is free, and how many worlds would fit.
    """
    requests = [member.request for group in groups for member in group]
    plans = [member.plan for group in groups for member in group if member.plan is not None]
    each_world = num_worlds * world_bytes(scene, len(requests))
    visibility, views_at_once = _visibility(scene, num_worlds, groups, device, num_threads, options)
    parts = {
        "pictures": picture_bytes(requests, num_worlds) - given,
        "visibility": visibility,
        "poses and what deforms": each_world,
        "meshes and textures": scene_bytes(scene),
        "rays of lenses": sum(plan.ray.nbytes + plan.pixel.nbytes for plan in plans),
    }
    available = int(device.free_memory) if device.is_cuda else available_memory_bytes()
    at_once = num_worlds
    sides = [map_side(options, request.height, request.width) for request in requests if "rgb" in request.outputs]
    casting = sum(light.cast_shadow for light in scene.lights) if options.shadows and sides else 0
    if casting:
        left = None if available is None else available - sum(parts.values())
        at_once = worlds_at_once(num_worlds, casting, max(sides), is_cuda=device.is_cuda, left=left)
        parts["shadow maps"] = map_bytes(at_once, casting, max(sides))
    ordered = dict(sorted(parts.items(), key=lambda part: -part[1]))
    plan = MemoryPlan(str(device), num_worlds, ordered, available, at_once, views_at_once)
    _require_fit(plan, (parts["pictures"] + each_world) / num_worlds)
    return plan


def require_free(num_bytes: int, what: str, device: wp.Device) -> None:
    """Make sure that ``num_bytes`` more fit into the memory of ``device``.

    Raises:
        MemoryBudgetError: they do not.
    """
    available = int(device.free_memory) if device.is_cuda else available_memory_bytes()
    if available is not None and num_bytes > available:
        raise MemoryBudgetError(
            f"{what}: {format_bytes(num_bytes)} of memory are needed and {format_bytes(available)} are available; take fewer worlds"
        )


def _visibility(
    scene: Scene, num_worlds: int, groups: Sequence[Sequence[CameraMember]], device: wp.Device, num_threads: int, options: RenderOptions
) -> tuple[int, tuple[int, ...]]:
    """Bytes of the visibility buffers, with a GPU's lists, and how many views share them at once."""
    surfaces = SceneSurfaces.of(scene)
    plain = [_visibility_pixels(group[0]) for group in groups]
    composite = [0 if group[0].plan else composite_keys(group[0].request, surfaces, options) for group in groups]
    views = [num_worlds * len(group) for group in groups]
    if not device.is_cuda:
        return num_threads * _KEY_BYTES * (sum(plain) + sum(composite)), tuple(min(num_threads, count) for count in views)
    keys = [max(p, k) for p, k in zip(plain, composite, strict=True)]
    chunks = [max(1, min(v, VISIBILITY_BYTES // (_KEY_BYTES * n))) for n, v in zip(keys, views, strict=True)]
    most_pixels = max(n * count for n, count in zip(keys, chunks, strict=True))
    listed = max(_LISTED_BYTES * n * count for n, count in zip(plain, chunks, strict=True))
    worst = sum(-(-len(scene.meshes[geom.mesh].levels[0].triangles) // CLUSTER_SIZE) for geom in scene.geoms if geom.mesh >= 0)
    lists = work_list_bytes(max(chunks), most_pixels, len(scene.geoms), worst)
    return _KEY_BYTES * most_pixels + listed + lists, tuple(chunks)


def _require_fit(plan: MemoryPlan, bytes_a_world: float) -> None:
    if plan.available is None or plan.total_bytes <= plan.available:
        return
    shared = plan.total_bytes - plan.num_worlds * bytes_a_world
    fit = int(max(0, plan.available - shared) // bytes_a_world)
    parts = ", ".join(f"{name} {format_bytes(size)}" for name, size in list(plan.parts.items())[:3])
    raise MemoryBudgetError(
        f"pictures of {plan.num_worlds} worlds: {format_bytes(plan.total_bytes)} of memory are needed and "
        f"{format_bytes(plan.available)} are available; take fewer worlds or smaller images ({parts}; "
        + (f"about {fit} worlds fit)" if fit else "not even one world fits)")
    )


def _visibility_pixels(member: CameraMember) -> int:
    """Pixels that a view is rasterised to: its own, or those of its lens's faces."""
    plan = member.plan
    return member.request.height * member.request.width if plan is None else plan.num_faces * plan.height * plan.width
