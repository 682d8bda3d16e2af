"""The first stages of a GPU, each over all views of a batch: cull, select the triangles that cover a pixel, raster them.

Few triangles of a cluster cover a pixel: the others are sorted out first, so that threads side by side all have something to draw.

Counts stay on the device. Grids have a fixed number of threads that stride over lists, so that a frame can be captured in a graph.
A list that overflows makes its writer do the work itself: slower, never wrong.
"""

import warp as wp

from rollfilm.render.kernels.cull import drawn_geom, visible_level
from rollfilm.render.kernels.power import fused
from rollfilm.render.kernels.raster import (
    Window,
    camera_triangle,
    corners_at,
    make_screen_triangle,
    pixel_box,
    pixel_from,
    pixel_to,
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
SLACK = wp.constant(0.01)  # pixels that a quick projection may be wrong by
FAR_OUT = wp.constant(8192.0)  # pixels beside the picture from where on it may be more

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
    tile: wp.array2d(dtype=wp.vec4i)  # view, geom, triangle, first pixel (y << 16 | x)
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


@wp.func_native(
    """
#if defined(__CUDA_ARCH__)
    // one lane's after the other's, all lanes of the warp writing
    const unsigned lanes = __activemask();
    const int rank = __popc(lanes & ((1u << (threadIdx.x & 31u)) - 1u));
    for (unsigned left = lanes; left != 0; left &= left - 1) {
        const int whose = __ffs(left) - 1;
        const int from = __shfl_sync(lanes, first, whose), to = __shfl_sync(lanes, last, whose), wide = __shfl_sync(lanes, columns, whose);
        const int4 item = {__shfl_sync(lanes, row, whose), __shfl_sync(lanes, geom, whose), __shfl_sync(lanes, triangle, whose), 0};
        const int corner = __shfl_sync(lanes, (y0 << 16) | x0, whose);
        const int list = __shfl_sync(lanes, segment, whose);
        int4* const out = (int4*)((char*)tile.data + list * (size_t)tile.strides[0]);
        for (int k = rank; k < to - from; k += __popc(lanes))
            out[from + k] = {item.x, item.y, item.z, corner + ((k / wide) << 16) * SIDE + k % wide * SIDE};
    }
#else
    for (int k = 0; k < last - first; ++k)
        tile.data[segment * (size_t)tile.shape[1] + first + k]
            = wp::vec_t<4, wp::int32>(row, geom, triangle, ((y0 + k / columns * SIDE) << 16) | (x0 + k % columns * SIDE));
#endif
""".replace("SIDE", str(TILE))
)
def store_tiles(
    tile: wp.array2d(dtype=wp.vec4i),
    segment: int,
    first: int,
    last: int,
    row: int,
    geom: int,
    triangle: int,
    y0: int,
    x0: int,
    columns: int,
):
    """Tile jobs of a triangle, row after row of tiles from pixel (y0, x0) on, into places ``first`` to ``last`` of a list."""


@wp.func
def append_tiles(lists: WorkLists, segment: int, row: int, geom: int, triangle: int, window: Window):
    """Cut a triangle's window into tile jobs, the first in its corner; false if the segment is full."""
    columns = (window.x1 - window.x0) // TILE + 1
    rows = (window.y1 - window.y0) // TILE + 1
    # a counter that nobody pushes far beyond its list cannot overflow
    if columns * rows > lists.tile.shape[1] or lists.count[TILES, segment, 0] > lists.tile.shape[1]:
        return False
    start = wp.atomic_add(lists.count, TILES, segment, 0, columns * rows)
    # the jobs of a triangle that finds no place any more do nothing
    fits = start + columns * rows <= lists.tile.shape[1]
    last = wp.min(start + columns * rows, lists.tile.shape[1])
    store_tiles(lists.tile, segment, start, last, wp.where(fits, row, -1), geom, triangle, window.y0, window.x0, columns)
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
    window.x0 = tile & 65535
    window.x1 = wp.min(window.x0 + TILE - 1, whole.x1)
    window.y0 = (tile >> 16) + lane
    window.y1 = wp.min(window.y0, whole.y1)
    return window


@wp.struct
class Projection:
    """From a mesh's frame to the screen, quick and nearly right: x and y in pixels times w, and w, which is the depth."""

    x: wp.vec4
    y: wp.vec4
    w: wp.vec4
    nearest: float  # what is nearer is not to be projected so


@wp.func
def projection_of(lens: Lens, placed: wp.mat44, near: float):
    """For a placed geom; nothing can be projected so for an orthographic camera."""
    to = Projection()
    to.w = -wp.vec4(placed[2, 0], placed[2, 1], placed[2, 2], placed[2, 3])
    to.x = lens.fx * wp.vec4(placed[0, 0], placed[0, 1], placed[0, 2], placed[0, 3]) + lens.cx * to.w
    to.y = -lens.fy * wp.vec4(placed[1, 0], placed[1, 1], placed[1, 2], placed[1, 3]) + lens.cy * to.w
    # near by, the digits that a far origin costs become pixels
    far = wp.abs(placed[0, 3]) + wp.abs(placed[1, 3]) + wp.abs(placed[2, 3])
    to.nearest = wp.max(1.001 * near, 1.0e-4 * wp.max(lens.fx, lens.fy) * far)
    if lens.flat == 1:
        to.nearest = FAR_OUT
    return to


@wp.func
def along(row: wp.vec4, p: wp.vec3):
    """A row of a projection times a point."""
    return fused(row[2], p[2], fused(row[1], p[1], fused(row[0], p[0], row[3])))


@wp.func
def quick_box(to: Projection, corners: wp.mat33, window: Window, both_faces: bool):
    """Whether a triangle was easy to tell, and the pixels of a window that it can cover: more rather than fewer, by ``SLACK``.

    Triangles are easy that lie before the camera as a whole and not far beside the picture. Those seen from behind cover nothing.
    """
    box = Window()
    box.x1 = -1
    a = wp.vec3(corners[0, 0], corners[0, 1], corners[0, 2])
    b = wp.vec3(corners[1, 0], corners[1, 1], corners[1, 2])
    c = wp.vec3(corners[2, 0], corners[2, 1], corners[2, 2])
    w = wp.vec3(along(to.w, a), along(to.w, b), along(to.w, c))
    if wp.min(w[0], wp.min(w[1], w[2])) < to.nearest:
        return False, box
    inverse = wp.vec3(1.0 / w[0], 1.0 / w[1], 1.0 / w[2])
    x = wp.cw_mul(wp.vec3(along(to.x, a), along(to.x, b), along(to.x, c)), inverse)
    y = wp.cw_mul(wp.vec3(along(to.y, a), along(to.y, b), along(to.y, c)), inverse)
    x0 = wp.min(x[0], wp.min(x[1], x[2]))
    x1 = wp.max(x[0], wp.max(x[1], x[2]))
    y0 = wp.min(y[0], wp.min(y[1], y[2]))
    y1 = wp.max(y[0], wp.max(y[1], y[2]))
    if wp.min(x0, y0) < -FAR_OUT or wp.max(x1, y1) > FAR_OUT:
        return False, box
    area = (x[1] - x[0]) * (y[2] - y[0]) - (y[1] - y[0]) * (x[2] - x[0])
    if both_faces or area < SLACK * ((x1 - x0) + (y1 - y0)):
        box.x0 = wp.max(window.x0, pixel_from(x0 - SLACK))
        box.x1 = wp.min(window.x1, pixel_to(x1 + SLACK))
        box.y0 = wp.max(window.y0, pixel_from(y0 - SLACK))
        box.y1 = wp.min(window.y1, pixel_to(y1 + SLACK))
    return True, box


@wp.func
def full_box(scene: SceneData, batch: ViewBatch, lists: WorkLists, row: int, geom: int, triangle: int):
    """The pixels that any triangle can cover, near clipping included; empty if its end is before its begin."""
    box = Window()
    box.x1 = -1
    n, p, q, r, s = screen_triangles_of(scene, lists, row, geom, triangle)
    if n > 0:
        box = pixel_box(full_window(batch), p, q, r)
        if n > 1:
            box = merge(box, pixel_box(full_window(batch), p, r, s))
    return box


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
            placed = placed_at(lists.placed, row, geom)
            to = projection_of(lists.lens[row], placed, scene.near)
            corners = corners_at(scene.corner, wp.cast(placed[3, 0], wp.int32) + triangle)
            easy, box = quick_box(to, corners, full_window(batch), False)
            if not easy:
                box = full_box(scene, batch, lists, row, geom, triangle)
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
