"""What a renderer gives back."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["CameraFrames", "Frames"]


@dataclass(frozen=True, eq=False)
class CameraFrames:
    """The pictures of one camera in all worlds. NumPy on the CPU; torch, else Warp arrays on CUDA.

    Attributes:
        rgb: uint8 (B, H, W, 3), sRGB values, or None if not asked for.
        depth_m: float32 (B, H, W), metres along the optical axis, 0 where nothing was hit, or None.
        segmentation: int32 (B, H, W), the engine's geom ids, -1 where nothing was hit, or None.
    """

    rgb: Any = None
    depth_m: Any = None
    segmentation: Any = None


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
