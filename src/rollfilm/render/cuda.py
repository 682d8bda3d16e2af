"""Rendering on a GPU: the stages over chunks of views, recorded once as a CUDA graph and replayed."""

from collections.abc import Sequence
from typing import Any

import warp as wp

from rollfilm.render.batch import CameraBatch
from rollfilm.render.kernels.batch import SEGMENTS, WorkLists, cull, raster_small, raster_tiles, select_triangles
from rollfilm.render.kernels.place import Placements, Poses, place
from rollfilm.render.kernels.shade_column import BLOCK, shade_kernel
from rollfilm.render.kernels.types import CLUSTER_SIZE, EMPTY_KEY, Lens, SceneData, WorldData

__all__ = ["CudaPipeline"]

#: Bytes of visibility buffer, above which the views of a batch are rendered one chunk after the other.
VISIBILITY_BYTES = 1 << 30
MAX_CLUSTERS = 1 << 23
MAX_SMALL = 1 << 24
MAX_TILES = 1 << 22


def _segments(capacity: int, dtype: Any, device: wp.Device) -> wp.array:
    """A work list: every segment holds ``capacity`` entries."""
    return wp.empty((SEGMENTS, max(1, capacity)), dtype=dtype, device=device)


class CudaPipeline:
    """Renders camera batches on one GPU. After the first frame nothing is allocated and the host waits for nothing."""

    def __init__(
        self,
        scene: SceneData,  # pyright: ignore[reportInvalidTypeForm]
        world: WorldData,  # pyright: ignore[reportInvalidTypeForm]
        batches: Sequence[CameraBatch],
        worst_clusters: int,
        device: wp.Device,
    ) -> None:
        self._scene, self._world, self._batches, self._device = scene, world, batches, device
        self._chunks = [max(1, min(b.num_views, VISIBILITY_BYTES // (8 * b.views.height * b.views.width))) for b in batches]
        most_pixels = max(n * b.views.height * b.views.width for n, b in zip(self._chunks, batches, strict=True))
        most_views = max(self._chunks)
        num_geoms = world.geom_position.shape[1]
        # comes and goes empty: shading clears what it has seen
        self._visibility = wp.full(most_pixels, EMPTY_KEY, dtype=wp.uint64, device=device)
        lists = WorkLists()
        lists.rotation = wp.empty((most_views, num_geoms), dtype=wp.mat33, device=device)
        lists.position = wp.empty((most_views, num_geoms), dtype=wp.vec4, device=device)
        lists.first = wp.empty((most_views, num_geoms), dtype=int, device=device)
        lists.lens = wp.empty(most_views, dtype=Lens, device=device)
        worst = max(1, most_views * worst_clusters)
        lists.cluster = _segments(min(worst, MAX_CLUSTERS // SEGMENTS), wp.vec4i, device)
        lists.small = _segments(min(worst * CLUSTER_SIZE, MAX_SMALL // SEGMENTS), wp.vec3i, device)
        lists.tile = _segments(min(most_pixels // 32 + 4096, MAX_TILES) // SEGMENTS, wp.vec4i, device)
        lists.count = wp.zeros((3, SEGMENTS, 32), dtype=int, device=device)
        self._lists = lists
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
        world = self._world
        num_worlds, num_geoms = world.geom_position.shape
        num_cameras = world.camera_position.shape[1]
        count = num_geoms + num_cameras + world.light_position.shape[1]
        inputs = [0, num_geoms, num_cameras, poses, placements, self._scene, world]
        wp.launch(place, dim=(num_worlds, count), inputs=inputs, device=self._device)
        for batch, chunk, is_due in zip(self._batches, self._chunks, due, strict=True):
            for first in range(0, batch.num_views if is_due else 0, chunk):
                self._launch_chunk(batch, first, min(chunk, batch.num_views - first))

    def _launch_chunk(self, batch: CameraBatch, first: int, count: int) -> None:
        device, scene, world, views, lists = self._device, self._scene, self._world, batch.views, self._lists
        pixels = views.height * views.width
        vis = self._visibility[: count * pixels].reshape((count, pixels))
        lists.count.zero_()
        wp.launch(cull, dim=(count, views.num_geoms), inputs=[first, scene, world, views, lists, vis], device=device, block_dim=64)
        # more groups than can run at once: the next takes over where one had little to do
        groups = 256 * device.sm_count
        wp.launch(select_triangles, dim=(groups, 64), inputs=[groups, scene, views, lists, vis], device=device, block_dim=64)
        wp.launch(raster_small, dim=(groups, 64), inputs=[groups, scene, views, lists, vis], device=device, block_dim=64)
        wp.launch(raster_tiles, dim=(groups, 32), inputs=[groups, scene, views, lists, vis], device=device, block_dim=32)
        # long columns share more work, short ones keep a small batch spread over the whole GPU
        rows = min(16, max(1, count * pixels // (device.sm_count * 4096)))
        wp.launch(
            shade_kernel(batch.features),
            dim=(count, -(-views.height // rows), views.width),
            inputs=[first, rows, scene, world, views, vis, batch.pictures],
            device=device,
            block_dim=BLOCK,
        )
        if batch.layout:
            batch.layout.launch(first, count, world)

    def close(self) -> None:
        """Nothing to end."""
