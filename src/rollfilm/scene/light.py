"""Lights."""

from dataclasses import dataclass, field
from typing import Literal

from rollfilm.scene.placement import Placement

__all__ = ["Headlight", "Light"]

Color = tuple[float, float, float]


@dataclass(frozen=True)
class Light:
    """A light of MuJoCo's classic lighting model.

    Attributes:
        name: for messages, may be empty.
        kind: ``"directional"``; ``"spot"``, MuJoCo's positional light, whose cone may be as wide as everything; or ``"point"``, which
            shines from a place to all sides alike.
        placement: where it is; it shines along its -z.
        ambient, diffuse, specular: its colours.
        attenuation: constant, linear and quadratic factor (spot and point).
        cutoff_rad: half the angle of the cone; pi for no cone (spot only).
        exponent: how the cone fades from its axis (spot only).
        cast_shadow: whether things in its way cast shadows.
    """

    name: str = ""
    kind: Literal["directional", "spot", "point"] = "directional"
    placement: Placement = field(default_factory=Placement)
    ambient: Color = (0.0, 0.0, 0.0)
    diffuse: Color = (0.7, 0.7, 0.7)
    specular: Color = (0.3, 0.3, 0.3)
    attenuation: Color = (1.0, 0.0, 0.0)
    cutoff_rad: float = 3.141592653589793
    exponent: float = 0.0
    cast_shadow: bool = True


@dataclass(frozen=True)
class Headlight:
    """The light that shines from every camera along its line of sight (directional, as in MuJoCo)."""

    ambient: Color = (0.1, 0.1, 0.1)
    diffuse: Color = (0.4, 0.4, 0.4)
    specular: Color = (0.5, 0.5, 0.5)
