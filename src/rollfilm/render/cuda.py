"""Rendering on a GPU: the stages over chunks of views, recorded once as a CUDA graph and replayed."""

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext

import warp as wp

from rollfilm.render import limits
from rollfilm.render.batch import CameraBatch
from rollfilm.render.composite import Composite
from rollfilm.render.deform import Deformation
from rollfilm.render.gpu_buffers import plan_buffers
from rollfilm.render.kernels.batch import MEDIUM, SEGMENTS, SMALL, WorkLists, cull, raster_small, raster_tiles, select_triangles
from rollfilm.render.kernels.composite_column import composite_kernel
from rollfilm.render.kernels.kept_batch import KeptStages, kept_sections
from rollfilm.render.kernels.lens import lens_kernel
from rollfilm.render.kernels.outlook import outlook_kernel
from rollfilm.render.kernels.place import Placements, Poses, place
from rollfilm.render.kernels.shade_ground import ground_kernel
from rollfilm.render.kernels.shade_meshes import mesh_kernel
from rollfilm.render.kernels.shade_pixel import BLOCK
from rollfilm.render.kernels.shadow_batch import (
    LINES,
    clear_maps,
    cull_casters,
    fit_lights,
    raster_caster_tiles,
    raster_small_casters,
    select_casters,
)
from rollfilm.render.kernels.types import EMPTY_KEY, SceneData, ViewBatch, WorldData
from rollfilm.render.options import RenderOptions
from rollfilm.render.shadows import view_runs, world_groups

__all__ = ["CudaPipeline"]

#: Groups of threads for each multiprocessor: more than can run at once, so that the next takes over where one had little to do.
GROUPS = 64
SHADE_GROUPS = 64


