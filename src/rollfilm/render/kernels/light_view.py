"""How lights see their shadow maps: fitted in every frame around what casts shadows in a world."""

import warp as wp

from rollfilm.render.kernels.cull import coarsest_level
from rollfilm.render.kernels.types import LightView, SceneData, WorldData

# Texels around what is seen, so that soft edges never leave the map.
MARGIN = wp.constant(3)
# A spot's map covers at most 80 degrees to each side.
WIDEST = wp.constant(5.67)
# Texels that a simplified surface may lie from the true one for each pixel that it may do so on the screen.
DETAIL = wp.constant(4.0)


@wp.func
def middle_of_casters(scene: SceneData, world: WorldData, w: int):
    """A place amid most of the casters, and a distance from it beyond which a geom must be astray: a map around it would be blurred. So it
    would be around a geom whose own radius is larger.

    The place is the geometric median, by five of Weiszfeld's steps: a ball that fell through the floor does not pull it along.
    """
    middle = wp.vec3(0.0)
    spread = float(0.0)
    for step in range(6):
        total = wp.vec3(0.0)
        weights = float(0.0)
        count = float(0.0)
        for geom in range(scene.geom_body.shape[0]):
            caster = world.caster[w, geom]
            center = wp.vec3(caster[0], caster[1], caster[2])
            radius = caster[3]
            if radius >= 0.0:
                weight = float(1.0)
                if step > 0:
                    weight = 1.0 / (wp.length(center - middle) + radius + 0.01 * scene.extent)
                total += weight * center
                weights += weight
                count += 1.0
        middle = total / wp.max(weights, 1.0e-20)
        spread = count / wp.max(weights, 1.0e-20)  # the harmonic mean of distances
    return middle, wp.max(4.0 * scene.extent, 10.0 * spread)


@wp.func
def axes_along(direction: wp.vec3):
    """Rows right, up and backward of axes that look along a unit vector."""
    backward = -direction
    # the world's axis that is most across
    other = wp.vec3(1.0, 0.0, 0.0)
    if wp.abs(backward[0]) > 0.6:
        other = wp.vec3(0.0, 1.0, 0.0)
    right = wp.normalize(wp.cross(other, backward))
    up = wp.cross(backward, right)
    return wp.matrix_from_rows(right, up, backward)


@wp.func
def slope_range(across: float, depth: float, radius: float):
    """The least and largest slope of lines from the eye that touch a sphere, seen in the plane of one axis and the depth."""
    # of tangents to a circle at (across, depth)
    squared = depth * depth - radius * radius
    if depth <= 1.01 * radius:
        return wp.vec2(-WIDEST, WIDEST)
    root = radius * wp.sqrt(wp.max(across * across + squared, 0.0))
    return wp.vec2(
        wp.clamp((across * depth - root) / squared, -WIDEST, WIDEST), wp.clamp((across * depth + root) / squared, -WIDEST, WIDEST)
    )


@wp.func
def outside_cone(scene: SceneData, world: WorldData, w: int, light: int, center: wp.vec3, radius: float):
    """Whether a sphere lies wholly beside the cone of a spot, where it shades nothing that is lit."""
    offset = center - world.light_position[w, light]
    distance = wp.length(offset)
    cutoff = scene.light_cone[light][0]
    if distance <= radius or cutoff < -1.0:
        return False
    angle = wp.acos(wp.clamp(wp.dot(offset, world.light_direction[w, light]) / distance, -1.0, 1.0))
    return angle - wp.asin(radius / distance) > wp.acos(cutoff)


@wp.func
def fit_range(low: wp.vec3, high: wp.vec3, side: int, finest: float):
    """Scale, centre and used size of a square map over a range of metres or slopes; ``finest`` texels are small enough."""
    longest = wp.max(high[0] - low[0], high[1] - low[1])
    scale = float(side - 2 * MARGIN) / wp.max(longest, finest * float(side))
    width = wp.min(int(wp.ceil((high[0] - low[0]) * scale)) + 2 * MARGIN, side)
    height = wp.min(int(wp.ceil((high[1] - low[1]) * scale)) + 2 * MARGIN, side)
    center = wp.vec2(float(MARGIN) - low[0] * scale, float(MARGIN) + high[1] * scale)
    return scale, center, width, height


