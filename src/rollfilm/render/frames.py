"""What a renderer gives back."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["CameraFrames", "CameraMatrices", "Frames"]


@dataclass(frozen=True, eq=False)
class CameraFrames:
    """The pictures of one camera in all worlds. NumPy on the CPU; torch, else Warp arrays on CUDA.

    Attributes:
        rgb: uint8 (B, H, W, 3), sRGB values, or as ``CameraRequest.rgb_layout`` says; None if not asked for.
        depth_m: float32 (B, H, W), metres along the optical axis, 0 where nothing was hit, or None.
        segmentation: int32 (B, H, W), the engine's geom ids, -1 where nothing was hit, or None.
        geom_id: the same as ``segmentation``.
        body_id: int32 (B, H, W), indices of bodies (``Scene.bodies``), -1 where nothing was hit, or None.
        ray_distance_m: float32 (B, H, W), metres along the pixel's ray from the camera, of an orthographic camera from its plane; 0
            where nothing was hit, or None.
        normal_camera: float32 (B, H, W, 3), the unit normal that light falls on, in the camera's axes (OpenGL: x right, y up, z
            towards the camera); 0 where nothing was hit, or None.
        normal_world: the same in the world's axes.
        position_world_m: float32 (B, H, W, 3), the point that is seen, in the world's frame; 0 where nothing was hit, or None.
        state_count: the counter of the state in which this camera was filmed last (``CameraRequest.every``), -1 if it never was.
        age: how much the counter has grown since, 0 for a camera that is filmed on every call.
        world_state_counts: int64 (B,), the counter of the state that the picture of each world shows, -1 where there is none yet; the
            next render overwrites it.
    """

    rgb: Any = None
    depth_m: Any = None
    segmentation: Any = None
    geom_id: Any = None
    body_id: Any = None
    ray_distance_m: Any = None
    normal_camera: Any = None
    normal_world: Any = None
    position_world_m: Any = None
    state_count: int = -1
    age: int = 0
    world_state_counts: Any = None


class CameraMatrices(NamedTuple):
    """Where a camera is and how it maps to pixels, by ManiSkill's names and in its conventions; float32, on the host.

    Attributes:
        cam2world_gl: (B, 4, 4), the world's frame from the camera's, OpenGL axes (x right, y up, looks along -z).
        extrinsic_cv: (B, 3, 4), the camera's frame from the world's, OpenCV axes (x right, y down, looks along +z).
        intrinsic_cv: (B, 3, 3), ``[[fx, 0, cx], [0, fy, cy], [0, 0, 1]]`` in pixels, whose centres lie at +0.5. Of an orthographic
            camera fx and fy are pixels a metre: it maps (x, y, 1) instead of (x, y, depth).
    """

    cam2world_gl: NDArray[np.float32]
    extrinsic_cv: NDArray[np.float32]
    intrinsic_cv: NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Frames(Mapping[str, CameraFrames]):
    """One render of all cameras: a mapping from camera name to :class:`CameraFrames`.

    The arrays are the renderer's own and are overwritten by its next render: copy what you keep.

    Attributes:
        cameras: the pictures by camera name.
        state_count: the counter of the state that they show (``PoseSource.state_count``).
    """

    cameras: Mapping[str, CameraFrames]
    state_count: int

    def __getitem__(self, name: str) -> CameraFrames:
        return self.cameras[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.cameras)

    def __len__(self) -> int:
        return len(self.cameras)
