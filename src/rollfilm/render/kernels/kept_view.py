"""The sections of a visibility buffer beyond the first: how a CPU draws them, one thread a view."""

from functools import cache

import warp as wp

from rollfilm.render.kernels.cull import visible_level
from rollfilm.render.kernels.features import Features
from rollfilm.render.kernels.kept import Section, keeping, sections
from rollfilm.render.kernels.mirror import Mirror, mirroring
from rollfilm.render.kernels.pane import panes
from rollfilm.render.kernels.raster import Window, camera_triangle
from rollfilm.render.kernels.shade import make_eye
from rollfilm.render.kernels.types import SceneData, ViewBatch, WorldData, view_lens


@cache
def section_raster(*, layered: bool, mirrored: bool, flat: bool):
    """The function that draws all triangles of a section."""
    kept_geom, keep_corners = keeping(layered=layered, mirrored=mirrored, flat=flat)

    @wp.func
    def raster_section(
        vis: wp.array2d(dtype=wp.uint64),
        row: int,
        scene: SceneData,
        world: WorldData,
        batch: ViewBatch,
        section: Section,
        mirror: Mirror,
        window: Window,
        v: int,
    ):
        """All triangles of view ``v`` that belong into a section of one row of the visibility buffer."""
        slot = v // batch.num_worlds
        w = v - slot * batch.num_worlds
        lens = view_lens(batch, slot, w)
        for geom in range(batch.num_geoms):
            mesh = scene.geom_mesh[w, geom]
            if mesh >= 0:
                kept, rotation, position = kept_geom(scene, world, batch, mirror, w, batch.camera[slot], geom)
                level = int(-1)
                if kept:
                    level = visible_level(scene, batch, mesh, scene.geom_stretch[w, geom], lens, rotation, position)
                if level >= 0:
                    first = scene.level_first[level]
                    mesh_first = scene.mesh_triangle[mesh]
                    for triangle in range(first, first + scene.level_count[level]):
                        a, b, c = camera_triangle(scene, mesh_first + triangle, rotation, position)
                        keep_corners(vis, row, scene.near, batch, section, window, geom, triangle, lens, a, b, c)

    return raster_section


@cache
def section_rasters(features: Features):
    """The function that draws all sections of a view but that of the opaque surfaces, for these features."""
    layers, images, image_layers = (
        section_raster(layered=layered, mirrored=mirrored, flat=features.flat)
        for layered, mirrored in ((True, False), (False, True), (True, True))
    )
    _, _, mirror_clip, _ = mirroring(flat=features.flat)
    first_mirrored = sections(translucent=features.translucent, mirror=False)
    make_pane, _ = panes(features, many=True)

    @wp.func
    def raster_sections(
        vis: wp.array2d(dtype=wp.uint64), row: int, scene: SceneData, world: WorldData, batch: ViewBatch, window: Window, v: int
    ):
        """The layers of view ``v``, and what its mirror shows."""
        section = Section()
        section.size = batch.width * batch.height
        eye = make_eye(world, batch, v)
        pane = make_pane(scene, world, eye, eye, batch)
        if wp.static(features.translucent):
            section.first = section.size
            layers(vis, row, scene, world, batch, section, pane.mirror, window, v)
        if wp.static(features.mirror):
            if pane.mirror.geom >= 0:
                section.clip = mirror_clip(pane.mirror, eye)
                section.opaque = wp.static(first_mirrored) * section.size
                section.first = section.opaque
                images(vis, row, scene, world, batch, section, pane.mirror, window, v)
                if wp.static(features.translucent):
                    section.first = section.opaque + section.size
                    image_layers(vis, row, scene, world, batch, section, pane.mirror, window, v)

    return raster_sections
