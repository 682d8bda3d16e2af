"""One thread a view, from culling to pictures: how a CPU renders. Each host thread works on its own row of the visibility buffer."""

from functools import cache

import warp as wp

from rollfilm.cpu_flags import VECTOR_FLAGS
from rollfilm.render.kernels.cull import drawn_geom, visible_level
from rollfilm.render.kernels.features import Features
from rollfilm.render.kernels.measure import chunk_measuring
from rollfilm.render.kernels.plane_row import take_keys
from rollfilm.render.kernels.raster import Window, raster_triangle
from rollfilm.render.kernels.raster_many import MANY, draw_waiting, room_left, sort_out
from rollfilm.render.kernels.shade import Plane, Surface, make_eye, meets_plane, pixel_ray, seen_depth, seen_id, shading, sight
from rollfilm.render.kernels.shade_row import ROW_CHUNK, ChunkOfFloats, ChunkOfInts, ChunkOfKeys, chunk_shading, expect_bytes, sort_keys
from rollfilm.render.kernels.types import EMPTY_KEY, Pictures, SceneData, ViewBatch, WorldData, layer, surface_key, view_lens
from rollfilm.render.kernels.veil import Horizon, make_horizon


@wp.func
def raster_view(
    vis: wp.array2d(dtype=wp.uint64),
    touched: wp.array(dtype=wp.uint8),
    waiting: wp.array(dtype=float),
    row: int,
    scene: SceneData,
    world: WorldData,
    batch: ViewBatch,
    window: Window,
    v: int,
):
    """All triangles that a view sees into one row of the visibility buffer; 1 if more than ``touched`` says was written to."""
    more = int(0)
    slot = v // batch.num_worlds
    w = v - slot * batch.num_worlds
    lens = view_lens(batch, slot, w)
    for geom in range(batch.num_geoms):
        mesh = scene.geom_mesh[w, geom]
        if mesh >= 0 and (batch.opaque_only == 0 or scene.geom_alpha[w, geom] == 1.0):
            rotation, position = drawn_geom(world, batch, w, slot, geom)
            level = visible_level(scene, batch, mesh, scene.geom_stretch[w, geom], lens, rotation, position)
            if level >= 0:
                mesh_first = scene.mesh_triangle[mesh]
                first = scene.level_first[level]
                end = first + scene.level_count[level]
                triangle = int(first)
                while triangle < end:
                    if room_left(waiting) < MANY:
                        draw_waiting(vis, touched, waiting, row, batch.width, lens.flat)
                    clipped = sort_out(
                        waiting,
                        scene.corner,
                        mesh_first + triangle,
                        wp.min(MANY, end - triangle),
                        rotation,
                        position,
                        lens.fx,
                        lens.fy,
                        lens.cx,
                        lens.cy,
                        lens.flat,
                        scene.near,
                        window.x0,
                        window.y0,
                        window.x1,
                        window.y1,
                        surface_key(geom, triangle),
                        layer(geom),
                    )
                    if clipped != wp.uint64(0):
                        more = 1
                    cut = int(triangle)
                    while clipped != wp.uint64(0):
                        if (clipped & wp.uint64(1)) == wp.uint64(1):
                            raster_triangle(vis, row, scene, batch, window, geom, mesh_first, cut, lens, rotation, position)
                        clipped = clipped >> wp.uint64(1)
                        cut += 1
                    triangle += MANY
    draw_waiting(vis, touched, waiting, row, batch.width, lens.flat)
    return more


# rows of 64 columns that are shaded before the next 64 columns
ROW_BLOCK = wp.constant(16)


