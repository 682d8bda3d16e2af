"""The first plane of a scene for a GPU, in axes of its own: x and y along it, z towards the side that it is seen from, all from the camera.

There the normal is (0, 0, 1) and every point has the same z, so that most of what ``light`` and ``texture`` compute for any surface is the
same all over a view. It is worked out once by the thread that makes the view's ``Outlook``; a pixel does the rest.
"""

from functools import cache
from typing import Any

import warp as wp

from rollfilm.render.kernels.features import Features
from rollfilm.render.kernels.lamps import LAMP, store_vector, vector_at
from rollfilm.render.kernels.light import no_brighter, spot_strength
from rollfilm.render.kernels.power import exp2_of, fused, fused_dot, fused_sum, log2_of, reciprocal_root
from rollfilm.render.kernels.shade import Eye, Plane, Surface
from rollfilm.render.kernels.texture import texture_unit
from rollfilm.render.kernels.types import SceneData, WorldData
from rollfilm.render.kernels.veil import Horizon


@wp.struct
class Ground:
    """What the pixels of a view share that see its first plane. Vectors are in the plane's axes."""

    corner: wp.vec3  # of the camera's rays (``Eye``)
    step_x: wp.vec3
    step_y: wp.vec3
    height: float  # of the camera
    color: wp.vec3  # by what lights all of it alike
    exponent: float  # of its highlights
    texel: wp.vec4  # from x and y to texels of the finest image: two rows
    change_x: wp.vec2  # of texels to the next column, where the plane is one metre deep and looked at straight
    change_y: wp.vec2  # and to the next row
    turn: wp.vec2  # what of that is lost a texel away, as the plane falls off: columns, rows
    texture_place: wp.vec2  # texture coordinates of the point below the camera, v down
    texture_share: wp.vec2  # and a texel of them, v down
    horizon: Horizon


@wp.func
def ground_axes(plane: Plane):
    """The axes of a plane that is seen from above, as rows."""
    x = wp.normalize(plane.axis_x)
    z = wp.normalize(-plane.inverse_depth)
    return wp.matrix_from_rows(x, wp.cross(z, x), z)


@wp.func
def ground_depth(scene: SceneData, inverse_depth: wp.vec3, ray: wp.vec3):
    """Reciprocal depth of an infinite plane on a ray, as ``shade.plane_key`` has it; 0 where they do not meet."""
    met = fused_dot(inverse_depth, ray)
    return wp.where(met * scene.far >= 1.0 and met * scene.near <= 1.0, met, 0.0)


@wp.func
def within_ground(plane: Plane, ray: wp.vec3, inverse_depth: float):
    """Whether a ray that meets a plane at a depth does so between its borders."""
    x = wp.abs(fused(-plane.origin[0], inverse_depth, fused_dot(plane.axis_x, ray)))
    y = wp.abs(fused(-plane.origin[1], inverse_depth, fused_dot(plane.axis_y, ray)))
    return x <= plane.half_size[0] * inverse_depth and y <= plane.half_size[1] * inverse_depth


@wp.func
def texture_on_ground(ground: Ground, surface: Surface, axes: wp.mat33, eye: Eye):
    """The part of ``Ground`` that textures need."""
    size = surface.texture_size
    u = axes * surface.u
    v = axes * surface.v
    ground.texel = wp.vec4(u[0] * size[0], u[1] * size[0], -v[0] * size[1], -v[1] * size[1])
    a = ground.texel
    x = ground.step_x
    y = ground.step_y
    ground.change_x = wp.vec2(a[0] * x[0] + a[1] * x[1], a[2] * x[0] + a[3] * x[1])
    ground.change_y = wp.vec2(a[0] * y[0] + a[1] * y[1], a[2] * y[0] + a[3] * y[1])
    ground.turn = wp.vec2(x[2], y[2]) / -ground.height
    ground.texture_place = wp.vec2(surface.uv_offset[0] - u[2] * ground.height, 1.0 - surface.uv_offset[1] + v[2] * ground.height)
    ground.texture_share = wp.vec2(1.0 / size[0], 1.0 / size[1])
    return ground


