"""The colours of a view whose pixels show more than one surface each: how a CPU renders them, one thread a view."""

from functools import cache

import warp as wp

from rollfilm.cpu_flags import VECTOR_FLAGS
from rollfilm.render.kernels.composite_parts import parts_composing
from rollfilm.render.kernels.composite_pixel import pixel_composing
from rollfilm.render.kernels.features import Features
from rollfilm.render.kernels.kept import sections
from rollfilm.render.kernels.kept_view import section_rasters
from rollfilm.render.kernels.pane import Pane, panes
from rollfilm.render.kernels.raster import Window
from rollfilm.render.kernels.samples import affine_depth, at_depth, grid_side, same_surface
from rollfilm.render.kernels.shade import (
    SURFACE,
    Plane,
    Surface,
    make_eye,
    meets_plane,
    pixel_ray,
    plane_depth,
    seen_depth,
    shading,
    sight,
    store_color,
)
from rollfilm.render.kernels.shade_row import ROW_CHUNK, ChunkOfFloats, ChunkOfInts, ChunkOfKeys, chunk_shading, expect_bytes, store_bytes
from rollfilm.render.kernels.types import EMPTY_KEY, Pictures, SceneData, ViewBatch, WorldData, key_geom, key_inverse_depth, surface_key
from rollfilm.render.kernels.veil import Horizon, make_horizon
from rollfilm.render.kernels.veil_chunk import chunk_veiling
from rollfilm.render.kernels.whole_view import raster_view