@wp.func
def light_view(scene: SceneData, world: WorldData, w: int, light: int, spot: bool, side: int):
    """How light ``light`` of world ``w`` sees its map of ``side`` x ``side`` texels."""
    view = LightView()
    ambient = scene.light_ambient[w, light]
    if ambient[0] + ambient[1] + ambient[2] > 0.0:
        view.ambient = 1
    middle, beyond = middle_of_casters(scene, world, w)
    view.from_world = axes_along(world.light_direction[w, light])
    view.origin = middle
    if spot:
        view.perspective = 1
        view.origin = world.light_position[w, light]
        away = middle - view.origin
        # from afar it looks at what casts shadows, wherever its cone points
        if wp.length(away) > 1.0e-6 * scene.extent:
            if scene.light_cone[light][0] < 0.1 or wp.dot(away, world.light_direction[w, light]) > 0.5 * wp.length(away):
                view.from_world = axes_along(wp.normalize(away))
    low = wp.vec3(1.0e30)
    high = wp.vec3(-1.0e30)
    for geom in range(scene.geom_body.shape[0]):
        caster = world.caster[w, geom]
        center = wp.vec3(caster[0], caster[1], caster[2])
        radius = caster[3]
        # neither a geom that is astray nor the hills that all others stand on
        if radius >= 0.0 and radius <= beyond and wp.length(center - middle) <= beyond:
            p = view.from_world * (center - view.origin)
            if not spot:
                low = wp.min(low, p - wp.vec3(radius))
                high = wp.max(high, p + wp.vec3(radius))
            elif radius - p[2] > scene.near and not outside_cone(scene, world, w, light, center, radius):
                across = slope_range(p[0], -p[2], radius)
                upward = slope_range(p[1], -p[2], radius)
                low = wp.min(low, wp.vec3(across[0], upward[0], 0.0))
                high = wp.max(high, wp.vec3(across[1], upward[1], 0.0))
    if low[0] < high[0]:
        finest = scene.extent / 8192.0
        if spot:
            finest = finest / wp.max(wp.length(middle - view.origin), scene.near)
        scale, texels, width, height = fit_range(low, high, side, finest)
        view.scale = scale
        view.center = texels
        view.width = width
        view.height = height
        view.reach = 0.01 * scene.extent - low[2]
    return view


@wp.func
def caster_level(
    scene: SceneData,
    world: WorldData,
    view: LightView,
    w: int,
    light: int,
    geom: int,
    lod_pixels: float,
    rotation: wp.mat33,
    position: wp.vec3,
):
    """The level of detail to draw into a map, -1 if the geom does not touch it; ``rotation`` and ``position`` as the light sees the geom.

    The coarsest level is taken whose error stays below ``DETAIL * lod_pixels`` texels.
    """
    mesh = scene.geom_mesh[w, geom]
    if mesh < 0 or view.width == 0:
        return -1
    stretch = scene.geom_stretch[w, geom]
    radius = stretch * scene.mesh_radius[mesh]
    center = rotation * scene.mesh_center[mesh] + position
    depth = -center[2]
    nearest = float(1.0)
    x = wp.vec2(center[0] - radius, center[0] + radius)
    y = wp.vec2(center[1] - radius, center[1] + radius)
    if view.perspective == 1:
        if depth + radius < scene.near:
            return -1
        nearest = wp.max(depth - radius, scene.near)
        if outside_cone(scene, world, w, light, center_in_world(view, center), radius):
            return -1
        x = slope_range(center[0], depth, radius)
        y = slope_range(center[1], depth, radius)
    elif depth + radius > view.reach:
        return -1
    if view.center[0] + view.scale * x[1] < 0.0 or view.center[0] + view.scale * x[0] > float(view.width):
        return -1
    if view.center[1] - view.scale * y[0] < 0.0 or view.center[1] - view.scale * y[1] > float(view.height):
        return -1
    allowed = DETAIL * lod_pixels * nearest / view.scale
    return coarsest_level(scene, mesh, stretch, allowed)


@wp.func
def center_in_world(view: LightView, p: wp.vec3):
    """A point of a light's axes in the world."""
    return wp.transpose(view.from_world) * p + view.origin
