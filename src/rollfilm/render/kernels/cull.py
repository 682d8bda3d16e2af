"""Which geoms a view can see, and at which level of detail."""

import warp as wp

from rollfilm.render.kernels.types import Lens, SceneData, ViewBatch, WorldData


@wp.func
def view_geom(world: WorldData, w: int, camera: int, geom: int):
    """Rotation and position of a geom in the camera's frame."""
    camera_from_world = wp.transpose(world.camera_rotation[w, camera])
    rotation = camera_from_world * world.geom_rotation[w, geom]
    position = camera_from_world * (world.geom_position[w, geom] - world.camera_position[w, camera])
    return rotation, position


@wp.func
def drawn_geom(world: WorldData, batch: ViewBatch, w: int, slot: int, geom: int):
    """Rotation and position of a geom in the frame in which a camera of the batch is drawn: its own, or that of a face of its lens."""
    rotation, position = view_geom(world, w, batch.camera[slot], geom)
    if batch.turn.shape[0] > 0:
        rotation = batch.turn[slot] * rotation
        position = batch.turn[slot] * position
    return rotation, position


@wp.func
def beyond(across: float, depth: float, radius: float, slope: float):
    """Whether a sphere lies outside of the side plane of a frustum where ``across`` is ``slope`` times the depth."""
    return across - radius * wp.sqrt(1.0 + slope * slope) > depth * slope


@wp.func
def coarsest_level(scene: SceneData, mesh: int, stretch: float, allowed_m: float):
    """The coarsest level of a mesh whose error, ``stretch`` times what was measured, stays below what is allowed."""
    first = scene.mesh_level[mesh]
    level = int(first)
    for k in range(1, scene.mesh_levels[mesh]):
        if stretch * scene.level_error[first + k] < allowed_m:
            level = first + k
    return level


@wp.func
def visible_level(scene: SceneData, batch: ViewBatch, mesh: int, stretch: float, lens: Lens, rotation: wp.mat33, position: wp.vec3):
    """The level of detail to draw, -1 if the mesh's bounding sphere is out of sight.

    The coarsest level is taken whose measured error, seen from the near side of the sphere, stays below ``lod_pixels``. Radius and
    errors are ``stretch`` times those of the mesh.
    """
    center = rotation * scene.mesh_center[mesh] + position
    radius = stretch * scene.mesh_radius[mesh]
    depth = -center[2]
    if depth + radius < scene.near or depth - radius > scene.far:
        return -1
    # the picture's borders where depth is 1; a pixel is added so that rounding hides nothing
    left = (-1.0 - lens.cx) / lens.fx
    right = (float(batch.width) + 1.0 - lens.cx) / lens.fx
    lower = (lens.cy - float(batch.height) - 1.0) / lens.fy
    upper = (lens.cy + 1.0) / lens.fy
    if lens.flat == 1:
        if center[0] - radius > right or center[0] + radius < left or center[1] - radius > upper or center[1] + radius < lower:
            return -1
    elif (
        beyond(center[0], depth, radius, right)
        or beyond(-center[0], depth, radius, -left)
        or beyond(center[1], depth, radius, upper)
        or beyond(-center[1], depth, radius, -lower)
    ):
        return -1
    allowed = batch.lod_pixels * wp.where(lens.flat == 1, 1.0, wp.max(depth - radius, scene.near)) / wp.max(lens.fx, lens.fy)
    return coarsest_level(scene, mesh, stretch, allowed)
