"""Pinhole faces that a camera with a bent lens is rasterised to, and where on them each of its pixels looks."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rollfilm.scene import Camera, Intrinsics
from rollfilm.scene.distortion import pixel_directions

__all__ = ["LensPlan", "plan_lens"]

#: Half the angle up to which one face shows all; beyond it the faces of a cube have fewer pixels.
_ONE_FACE_RAD = np.radians(65.0)
_MAX_SIDE = 16384

#: Camera from face, by the faces of a cube: ahead, to the right and left, up and down, and behind.
_CUBE = np.array(
    [
        [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
        [[0, 0, -1], [0, 1, 0], [1, 0, 0]],
        [[0, 0, 1], [0, 1, 0], [-1, 0, 0]],
        [[1, 0, 0], [0, 0, -1], [0, 1, 0]],
        [[1, 0, 0], [0, 0, 1], [0, -1, 0]],
        [[-1, 0, 0], [0, 1, 0], [0, 0, -1]],
    ],
    dtype=np.float64,
)


@dataclass(frozen=True, eq=False)
class LensPlan:
    """How a bent lens is drawn.

    Attributes:
        height, width: of a face, pixels.
        intrinsics: of every face.
        face_from_camera: rotations (faces, 3, 3).
        ray: float32 (H * W, 4), the unit ray of each pixel in the camera's axes, and the angle to its neighbour's, radians.
        pixel: int32 (H * W,), the face's pixel that is nearest to it: face * height * width + row * width + column.
    """

    height: int
    width: int
    intrinsics: Intrinsics
    face_from_camera: NDArray[np.float64]
    ray: NDArray[np.float32]
    pixel: NDArray[np.int32]

    @property
    def num_faces(self) -> int:
        """How many faces there are."""
        return len(self.face_from_camera)


def plan_lens(camera: Camera, height: int, width: int) -> LensPlan:
    """Choose the faces for a picture of ``height`` x ``width`` pixels: theirs are nowhere coarser than its own.

    Raises:
        InvalidArgumentError: see ``pixel_directions``.
    """
    directions = pixel_directions(camera, height, width)
    angle = _pixel_angles(directions, camera.intrinsics(height, width))
    rays = directions.reshape(-1, 3)
    if -rays[:, 2].min() > 0 and np.arccos(np.clip(-rays[:, 2], -1, 1)).max() <= _ONE_FACE_RAD:
        turns, which = _CUBE[:1], np.zeros(len(rays), np.int64)
        flat = directions[..., :2] / -directions[..., 2:]
        spacing = [np.linalg.norm(np.diff(flat, axis=axis), axis=-1) for axis in (0, 1)]
        finest = min([step.min() for step in spacing if step.size], default=angle.min())
        low, high = flat.reshape(-1, 2).min(axis=0), flat.reshape(-1, 2).max(axis=0)
        focal = min(1.0 / finest, (_MAX_SIDE - 4) / max(float((high - low).max()), 1e-9))
        columns, rows = (int(np.ceil(extent * focal)) + 2 for extent in high - low)
        # upwards is down the rows
        lens = Intrinsics(focal, focal, 1.0 - low[0] * focal, 1.0 + high[1] * focal)
    else:
        which = (rays @ -_CUBE[:, :, 2].T).argmax(axis=1)
        used, which = np.unique(which, return_inverse=True)
        turns = _CUBE[used]
        focal = min(1.0 / angle.min(), 0.5 * (_MAX_SIDE - 2))
        columns = rows = int(np.ceil(2.0 * focal)) + 2
        lens = Intrinsics(focal, focal, 0.5 * columns, 0.5 * rows)
    face_from_camera = turns.transpose(0, 2, 1)
    seen = np.einsum("pij,pj->pi", face_from_camera[which], rays)
    column = np.clip(np.floor(lens.cx - lens.fx * seen[:, 0] / seen[:, 2]), 0, columns - 1)
    row = np.clip(np.floor(lens.cy + lens.fy * seen[:, 1] / seen[:, 2]), 0, rows - 1)
    pixel = which * rows * columns + row.astype(np.int64) * columns + column.astype(np.int64)
    ray = np.concatenate([rays, angle.reshape(-1, 1)], axis=1)
    return LensPlan(rows, columns, lens, face_from_camera, ray.astype(np.float32), pixel.astype(np.int32))


def _pixel_angles(directions: NDArray, lens: Intrinsics) -> NDArray:
    """The angle (H, W) between the rays of neighbouring pixels, the larger of across and down."""
    angles = [np.full(directions.shape[:2], 1.0 / max(lens.fx, lens.fy))]
    sides = [np.linalg.norm(np.gradient(directions, axis=axis), axis=-1) for axis in (0, 1) if directions.shape[axis] > 1]
    return np.max(sides or angles, axis=0)
