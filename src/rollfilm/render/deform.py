"""Meshes that deform, on a device: for every world a mesh of its own, behind those that all worlds share."""

import warnings
from typing import Any

import numpy as np
import warp as wp
from numpy.typing import NDArray

from rollfilm.errors import InvalidArgumentError
from rollfilm.render.kernels.deform import (
    LANES,
    Deforming,
    bound,
    box_parts,
    copy_topology,
    hang_points,
    place_corners,
    place_points,
    place_vertices,
    turn_points,
)
from rollfilm.render.kernels.place import Poses
from rollfilm.render.kernels.types import SceneData
from rollfilm.scene import BodyPoses, Scene

__all__ = ["Deformation", "deforming_bytes"]


def deforming_bytes(scene: Scene) -> int:
    """Bytes that the deforming meshes of one world take."""
    total = 0
    for deforming in scene.deforming:
        level = scene.meshes[deforming.mesh].levels[0]
        total += 32 * len(level.vertices) + 48 * len(level.triangles) + 28 * (len(deforming.bone_first) - 1) + 24 * LANES
    return total


class Deformation:
    """The deforming meshes of all worlds. :meth:`launch` puts them where the bodies are.

    Attributes:
        geom_mesh: int32 (B, G), the mesh of each world's own for the geoms that deform, -1 for others.
    """

    def __init__(self, data: SceneData, scene: Scene, num_worlds: int, device: wp.Device) -> None:  # pyright: ignore[reportInvalidTypeForm]
        """Make room in ``data`` for the meshes of ``num_worlds`` worlds, and let the geoms of each have its own."""
        self._scene, self._num_worlds, self._device = scene, num_worlds, device
        self._data = data
        self._deforming = Deforming()
        # where path points are that nobody knows: without width, so that nothing is drawn there
        self._nowhere = wp.vec4(*scene.center, 0.0)
        self._num_points = sum(len(d.bone_first) - 1 for d in scene.deforming)
        self._hangs = any(mesh.hangs is not None for mesh in scene.deforming)
        self._pack()
        self._make_room()
        self._give_meshes()
        self._without_path = False

    def load_path(self, poses: BodyPoses) -> None:
        """Take over the path points of a frame, where the scene needs some; without them tendons around geoms are not drawn.

        Raises:
            InvalidArgumentError: the points have a wrong shape or dtype, or on the host are not finite.
        """
        shape = (self._num_worlds, self._scene.num_path_points, 4)
        if shape[1] == 0:
            return
        if poses.path is None:
            if not self._without_path:
                warnings.warn("tendons around geoms are not drawn: the poses came without their paths", RuntimeWarning, stacklevel=3)
                self._deforming.path.fill_(self._nowhere)
            self._without_path = True
            return
        self._without_path = False
        path = poses.path
        if isinstance(path, np.ndarray):
            if path.shape != shape or path.dtype != np.float32 or not np.isfinite(path).all():
                raise InvalidArgumentError(f"the path of body poses came as {path.dtype} {path.shape}; it must be finite float32 {shape}")
            path = wp.array(np.ascontiguousarray(path), dtype=wp.vec4, device="cpu", copy=False)
        elif not isinstance(path, wp.array):
            path = wp.from_dlpack(path, dtype=wp.vec4)
        if path.shape != shape[:2] or path.dtype is not wp.vec4:
            raise InvalidArgumentError(f"the path of body poses came as {path.dtype.__name__} {path.shape}; it must be float32 {shape}")
        wp.copy(self._deforming.path, path)

    def launch(self, poses: Poses) -> None:  # pyright: ignore[reportInvalidTypeForm]
        """Deform the meshes of all worlds; on a GPU in the order of the device's current stream."""
        deforming, data, worlds = self._deforming, self._data, self._num_worlds
        meshes = (worlds, deforming.num_meshes)
        for kernel, dim, inputs in (
            (place_points, (worlds, self._num_points), [poses, deforming]),
            *([(hang_points, (worlds, self._num_points), [deforming])] if self._hangs else []),
            (turn_points, (worlds, self._num_points), [deforming]),
            (place_vertices, (worlds, deforming.num_vertices), [deforming, data]),
            (place_corners, (worlds, deforming.num_triangles), [deforming, data]),
            (box_parts, (*meshes, LANES), [LANES, deforming, data]),
            (bound, meshes, [LANES, deforming, data]),
        ):
            wp.launch(kernel, dim=dim, inputs=inputs, device=self._device)

    def _pack(self) -> None:
        """Join the meshes of a scene."""
        scene, deforming, device = self._scene, self._deforming, self._device
        points = faces = vertices = 0
        names = ("bone_body", "bone", "face", "by_area", "anchor", "shape", "triangle", "flat", "hangs", "hang_ends")
        parts: dict[str, list[NDArray]] = {name: [] for name in names}
        counts, mesh_vertex = [], [0]
        for mesh in scene.deforming:
            level = scene.meshes[mesh.mesh].levels[0]
            counts.append(np.diff(mesh.bone_first))
            parts["bone_body"].append(mesh.bone_body)
            parts["bone"].append(mesh.bone)
            parts["face"].append(mesh.faces + points)
            parts["by_area"].append(np.full(len(counts[-1]), mesh.by_area))
            parts["anchor"].append(np.where(mesh.anchor < 0, -1, mesh.anchor + points))
            parts["shape"].append(mesh.shape)
            parts["triangle"].append(level.triangles + vertices)
            parts["flat"].append(mesh.flat)
            parts["hangs"].append(np.tile(mesh.hangs or (0.0, 0.0, 0.0, 0.0), (len(counts[-1]), 1)))
            parts["hang_ends"].append(np.tile([points, points + len(counts[-1]) - 1], (len(counts[-1]), 1)))
            points += len(counts[-1])
            faces += len(mesh.faces)
            vertices += len(level.vertices)
            mesh_vertex.append(vertices)
        kinds = {
            "bone": wp.vec4,
            "face": wp.vec3i,
            "anchor": wp.vec3i,
            "shape": wp.vec4,
            "triangle": wp.vec3i,
            "hangs": wp.vec4,
            "hang_ends": wp.vec2i,
        }
        for name, arrays in parts.items():
            setattr(deforming, name, _array(np.concatenate(arrays), kinds.get(name, int), device))
        deforming.bone_first = _array(np.concatenate([[0], np.cumsum(np.concatenate(counts))]), int, device)
        corner = np.concatenate(parts["face"]).reshape(-1)
        order = np.argsort(corner, kind="stable")
        deforming.ring = _array(order // 3, int, device)
        deforming.ring_first = _array(np.searchsorted(corner[order], np.arange(points + 1)), int, device)
        deforming.mesh_vertex = _array(np.array(mesh_vertex), int, device)
        deforming.num_bodies = len(scene.bodies.names)
        deforming.num_vertices, deforming.num_meshes = vertices, len(scene.deforming)
        deforming.num_triangles = sum(len(part) for part in parts["triangle"])
        worlds = self._num_worlds
        deforming.path = wp.full((worlds, scene.num_path_points), self._nowhere, dtype=wp.vec4, device=device)
        deforming.point = wp.zeros((worlds, points), dtype=wp.vec4, device=device)
        deforming.point_normal = wp.zeros((worlds, points), dtype=wp.vec3, device=device)
        deforming.low = wp.zeros((worlds, deforming.num_meshes, LANES), dtype=wp.vec3, device=device)
        deforming.high = wp.zeros((worlds, deforming.num_meshes, LANES), dtype=wp.vec3, device=device)

    def _make_room(self) -> None:
        """Longer arrays of vertices and triangles, with what does not change in them."""
        data, deforming, worlds = self._data, self._deforming, self._num_worlds
        deforming.first_vertex, deforming.first_triangle = data.vertex.shape[0], data.triangle.shape[0]
        for name in ("vertex", "normal", "uv"):
            setattr(data, name, _longer(getattr(data, name), worlds * deforming.num_vertices))
        data.triangle = _longer(data.triangle, worlds * deforming.num_triangles)
        corner = wp.zeros((9, deforming.first_triangle + worlds * deforming.num_triangles), dtype=float, device=self._device)
        wp.copy(corner[:, : deforming.first_triangle], data.corner)
        data.corner = corner
        levels = [self._scene.meshes[mesh.mesh].levels[0] for mesh in self._scene.deforming]
        uvs = np.concatenate([np.zeros((len(level.vertices), 2)) if level.uvs is None else level.uvs for level in levels])
        uv = _array(uvs, wp.vec2, self._device)
        wp.launch(copy_topology, dim=(worlds, deforming.num_triangles), inputs=[deforming, uv, data], device=self._device)

    def _give_meshes(self) -> None:
        """A mesh for every world and deforming mesh, and the geoms that have it."""
        data, deforming, worlds = self._data, self._deforming, self._num_worlds
        deforming.first_mesh = first = data.mesh_triangle.shape[0]
        own = np.array([mesh.mesh for mesh in self._scene.deforming])
        sizes = [len(self._scene.meshes[mesh].levels[0].triangles) for mesh in own]
        starts = np.cumsum([0, *sizes])[:-1]
        triangle = deforming.first_triangle + np.arange(worlds)[:, None] * deforming.num_triangles + starts
        level = np.tile(data.mesh_level.numpy()[own], (worlds, 1))
        for name, more in (("mesh_triangle", triangle), ("mesh_level", level), ("mesh_levels", np.ones_like(level))):
            setattr(data, name, _array(np.concatenate([getattr(data, name).numpy(), more.reshape(-1)]), int, self._device))
        for name in ("mesh_center", "mesh_radius"):
            setattr(data, name, _longer(getattr(data, name), worlds * deforming.num_meshes))
        number = {int(mesh): d for d, mesh in enumerate(own)}
        meshes = np.tile([geom.mesh for geom in self._scene.geoms], (worlds, 1))
        for g, geom in enumerate(self._scene.geoms):
            if geom.mesh in number:
                meshes[:, g] = first + np.arange(worlds) * deforming.num_meshes + number[geom.mesh]
        self.geom_mesh = np.where(np.isin([geom.mesh for geom in self._scene.geoms], own), meshes, -1).astype(np.int32)
        data.geom_mesh = wp.array(meshes.astype(np.int32), dtype=int, device=self._device)


def _array(values: NDArray, dtype: Any, device: wp.Device) -> wp.array:
    kind = np.int32 if dtype in (int, wp.vec2i, wp.vec3i) else np.float32
    return wp.array(np.ascontiguousarray(values, dtype=kind), dtype=dtype, device=device)


def _longer(array: wp.array, more: int) -> wp.array:
    """The array with room for ``more`` entries behind its own."""
    longer = wp.zeros(array.shape[0] + more, dtype=array.dtype, device=array.device)
    if array.shape[0]:
        wp.copy(longer, array, count=array.shape[0])
    return longer
