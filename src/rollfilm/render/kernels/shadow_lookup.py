"""How much of a light reaches a point: a filtered look into its shadow map, and planes, which need none.

A point is lifted off its surface along the normal before it is compared: by what texels and simplified surfaces may be wrong.
"""

import warp as wp

from rollfilm.render.kernels.types import LightView, SceneData, WorldData

# Texels by which a point is lifted, and more for each texel that its surface falls off over: a look reaches 1.5 texels to each side.
LIFT = wp.constant(1.0)
LIFT_SLOPE = wp.constant(1.6)

# Texels off a map from where on lifting a point does not bring it there.
BESIDE = wp.constant(8.0)


@wp.struct
class MapPoint:
    """A point as a shadow map sees it."""

    inside: int  # 1 if the map can shade it
    column: float
    row: float
    nearness: float
    depth: float  # from the light


@wp.func_native("""
    return map.data[(size_t)row * (size_t)map.shape[1] + (size_t)at];
""")
def nearness_bits(map: wp.array2d(dtype=wp.uint32), row: int, at: int) -> wp.uint32:
    """A texel of a map."""


@wp.func
def point_on_map(view: LightView, eye: wp.vec3, point: wp.vec3, normal: wp.vec3, blur: float):
    """Where a point is on a map; free of branches, for vector units.

    Args:
        eye: the camera's place.
        point: from the camera.
        normal: of unit length.
        blur: metres by which the surface may be wrong.
    """
    p = view.from_world * (eye - view.origin + point)
    n = view.from_world * normal
    spot = view.perspective == 1
    texel = wp.where(spot, wp.max(-p[2], 1.0e-6), 1.0) / wp.max(view.scale, 1.0e-12)
    # how the surface faces the light, and how fast it falls off there
    along = wp.where(spot, -wp.dot(n, p) / wp.sqrt(wp.max(wp.dot(p, p), 1.0e-20)), n[2])
    falling = wp.sqrt(wp.max(1.0 - along * along, 0.0))
    p += (texel * (LIFT + LIFT_SLOPE * falling) + blur) * n
    depth = -p[2]
    found = MapPoint()
    found.depth = depth
    share = wp.where(spot, 1.0 / wp.max(depth, 1.0e-6), 1.0)
    found.column = view.center[0] + view.scale * share * p[0]
    found.row = view.center[1] - view.scale * share * p[1]
    found.nearness = wp.max(wp.where(spot, share, view.reach - depth), 0.0)
    # what faces away is dark by itself, unless there is ambient light to lose
    inside = wp.where(along > 0.0, 1, view.ambient)
    inside = wp.where(found.column > 1.0, inside, 0)
    inside = wp.where(found.row > 1.0, inside, 0)
    inside = wp.where(found.column < float(view.width - 1), inside, 0)
    inside = wp.where(found.row < float(view.height - 1), inside, 0)
    found.inside = wp.where(depth > 0.0, inside, wp.where(spot, 0, inside))
    return found


@wp.func
def beside_map(view: LightView, first: MapPoint, last: MapPoint):
    """Whether a line between two points of one plane passes a map on one side, give or take what points are lifted."""
    far_x = float(view.width) + BESIDE
    far_y = float(view.height) + BESIDE
    beside = wp.max(first.column, last.column) < -BESIDE or wp.min(first.column, last.column) > far_x
    beside = beside or wp.max(first.row, last.row) < -BESIDE or wp.min(first.row, last.row) > far_y
    # lines stay lines on the map of a spot only before it
    return beside and (view.perspective == 0 or wp.min(first.depth, last.depth) > 1.0e-6)


@wp.func
def nearer(map: wp.array2d(dtype=wp.uint32), row: int, at: int, nearness: float):
    """1 if a texel is nearer to the light."""
    return wp.where(wp.cast(nearness_bits(map, row, at), wp.float32) > nearness, 1.0, 0.0)


