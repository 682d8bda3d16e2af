"""Pixels whose samples show opaque surfaces: how a CPU shades a chunk of them, all their surfaces side by side."""

from functools import cache

import warp as wp

from rollfilm.render.kernels.features import Features
from rollfilm.render.kernels.pane import Pane
from rollfilm.render.kernels.samples import affine_depth, at_depth, grid_side, same_surface
from rollfilm.render.kernels.shade import ray_at, seen_depth, shading
from rollfilm.render.kernels.shade_row import ROW_CHUNK, ChunkOfFloats, ChunkOfInts, ChunkOfKeys, chunk_shading
from rollfilm.render.kernels.types import EMPTY_KEY, SceneData, WorldData, key_inverse_depth
from rollfilm.render.kernels.veil import make_horizon, veiling


@cache
def parts_composing(features: Features) -> wp.Function:
    """The function for these features. It gives what ``composite_pixel`` gives where nothing is translucent or in a mirror."""
    side = grid_side(features.samples)
    samples = features.samples
    affine = affine_depth(flat=features.flat)
    surface_colors = chunk_shading(features).surfaces
    _, background = shading(features, hardware=False)
    veil = veiling(features, hardware=False)

    @wp.func
    def compose_parts(
        scene: SceneData,
        world: WorldData,
        pane: Pane,
        vis: wp.array2d(dtype=wp.uint64),
        row: int,
        parted: ChunkOfInts,
        keys: ChunkOfKeys,
        total_r: ChunkOfFloats,
        total_g: ChunkOfFloats,
        total_b: ChunkOfFloats,
        x: int,
        y: int,
        count: int,
    ):
        """Add to the colours of ``count`` pixels from column ``x`` of row ``y`` on.

        Args:
            parted: 2 where samples show different surfaces, 1 where all show that of the pixel's key; the others stay as they are.
            keys: what the middle of each pixel shows.
            total_r, total_g, total_b: the colours so far, black where something is added.
        """
        eye = pane.eye
        horizon = make_horizon(scene, world, eye)
        # the parts that wait for being shaded
        key = ChunkOfKeys()
        place_x = ChunkOfFloats()
        place_y = ChunkOfFloats()
        weight = ChunkOfFloats()
        column = ChunkOfInts()
        n = int(0)
        j = int(0)
        while j < count:
            left = int(0)
            if parted[j] == 2:
                left = int(wp.static((1 << samples) - 1))
            elif parted[j] == 1:
                key[n] = keys[j]
                place_x[n] = float(x + j) + 0.5
                place_y[n] = float(y) + 0.5
                weight[n] = 1.0
                column[n] = j
                n += 1
            corner = wp.static(side) * (y * pane.width + x + j)
            while left != 0:
                # the samples that show the same as the first of those that are left
                first = EMPTY_KEY
                shown = int(0)
                right = int(0)
                down = int(0)
                total = float(0.0)
                for s in range(wp.static(samples)):
                    if ((left >> s) & 1) == 1:
                        sample_y = s // wp.static(side)
                        sample_x = s - sample_y * wp.static(side)
                        sample = vis[row, corner + sample_y * pane.width + sample_x]
                        if shown == 0:
                            first = sample
                        if same_surface(sample, first):
                            left = left & ~(1 << s)
                            shown += 1
                            right += sample_x
                            down += sample_y
                            total += affine(key_inverse_depth(sample))
                share = 1.0 / float(shown)
                key[n] = at_depth(first, affine(total * share))
                place_x[n] = float(x + j) + (float(right) * share + 0.5) * wp.static(1.0 / side)
                place_y[n] = float(y) + (float(down) * share + 0.5) * wp.static(1.0 / side)
                weight[n] = float(shown) * wp.static(1.0 / samples)
                column[n] = j
                if first == EMPTY_KEY:
                    ray = ray_at(eye, place_x[n], place_y[n])
                    color = background(scene, eye, ray)
                    if wp.static(features.haze or features.fog):
                        color = veil(scene, eye, horizon, ray, 0.0, color)
                    total_r[j] = total_r[j] + weight[n] * wp.min(color[0], 1.0)
                    total_g[j] = total_g[j] + weight[n] * wp.min(color[1], 1.0)
                    total_b[j] = total_b[j] + weight[n] * wp.min(color[2], 1.0)
                else:
                    n += 1
            j += 1
            # room for all parts of the next pixel
            if n > ROW_CHUNK - wp.static(samples) or (j == count and n > 0):
                red, green, blue = surface_colors(scene, world, eye, key, place_x, place_y, n)
                i = int(0)
                while i < n:
                    color = wp.vec3(red[i], green[i], blue[i])
                    if wp.static(features.haze or features.fog):
                        color = veil(scene, eye, horizon, ray_at(eye, place_x[i], place_y[i]), seen_depth(key[i]), color)
                    to = column[i]
                    total_r[to] = total_r[to] + weight[i] * wp.min(color[0], 1.0)
                    total_g[to] = total_g[to] + weight[i] * wp.min(color[1], 1.0)
                    total_b[to] = total_b[to] + weight[i] * wp.min(color[2], 1.0)
                    i += 1
                n = 0
        return total_r, total_g, total_b

    return compose_parts
