"""What a picture shows beyond colours and depth, and how finely: all that can be switched."""

from dataclasses import dataclass
from numbers import Integral
from typing import Any

from rollfilm.arguments import require_fields, require_integer, require_number
from rollfilm.errors import InvalidArgumentError

__all__ = ["DEFAULT_OPTIONS", "SAMPLES", "RenderOptions"]

#: Samples that a pixel may have.
SAMPLES = (1, 4, 16)

_LARGEST_MAP = 8192


@dataclass(frozen=True)
class RenderOptions:
    """How a renderer draws; what is off costs nothing.

    Attributes:
        lod_pixels: how far a simplified surface may lie from the true one on the screen, pixels; 0 draws full detail.
        shadows: lights of ``cast_shadow`` cast shadows.
        shadow_map_size: side of the map that each of them has in each world, texels, 64 to 8192. It covers what casts shadows. None
            takes the longer side of a picture, from 64 to 1024: cameras of other sizes then have other maps.
        fog: things fade with distance as ``Scene.fog`` says.
        samples: of a pixel's colour, 1, 4 or 16: on a grid of 1, 2 or 4 rows and columns. Each surface of a pixel is shaded once, and
            colours are averaged over the samples. Depth and ids stay those of the pixel's centre.
        reflections: the first plane or flat face that reflects shows the scene (``Material.reflectance``).

    Raises:
        InvalidArgumentError: a number out of its range.
        NotFoundError: an option that is none.
    """

    lod_pixels: float = 0.25
    shadows: bool = False
    shadow_map_size: int | None = None
    fog: bool = False
    samples: int = 1
    reflections: bool = False

    def __new__(cls, *_: Any, **given: Any) -> "RenderOptions":
        """An instance, which is filled in later: what is misspelled is said in our own words."""
        require_fields(given, cls)
        return super().__new__(cls)

    def __post_init__(self) -> None:
        if require_number(self.lod_pixels, "lod_pixels", "it must be 0 or more") < 0:
            raise InvalidArgumentError(f"lod_pixels is {self.lod_pixels}; it must be 0 or more")
        for name in ("shadows", "fog"):
            if not isinstance(getattr(self, name), bool):
                raise InvalidArgumentError(f"{name} is {getattr(self, name)!r}; it must be True or False")
        if self.shadow_map_size is not None:
            size = require_integer(self.shadow_map_size, "shadow_map_size", lowest=64)
            if size > _LARGEST_MAP:
                raise InvalidArgumentError(f"shadow_map_size is {size}; it must be from 64 to {_LARGEST_MAP}")
            object.__setattr__(self, "shadow_map_size", size)
        if isinstance(self.samples, bool) or not isinstance(self.samples, Integral) or self.samples not in SAMPLES:
            raise InvalidArgumentError(f"samples is {self.samples!r}; choose from {', '.join(map(str, SAMPLES))}")
        # kernels are told apart by the features that they are specialised for: NumPy's numbers print otherwise
        object.__setattr__(self, "samples", int(self.samples))
        if not isinstance(self.reflections, bool):
            raise InvalidArgumentError(f"reflections is {self.reflections!r}; give True or False")

    @classmethod
    def mujoco_look(cls, **changes: Any) -> "RenderOptions":
        """All that ``mujoco.Renderer`` shows unless told otherwise; ``changes`` are fields that shall be otherwise."""
        return cls(**{"shadows": True, "shadow_map_size": 1024, "samples": 4, "reflections": True, **changes})


DEFAULT_OPTIONS = RenderOptions()
