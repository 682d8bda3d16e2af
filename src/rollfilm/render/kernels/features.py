"""What a shading kernel is specialised for: what is off is not compiled."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Features:
    """The outputs that were asked for, and what the scene has.

    Attributes:
        rgb, depth, segmentation: outputs.
        textures: some geom has a 2D texture.
        skybox: the background is a cube map, else black.
        planes: there are planes.
        lights: there are lights besides the headlight.
        spots: some of them are spots.
    """

    rgb: bool
    depth: bool
    segmentation: bool
    textures: bool
    skybox: bool
    planes: bool
    lights: bool
    spots: bool
