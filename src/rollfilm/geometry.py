"""Poses, quaternions and camera axes. The only file that reorders or flips anything.

Conventions: quaternions are wxyz; ``world_from_body`` maps points of the body's frame to the world's; a camera in the OpenGL
convention (``_gl``) has x right, y up and looks along -z, one in the OpenCV convention (``_cv``) has x right, y down and looks
along +z. All functions take and give arrays with any leading shape ``(...)``.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = [
    "cv_from_gl",
    "extrinsic_cv",
    "intrinsic_cv",
    "intrinsic_cv_from_lens",
    "look_at_quat_wxyz",
    "matrix_from_quat",
    "quat_conjugate",
    "quat_from_matrix",
    "quat_multiply",
    "quat_rotate",
    "quat_wxyz_from_xyzw",
    "quat_xyzw_from_wxyz",
    "world_from_camera_gl",
]

#: Flips y and z: the camera axes of OpenGL seen from those of OpenCV, and back.
cv_from_gl: NDArray[np.float64] = np.diag([1.0, -1.0, -1.0])


def quat_xyzw_from_wxyz(quat_wxyz: ArrayLike) -> NDArray:
    """Reorder quaternions (..., 4) from wxyz, our order, to xyzw, that of Warp and SciPy."""
    return np.roll(np.asarray(quat_wxyz), -1, axis=-1)


def quat_wxyz_from_xyzw(quat_xyzw: ArrayLike) -> NDArray:
    """Reorder quaternions (..., 4) from xyzw, the order of Warp and SciPy, to wxyz, ours."""
    return np.roll(np.asarray(quat_xyzw), 1, axis=-1)


def quat_conjugate(quat_wxyz: ArrayLike) -> NDArray:
    """The inverse rotation of unit quaternions (..., 4)."""
    return np.asarray(quat_wxyz) * np.array([1, -1, -1, -1])


def quat_multiply(left_wxyz: ArrayLike, right_wxyz: ArrayLike) -> NDArray:
    """The rotation ``right`` followed by ``left``: Hamilton products of quaternions (..., 4)."""
    a, b = np.asarray(left_wxyz), np.asarray(right_wxyz)
    aw, av, bw, bv = a[..., :1], a[..., 1:], b[..., :1], b[..., 1:]
    w = aw * bw - np.sum(av * bv, axis=-1, keepdims=True)
    return np.concatenate([w, aw * bv + bw * av + np.cross(av, bv)], axis=-1)


def quat_rotate(quat_wxyz: ArrayLike, vector: ArrayLike) -> NDArray:
    """Rotate vectors (..., 3) by unit quaternions (..., 4)."""
    q, v = np.asarray(quat_wxyz), np.asarray(vector)
    t = 2.0 * _cross(q[..., 1:], v)
    return v + q[..., :1] * t + _cross(q[..., 1:], t)


def _cross(a: NDArray, b: NDArray) -> NDArray:
    """The cross product of vectors (..., 3), with the numbers of NumPy's and a third of its overhead."""
    ax, ay, az, bx, by, bz = a[..., 0], a[..., 1], a[..., 2], b[..., 0], b[..., 1], b[..., 2]
    return np.stack([ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx], axis=-1)


def matrix_from_quat(quat_wxyz: ArrayLike) -> NDArray:
    """Rotation matrices (..., 3, 3) of unit quaternions (..., 4)."""
    w, x, y, z = np.moveaxis(np.asarray(quat_wxyz), -1, 0)
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def quat_from_matrix(matrix: ArrayLike) -> NDArray:
    """Unit quaternions (..., 4) with w >= 0 of rotation matrices (..., 3, 3).

    The quaternion is the eigenvector of the largest eigenvalue of a symmetric matrix (Bar-Itzhack, "New method for extracting
    the quaternion from a rotation matrix", 2000): stable for every angle, and the nearest rotation if the matrix is not quite one.
    """
    m = np.asarray(matrix, dtype=np.float64)
    xx, yx, zx = m[..., 0, 0], m[..., 0, 1], m[..., 0, 2]
    xy, yy, zy = m[..., 1, 0], m[..., 1, 1], m[..., 1, 2]
    xz, yz, zz = m[..., 2, 0], m[..., 2, 1], m[..., 2, 2]
    rows = [
        [xx + yy + zz, yz - zy, zx - xz, xy - yx],
        [yz - zy, xx - yy - zz, xy + yx, xz + zx],
        [zx - xz, xy + yx, yy - xx - zz, yz + zy],
        [xy - yx, xz + zx, yz + zy, zz - xx - yy],
    ]
    symmetric = np.stack([np.stack(row, axis=-1) for row in rows], axis=-2) / 3.0
    quat = np.linalg.eigh(symmetric)[1][..., -1]
    return np.where(quat[..., :1] < 0, -quat, quat)


