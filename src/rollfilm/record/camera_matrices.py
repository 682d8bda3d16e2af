"""Where cameras were and how they mapped to pixels, from poses of bodies that were stored: what the renderer says of its frames."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from rollfilm.geometry import extrinsic_cv, intrinsic_cv_from_lens, quat_multiply, quat_rotate, world_from_camera_gl
from rollfilm.render.frames import CameraMatrices
from rollfilm.render.looks import WorldLooks
from rollfilm.scene import Bodies, Camera, Follow, world_pose

__all__ = ["camera_matrices", "stands_still"]

_AS_IT_IS = WorldLooks()


def stands_still(camera: Camera) -> bool:
    """Whether a camera is where it is in every state, as long as no looks move it: it hangs on the world."""
    return camera.placement.body == 0 and camera.placement.follow in (Follow.FIXED, Follow.TRACK)


def camera_matrices(
    camera: Camera, size: tuple[int, int], bodies: Bodies, position: NDArray, quat_wxyz: NDArray, looks: WorldLooks | None = None
) -> CameraMatrices:
    """The matrices of a camera in n states, float32 (n, ...), as ``BatchRenderer.camera_matrices`` gives them after filming each.

    Args:
        camera: which one.
        size: (H, W) of its pictures.
        bodies: of its scene.
        position: of the bodies, (n, bodies, 3).
        quat_wxyz: of the bodies, (n, bodies, 4).
        looks: of one world, that of all n states.
    """
    eye, turn = world_pose(camera.placement, bodies, position, quat_wxyz)
    looks = looks or _AS_IT_IS
    if (own := _value(looks, "camera_position", camera)) is not None:
        eye = np.broadcast_to(own, eye.shape)
    if (own := _value(looks, "camera_quat_wxyz", camera)) is not None:
        turn = np.broadcast_to(own, turn.shape)
    if (offset := _value(looks, "camera_offset", camera)) is not None:
        eye = eye + quat_rotate(turn, offset)
    if (more := _value(looks, "camera_turn_wxyz", camera)) is not None:
        turn = quat_multiply(turn, more)
    turn = turn / np.linalg.norm(turn, axis=-1, keepdims=True)
    intrinsic = np.broadcast_to(intrinsic_cv_from_lens(*_lens(camera, size, looks)), (len(eye), 3, 3))
    return CameraMatrices(
        world_from_camera_gl(eye, turn).astype(np.float32), extrinsic_cv(eye, turn).astype(np.float32), intrinsic.astype(np.float32)
    )


def _lens(camera: Camera, size: tuple[int, int], looks: WorldLooks) -> tuple[float, float, float, float]:
    if (angle := _value(looks, "camera_fov_y_rad", camera)) is not None:
        seen = Camera(camera.name, fov_y_rad=float(angle))
    elif (own := _value(looks, "camera_intrinsics", camera)) is not None:
        fx, fy, cx, cy = map(float, own)
        seen = replace(camera, fx=fx, fy=fy, cx=cx, cy=cy, extent_y_m=None)
    else:
        seen = camera
    return seen.intrinsics(*size)


def _value(looks: WorldLooks, field: str, camera: Camera) -> NDArray[np.float64] | None:
    """What the looks of one world say of a camera."""
    values = getattr(looks, field)
    return None if values is None or camera.name not in values.names else values[camera.name][0].astype(np.float64)
