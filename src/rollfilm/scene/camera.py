"""Cameras."""

import math
from dataclasses import dataclass, field
from numbers import Integral
from typing import NamedTuple

from rollfilm.arguments import is_number, numbers_of
from rollfilm.errors import InvalidArgumentError
from rollfilm.scene.placement import Placement

__all__ = ["Camera", "Intrinsics"]


class Intrinsics(NamedTuple):
    """How a camera maps to the pixels of a picture: column ``cx + fx * x / depth``, row ``cy - fy * y / depth``, OpenGL axes.

    Pixel centres lie at +0.5. Of an orthographic camera ``fx`` and ``fy`` are pixels a metre, and nothing is divided by the depth.
    """

    fx: float
    fy: float
    cx: float
    cy: float


@dataclass(frozen=True)
class Camera:
    """A pinhole, a camera whose lens bends straight lines, or an orthographic camera.

    Without ``fx`` pixels are square and the principal point is the middle of the picture, whatever its size.

    ``fx``, ``fy``, ``cx`` and ``cy`` are pixels of the camera's own sensor where its ``height`` and ``width`` are known: a picture of
    another size shows the whole sensor, stretched if its sides are in another ratio, as MuJoCo does it. Where they are not known they
    are pixels of the picture that is asked for.

    Attributes:
        name: unique in its scene.
        placement: where it is; OpenGL axes (x right, y up, looks along -z).
        fov_y_rad: vertical field of view, radians. Follows from ``fy`` where that and ``height`` are given.
        height, width: pixels of its sensor, None where the model does not say. Requests name the sizes of their pictures.
        fx, fy: focal lengths, pixels; ``fy`` is ``fx`` if only that is given.
        cx, cy: the principal point from the outer corner of the first pixel, pixels; the middle if None.
        extent_y_m: what the picture of an orthographic camera shows from its lower to its upper border, metres; None for others.
        distortion: OpenCV's k1, k2, p1, p2 and k3 of a lens that bends straight lines; needs ``fx``.
        fisheye: OpenCV's k1 to k4 of a fisheye (Kannala and Brandt, "A generic camera model", 2006); needs ``fx``.

    Raises:
        InvalidArgumentError: the field of view does not lie between 0 and pi, a focal length or an extent is not positive, a number is
            not finite, or numbers are given that contradict each other or have no effect.
    """

    name: str
    placement: Placement = field(default_factory=Placement)
    fov_y_rad: float = 0.7853981633974483
    height: int | None = None
    width: int | None = None
    fx: float | None = None
    fy: float | None = None
    cx: float | None = None
    cy: float | None = None
    extent_y_m: float | None = None
    distortion: tuple[float, float, float, float, float] | None = None
    fisheye: tuple[float, float, float, float] | None = None

    def __post_init__(self) -> None:
        self._check_size()
        if self.fx is None:
            without = [name for name in ("fy", "cx", "cy") if getattr(self, name) is not None]
            if without:
                raise InvalidArgumentError(f"camera {self.name!r}: {', '.join(without)} came without fx; give fx, in pixels, too")
        else:
            self._check_intrinsics()
        self._check_bends()
        if not is_number(self.fov_y_rad) or not 0.0 < self.fov_y_rad < math.pi:
            raise InvalidArgumentError(f"camera {self.name!r}: fov_y_rad is {self.fov_y_rad}; it lies between 0 and pi")
        if self.extent_y_m is not None and not (is_number(self.extent_y_m) and 0.0 < self.extent_y_m < math.inf):
            raise InvalidArgumentError(f"camera {self.name!r}: extent_y_m is {self.extent_y_m}; it is a positive number of metres")

    @property
    def bends(self) -> bool:
        """Whether its lens bends straight lines."""
        return self.distortion is not None or self.fisheye is not None

    @property
    def orthographic(self) -> bool:
        """Whether its rays are parallel."""
        return self.extent_y_m is not None

    def intrinsics(self, height: int, width: int) -> Intrinsics:
        """How the camera maps to a picture of ``height`` x ``width`` pixels."""
        if self.extent_y_m is not None or self.fx is None:
            scale = height / self.extent_y_m if self.extent_y_m is not None else 0.5 * height / math.tan(0.5 * self.fov_y_rad)
            return Intrinsics(scale, scale, 0.5 * width, 0.5 * height)
        fy = self.fx if self.fy is None else self.fy
        x = 1.0 if self.width is None else width / self.width
        y = 1.0 if self.height is None else height / self.height
        return Intrinsics(
            fx=x * self.fx,
            fy=y * fy,
            cx=0.5 * width if self.cx is None else x * self.cx,
            cy=0.5 * height if self.cy is None else y * self.cy,
        )

    def _check_size(self) -> None:
        if not isinstance(self.name, str):
            raise InvalidArgumentError(f"the name of a camera is a str; {self.name!r} came")
        if not isinstance(self.placement, Placement):
            raise InvalidArgumentError(f"camera {self.name!r}: placement is {type(self.placement).__name__}; give rollfilm.scene.Placement")
        for side in (self.height, self.width):
            if side is not None and (isinstance(side, bool) or not isinstance(side, Integral) or side < 1):
                raise InvalidArgumentError(
                    f"camera {self.name!r}: its sensor is {self.width} x {self.height} pixels; give positive integers, or None"
                )
        if (self.height is None) != (self.width is None):
            raise InvalidArgumentError(f"camera {self.name!r}: height and width of its sensor are given together, or neither")

    def _check_bends(self) -> None:
        if self.distortion is not None and self.fisheye is not None:
            raise InvalidArgumentError(f"camera {self.name!r}: distortion and fisheye came together; a lens has one of them")
        for name, count in (("distortion", 5), ("fisheye", 4)):
            given = getattr(self, name)
            if given is None:
                continue
            if self.fx is None:
                raise InvalidArgumentError(f"camera {self.name!r}: {name} came without fx; give fx, in pixels, too")
            numbers = numbers_of(given)
            if numbers is None or len(numbers) != count:
                raise InvalidArgumentError(f"camera {self.name!r}: {name} is {given}; it is {count} finite numbers, 0 for those not used")
            object.__setattr__(self, name, numbers)

    def _check_intrinsics(self) -> None:
        if self.extent_y_m is not None:
            raise InvalidArgumentError(
                f"camera {self.name!r}: fx and extent_y_m came together; fx is of a pinhole, extent_y_m of an orthographic camera"
            )
        for name in ("fx", "fy"):
            value = getattr(self, name)
            if value is not None and not (is_number(value) and 0.0 < value < math.inf):
                raise InvalidArgumentError(f"camera {self.name!r}: {name} is {value}; a focal length is a positive number of pixels")
        for name in ("cx", "cy"):
            value = getattr(self, name)
            if value is not None and not (is_number(value) and math.isfinite(value)):
                raise InvalidArgumentError(f"camera {self.name!r}: {name} is {value}; a principal point is a finite number of pixels")
        if self.height is not None:
            _, fy, _, cy = self.intrinsics(self.height, self.width or 1)
            object.__setattr__(self, "fov_y_rad", math.atan2(cy, fy) + math.atan2(self.height - cy, fy))
