"""One thread a view, from culling to pictures: how a CPU renders. Each host thread works on its own row of the visibility buffer."""

from functools import cache

import warp as wp

from rollfilm.render.kernels.cull import view_geom, visible_level
from rollfilm.render.kernels.features import Features
from rollfilm.render.kernels.raster import Window, raster_triangle
from rollfilm.render.kernels.shade import (
    Surface,
    make_eye,
    nearer_plane,
    pixel_ray,
    seen_depth,
    seen_id,
    seen_surface,
    shading,
    store_depth,
    store_rgb,
)
from rollfilm.render.kernels.types import EMPTY_KEY, Pictures, SceneData, ViewBatch, WorldData


@wp.func
def raster_view(vis: wp.array2d(dtype=wp.uint64), row: int, scene: SceneData, world: WorldData, batch: ViewBatch, window: Window, v: int):
    """All triangles that a view sees into one row of the visibility buffer."""
    slot = v // batch.num_worlds
    w = v - slot * batch.num_worlds
    focal = batch.focal[slot]
    for geom in range(batch.num_geoms):
        mesh = scene.geom_mesh[geom]
        if mesh >= 0:
            rotation, position = view_geom(world, w, batch.camera[slot], geom)
            level = visible_level(scene, batch, mesh, focal, rotation, position)
            if level >= 0:
                first = scene.level_first[level]
                for triangle in range(first, first + scene.level_count[level]):
                    raster_triangle(vis, row, scene, batch, window, geom, triangle, focal, rotation, position)


@cache
def whole_view_kernel(features: Features):
    """The kernel for these features."""
    shade_surface, background = shading(features)

    @wp.kernel(enable_backward=False, module="unique")
    def film_view(
        first_view: int,
        bands: int,
        row: int,
        scene: SceneData,
        world: WorldData,
        batch: ViewBatch,
        vis: wp.array2d(dtype=wp.uint64),
        pictures: Pictures,
    ):
        """A view, or one of ``bands`` horizontal bands of it. The visibility buffer comes and goes empty."""
        job = first_view + wp.tid()
        v = job // bands
        band = job - v * bands
        window = Window()
        window.x1 = batch.width - 1
        window.y0 = band * batch.height // bands
        window.y1 = (band + 1) * batch.height // bands - 1
        raster_view(vis, row, scene, world, batch, window, v)

        eye = make_eye(world, batch, v)
        surface = Surface()
        known = EMPTY_KEY
        for y in range(window.y0, window.y1 + 1):
            for x in range(batch.width):
                pixel = y * batch.width + x
                key = vis[row, pixel]
                vis[row, pixel] = EMPTY_KEY
                ray = pixel_ray(eye, x, y)
                if wp.static(features.planes):
                    key = nearer_plane(scene, world, eye, ray, key)
                if wp.static(features.segmentation):
                    pictures.segmentation[v, pixel] = seen_id(scene, key)
                if wp.static(features.depth or features.rgb):
                    depth = seen_depth(scene, world, eye, key, ray)
                    if wp.static(features.depth):
                        store_depth(pictures, v, pixel, depth)
                    if wp.static(features.rgb):
                        if key == EMPTY_KEY:
                            store_rgb(pictures, v, pixel, background(scene, ray))
                        else:
                            # neighbours mostly see the same triangle: set it up once
                            which = key & wp.uint64(0xFFFFFFFFF)
                            if which != known:
                                surface = seen_surface(scene, world, eye, key)
                                known = which
                            store_rgb(pictures, v, pixel, shade_surface(scene, world, eye, surface, ray, depth))

    return film_view
