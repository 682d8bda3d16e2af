"""MuJoCo's lighting: OpenGL's fixed-function model, evaluated at every pixel instead of every vertex."""

import warp as wp

from rollfilm.render.kernels.types import SceneData, WorldData


@wp.struct
class Point:
    """A point to light, in world axes, seen from the camera."""

    position: wp.vec3  # from the camera
    normal: wp.vec3  # unit
    to_eye: wp.vec3  # unit
    color: wp.vec3
    finish: wp.vec4  # emission, specular, exponent, cosine below which no highlight is seen


@wp.func
def reflected(point: Point, to_light: wp.vec3, ambient: wp.vec3, diffuse: wp.vec3, specular: wp.vec3):
    """What one light adds: ambient, Lambert's cosine, and a highlight around the half vector."""
    result = wp.cw_mul(ambient, point.color)
    cosine = wp.dot(point.normal, to_light)
    if cosine > 0.0:
        result += wp.cw_mul(diffuse, point.color) * cosine
        half = to_light + point.to_eye
        along = wp.dot(point.normal, half)
        length_squared = wp.dot(half, half)
        edge = point.finish[3]
        if along > 0.0 and along * along > edge * edge * length_squared:
            result += specular * (point.finish[1] * wp.pow(along / wp.sqrt(length_squared), point.finish[2]))
    return result


@wp.func
def spot_strength(scene: SceneData, i: int, to_light: wp.vec3, distance: float, direction: wp.vec3):
    """Attenuation and cone of a spot."""
    attenuation = scene.light_attenuation[i]
    strength = 1.0 / wp.max(attenuation[0] + distance * (attenuation[1] + distance * attenuation[2]), 1.0e-6)
    cone = scene.light_cone[i]
    cosine = -wp.dot(to_light, direction)
    if cosine < cone[0]:
        return 0.0
    if cone[1] > 0.0:
        strength *= wp.pow(wp.max(cosine, 0.0), cone[1])
    return strength


@wp.func
def light_by_directional(scene: SceneData, world: WorldData, w: int, i: int, point: Point):
    direction = world.light_direction[w, i]
    return reflected(point, -direction, scene.light_ambient[i], scene.light_diffuse[i], scene.light_specular[i])


@wp.func
def light_by_spot(scene: SceneData, world: WorldData, w: int, i: int, camera_position: wp.vec3, point: Point):
    offset = world.light_position[w, i] - camera_position - point.position
    distance = wp.max(wp.length(offset), 1.0e-9)
    to_light = offset / distance
    strength = spot_strength(scene, i, to_light, distance, world.light_direction[w, i])
    if strength <= 0.0:
        return wp.vec3(0.0)
    return strength * reflected(point, to_light, scene.light_ambient[i], scene.light_diffuse[i], scene.light_specular[i])
