"""MuJoCo's lighting: OpenGL's fixed-function model, evaluated at every pixel instead of every vertex."""

from functools import cache
from typing import Any

import warp as wp

from rollfilm.render.kernels.power import exp2_of, fused, fused_dot, fused_sum, log2_of, power, reciprocal_root
from rollfilm.render.kernels.types import SceneData, WorldData


@wp.struct
class Point:
    """A point to light, in world axes, seen from the camera."""

    position: wp.vec3  # from the camera
    normal: wp.vec3  # unit
    to_eye: wp.vec3  # unit
    color: wp.vec3
    finish: wp.vec3  # emission, specular, exponent


@wp.func
def reflected(point: Point, to_light: wp.vec3, ambient: wp.vec3, diffuse: wp.vec3, specular: wp.vec3):
    """What one light adds: ambient, Lambert's cosine, and a highlight around the half vector. Free of branches, for vector units."""
    along = fused_dot(point.normal, to_light)
    cosine = wp.max(along, 0.0)
    # n . h / |h| with h = l + e: both have unit length, so |l + e|^2 = 2 + 2 l . e; logarithms spare root and division
    highlight = wp.max(along + fused_dot(point.normal, point.to_eye), 1.0e-6)
    square = wp.max(fused(2.0, fused_dot(to_light, point.to_eye), 2.0), 1.0e-12)
    strength = point.finish[1] * exp2_of(point.finish[2] * fused(-0.5, log2_of(square), log2_of(highlight)))
    strength = wp.where(cosine > 0.0, strength, 0.0)
    lit = fused_sum(ambient, diffuse, cosine)
    return fused_sum(wp.cw_mul(lit, point.color), specular, strength)


@wp.func
def reflected_dull(point: Point, to_light: wp.vec3, ambient: wp.vec3, diffuse: wp.vec3):
    """``reflected`` of a light without highlights."""
    return wp.cw_mul(fused_sum(ambient, diffuse, wp.max(fused_dot(point.normal, to_light), 0.0)), point.color)


@wp.func
def spot_strength(attenuation: wp.vec3, cone: wp.vec2, distance: float, cosine: float):
    """Attenuation and cone of a spot, at an angle of ``cosine`` from its axis."""
    strength = 1.0 / wp.max(attenuation[0] + distance * (attenuation[1] + distance * attenuation[2]), 1.0e-6)
    return wp.where(cosine < cone[0], 0.0, strength * power(wp.max(cosine, 1.0e-6), cone[1]))


@wp.func
def light_by_head(scene: SceneData, w: int, forward: wp.vec3, point: Point):
    """What shines by itself, and what the headlight adds."""
    glow = point.finish[0] * point.color
    return glow + reflected(point, -forward, scene.head_ambient, scene.head_diffuse, scene.head_specular)


@wp.func
def light_by_dull_head(scene: SceneData, w: int, forward: wp.vec3, point: Point):
    """The same for a headlight without highlights."""
    glow = point.finish[0] * point.color
    return glow + reflected_dull(point, -forward, scene.head_ambient, scene.head_diffuse)


@wp.func
def light_by_own_head(scene: SceneData, w: int, forward: wp.vec3, point: Point):
    """The same where each world has a headlight of its own."""
    glow = point.finish[0] * point.color
    return glow + reflected(point, -forward, scene.own_head_ambient[w], scene.own_head_diffuse[w], scene.own_head_specular[w])


@wp.func
def light_by_directional(scene: SceneData, world: WorldData, w: int, i: int, camera_position: wp.vec3, point: Point):
    """What directional light ``i`` adds."""
    direction = world.light_direction[w, i]
    return reflected(point, -direction, scene.light_ambient[w, i], scene.light_diffuse[w, i], scene.light_specular[w, i])


