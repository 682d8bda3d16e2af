"""The sections of a visibility buffer beyond the first: the stages by which a GPU draws them, over all views of a batch.

They are those of ``batch``, but that small triangles are drawn where they are selected: what is translucent is mostly little.
"""

from functools import cache
from typing import NamedTuple

import warp as wp

from rollfilm.render.kernels.batch import (
    CLUSTERS,
    LARGE,
    SEGMENTS,
    TILES,
    WorkLists,
    append_clusters,
    append_tiles,
    full_window,
    listed_triangle,
    merge,
    tile_row,
)
from rollfilm.render.kernels.cull import visible_level
from rollfilm.render.kernels.features import Features
from rollfilm.render.kernels.kept import Section, keeping, sections
from rollfilm.render.kernels.mirror import Mirror, find_mirror, mirroring
from rollfilm.render.kernels.raster import Window, pixel_box, screen_triangles
from rollfilm.render.kernels.shade import make_eye
from rollfilm.render.kernels.types import SceneData, ViewBatch, WorldData, view_lens


class KeptStages(NamedTuple):
    """The kernels of a section, in their order."""

    cull: wp.Kernel
    triangles: wp.Kernel
    tiles: wp.Kernel


@cache
def kept_stages(*, layered: bool, mirrored: bool, translucent: bool, flat: bool) -> KeptStages:
    """The kernels of a section: of layers or opaque surfaces, in the mirror or before it; ``translucent`` as in ``sections``."""
    kept_geom, keep_corners = keeping(layered=layered, mirrored=mirrored, flat=flat)
    _, _, mirror_clip, _ = mirroring(flat=flat)
    opaque = sections(translucent=translucent, mirror=False) if mirrored else 0

    @wp.func
    def section_of(scene: SceneData, world: WorldData, batch: ViewBatch, v: int):
        """Where keys of view ``v`` go."""
        section = Section()
        section.size = batch.width * batch.height
        section.opaque = wp.static(opaque) * section.size
        section.first = wp.static(opaque + layered) * section.size
        if wp.static(mirrored):
            eye = make_eye(world, batch, v)
            section.clip = mirror_clip(find_mirror(scene, world, eye), eye)
        return section

    @wp.func
    def keep_placed(
        vis: wp.array2d(dtype=wp.uint64),
        row: int,
        scene: SceneData,
        world: WorldData,
        batch: ViewBatch,
        lists: WorkLists,
        window: Window,
        first_view: int,
        geom: int,
        triangle: int,
    ):
        """What a triangle, whose geom was placed by ``cull``, covers of a window."""
        section = section_of(scene, world, batch, first_view + row)
        a, b, c = listed_triangle(scene, lists, row, geom, triangle)
        keep_corners(vis, row, scene.near, batch, section, window, geom, triangle, lists.lens[row], a, b, c)

    @wp.kernel(enable_backward=False, module="unique", module_options={"fast_math": True})
    def cull(first_view: int, scene: SceneData, world: WorldData, batch: ViewBatch, lists: WorkLists, vis: wp.array2d(dtype=wp.uint64)):
        """One thread a view and geom: appends the clusters to draw."""
        row, geom = wp.tid()
        v = row + first_view
        slot = v // batch.num_worlds
        w = v - slot * batch.num_worlds
        mesh = scene.geom_mesh[w, geom]
        if mesh < 0 or world.active[w] == 0:
            return
        mirror = Mirror()
        if wp.static(mirrored):
            mirror = find_mirror(scene, world, make_eye(world, batch, v))
        lens = view_lens(batch, slot, w)
        kept, rotation, position = kept_geom(scene, world, batch, mirror, w, batch.camera[slot], geom)
        if not kept:
            return
        level = visible_level(scene, batch, mesh, scene.geom_stretch[w, geom], lens, rotation, position)
        if level < 0:
            return
        lists.lens[row] = lens  # the same from every geom
        left, end = append_clusters(scene, lists, row, geom, mesh, level, rotation, position)
        for i in range(left, end):
            keep_placed(vis, row, scene, world, batch, lists, full_window(batch), first_view, geom, i)

    @wp.func
    def triangle_box(scene: SceneData, batch: ViewBatch, lists: WorkLists, row: int, geom: int, triangle: int):
        """The pixels that a triangle may cover."""
        a, b, c = listed_triangle(scene, lists, row, geom, triangle)
        if wp.static(mirrored):
            n, p, q, r, s = screen_triangles(scene.near, lists.lens[row], a, c, b)
        else:
            n, p, q, r, s = screen_triangles(scene.near, lists.lens[row], a, b, c)
        box = Window()
        box.x1 = -1
        if n > 0:
            box = pixel_box(full_window(batch), p, q, r)
            if n > 1:
                box = merge(box, pixel_box(full_window(batch), p, r, s))
        return box

    @wp.kernel(enable_backward=False, module="unique", module_options={"fast_math": True})
    def triangles(
        workers: int,
        first_view: int,
        scene: SceneData,
        world: WorldData,
        batch: ViewBatch,
        lists: WorkLists,
        vis: wp.array2d(dtype=wp.uint64),
    ):
        """``workers`` groups of 32 threads stride over the clusters, one thread a triangle: draws it, or hands it on in tiles."""
        worker, lane = wp.tid()
        segment = worker % SEGMENTS
        total = wp.min(lists.count[CLUSTERS, segment, 0], lists.cluster.shape[1])
        k = worker // SEGMENTS
        while k < total:
            item = lists.cluster[segment, k]
            k += workers // SEGMENTS
            if lane < item[3]:
                row = item[0]
                geom = item[1]
                triangle = item[2] + lane
                box = triangle_box(scene, batch, lists, row, geom, triangle)
                width = box.x1 - box.x0 + 1
                height = box.y1 - box.y0 + 1
                if width > 0 and height > 0:
                    handed_on = bool(False)
                    if width * height > LARGE:
                        handed_on = append_tiles(lists, segment, row, geom, triangle, box)
                    if not handed_on:
                        keep_placed(vis, row, scene, world, batch, lists, full_window(batch), first_view, geom, triangle)

    @wp.kernel(enable_backward=False, module="unique", module_options={"fast_math": True})
    def tiles(
        workers: int,
        first_view: int,
        scene: SceneData,
        world: WorldData,
        batch: ViewBatch,
        lists: WorkLists,
        vis: wp.array2d(dtype=wp.uint64),
    ):
        """``workers`` groups of 32 threads stride over the tiles, one thread a row of pixels."""
        worker, lane = wp.tid()
        segment = worker % SEGMENTS
        total = wp.min(lists.count[TILES, segment, 0], lists.tile.shape[1])
        k = worker // SEGMENTS
        while k < total:
            item = lists.tile[segment, k]
            k += workers // SEGMENTS
            if item[0] >= 0:
                window = tile_row(full_window(batch), item[3], lane)
                keep_placed(vis, item[0], scene, world, batch, lists, window, first_view, item[1], item[2])

    return KeptStages(cull, triangles, tiles)


def kept_sections(features: Features) -> list[KeptStages]:
    """The kernels of all sections but that of the opaque surfaces, for these features."""
    wanted = [(layered, mirrored) for mirrored in (False, True) for layered in (False, True)][1:]
    return [
        kept_stages(layered=layered, mirrored=mirrored, translucent=features.translucent, flat=features.flat)
        for layered, mirrored in wanted
        if (features.translucent or not layered) and (features.mirror or not mirrored)
    ]