def _groups(for_each: int, device: wp.Device) -> int:
    """Groups of threads, as many for each segment of a list."""
    return -(-for_each * device.sm_count // SEGMENTS) * SEGMENTS


class CudaPipeline:
    """Renders camera batches on one GPU. After the first frame nothing is allocated and the host waits for nothing."""

    def __init__(
        self,
        scene: SceneData,  # pyright: ignore[reportInvalidTypeForm]
        world: WorldData,  # pyright: ignore[reportInvalidTypeForm]
        batches: Sequence[CameraBatch],
        worst_clusters: int,
        device: wp.Device,
        options: RenderOptions,
        deformation: Deformation | None = None,
        *,
        visibility_bytes: int | None = None,
    ) -> None:
        self._scene, self._world, self._batches, self._device, self._options = scene, world, batches, device, options
        self._deformation = deformation
        buffers = plan_buffers(
            [batch.size for batch in batches],
            num_maps=world.shadow_map.shape[0],
            num_geoms=world.geom_position.shape[1],
            num_lights=scene.light_spot.shape[0],
            worst_clusters=worst_clusters,
            num_multiprocessors=device.sm_count,
            visibility_bytes=limits.VISIBILITY_BYTES if visibility_bytes is None else visibility_bytes,
        )
        self._chunks, self._columns = buffers.views_at_once, buffers.columns
        # comes and goes empty: shading clears what it has seen
        self._visibility = wp.full(buffers.others["visibility"][0], EMPTY_KEY, dtype=wp.uint64, device=device)
        self._lists = lists = WorkLists()
        for name, (shape, dtype) in buffers.lists.items():
            setattr(lists, name, wp.empty(shape, dtype=dtype, device=device))
        self._outlooks, self._lamps = (
            wp.empty(shape, dtype=dtype, device=device) for shape, dtype in (buffers.others["outlooks"], buffers.others["lamps"])
        )
        self._triangles = ((lists.small, lists.count[SMALL]), (lists.medium, lists.count[MEDIUM]))
        self._side = wp.Stream(device) if device.is_cuda else None
        # a graph for each set of batches that are filmed together; None where that set was only launched so far
        self._graphs: dict[tuple[bool, ...], wp.Graph | None] = {}

    def render(self, poses: Poses, placements: Placements, due: Sequence[bool]) -> None:  # pyright: ignore[reportInvalidTypeForm]
        """Queue the views of the batches that are ``due`` on the device's current stream."""
        key = tuple(due)
        if self._device.is_capturing:
            self._launch(poses, placements, key)  # the caller records a graph of its own
            return
        if key not in self._graphs:
            self._launch(poses, placements, key)  # compiles and loads the kernels, which a capture cannot
            self._graphs[key] = None
            return
        graph = self._graphs[key]
        if graph is None:
            with wp.ScopedCapture(self._device, force_module_load=False) as capture:
                self._launch(poses, placements, key)
            self._graphs[key] = graph = capture.graph
        wp.capture_launch(graph)

    def _launch(self, poses: Poses, placements: Placements, due: Sequence[bool]) -> None:  # pyright: ignore[reportInvalidTypeForm]
        if self._deformation is not None:
            self._deformation.launch(poses)
        world = self._world
        num_worlds, num_geoms = world.geom_position.shape
        num_cameras = world.camera_position.shape[1]
        count = num_geoms + num_cameras + world.light_position.shape[1]
        inputs = [0, num_geoms, num_cameras, poses, placements, self._scene, world]
        wp.launch(place, dim=(num_worlds, count), inputs=inputs, device=self._device)
        for first_world, worlds in world_groups(num_worlds, world.maps_at_once):
            drawn = 0
            for i in sorted(range(len(due)), key=lambda i: self._batches[i].map_side):
                batch, chunk = self._batches[i], self._chunks[i]
                if not due[i]:
                    continue
                if batch.shadowed and batch.map_side != drawn:
                    drawn = batch.map_side
                    self._launch_maps(first_world, worlds, drawn)
                for start, length in view_runs(batch.num_views, num_worlds, first_world, worlds):
                    for first in range(start, start + length, chunk):
                        count = min(chunk, start + length - first)
                        if batch.faces:
                            self._launch_lens(batch, first, count)
                        else:
                            self._launch_chunk(batch, first, count, self._columns[i])
                    if batch.layout:
                        batch.layout.launch(start, length, world)

    def _launch_maps(self, first: int, count: int, side: int) -> None:
        """Draw the shadow maps of some worlds, of ``side`` x ``side`` texels."""
        device, scene, world, lists = self._device, self._scene, self._world, self._lists
        maps, num_geoms = count * world.light_view.shape[1], world.geom_position.shape[1]
        wp.launch(fit_lights, dim=(count, world.light_view.shape[1]), inputs=[first, side, scene, world], device=device, block_dim=64)
        wp.launch(clear_maps, dim=(maps, -(-side // LINES), 32), inputs=[first, world], device=device)
        lists.count.zero_()
        inputs = [first, self._options.lod_pixels, scene, world, lists]
        wp.launch(cull_casters, dim=(maps, num_geoms), inputs=inputs, device=device, block_dim=64)
        groups = _groups(GROUPS, device)
        inputs = [groups, first, scene, world, lists]
        wp.launch(select_casters, dim=(groups, 32), inputs=inputs, device=device, block_dim=64)
        for triangles, count in self._triangles:
            wp.launch(raster_small_casters, dim=(groups, 64), inputs=[groups, triangles, count, *inputs[1:]], device=device, block_dim=64)
        wp.launch(raster_caster_tiles, dim=(groups, 32), inputs=inputs, device=device, block_dim=32)

    def _launch_lens(self, batch: CameraBatch, first: int, count: int) -> None:
        """Views of a bent lens: one face of all of them after the other, then their pixels."""
        faces, views, device = batch.faces, batch.views, self._device
        assert faces is not None
        rows = batch.num_faces * count
        vis = self._visibility[: rows * views.face_size].reshape((rows, views.face_size))
        for face in range(batch.num_faces):
            self._raster(faces, face * views.num_worlds + first, count, vis[face * count : (face + 1) * count])
        wp.launch(
            lens_kernel(batch.features, hardware=True),
            dim=(count, views.height * views.width),
            inputs=[first, count, self._scene, self._world, views, vis, batch.pictures],
            device=device,
            block_dim=BLOCK,
        )
        vis.fill_(EMPTY_KEY)

    def _launch_chunk(self, batch: CameraBatch, first: int, count: int, rows: int) -> None:
        """Some views; a thread shades ``rows`` pixels of a column."""
        device, scene, world, views, composite = self._device, self._scene, self._world, batch.views, batch.composite
        dim = (count, -(-views.height // rows), views.width)
        if batch.features is not None:
            vis = self._rows(count, views.height * views.width)
            outlooks, lamps = self._outlooks, self._lamps
            # few threads that wait most of the time: beside those that draw triangles
            with self._beside():
                look = outlook_kernel(batch.features)
                wp.launch(look, dim=count, inputs=[first, scene, world, views, outlooks, lamps], device=device, block_dim=32)
            self._raster(views, first, count, vis)
            if composite is not None and composite.features.rare:
                # nearly every view leaves at once: the fewer threads the better
                self._compose(batch, composite, vis, (count, 1, views.width), first, views.height)
            self._together()
            inputs = [scene, world, views, self._lists, outlooks, lamps, vis, batch.pictures]
            wp.launch(ground_kernel(batch.features), dim=dim, inputs=[first, rows, *inputs], device=device, block_dim=BLOCK)
            meshes = mesh_kernel(batch.features)
            if meshes is not None:
                groups = _groups(SHADE_GROUPS, device)
                wp.launch(meshes, dim=(groups, BLOCK), inputs=[groups, first, *inputs], device=device, block_dim=BLOCK)
        if composite is not None and not composite.features.rare:
            vis = self._rows(count, composite.keys)
            self._raster(composite.fine, first, count, vis)
            for stages in kept_sections(composite.features):
                self._keep(stages, composite.fine, vis, first)
            self._compose(batch, composite, vis, dim, first, rows)

    def _beside(self) -> AbstractContextManager:
        """What is launched in the block comes after all that was launched before, and runs beside what follows, until :meth:`_together`."""
        return nullcontext() if self._side is None else wp.ScopedStream(self._side)

    def _together(self) -> None:
        """What is launched from now on comes after what was launched in :meth:`_beside`."""
        if self._side is not None:
            wp.get_stream(self._device).wait_stream(self._side)

    def _compose(self, batch: CameraBatch, composite: Composite, vis: wp.array, dim: tuple[int, int, int], first: int, rows: int) -> None:
        inputs = [first, rows, self._scene, self._world, batch.views, composite.fine, vis, batch.pictures]
        wp.launch(composite_kernel(composite.features), dim=dim, inputs=inputs, device=self._device, block_dim=BLOCK)

    def _keep(self, stages: KeptStages, views: ViewBatch, vis: wp.array, first: int) -> None:  # pyright: ignore[reportInvalidTypeForm]
        """One more section of the visibility buffer."""
        device, scene, world, lists = self._device, self._scene, self._world, self._lists
        lists.count.zero_()
        inputs = [first, scene, world, views, lists, vis]
        wp.launch(stages.cull, dim=(vis.shape[0], views.num_geoms), inputs=inputs, device=device, block_dim=64)
        groups = _groups(GROUPS, device)
        wp.launch(stages.triangles, dim=(groups, 32), inputs=[groups, *inputs], device=device, block_dim=64)
        wp.launch(stages.tiles, dim=(groups, 32), inputs=[groups, *inputs], device=device, block_dim=32)

    def _rows(self, count: int, keys: int) -> wp.array:
        """The visibility buffer of ``count`` views, ``keys`` for each."""
        return self._visibility[: count * keys].reshape((count, keys))

    def _raster(self, views: ViewBatch, first: int, count: int, vis: wp.array) -> None:  # pyright: ignore[reportInvalidTypeForm]
        """Triangles of ``count`` views from number ``first`` on into as many rows of the visibility buffer."""
        device, scene, world, lists = self._device, self._scene, self._world, self._lists
        lists.count.zero_()
        wp.launch(cull, dim=(count, views.num_geoms), inputs=[first, scene, world, views, lists, vis], device=device, block_dim=64)
        groups = _groups(GROUPS, device)
        wp.launch(select_triangles, dim=(groups, 32), inputs=[groups, scene, views, lists, vis], device=device, block_dim=64)
        for triangles, count in self._triangles:
            inputs = [groups, triangles, count, scene, views, lists, vis]
            wp.launch(raster_small, dim=(groups, 64), inputs=inputs, device=device, block_dim=64)
        wp.launch(raster_tiles, dim=(groups, 32), inputs=[groups, scene, views, lists, vis], device=device, block_dim=32)

    def close(self) -> None:
        """Nothing to end."""
