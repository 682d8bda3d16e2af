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
        bodies, distances, camera_normals, world_normals, positions: more outputs.
        dull: the headlight has no highlights, unless worlds have headlights of their own.
        shadows: the lights that cast shadows.
        haze: the horizon of a plane is hazy.
        fog: there is fog.
        samples: of a pixel's colour, the square of a power of two.
        translucent: some geom is.
        blend_twice: translucent geoms are blended front to back, then back to front.
        mirror: some geom reflects, and that is asked for.
        rare: only views that see planes from behind are coloured, the others are by another kernel.
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
    shadows: tuple[int, ...] = ()
    haze: bool = False
    fog: bool = False
    bodies: bool = False
    distances: bool = False
    camera_normals: bool = False
    world_normals: bool = False
    positions: bool = False
    dull: bool = False
    samples: int = 1
    translucent: bool = False
    blend_twice: bool = False
    mirror: bool = False
    rare: bool = False

    @property
    def normals(self) -> bool:
        """Whether a normal is asked for as an output."""
        return self.camera_normals or self.world_normals

    @property
    def measured(self) -> bool:
        """Whether ``measure`` has anything to do."""
        return self.normals or self.bodies or self.distances or self.positions
