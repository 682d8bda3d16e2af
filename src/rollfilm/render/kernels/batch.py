"""The first stages of a GPU, each over all views of a batch: cull, select the triangles that cover a pixel, raster them.

Few triangles of a cluster cover a pixel: the others are sorted out first, so that threads side by side all have something to draw.

Counts stay on the device. Grids have a fixed number of threads that stride over lists, so that a frame can be captured in a graph.
A list that overflows makes its writer do the work itself: slower, never wrong.
"""

import warp as wp

from rollfilm.render.kernels.cull import drawn_geom, visible_level
from rollfilm.render.kernels.raster import (
    Window,
    camera_triangle,
    make_screen_triangle,
    pixel_box,
    raster_box,
    raster_triangle,
    screen_triangles,
)
from rollfilm.render.kernels.types import CLUSTER_SIZE, Lens, SceneData, ViewBatch, WorldData, layer, surface_key, view_lens

# Approximate division and square root move an edge by a millionth of a pixel.
wp.set_module_options({"fast_math": True})

CLUSTER = wp.constant(CLUSTER_SIZE)
TILE = wp.constant(16)  # side of a tile, pixels
LARGE = wp.constant(192)  # pixels in the bounding box above which a triangle is cut into tiles

# Every list is cut into segments with a counter each: a single one, counted up by every thread, would be waited for.
SEGMENTS = wp.constant(32)
CLUSTERS = wp.constant(0)
SMALL = wp.constant(1)
TILES = wp.constant(2)


@wp.struct
class WorkLists:
    """What the stages hand on. Views are counted within the batch; lists are (SEGMENTS, capacity)."""

    rotation: wp.array2d(dtype=wp.mat33)  # (views, G) camera from geom
    position: wp.array2d(dtype=wp.vec4)  # (views, G), the last number is not used
    lens: wp.array(dtype=Lens)  # (views,)
    first: wp.array2d(dtype=int)  # (views, G) the first triangle of its mesh, counted over all meshes
    cluster: wp.array2d(dtype=wp.vec4i)  # view, geom, first triangle within its mesh, number of triangles
    small: wp.array2d(dtype=wp.vec3i)  # view, geom, triangle
    tile: wp.array2d(dtype=wp.vec4i)  # view, geom, triangle, tile (row << 16 | column)
    count: wp.array3d(dtype=int)  # (3, SEGMENTS, 32): entries of each list; a counter fills a cache line of its own


@wp.func
def full_window(batch: ViewBatch):
    """All pixels of a view."""
    window = Window()
    window.x1 = batch.width - 1
    window.y1 = batch.height - 1
    return window


@wp.func
def append_clusters(scene: SceneData, lists: WorkLists, row: int, geom: int, mesh: int, level: int, rotation: wp.mat33, position: wp.vec3):
    """List a geom to be drawn at a level of detail: the triangles within its mesh, as begin and end, that found no place any more."""
    lists.rotation[row, geom] = rotation
    lists.position[row, geom] = wp.vec4(position[0], position[1], position[2], 0.0)
    lists.first[row, geom] = scene.mesh_triangle[mesh]
    first = scene.level_first[level]
    end = first + scene.level_count[level]
    clusters = (end - first + CLUSTER - 1) // CLUSTER
    segment = (row + geom) % SEGMENTS
    start = wp.atomic_add(lists.count, CLUSTERS, segment, 0, clusters)
    listed = wp.clamp(lists.cluster.shape[1] - start, 0, clusters)
    for k in range(listed):
        triangle = first + k * CLUSTER
        lists.cluster[segment, start + k] = wp.vec4i(row, geom, triangle, wp.min(CLUSTER, end - triangle))
    return wp.min(first + listed * CLUSTER, end), end


