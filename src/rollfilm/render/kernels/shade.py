"""From the visibility buffer to pictures: one call a pixel.

All vectors are in world axes and start at the camera. A ray through a pixel has depth 1 along the optical axis, so that depth times
ray is the point that is seen.
"""

from functools import cache

import warp as wp

from rollfilm.render.kernels.features import Features
from rollfilm.render.kernels.light import Point, light_by_directional, light_by_spot, reflected
from rollfilm.render.kernels.texture import cube_map, trilinear
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
    surface_key,
)


@wp.struct
class Eye:
    """The camera of a view."""

    world: int
    position: wp.vec3
    forward: wp.vec3
    corner: wp.vec3  # the ray through the outer corner of pixel (0, 0)
    step_x: wp.vec3  # from a pixel's ray to that of the next column
    step_y: wp.vec3  # and of the next row


@wp.struct
class Surface:
    """A triangle as rays see it: what is interpolated is linear in the ray, so nothing is solved for at a pixel."""

    geom: int
    normal: wp.mat33  # normal (not of unit length) from the ray
    facet: wp.vec3  # normal of the triangle itself
    u: wp.vec3  # u, v and the weight they are to be divided by, from the ray
    v: wp.vec3
    weight: wp.vec3


@wp.func
def make_eye(world: WorldData, batch: ViewBatch, v: int):
    """The camera of view ``v``."""
    eye = Eye()
    slot = v // batch.num_worlds
    eye.world = v - slot * batch.num_worlds
    camera = batch.camera[slot]
    rotation = world.camera_rotation[eye.world, camera]
    pixel = 1.0 / batch.focal[slot]
    eye.position = world.camera_position[eye.world, camera]
    eye.forward = -wp.vec3(rotation[0, 2], rotation[1, 2], rotation[2, 2])
    eye.step_x = pixel * wp.vec3(rotation[0, 0], rotation[1, 0], rotation[2, 0])
    eye.step_y = -pixel * wp.vec3(rotation[0, 1], rotation[1, 1], rotation[2, 1])
    eye.corner = eye.forward - 0.5 * (float(batch.width) * eye.step_x + float(batch.height) * eye.step_y)
    return eye


@wp.func
def pixel_ray(eye: Eye, x: int, y: int):
    """The ray through the centre of a pixel."""
    return eye.corner + (float(x) + 0.5) * eye.step_x + (float(y) + 0.5) * eye.step_y


@wp.func
def plane_frame(world: WorldData, eye: Eye, geom: int):
    """Normal of a plane and the vector to its origin."""
    rotation = world.geom_rotation[eye.world, geom]
    normal = wp.vec3(rotation[0, 2], rotation[1, 2], rotation[2, 2])
    return normal, world.geom_position[eye.world, geom] - eye.position


@wp.func
def nearer_plane(scene: SceneData, world: WorldData, eye: Eye, ray: wp.vec3, key: wp.uint64):
    """The key of the nearest plane in front of what is seen already, or ``key`` itself. Planes are seen from their +z side."""
    best = key
    for k in range(scene.plane.shape[0]):
        geom = scene.plane[k]
        normal, origin = plane_frame(world, eye, geom)
        height = wp.dot(normal, origin)
        inverse_depth = wp.dot(normal, ray) / height
        if height < 0.0 and inverse_depth > 1.0 / scene.far and inverse_depth < 1.0 / scene.near:
            inside = bool(True)
            half = scene.geom_half_size[geom]
            if half[0] > 0.0 or half[1] > 0.0:
                local = wp.transpose(world.geom_rotation[eye.world, geom]) * (ray / inverse_depth - origin)
                if (half[0] > 0.0 and wp.abs(local[0]) > half[0]) or (half[1] > 0.0 and wp.abs(local[1]) > half[1]):
                    inside = False
            if inside:
                best = wp.min(best, depth_key(inverse_depth * layer(geom)) | surface_key(geom, 0))
    return best


