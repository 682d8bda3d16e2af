"""Shading for a GPU, the second of two kernels: the pixels that show meshes, which ``shade_ground`` has listed.

Threads side by side all have a triangle of their own to set up; those of the whole picture would mostly wait for a few.
"""

from functools import cache

import warp as wp

from rollfilm.render.kernels.batch import PIXELS, SEGMENTS, WorkLists
from rollfilm.render.kernels.features import Features
from rollfilm.render.kernels.measure import measuring
from rollfilm.render.kernels.outlook import Outlook
from rollfilm.render.kernels.shade import pixel_ray, seen_depth, store_color
from rollfilm.render.kernels.shade_pixel import BLOCK, pixel_shading
from rollfilm.render.kernels.types import Pictures, SceneData, ViewBatch, WorldData, clear_key, key_at
from rollfilm.render.kernels.veil import clear_of_haze, veiling

#: Blocks that share a multiprocessor: 80 registers a thread (H200).
MESH_BLOCKS = 6


@cache
def mesh_kernel(features: Features):
    """The kernel that goes over the listed pixels, for these features; None if they need none."""
    if not features.rgb and not features.normals:
        return None
    load_surface, shade_pixel, _ = pixel_shading(features, hardware=True)
    measure = measuring(features)
    veil = veiling(features, hardware=True)

    @wp.kernel(enable_backward=False, module="unique", module_options={"fast_math": True}, launch_bounds=(BLOCK, MESH_BLOCKS))
    def shade_meshes(
        workers: int,
        first_view: int,
        scene: SceneData,
        world: WorldData,
        batch: ViewBatch,
        lists: WorkLists,
        outlooks: wp.array(dtype=Outlook),
        lamps_of_view: wp.array2d(dtype=float),
        vis: wp.array2d(dtype=wp.uint64),
        pictures: Pictures,
    ):
        """``workers`` groups of threads stride over the pixels that ``shade_ground`` has listed. Leaves the visibility buffer empty."""
        worker, lane = wp.tid()
        segment = worker % SEGMENTS
        total = lists.count[PIXELS, segment, 0]
        pixels = batch.height * batch.width
        k = (worker // SEGMENTS) * BLOCK + lane
        while k < total:
            at = lists.pixel[segment, k]
            k += (workers // SEGMENTS) * BLOCK
            row = at // pixels
            pixel = at - row * pixels
            y = pixel // batch.width
            v = row + first_view
            eye = outlooks[row].eye
            ray = pixel_ray(eye, pixel - y * batch.width, y)
            key = key_at(vis, row, pixel)
            clear_key(vis, row, pixel)
            surface = load_surface(scene, world, eye, key)
            if wp.static(features.measured):
                measure(scene, world, eye, pictures, surface, key, ray, v, pixel)
            if wp.static(features.rgb):
                # of others only normals were listed for
                if outlooks[row].colored == 1:
                    color = shade_pixel(scene, world, eye, surface, ray, seen_depth(key))
                    if wp.static(features.haze or features.fog):
                        horizon = outlooks[row].horizon
                        if wp.static(features.fog) or not clear_of_haze(horizon, ray, seen_depth(key)):
                            color = veil(scene, eye, horizon, ray, seen_depth(key), color)
                    store_color(pictures, v, pixel, color)

    return shade_meshes