@wp.func
def listed_triangle(scene: SceneData, lists: WorkLists, row: int, geom: int, triangle: int):
    """The corners of a triangle of a geom that was listed, as the view sees it (``raster.camera_triangle``)."""
    placed = lists.position[row, geom]
    position = wp.vec3(placed[0], placed[1], placed[2])
    a, b, c = camera_triangle(scene, lists.first[row, geom] + triangle, lists.rotation[row, geom], position)
    return a, b, c


@wp.kernel(enable_backward=False)
def cull(first_view: int, scene: SceneData, world: WorldData, batch: ViewBatch, lists: WorkLists, vis: wp.array2d(dtype=wp.uint64)):
    """One thread a view and geom: appends the clusters to draw."""
    row, geom = wp.tid()
    v = row + first_view
    slot = v // batch.num_worlds
    w = v - slot * batch.num_worlds
    mesh = scene.geom_mesh[w, geom]
    if mesh < 0 or world.active[w] == 0 or (batch.opaque_only == 1 and scene.geom_alpha[w, geom] < 1.0):
        return
    lens = view_lens(batch, slot, w)
    rotation, position = drawn_geom(world, batch, w, slot, geom)
    level = visible_level(scene, batch, mesh, scene.geom_stretch[w, geom], lens, rotation, position)
    if level < 0:
        return
    lists.lens[row] = lens  # the same from every geom
    left, end = append_clusters(scene, lists, row, geom, mesh, level, rotation, position)
    for i in range(left, end):
        raster_triangle(vis, row, scene, batch, full_window(batch), geom, scene.mesh_triangle[mesh], i, lens, rotation, position)


@wp.func
def append_tiles(lists: WorkLists, segment: int, row: int, geom: int, triangle: int, window: Window):
    """Cut a triangle's window into tile jobs; false if the segment is full."""
    c0 = window.x0 // TILE
    r0 = window.y0 // TILE
    columns = window.x1 // TILE - c0 + 1
    rows = window.y1 // TILE - r0 + 1
    # a counter that nobody pushes far beyond its list cannot overflow
    if columns * rows > lists.tile.shape[1] or lists.count[TILES, segment, 0] > lists.tile.shape[1]:
        return False
    start = wp.atomic_add(lists.count, TILES, segment, 0, columns * rows)
    if start + columns * rows > lists.tile.shape[1]:
        # the jobs of this triangle that still have a place in the list do nothing
        for k in range(start, wp.min(start + columns * rows, lists.tile.shape[1])):
            lists.tile[segment, k] = wp.vec4i(-1, 0, 0, 0)
        return False
    for r in range(rows):
        for c in range(columns):
            lists.tile[segment, start + r * columns + c] = wp.vec4i(row, geom, triangle, ((r0 + r) << 16) | (c0 + c))
    return True


@wp.func
def append_small(lists: WorkLists, segment: int, row: int, geom: int, triangle: int):
    """Append a small triangle; false if the segment is full."""
    start = wp.atomic_add(lists.count, SMALL, segment, 0, 1)
    if start >= lists.small.shape[1]:
        return False
    lists.small[segment, start] = wp.vec3i(row, geom, triangle)
    return True


@wp.func
def hand_on(lists: WorkLists, segment: int, row: int, geom: int, triangle: int, box: Window):
    """Append a triangle to a list by the size of its box; false if the segment is full."""
    if (box.x1 - box.x0 + 1) * (box.y1 - box.y0 + 1) > LARGE:
        return append_tiles(lists, segment, row, geom, triangle, box)
    return append_small(lists, segment, row, geom, triangle)


@wp.func
def screen_triangles_of(scene: SceneData, lists: WorkLists, row: int, geom: int, triangle: int):
    """A triangle of a mesh on the screen of a view (``raster.screen_triangles``)."""
    a, b, c = listed_triangle(scene, lists, row, geom, triangle)
    n, p, q, r, s = screen_triangles(scene.near, lists.lens[row], a, b, c)
    return n, p, q, r, s


