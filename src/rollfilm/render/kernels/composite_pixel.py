"""The colour of a pixel that shows more than one surface: side by side, one before the other, or in a mirror."""

from dataclasses import replace
from functools import cache

import warp as wp

from rollfilm.render.kernels.features import Features
from rollfilm.render.kernels.layers import seeing, sheets
from rollfilm.render.kernels.pane import Pane
from rollfilm.render.kernels.samples import Part, affine_depth, at_depth, grid_side, same_surface
from rollfilm.render.kernels.shade import Surface, ray_at, seen_depth
from rollfilm.render.kernels.shade_pixel import pixel_shading
from rollfilm.render.kernels.types import EMPTY_KEY, SceneData, WorldData, key_inverse_depth
from rollfilm.render.kernels.veil import make_horizon, veiling


@cache
def grouping(features: Features):
    """The function that takes the next part of a pixel, for these features."""
    side = grid_side(features.samples)
    samples = features.samples
    affine = affine_depth(flat=features.flat)
    see_sample = seeing(features)

    @wp.func
    def next_part(
        scene: SceneData,
        world: WorldData,
        pane: Pane,
        vis: wp.array2d(dtype=wp.uint64),
        row: int,
        x: int,
        y: int,
        sheet: int,
        mirrored: bool,
        left: int,
    ):
        """The samples of a pixel, among those with a bit in ``left``, that show the same on a sheet as the first of them."""
        part = Part()
        part.key = EMPTY_KEY
        part.left = left
        count = int(0)
        right = int(0)
        down = int(0)
        total = float(0.0)
        s = int(0)
        while s < wp.static(samples):
            if ((part.left >> s) & 1) == 1:
                sample_y = s // wp.static(side)
                sample_x = s - sample_y * wp.static(side)
                key, weight = see_sample(
                    scene, world, pane, vis, row, wp.static(side) * x + sample_x, wp.static(side) * y + sample_y, sheet, mirrored
                )
                if count == 0:
                    part.key = key
                if same_surface(key, part.key):
                    part.left = part.left & ~(1 << s)
                    part.weight += weight * wp.static(1.0 / samples)
                    count += 1
                    right += sample_x
                    down += sample_y
                    total += affine(key_inverse_depth(key))
            s += 1
        share = 1.0 / float(count)
        part.key = at_depth(part.key, affine(total * share))
        part.x = float(x) + (float(right) * share + 0.5) * wp.static(1.0 / side)
        part.y = float(y) + (float(down) * share + 0.5) * wp.static(1.0 / side)
        return part

    return next_part


@cache
def pixel_composing(features: Features, *, hardware: bool):
    """The function that gives a pixel's colour, for these features; ``hardware`` as in ``pixel_shading``."""
    next_part = grouping(features)
    load_surface, shade_pixel, background = pixel_shading(features, hardware=hardware)
    # what is translucent or in a mirror receives no shadows, as in MuJoCo
    _, shade_lit, _ = pixel_shading(replace(features, shadows=()), hardware=hardware)
    veil = veiling(features, hardware=hardware)
    count = sheets(features)
    groups = 2 * count if features.mirror else count

    @wp.func
    def compose_pixel(
        scene: SceneData,
        world: WorldData,
        pane: Pane,
        vis: wp.array2d(dtype=wp.uint64),
        row: int,
        x: int,
        y: int,
        before: Surface,
        before_key: wp.uint64,
    ):
        """Red, green and blue of a pixel.

        Each surface is shaded once, in the middle of its samples, and counts as much as they show of it. What a mirror shows is added,
        its colours, but for highlights, weakened by the reflectance (``mjr_render`` in MuJoCo's render_gl3.c). A surface that was set up
        before is taken and one is given back, with its key.
        """
        horizon = make_horizon(scene, world, pane.eye)
        surface = before
        known = before_key
        total = wp.vec3(0.0)
        sheet = int(0)
        while sheet < wp.static(groups):
            eye = pane.eye
            mirrored = sheet >= wp.static(count)
            if mirrored:
                eye = pane.back
            shown = int(0)
            left = int(wp.static((1 << features.samples) - 1))
            while left != 0:
                part = next_part(scene, world, pane, vis, row, x, y, sheet - wp.where(mirrored, wp.static(count), 0), mirrored, left)
                left = part.left
                color = wp.vec3(0.0)
                ray = ray_at(eye, part.x, part.y)
                if part.key == EMPTY_KEY:
                    if sheet == 0:
                        color = background(scene, eye, ray)
                else:
                    shown = 1
                    if mirrored or not same_surface(part.key, known):
                        surface = load_surface(scene, world, eye, part.key)
                        known = part.key
                        if mirrored:
                            surface.color = surface.color * pane.mirror.share
                            known = EMPTY_KEY
                    if wp.static(bool(features.shadows)) and sheet == 0:
                        color = shade_pixel(scene, world, eye, surface, ray, seen_depth(part.key))
                    else:
                        color = shade_lit(scene, world, eye, surface, ray, seen_depth(part.key))
                if wp.static(features.haze or features.fog):
                    if part.key != EMPTY_KEY or sheet == 0:
                        color = veil(scene, eye, horizon, ray, seen_depth(part.key), color)
                total += part.weight * wp.min(color, wp.vec3(1.0))
            sheet += 1
            first = sheet == 1 or sheet == wp.static(count + 1)
            layered = wp.static(features.translucent) or (pane.layered == 1 and not mirrored)
            if (first and not layered) or (shown == 0 and not first):
                # no layer lies behind the last: on to the mirror, or to the end
                sheet = wp.where(mirrored, wp.static(groups), wp.static(count))
            if sheet == wp.static(count) and pane.mirror.geom < 0:
                sheet = wp.static(groups)
        return total, surface, known

    return compose_pixel