@wp.func
def spot_on(
    point: Point,
    position: wp.vec3,
    direction: wp.vec3,
    attenuation: wp.vec3,
    cone: wp.vec2,
    ambient: wp.vec3,
    diffuse: wp.vec3,
    specular: wp.vec3,
):
    """What a spot at ``position``, from the camera, adds."""
    offset = position - point.position
    square = wp.max(fused_dot(offset, offset), 1.0e-12)
    inverse = reciprocal_root(square)
    distance = square * inverse
    to_light = offset * inverse
    cosine = -fused_dot(to_light, direction)
    strength = spot_strength(attenuation, cone, distance, cosine)
    return strength * reflected(point, to_light, ambient, diffuse, specular)


@wp.func
def light_by_spot(scene: SceneData, world: WorldData, w: int, i: int, camera_position: wp.vec3, point: Point):
    """What spot ``i`` adds."""
    return spot_on(
        point,
        world.light_position[w, i] - camera_position,
        world.light_direction[w, i],
        scene.light_attenuation[i],
        scene.light_cone[i],
        scene.light_ambient[w, i],
        scene.light_diffuse[w, i],
        scene.light_specular[w, i],
    )


def _one_more(before: wp.Function, i: int, spot: bool) -> wp.Function:
    """The function that adds light ``i`` to what ``before`` gives."""
    light_by = light_by_spot if spot else light_by_directional

    @wp.func
    def lit(scene: SceneData, world: WorldData, w: int, camera_position: wp.vec3, forward: wp.vec3, point: Point):
        return before(scene, world, w, camera_position, forward, point) + light_by(scene, world, w, i, camera_position, point)

    return lit


@wp.func
def no_brighter(color: wp.vec3):
    """A color of at most 1."""
    return wp.vec3(wp.min(color[0], 1.0), wp.min(color[1], 1.0), wp.min(color[2], 1.0))


def _one_more_behind(before: wp.Function, i: int, spot: bool, place: int) -> wp.Function:
    """The function that adds as much of light ``i`` as comes through: number ``place`` of the shares."""
    light_by = light_by_spot if spot else light_by_directional

    @wp.func
    def lit(scene: SceneData, world: WorldData, w: int, camera_position: wp.vec3, forward: wp.vec3, point: Point, shares: Any):
        others = before(scene, world, w, camera_position, forward, point, shares)
        return others + shares[place] * no_brighter(light_by(scene, world, w, i, camera_position, point))

    return lit


@cache
def shadowed_lighting(spots: tuple[bool, ...], headlights: bool, dull: bool, shadows: tuple[int, ...]) -> wp.Function:
    """The function that lights a point of which the lights ``shadows`` see only a share each.

    MuJoCo draws a pass for each light that casts shadows, and OpenGL cuts what each pass adds at 1: so is it here.
    """
    freely = tuple(i for i in range(len(spots)) if i not in shadows)
    unshadowed = _some_lights(spots, headlights, dull, freely)

    @wp.func
    def lit(scene: SceneData, world: WorldData, w: int, camera_position: wp.vec3, forward: wp.vec3, point: Point, shares: Any):
        return no_brighter(unshadowed(scene, world, w, camera_position, forward, point))

    for place, i in enumerate(shadows):
        lit = _one_more_behind(lit, i, spots[i], place)
    return lit


@cache
def lighting(spots: tuple[bool, ...], headlights: bool, dull: bool = False) -> wp.Function:
    """The function that lights a point by the headlight and by lights of these kinds (``Features.lights``, ``headlights``, ``dull``)."""
    return _some_lights(spots, headlights, dull, tuple(range(len(spots))))


def _some_lights(spots: tuple[bool, ...], headlights: bool, dull: bool, which: tuple[int, ...]) -> wp.Function:
    """The function that lights a point by the headlight and by some of the lights."""
    head = light_by_own_head if headlights else light_by_dull_head if dull else light_by_head

    @wp.func
    def lit(scene: SceneData, world: WorldData, w: int, camera_position: wp.vec3, forward: wp.vec3, point: Point):
        return head(scene, w, forward, point)

    for i in which:
        lit = _one_more(lit, i, spots[i])
    return lit
