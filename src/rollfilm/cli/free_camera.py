"""MuJoCo's free camera: the view of a model that its viewer opens with."""

import math

import numpy as np

from rollfilm.geometry import look_at_quat_wxyz, quat_from_matrix
from rollfilm.scene import Camera, Placement, Scene

__all__ = ["free_camera"]

FREE_CAMERA_NAME = "free"
_STRAIGHT_UP_OR_DOWN_DEG = 89.999


def free_camera(scene: Scene, *, azimuth_deg: float, elevation_deg: float, fov_y_rad: float) -> Camera:
    """A camera fixed in the world, 1.5 extents away from the middle of the model, as ``mjv_defaultFreeCamera`` places it.

    Args:
        scene: what is to be framed; its ``center`` and ``extent_m`` are used.
        azimuth_deg: the direction of view, counted from the x axis towards y.
        elevation_deg: the direction of view above the horizon; -90 looks straight down.
        fov_y_rad: vertical field of view.
    """
    azimuth, elevation = math.radians(azimuth_deg), math.radians(elevation_deg)
    forward = np.array([math.cos(elevation) * math.cos(azimuth), math.cos(elevation) * math.sin(azimuth), math.sin(elevation)])
    eye = np.asarray(scene.center) - 1.5 * scene.extent_m * forward
    if abs(elevation_deg) < _STRAIGHT_UP_OR_DOWN_DEG:
        quat = look_at_quat_wxyz(eye, scene.center)
    else:
        # No horizon to keep level: the picture's right is the right of the azimuth, as it is just below the pole.
        right = np.array([math.sin(azimuth), -math.cos(azimuth), 0.0])
        quat = quat_from_matrix(np.stack([right, np.cross(-forward, right), -forward], axis=-1))
    x, y, z = (float(value) for value in eye)
    qw, qx, qy, qz = (float(value) for value in quat)
    return Camera(FREE_CAMERA_NAME, Placement(position=(x, y, z), quat_wxyz=(qw, qx, qy, qz)), fov_y_rad=fov_y_rad)
