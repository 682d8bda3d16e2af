"""From the visibility buffer to pictures: one call a pixel.

All vectors are in world axes and start at the camera. A ray through a pixel has depth 1 along the optical axis, so that depth times
ray is the point that is seen. Of an orthographic camera a pixel's ray leads to the point at depth 1 too, and the point that is seen is
``ray + (depth - 1) * forward``; functions of its own, whose names begin with ``flat``, are compiled in for it.
"""

from functools import cache
from typing import NamedTuple

import warp as wp

from rollfilm.render.kernels.features import Features
from rollfilm.render.kernels.light import Point
from rollfilm.render.kernels.power import fused, fused_dot, fused_sum, reciprocal_root
from rollfilm.render.kernels.texture import cube_face, cube_sampling, image_size, on_face
from rollfilm.render.kernels.types import (
    EMPTY_KEY,
    Pictures,
    SceneData,
    ViewBatch,
    WorldData,
    depth_key,
    key_geom,
    key_inverse_depth,
    key_triangle,
    layer,
    store_pixel,
    surface_key,
    view_lens,
)

# what tells one surface from another: all of a key but its depth
SURFACE = wp.constant(wp.uint64(0xFFFFFFFFF))


@wp.struct
class Eye:
    """The camera of a view."""

    world: int
    position: wp.vec3
    forward: wp.vec3
    corner: wp.vec3  # the ray through the outer corner of pixel (0, 0)
    step_x: wp.vec3  # from a pixel's ray to that of the next column
    step_y: wp.vec3  # and of the next row
    blur: float  # metres that a surface one metre away may lie from the true one


@wp.struct
class Plane:
    """A plane as a view sees it: its reciprocal depth is linear in the ray."""

    geom: int
    seen: int  # 1 if the camera is on its +z side, -1 if it sees it from behind, 0 if it does not see it
    inverse_depth: wp.vec3  # reciprocal depth from the ray; the depth itself for an orthographic camera
    forward: wp.vec3  # the camera's, for an orthographic camera
    axis_x: wp.vec3
    axis_y: wp.vec3
    origin: wp.vec2  # along the axes, from the camera
    half_size: wp.vec2


@wp.struct
class Surface:
    """A triangle or plane as rays see it: what is interpolated is linear in the ray, so nothing is solved for at a pixel."""

    color: wp.vec3
    finish: wp.vec3
    normal: wp.mat33  # normal (not of unit length) from the ray
    facet: wp.vec3  # normal of the triangle itself
    even: int  # 1 if that is its normal everywhere
    textured: int  # 1 if it has a texture
    image: int  # the texture's finest image and its last
    last_image: int
    unit: wp.uint64  # the texture's, of a GPU
    texture_size: wp.vec2  # width and height of the finest
    u: wp.vec3  # texture coordinates from the point that is seen, but for their offset
    v: wp.vec3
    uv_offset: wp.vec2
    cube: int  # 1 if the texture is a cube: u, v and w are then the axes of its direction
    w: wp.vec3
    w_offset: float


@wp.struct
class Spot:
    """The point of a surface that a pixel sees, from the camera, and how far it moves to the next column and row."""

    point: wp.vec3
    move_x: wp.vec3
    move_y: wp.vec3


@wp.func
def make_eye(world: WorldData, batch: ViewBatch, v: int):
    """The camera of view ``v``."""
    eye = Eye()
    slot = v // batch.num_worlds
    eye.world = v - slot * batch.num_worlds
    camera = batch.camera[slot]
    rotation = world.camera_rotation[eye.world, camera]
    lens = view_lens(batch, slot, eye.world)
    eye.position = world.camera_position[eye.world, camera]
    eye.forward = -wp.vec3(rotation[0, 2], rotation[1, 2], rotation[2, 2])
    eye.step_x = (1.0 / lens.fx) * wp.vec3(rotation[0, 0], rotation[1, 0], rotation[2, 0])
    eye.step_y = -(1.0 / lens.fy) * wp.vec3(rotation[0, 1], rotation[1, 1], rotation[2, 1])
    eye.corner = eye.forward - (lens.cx * eye.step_x + lens.cy * eye.step_y)
    eye.blur = batch.lod_pixels / wp.min(lens.fx, lens.fy)
    return eye


