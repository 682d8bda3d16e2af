"""Cameras."""

from dataclasses import dataclass, field

from rollfilm.scene.placement import Placement

__all__ = ["Camera"]


@dataclass(frozen=True)
class Camera:
    """A pinhole camera with square pixels and its principal point in the middle.

    Attributes:
        name: unique in its scene.
        placement: where it is; OpenGL axes (x right, y up, looks along -z).
        fov_y_rad: vertical field of view, radians.
        height, width: pixels of its sensor, None where the model does not say. Nothing follows from it: requests name their sizes.
    """

    name: str
    placement: Placement = field(default_factory=Placement)
    fov_y_rad: float = 0.7853981633974483
    height: int | None = None
    width: int | None = None
