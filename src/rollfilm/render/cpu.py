"""Rendering on the CPU: host threads that take views from one queue, each with its own row of the visibility buffer."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import warp as wp

from rollfilm.render.batch import CameraBatch
from rollfilm.render.kernels.place import Placements, Poses, place
from rollfilm.render.kernels.raster_many import STEP
from rollfilm.render.kernels.shade_row import ROW_CHUNK
from rollfilm.render.kernels.types import SceneData, WorldData
from rollfilm.render.kernels.whole_view import whole_view_kernel

__all__ = ["CpuPipeline"]

#: Pieces that the views are cut into for each thread, so that none waits long for the others at the end.
PIECES_PER_THREAD = 4


@dataclass(frozen=True)
class _Piece:
    """A run of jobs of one batch. A job is a view, or a horizontal band of one where views are fewer than threads."""

    batch: int
    first: int
    count: int


class CpuPipeline:
    """Renders camera batches with ``num_threads`` host threads. Warp releases the interpreter's lock inside a kernel."""

    def __init__(
        self,
        scene: SceneData,  # pyright: ignore[reportInvalidTypeForm]
        world: WorldData,  # pyright: ignore[reportInvalidTypeForm]
        batches: Sequence[CameraBatch],
        num_threads: int,
    ) -> None:
        self._world, self._scene, self._batches = world, scene, batches
        self._num_worlds = world.geom_position.shape[0]
        self._threads = num_threads
        self._pool = ThreadPoolExecutor(num_threads, thread_name_prefix="rollfilm-render")
        self._pieces = [piece for i, batch in enumerate(batches) for piece in self._cut(i, batch.num_views)]
        self._layout_pieces = [_Piece(i, v, 1) for i, batch in enumerate(batches) if batch.layout for v in range(batch.num_views)]
        self._layouts = [[b.layout.launch(0, 1, world, record=True) if b.layout else None for b in batches] for _ in range(num_threads)]
        self._launches = [[self._record(batch, row) for batch in batches] for row in range(num_threads)]

    def _bands(self, num_views: int) -> int:
        """A view is cut into bands where whole views would leave threads idle; every band pays for all triangles again."""
        return self._threads if num_views < 4 * self._threads and num_views % self._threads else 1

    def _cut(self, batch: int, num_views: int) -> list[_Piece]:
        jobs = num_views * self._bands(num_views)
        size = max(1, jobs // (self._threads * PIECES_PER_THREAD))
        return [_Piece(batch, first, min(size, jobs - first)) for first in range(0, jobs, size)]

    def _record(self, batch: CameraBatch, row: int) -> wp.Launch:
        """A launch with its arguments packed, to be repeated with other views. Loads, and if need be compiles, the kernel."""
        pixels = batch.views.height * batch.views.width
        # memory of this thread alone: no other thread's cache lines are touched
        vis = wp.array(np.full((1, pixels + STEP), 0xFFFFFFFFFFFFFFFF, np.uint64), dtype=wp.uint64, device="cpu", copy=False)
        chunks = batch.views.height * -(-batch.views.width // int(ROW_CHUNK))
        touched = wp.zeros(chunks, dtype=wp.uint8, device="cpu")
        launch = wp.launch(
            whole_view_kernel(batch.features),
            dim=1,
            inputs=[0, self._bands(batch.num_views), 0, self._scene, self._world, batch.views, vis, touched, batch.pictures],
            device="cpu",
            record_cmd=True,
        )
        launch.visibility = vis, touched  # kept alive with the launch
        return launch

    def render(self, poses: Poses, placements: Placements, due: Sequence[bool]) -> None:  # pyright: ignore[reportInvalidTypeForm]
        """Render the views of the batches that are ``due``; returns when the pictures are there."""
        self._place(poses, placements)
        self._work_off([piece for piece in self._pieces if due[piece.batch]], self._film)
        if laid_out := [piece for piece in self._layout_pieces if due[piece.batch]]:
            self._work_off(laid_out, self._lay_out)

    def _film(self, row: int, piece: _Piece) -> None:
        launch = self._launches[row][piece.batch]
        launch.set_param_at_index(0, piece.first)
        launch.set_dim(piece.count)
        launch.launch()

    def _lay_out(self, row: int, piece: _Piece) -> None:
        launch = self._layouts[row][piece.batch]
        assert launch is not None
        launch.set_param_at_index(0, piece.first)
        launch.launch()

    def _work_off(self, todo: Sequence[_Piece], do: Callable[[int, _Piece], None]) -> None:
        """Do something with every piece, by all threads; ``do`` is given the number of its thread."""
        pieces = iter(todo)
        lock = threading.Lock()

        def work(row: int) -> None:
            while True:
                with lock:
                    piece = next(pieces, None)
                if piece is None:
                    return
                do(row, piece)

        for future in [self._pool.submit(work, row) for row in range(self._threads)]:
            future.result()

    def _place(self, poses: Poses, placements: Placements) -> None:  # pyright: ignore[reportInvalidTypeForm]
        world = self._world
        num_geoms, num_cameras = world.geom_position.shape[1], world.camera_position.shape[1]
        count = num_geoms + num_cameras + world.light_position.shape[1]
        wp.launch(
            place,
            dim=(self._num_worlds, count),
            inputs=[0, num_geoms, num_cameras, poses, placements, self._scene, world],
            device="cpu",
        )

    def close(self) -> None:
        """End the threads."""
        self._pool.shutdown(wait=True)
