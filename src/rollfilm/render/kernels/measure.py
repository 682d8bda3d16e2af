"""What is measured at a pixel beside colours and depth: distance, body, normals and the point itself."""

from functools import cache

import warp as wp

from rollfilm.render.kernels.features import Features
from rollfilm.render.kernels.shade import SURFACE, Eye, Surface, pixel_ray, seen_depth, shading, sight
from rollfilm.render.kernels.shade_row import ChunkOfKeys
from rollfilm.render.kernels.types import EMPTY_KEY, Pictures, SceneData, WorldData, key_geom


@cache
def measuring(features: Features):
    """The function that measures one pixel, for these features."""
    _, _, _, make_point = sight(features)

    @wp.func
    def measure(
        scene: SceneData, world: WorldData, eye: Eye, pictures: Pictures, surface: Surface, key: wp.uint64, ray: wp.vec3, v: int, pixel: int
    ):
        """Pixel number ``pixel`` of view ``v``, whose key shows ``surface``; zeros, and -1 for the body, where nothing is seen."""
        point = make_point(eye, ray, seen_depth(key), surface.normal * ray, wp.vec3(0.0), wp.vec3(0.0))
        there = wp.where(key == EMPTY_KEY, 0.0, 1.0)
        if wp.static(features.distances):
            distance = seen_depth(key)
            if wp.static(not features.flat):
                distance *= wp.length(ray)
            pictures.distance[v, pixel] = there * distance
        if wp.static(features.bodies):
            body = int(-1)
            if key != EMPTY_KEY:
                body = scene.geom_body[key_geom(key)]
            pictures.body[v, pixel] = body
        if wp.static(features.world_normals):
            pictures.normal_world[v, pixel] = there * point.normal
        if wp.static(features.camera_normals):
            right = wp.normalize(eye.step_x)
            down = wp.normalize(eye.step_y)
            n = point.normal
            pictures.normal_camera[v, pixel] = there * wp.vec3(wp.dot(n, right), -wp.dot(n, down), -wp.dot(n, eye.forward))
        if wp.static(features.positions):
            pictures.position[v, pixel] = there * (eye.position + point.position)

    return measure


@cache
def chunk_measuring(features: Features):
    """The function that measures a chunk of a row, for these features: how a CPU does it."""
    load_surface, _ = shading(features, hardware=False)
    measure = measuring(features)

    @wp.func
    def measure_chunk(
        scene: SceneData,
        world: WorldData,
        eye: Eye,
        pictures: Pictures,
        keys: ChunkOfKeys,
        v: int,
        pixel: int,
        x: int,
        y: int,
        count: int,
    ):
        """``count`` pixels from column ``x`` of row ``y`` of view ``v``; the first is number ``pixel`` of the picture."""
        surface = Surface()
        known = EMPTY_KEY
        j = int(0)
        while j < count:
            key = keys[j]
            if wp.static(features.normals):
                if key != EMPTY_KEY and (key & SURFACE) != known:
                    surface = load_surface(scene, world, eye, key)
                    known = key & SURFACE
            measure(scene, world, eye, pictures, surface, key, pixel_ray(eye, x + j, y), v, pixel + j)
            j += 1

    return measure_chunk