def look_at_quat_wxyz(eye: ArrayLike, target: ArrayLike, up: ArrayLike = (0.0, 0.0, 1.0)) -> NDArray:
    """The rotation (..., 4) of a camera (OpenGL axes) at ``eye`` (..., 3) that looks at ``target`` (..., 3).

    Where the line of sight is parallel to ``up``, the camera's x axis is kept along the world's x axis (or y, if ``up`` is x).
    """
    backward = np.asarray(eye, dtype=np.float64) - np.asarray(target, dtype=np.float64)
    backward = backward / np.linalg.norm(backward, axis=-1, keepdims=True)
    up_axis = np.broadcast_to(np.asarray(up, dtype=np.float64), backward.shape)
    right = np.cross(up_axis, backward)
    length = np.linalg.norm(right, axis=-1, keepdims=True)
    spare = np.where(np.abs(backward[..., :1]) < 0.9, np.array([1.0, 0.0, 0.0]), np.array([0.0, 1.0, 0.0]))
    spare = spare - np.sum(spare * backward, axis=-1, keepdims=True) * backward
    right = np.where(length > 1e-9, right, spare)
    right = right / np.linalg.norm(right, axis=-1, keepdims=True)
    return quat_from_matrix(np.stack([right, np.cross(backward, right), backward], axis=-1))


def world_from_camera_gl(position: ArrayLike, quat_wxyz: ArrayLike) -> NDArray:
    """Homogeneous matrices (..., 4, 4), ManiSkill's ``cam2world_gl``, of camera positions (..., 3) and rotations (..., 4)."""
    rotation = matrix_from_quat(quat_wxyz)
    matrix = np.zeros((*rotation.shape[:-2], 4, 4), dtype=np.result_type(rotation.dtype, np.float32))
    matrix[..., :3, :3] = rotation
    matrix[..., :3, 3] = position
    matrix[..., 3, 3] = 1.0
    return matrix


def extrinsic_cv(position: ArrayLike, quat_wxyz: ArrayLike) -> NDArray:
    """World to camera in the OpenCV convention, (..., 3, 4): ManiSkill's ``extrinsic_cv``, of camera poses in our convention."""
    camera_from_world = cv_from_gl @ np.swapaxes(matrix_from_quat(quat_wxyz), -1, -2)
    translation = -camera_from_world @ np.asarray(position)[..., None]
    return np.concatenate([camera_from_world, translation], axis=-1)


def intrinsic_cv(fov_y_rad: ArrayLike, height: int, width: int) -> NDArray:
    """Pinhole matrices (..., 3, 3), pixels square and the centre in the middle; pixel centres lie at +0.5."""
    focal = 0.5 * height / np.tan(0.5 * np.asarray(fov_y_rad, dtype=np.float64))
    return intrinsic_cv_from_lens(focal, focal, 0.5 * width, 0.5 * height)


def intrinsic_cv_from_lens(fx: ArrayLike, fy: ArrayLike, cx: ArrayLike, cy: ArrayLike) -> NDArray:
    """Camera matrices (..., 3, 3), ManiSkill's ``intrinsic_cv``, of focal lengths and principal points (...) in pixels."""
    fx, fy, cx, cy = np.broadcast_arrays(*(np.asarray(value, dtype=np.float64) for value in (fx, fy, cx, cy)))
    matrix = np.zeros((*fx.shape, 3, 3))
    matrix[..., 0, 0], matrix[..., 1, 1] = fx, fy
    matrix[..., 0, 2], matrix[..., 1, 2], matrix[..., 2, 2] = cx, cy, 1.0
    return matrix