@cache
def composite_view_kernel(features: Features):
    """The kernel for these features."""
    side = grid_side(features.samples)
    samples = features.samples
    first_mirrored = sections(translucent=features.translucent, mirror=False)
    num_sections = sections(translucent=features.translucent, mirror=features.mirror)
    raster_sections = section_rasters(features)
    make_pane, lay_planes = panes(features, many=True)
    shade_chunk = chunk_shading(features)
    ground_colors, Ground, make_ground = shade_chunk.ground, shade_chunk.ground_numbers, shade_chunk.make_ground
    _, hazy, veil = chunk_veiling(features)
    load_surface, _ = shading(features, hardware=False)
    make_plane, _, _, _ = sight(features)
    compose_parts = parts_composing(features)
    # where a floor is known to be all that is seen: nothing else is looked for
    floored = features.planes == 1 and not features.flat
    sections_marked = not (features.translucent or features.mirror)
    affine = affine_depth(flat=features.flat)
    compose_pixel = pixel_composing(features, hardware=False)

    @wp.func
    def whole_pixels(pane: Pane, vis: wp.array2d(dtype=wp.uint64), row: int, x: int, y: int, count: int):
        """What the middle of each of ``count`` pixels shows, if all samples do; whether they do; whether something lies before or in it."""
        whole = ChunkOfInts()
        layered = ChunkOfInts()
        keys = ChunkOfKeys()
        total = ChunkOfFloats()
        corner = wp.static(side) * (y * pane.width + x)
        j = int(0)
        while j < count:
            keys[j] = vis[row, corner + wp.static(side) * j]
            whole[j] = 1
            layered[j] = pane.layered
            j += 1
        s = int(0)
        while s < wp.static(samples):
            at = corner + (s // wp.static(side)) * pane.width + s % wp.static(side)
            j = int(0)
            while j < count:
                key = vis[row, at + wp.static(side) * j]
                whole[j] = wp.where(same_surface(key, keys[j]), whole[j], 0)
                total[j] = total[j] + affine(key_inverse_depth(key))
                j += 1
            if wp.static(features.translucent):
                j = int(0)
                while j < count:
                    layered[j] = wp.where(vis[row, pane.size + at + wp.static(side) * j] == EMPTY_KEY, layered[j], 1)
                    j += 1
            if wp.static(features.mirror):
                if pane.mirror.geom >= 0:
                    j = int(0)
                    while j < count:
                        image = vis[row, wp.static(first_mirrored) * pane.size + at + wp.static(side) * j]
                        if wp.static(features.translucent):
                            image = wp.min(image, vis[row, wp.static(first_mirrored + 1) * pane.size + at + wp.static(side) * j])
                        shown = vis[row, at + wp.static(side) * j]
                        reflected = image != EMPTY_KEY and key_geom(shown) == pane.mirror.geom
                        layered[j] = wp.where(reflected, 1, layered[j])
                        j += 1
            s += 1
        j = int(0)
        while j < count:
            keys[j] = at_depth(keys[j], affine(total[j] * wp.static(1.0 / samples)))
            j += 1
        return whole, layered, keys

    @wp.func
    def clear(pane: Pane, vis: wp.array2d(dtype=wp.uint64), row: int, x: int, y: int, count: int):
        """Leave the samples of ``count`` pixels empty."""
        for section in range(wp.static(num_sections)):
            for sub in range(wp.static(side)):
                at = section * pane.size + (wp.static(side) * y + sub) * pane.width + wp.static(side) * x
                j = int(0)
                while j < wp.static(side) * count:
                    vis[row, at + j] = EMPTY_KEY
                    j += 1

    @wp.kernel(enable_backward=False, module="unique", module_options={"cpu_compiler_flags": VECTOR_FLAGS})
    def film_composite(
        first_view: int,
        bands: int,
        row: int,
        scene: SceneData,
        world: WorldData,
        batch: ViewBatch,
        fine: ViewBatch,
        vis: wp.array2d(dtype=wp.uint64),
        touched: wp.array(dtype=wp.uint8),
        triangles: wp.array(dtype=float),
        pictures: Pictures,
    ):
        """A view, or one of ``bands`` horizontal bands of it; ``fine`` are the views of samples. The buffer comes and goes empty."""
        job = first_view + wp.tid()
        v = job // bands
        if world.active[v % batch.num_worlds] == 0:
            return
        band = job - v * bands
        y0 = band * batch.height // bands
        y1 = (band + 1) * batch.height // bands
        window = Window()
        window.x1 = fine.width - 1
        window.y0 = wp.static(side) * y0
        window.y1 = wp.static(side) * y1 - 1
        eye = make_eye(world, batch, v)
        pane = make_pane(scene, world, eye, make_eye(world, fine, v), fine)
        if wp.static(features.rare):
            if pane.layered == 0:
                return
        more = raster_view(vis, touched, triangles, row, scene, world, fine, window, v)
        if wp.static(features.translucent or features.mirror):
            raster_sections(vis, row, scene, world, fine, window, v)
        plane = Plane()
        sheet = Plane()
        floor = Surface()
        ground = Ground()
        horizon = Horizon()
        if wp.static(features.haze or features.fog):
            horizon = make_horizon(scene, world, eye)
        floor_key = EMPTY_KEY
        if wp.static(floored):
            plane = make_plane(scene, world, eye, scene.plane[0])
            sheet = make_plane(scene, world, pane.fine, scene.plane[0])
            floor_key = surface_key(scene.plane[0], 0)
            floor = load_surface(scene, world, eye, floor_key)
            ground = make_ground(scene, world, eye, plane, floor)
            if floor.cube == 1:
                floor_key = EMPTY_KEY
        chunks = (fine.width + ROW_CHUNK - 1) // ROW_CHUNK
        for y in range(y0, y1):
            for x in range(0, batch.width, ROW_CHUNK):
                count = wp.min(ROW_CHUNK, batch.width - x)
                expect_bytes(pictures.rgb, v, y * batch.width + x, count)
                first = wp.static(side) * x
                last = wp.static(side) * (x + count) - 1
                marks = more
                for sub in range(wp.static(side)):
                    for mark in range(
                        (wp.static(side) * y + sub) * chunks + first // ROW_CHUNK,
                        (wp.static(side) * y + sub) * chunks + last // ROW_CHUNK + 1,
                    ):
                        marks += int(touched[mark])
                        touched[mark] = wp.uint8(0)
                plain = bool(False)
                if wp.static(floored and sections_marked):
                    if marks == 0 and pane.layered == 0 and floor_key != EMPTY_KEY and sheet.seen == 1:
                        # nothing but the floor: the rule, and short work
                        top = wp.static(side) * y
                        bottom = top + wp.static(side - 1)
                        plain = meets_plane(scene, sheet, pixel_ray(pane.fine, first, top))
                        plain = plain and meets_plane(scene, sheet, pixel_ray(pane.fine, last, top))
                        plain = plain and meets_plane(scene, sheet, pixel_ray(pane.fine, first, bottom))
                        plain = plain and meets_plane(scene, sheet, pixel_ray(pane.fine, last, bottom))
                parted = ChunkOfInts()
                layered = ChunkOfInts()
                keys = ChunkOfKeys()
                empty = int(0)
                on_floor = int(0)
                surfaces = int(0)
                layers = int(0)
                if plain:
                    on_floor = count
                else:
                    if wp.static(features.planes > 0):
                        for sub in range(wp.static(side)):
                            lay_planes(scene, world, pane, vis, row, first, wp.static(side) * y + sub, wp.static(side) * count)
                    whole, layered, keys = whole_pixels(pane, vis, row, x, y, count)
                    j = int(0)
                    while j < count:
                        if layered[j] == 1:
                            layers += 1
                        elif whole[j] == 0:
                            parted[j] = 2
                            surfaces += 1
                        elif keys[j] == EMPTY_KEY:
                            empty += 1
                        elif (keys[j] & SURFACE) == floor_key:
                            on_floor += 1
                        else:
                            parted[j] = 1
                            surfaces += 1
                        j += 1
                red, green, blue = ground_colors(scene, world, eye, plane, floor, ground, on_floor, empty, keys, x, y, count)
                if wp.static(features.haze or features.fog):
                    if hazy(scene, horizon, eye, x, y, count):
                        away = ChunkOfFloats()
                        j = int(0)
                        while j < count:
                            away[j] = seen_depth(keys[j])
                            if wp.static(floored):
                                if plain:
                                    away[j] = plane_depth(plane, pixel_ray(eye, x + j, y))
                            j += 1
                        red, green, blue = veil(scene, horizon, eye, away, red, green, blue, x, y, count)
                if surfaces > 0:
                    j = int(0)
                    while j < count:
                        red[j] = wp.where(parted[j] == 0, red[j], 0.0)
                        green[j] = wp.where(parted[j] == 0, green[j], 0.0)
                        blue[j] = wp.where(parted[j] == 0, blue[j], 0.0)
                        j += 1
                    red, green, blue = compose_parts(scene, world, pane, vis, row, parted, keys, red, green, blue, x, y, count)
                store_bytes(pictures.rgb, v, y * batch.width + x, count, red, green, blue)
                if layers > 0:
                    surface = Surface()
                    known = EMPTY_KEY
                    j = int(0)
                    while j < count:
                        if layered[j] == 1:
                            color, surface, known = compose_pixel(scene, world, pane, vis, row, x + j, y, surface, known)
                            store_color(pictures, v, y * batch.width + x + j, color)
                        j += 1
                if not plain:
                    clear(pane, vis, row, x, y, count)

    return film_composite