@wp.func
def ray_at(eye: Eye, x: float, y: float):
    """The ray through a point of the picture, pixels from its upper left corner."""
    return fused_sum(fused_sum(eye.corner, eye.step_y, y), eye.step_x, x)


@wp.func
def pixel_ray(eye: Eye, x: int, y: int):
    """The ray through the centre of a pixel."""
    return ray_at(eye, float(x) + 0.5, float(y) + 0.5)


@wp.func
def make_plane(scene: SceneData, world: WorldData, eye: Eye, geom: int):
    """A plane for the pixels of a view."""
    plane = Plane()
    plane.geom = geom
    rotation = world.geom_normal[eye.world, geom]  # along a side that is twice as long, coordinates grow half as fast
    plane.axis_x = wp.vec3(rotation[0, 0], rotation[1, 0], rotation[2, 0])
    plane.axis_y = wp.vec3(rotation[0, 1], rotation[1, 1], rotation[2, 1])
    normal = wp.vec3(rotation[0, 2], rotation[1, 2], rotation[2, 2])
    origin = world.geom_position[eye.world, geom] - eye.position
    plane.origin = wp.vec2(wp.dot(plane.axis_x, origin), wp.dot(plane.axis_y, origin))
    half = scene.geom_half_size[geom]
    plane.half_size = wp.vec2(wp.where(half[0] > 0.0, half[0], 1.0e30), wp.where(half[1] > 0.0, half[1], 1.0e30))
    height = wp.dot(normal, origin)
    if wp.abs(height) > 1.0e-6 * scene.near and scene.geom_mesh[eye.world, geom] == -1:
        plane.inverse_depth = normal / height
        plane.seen = wp.where(height < 0.0, 1, -1)
    return plane


@wp.func
def plane_key(scene: SceneData, plane: Plane, ray: wp.vec3):
    """The visibility key of a plane at a pixel, the empty one where the plane is not there. Free of branches, for vector units."""
    inverse_depth = fused_dot(plane.inverse_depth, ray)
    # where it is met, divided by depth
    x = wp.abs(fused(-plane.origin[0], inverse_depth, fused_dot(plane.axis_x, ray)))
    y = wp.abs(fused(-plane.origin[1], inverse_depth, fused_dot(plane.axis_y, ray)))
    key = depth_key(wp.max(inverse_depth, 0.0) * layer(plane.geom)) | surface_key(plane.geom, 0)
    key = wp.where(inverse_depth * scene.far < 1.0, EMPTY_KEY, key)
    key = wp.where(inverse_depth * scene.near > 1.0, EMPTY_KEY, key)
    key = wp.where(x > plane.half_size[0] * inverse_depth, EMPTY_KEY, key)
    return wp.where(y > plane.half_size[1] * inverse_depth, EMPTY_KEY, key)


@wp.func
def plane_depth(plane: Plane, ray: wp.vec3):
    """Depth in metres where a ray meets a plane, rounded as a key rounds it; far away where it does not."""
    factor = layer(plane.geom)
    # never infinite: what is computed beside the plane is thrown away, but addresses come of it
    bits = wp.cast(wp.max(fused_dot(plane.inverse_depth, ray), 1.0e-12) * factor, wp.uint32)
    return factor / wp.cast((bits & wp.uint32(0x7FFFFFF8)) | wp.uint32(4), wp.float32)


