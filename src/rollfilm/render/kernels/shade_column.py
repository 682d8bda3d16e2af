"""Shading for a GPU: one thread shades a few pixels of a column, so that camera and planes, and often the triangle, are read once.

Threads side by side shade pixels side by side, so that memory is read and written in runs. What is computed is what ``shade_row``
computes for a chunk.
"""

from functools import cache

import warp as wp

from rollfilm.render.kernels.features import Features
from rollfilm.render.kernels.light import lighting, shadowed_lighting
from rollfilm.render.kernels.measure import measuring
from rollfilm.render.kernels.shade import (
    SURFACE,
    Eye,
    Plane,
    Spot,
    Surface,
    cube_coordinates,
    make_eye,
    pixel_ray,
    seen_depth,
    seen_id,
    shading,
    sight,
    store_color,
    surface_normal,
    texture_coordinates,
)
from rollfilm.render.kernels.shadow_share import point_shares
from rollfilm.render.kernels.texture import mip_level, trilinear, trilinear_face, trilinear_face_unit, trilinear_unit
from rollfilm.render.kernels.types import EMPTY_KEY, Pictures, SceneData, ViewBatch, WorldData
from rollfilm.render.kernels.veil import make_horizon, veiling

#: Threads of a block. Five blocks on a multiprocessor leave 96 registers a thread: fewer blocks wait too much, more spill too much.
BLOCK = 128


@cache
def surface_shading(features: Features, *, hardware: bool):
    """The functions that light a surface at a pixel, and that lay its texture over what they give, for these features.

    ``hardware`` asks for a GPU's texture units.
    """
    sample, sample_face = (trilinear_unit, trilinear_face_unit) if hardware else (trilinear, trilinear_face)
    light = lighting(features.lights, features.headlights, features.dull)
    make_point = sight(features).make_point
    shadows = len(features.shadows)
    if shadows:
        shares_of_point = point_shares(features)
        light_behind = shadowed_lighting(features.lights, features.headlights, features.dull, features.shadows)

    @wp.func
    def light_pixel(scene: SceneData, world: WorldData, eye: Eye, surface: Surface, ray: wp.vec3, depth: float):
        """Red, green and blue of a surface without its texture, 0 to 1."""
        point = make_point(eye, ray, depth, surface_normal(surface, ray), surface.color, surface.finish)
        if wp.static(shadows > 0):
            shares = shares_of_point(scene, world, eye, depth, surface_normal(surface, ray), ray)
            # what each light adds is cut at 1, not the sum
            color = light_behind(scene, world, eye.world, eye.position, eye.forward, point, shares)
        else:
            lit = light(scene, world, eye.world, eye.position, eye.forward, point)
            color = wp.vec3(wp.min(lit[0], 1.0), wp.min(lit[1], 1.0), wp.min(lit[2], 1.0))
        return color

    @wp.func
    def paint(scene: SceneData, surface: Surface, spot: Spot, color: wp.vec3):
        """A colour times the texture of a surface that has one."""
        if wp.static(features.cubes):
            if surface.cube == 1:
                face, place, place_x, place_y = cube_coordinates(surface, spot)
                levels = (surface.last_image - surface.image + 1) // 6
                wanted = mip_level(surface.texture_size, place_x, place_y)
                return wp.cw_mul(color, sample_face(scene, surface.image + face, levels, place, wanted))
        uv, uv_x, uv_y = texture_coordinates(surface, spot)
        level = mip_level(surface.texture_size, uv_x, uv_y)
        return wp.cw_mul(color, sample(scene, surface.image, surface.last_image, uv[0], uv[1], level))

    return light_pixel, paint


