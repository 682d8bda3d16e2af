"""Triangles into further sections of a visibility buffer: the layers of what is translucent, and what a mirror shows.

A row of the buffer holds one key for each sample of opaque surfaces, then ``LAYERS`` keys each of translucent ones from the nearest on,
then the same of what the mirror shows; sections that a scene does not need are left out.
"""

from functools import cache

import warp as wp

from rollfilm.render.kernels.cull import view_geom
from rollfilm.render.kernels.mirror import Mirror, mirroring, reflected_geom
from rollfilm.render.kernels.raster import (
    WIDE,
    ScreenTriangle,
    Window,
    cut_span,
    depth_in,
    edge_row,
    edge_value,
    make_screen_triangle,
    screen_triangles,
)
from rollfilm.render.kernels.types import EMPTY_KEY, Lens, SceneData, ViewBatch, WorldData, depth_key, layer, surface_key

#: Translucent surfaces that are kept for a sample.
LAYERS = 4


@wp.struct
class Section:
    """Where keys go in a row of the visibility buffer."""

    first: int  # the section's first key
    opaque: int  # the first key of the opaque surfaces that layers must lie before
    size: int  # keys of a section
    clip: wp.vec3  # where the mirror is (``mirror.mirror_clip``)


def sections(*, translucent: bool, mirror: bool) -> int:
    """How many sections a row has."""
    return (1 + LAYERS * translucent) * (1 + mirror)


@wp.func
def keep_layer(vis: wp.array2d(dtype=wp.uint64), row: int, first: int, size: int, key: wp.uint64):
    """A key among the nearest ``LAYERS``, which are in order. What is pushed out goes on to the next: the order of calls is no matter."""
    carried = key
    k = int(0)
    while k < wp.static(LAYERS) and carried != EMPTY_KEY:
        before = wp.atomic_min(vis, row, first + k * size, carried)
        carried = wp.max(before, carried)
        k += 1


@cache
def keeping(*, layered: bool, mirrored: bool, flat: bool):
    """The functions that say whether and where a geom is drawn into a section, and that draw a triangle."""
    _, _, _, beyond = mirroring(flat=flat)

    @wp.func
    def keep_rows(
        vis: wp.array2d(dtype=wp.uint64),
        row: int,
        width: int,
        section: Section,
        triangle: ScreenTriangle,
        key: wp.uint64,
        depth_factor: float,
    ):
        """The samples of a triangle that belong into the section (``raster.raster_rows``)."""
        box = triangle.window
        for y in range(box.y0, box.y1 + 1):
            py = float(y) + 0.5
            rab = edge_row(triangle.ab, py)
            rbc = edge_row(triangle.bc, py)
            rca = edge_row(triangle.ca, py)
            rz = triangle.corner[2] + triangle.slope[1] * (py - triangle.corner[1])
            span = wp.vec2(float(box.x0), float(box.x1))
            if box.x1 - box.x0 >= WIDE:
                span = cut_span(span, triangle.ab, rab)
                span = cut_span(span, triangle.bc, rbc)
                span = cut_span(span, triangle.ca, rca)
            for x in range(int(span[0]), int(span[1]) + 1):
                px = float(x) + 0.5
                eab = edge_value(triangle.ab, rab, px)
                ebc = edge_value(triangle.bc, rbc, px)
                eca = edge_value(triangle.ca, rca, px)
                if eab <= 0.0 and ebc <= 0.0 and eca <= 0.0:
                    inverse_depth = depth_in(triangle, rz, px)
                    whole = depth_key(inverse_depth * depth_factor) | key
                    at = y * width + x
                    kept = bool(True)
                    if wp.static(mirrored):
                        kept = beyond(inverse_depth, section.clip[0] + section.clip[1] * px + section.clip[2] * py)
                    if kept:
                        if wp.static(layered):
                            if whole < vis[row, section.opaque + at]:
                                keep_layer(vis, row, section.first + at, section.size, whole)
                        else:
                            wp.atomic_min(vis, row, section.first + at, whole)

    @wp.func
    def keep_corners(
        vis: wp.array2d(dtype=wp.uint64),
        row: int,
        near: float,
        batch: ViewBatch,
        section: Section,
        window: Window,
        geom: int,
        triangle: int,
        lens: Lens,
        a: wp.vec3,
        b: wp.vec3,
        c: wp.vec3,
    ):
        """A triangle of a geom, its corners in the camera's frame, as far as it lies in the window."""
        if wp.static(mirrored):
            n, p, q, r, s = screen_triangles(near, lens, a, c, b)
        else:
            n, p, q, r, s = screen_triangles(near, lens, a, b, c)
        k = int(0)
        while k < n:
            screen = make_screen_triangle(window, p, q, r)
            if screen.front == 1:
                keep_rows(vis, row, batch.width, section, screen, surface_key(geom, triangle), layer(geom))
            q = r
            r = s
            k += 1

    @wp.func
    def kept_geom(scene: SceneData, world: WorldData, batch: ViewBatch, mirror: Mirror, w: int, camera: int, geom: int):
        """Whether a geom belongs into the section, and its rotation and position in the camera's frame."""
        kept = (scene.geom_alpha[w, geom] < 1.0) == wp.static(layered)
        if wp.static(mirrored):
            kept = kept and geom != mirror.geom and mirror.geom >= 0
            rotation, position = reflected_geom(mirror, world, w, camera, geom)
            return kept, rotation, position
        rotation, position = view_geom(world, w, camera, geom)
        return kept, rotation, position

    return kept_geom, keep_corners
