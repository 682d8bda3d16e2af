"""Bent lenses: triangles are rasterised to pinhole faces, and each pixel looks up there what its own ray meets.

What the nearest pixel of a face shows is met again exactly by the ray itself. Distances along rays, which have unit length here, take the
place of depths.
"""

from functools import cache

import warp as wp

from rollfilm.cpu_flags import VECTOR_FLAGS
from rollfilm.render.kernels.features import Features
from rollfilm.render.kernels.measure import measuring
from rollfilm.render.kernels.raster import Window
from rollfilm.render.kernels.shade import (
    Eye,
    Spot,
    Surface,
    make_eye,
    make_plane,
    plane_key,
    seen_depth,
    seen_id,
    shading,
    store_color,
)
from rollfilm.render.kernels.shade_pixel import surface_shading
from rollfilm.render.kernels.types import (
    EMPTY_KEY,
    Pictures,
    SceneData,
    ViewBatch,
    WorldData,
    depth_key,
    key_geom,
    key_triangle,
    layer,
    surface_key,
)
from rollfilm.render.kernels.veil import make_horizon, veiling
from rollfilm.render.kernels.whole_view import raster_view

wp.set_module_options({"cpu_compiler_flags": VECTOR_FLAGS})


@wp.kernel(enable_backward=False)
def raster_faces(
    v: int,
    faces: int,
    scene: SceneData,
    world: WorldData,
    batch: ViewBatch,
    vis: wp.array2d(dtype=wp.uint64),
    touched: wp.array(dtype=wp.uint8),
    triangles: wp.array(dtype=float),
):
    """All faces of view ``v`` of a bent lens, one row of the visibility buffer each: how a CPU does it."""
    w = v % batch.num_worlds
    if world.active[w] == 0:
        return
    window = Window()
    window.x1 = batch.width - 1
    window.y1 = batch.height - 1
    for face in range(faces):
        raster_view(vis, touched, triangles, face, scene, world, batch, window, face * batch.num_worlds + w)


@wp.func
def met_key(scene: SceneData, world: WorldData, eye: Eye, key: wp.uint64, ray: wp.vec3):
    """The key of a triangle where a ray meets it; beside the triangle its plane, no farther than its farthest corner."""
    geom = key_geom(key)
    triangle = key_triangle(key)
    rotation = world.geom_rotation[eye.world, geom]
    offset = world.geom_position[eye.world, geom] - eye.position
    t = scene.triangle[scene.mesh_triangle[scene.geom_mesh[eye.world, geom]] + triangle]
    a = rotation * scene.vertex[t[0]] + offset
    b = rotation * scene.vertex[t[1]] + offset
    c = rotation * scene.vertex[t[2]] + offset
    n = wp.cross(b - a, c - a)
    height = wp.dot(n, a)
    along = wp.dot(n, ray)
    farthest = wp.max(wp.length(a), wp.max(wp.length(b), wp.length(c)))
    distance = farthest
    if along < 0.0 and height < 0.0:
        distance = wp.clamp(height / along, 0.0, farthest)
    return depth_key(layer(geom) / wp.max(distance, 1.0e-20)) | surface_key(geom, triangle)


@wp.func
def lens_spot(surface: Surface, ray: wp.vec3, angle: float, distance: float):
    """What a pixel sees of a surface; neighbours see what lies ``angle`` beside, in two directions across the ray."""
    helper = wp.vec3(0.0, 0.0, 1.0)
    if wp.abs(ray[2]) > 0.7:
        helper = wp.vec3(1.0, 0.0, 0.0)
    right = wp.normalize(wp.cross(ray, helper))
    up = wp.cross(right, ray)
    along = wp.dot(surface.facet, ray)
    share = 1.0 / wp.where(wp.abs(along) > 1.0e-20, along, 1.0e-20)
    spot = Spot()
    spot.point = distance * ray
    spot.move_x = (distance * angle) * (right - ray * (wp.dot(surface.facet, right) * share))
    spot.move_y = (distance * angle) * (up - ray * (wp.dot(surface.facet, up) * share))
    return spot


@cache
def lens_kernel(features: Features, *, hardware: bool):
    """The kernel that shades views of bent lenses, for these features; ``hardware`` as in ``texture.cube_sampling``."""
    load_surface, background = shading(features, hardware=hardware)
    light_pixel, paint = surface_shading(features, hardware=hardware)
    measure = measuring(features)
    veil = veiling(features, hardware=hardware)

    @wp.kernel(enable_backward=False, module="unique", module_options={"fast_math": hardware, "cpu_compiler_flags": VECTOR_FLAGS})
    def shade_lens(
        first_view: int,
        count: int,
        scene: SceneData,
        world: WorldData,
        batch: ViewBatch,
        vis: wp.array2d(dtype=wp.uint64),
        pictures: Pictures,
    ):
        """One thread a pixel of ``count`` views. Row ``face * count + view`` of the visibility buffer is a face of a view; they stay."""
        row, pixel = wp.tid()
        v = first_view + row
        if world.active[v % batch.num_worlds] == 0:
            return
        eye = make_eye(world, batch, v)
        slot = v // batch.num_worlds
        place = batch.face_pixel[slot, pixel]
        face = place // batch.face_size
        key = vis[face * count + row, place - face * batch.face_size]
        table = batch.ray[slot, pixel]
        right = wp.normalize(eye.step_x)
        down = wp.normalize(eye.step_y)
        ray = table[0] * right - table[1] * down - table[2] * eye.forward
        if key != EMPTY_KEY:
            key = met_key(scene, world, eye, key, ray)
        # colors leave planes out that are seen from behind, the other outputs show them solid as all cameras do
        solid = key
        if wp.static(features.planes > 0):
            for p in range(scene.plane.shape[0]):
                plane = make_plane(scene, world, eye, scene.plane[p])
                if plane.seen == 1:
                    key = wp.min(key, plane_key(scene, plane, ray))
                    solid = wp.min(solid, key)
                elif plane.seen == -1:
                    solid = wp.min(solid, plane_key(scene, plane, ray))
        surface = Surface()
        if solid != EMPTY_KEY:
            surface = load_surface(scene, world, eye, solid)
        if wp.static(features.segmentation):
            pictures.segmentation[v, pixel] = seen_id(scene, solid)
        if wp.static(features.depth):
            pictures.depth[v, pixel] = seen_depth(solid) * wp.dot(eye.forward, ray)
        if wp.static(features.measured):
            measure(scene, world, eye, pictures, surface, solid, ray, v, pixel)
        if wp.static(features.rgb):
            if key != EMPTY_KEY and key != solid:
                surface = load_surface(scene, world, eye, key)
            color = wp.vec3(0.0)
            if key == EMPTY_KEY:
                color = background(scene, eye, ray)
            else:
                color = light_pixel(scene, world, eye, surface, ray, seen_depth(key))
                if wp.static(features.textures):
                    if surface.textured == 1:
                        color = paint(scene, surface, lens_spot(surface, ray, table[3], seen_depth(key)), color)
            if wp.static(features.haze or features.fog):
                color = veil(scene, eye, make_horizon(scene, world, eye), ray, seen_depth(key), color)
            store_color(pictures, v, pixel, color)

    return shade_lens
