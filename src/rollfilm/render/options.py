"""What a picture shows beyond colours and depth, and how finely: all that can be switched."""

from dataclasses import dataclass

from rollfilm.errors import InvalidArgumentError

__all__ = ["DEFAULT_OPTIONS", "RenderOptions"]


@dataclass(frozen=True)
class RenderOptions:
    """How a renderer draws; what is off costs nothing.

    Attributes:
        lod_pixels: how far a simplified surface may lie from the true one on the screen, pixels; 0 draws full detail.

    Raises:
        InvalidArgumentError: a number out of its range.
    """

    lod_pixels: float = 0.5

    def __post_init__(self) -> None:
        if not self.lod_pixels >= 0:
            raise InvalidArgumentError(f"lod_pixels is {self.lod_pixels}; it must be 0 or more")


DEFAULT_OPTIONS = RenderOptions()
