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
from rollfilm.render.kernels.types import Lens, SceneData, ViewBatch, WorldData, layer, surface_key, view_lens

# Approximate division and square root move an edge by a millionth of a pixel.
wp.set_module_options({"fast_math": True})

# Triangles that threads side by side take together.
CLUSTER = wp.constant(32)
TILE = wp.constant(32)  # side of a tile, pixels: a row for each of the threads that draw it
TINY = wp.constant(24)  # pixels in the bounding box up to which a triangle is small
LARGE = wp.constant(192)  # and above which it is cut into tiles

# Every list is cut into segments with a counter each: a single one, counted up by every thread, would be waited for.
SEGMENTS = wp.constant(64)
CLUSTERS = wp.constant(0)
SMALL = wp.constant(1)
TILES = wp.constant(2)
PIXELS = wp.constant(3)
MEDIUM = wp.constant(4)


@wp.struct
class WorkLists:
    """What the stages hand on. Views are counted within the batch; lists are (SEGMENTS, capacity)."""

    # (views, G) rows: rotation and position in the camera's frame; the first triangle of its mesh, counted over all meshes, as bits
    placed: wp.array2d(dtype=wp.mat44)
    lens: wp.array(dtype=Lens)  # (views,)
    cluster: wp.array2d(dtype=wp.vec4i)  # view, geom, first triangle within its mesh, number of triangles
    small: wp.array2d(dtype=wp.vec3i)  # view, geom, triangle: of few pixels
    medium: wp.array2d(dtype=wp.vec3i)  # of more; threads side by side take as long as the slowest
    tile: wp.array2d(dtype=wp.vec4i)  # view, geom, triangle, tile (row << 16 | column)
    pixel: wp.array2d(dtype=int)  # pixels that show a mesh, counted over the views of the visibility buffer
    count: wp.array3d(dtype=int)  # (5, SEGMENTS, 32): entries of each list; a counter fills a cache line of its own


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
    at = wp.cast(scene.mesh_triangle[mesh], wp.float32)
    lists.placed[row, geom] = wp.mat44(
        rotation[0, 0], rotation[0, 1], rotation[0, 2], position[0],
        rotation[1, 0], rotation[1, 1], rotation[1, 2], position[1],
        rotation[2, 0], rotation[2, 1], rotation[2, 2], position[2],
        at, 0.0, 0.0, 0.0,
    )  # fmt: skip
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


@wp.func_native("""
#if defined(__CUDA_ARCH__)
    // sixteen bytes at a time
    const float4* const at = (const float4*)((const char*)placed.data + row * (size_t)placed.strides[0]) + 4 * geom;
    const float4 a = at[0], b = at[1], c = at[2], d = at[3];
    return wp::mat_t<4, 4, float>(a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w, c.x, c.y, c.z, c.w, d.x, d.y, d.z, d.w);
#else
    return placed.data[row * (size_t)placed.shape[1] + geom];
#endif
""")
def placed_at(placed: wp.array2d(dtype=wp.mat44), row: int, geom: int) -> wp.mat44:
    """Where a geom is (``WorkLists.placed``)."""


@wp.func
def listed_triangle(scene: SceneData, lists: WorkLists, row: int, geom: int, triangle: int):
    """The corners of a triangle of a geom that was listed, as the view sees it (``raster.camera_triangle``)."""
    m = placed_at(lists.placed, row, geom)
    rotation = wp.mat33(m[0, 0], m[0, 1], m[0, 2], m[1, 0], m[1, 1], m[1, 2], m[2, 0], m[2, 1], m[2, 2])
    first = wp.cast(m[3, 0], wp.int32)
    a, b, c = camera_triangle(scene, first + triangle, rotation, wp.vec3(m[0, 3], m[1, 3], m[2, 3]))
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


