"""How many triangles a view draws, by the rule of ``rollfilm.render.kernels.cull``, on the host."""

import numpy as np

from rollfilm import geometry
from rollfilm.engines.still import StillPoses
from rollfilm.scene import Scene, world_pose

__all__ = ["triangles_in_view"]


def triangles_in_view(scene: Scene, source: StillPoses, camera: str, size: int, lod_pixels: float) -> int:
    """The triangles of all geoms that a square picture of ``size`` pixels may show of world 0, at the levels that are drawn."""
    lens, poses = scene.camera(camera), source.body_poses()
    eye, axes = world_pose(lens.placement, scene.bodies, poses.position, poses.quat_wxyz)
    camera_from_world = geometry.matrix_from_quat(axes[0]).T
    focal = 0.5 * size / np.tan(0.5 * lens.fov_y_rad)
    slope = (0.5 * size + 1.0) / focal
    total = 0
    for geom in scene.geoms:
        if geom.mesh < 0:
            continue
        mesh = scene.meshes[geom.mesh]
        body = geometry.matrix_from_quat(np.asarray(poses.quat_wxyz[0, geom.body], np.float64))
        middle = geom.position + geometry.matrix_from_quat(np.array(geom.quat_wxyz)) @ mesh.center
        x, y, z = camera_from_world @ (poses.position[0, geom.body] + body @ middle - eye[0])
        if -z + mesh.radius < scene.near_m or -z - mesh.radius > scene.far_m:
            continue
        if max(abs(x), abs(y)) - mesh.radius * np.hypot(1.0, slope) > -z * slope:
            continue
        allowed = lod_pixels * max(-z - mesh.radius, scene.near_m) / focal
        fine_enough = [level for level in mesh.levels[1:] if level.error_m < allowed]
        total += len((fine_enough[-1] if fine_enough else mesh.levels[0]).triangles)
    return total