@cache
def whole_view_kernel(features: Features):
    """The kernel for these features."""
    shade_ground, shade_surfaces, shade_plane, _, _, hazy, Ground, make_ground = chunk_shading(features)
    load_surface, _ = shading(features, hardware=False)
    measure_chunk = chunk_measuring(features)
    make_plane, plane_key, _, _ = sight(features)

    @wp.kernel(enable_backward=False, module="unique", module_options={"cpu_compiler_flags": VECTOR_FLAGS})
    def film_view(
        first_view: int,
        bands: int,
        row: int,
        scene: SceneData,
        world: WorldData,
        batch: ViewBatch,
        vis: wp.array2d(dtype=wp.uint64),
        touched: wp.array(dtype=wp.uint8),
        triangles: wp.array(dtype=float),
        left_out: wp.array(dtype=int),
        pictures: Pictures,
    ):
        """A view, or one of ``bands`` horizontal bands of it. The buffers come and go empty.

        ``left_out`` becomes 1 if the view is not coloured here.
        """
        job = first_view + wp.tid()
        v = job // bands
        band = job - v * bands
        if world.active[v % batch.num_worlds] == 0:
            return
        window = Window()
        window.x1 = batch.width - 1
        window.y0 = band * batch.height // bands
        window.y1 = (band + 1) * batch.height // bands - 1
        more = raster_view(vis, touched, triangles, row, scene, world, batch, window, v)
        eye = make_eye(world, batch, v)
        plane = Plane()
        floor = Surface()
        ground = Ground()
        horizon = Horizon()
        if wp.static(features.haze or features.fog):
            horizon = make_horizon(scene, world, eye)
        floor_key = EMPTY_KEY
        if wp.static(features.planes > 0):
            plane = make_plane(scene, world, eye, scene.plane[0])
            if wp.static(features.rgb and features.planes == 1 and not features.flat):
                floor_key = surface_key(scene.plane[0], 0)
                floor = load_surface(scene, world, eye, floor_key)
                ground = make_ground(scene, world, eye, plane, floor)
                if floor.cube == 1:
                    floor_key = EMPTY_KEY
        # who sees a plane from behind is coloured by another kernel (``composite_view``)
        colored = plane.seen != -1
        if wp.static(features.planes > 1):
            for p in range(1, scene.plane.shape[0]):
                other = make_plane(scene, world, eye, scene.plane[p])
                colored = colored and other.seen != -1
        if not colored:
            left_out[0] = 1
        chunks = (batch.width + ROW_CHUNK - 1) // ROW_CHUNK
        # pixels of meshes wait until there are many to shade side by side
        waiting = ChunkOfKeys()
        waiting_x = ChunkOfFloats()
        waiting_y = ChunkOfFloats()
        waiting_at = ChunkOfInts()
        waiting_misty = bool(False)
        num_waiting = int(0)
        # in blocks: neighbouring rows see the same texels and triangles, which the cache still holds
        parts = ((window.y1 - window.y0) // ROW_BLOCK + 1) * chunks
        for part in range(parts):
            block = window.y0 + (part // chunks) * ROW_BLOCK
            x = (part % chunks) * ROW_CHUNK
            count = wp.min(ROW_CHUNK, batch.width - x)
            for y in range(block, wp.min(block + ROW_BLOCK, window.y1 + 1)):
                pixel = y * batch.width + x
                if wp.static(features.rgb):
                    expect_bytes(pictures.rgb, v, pixel, count)
                chunk = y * chunks + part % chunks
                untouched = touched[chunk] == wp.uint8(0) and more == 0
                touched[chunk] = wp.uint8(0)
                last = part == parts - 1 and y == window.y1
                plain = bool(False)
                if wp.static(features.rgb and features.planes == 1 and not features.flat):
                    # nothing but the floor: the rule, and short work
                    plain = untouched and plane.seen == 1 and floor.cube == 0 and not last
                    plain = plain and meets_plane(scene, plane, pixel_ray(eye, x, y))
                    plain = plain and meets_plane(scene, plane, pixel_ray(eye, x + count - 1, y))
                    if plain:
                        shade_plane(scene, world, eye, plane, floor, ground, horizon, pictures, v, pixel, x, y, count)
                        if wp.static(not (features.segmentation or features.depth or features.measured)):
                            continue
                if wp.static(features.planes > 0 and not features.flat):
                    keys = take_keys(vis, row, pixel, untouched, eye, plane, scene.near, scene.far, x, y, count)
                else:
                    keys = ChunkOfKeys()
                    j = int(0)
                    while j < count:
                        keys[j] = vis[row, pixel + j]
                        vis[row, pixel + j] = EMPTY_KEY
                        j += 1
                    if wp.static(features.planes > 0):
                        if plane.seen != 0:
                            j = int(0)
                            while j < count:
                                keys[j] = wp.min(keys[j], plane_key(scene, plane, pixel_ray(eye, x + j, y)))
                                j += 1
                if wp.static(features.planes > 1):
                    # one plane is the rule: more are set up again for every chunk
                    for p in range(1, scene.plane.shape[0]):
                        other = make_plane(scene, world, eye, scene.plane[p])
                        if other.seen != 0:
                            j = int(0)
                            while j < count:
                                keys[j] = wp.min(keys[j], plane_key(scene, other, pixel_ray(eye, x + j, y)))
                                j += 1
                if wp.static(features.segmentation or features.depth):
                    j = int(0)
                    while j < count:
                        if wp.static(features.segmentation):
                            pictures.segmentation[v, pixel + j] = seen_id(scene, keys[j])
                        if wp.static(features.depth):
                            pictures.depth[v, pixel + j] = seen_depth(keys[j])
                        j += 1
                if wp.static(features.measured):
                    measure_chunk(scene, world, eye, pictures, keys, v, pixel, x, y, count)
                if wp.static(features.rgb):
                    found = sort_keys(keys, floor_key, count)
                    n = found[64]
                    if plain or not colored:
                        n = 0
                    elif n < count:
                        shade_ground(
                            scene, world, eye, plane, floor, ground, found[65], found[66], horizon, pictures, keys, v, pixel, x, y, count
                        )
                    turn = int(0)
                    while turn < 2:
                        # before there are too many, and at the end
                        if (turn == 0 and num_waiting + n > ROW_CHUNK) or (turn == 1 and last and num_waiting > 0):
                            shade_surfaces(
                                scene,
                                world,
                                eye,
                                horizon,
                                pictures,
                                waiting,
                                waiting_x,
                                waiting_y,
                                waiting_at,
                                waiting_misty,
                                v,
                                num_waiting,
                            )
                            num_waiting = 0
                            waiting_misty = False
                        if turn == 0 and n > 0:
                            j = int(0)
                            while j < n:
                                column = found[j]
                                waiting[num_waiting + j] = keys[column]
                                waiting_x[num_waiting + j] = float(x + column) + 0.5
                                waiting_y[num_waiting + j] = float(y) + 0.5
                                waiting_at[num_waiting + j] = pixel + column
                                j += 1
                            num_waiting += n
                            if wp.static(features.haze or features.fog):
                                waiting_misty = waiting_misty or hazy(scene, horizon, eye, x, y, count)
                        turn += 1

    return film_view