@wp.func_native("""
#if defined(__CUDA_ARCH__)
    // one lane's after the other's, all lanes of the warp writing
    const unsigned lanes = __activemask();
    const int rank = __popc(lanes & ((1u << (threadIdx.x & 31u)) - 1u));
    for (unsigned left = lanes; left != 0; left &= left - 1) {
        const int whose = __ffs(left) - 1;
        const int from = __shfl_sync(lanes, first, whose), to = __shfl_sync(lanes, last, whose), wide = __shfl_sync(lanes, columns, whose);
        const int4 item = {__shfl_sync(lanes, row, whose), __shfl_sync(lanes, geom, whose), __shfl_sync(lanes, triangle, whose), 0};
        const int corner = __shfl_sync(lanes, (r0 << 16) | c0, whose);
        const int list = __shfl_sync(lanes, segment, whose);
        int4* const out = (int4*)((char*)tile.data + list * (size_t)tile.strides[0]);
        for (int k = rank; k < to - from; k += __popc(lanes))
            out[from + k] = {item.x, item.y, item.z, corner + ((k / wide) << 16) + k % wide};
    }
#else
    for (int k = 0; k < last - first; ++k)
        tile.data[segment * (size_t)tile.shape[1] + first + k]
            = wp::vec_t<4, wp::int32>(row, geom, triangle, ((r0 + k / columns) << 16) | (c0 + k % columns));
#endif
""")
def store_tiles(
    tile: wp.array2d(dtype=wp.vec4i),
    segment: int,
    first: int,
    last: int,
    row: int,
    geom: int,
    triangle: int,
    r0: int,
    c0: int,
    columns: int,
):
    """Tile jobs of a triangle, row after row of tiles from (r0, c0) on, into places ``first`` to ``last`` of a list."""


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
    # the jobs of a triangle that finds no place any more do nothing
    fits = start + columns * rows <= lists.tile.shape[1]
    last = wp.min(start + columns * rows, lists.tile.shape[1])
    store_tiles(lists.tile, segment, start, last, wp.where(fits, row, -1), geom, triangle, r0, c0, columns)
    return fits


@wp.func_native("""
#if defined(__CUDA_ARCH__)
    // one count for all lanes of a warp that are here
    const unsigned lanes = __activemask();
    const unsigned lane = threadIdx.x & 31u;
    const int leader = __ffs(lanes) - 1;
    int at = 0;
    if ((int)lane == leader)
        at = atomicAdd(&count.data[segment * 32], __popc(lanes));
    return __shfl_sync(lanes, at, leader) + __popc(lanes & ((1u << lane) - 1u));
#else
    return count.data[segment * 32]++;
#endif
""")
def next_place(count: wp.array2d(dtype=int), segment: int) -> int:
    """A place in a segment of a list; threads of a warp must ask for the same segment."""


@wp.func
def append_triangle(list: wp.array2d(dtype=wp.vec3i), count: wp.array2d(dtype=int), segment: int, row: int, geom: int, triangle: int):
    """Append a triangle to a list; false if the segment is full."""
    start = next_place(count, segment)
    if start >= list.shape[1]:
        return False
    list[segment, start] = wp.vec3i(row, geom, triangle)
    return True


@wp.func
def hand_on(lists: WorkLists, segment: int, row: int, geom: int, triangle: int, box: Window):
    """Append a triangle to a list by the size of its box; false if the segment is full."""
    size = (box.x1 - box.x0 + 1) * (box.y1 - box.y0 + 1)
    if size <= TINY:
        return append_triangle(lists.small, lists.count[SMALL], segment, row, geom, triangle)
    if size <= LARGE:
        return append_triangle(lists.medium, lists.count[MEDIUM], segment, row, geom, triangle)
    return append_tiles(lists, segment, row, geom, triangle, box)


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
            second = make_screen_triangle(window, r, s, p)
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
def tile_row(whole: Window, tile: int, lane: int):
    """A row of a tile, as far as it lies in a window that begins at the origin: what one of 32 threads draws."""
    window = Window()
    window.x0 = (tile & 65535) * TILE
    window.x1 = wp.min(window.x0 + TILE - 1, whole.x1)
    window.y0 = (tile >> 16) * TILE + lane
    window.y1 = wp.min(window.y0, whole.y1)
    return window


@wp.kernel(enable_backward=False)
def select_triangles(workers: int, scene: SceneData, batch: ViewBatch, lists: WorkLists, vis: wp.array2d(dtype=wp.uint64)):
    """``workers`` groups of 32 threads stride over the clusters, one thread a triangle: hands on those that cover a pixel."""
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
def raster_small(
    workers: int,
    list: wp.array2d(dtype=wp.vec3i),
    count: wp.array2d(dtype=int),
    scene: SceneData,
    batch: ViewBatch,
    lists: WorkLists,
    vis: wp.array2d(dtype=wp.uint64),
):
    """``workers`` groups of 64 threads stride over a list of triangles, one thread each."""
    worker, lane = wp.tid()
    segment = worker % SEGMENTS
    total = wp.min(count[segment, 0], list.shape[1])
    k = (worker // SEGMENTS) * 64 + lane
    while k < total:
        item = list[segment, k]
        k += (workers // SEGMENTS) * 64
        raster_whole(vis, scene, batch, lists, full_window(batch), item[0], item[1], item[2])


@wp.kernel(enable_backward=False)
def raster_tiles(workers: int, scene: SceneData, batch: ViewBatch, lists: WorkLists, vis: wp.array2d(dtype=wp.uint64)):
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
            raster_whole(vis, scene, batch, lists, window, item[0], item[1], item[2])