@wp.func
def light_through(map: wp.array2d(dtype=wp.uint32), row: int, pitch: int, column: float, line: float, nearness: float):
    """The part of a light that reaches a place: a box of two texels, moved smoothly over the map. Free of branches, for vector units."""
    x = wp.floor(column - 1.0)
    y = wp.floor(line - 1.0)
    fx = column - 1.0 - x
    fy = line - 1.0 - y
    at = int(y) * pitch + int(x)
    first = (1.0 - fx) * nearer(map, row, at, nearness) + nearer(map, row, at + 1, nearness) + fx * nearer(map, row, at + 2, nearness)
    at += pitch
    second = (1.0 - fx) * nearer(map, row, at, nearness) + nearer(map, row, at + 1, nearness) + fx * nearer(map, row, at + 2, nearness)
    at += pitch
    third = (1.0 - fx) * nearer(map, row, at, nearness) + nearer(map, row, at + 1, nearness) + fx * nearer(map, row, at + 2, nearness)
    return 1.0 - 0.25 * ((1.0 - fy) * first + second + fy * third)


@wp.struct
class Screen:
    """A plane between a light and what lies beyond it, from the camera."""

    normal: wp.vec3
    height: float  # of the camera above it
    axis_x: wp.vec3
    axis_y: wp.vec3
    origin: wp.vec2  # along the axes, from the camera
    half_size: wp.vec2


@wp.func
def make_screen(scene: SceneData, world: WorldData, w: int, geom: int, eye: wp.vec3):
    """A plane of world ``w``; one of no size if it is hidden."""
    screen = Screen()
    if scene.geom_mesh[w, geom] == -1:
        rotation = world.geom_normal[w, geom]
        origin = world.geom_position[w, geom] - eye
        screen.axis_x = wp.vec3(rotation[0, 0], rotation[1, 0], rotation[2, 0])
        screen.axis_y = wp.vec3(rotation[0, 1], rotation[1, 1], rotation[2, 1])
        screen.normal = wp.normalize(wp.vec3(rotation[0, 2], rotation[1, 2], rotation[2, 2]))
        screen.height = -wp.dot(screen.normal, origin)
        screen.origin = wp.vec2(wp.dot(screen.axis_x, origin), wp.dot(screen.axis_y, origin))
        half = scene.geom_half_size[geom]
        screen.half_size = wp.vec2(wp.where(half[0] > 0.0, half[0], 1.0e30), wp.where(half[1] > 0.0, half[1], 1.0e30))
    return screen


@wp.func
def blocked(screen: Screen, view: LightView, eye: wp.vec3, point: wp.vec3):
    """1 if a plane lies between a point (from the camera) and a light. Free of branches, for vector units."""
    spot = view.perspective == 1
    # towards the light: all the way to a spot
    towards = wp.vec3(view.from_world[2, 0], view.from_world[2, 1], view.from_world[2, 2])
    offset = view.origin - eye - point
    towards = wp.vec3(wp.where(spot, offset[0], towards[0]), wp.where(spot, offset[1], towards[1]), wp.where(spot, offset[2], towards[2]))
    height = wp.dot(screen.normal, point) + screen.height
    rise = wp.dot(screen.normal, towards)
    t = -height / wp.where(wp.abs(rise) > 1.0e-20, rise, 1.0e-20)
    x = wp.abs(wp.dot(screen.axis_x, point + t * towards) - screen.origin[0])
    y = wp.abs(wp.dot(screen.axis_y, point + t * towards) - screen.origin[1])
    # a point on the plane does not shade itself, whatever digits it lost
    apart = wp.abs(height) > 1.0e-5 * (1.0 + wp.abs(point[0]) + wp.abs(point[1]) + wp.abs(point[2]))
    hit = wp.where(height * rise < 0.0, wp.where(apart, 1, 0), 0)
    hit = wp.where(x <= screen.half_size[0], hit, 0)
    hit = wp.where(y <= screen.half_size[1], hit, 0)
    return wp.where(spot, wp.where(t < 1.0, hit, 0), hit)
