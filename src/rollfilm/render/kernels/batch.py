"""The first stages of a GPU: cull, raster, raster of large triangles by tiles; each over all views of a batch.

Counts stay on the device. Grids have a fixed number of threads that stride over lists, so that a frame can be captured in a graph.
A list that overflows makes its writer do the work itself: slower, never wrong.
"""

import warp as wp

from rollfilm.render.kernels.cull import view_geom, visible_level
from rollfilm.render.kernels.raster import Window, camera_triangle, raster_projected, raster_triangle, screen_triangles
from rollfilm.render.kernels.types import SceneData, ViewBatch, WorldData, layer, surface_key

CLUSTER = wp.constant(64)
TILE = wp.constant(16)  # side of a tile, pixels
LARGE = wp.constant(128)  # pixels in the bounding box above which a triangle is cut into tiles


@wp.struct
class WorkLists:
    """What the stages hand on. Views are counted within the batch."""

    rotation: wp.array2d(dtype=wp.mat33)  # (views, G) camera from geom
    position: wp.array2d(dtype=wp.vec3)
    cluster: wp.array(dtype=wp.vec4i)  # view, geom, first triangle, number of triangles
    tile: wp.array(dtype=wp.vec4i)  # view, geom, triangle, tile (row << 16 | column)
    count: wp.array(dtype=int)  # (2,) clusters, tiles


@wp.func
def full_window(batch: ViewBatch):
    """All pixels of a view."""
    window = Window()
    window.x1 = batch.width - 1
    window.y1 = batch.height - 1
    return window


@wp.kernel(enable_backward=False)
def cull(first_view: int, scene: SceneData, world: WorldData, batch: ViewBatch, lists: WorkLists, vis: wp.array2d(dtype=wp.uint64)):
    """One thread a view and geom: appends the clusters to draw."""
    row, geom = wp.tid()
    mesh = scene.geom_mesh[geom]
    if mesh < 0:
        return
    v = row + first_view
    slot = v // batch.num_worlds
    focal = batch.focal[slot]
    rotation, position = view_geom(world, v - slot * batch.num_worlds, batch.camera[slot], geom)
    level = visible_level(scene, batch, mesh, focal, rotation, position)
    if level < 0:
        return
    lists.rotation[row, geom] = rotation
    lists.position[row, geom] = position
    first = scene.level_first[level]
    count = scene.level_count[level]
    clusters = (count + CLUSTER - 1) // CLUSTER
    start = wp.atomic_add(lists.count, 0, clusters)
    for k in range(clusters):
        triangle = first + k * CLUSTER
        n = wp.min(CLUSTER, first + count - triangle)
        if start + k < lists.cluster.shape[0]:
            lists.cluster[start + k] = wp.vec4i(row, geom, triangle, n)
        else:
            for i in range(triangle, triangle + n):
                raster_triangle(vis, row, scene, batch, full_window(batch), geom, i, focal, rotation, position)


@wp.func
def bounds(batch: ViewBatch, p: wp.vec3, q: wp.vec3, r: wp.vec3):
    """The pixels that a screen triangle can cover; empty if x0 > x1 or y0 > y1."""
    window = Window()
    window.x0 = int(wp.clamp(wp.ceil(wp.min(p[0], wp.min(q[0], r[0])) - 0.5), 0.0, float(batch.width)))
    window.y0 = int(wp.clamp(wp.ceil(wp.min(p[1], wp.min(q[1], r[1])) - 0.5), 0.0, float(batch.height)))
    window.x1 = int(wp.clamp(wp.floor(wp.max(p[0], wp.max(q[0], r[0])) - 0.5), -1.0, float(batch.width - 1)))
    window.y1 = int(wp.clamp(wp.floor(wp.max(p[1], wp.max(q[1], r[1])) - 0.5), -1.0, float(batch.height - 1)))
    return window