@wp.func
def ground_texture(ground: Ground, unit: wp.uint64, x: float, y: float, depth: float):
    """The texture at a point of the ground, by a GPU's texture unit; the level is ``texture.mip_level``."""
    a = fused(ground.texel[1], y, ground.texel[0] * x)
    b = fused(ground.texel[3], y, ground.texel[2] * x)
    a_x = fused(-a, ground.turn[0], ground.change_x[0])
    b_x = fused(-b, ground.turn[0], ground.change_x[1])
    a_y = fused(-a, ground.turn[1], ground.change_y[0])
    b_y = fused(-b, ground.turn[1], ground.change_y[1])
    longer = depth * depth * wp.max(fused(a_x, a_x, b_x * b_x), fused(a_y, a_y, b_y * b_y))
    level = wp.max(0.5 * log2_of(wp.max(longer, 1.0e-12)), 0.0)
    u = fused(a, ground.texture_share[0], ground.texture_place[0])
    v = fused(b, ground.texture_share[1], ground.texture_place[1])
    return texture_unit(unit, u, v, level)


@wp.func
def glint(exponent: float, along: float, to_light: wp.vec3, sight: wp.vec3):
    """A highlight of strength 1 (``light.reflected``); ``along`` is the light's cosine from the normal, ``sight`` leads from the eye."""
    highlight = wp.max(along - sight[2], 1.0e-6)
    square = wp.max(fused(-2.0, fused_dot(to_light, sight), 2.0), 1.0e-12)
    return exp2_of(exponent * fused(-0.5, log2_of(square), log2_of(highlight)))


@wp.func
def by_directional(lamps: Any, at: int, exponent: float, sight: wp.vec3, color: wp.vec3):
    """``color`` and the highlight of a directional light, which is all of it that changes on a plane."""
    to_light = vector_at(lamps, at)
    strength = glint(exponent, to_light[2], to_light, sight)
    return fused_sum(color, vector_at(lamps, at + 12), strength)


@wp.func
def by_spot(lamps: Any, at: int, exponent: float, position: wp.vec3, sight: wp.vec3):
    """What a spot adds."""
    offset = vector_at(lamps, at) - position
    square = wp.max(fused_dot(offset, offset), 1.0e-12)
    inverse = reciprocal_root(square)
    to_light = offset * inverse
    cosine = -fused_dot(to_light, vector_at(lamps, at + 3))
    strength = spot_strength(vector_at(lamps, at + 15), wp.vec2(lamps[at + 18], lamps[at + 19]), square * inverse, cosine)
    along = to_light[2]
    shine = wp.where(along > 0.0, glint(exponent, along, to_light, sight), 0.0)
    lit = fused_sum(vector_at(lamps, at + 6), vector_at(lamps, at + 9), wp.max(along, 0.0))
    return strength * fused_sum(lit, vector_at(lamps, at + 12), shine)


def ground_lamps(features: Features) -> int:
    """How many lamps a view's ground has: the lights, and the headlight if it has highlights."""
    return len(features.lights) + (0 if features.dull and not features.headlights else 1)


@wp.func
def store_lamp(
    lamps: wp.array2d(dtype=float),
    row: int,
    at: int,
    place: wp.vec3,
    direction: wp.vec3,
    ambient: wp.vec3,
    diffuse: wp.vec3,
    specular: wp.vec3,
):
    """The part of a lamp that all kinds have."""
    store_vector(lamps, row, at, place)
    store_vector(lamps, row, at + 3, direction)
    store_vector(lamps, row, at + 6, ambient)
    store_vector(lamps, row, at + 9, diffuse)
    store_vector(lamps, row, at + 12, specular)


