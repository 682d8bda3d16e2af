"""Which geoms a view can see, and at which level of detail."""

import warp as wp

from rollfilm.render.kernels.types import SceneData, ViewBatch, WorldData


@wp.func
def view_geom(world: WorldData, w: int, camera: int, geom: int):
    """Rotation and position of a geom in the camera's frame."""
    camera_from_world = wp.transpose(world.camera_rotation[w, camera])
    rotation = camera_from_world * world.geom_rotation[w, geom]
    position = camera_from_world * (world.geom_position[w, geom] - world.camera_position[w, camera])
    return rotation, position


@wp.func
def visible_level(scene: SceneData, batch: ViewBatch, mesh: int, stretch: float, focal: float, rotation: wp.mat33, position: wp.vec3):
    """The level of detail to draw, -1 if the mesh's bounding sphere is out of sight.

    The coarsest level is taken whose measured error, seen from the near side of the sphere, stays below ``lod_pixels``. Radius and
    errors are ``stretch`` times those of the mesh.
    """
    center = rotation * scene.mesh_center[mesh] + position
    radius = stretch * scene.mesh_radius[mesh]
    depth = -center[2]
    if depth + radius < scene.near or depth - radius > scene.far:
        return -1
    # distance to the frustum's side planes; a pixel is added so that rounding hides nothing
    slope_x = (0.5 * float(batch.width) + 1.0) / focal
    slope_y = (0.5 * float(batch.height) + 1.0) / focal
    if wp.abs(center[0]) - radius * wp.sqrt(1.0 + slope_x * slope_x) > depth * slope_x:
        return -1
    if wp.abs(center[1]) - radius * wp.sqrt(1.0 + slope_y * slope_y) > depth * slope_y:
        return -1
    allowed = batch.lod_pixels * wp.max(depth - radius, scene.near) / focal
    first = scene.mesh_level[mesh]
    level = int(first)
    for k in range(1, scene.mesh_levels[mesh]):
        if stretch * scene.level_error[first + k] < allowed:
            level = first + k
    return level