@wp.func
def merge(a: Window, b: Window):
    """The smallest window around two."""
    window = Window()
    window.x0 = wp.min(a.x0, b.x0)
    window.y0 = wp.min(a.y0, b.y0)
    window.x1 = wp.max(a.x1, b.x1)
    window.y1 = wp.max(a.y1, b.y1)
    return window


@wp.func
def append_tiles(lists: WorkLists, row: int, geom: int, triangle: int, window: Window):
    """Cut a triangle's window into tile jobs; false if the list is full."""
    c0 = window.x0 // TILE
    r0 = window.y0 // TILE
    columns = window.x1 // TILE - c0 + 1
    rows = window.y1 // TILE - r0 + 1
    start = wp.atomic_add(lists.count, 1, columns * rows)
    if start + columns * rows > lists.tile.shape[0]:
        # the jobs of this triangle that still have a place in the list do nothing
        for k in range(start, wp.min(start + columns * rows, lists.tile.shape[0])):
            lists.tile[k] = wp.vec4i(-1, 0, 0, 0)
        return False
    for r in range(rows):
        for c in range(columns):
            lists.tile[start + r * columns + c] = wp.vec4i(row, geom, triangle, ((r0 + r) << 16) | (c0 + c))
    return True


@wp.kernel(enable_backward=False)
def raster_clusters(first_view: int, workers: int, scene: SceneData, batch: ViewBatch, lists: WorkLists, vis: wp.array2d(dtype=wp.uint64)):
    """``workers`` groups of 64 threads stride over the clusters, one thread a triangle."""
    worker, lane = wp.tid()
    total = wp.min(lists.count[0], lists.cluster.shape[0])
    k = int(worker)
    while k < total:
        item = lists.cluster[k]
        k += workers
        if lane < item[3]:
            row = item[0]
            geom = item[1]
            triangle = item[2] + lane
            focal = batch.focal[(row + first_view) // batch.num_worlds]
            a, b, c = camera_triangle(scene, scene.geom_mesh[geom], triangle, lists.rotation[row, geom], lists.position[row, geom])
            n, p, q, r, s = screen_triangles(scene.near, focal, batch, a, b, c)
            if n > 0:
                window = bounds(batch, p, q, r)
                if n > 1:
                    window = merge(window, bounds(batch, p, r, s))
                w = window.x1 - window.x0 + 1
                h = window.y1 - window.y0 + 1
                if w > 0 and h > 0:
                    handed_on = bool(False)
                    if w * h > LARGE:
                        handed_on = append_tiles(lists, row, geom, triangle, window)
                    if not handed_on:
                        key = surface_key(geom, triangle)
                        raster_projected(vis, row, batch.width, window, key, layer(geom), p, q, r)
                        if n > 1:
                            raster_projected(vis, row, batch.width, window, key, layer(geom), p, r, s)


@wp.kernel(enable_backward=False)
def raster_tiles(first_view: int, workers: int, scene: SceneData, batch: ViewBatch, lists: WorkLists, vis: wp.array2d(dtype=wp.uint64)):
    """``workers`` groups of 32 threads stride over the tiles, one thread half a row of pixels."""
    worker, lane = wp.tid()
    total = wp.min(lists.count[1], lists.tile.shape[0])
    k = int(worker)
    while k < total:
        item = lists.tile[k]
        k += workers
        row = item[0]
        if row >= 0:
            geom = item[1]
            triangle = item[2]
            window = Window()
            window.x0 = (item[3] & 65535) * TILE + (lane & 1) * (TILE // 2)
            window.x1 = wp.min(window.x0 + TILE // 2, batch.width) - 1
            window.y0 = (item[3] >> 16) * TILE + (lane >> 1)
            window.y1 = wp.min(window.y0, batch.height - 1)
            focal = batch.focal[(row + first_view) // batch.num_worlds]
            raster_triangle(vis, row, scene, batch, window, geom, triangle, focal, lists.rotation[row, geom], lists.position[row, geom])