@wp.func
def meets_plane(scene: SceneData, plane: Plane, ray: wp.vec3):
    """Whether a ray meets a plane well within its bounds. Of two rays that do, those between do, too: all bounds are linear."""
    inverse_depth = fused_dot(plane.inverse_depth, ray)
    x = wp.abs(wp.dot(plane.axis_x, ray) - plane.origin[0] * inverse_depth)
    y = wp.abs(wp.dot(plane.axis_y, ray) - plane.origin[1] * inverse_depth)
    limit = 0.999 * inverse_depth
    inside = x < plane.half_size[0] * limit and y < plane.half_size[1] * limit
    return inside and limit * scene.far > 1.0 and 1.001 * inverse_depth * scene.near < 1.0


@wp.func
def flat_plane(scene: SceneData, world: WorldData, eye: Eye, geom: int):
    """A plane for the pixels of an orthographic view, where depth is linear in the ray."""
    plane = make_plane(scene, world, eye, geom)
    plane.forward = eye.forward
    rotation = world.geom_normal[eye.world, geom]
    normal = wp.vec3(rotation[0, 2], rotation[1, 2], rotation[2, 2])
    along = wp.dot(normal, eye.forward)
    plane.seen = 0
    if wp.abs(along) > 1.0e-6 and scene.geom_mesh[eye.world, geom] == -1:
        # the plane is where normal . (ray + (depth - 1) * forward) = height, and forward . ray = 1
        height = wp.dot(normal, world.geom_position[eye.world, geom] - eye.position)
        plane.inverse_depth = ((height + along) * eye.forward - normal) / along
        plane.seen = wp.where(along < 0.0, 1, -1)
    return plane


@wp.func
def flat_plane_key(scene: SceneData, plane: Plane, ray: wp.vec3):
    """``plane_key`` for an orthographic camera."""
    depth = wp.dot(plane.inverse_depth, ray)
    point = ray + (depth - 1.0) * plane.forward
    x = wp.abs(wp.dot(plane.axis_x, point) - plane.origin[0])
    y = wp.abs(wp.dot(plane.axis_y, point) - plane.origin[1])
    key = depth_key(1.0 / wp.max(depth, 1.0e-30) * layer(plane.geom)) | surface_key(plane.geom, 0)
    key = wp.where(depth > scene.far, EMPTY_KEY, key)
    key = wp.where(depth < scene.near, EMPTY_KEY, key)
    key = wp.where(x > plane.half_size[0], EMPTY_KEY, key)
    return wp.where(y > plane.half_size[1], EMPTY_KEY, key)


@wp.func
def map_texture(scene: SceneData, world: WorldData, eye: Eye, geom: int, plain: Surface):
    """Fold a geom's scale and offset into the texture coordinates; take them from the geom's frame where the mesh has none.

    A texture grows with its geom.
    """
    surface = plain
    m = scene.geom_uv[geom]
    surface.uv_offset = wp.vec2(m[2], m[3]) + wp.cw_mul(wp.vec2(m[0], m[1]), plain.uv_offset)
    if scene.geom_uv_local[geom] == 1:
        rotation = world.geom_normal[eye.world, geom]
        origin = world.geom_position[eye.world, geom] - eye.position
        surface.u = m[0] * wp.vec3(rotation[0, 0], rotation[1, 0], rotation[2, 0])
        surface.v = m[1] * wp.vec3(rotation[0, 1], rotation[1, 1], rotation[2, 1])
        surface.uv_offset -= wp.vec2(wp.dot(surface.u, origin), wp.dot(surface.v, origin))
    else:
        surface.u = m[0] * surface.u
        surface.v = m[1] * surface.v
    return surface


