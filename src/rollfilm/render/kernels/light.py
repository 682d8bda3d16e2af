"""MuJoCo's lighting: OpenGL's fixed-function model, evaluated at every pixel instead of every vertex."""

import warp as wp

from rollfilm.render.kernels.power import power
from rollfilm.render.kernels.types import SceneData, WorldData


@wp.struct
class Point:
    """A point to light, in world axes, seen from the camera."""

    position: wp.vec3  # from the camera
    normal: wp.vec3  # unit
    to_eye: wp.vec3  # unit
    color: wp.vec3
    finish: wp.vec3  # emission, specular, exponent


@wp.struct
class Light:
    """A light in world axes, seen from the camera."""

    spot: int  # 1 for a spot, 0 for a directional light
    position: wp.vec3
    direction: wp.vec3
    ambient: wp.vec3
    diffuse: wp.vec3
    specular: wp.vec3
    attenuation: wp.vec3
    cone: wp.vec2  # cosine of the cutoff, exponent


@wp.func
def reflected(point: Point, to_light: wp.vec3, ambient: wp.vec3, diffuse: wp.vec3, specular: wp.vec3):
    """What one light adds: ambient, Lambert's cosine, and a highlight around the half vector. Free of branches, for vector units."""
    cosine = wp.max(wp.dot(point.normal, to_light), 0.0)
    half = to_light + point.to_eye
    highlight = wp.dot(point.normal, half) / wp.sqrt(wp.max(wp.dot(half, half), 1.0e-12))
    strength = point.finish[1] * power(wp.max(highlight, 1.0e-6), point.finish[2])
    strength = wp.where(cosine > 0.0, strength, 0.0)
    return wp.cw_mul(ambient + diffuse * cosine, point.color) + specular * strength


@wp.func
def spot_strength(attenuation: wp.vec3, cone: wp.vec2, distance: float, cosine: float):
    """Attenuation and cone of a spot, at an angle of ``cosine`` from its axis."""
    strength = 1.0 / wp.max(attenuation[0] + distance * (attenuation[1] + distance * attenuation[2]), 1.0e-6)
    return wp.where(cosine < cone[0], 0.0, strength * power(wp.max(cosine, 1.0e-6), cone[1]))


@wp.func
def light_by_head(scene: SceneData, forward: wp.vec3, point: Point):
    """What shines by itself, and what the headlight adds."""
    glow = point.finish[0] * point.color
    return glow + reflected(point, -forward, scene.head_ambient, scene.head_diffuse, scene.head_specular)


@wp.func
def load_light(scene: SceneData, world: WorldData, w: int, i: int, camera_position: wp.vec3):
    """Light ``i`` of world ``w`` as a camera sees it."""
    light = Light()
    light.spot = scene.light_spot[i]
    light.position = world.light_position[w, i] - camera_position
    light.direction = world.light_direction[w, i]
    light.ambient = scene.light_ambient[i]
    light.diffuse = scene.light_diffuse[i]
    light.specular = scene.light_specular[i]
    light.attenuation = scene.light_attenuation[i]
    light.cone = scene.light_cone[i]
    return light


@wp.func
def light_by_directional(light: Light, point: Point):
    """What a directional light adds."""
    return reflected(point, -light.direction, light.ambient, light.diffuse, light.specular)


@wp.func
def light_by_spot(light: Light, point: Point):
    """What a spot adds."""
    offset = light.position - point.position
    distance = wp.sqrt(wp.max(wp.dot(offset, offset), 1.0e-12))
    to_light = offset * (1.0 / distance)
    strength = spot_strength(light.attenuation, light.cone, distance, -wp.dot(to_light, light.direction))
    return strength * reflected(point, to_light, light.ambient, light.diffuse, light.specular)
