"""What lies between a camera and the horizon: haze before the skybox, and fog (``rollfilm.scene.Haze`` and ``Fog``)."""

from functools import cache

import warp as wp

from rollfilm.render.kernels.features import Features
from rollfilm.render.kernels.shade import Eye, shading
from rollfilm.render.kernels.types import SceneData, WorldData

# How far the sky is, in parts of the farthest that is seen (MuJoCo: just below the root of a half).
SKY = wp.constant(0.7)


@wp.struct
class Horizon:
    """An infinite plane and the camera above it."""

    up: wp.vec3
    height: float  # metres; at most 0 where there is no haze
    sky: float  # metres to the sky
    steep: float  # square of how many metres a ray falls a metre that passes below the haze, and a bit
    near: float  # square of metres that surely end before the sky


@wp.func
def make_horizon(scene: SceneData, world: WorldData, eye: Eye):
    """The plane whose horizon is hazy."""
    horizon = Horizon()
    horizon.sky = SKY * scene.far
    geom = scene.haze_plane
    if geom >= 0:
        if scene.geom_mesh[eye.world, geom] == -1:
            rotation = world.geom_normal[eye.world, geom]
            horizon.up = wp.normalize(wp.vec3(rotation[0, 2], rotation[1, 2], rotation[2, 2]))
            horizon.height = wp.dot(horizon.up, eye.position - world.geom_position[eye.world, geom])
    horizon.near = 1.0e30
    if horizon.height > 0.0:
        steepest = horizon.height / (horizon.sky * (1.0 - scene.haze_width))
        horizon.steep = 1.001 * steepest * steepest
        horizon.near = 0.999 * horizon.sky * horizon.sky
    return horizon


@wp.func
def across(horizon: Horizon, ray: wp.vec3):
    """How far a ray goes along the plane while it goes one metre deep."""
    flat = ray - wp.dot(horizon.up, ray) * horizon.up
    return wp.sqrt(wp.dot(flat, flat))


@wp.func
def may_be_hazy(scene: SceneData, horizon: Horizon, first: wp.vec3, last: wp.vec3):
    """Whether haze can lie between two rays: it does from the height of the camera down to where the cone leaves the plane."""
    if horizon.height <= 0.0:
        return False
    down_first = -wp.dot(horizon.up, first)
    down_last = -wp.dot(horizon.up, last)
    if wp.max(down_first, down_last) <= 0.0:
        return False
    steepest = horizon.height / (horizon.sky * (1.0 - scene.haze_width))
    return wp.min(down_first, down_last) < steepest * wp.max(across(horizon, first), across(horizon, last))


@wp.func
def clear_of_haze(horizon: Horizon, ray: wp.vec3, depth: float):
    """Whether a pixel surely shows neither haze nor sky before it: most do, and this is cheap to tell."""
    down = -wp.dot(horizon.up, ray)
    level = wp.dot(ray, ray) - down * down
    return (down <= 0.0 or down * down > horizon.steep * level) and depth * depth * level < horizon.near


@wp.func
def haze_strength(scene: SceneData, horizon: Horizon, slope: float, distance: float):
    """How much of the haze a ray sees that falls by ``slope`` a metre and ends ``distance`` metres away along the plane.

    The cone goes from the plane, at ``1 - width`` of the way to the sky, up to the camera's height there. Haze grows up to a place on it
    and fades again, as ``haze`` in MuJoCo's render_context.c sets it.
    """
    elevation = horizon.height / horizon.sky
    width = scene.haze_width
    t = (elevation - slope * (1.0 - width)) / wp.max(elevation + slope * width, 1.0e-20)
    alpha = wp.atan2(1.0, width)
    densest = wp.sqrt(0.5) * width * wp.sin(alpha) / wp.sin(0.75 * wp.pi - alpha)
    strength = (1.0 - t) / (1.0 - densest)
    if t < densest:
        strength = t / densest
    if t < 0.0 or t > 1.0 or distance < horizon.sky * (1.0 - width * (1.0 - t)):
        return 0.0
    return strength


@wp.func
def mixed(a: wp.vec3, b: wp.vec3, part: float):
    """``a`` with a part of ``b``."""
    return a + part * (b - a)


@wp.func
def clear_part(scene: SceneData, depth: float):
    """What fog leaves of a thing at a depth."""
    return wp.clamp((scene.fog_end - depth) / (scene.fog_end - scene.fog_start), 0.0, 1.0)


@cache
def veiling(features: Features, *, hardware: bool) -> wp.Function:
    """The function that puts haze and fog before a color; a depth of 0 is the background."""
    _, background = shading(features, hardware=hardware)

    @wp.func
    def veil(scene: SceneData, eye: Eye, horizon: Horizon, ray: wp.vec3, depth: float, color: wp.vec3):
        seen = wp.vec3(wp.min(color[0], 1.0), wp.min(color[1], 1.0), wp.min(color[2], 1.0))
        # an orthographic camera looks the same way at all pixels, whose rays are places
        if wp.static(features.flat):
            run = across(horizon, eye.forward)
        else:
            run = across(horizon, ray)
        sky_depth = horizon.sky / wp.max(run, 1.0e-6)
        distance = wp.where(depth > 0.0, depth * run, 1.0e30)
        sky = depth <= 0.0
        if wp.static(features.haze):
            # the sky stands before what is farther away
            if horizon.height > 0.0 and distance > horizon.sky and depth > 0.0:
                sky = True
                seen = background(scene, eye, ray)
        if wp.static(features.fog):
            if depth > 0.0 and not sky:
                seen = mixed(scene.fog_color, seen, clear_part(scene, depth))
            elif wp.static(features.skybox):
                seen = mixed(scene.fog_color, seen, clear_part(scene, sky_depth))
        if wp.static(features.haze):
            if horizon.height > 0.0:
                haze = scene.haze_color
                if wp.static(features.fog):
                    haze = mixed(scene.fog_color, haze, clear_part(scene, sky_depth))
                slope = -wp.dot(horizon.up, ray) / wp.max(run, 1.0e-20)
                if slope > 0.0:
                    seen = mixed(seen, haze, haze_strength(scene, horizon, slope, distance))
        return seen

    return veil