@wp.func
def map_cube(scene: SceneData, world: WorldData, eye: Eye, geom: int, triangle: int, plain: Surface):
    """The direction in a geom's cube texture from the point that is seen.

    Beyond the straight part of a capsule z counts more or less than within it. A texture grows with its geom.
    """
    surface = plain
    surface.cube = 1
    scale = scene.geom_cube[geom]
    cap = scene.geom_cube_cap[geom]
    shift = float(0.0)
    if cap[0] > 0.0:
        t = scene.triangle[scene.mesh_triangle[scene.geom_mesh[eye.world, geom]] + triangle]
        z = (scene.vertex[t[0]][2] + scene.vertex[t[1]][2] + scene.vertex[t[2]][2]) / 3.0
        if wp.abs(z) > cap[0]:
            end = wp.where(z > 0.0, cap[0], -cap[0])
            shift = scale[2] * end * (1.0 - cap[1])
            scale = wp.vec3(scale[0], scale[1], scale[2] * cap[1])
    rotation = world.geom_normal[eye.world, geom]
    origin = world.geom_position[eye.world, geom] - eye.position
    surface.u = scale[0] * wp.vec3(rotation[0, 0], rotation[1, 0], rotation[2, 0])
    surface.v = scale[1] * wp.vec3(rotation[0, 1], rotation[1, 1], rotation[2, 1])
    surface.w = scale[2] * wp.vec3(rotation[0, 2], rotation[1, 2], rotation[2, 2])
    surface.uv_offset = -wp.vec2(wp.dot(surface.u, origin), wp.dot(surface.v, origin))
    surface.w_offset = shift - wp.dot(surface.w, origin)
    return surface


@wp.func
def edges_of(scene: SceneData, world: WorldData, eye: Eye, geom: int, triangle: int):
    """The vertices of a triangle, its first corner from the camera, and the edges from there to the other two."""
    rotation = world.geom_rotation[eye.world, geom]
    t = scene.triangle[scene.mesh_triangle[scene.geom_mesh[eye.world, geom]] + triangle]
    a = rotation * scene.vertex[t[0]] + (world.geom_position[eye.world, geom] - eye.position)
    ab = rotation * (scene.vertex[t[1]] - scene.vertex[t[0]])
    ac = rotation * (scene.vertex[t[2]] - scene.vertex[t[0]])
    return t, a, ab, ac


@wp.func
def load_triangle(scene: SceneData, world: WorldData, eye: Eye, geom: int, triangle: int, normal_matrix: wp.mat33):
    """Set up a triangle for shading.

    With corners a, b, c, the barycentric weights of the point that a ray d hits are as d.(b x c), d.(c x a) and d.(a x b). Their sum is
    d.n with the normal n of the triangle; the last two are taken from edges, which loses fewer digits for small triangles far away.
    """
    surface = Surface()
    t, a, ab, ac = edges_of(scene, world, eye, geom, triangle)
    n = wp.cross(ac, ab)  # towards the back, so that weights are positive for rays that hit the front
    wb = wp.cross(a, ac)
    wc = wp.cross(ab, a)
    na = scene.normal[t[0]]
    nb = scene.normal[t[1]]
    nc = scene.normal[t[2]]
    surface.normal = normal_matrix * (wp.outer(na, n) + wp.outer(nb - na, wb) + wp.outer(nc - na, wc))
    surface.facet = -n
    if scene.geom_uv_local[geom] == 0 and scene.geom_texture[eye.world, geom] >= 0:
        uva = scene.uv[t[0]]
        uvb = scene.uv[t[1]] - uva
        uvc = scene.uv[t[2]] - uva
        share = 1.0 / wp.max(wp.dot(n, a), 1.0e-20)
        surface.u = share * (uva[0] * n + uvb[0] * wb + uvc[0] * wc)
        surface.v = share * (uva[1] * n + uvb[1] * wb + uvc[1] * wc)
    return surface


