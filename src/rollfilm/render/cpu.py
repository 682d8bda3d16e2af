"""Rendering on the CPU: host threads that take views from one queue, each with its own row of the visibility buffer."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import warp as wp

from rollfilm.cores import available_cores
from rollfilm.render.batch import CameraBatch
from rollfilm.render.deform import Deformation
from rollfilm.render.kernels.active import stamp
from rollfilm.render.kernels.composite_view import composite_view_kernel
from rollfilm.render.kernels.place import Placements, Poses, place
from rollfilm.render.kernels.raster_many import STEP, WAITING
from rollfilm.render.kernels.shade_row import ROW_CHUNK
from rollfilm.render.kernels.shadow_map import draw_maps
from rollfilm.render.kernels.types import SceneData, ViewBatch, WorldData
from rollfilm.render.kernels.whole_view import whole_view_kernel
from rollfilm.render.lens_stage import LensStage
from rollfilm.render.options import RenderOptions
from rollfilm.render.shadows import view_runs, world_groups

__all__ = ["CpuPipeline"]

#: Pieces that the views are cut into for each thread, so that none waits long for the others at the end.
PIECES_PER_THREAD = 8

#: Worlds from which on it pays to let all threads work out where things are.
MANY_WORLDS = 32


@dataclass(frozen=True)
class _Piece:
    """A run of jobs of one batch, or of shadow maps after the batches.

    A job is a view or a map, or a horizontal band of one where there are fewer than threads.
    """

    batch: int
    first: int
    count: int


def _empty_buffers(views: ViewBatch, keys: int) -> tuple[wp.array, ...]:  # pyright: ignore[reportInvalidTypeForm]
    """A visibility buffer of ``keys``, what is touched of it, and triangles that wait: of one thread alone, on cache lines of its own."""
    vis = wp.array(np.full((1, keys + STEP), 0xFFFFFFFFFFFFFFFF, np.uint64), dtype=wp.uint64, device="cpu", copy=False)
    touched = wp.zeros(views.height * -(-views.width // int(ROW_CHUNK)), dtype=wp.uint8, device="cpu")
    return vis, touched, wp.zeros(WAITING, dtype=float, device="cpu")


class CpuPipeline:
    """Renders camera batches with ``num_threads`` host threads. Warp releases the interpreter's lock inside a kernel."""

    def __init__(
        self,
        scene: SceneData,  # pyright: ignore[reportInvalidTypeForm]
        world: WorldData,  # pyright: ignore[reportInvalidTypeForm]
        batches: Sequence[CameraBatch],
        num_threads: int,
        options: RenderOptions,
        deformation: Deformation | None = None,
    ) -> None:
        self._world, self._scene, self._batches = world, scene, batches
        self._deformation = deformation
        self._num_worlds = world.geom_position.shape[0]
        self._threads = num_threads
        self._pool = ThreadPoolExecutor(num_threads, thread_name_prefix="rollfilm-render")
        self._load_kernels()
        # batches of small pictures look up smaller maps
        self._sides = sorted({batch.map_side for batch in batches if batch.shadowed})
        self._stages = [stage for group in world_groups(self._num_worlds, world.maps_at_once) for stage in self._cut_group(*group)]
        self._layout_pieces = [_Piece(i, v, 1) for i, batch in enumerate(batches) if batch.layout for v in range(batch.num_views)]
        self._layouts = [[b.layout.launch(0, 1, world, record=True) if b.layout else None for b in batches] for _ in range(num_threads)]
        # batches that have seen a plane from behind, and whether the kernel that colours such views is recorded
        self._left_out = np.zeros((len(batches), 1), np.int32)
        self._recorded_rare: set[int] = set()
        self._places: list[wp.Launch] = []
        self._launches = [[self._record(i, batch) for i, batch in enumerate(batches)] for _ in range(num_threads)]
        for launches in self._launches:
            launches.extend([self._record_maps(side, options)] for side in self._sides)

    def _load_kernels(self) -> None:
        """Compile what is not in the cache side by side: the first frame waits for the slowest, not for all.

        This thread takes its share, the slowest first: it may have read Warp's headers before (``rollfilm.cpu_flags``).
        """
        kernels = [whole_view_kernel(batch.features) for batch in self._batches if batch.features and not batch.faces]
        for batch in self._batches:
            if batch.composite is not None and not batch.composite.features.rare:
                kernels.append(composite_view_kernel(batch.composite.features))
        if any(batch.shadowed for batch in self._batches):
            kernels.append(draw_maps)
        kernels += [place, stamp]
        slowest, *rest = {id(kernel.module): kernel.module for kernel in kernels}.values()
        helpers = min(len(rest), available_cores() - 1)
        modules, taking = iter(rest[helpers:]), threading.Lock()

        def load(module: wp.Module | None) -> None:
            while module is not None:
                wp.load_module(module, device="cpu")
                with taking:
                    module = next(modules, None)

        with ThreadPoolExecutor(available_cores(), thread_name_prefix="rollfilm-compile") as pool:
            others = [pool.submit(load, module) for module in rest[:helpers]]
            load(slowest)
            for other in others:
                other.result()

    def _bands(self, num_views: int) -> int:
        """A view is cut into bands where whole views would leave threads idle; every band pays for all triangles again."""
        return self._threads if num_views < 4 * self._threads and num_views % self._threads else 1

    def _cut_group(self, first_world: int, count: int) -> list[list[_Piece]]:
        """What is rendered of some worlds, one stage after the other: shadow maps, then the views that look them up."""
        lights, bands = self._world.light_view.shape[1], self._map_bands()
        stages = [self._cut_views(first_world, count, [b for b in self._batches if not b.shadowed])]
        for k, side in enumerate(self._sides):
            stages.append(self._cut(len(self._batches) + k, first_world * lights * bands, count * lights * bands))
            stages.append(self._cut_views(first_world, count, [b for b in self._batches if b.shadowed and b.map_side == side]))
        return [stage for stage in stages if stage]

    def _cut_views(self, first_world: int, count: int, batches: Sequence[CameraBatch]) -> list[_Piece]:
        pieces = []
        for batch in batches:
            bands = 1 if batch.faces else self._bands(batch.num_views)
            runs = view_runs(batch.num_views, self._num_worlds, first_world, count)
            for first, length in runs:
                pieces += self._cut(self._batches.index(batch), first * bands, length * bands)
        return pieces

    def _cut(self, batch: int, start: int, jobs: int) -> list[_Piece]:
        size = max(1, jobs // (self._threads * PIECES_PER_THREAD))
        return [_Piece(batch, start + first, min(size, jobs - first)) for first in range(0, jobs, size)]

    def _map_bands(self) -> int:
        return self._bands(self._world.maps_at_once * self._world.light_view.shape[1])

    def _record_maps(self, side: int, options: RenderOptions) -> wp.Launch:
        """A launch that draws shadow maps of ``side`` x ``side`` texels, to be repeated with others."""
        inputs = [0, self._map_bands(), side, options.lod_pixels, self._scene, self._world]
        return wp.launch(draw_maps, dim=1, inputs=inputs, device="cpu", record_cmd=True)

    def _record(self, number: int, batch: CameraBatch) -> list[wp.Launch] | LensStage:
        """Launches of batch ``number``, to be repeated with other views. Loads, and if need be compiles, the kernels."""
        if batch.faces:
            return LensStage.build(batch, self._scene, self._world)
        launches = []
        bands = self._bands(batch.num_views)
        if batch.features is not None:
            buffers = _empty_buffers(batch.views, batch.views.height * batch.views.width)
            inputs = [
                0,
                bands,
                0,
                self._scene,
                self._world,
                batch.views,
                *buffers,
                self._left_out[self._batches.index(batch)],
                batch.pictures,
            ]
            launches.append(wp.launch(whole_view_kernel(batch.features), dim=1, inputs=inputs, device="cpu", record_cmd=True))
            launches[-1].kept = buffers  # alive as long as the launch
        if batch.composite is not None and not batch.composite.features.rare:
            launches.append(self._record_composite(batch, _empty_buffers(batch.composite.fine, batch.composite.keys)))
        return launches

    def _record_composite(self, batch: CameraBatch, buffers: tuple[wp.array, ...]) -> wp.Launch:
        composite = batch.composite
        assert composite is not None
        inputs = [0, self._bands(batch.num_views), 0, self._scene, self._world, batch.views, composite.fine, *buffers, batch.pictures]
        launch = wp.launch(composite_view_kernel(composite.features), dim=1, inputs=inputs, device="cpu", record_cmd=True)
        launch.kept = buffers
        return launch

    def _record_rare(self) -> bool:
        """Record the kernel for views that see a plane from behind when the first of them was left out: it may take seconds to compile."""
        found = False
        for i, batch in enumerate(self._batches):
            composite = batch.composite
            if composite is None or not composite.features.rare or i in self._recorded_rare or not self._left_out[i, 0]:
                continue
            for row in self._launches:
                launches = row[i]
                assert not isinstance(launches, LensStage)  # a bent lens composes nothing
                launches.append(self._record_composite(batch, launches[0].kept))
            self._recorded_rare.add(i)
            found = True
        return found

    def render(self, poses: Poses, placements: Placements, due: Sequence[bool]) -> None:  # pyright: ignore[reportInvalidTypeForm]
        """Render the views of the batches that are ``due``; returns when the pictures are there."""
        if self._deformation is not None:
            self._deformation.launch(poses)
        self._place(poses, placements)
        looked_up = {batch.map_side for is_due, batch in zip(due, self._batches, strict=True) if is_due and batch.shadowed}
        wanted = (*due, *(side in looked_up for side in self._sides))  # shadow maps come after the batches
        self._film_all(wanted)
        if self._record_rare():
            self._film_all(wanted)
        if laid_out := [piece for piece in self._layout_pieces if due[piece.batch]]:
            self._work_off(laid_out, self._lay_out)

    def _film_all(self, wanted: Sequence[bool]) -> None:
        for stage in self._stages:
            if todo := [piece for piece in stage if wanted[piece.batch]]:
                self._work_off(todo, self._film)

    def _film(self, row: int, piece: _Piece) -> None:
        launches = self._launches[row][piece.batch]
        if isinstance(launches, LensStage):
            for view in range(piece.first, piece.first + piece.count):
                launches.film(view)
            return
        for launch in launches:
            launch.set_param_at_index(0, piece.first)
            launch.set_dim(piece.count)
            launch.launch()

    def _lay_out(self, row: int, piece: _Piece) -> None:
        launch = self._layouts[row][piece.batch]
        assert launch is not None
        launch.set_param_at_index(0, piece.first)
        launch.launch()

    def _work_off(self, todo: Sequence[_Piece], do: Callable[[int, _Piece], None]) -> None:
        """Do something with every piece, by all threads, of which this is one; ``do`` is given the number of its thread."""
        pieces = iter(todo)
        lock = threading.Lock()

        def work(row: int) -> None:
            while True:
                with lock:
                    piece = next(pieces, None)
                if piece is None:
                    return
                do(row, piece)

        others = [self._pool.submit(work, row) for row in range(1, min(self._threads, len(todo)))]
        try:
            work(0)
        finally:
            wait(others)
        for other in others:
            other.result()

    def _place(self, poses: Poses, placements: Placements) -> None:  # pyright: ignore[reportInvalidTypeForm]
        if not self._places:
            self._record_places(poses, placements)
        for launch in self._places:
            launch.set_param_at_index(3, poses)
            launch.set_param_at_index(4, placements)
        self._work_off([_Piece(0, k, 1) for k in range(len(self._places))], lambda row, piece: self._places[piece.first].launch())

    def _record_places(self, poses: Poses, placements: Placements) -> None:  # pyright: ignore[reportInvalidTypeForm]
        """The launches that work out where things are, each for some worlds."""
        world = self._world
        num_geoms, num_cameras = world.geom_position.shape[1], world.camera_position.shape[1]
        count = num_geoms + num_cameras + world.light_position.shape[1]
        parts = self._threads if self._num_worlds >= MANY_WORLDS else 1
        ends = [self._num_worlds * k // parts for k in range(parts + 1)]
        for first, end in pairwise(ends):
            inputs = [first, num_geoms, num_cameras, poses, placements, self._scene, world]
            self._places.append(wp.launch(place, dim=(end - first, count), inputs=inputs, device="cpu", record_cmd=True))

    def close(self) -> None:
        """End the threads."""
        self._pool.shutdown(wait=True)
