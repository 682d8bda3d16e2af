"""Lenses that bend straight lines: which way the ray through each pixel goes. The formulas are OpenCV's (modules calib3d and fisheye)."""

import numpy as np
from numpy.typing import NDArray

from rollfilm.errors import InvalidArgumentError
from rollfilm.scene.camera import Camera

__all__ = ["pixel_directions"]

_STEPS = 100
#: How far, in focal lengths, a ray that was found may be seen beside its pixel.
_CLOSE = 1e-9


def pixel_directions(camera: Camera, height: int, width: int) -> NDArray[np.float64]:
    """Unit vectors (H, W, 3), OpenGL axes, along the rays through the pixel centres of a camera with ``distortion`` or ``fisheye``.

    Raises:
        InvalidArgumentError: the lens shows nothing, or more than one thing, at some pixel.
    """
    lens = camera.intrinsics(height, width)
    rows, columns = np.mgrid[0:height, 0:width] + 0.5
    x, y = (columns - lens.cx) / lens.fx, (rows - lens.cy) / lens.fy
    if camera.fisheye is not None:
        directions, found = _fisheye_directions(x, y, np.array(camera.fisheye))
    else:
        directions, found = _bent_directions(x, y, np.array(camera.distortion))
    if not found.all():
        row, column = np.argwhere(~found)[0]
        raise InvalidArgumentError(
            f"camera {camera.name!r}: its {'fisheye' if camera.fisheye is not None else 'distortion'} has no single ray for "
            f"{int((~found).sum())} pixels, the first in row {row}, column {column} of {height} x {width}; the coefficients do not hold "
            "so far from the principal point: take a smaller picture, a longer focal length, or those of a calibration that covers it"
        )
    return directions * (1.0, -1.0, -1.0)


def _fisheye_directions(x: NDArray, y: NDArray, k: NDArray) -> tuple[NDArray, NDArray]:
    """Rays in OpenCV's axes: at the angle t from the axis where t (1 + k1 t^2 + ... + k4 t^8) is the distance on the sensor."""
    radius = np.hypot(x, y)
    # it must grow all the way: the first angle where it does not is the end of the lens
    angles = np.linspace(0.0, np.pi, 20001)
    powers = angles[:, None] ** (2 * np.arange(1, 5))
    falls = 1.0 + powers @ (k * (3, 5, 7, 9)) <= 0.0
    end = angles[np.argmax(falls)] if falls.any() else np.pi
    low, high = np.zeros_like(radius), np.full_like(radius, end)
    for _ in range(_STEPS):
        theta = 0.5 * (low + high)
        beyond = _fisheye_radius(theta, k) > radius
        low, high = np.where(beyond, low, theta), np.where(beyond, theta, high)
    theta = 0.5 * (low + high)
    found = np.abs(_fisheye_radius(theta, k) - radius) < _CLOSE
    across = np.divide(np.sin(theta), radius, out=np.ones_like(radius), where=radius > 0)
    return np.stack([x * across, y * across, np.cos(theta)], axis=-1), found


def _fisheye_radius(theta: NDArray, k: NDArray) -> NDArray:
    square = theta * theta
    return theta * (1.0 + square * (k[0] + square * (k[1] + square * (k[2] + square * k[3]))))


def _bent_directions(x: NDArray, y: NDArray, coefficients: NDArray) -> tuple[NDArray, NDArray]:
    """Rays in OpenCV's axes: the pinhole points (u, v) that radial and tangential distortion move to (x, y), by Newton's method."""
    k1, k2, p1, p2, k3 = coefficients
    # the radius at which radial distortion folds back
    roots = np.roots([7 * k3, 5 * k2, 3 * k1, 1.0])
    folds = [root.real for root in roots if abs(root.imag) < 1e-12 and root.real > 0]
    fold = np.sqrt(min(folds)) if folds else np.inf
    u, v = x.copy(), y.copy()
    length = np.hypot(u, v)
    shrink = np.minimum(1.0, 0.99 * fold / np.maximum(length, 1e-300))
    u, v = u * shrink, v * shrink
    with np.errstate(all="ignore"):
        for _ in range(_STEPS):
            bent_x, bent_y, uu, uv, vv = _bend(u, v, k1, k2, p1, p2, k3)
            determinant = uu * vv - uv * uv
            right, down = bent_x - x, bent_y - y
            step_u, step_v = (vv * right - uv * down) / determinant, (uu * down - uv * right) / determinant
            # never over the fold in one step
            most = np.minimum(1.0, 0.5 * (np.hypot(u, v) + 0.1) / np.maximum(np.hypot(step_u, step_v), 1e-300))
            u, v = u - most * step_u, v - most * step_v
        bent_x, bent_y, uu, uv, vv = _bend(u, v, k1, k2, p1, p2, k3)
        found = (np.hypot(bent_x - x, bent_y - y) < _CLOSE) & (uu * vv - uv * uv > 0) & (np.hypot(u, v) < fold)
        direction = np.stack([u, v, np.ones_like(u)], axis=-1)
        return direction / np.linalg.norm(direction, axis=-1, keepdims=True), found


def _bend(u: NDArray, v: NDArray, k1: float, k2: float, p1: float, p2: float, k3: float) -> tuple[NDArray, ...]:
    """Where a pinhole point is seen, and the derivatives of that: x by u, x by v (which is y by u), y by v."""
    square = u * u + v * v
    radial = 1.0 + square * (k1 + square * (k2 + square * k3))
    slope = 2.0 * (k1 + square * (2.0 * k2 + square * 3.0 * k3))
    x = u * radial + 2.0 * p1 * u * v + p2 * (square + 2.0 * u * u)
    y = v * radial + p1 * (square + 2.0 * v * v) + 2.0 * p2 * u * v
    uu = radial + u * u * slope + 2.0 * p1 * v + 6.0 * p2 * u
    uv = u * v * slope + 2.0 * p1 * u + 2.0 * p2 * v
    vv = radial + v * v * slope + 6.0 * p1 * v + 2.0 * p2 * u
    return x, y, uu, uv, vv
