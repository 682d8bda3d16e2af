"""Cameras."""

import math
from dataclasses import dataclass, field

from rollfilm.errors import InvalidArgumentError
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

    Raises:
        InvalidArgumentError: the field of view does not lie between 0 and pi.
    """

    name: str
    placement: Placement = field(default_factory=Placement)
    fov_y_rad: float = 0.7853981633974483
    height: int | None = None
    width: int | None = None

    def __post_init__(self) -> None:
        if not 0.0 < self.fov_y_rad < math.pi:
            raise InvalidArgumentError(f"camera {self.name!r}: fov_y_rad is {self.fov_y_rad}; it lies between 0 and pi")
