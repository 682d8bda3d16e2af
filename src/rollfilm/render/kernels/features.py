"""What a shading kernel is specialised for: what is off is not compiled."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Features:
    """The outputs that were asked for, and what the scene has.

    Attributes:
        rgb, depth, segmentation: outputs.
        textures: some geom has a texture.
        skybox: the background is a cube map, else black.
        planes: how many there are.
        lights: for every light besides the headlight whether it is a spot.
        sizes: geoms have sizes of their own in some world.
        headlights: worlds have headlights of their own.
        cubes: some geom's texture is a cube.
        flat: the cameras are orthographic.
    """

    rgb: bool
    depth: bool
    segmentation: bool
    textures: bool
    skybox: bool
    planes: int
    lights: tuple[bool, ...]
    sizes: bool = False
    headlights: bool = False
    cubes: bool = False
    flat: bool = False