@cache
def ground_making(features: Features) -> wp.Function:
    """The function that works out the ground of a view, for these features; it stores lamps from number ``first`` of a row on."""
    spots, shadows = features.lights, features.shadows
    headlight = len(spots)
    shadowed = sum(1 << i for i in shadows)

    @wp.func
    def make_ground(
        scene: SceneData,
        world: WorldData,
        eye: Eye,
        plane: Plane,
        surface: Surface,
        horizon: Horizon,
        lamps: wp.array2d(dtype=float),
        row: int,
        first: int,
    ):
        axes = ground_axes(plane)
        ground = Ground()
        ground.corner = axes * eye.corner
        ground.step_x = axes * eye.step_x
        ground.step_y = axes * eye.step_y
        ground.height = 1.0 / wp.length(plane.inverse_depth)
        ground.exponent = surface.finish[2]
        ground.horizon = horizon
        ground.horizon.up = axes * horizon.up
        ground.color = surface.finish[0] * surface.color
        shine = surface.finish[1]
        forward = axes * eye.forward
        ambient = scene.head_ambient
        diffuse = scene.head_diffuse
        specular = scene.head_specular
        if wp.static(features.headlights):
            ambient = scene.own_head_ambient[eye.world]
            diffuse = scene.own_head_diffuse[eye.world]
            specular = scene.own_head_specular[eye.world]
        along = wp.max(-forward[2], 0.0)
        ground.color += wp.cw_mul(ambient + diffuse * along, surface.color)
        if wp.static(ground_lamps(features) > headlight):
            at = first + wp.static(LAMP * headlight)
            strength = wp.where(along > 0.0, shine, 0.0)
            store_lamp(lamps, row, at, -forward, forward, wp.vec3(0.0), wp.vec3(0.0), strength * specular)
        for i in range(wp.static(len(spots))):
            at = first + wp.static(LAMP) * i
            direction = axes * world.light_direction[eye.world, i]
            ambient = wp.cw_mul(scene.light_ambient[eye.world, i], surface.color)
            diffuse = wp.cw_mul(scene.light_diffuse[eye.world, i], surface.color)
            specular = shine * scene.light_specular[eye.world, i]
            place = -direction  # of a directional light the way to it
            if scene.light_spot[i] == 1:
                place = axes * (world.light_position[eye.world, i] - eye.position)
                cone = scene.light_cone[i]
                store_vector(lamps, row, at + 15, scene.light_attenuation[i])
                lamps[row, at + 18] = cone[0]
                lamps[row, at + 19] = cone[1]
            else:
                along = wp.max(-direction[2], 0.0)
                ambient += along * diffuse
                diffuse = wp.vec3(0.0)
                specular *= wp.where(along > 0.0, 1.0, 0.0)
                if (wp.static(shadowed) >> i) & 1 == 0:
                    ground.color += ambient
            store_lamp(lamps, row, at, place, direction, ambient, diffuse, specular)
        if wp.static(features.textures):
            if surface.textured == 1:
                ground = texture_on_ground(ground, surface, axes, eye)
        return ground

    return make_ground


def _freely(before: wp.Function | None, at: int, spot: bool) -> wp.Function:
    """The function that adds a light to what ``before`` gives, or to the ground's own color."""

    @wp.func
    def lit(ground: Ground, lamps: Any, position: wp.vec3, sight: wp.vec3):
        color = ground.color
        if wp.static(before is not None):
            color = before(ground, lamps, position, sight)
        if wp.static(spot):
            color += by_spot(lamps, wp.static(at), ground.exponent, position, sight)
        else:
            color = by_directional(lamps, wp.static(at), ground.exponent, sight, color)
        return color

    return lit


def _behind(before: wp.Function, at: int, spot: bool, place: int) -> wp.Function:
    """The function that adds as much of a light as comes through: number ``place`` of the shares."""

    @wp.func
    def lit(ground: Ground, lamps: Any, position: wp.vec3, sight: wp.vec3, shares: Any):
        if wp.static(spot):
            more = by_spot(lamps, wp.static(at), ground.exponent, position, sight)
        else:
            more = by_directional(lamps, wp.static(at), ground.exponent, sight, vector_at(lamps, wp.static(at + 6)))
        return before(ground, lamps, position, sight, shares) + shares[place] * no_brighter(more)

    return lit


@cache
def ground_lighting(features: Features) -> wp.Function:
    """The function that lights a point of the ground: what ``lamps.lamp_lighting`` gives there, but for rounding."""
    spots = features.lights
    free = None
    for i, spot in enumerate(spots):
        if i not in features.shadows:
            free = _freely(free, LAMP * i, spot)
    if ground_lamps(features) > len(spots):
        free = _freely(free, LAMP * len(spots), False)

    @wp.func
    def unshadowed(ground: Ground, lamps: Any, position: wp.vec3, sight: wp.vec3):
        if wp.static(free is not None):
            return no_brighter(free(ground, lamps, position, sight))
        return no_brighter(ground.color)

    if not features.shadows:
        return unshadowed

    @wp.func
    def lit(ground: Ground, lamps: Any, position: wp.vec3, sight: wp.vec3, shares: Any):
        return unshadowed(ground, lamps, position, sight)

    for place, i in enumerate(features.shadows):
        lit = _behind(lit, LAMP * i, spots[i], place)
    return lit
