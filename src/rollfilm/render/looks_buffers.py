"""Looks on a device: arrays (B, n) in the place of those that all worlds share."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import warp as wp
from numpy.typing import NDArray

from rollfilm.geometry import look_at_quat_wxyz, matrix_from_quat
from rollfilm.render.batch import CameraBatch
from rollfilm.render.budget import require_free
from rollfilm.render.composite import opacities
from rollfilm.render.kernels.place import OWN_POSITION, OWN_ROTATION, SHIFTED, TURNED
from rollfilm.render.kernels.types import CLUSTER_SIZE
from rollfilm.render.looks import WorldLooks
from rollfilm.render.looks_lenses import LENS_BYTES, LensBuffers
from rollfilm.render.looks_scene import Columns, LooksResolver
from rollfilm.scene import Camera, Headlight, Scene

__all__ = ["LookBuffers"]

#: What MuJoCo's renderer adds to everything where no light at all is on.
_AMBIENT_WITHOUT_LIGHTS = 0.3

#: Which arrays hold what a field says. Arrays of a group are allocated together, when a field of it is first used.
_GROUPS: dict[str, tuple[str, ...]] = {
    "color": ("geom_rgba", "material_rgba"),
    "alpha": ("geom_rgba", "material_rgba"),
    "mesh": ("geom_mesh", "geom_visible", "geom_rgba", "material_rgba"),
    "texture": ("geom_texture",),
    "size": ("geom_scale",),
    "light": ("light_on", "light_ambient", "light_diffuse", "light_specular"),
    "head": ("light_on", "headlight_on", "headlight_ambient", "headlight_diffuse", "headlight_specular"),
    "place": (
        "light_position",
        "light_direction",
        "light_offset",
        "camera_position",
        "camera_quat_wxyz",
        "camera_offset",
        "camera_turn_wxyz",
    ),
}

_DTYPES: dict[tuple[int, ...], Any] = {(): float, (3,): wp.vec3, (3, 3): wp.mat33}


@dataclass(eq=False)
class _Mirror:
    """An array on a device and the same on the host, (B, n, ...)."""

    host: NDArray
    array: wp.array

    @classmethod
    def make(cls, values: NDArray, device: wp.Device, tail: int) -> "_Mirror":
        dtype = int if values.dtype == np.int32 else _DTYPES[values.shape[values.ndim - tail :]]
        # on the CPU both are one memory: kernels read what is written here
        near = wp.array(values, dtype=dtype, device="cpu", copy=False)
        near._keep_alive = values
        return cls(values, near.to(device) if device.is_cuda else near)

    def write(self, rows: NDArray[np.int64], values: NDArray) -> None:
        self.host[rows] = values
        if self.array.device.is_cuda:
            first, last = int(rows.min()), int(rows.max()) + 1
            part = np.ascontiguousarray(self.host[first:last])
            near = wp.array(part, dtype=self.array.dtype, device="cpu", copy=False)
            count = self.array.size // self.array.shape[0]
            wp.copy(self.array, near, dest_offset=first * count, count=(last - first) * count)


class LookBuffers:
    """What worlds have of their own, on the device.

    Args:
        scene: what is filmed.
        cameras: those that are filmed, in their order.
        batches: their views, which get lenses of their own when a lens is first set.
        num_worlds: B.
        targets: the structures SceneData, WorldData and Placements, which get arrays of their own when a field is first used.
        device: where they are.
    """

    def __init__(
        self,
        scene: Scene,
        cameras: Sequence[Camera],
        batches: Sequence[CameraBatch],
        num_worlds: int,
        targets: Sequence[Any],
        device: wp.Device,
    ) -> None:
        self._scene, self._num_worlds, self._device = scene, num_worlds, device
        self._data, self._world, self._placements = targets
        self._cameras, self._batches = cameras, batches
        self._lenses: LensBuffers | None = None
        self._resolver = LooksResolver(scene, cameras)
        self._mirrors: dict[str, dict[str, _Mirror]] = {}
        #: Indices (B, G) of meshes that geoms have in their worlds, -1 for those that have the scene's.
        self.own_meshes: NDArray[np.int32] | None = None

    @property
    def groups(self) -> frozenset[str]:
        """Of what worlds have their own."""
        return frozenset(self._mirrors)

    @property
    def worst_clusters(self) -> int:
        """Clusters that one view draws at most if geoms may have any mesh of the scene."""
        clusters = [-(-len(mesh.levels[0].triangles) // CLUSTER_SIZE) for mesh in self._scene.meshes]
        return max(clusters, default=0) * sum(geom.mesh >= 0 for geom in self._scene.geoms)

    def apply(self, looks: WorldLooks, rows: NDArray[np.int64], growth: Callable[[frozenset[str], int], int]) -> bool:
        """Give the worlds ``rows`` (k,) these looks, and what they do not name the scene's.

        Args:
            looks: of all worlds.
            rows: which get them.
            growth: bytes that pipelines take more where worlds have these groups of their own, which take so many bytes themselves.

        Returns:
            Whether arrays were allocated, so that whoever holds the structures must take them anew.

        Raises:
            NotFoundError, InvalidArgumentError: see :meth:`LooksResolver.resolve`; nothing has changed then.
            MemoryBudgetError: what is allocated does not fit; nothing has changed then, either.
        """
        found = self._resolver.resolve(looks, rows)
        fresh = {group for group in self._used(looks, found) if group not in self._mirrors}
        own_lenses = bool({"camera_fov_y_rad", "camera_intrinsics"} & set(found))
        needed = sum(self._world_bytes(group) for group in fresh) + (own_lenses and self._lenses is None) * LENS_BYTES * len(self._cameras)
        taken = self._num_worlds * needed
        if fresh:
            taken += max(0, growth(self.groups | fresh, taken))
        require_free(taken, f"looks of {self._num_worlds} worlds", self._device)
        for group in fresh:
            everyone = self._values(group, WorldLooks(), {}, np.arange(self._num_worlds))
            self._mirrors[group] = {name: _Mirror.make(values, self._device, tail) for name, (values, tail) in everyone.items()}
            self._attach(group)
        for group, mirrors in self._mirrors.items():
            for name, (values, _) in self._values(group, looks, found, rows).items():
                mirrors[name].write(rows, values)
        if own_lenses and self._lenses is None:
            self._lenses = LensBuffers(self._cameras, self._batches, self._num_worlds, self._device)
            fresh.add("lens")
        if self._lenses is not None:
            self._lenses.write(found, rows)
        return bool(fresh)

    def _world_bytes(self, group: str) -> int:
        """Bytes that a group takes in each world."""
        one = self._values(group, WorldLooks(), {}, np.arange(1))
        normals = 36 * len(self._scene.geoms) if group == "size" else 0
        return normals + sum(values.nbytes for values, _ in one.values())

    def _used(self, looks: WorldLooks, found: dict[str, Columns]) -> set[str]:
        fields = {*looks.used, *found}
        groups = {group for group, of_group in _GROUPS.items() if fields & set(of_group)}
        # a light that goes off matters to the headlight only where nothing else shines
        if self._scene.headlight is not None and not any(field.startswith("headlight") for field in fields):
            groups -= {"head"}
        if "geom_rgba" in found:
            colors = found["geom_rgba"]
            alphas = colors.values[..., 3]
            # colours hide geoms only where some are clear
            if not fields & {"geom_mesh", "geom_visible"} and (alphas > 0).all():
                groups -= {"mesh"}
            scene_alphas = opacities([self._scene.geoms[i].material.rgba[3] for i in colors.index])
            if ((alphas <= 0) | (opacities(alphas) == scene_alphas)).all():
                groups -= {"alpha"}
        return groups

    def _values(self, group: str, looks: WorldLooks, found: dict[str, Columns], rows: NDArray[np.int64]) -> dict[str, tuple[NDArray, int]]:
        """The arrays of a group for some worlds, (k, n, ...), each with the number of axes of one value."""
        geoms = self._scene.geoms

        def over(field: str, row: Any, dtype: Any = np.float32) -> NDArray:
            base = np.asarray(row, dtype)
            return found[field].over(base) if field in found else np.repeat(base[None], len(rows), axis=0)

        match group:
            case "color":
                rgba = over("geom_rgba", _table([geom.material.rgba for geom in geoms], 4))
                return {"geom_color": (np.ascontiguousarray(rgba[..., :3]), 1)}
            case "alpha":
                rgba = over("geom_rgba", _table([geom.material.rgba for geom in geoms], 4))
                return {"geom_alpha": (np.ascontiguousarray(opacities(rgba[..., 3])), 0)}
            case "mesh":
                mesh = over("geom_mesh", [geom.mesh for geom in geoms], np.int32)
                if self.own_meshes is not None:
                    mesh = np.where(self.own_meshes[rows] >= 0, self.own_meshes[rows], mesh)
                shown = over("geom_visible", np.ones(len(geoms)), bool)
                alpha = over("geom_rgba", _table([geom.material.rgba for geom in geoms], 4))[..., 3]
                return {"geom_mesh": (np.where(shown & (alpha > 0), mesh, -2).astype(np.int32), 0)}
            case "texture":
                return {"geom_texture": (over("geom_texture", [geom.material.texture for geom in geoms], np.int32), 0)}
            case "size":
                scale = over("geom_scale", np.ones((len(geoms), 3)))
                return {"geom_scale": (scale, 1), "geom_stretch": (np.ascontiguousarray(scale.max(axis=-1)), 0)}
            case "light":
                on = over("light_on", np.ones(len(self._scene.lights)), bool)[..., None]
                colors = {}
                for part in ("ambient", "diffuse", "specular"):
                    own = _table([getattr(light, part) for light in self._scene.lights], 3)
                    colors[f"light_{part}"] = (np.where(on, over(f"light_{part}", own), np.float32(0)), 1)
                return colors
            case "head":
                return self._head_values(looks, over("light_on", np.ones(len(self._scene.lights)), bool), rows)
        return self._place_values(found, len(rows))

    def _head_values(self, looks: WorldLooks, lights_on: NDArray, rows: NDArray[np.int64]) -> dict[str, tuple[NDArray, int]]:
        base = self._scene.headlight
        on = np.full(len(rows), base is not None) if looks.headlight_on is None else np.asarray(looks.headlight_on)[rows]
        dark = ~on & ~lights_on.any(axis=1)
        colors = {}
        for part in ("ambient", "diffuse", "specular"):
            given = getattr(looks, f"headlight_{part}")
            color = np.asarray(getattr(base or Headlight(), part) if given is None else np.asarray(given)[rows], np.float32)
            lit = np.where(on[:, None], color, np.float32(0))
            colors[f"own_head_{part}"] = (np.where(dark[:, None], np.float32(_AMBIENT_WITHOUT_LIGHTS * (part == "ambient")), lit), 1)
        return colors

    def _place_values(self, found: dict[str, Columns], count: int) -> dict[str, tuple[NDArray, int]]:
        things = len(self._cameras) + len(self._scene.lights)
        moved = np.zeros((count, things), np.int32)
        vectors = {name: np.zeros((count, things, 3), np.float32) for name in ("own_position", "offset")}
        matrices = {name: np.tile(np.eye(3, dtype=np.float32), (count, things, 1, 1)) for name in ("own_rotation", "turn")}
        for kind, first in (("camera", 0), ("light", len(self._cameras))):
            for field, name, bit in (
                ("position", "own_position", OWN_POSITION),
                ("offset", "offset", TURNED if kind == "camera" else SHIFTED),
                ("quat_wxyz", "own_rotation", OWN_ROTATION),
                ("direction", "own_rotation", OWN_ROTATION),
                ("turn_wxyz", "turn", TURNED),
            ):
                columns = found.get(f"{kind}_{field}")
                if columns is None:
                    continue
                index = columns.index + first
                moved[:, index] |= int(bit)
                if name in vectors:
                    vectors[name][:, index] = columns.values
                else:
                    given = columns.values.astype(np.float64)
                    unit = given / np.linalg.norm(given, axis=-1, keepdims=True)
                    matrices[name][:, index] = matrix_from_quat(look_at_quat_wxyz(np.zeros(3), unit) if field == "direction" else unit)
        return {"moved": (moved, 0), **{n: (v, 1) for n, v in vectors.items()}, **{n: (m, 2) for n, m in matrices.items()}}

    def _attach(self, group: str) -> None:
        target = self._placements if group == "place" else self._data
        for name, mirror in self._mirrors[group].items():
            setattr(target, name, mirror.array)
        if group == "size":
            self._world.geom_normal = wp.zeros(self._world.geom_rotation.shape, dtype=wp.mat33, device=self._device)


def _table(rows: Sequence[Sequence[float]], width: int) -> NDArray[np.float32]:
    """Rows (n, width), also where n is 0."""
    return np.array(rows, np.float32).reshape(-1, width)