@wp.func
def load_surface(scene: SceneData, world: WorldData, eye: Eye, geom: int, triangle: int):
    """Set up a triangle for shading.

    With corners a, b, c, the barycentric weights of the point that a ray d hits are as d.(b x c), d.(c x a) and d.(a x b). Their sum is
    d.n with the normal n of the triangle; the last two are taken from edges, which loses fewer digits for small triangles far away.
    """
    surface = Surface()
    surface.geom = geom
    mesh = scene.geom_mesh[geom]
    rotation = world.geom_rotation[eye.world, geom]
    offset = world.geom_position[eye.world, geom] - eye.position
    t = scene.triangle[scene.mesh_triangle[mesh] + triangle]
    a = rotation * scene.vertex[t[0]] + offset
    ab = rotation * (scene.vertex[t[1]] - scene.vertex[t[0]])
    ac = rotation * (scene.vertex[t[2]] - scene.vertex[t[0]])
    n = wp.cross(ac, ab)  # towards the back, so that weights are positive for rays that hit the front
    wb = wp.cross(a, ac)
    wc = wp.cross(ab, a)
    na = scene.normal[t[0]]
    nb = scene.normal[t[1]]
    nc = scene.normal[t[2]]
    surface.normal = rotation * (wp.outer(na, n) + wp.outer(nb - na, wb) + wp.outer(nc - na, wc))
    surface.facet = -n
    uva = scene.uv[t[0]]
    uvb = scene.uv[t[1]] - uva
    uvc = scene.uv[t[2]] - uva
    surface.u = uva[0] * n + uvb[0] * wb + uvc[0] * wc
    surface.v = uva[1] * n + uvb[1] * wb + uvc[1] * wc
    surface.weight = n
    return surface


@wp.func
def texture_coordinates(scene: SceneData, world: WorldData, eye: Eye, surface: Surface, ray: wp.vec3, depth: float):
    """Texture coordinates and their change to the next column and row."""
    geom = surface.geom
    uv = wp.vec2(0.0)
    uv_x = wp.vec2(0.0)
    uv_y = wp.vec2(0.0)
    if scene.geom_uv_local[geom] == 1:
        to_local = wp.transpose(world.geom_rotation[eye.world, geom])
        local = to_local * (depth * ray - (world.geom_position[eye.world, geom] - eye.position))
        # the point moves on the surface: what it gains in depth keeps it there
        along = wp.dot(surface.facet, ray)
        if wp.abs(along) < 1.0e-12:
            along = 1.0e-12
        move_x = to_local * (depth * (eye.step_x - ray * (wp.dot(surface.facet, eye.step_x) / along)))
        move_y = to_local * (depth * (eye.step_y - ray * (wp.dot(surface.facet, eye.step_y) / along)))
        uv = wp.vec2(local[0], local[1])
        uv_x = wp.vec2(move_x[0], move_x[1])
        uv_y = wp.vec2(move_y[0], move_y[1])
    else:
        weight = wp.dot(surface.weight, ray)
        if wp.abs(weight) < 1.0e-20:
            weight = 1.0e-20
        u = wp.dot(surface.u, ray) / weight
        v = wp.dot(surface.v, ray) / weight
        weight_x = wp.dot(surface.weight, eye.step_x)
        weight_y = wp.dot(surface.weight, eye.step_y)
        uv = wp.vec2(u, v)
        uv_x = wp.vec2(wp.dot(surface.u, eye.step_x) - u * weight_x, wp.dot(surface.v, eye.step_x) - v * weight_x) / weight
        uv_y = wp.vec2(wp.dot(surface.u, eye.step_y) - u * weight_y, wp.dot(surface.v, eye.step_y) - v * weight_y) / weight
    m = scene.geom_uv[geom]
    scale = wp.vec2(m[0], m[1])
    return wp.cw_mul(scale, uv) + wp.vec2(m[2], m[3]), wp.cw_mul(scale, uv_x), wp.cw_mul(scale, uv_y)


