"""Shadow maps on a GPU, in stages over all maps of a group of worlds: fit, clear, cull, select triangles, raster them.

The stages and their work lists are those of ``batch``; a row of a list is a map of ``WorldData.shadow_map``.
"""

import warp as wp

from rollfilm.render.kernels.batch import (
    CLUSTERS,
    SEGMENTS,
    TILES,
    WorkLists,
    append_clusters,
    hand_on,
    listed_triangle,
    merge,
    tile_row,
)
from rollfilm.render.kernels.light_view import caster_level, light_view
from rollfilm.render.kernels.raster import Window, pixel_box
from rollfilm.render.kernels.shadow_raster import geom_before_light, map_triangles, raster_corners, raster_on_map
from rollfilm.render.kernels.types import LightView, SceneData, WorldData

# Approximate division moves a side by a millionth of a texel.
wp.set_module_options({"fast_math": True})


@wp.func
def whole_map(view: LightView):
    """All texels that a light uses."""
    window = Window()
    window.x1 = view.width - 1
    window.y1 = view.height - 1
    return window


@wp.func
def view_of_row(world: WorldData, first_world: int, row: int):
    """How the light of a row of the maps sees it, among those of the worlds from ``first_world`` on."""
    lights = world.light_view.shape[1]
    number = row // lights
    return world.light_view[first_world + number, row - number * lights]


@wp.kernel(enable_backward=False)
def fit_lights(first_world: int, side: int, scene: SceneData, world: WorldData):
    """One thread a world and light."""
    i, k = wp.tid()
    w = first_world + i
    light = scene.shadow_light[k]
    view = LightView()  # that of a world that is not filmed uses no texels
    if world.active[w] == 1:
        view = light_view(scene, world, w, light, scene.light_spot[light] == 1, side)
    world.light_view[w, k] = view


@wp.kernel(enable_backward=False)
def clear_maps(first_world: int, world: WorldData):
    """32 threads a line of a map: empty what its light uses."""
    row, y, lane = wp.tid()
    view = view_of_row(world, first_world, row)
    if y < view.height:
        for x in range(lane, view.width, 32):
            world.shadow_map[row, y * world.map_pitch + x] = wp.uint32(0)


@wp.func
def raster_listed(
    scene: SceneData, world: WorldData, view: LightView, lists: WorkLists, window: Window, row: int, geom: int, triangle: int
):
    """What a triangle of a list covers of a window of its map."""
    a, b, c = listed_triangle(scene, lists, row, geom, triangle)
    raster_corners(world.shadow_map, row, world.map_pitch, scene.near, view, window, a, b, c)


@wp.kernel(enable_backward=False)
def cull_casters(first_world: int, lod_pixels: float, scene: SceneData, world: WorldData, lists: WorkLists):
    """One thread a map and geom: appends the clusters to draw. Maps are counted in the order of their rows."""
    row, geom = wp.tid()
    lights = world.light_view.shape[1]
    number = row // lights
    k = row - number * lights
    w = first_world + number
    mesh = scene.geom_mesh[w, geom]
    if mesh < 0:
        return
    view = world.light_view[w, k]
    rotation, position = geom_before_light(world, view, w, geom)
    level = caster_level(scene, world, view, w, scene.shadow_light[k], geom, lod_pixels, rotation, position)
    if level < 0:
        return
    left, end = append_clusters(scene, lists, row, geom, mesh, level, rotation, position)
    for i in range(left, end):
        raster_listed(scene, world, view, lists, whole_map(view), row, geom, i)


@wp.kernel(enable_backward=False)
def select_casters(workers: int, first_world: int, scene: SceneData, world: WorldData, lists: WorkLists):
    """``workers`` groups of 32 threads stride over the clusters, one thread a triangle: hands on those that cover a texel."""
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
            view = view_of_row(world, first_world, row)
            a, b, c = listed_triangle(scene, lists, row, geom, triangle)
            n, p, q, r, s = map_triangles(view, scene.near, a, b, c)
            if n > 0:
                box = pixel_box(whole_map(view), p, q, r)
                if n > 1:
                    box = merge(box, pixel_box(whole_map(view), p, r, s))
                if box.x0 <= box.x1 and box.y0 <= box.y1:
                    if not hand_on(lists, segment, row, geom, triangle, box):
                        raster_on_map(world.shadow_map, row, world.map_pitch, whole_map(view), p, q, r)
                        if n > 1:
                            raster_on_map(world.shadow_map, row, world.map_pitch, whole_map(view), p, r, s)


@wp.kernel(enable_backward=False)
def raster_small_casters(
    workers: int,
    list: wp.array2d(dtype=wp.vec3i),
    count: wp.array2d(dtype=int),
    first_world: int,
    scene: SceneData,
    world: WorldData,
    lists: WorkLists,
):
    """``workers`` groups of 64 threads stride over a list of triangles, one thread each."""
    worker, lane = wp.tid()
    segment = worker % SEGMENTS
    total = wp.min(count[segment, 0], list.shape[1])
    k = (worker // SEGMENTS) * 64 + lane
    while k < total:
        item = list[segment, k]
        k += (workers // SEGMENTS) * 64
        view = view_of_row(world, first_world, item[0])
        raster_listed(scene, world, view, lists, whole_map(view), item[0], item[1], item[2])


@wp.kernel(enable_backward=False)
def raster_caster_tiles(workers: int, first_world: int, scene: SceneData, world: WorldData, lists: WorkLists):
    """``workers`` groups of 32 threads stride over the tiles, one thread a row of texels."""
    worker, lane = wp.tid()
    segment = worker % SEGMENTS
    total = wp.min(lists.count[TILES, segment, 0], lists.tile.shape[1])
    k = worker // SEGMENTS
    while k < total:
        item = lists.tile[segment, k]
        k += workers // SEGMENTS
        if item[0] >= 0:
            view = view_of_row(world, first_world, item[0])
            raster_listed(scene, world, view, lists, tile_row(whole_map(view), item[3], lane), item[0], item[1], item[2])