@wp.func
def raster_whole(
    vis: wp.array2d(dtype=wp.uint64),
    scene: SceneData,
    batch: ViewBatch,
    lists: WorkLists,
    window: Window,
    row: int,
    geom: int,
    triangle: int,
):
    """What a triangle covers of a window, near clipping included."""
    key = surface_key(geom, triangle)
    n, p, q, r, s = screen_triangles_of(scene, lists, row, geom, triangle)
    if n > 0:
        first = make_screen_triangle(window, p, q, r)
        if first.front == 1:
            raster_box(vis, row, batch.width, first, key, layer(geom))
        if n > 1:
            second = make_screen_triangle(window, p, r, s)
            if second.front == 1:
                raster_box(vis, row, batch.width, second, key, layer(geom))


@wp.func
def merge(a: Window, b: Window):
    """The smallest window around two; an empty one counts for nothing."""
    if b.x0 > b.x1 or b.y0 > b.y1:
        return a
    if a.x0 > a.x1 or a.y0 > a.y1:
        return b
    window = Window()
    window.x0 = wp.min(a.x0, b.x0)
    window.y0 = wp.min(a.y0, b.y0)
    window.x1 = wp.max(a.x1, b.x1)
    window.y1 = wp.max(a.y1, b.y1)
    return window


@wp.func
def half_row(whole: Window, tile: int, lane: int):
    """Half a row of a tile, as far as it lies in a window that begins at the origin: what one of 32 threads draws."""
    window = Window()
    window.x0 = (tile & 65535) * TILE + (lane & 1) * (TILE // 2)
    window.x1 = wp.min(window.x0 + TILE // 2 - 1, whole.x1)
    window.y0 = (tile >> 16) * TILE + (lane >> 1)
    window.y1 = wp.min(window.y0, whole.y1)
    return window


@wp.kernel(enable_backward=False)
def select_triangles(workers: int, scene: SceneData, batch: ViewBatch, lists: WorkLists, vis: wp.array2d(dtype=wp.uint64)):
    """``workers`` groups of 64 threads stride over the clusters, one thread a triangle: hands on those that cover a pixel."""
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
            n, p, q, r, s = screen_triangles_of(scene, lists, row, geom, triangle)
            if n > 0:
                box = pixel_box(full_window(batch), p, q, r)
                if n > 1:
                    box = merge(box, pixel_box(full_window(batch), p, r, s))
                if box.x0 <= box.x1 and box.y0 <= box.y1:
                    if not hand_on(lists, segment, row, geom, triangle, box):
                        raster_whole(vis, scene, batch, lists, full_window(batch), row, geom, triangle)


@wp.kernel(enable_backward=False)
def raster_small(workers: int, scene: SceneData, batch: ViewBatch, lists: WorkLists, vis: wp.array2d(dtype=wp.uint64)):
    """``workers`` groups of 64 threads stride over the small triangles, one thread each."""
    worker, lane = wp.tid()
    segment = worker % SEGMENTS
    total = wp.min(lists.count[SMALL, segment, 0], lists.small.shape[1])
    k = (worker // SEGMENTS) * 64 + lane
    while k < total:
        item = lists.small[segment, k]
        k += (workers // SEGMENTS) * 64
        raster_whole(vis, scene, batch, lists, full_window(batch), item[0], item[1], item[2])


@wp.kernel(enable_backward=False)
def raster_tiles(workers: int, scene: SceneData, batch: ViewBatch, lists: WorkLists, vis: wp.array2d(dtype=wp.uint64)):
    """``workers`` groups of 32 threads stride over the tiles, one thread half a row of pixels."""
    worker, lane = wp.tid()
    segment = worker % SEGMENTS
    total = wp.min(lists.count[TILES, segment, 0], lists.tile.shape[1])
    k = worker // SEGMENTS
    while k < total:
        item = lists.tile[segment, k]
        k += workers // SEGMENTS
        if item[0] >= 0:
            window = half_row(full_window(batch), item[3], lane)
            raster_whole(vis, scene, batch, lists, window, item[0], item[1], item[2])