@cache
def shading(features: Features):
    """The function that shades one surface at one pixel, and the one that gives the background."""

    @wp.func
    def shade_surface(scene: SceneData, world: WorldData, eye: Eye, surface: Surface, ray: wp.vec3, depth: float):
        """Red, green and blue, 0 to 1."""
        point = Point()
        point.position = depth * ray
        point.to_eye = -wp.normalize(ray)
        point.normal = wp.normalize(surface.normal * ray)
        point.color = scene.geom_color[surface.geom]
        point.finish = scene.geom_finish[surface.geom]
        color = point.finish[0] * point.color
        color += reflected(point, -eye.forward, scene.head_ambient, scene.head_diffuse, scene.head_specular)
        if wp.static(features.lights):
            for i in range(scene.light_spot.shape[0]):
                if wp.static(features.spots):
                    if scene.light_spot[i] == 1:
                        color += light_by_spot(scene, world, eye.world, i, eye.position, point)
                    else:
                        color += light_by_directional(scene, world, eye.world, i, point)
                else:
                    color += light_by_directional(scene, world, eye.world, i, point)
        color = wp.vec3(wp.min(color[0], 1.0), wp.min(color[1], 1.0), wp.min(color[2], 1.0))
        if wp.static(features.textures):
            texture = scene.geom_texture[surface.geom]
            if texture >= 0:
                uv, uv_x, uv_y = texture_coordinates(scene, world, eye, surface, ray, depth)
                color = wp.cw_mul(color, trilinear(scene, texture, uv, uv_x, uv_y))
        return color

    @wp.func
    def background(scene: SceneData, ray: wp.vec3):
        """What is behind everything. MuJoCo turns its skybox by 90 degrees about x."""
        if wp.static(features.skybox):
            return cube_map(scene, scene.skybox, wp.vec3(ray[0], ray[2], -ray[1]))
        return wp.vec3(0.0)

    return shade_surface, background


@wp.func
def store_rgb(pictures: Pictures, v: int, pixel: int, color: wp.vec3):
    """Rounds to the nearest of 256 values, as OpenGL does."""
    for k in range(3):
        pictures.rgb[v, 3 * pixel + k] = wp.uint8(wp.clamp(color[k], 0.0, 1.0) * 255.0 + 0.5)


@wp.func
def store_depth(pictures: Pictures, v: int, pixel: int, depth: float):
    pictures.depth[v, pixel] = depth


@wp.func
def plane_surface(world: WorldData, eye: Eye, geom: int):
    """A plane as a surface; its normal is the same for all rays and set by the caller of the shading."""
    surface = Surface()
    surface.geom = geom
    normal, origin = plane_frame(world, eye, geom)
    surface.facet = normal
    # normal = n (n . d) / (n . d): the ray's part along a plane's normal never vanishes where it is seen
    surface.normal = -wp.outer(normal, normal)
    return surface


@wp.func
def plane_depth(world: WorldData, eye: Eye, geom: int, ray: wp.vec3):
    """Exact depth of a plane along a ray."""
    normal, origin = plane_frame(world, eye, geom)
    return wp.dot(normal, origin) / wp.dot(normal, ray)


@wp.func
def seen_depth(scene: SceneData, world: WorldData, eye: Eye, key: wp.uint64, ray: wp.vec3):
    """Depth in metres of what a key shows, 0 for nothing."""
    if key == EMPTY_KEY:
        return 0.0
    geom = key_geom(key)
    if scene.geom_mesh[geom] < 0:
        return plane_depth(world, eye, geom, ray)
    return layer(geom) / key_inverse_depth(key)


@wp.func
def seen_surface(scene: SceneData, world: WorldData, eye: Eye, key: wp.uint64):
    """The surface that a key shows."""
    geom = key_geom(key)
    if scene.geom_mesh[geom] < 0:
        return plane_surface(world, eye, geom)
    return load_surface(scene, world, eye, geom, key_triangle(key))


@wp.func
def seen_id(scene: SceneData, key: wp.uint64):
    """The engine's id of the geom that a key shows, -1 for nothing."""
    if key == EMPTY_KEY:
        return -1
    return scene.geom_id[key_geom(key)]
