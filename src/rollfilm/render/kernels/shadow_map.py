"""Shadow maps on a CPU: one thread a map, or a horizontal band of one."""

import warp as wp

from rollfilm.cpu_flags import VECTOR_FLAGS
from rollfilm.render.kernels.light_view import caster_level, light_view
from rollfilm.render.kernels.raster import Window, camera_triangle
from rollfilm.render.kernels.shadow_many import raise_many
from rollfilm.render.kernels.shadow_raster import clear_run, geom_before_light, raster_corners
from rollfilm.render.kernels.shadow_share import map_row
from rollfilm.render.kernels.types import LightView, SceneData, WorldData


@wp.func
def draw_casters(scene: SceneData, world: WorldData, view: LightView, window: Window, w: int, k: int, lod_pixels: float):
    """All that casts shadows into a window of a map."""
    row = map_row(world, w, k)
    for geom in range(scene.geom_body.shape[0]):
        mesh = scene.geom_mesh[w, geom]
        if mesh >= 0:
            rotation, position = geom_before_light(world, view, w, geom)
            level = caster_level(scene, world, view, w, scene.shadow_light[k], geom, lod_pixels, rotation, position)
            if level >= 0:
                t = scene.mesh_triangle[mesh] + scene.level_first[level]
                end = t + scene.level_count[level]
                while t < end:
                    clipped = raise_many(
                        world.shadow_map,
                        row,
                        world.map_pitch,
                        scene.corner,
                        t,
                        wp.min(64, end - t),
                        rotation,
                        position,
                        view,
                        scene.near,
                        window.x0,
                        window.x1,
                        window.y0,
                        window.y1,
                    )
                    cut = int(t)
                    while clipped != wp.uint64(0):
                        if (clipped & wp.uint64(1)) == wp.uint64(1):
                            a, b, c = camera_triangle(scene, cut, rotation, position)
                            raster_corners(world.shadow_map, row, world.map_pitch, scene.near, view, window, a, b, c)
                        clipped = clipped >> wp.uint64(1)
                        cut += 1
                    t += 64


@wp.kernel(enable_backward=False, module="unique", module_options={"cpu_compiler_flags": VECTOR_FLAGS})
def draw_maps(first: int, bands: int, side: int, lod_pixels: float, scene: SceneData, world: WorldData):
    """A map of ``side`` x ``side`` texels, or one of ``bands`` bands of it. Only the part that its light uses is cleared and drawn."""
    job = first + wp.tid()
    lights = world.light_view.shape[1]
    number = job // bands
    band = job - number * bands
    w = number // lights
    k = number - w * lights
    if world.active[w] == 0:
        return
    light = scene.shadow_light[k]
    view = light_view(scene, world, w, light, scene.light_spot[light] == 1, side)
    # every band of a map writes the same
    world.light_view[w, k] = view
    window = Window()
    window.x1 = view.width - 1
    window.y0 = band * view.height // bands
    window.y1 = (band + 1) * view.height // bands - 1
    for y in range(window.y0, window.y1 + 1):
        clear_run(world.shadow_map, map_row(world, w, k), y * world.map_pitch, view.width)
    draw_casters(scene, world, view, window, w, k, lod_pixels)
