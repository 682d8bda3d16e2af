"""Shading one pixel: what a thread of a GPU does. What is computed is what ``shade_row`` computes for a chunk."""

from functools import cache

import warp as wp

from rollfilm.render.kernels.features import Features
from rollfilm.render.kernels.light import lighting, shadowed_lighting
from rollfilm.render.kernels.shade import (
    Eye,
    Spot,
    Surface,
    cube_coordinates,
    shading,
    sight,
    surface_normal,
    texture_coordinates,
)
from rollfilm.render.kernels.shadow_share import point_shares
from rollfilm.render.kernels.texture import mip_level, texture_unit, trilinear, trilinear_face
from rollfilm.render.kernels.types import SceneData, WorldData

#: Threads of a block of all kernels that shade.
BLOCK = wp.constant(128)


@cache
def surface_shading(features: Features, *, hardware: bool):
    """The functions that light a surface at a pixel, and that lay its texture over what they give, for these features.

    ``hardware`` asks for a GPU's texture units.
    """
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
                wanted = mip_level(surface.texture_size, place_x, place_y)
                if wp.static(hardware):
                    return wp.cw_mul(color, texture_unit(scene.texture_unit[surface.image + face], place[0], place[1], wanted))
                levels = (surface.last_image - surface.image + 1) // 6
                return wp.cw_mul(color, trilinear_face(scene, surface.image + face, levels, place, wanted))
        uv, uv_x, uv_y = texture_coordinates(surface, spot)
        level = mip_level(surface.texture_size, uv_x, uv_y)
        if wp.static(hardware):
            return wp.cw_mul(color, texture_unit(surface.unit, uv[0], 1.0 - uv[1], level))
        return wp.cw_mul(color, trilinear(scene, surface.image, surface.last_image, uv[0], uv[1], level))

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
