"""Shading for a GPU, the first of two kernels: planes and the background. The pixels that show meshes are listed for ``shade_meshes``.

One thread shades a few pixels of a column, so that what a view's pixels share is read once, and threads side by side read and write
memory side by side. Here such threads do the same; on a mesh each would wait for its neighbours' triangles.
"""

from functools import cache
from typing import Any

import warp as wp

from rollfilm.render.kernels.batch import PIXELS, SEGMENTS, WorkLists
from rollfilm.render.kernels.features import Features
from rollfilm.render.kernels.ground import Ground, ground_depth, ground_lamps, ground_lighting, ground_texture, within_ground
from rollfilm.render.kernels.lamps import lamp_lighting, lamp_loading
from rollfilm.render.kernels.light import no_brighter
from rollfilm.render.kernels.measure import measuring
from rollfilm.render.kernels.outlook import Outlook
from rollfilm.render.kernels.power import fused_dot, fused_sum, reciprocal_root
from rollfilm.render.kernels.shade import Eye, Surface, ray_at, seen_depth, seen_id, shading, sight, store_color
from rollfilm.render.kernels.shade_pixel import BLOCK, surface_shading
from rollfilm.render.kernels.shadow_share import point_shares
from rollfilm.render.kernels.types import (
    Pictures,
    SceneData,
    ViewBatch,
    WorldData,
    clear_key,
    depth_key,
    is_empty,
    kept_inverse_depth,
    key_at,
    key_geom,
    layer,
    surface_key,
)
from rollfilm.render.kernels.veil import clear_of_haze, veiling

#: Blocks that share a multiprocessor, without and with shadows: 96 and 128 registers a thread. More were slower, fewer too (H200).
GROUND_BLOCKS = 5
SHADED_BLOCKS = 4


@wp.func_native("""
#if defined(__CUDA_ARCH__)
    // one place for all lanes of a warp, row after row: threads side by side will shade pixels side by side
    const unsigned lanes = __activemask();
    const unsigned lane = threadIdx.x & 31u;
    int total = 0;
    for (int k = 0; k < rows; ++k)
        total += __popc(__ballot_sync(lanes, (wanted >> k) & 1));
    if (total == 0)
        return;
    const int leader = __ffs(lanes) - 1;
    int at = 0;
    if ((int)lane == leader)
        at = atomicAdd(&count.data[segment * 32], total);
    at = __shfl_sync(lanes, at, leader);
    for (int k = 0; k < rows; ++k) {
        const unsigned those = __ballot_sync(lanes, (wanted >> k) & 1);
        if ((wanted >> k) & 1)
            list.data[(size_t)segment * list.shape[1] + at + __popc(those & ((1u << lane) - 1u))] = first + k * width;
        at += __popc(those);
    }
#else
    for (int k = 0; k < rows; ++k)
        if ((wanted >> k) & 1)
            list.data[(size_t)segment * list.shape[1] + count.data[segment * 32]++] = first + k * width;
#endif
""")
def list_pixels(list: wp.array2d(dtype=int), count: wp.array2d(dtype=int), segment: int, wanted: int, rows: int, first: int, width: int):
    """Append pixels of a column to a segment of a list: those of the bits in ``wanted``, ``width`` apart from number ``first`` on."""