@wp.func
def flat_triangle(scene: SceneData, world: WorldData, eye: Eye, geom: int, triangle: int, normal_matrix: wp.mat33):
    """``load_triangle`` for an orthographic camera.

    With a ray r = f + o (f forward, o across it) the weight of corner b is f.((a - o) x (c - a)): linear in r, as forward . ray = 1.
    Texture coordinates are affine in the point that is seen.
    """
    surface = Surface()
    t, a, ab, ac = edges_of(scene, world, eye, geom, triangle)
    n = wp.cross(ac, ab)
    forward = eye.forward
    na = scene.normal[t[0]]
    nb = scene.normal[t[1]]
    nc = scene.normal[t[2]]
    sum = wp.dot(forward, n) * forward
    wb = wp.dot(forward, wp.cross(a, ac)) * forward + wp.cross(forward, ac)
    wc = wp.dot(forward, wp.cross(ab, a)) * forward - wp.cross(forward, ab)
    surface.normal = normal_matrix * (wp.outer(na, sum) + wp.outer(nb - na, wb) + wp.outer(nc - na, wc))
    surface.facet = -n
    if scene.geom_uv_local[geom] == 0 and scene.geom_texture[eye.world, geom] >= 0:
        uva = scene.uv[t[0]]
        uvb = scene.uv[t[1]] - uva
        uvc = scene.uv[t[2]] - uva
        share = 1.0 / wp.max(wp.dot(n, n), 1.0e-30)
        along_b = share * wp.cross(n, ac)
        along_c = share * wp.cross(ab, n)
        surface.u = uvb[0] * along_b + uvc[0] * along_c
        surface.v = uvb[1] * along_b + uvc[1] * along_c
        surface.uv_offset = uva - wp.vec2(wp.dot(surface.u, a), wp.dot(surface.v, a))
    return surface


@wp.func
def load_plane(world: WorldData, eye: Eye, geom: int):
    """Set up a plane for shading."""
    surface = Surface()
    rotation = world.geom_rotation[eye.world, geom]
    surface.facet = wp.vec3(rotation[0, 2], rotation[1, 2], rotation[2, 2])
    # the same direction for every ray that meets it: towards +z, also where the plane is seen from behind
    height = wp.dot(surface.facet, world.geom_position[eye.world, geom] - eye.position)
    surface.normal = wp.where(height > 0.0, 1.0, -1.0) * wp.outer(surface.facet, surface.facet)
    return surface


@wp.func
def surface_normal(surface: Surface, ray: wp.vec3):
    """The normal, not of unit length, where a ray meets a surface."""
    bent = wp.vec3(fused_dot(surface.normal[0], ray), fused_dot(surface.normal[1], ray), fused_dot(surface.normal[2], ray))
    return wp.where(surface.even == 1, surface.facet, bent)


@wp.func
def surface_spot(eye: Eye, surface: Surface, ray: wp.vec3, depth: float):
    """What a pixel sees of a surface. Free of branches, for vector units."""
    spot = Spot()
    spot.point = depth * ray
    along = fused_dot(surface.facet, ray)
    share = 1.0 / wp.where(wp.abs(along) > 1.0e-20, along, 1.0e-20)
    # the next pixel sees another depth: what keeps the point on the surface
    spot.move_x = depth * fused_sum(eye.step_x, ray, -wp.dot(surface.facet, eye.step_x) * share)
    spot.move_y = depth * fused_sum(eye.step_y, ray, -wp.dot(surface.facet, eye.step_y) * share)
    return spot


@wp.func
def flat_spot(eye: Eye, surface: Surface, ray: wp.vec3, depth: float):
    """``surface_spot`` for an orthographic camera."""
    spot = Spot()
    spot.point = ray + (depth - 1.0) * eye.forward
    along = wp.dot(surface.facet, eye.forward)
    share = 1.0 / wp.where(wp.abs(along) > 1.0e-20, along, 1.0e-20)
    spot.move_x = eye.step_x - eye.forward * (wp.dot(surface.facet, eye.step_x) * share)
    spot.move_y = eye.step_y - eye.forward * (wp.dot(surface.facet, eye.step_y) * share)
    return spot


