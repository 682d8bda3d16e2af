"""The colours of a view whose pixels show more than one surface each: how a CPU renders them, one thread a view."""

from functools import cache

import warp as wp

from rollfilm.render.kernels.composite_pixel import pixel_composing
from rollfilm.render.kernels.features import Features
from rollfilm.render.kernels.kept import sections
from rollfilm.render.kernels.kept_view import section_rasters
from rollfilm.render.kernels.pane import Pane, panes
from rollfilm.render.kernels.raster import Window
from rollfilm.render.kernels.samples import affine_depth, at_depth, grid_side, same_surface
from rollfilm.render.kernels.shade import Plane, Surface, make_eye, to_byte
from rollfilm.render.kernels.shade_row import ROW_CHUNK, ChunkOfFloats, ChunkOfInts, ChunkOfKeys, chunk_shading
from rollfilm.render.kernels.types import EMPTY_KEY, Pictures, SceneData, ViewBatch, WorldData, key_geom, key_inverse_depth
from rollfilm.render.kernels.whole_view import VECTOR_FLAGS, raster_view


@cache
def composite_view_kernel(features: Features):
    """The kernel for these features."""
    side = grid_side(features.samples)
    samples = features.samples
    first_mirrored = sections(translucent=features.translucent, mirror=False)
    num_sections = sections(translucent=features.translucent, mirror=features.mirror)
    raster_sections = section_rasters(features)
    make_pane, lay_planes = panes(features)
    shade_chunk, _shade_plane = chunk_shading(features)
    affine = affine_depth(flat=features.flat)
    compose_pixel = pixel_composing(features, hardware=False)

    @wp.func
    def whole_pixels(pane: Pane, vis: wp.array2d(dtype=wp.uint64), row: int, x: int, y: int, count: int):
        """1 for each of ``count`` pixels whose samples show one opaque surface and nothing else, and what the middle of it shows."""
        whole = ChunkOfInts()
        keys = ChunkOfKeys()
        total = ChunkOfFloats()
        corner = wp.static(side) * (y * pane.width + x)
        j = int(0)
        while j < count:
            keys[j] = vis[row, corner + wp.static(side) * j]
            whole[j] = 1 - pane.layered
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
                    whole[j] = wp.where(vis[row, pane.size + at + wp.static(side) * j] == EMPTY_KEY, whole[j], 0)
                    j += 1
            if wp.static(features.mirror):
                if pane.mirror.geom >= 0:
                    j = int(0)
                    while j < count:
                        image = vis[row, wp.static(first_mirrored) * pane.size + at + wp.static(side) * j]
                        if wp.static(features.translucent):
                            image = wp.min(image, vis[row, wp.static(first_mirrored + 1) * pane.size + at + wp.static(side) * j])
                        reflected = image != EMPTY_KEY and key_geom(keys[j]) == pane.mirror.geom
                        whole[j] = wp.where(reflected, 0, whole[j])
                        j += 1
            s += 1
        j = int(0)
        while j < count:
            keys[j] = at_depth(keys[j], affine(total[j] * wp.static(1.0 / samples)))
            j += 1
        return whole, keys

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
        raster_view(vis, touched, row, scene, world, fine, window, v)
        if wp.static(features.translucent or features.mirror):
            raster_sections(vis, row, scene, world, fine, window, v)
        chunks = (fine.width + ROW_CHUNK - 1) // ROW_CHUNK
        for chunk in range(window.y0 * chunks, (window.y1 + 1) * chunks):
            touched[chunk] = wp.uint8(0)
        for y in range(y0, y1):
            if wp.static(features.planes > 0):
                for sub in range(wp.static(side)):
                    lay_planes(scene, world, pane, vis, row, 0, wp.static(side) * y + sub, fine.width)
            for x in range(0, batch.width, ROW_CHUNK):
                count = wp.min(ROW_CHUNK, batch.width - x)
                # most pixels show one surface: these are found and shaded by vector instructions, all at once
                whole, keys = whole_pixels(pane, vis, row, x, y, count)
                shade_chunk(scene, world, eye, Plane(), Surface(), EMPTY_KEY, pictures, keys, v, y * batch.width + x, x, y, count)
                surface = Surface()
                known = EMPTY_KEY
                j = int(0)
                while j < count:
                    if whole[j] == 0:
                        color, surface, known = compose_pixel(scene, world, pane, vis, row, x + j, y, surface, known)
                        at = 3 * (y * batch.width + x + j)
                        pictures.rgb[v, at] = wp.uint8(to_byte(color[0]))
                        pictures.rgb[v, at + 1] = wp.uint8(to_byte(color[1]))
                        pictures.rgb[v, at + 2] = wp.uint8(to_byte(color[2]))
                    j += 1
                clear(pane, vis, row, x, y, count)

    return film_composite