@cache
def pixel_shading(features: Features, *, hardware: bool):
    """The functions that set up a surface, shade it at a pixel, and give the background, for these features.

    ``hardware`` asks for a GPU's texture units.
    """
    load_surface, background = shading(features, hardware=hardware)
    light_pixel, paint = surface_shading(features, hardware=hardware)
    surface_spot = sight(features).surface_spot

    @wp.func
    def shade_pixel(scene: SceneData, world: WorldData, eye: Eye, surface: Surface, ray: wp.vec3, depth: float):
        """Red, green and blue of a surface at a pixel, 0 to 1."""
        color = light_pixel(scene, world, eye, surface, ray, depth)
        if wp.static(features.textures):
            if surface.textured == 1:
                color = paint(scene, surface, surface_spot(eye, surface, ray, depth), color)
        return color

    return load_surface, shade_pixel, background


@cache
def shade_kernel(features: Features):
    """The kernel for these features."""
    load_surface, shade_pixel, background = pixel_shading(features, hardware=True)
    measure = measuring(features)
    veil = veiling(features, hardware=True)
    make_plane, plane_key, _, _ = sight(features)

    # approximate division and square root: far below what a byte of color shows
    @wp.kernel(enable_backward=False, module="unique", module_options={"fast_math": True}, launch_bounds=(BLOCK, 5))
    def shade(
        first_view: int,
        rows: int,
        scene: SceneData,
        world: WorldData,
        batch: ViewBatch,
        vis: wp.array2d(dtype=wp.uint64),
        pictures: Pictures,
    ):
        """One thread for ``rows`` pixels of a column. Leaves the visibility buffer empty."""
        row, part, x = wp.tid()
        v = row + first_view
        if world.active[v % batch.num_worlds] == 0:
            return
        first = rows * part
        end = wp.min(first + rows, batch.height)
        eye = make_eye(world, batch, v)
        if wp.static(features.haze or features.fog):
            horizon = make_horizon(scene, world, eye)
        plane = Plane()
        if wp.static(features.planes > 0):
            plane = make_plane(scene, world, eye, scene.plane[0])
        # who sees a plane from behind is coloured by another kernel (``composite_column``)
        colored = plane.seen != -1
        if wp.static(features.planes > 1):
            for p in range(1, scene.plane.shape[0]):
                other = make_plane(scene, world, eye, scene.plane[p])
                colored = colored and other.seen != -1
        surface = Surface()
        known = EMPTY_KEY
        for y in range(first, end):
            pixel = y * batch.width + x
            ray = pixel_ray(eye, x, y)
            key = vis[row, pixel]
            if key != EMPTY_KEY:
                vis[row, pixel] = EMPTY_KEY
            if wp.static(features.planes > 0):
                if plane.seen != 0:
                    key = wp.min(key, plane_key(scene, plane, ray))
            if wp.static(features.planes > 1):
                # one plane is the rule: more are set up again at every pixel
                for p in range(1, scene.plane.shape[0]):
                    other = make_plane(scene, world, eye, scene.plane[p])
                    if other.seen != 0:
                        key = wp.min(key, plane_key(scene, other, ray))
            if wp.static(features.segmentation):
                pictures.segmentation[v, pixel] = seen_id(scene, key)
            if wp.static(features.depth):
                pictures.depth[v, pixel] = seen_depth(key)
            if wp.static(features.measured):
                if wp.static(features.normals):
                    if key != EMPTY_KEY and (key & SURFACE) != known:
                        surface = load_surface(scene, world, eye, key)
                        known = key & SURFACE
                measure(scene, world, eye, pictures, surface, key, ray, v, pixel)
            if wp.static(features.rgb):
                if colored:
                    color = wp.vec3(0.0)
                    if key == EMPTY_KEY:
                        color = background(scene, eye, ray)
                    else:
                        which = key & SURFACE
                        if which != known:
                            surface = load_surface(scene, world, eye, key)
                            known = which
                        color = shade_pixel(scene, world, eye, surface, ray, seen_depth(key))
                    if wp.static(features.haze or features.fog):
                        color = veil(scene, eye, horizon, ray, seen_depth(key), color)
                    store_color(pictures, v, pixel, color)

    return shade