@wp.func
def texture_coordinates(surface: Surface, spot: Spot):
    """Texture coordinates and their change to the next column and row. Free of branches, for vector units."""
    uv = wp.vec2(fused_dot(surface.u, spot.point) + surface.uv_offset[0], fused_dot(surface.v, spot.point) + surface.uv_offset[1])
    uv_x = wp.vec2(fused_dot(surface.u, spot.move_x), fused_dot(surface.v, spot.move_x))
    uv_y = wp.vec2(fused_dot(surface.u, spot.move_y), fused_dot(surface.v, spot.move_y))
    return uv, uv_x, uv_y


@wp.func
def cube_direction(surface: Surface, move: wp.vec3):
    """How much the direction in a cube texture changes along a way in the world."""
    return wp.vec3(wp.dot(surface.u, move), wp.dot(surface.v, move), wp.dot(surface.w, move))


@wp.func
def cube_coordinates(surface: Surface, spot: Spot):
    """The face of a cube texture, the place on it (v down from its first row), and its change to the next column and row."""
    direction = cube_direction(surface, spot.point) + wp.vec3(surface.uv_offset[0], surface.uv_offset[1], surface.w_offset)
    face = cube_face(direction)
    place = on_face(face, direction)
    x = on_face(face, cube_direction(surface, spot.move_x))
    y = on_face(face, cube_direction(surface, spot.move_y))
    share = 0.5 / wp.max(place[2], 1.0e-20)
    right = place[0] * share
    down = place[1] * share
    # the quotient of two linear functions; what is beyond the face by rounding is not
    uv = wp.vec2(wp.clamp(right + 0.5, 0.0, 1.0), wp.clamp(down + 0.5, 0.0, 1.0))
    uv_x = wp.vec2(x[0] * share - 2.0 * right * share * x[2], x[1] * share - 2.0 * down * share * x[2])
    uv_y = wp.vec2(y[0] * share - 2.0 * right * share * y[2], y[1] * share - 2.0 * down * share * y[2])
    return face, uv, uv_x, uv_y


@cache
def shading(features: Features, *, hardware: bool):
    """The functions that set up a surface and give the background, for these features; ``hardware`` as in ``texture.cube_sampling``."""
    cube_map = cube_sampling(hardware=hardware)
    triangle_of = flat_triangle if features.flat else load_triangle

    @wp.func
    def load_surface(scene: SceneData, world: WorldData, eye: Eye, key: wp.uint64):
        """What a key shows, ready for shading."""
        geom = key_geom(key)
        # field by field: a structure that is chosen as a whole is copied through memory
        surface = Surface()
        if scene.geom_mesh[eye.world, geom] < 0:
            sheet = load_plane(world, eye, geom)
            surface.facet = sheet.facet
            surface.even = 1
            surface.normal = sheet.normal
            if wp.static(features.flat):
                surface.normal = wp.outer(surface.facet, eye.forward)
        else:
            normal_matrix = world.geom_rotation[eye.world, geom]
            if wp.static(features.sizes):
                normal_matrix = world.geom_normal[eye.world, geom]
            face = triangle_of(scene, world, eye, geom, key_triangle(key), normal_matrix)
            surface.facet = face.facet
            surface.normal = face.normal
            if wp.static(features.textures):
                surface.u = face.u
                surface.v = face.v
                surface.uv_offset = face.uv_offset
        surface.color = scene.geom_color[eye.world, geom]
        surface.finish = scene.geom_finish[geom]
        if wp.static(features.textures):
            texture = scene.geom_texture[eye.world, geom]
            if texture >= 0:
                surface.textured = 1
                surface.image = scene.texture_level[texture]
                surface.last_image = scene.texture_level[texture + 1] - 1
                if wp.static(hardware):
                    surface.unit = scene.texture_unit[surface.image]
                size = image_size(scene.texture_image[surface.image])
                surface.texture_size = wp.vec2(float(size[0]), float(size[1]))
                flat = bool(True)
                if wp.static(features.cubes):
                    if scene.texture_cube[texture] == 1:
                        flat = False
                        around = map_cube(scene, world, eye, geom, key_triangle(key), surface)
                        surface.cube = 1
                        surface.u = around.u
                        surface.v = around.v
                        surface.w = around.w
                        surface.uv_offset = around.uv_offset
                        surface.w_offset = around.w_offset
                if flat:
                    mapped = map_texture(scene, world, eye, geom, surface)
                    surface.u = mapped.u
                    surface.v = mapped.v
                    surface.uv_offset = mapped.uv_offset
        return surface

    @wp.func
    def background(scene: SceneData, eye: Eye, ray: wp.vec3):
        """What is behind everything. MuJoCo turns its skybox by 90 degrees about x."""
        if wp.static(features.skybox):
            sight = wp.vec3(ray)
            if wp.static(features.flat):
                sight = eye.forward
            return cube_map(scene, scene.skybox, wp.vec3(sight[0], sight[2], -sight[1]))
        return wp.vec3(0.0)

    return load_surface, background


