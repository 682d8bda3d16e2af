"""One thread a view, from culling to pictures: how a CPU renders. Each host thread works on its own row of the visibility buffer."""

from functools import cache

import warp as wp

from rollfilm.render.kernels.cull import view_geom, visible_level
from rollfilm.render.kernels.features import Features
from rollfilm.render.kernels.raster import Window, raster_triangle
from rollfilm.render.kernels.shade import Eye, make_eye, make_plane, pixel_ray, plane_key, seen_depth, seen_id
from rollfilm.render.kernels.shade_row import ROW_CHUNK, ChunkOfKeys, chunk_shading
from rollfilm.render.kernels.types import EMPTY_KEY, Pictures, SceneData, ViewBatch, WorldData, last_key


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


@wp.func
def raster_planes(
    vis: wp.array2d(dtype=wp.uint64), row: int, scene: SceneData, world: WorldData, batch: ViewBatch, window: Window, eye: Eye
):
    """All planes that a view sees into one row of the visibility buffer."""
    for k in range(scene.plane.shape[0]):
        plane = make_plane(scene, world, eye, scene.plane[k])
        if plane.seen == 1:
            for y in range(window.y0, window.y1 + 1):
                x = int(0)
                while x < batch.width:
                    key = plane_key(scene, world, eye, plane, pixel_ray(eye, x, y))
                    pixel = y * batch.width + x
                    vis[row, pixel] = wp.min(vis[row, pixel], key)
                    x += 1


# vectors as wide as the machine has them; compilers hold back to half of that unasked
VECTOR_FLAGS = f"{wp.config.cpu_compiler_flags or '-march=native'} -mprefer-vector-width=512"


@cache
def whole_view_kernel(features: Features):
    """The kernel for these features."""
    shade_chunk = chunk_shading(features)

    @wp.kernel(enable_backward=False, module="unique", module_options={"cpu_compiler_flags": VECTOR_FLAGS})
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
        if wp.static(features.planes > 0):
            raster_planes(vis, row, scene, world, batch, window, eye)
        last = last_key(scene.far)
        for y in range(window.y0, window.y1 + 1):
            for x in range(0, batch.width, ROW_CHUNK):
                pixel = y * batch.width + x
                count = wp.min(ROW_CHUNK, batch.width - x)
                keys = ChunkOfKeys()
                j = int(0)
                while j < count:
                    key = vis[row, pixel + j]
                    vis[row, pixel + j] = EMPTY_KEY
                    if key > last:
                        key = EMPTY_KEY
                    keys[j] = key
                    if wp.static(features.segmentation):
                        pictures.segmentation[v, pixel + j] = seen_id(scene, key)
                    if wp.static(features.depth):
                        pictures.depth[v, pixel + j] = seen_depth(key)
                    j += 1
                if wp.static(features.rgb):
                    shade_chunk(scene, world, eye, pictures, keys, v, pixel, x, y, count)

    return film_view
