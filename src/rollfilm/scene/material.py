"""Surfaces: textures and materials."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

__all__ = ["Material", "Texture"]


@dataclass(frozen=True, eq=False)
class Texture:
    """An image on a surface, or around the scene.

    Attributes:
        name: for messages.
        kind: ``"2d"``; ``"cube"`` and ``"skybox"`` hold six square faces in the order +x, -x, +y, -y, +z, -z of the cube map.
        pixels: uint8 (H, W, 3), or (6, H, H, 3) for the six faces; sRGB values, row 0 on top.
    """

    name: str
    kind: Literal["2d", "cube", "skybox"]
    pixels: NDArray[np.uint8]


@dataclass(frozen=True)
class Material:
    """How a surface answers light, in the terms of MuJoCo's (OpenGL's fixed-function) lighting model.

    Attributes:
        rgba: the colour, multiplied with the texture, 0 to 1.
        specular: strength of the highlight, 0 to 1.
        shininess: 0 to 1; the Phong exponent is 128 times that.
        emission: part of the colour that shines by itself.
        reflectance: part of a mirror image that planes add.
        texture: index into ``Scene.textures``, -1 for none.
        name: of the model's material, empty where a geom has only a colour.
    """

    rgba: tuple[float, float, float, float] = (0.5, 0.5, 0.5, 1.0)
    specular: float = 0.5
    shininess: float = 0.5
    emission: float = 0.0
    reflectance: float = 0.0
    texture: int = -1
    name: str = ""