@wp.func
def make_point(eye: Eye, ray: wp.vec3, depth: float, normal: wp.vec3, color: wp.vec3, finish: wp.vec3):
    """A point to light; ``normal`` need not have unit length."""
    point = Point()
    point.position = depth * ray
    point.to_eye = ray * -reciprocal_root(fused_dot(ray, ray))
    point.normal = normal * reciprocal_root(wp.max(fused_dot(normal, normal), 1.0e-30))
    point.color = color
    point.finish = finish
    return point


@wp.func
def flat_point(eye: Eye, ray: wp.vec3, depth: float, normal: wp.vec3, color: wp.vec3, finish: wp.vec3):
    """``make_point`` for an orthographic camera. Highlights are those seen from its position, as in OpenGL."""
    point = Point()
    point.position = ray + (depth - 1.0) * eye.forward
    point.to_eye = point.position * (-1.0 / wp.sqrt(wp.dot(point.position, point.position)))
    point.normal = normal * (1.0 / wp.sqrt(wp.max(wp.dot(normal, normal), 1.0e-30)))
    point.color = color
    point.finish = finish
    return point


class Sight(NamedTuple):
    """The functions that depend on whether rays meet in the camera or are parallel."""

    make_plane: wp.Function
    plane_key: wp.Function
    surface_spot: wp.Function
    make_point: wp.Function


def sight(features: Features) -> Sight:
    """The functions for these features."""
    if features.flat:
        return Sight(flat_plane, flat_plane_key, flat_spot, flat_point)
    return Sight(make_plane, plane_key, surface_spot, make_point)


@wp.func_native("""
#if defined(__CUDA_ARCH__)
    // a GPU converts at a quarter of the speed at which it adds: whole numbers stand in the last bits beside 2^23
    return __float_as_int(__fadd_rd(__fmaf_rn(__saturatef(value), 255.0f, 0.5f), 8388608.0f)) & 255;
#else
    return (int)(wp::clamp(value, 0.0f, 1.0f) * 255.0f + 0.5f);
#endif
""")
def to_byte(value: float) -> int:
    """0 to 1 as the nearest of 256 values, as OpenGL rounds."""


@wp.func
def store_color(pictures: Pictures, v: int, pixel: int, color: wp.vec3):
    """Red, green and blue, 0 to 1, of a pixel of view ``v`` as bytes."""
    store_pixel(pictures.rgb, v, pixel, to_byte(color[0]), to_byte(color[1]), to_byte(color[2]))


@wp.func
def seen_depth(key: wp.uint64):
    """Depth in metres of what a key shows, 0 for nothing."""
    if key == EMPTY_KEY:
        return 0.0
    return layer(key_geom(key)) / key_inverse_depth(key)


@wp.func
def seen_id(scene: SceneData, key: wp.uint64):
    """The engine's id of the geom that a key shows, -1 for nothing."""
    if key == EMPTY_KEY:
        return -1
    return scene.geom_id[key_geom(key)]
