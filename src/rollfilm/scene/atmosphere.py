"""What lies between a camera and the horizon."""

from dataclasses import dataclass

__all__ = ["Fog", "Haze"]

Color = tuple[float, float, float]


@dataclass(frozen=True)
class Haze:
    """A band at the horizon of an infinite plane, over the skybox: it hides where the plane ends.

    As in MuJoCo the sky is a cylinder around the camera, at 0.7 of ``Scene.far_m``; haze is the side of a cone that leaves the plane
    before it and meets it at the height of the camera.

    Attributes:
        rgb: its colour.
        width: the part of the way to the sky that it takes up, 0 to below 1 (``haze`` of MuJoCo's ``<map>``).
    """

    rgb: Color = (1.0, 1.0, 1.0)
    width: float = 0.3


@dataclass(frozen=True)
class Fog:
    """Fog that grows linearly with depth along the optical axis.

    Attributes:
        rgb: its colour.
        start_m, end_m: the depths where it begins, and from which on it is all that is seen.
    """

    rgb: Color = (0.0, 0.0, 0.0)
    start_m: float = 3.0
    end_m: float = 10.0