@cache
def ground_kernel(features: Features):
    """The kernel that goes over all pixels, for these features."""
    load_surface, background = shading(features, hardware=True)
    light = lamp_lighting(features)
    load_lamps = lamp_loading(0, len(features.lights))
    _, paint = surface_shading(features, hardware=True)
    measure = measuring(features)
    veil = veiling(features, hardware=True)
    make_plane, plane_key, surface_spot, make_point = sight(features)
    shadows = len(features.shadows)
    if shadows:
        shares_of_point = point_shares(features, on_plane=True)
    blocks = SHADED_BLOCKS if shadows else GROUND_BLOCKS
    lists_meshes = features.rgb or features.normals
    # the ground is what nearly all planes are: the first of a perspective view
    has_ground = features.rgb and features.planes > 0 and not features.flat
    if has_ground:
        light_ground = ground_lighting(features)
        load_ground_lamps = lamp_loading(len(features.lights), ground_lamps(features))
    keys_matter = features.planes > 1 or features.depth or features.segmentation or features.measured
    shades_others = features.planes > 1 or features.flat or features.cubes

    @wp.func
    def shade_plane(scene: SceneData, world: WorldData, lamps: Any, eye: Eye, floor: Surface, ray: wp.vec3, depth: float):
        """Red, green and blue of a plane at a pixel, 0 to 1."""
        point = make_point(eye, ray, depth, floor.facet, floor.color, floor.finish)
        if wp.static(shadows > 0):
            shares = shares_of_point(scene, world, eye, depth, floor.facet, ray)
            color = light(scene, lamps, eye.world, eye.forward, point, shares)
        else:
            color = no_brighter(light(scene, lamps, eye.world, eye.forward, point))
        if wp.static(features.textures):
            if floor.textured == 1:
                color = paint(scene, floor, surface_spot(eye, floor, ray, depth), color)
        return color

    @wp.func
    def shade_first(
        scene: SceneData, world: WorldData, lamps: Any, eye: Eye, ground: Ground, floor: Surface, ray: wp.vec3, way: wp.vec3, depth: float
    ):
        """Red, green and blue of the ground at a pixel, 0 to 1; ``way`` is its ray in the ground's axes."""
        position = wp.vec3(depth * way[0], depth * way[1], -ground.height)
        sight = way * reciprocal_root(fused_dot(way, way))
        paint = wp.vec3(1.0)
        if wp.static(features.textures):
            # first: texture units answer late, while the point is lit
            if floor.textured == 1:
                paint = ground_texture(ground, floor.unit, position[0], position[1], depth)
        if wp.static(shadows > 0):
            shares = shares_of_point(scene, world, eye, depth, floor.facet, ray)
            color = light_ground(ground, lamps, position, sight, shares)
        else:
            color = light_ground(ground, lamps, position, sight)
        return wp.cw_mul(color, paint)

    # approximate division and square root: far below what a byte of color shows
    @wp.kernel(enable_backward=False, module="unique", module_options={"fast_math": True}, launch_bounds=(BLOCK, blocks))
    def shade_ground(
        first_view: int,
        rows: int,
        scene: SceneData,
        world: WorldData,
        batch: ViewBatch,
        lists: WorkLists,
        outlooks: wp.array(dtype=Outlook),
        lamps_of_view: wp.array2d(dtype=float),
        vis: wp.array2d(dtype=wp.uint64),
        pictures: Pictures,
    ):
        """One thread for ``rows`` pixels of a column. Leaves the visibility buffer empty but for the pixels that it lists."""
        row, part, x = wp.tid()
        v = row + first_view
        if world.active[v % batch.num_worlds] == 0:
            return
        first = rows * part
        outlook = outlooks[row]
        eye = outlook.eye
        plane = outlook.plane
        floor = outlook.floor
        ground = outlook.ground
        colored = outlook.colored == 1
        listed = bool(lists_meshes) and (colored or wp.static(features.normals))
        place_x = float(x) + 0.5
        place_y = float(first) + 0.5
        start = fused_sum(ground.corner, ground.step_x, place_x)
        nearer = layer(plane.geom)
        mark = surface_key(plane.geom, 0)
        bounded = wp.min(plane.half_size[0], plane.half_size[1]) < 1.0e30
        meshes = int(0)
        count = wp.min(rows, batch.height - first)
        pixel = first * batch.width + x
        next = key_at(vis, row, pixel)
        for k in range(count):
            ray = ray_at(eye, place_x, place_y)
            drawn = next
            if k + 1 < count:
                next = key_at(vis, row, pixel + batch.width)  # asked for while this one is shaded
            key = drawn
            on_ground = bool(False)
            inverse_depth = float(0.0)
            if wp.static(has_ground):
                inverse_depth = ground_depth(scene, plane.inverse_depth, ray)
                if bounded and inverse_depth > 0.0:
                    # read again where it is rarely asked for, as registers are few
                    if not within_ground(outlooks[row].plane, ray, inverse_depth):
                        inverse_depth = 0.0
                inverse_depth *= nearer
                if inverse_depth > 0.0:
                    fresh = depth_key(inverse_depth) | mark
                    on_ground = fresh < drawn
                    if wp.static(keys_matter):
                        key = wp.min(key, fresh)
            elif wp.static(features.planes > 0):
                if plane.seen != 0:
                    key = wp.min(key, plane_key(scene, plane, ray))
            if wp.static(features.planes > 1):
                # one plane is the rule: more are set up again at every pixel
                for p in range(1, scene.plane.shape[0]):
                    other = make_plane(scene, world, eye, scene.plane[p])
                    if other.seen != 0:
                        behind = key
                        key = wp.min(key, plane_key(scene, other, ray))
                        on_ground = on_ground and key == behind
            if wp.static(features.segmentation):
                pictures.segmentation[v, pixel] = seen_id(scene, key)
            if wp.static(features.depth):
                pictures.depth[v, pixel] = seen_depth(key)
            mesh = listed and not is_empty(drawn) and not on_ground and key == drawn
            if mesh:
                meshes |= 1 << k
            else:
                if not is_empty(drawn):
                    clear_key(vis, row, pixel)
                seen = floor
                if wp.static(features.planes > 1 or (features.normals and features.planes > 0)):
                    if not is_empty(key) and (key_geom(key) != plane.geom or wp.static(not features.rgb)):
                        seen = load_surface(scene, world, eye, key)
                if wp.static(features.measured):
                    measure(scene, world, eye, pictures, seen, key, ray, v, pixel)
                if wp.static(features.rgb):
                    if colored:
                        color = wp.vec3(0.0)
                        depth = float(0.0)
                        clear = bool(True)
                        rest = bool(True)
                        if wp.static(has_ground):
                            rest = not on_ground
                            if wp.static(features.cubes):
                                rest = rest or floor.cube == 1
                            if not rest:
                                # read again for every pixel: kept, they would take registers that more threads need
                                lamps = load_ground_lamps(lamps_of_view, row)
                                way = fused_sum(start, ground.step_y, place_y)
                                depth = nearer / kept_inverse_depth(inverse_depth)
                                color = shade_first(scene, world, lamps, eye, ground, floor, ray, way, depth)
                                if wp.static(features.haze):
                                    clear = clear_of_haze(ground.horizon, way, depth)
                        if rest:
                            if is_empty(key):
                                color = background(scene, eye, ray)
                            elif wp.static(shades_others):
                                depth = seen_depth(key)
                                color = shade_plane(scene, world, load_lamps(lamps_of_view, row), eye, seen, ray, depth)
                            if wp.static(features.haze):
                                clear = clear_of_haze(outlooks[row].horizon, ray, depth)
                        if wp.static(features.haze or features.fog):
                            if wp.static(features.fog) or not clear:
                                color = veil(scene, eye, outlooks[row].horizon, ray, depth, color)
                        store_color(pictures, v, pixel, color)
            place_y += 1.0
            pixel += batch.width
        if wp.static(lists_meshes):
            warp = ((row * ((batch.height + rows - 1) // rows) + part) * batch.width + x) // 32
            at = row * batch.height * batch.width + first * batch.width + x
            list_pixels(lists.pixel, lists.count[PIXELS], warp % SEGMENTS, meshes, rows, at, batch.width)

    return shade_ground
