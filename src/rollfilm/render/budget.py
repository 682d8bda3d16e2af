"""How much memory a renderer takes: planned, and checked, before it takes any."""

from collections.abc import Sequence
from dataclasses import dataclass

import warp as wp

from rollfilm.errors import MemoryBudgetError
from rollfilm.memory import available_memory_bytes, format_bytes
from rollfilm.render.batch import CameraMember, ViewSize, picture_bytes
from rollfilm.render.composite import SceneSurfaces
from rollfilm.render.deform import deforming_bytes
from rollfilm.render.options import RenderOptions
from rollfilm.render.scene_data import worst_clusters
from rollfilm.render.working import Maps, Working, plan_working
from rollfilm.scene import Scene

__all__ = ["MemoryPlan", "free_bytes", "plan_memory", "require_free", "world_bytes"]

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
        working: of it, what stages hand on to one another.
    """

    device: str
    num_worlds: int
    parts: dict[str, int]
    available: int | None
    working: Working

    @property
    def worlds_at_once(self) -> int:
        """How many worlds have shadow maps at once: a batch whose maps do not fit is rendered in groups of so many. All of them where
        there are no shadows."""
        return self.working.maps_at_once

    @property
    def views_at_once(self) -> tuple[int, ...]:
        """For each group of cameras of one size, on a GPU how many pictures share the visibility buffer at once: a batch of more is
        rendered in chunks of so many. On the CPU one for each thread."""
        return self.working.views_at_once

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
    parts = {
        "pictures": picture_bytes(requests, num_worlds) - given,
        "poses and what deforms": each_world,
        "meshes and textures": scene_bytes(scene),
        "rays of lenses": sum(plan.ray.nbytes + plan.pixel.nbytes for plan in plans),
    }
    available = free_bytes(device)
    surfaces = SceneSurfaces.of(scene)
    working = plan_working(
        scene,
        [ViewSize.of(group, num_worlds, surfaces, options) for group in groups],
        device,
        num_threads=num_threads,
        maps=Maps.of(scene, num_worlds, groups, options),
        worst=worst_clusters(scene),
        left=None if available is None else available - sum(parts.values()),
    )
    parts |= {"visibility": working.num_bytes, "shadow maps": working.map_bytes}
    ordered = dict(sorted(parts.items(), key=lambda part: -part[1]))
    plan = MemoryPlan(str(device), num_worlds, ordered, available, working)
    _require_fit(plan, (parts["pictures"] + each_world) / num_worlds)
    return plan


def free_bytes(device: wp.Device) -> int | None:
    """Bytes that are free on ``device``, None where nobody knows."""
    return int(device.free_memory) if device.is_cuda else available_memory_bytes()


def require_free(num_bytes: int, what: str, device: wp.Device) -> None:
    """Make sure that ``num_bytes`` more fit into the memory of ``device``.

    Raises:
        MemoryBudgetError: they do not.
    """
    available = free_bytes(device)
    if available is not None and num_bytes > available:
        raise MemoryBudgetError(
            f"{what}: {format_bytes(num_bytes)} of memory are needed and {format_bytes(available)} are available; take fewer worlds"
        )


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
