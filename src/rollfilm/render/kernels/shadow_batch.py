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
    placed_at,
    projection_of,
    quick_box,
    tile_row,
)
from rollfilm.render.kernels.light_view import caster_level, light_view
from rollfilm.render.kernels.raster import Window, corners_at, pixel_box
from rollfilm.render.kernels.shadow_raster import geom_before_light, map_triangles, raster_corners
from rollfilm.render.kernels.shadow_share import light_view_at
from rollfilm.render.kernels.types import Lens, LightView, SceneData, WorldData

LINES = wp.constant(16)

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
    return light_view_at(world.light_view, first_world + number, row - number * lights)


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
    """32 threads for ``LINES`` lines of a map: empty what its light uses."""
    row, part, lane = wp.tid()
    view = view_of_row(world, first_world, row)
    for y in range(part * LINES, wp.min((part + 1) * LINES, view.height)):
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


@wp.func
def projection_on(view: LightView, placed: wp.mat44, near: float):
    """From a mesh's frame to a map (``batch.Projection``)."""
    lens = Lens()
    lens.fx = view.scale
    lens.fy = view.scale
    lens.cx = view.center[0]
    lens.cy = view.center[1]
    to = projection_of(lens, placed, near)
    if view.perspective == 0:
        to.w = wp.vec4(0.0, 0.0, 0.0, 1.0)
        to.x = view.scale * wp.vec4(placed[0, 0], placed[0, 1], placed[0, 2], placed[0, 3]) + lens.cx * to.w
        to.y = -view.scale * wp.vec4(placed[1, 0], placed[1, 1], placed[1, 2], placed[1, 3]) + lens.cy * to.w
        to.nearest = 0.0
    return to


@wp.func
def full_box_on(scene: SceneData, view: LightView, lists: WorkLists, row: int, geom: int, triangle: int):
    """The texels that any triangle can cover, near clipping included; empty if its end is before its begin."""
    box = Window()
    box.x1 = -1
    a, b, c = listed_triangle(scene, lists, row, geom, triangle)
    n, p, q, r, s = map_triangles(view, scene.near, a, b, c)
    if n > 0:
        box = pixel_box(whole_map(view), p, q, r)
        if n > 1:
            box = merge(box, pixel_box(whole_map(view), p, r, s))
    return box


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
            placed = placed_at(lists.placed, row, geom)
            corners = corners_at(scene.corner, wp.cast(placed[3, 0], wp.int32) + triangle)
            easy, box = quick_box(projection_on(view, placed, scene.near), corners, whole_map(view), True)
            if not easy:
                box = full_box_on(scene, view, lists, row, geom, triangle)
            if box.x0 <= box.x1 and box.y0 <= box.y1:
                if not hand_on(lists, segment, row, geom, triangle, box):
                    raster_listed(scene, world, view, lists, whole_map(view), row, geom, triangle)


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
