"""Lenses that differ by world."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import warp as wp
from numpy.typing import NDArray

from rollfilm.render.batch import CameraBatch
from rollfilm.render.kernels.types import Lens
from rollfilm.render.looks_scene import Columns
from rollfilm.scene import Camera

__all__ = ["LENS_BYTES", "LensBuffers"]

#: Of a camera's lens in one world.
LENS_BYTES = Lens.numpy_dtype()["itemsize"]


class LensBuffers:
    """The lenses (cameras of the batch, B) of each batch, in the place of those that all worlds share.

    Args:
        cameras: all that are filmed, in their order.
        batches: their views, whose lenses are replaced.
        num_worlds: B.
        device: where they are.
    """

    def __init__(self, cameras: Sequence[Camera], batches: Sequence[CameraBatch], num_worlds: int, device: wp.Device) -> None:
        self._cameras = cameras
        self._views = [batch.views for batch in batches]
        self._shared = [views.lens.numpy().copy() for views in self._views]
        self._own = [np.repeat(shared, num_worlds, axis=1) for shared in self._shared]
        for views, own in zip(self._views, self._own, strict=True):
            views.lens = wp.array(own, dtype=Lens, device=device)

    def write(self, found: Mapping[str, Columns], rows: NDArray[np.int64]) -> None:
        """Give the worlds ``rows`` (k,) the lenses of their looks, and where those say nothing the cameras' own."""
        for views, shared, own in zip(self._views, self._shared, self._own, strict=True):
            own[:, rows] = shared
            for slot, camera in enumerate(views.camera.numpy().tolist()):
                for values in _lens_values(self._cameras[camera], camera, found, (views.height, views.width)):
                    for part, column in zip(("fx", "fy", "cx", "cy"), values, strict=True):
                        own[part][slot, rows] = column
            views.lens.assign(own)


def _lens_values(camera: Camera, index: int, found: Mapping[str, Columns], size: tuple[int, int]) -> list[tuple[NDArray | float, ...]]:
    """fx, fy, cx and cy, pixels of a picture of ``size`` (height, width), for each field that names a camera."""
    height, width = size
    values: list[tuple[NDArray | float, ...]] = []
    for field in ("camera_fov_y_rad", "camera_intrinsics"):
        if field not in found or index not in found[field].index:
            continue
        given = found[field].values[:, found[field].index.tolist().index(index)].astype(np.float64)
        if field == "camera_fov_y_rad":
            scale = np.array([0.5 * height / math.tan(0.5 * angle) for angle in given])
            values.append((scale, scale, 0.5 * width, 0.5 * height))
        else:
            # as pixels of the camera's own sensor, where it has one
            unit = replace(camera, fx=1.0, fy=1.0, cx=1.0, cy=1.0, extent_y_m=None).intrinsics(height, width)
            values.append(tuple(given[:, k] * factor for k, factor in enumerate(unit)))
    return values
