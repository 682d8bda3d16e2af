"""Shading for a GPU: one thread shades four neighbours of a row, so that camera, planes, lights and often the triangle are read once.

What is computed is what ``shade_row`` computes for a chunk.
"""

from functools import cache

import warp as wp

from rollfilm.render.kernels.features import Features
from rollfilm.render.kernels.light import light_by_directional, light_by_head, light_by_spot, load_light
from rollfilm.render.kernels.shade import (
    SURFACE,
    Surface,
    make_eye,
    make_plane,
    make_point,
    pixel_ray,
    plane_key,
    seen_depth,
    seen_id,
    shading,
    texture_coordinates,
    to_byte,
)
from rollfilm.render.kernels.texture import mip_level, trilinear
from rollfilm.render.kernels.types import EMPTY_KEY, Pictures, SceneData, ViewBatch, WorldData

PIXELS_PER_THREAD = 4

FourKeys = wp.types.vector(length=4, dtype=wp.uint64)
FourInts = wp.types.vector(length=4, dtype=wp.int32)
FourVectors = wp.types.matrix(shape=(4, 3), dtype=wp.float32)


@cache
def shade_kernel(features: Features):
    """The kernel for these features."""
    load_surface, background = shading(features)

    @wp.kernel(enable_backward=False, module="unique")
    def shade(
        first_view: int,
        scene: SceneData,
        world: WorldData,
        batch: ViewBatch,
        vis: wp.array2d(dtype=wp.uint64),
        pictures: Pictures,
    ):
        """One thread for four pixels of a row; the last of a row may have fewer."""
        row, y, quad = wp.tid()
        v = row + first_view
        x = 4 * quad
        pixel = y * batch.width + x
        count = batch.width - x
        eye = make_eye(world, batch, v)
        keys = FourKeys()
        for k in range(4):
            keys[k] = EMPTY_KEY
            if k < count:
                keys[k] = vis[row, pixel + k]
        if wp.static(features.planes):
            for p in range(scene.plane.shape[0]):
                plane = make_plane(scene, world, eye, scene.plane[p])
                if plane.seen == 1:
                    for k in range(4):
                        keys[k] = wp.min(keys[k], plane_key(scene, world, eye, plane, pixel_ray(eye, x + k, y)))
        for k in range(4):
            if k < count:
                if wp.static(features.segmentation):
                    pictures.segmentation[v, pixel + k] = seen_id(scene, keys[k])
                if wp.static(features.depth):
                    pictures.depth[v, pixel + k] = seen_depth(keys[k])

        if wp.static(features.rgb):
            normal = FourVectors()
            color = FourVectors()
            finish = FourVectors()
            mapped = FourVectors()
            depth = wp.vec4()
            texture = FourInts()
            surface = Surface()
            known = EMPTY_KEY
            for k in range(4):
                if keys[k] != EMPTY_KEY:
                    which = keys[k] & SURFACE
                    if which != known:
                        surface = load_surface(scene, world, eye, keys[k])
                        known = which
                    ray = pixel_ray(eye, x + k, y)
                    depth[k] = seen_depth(keys[k])
                    normal[k] = surface.normal * ray
                    color[k] = surface.color
                    finish[k] = surface.finish
                    if wp.static(features.textures):
                        texture[k] = surface.texture
                        if surface.texture >= 0:
                            uv, uv_x, uv_y = texture_coordinates(eye, surface, ray, depth[k])
                            mapped[k] = wp.vec3(uv[0], uv[1], mip_level(surface.texture_size, uv_x, uv_y))

            lit = FourVectors()
            for k in range(4):
                point = make_point(pixel_ray(eye, x + k, y), depth[k], normal[k], color[k], finish[k])
                lit[k] = light_by_head(scene, eye.forward, point)
            if wp.static(features.lights):
                for i in range(scene.light_spot.shape[0]):
                    light = load_light(scene, world, eye.world, i, eye.position)
                    for k in range(4):
                        point = make_point(pixel_ray(eye, x + k, y), depth[k], normal[k], color[k], finish[k])
                        if light.spot == 1:
                            if wp.static(features.spots):
                                lit[k] = lit[k] + light_by_spot(light, point)
                        else:
                            lit[k] = lit[k] + light_by_directional(light, point)

            for k in range(4):
                if k < count:
                    shown = wp.vec3(wp.min(lit[k, 0], 1.0), wp.min(lit[k, 1], 1.0), wp.min(lit[k, 2], 1.0))
                    if keys[k] == EMPTY_KEY:
                        shown = background(scene, pixel_ray(eye, x + k, y))
                    elif wp.static(features.textures):
                        if texture[k] >= 0:
                            shown = wp.cw_mul(shown, trilinear(scene, texture[k], mapped[k, 0], mapped[k, 1], mapped[k, 2]))
                    pictures.rgb[v, 3 * (pixel + k)] = wp.uint8(to_byte(shown[0]))
                    pictures.rgb[v, 3 * (pixel + k) + 1] = wp.uint8(to_byte(shown[1]))
                    pictures.rgb[v, 3 * (pixel + k) + 2] = wp.uint8(to_byte(shown[2]))

    return shade
