"""The engine-free description of what can be seen."""

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rollfilm.errors import NotFoundError
from rollfilm.scene.atmosphere import Fog, Haze
from rollfilm.scene.camera import Camera
from rollfilm.scene.deforming import DeformingMesh
from rollfilm.scene.light import Headlight, Light
from rollfilm.scene.material import Material, Texture
from rollfilm.scene.mesh import Mesh

__all__ = ["Bodies", "Geom", "GeomKind", "Scene"]

#: What a thing that can be seen is in the engine's model.
GeomKind = Literal["geom", "site", "tendon", "flex", "skin", "frame"]


@dataclass(frozen=True)
class Geom:
    """Something visible that hangs on a body: a mesh, or a plane.

    Attributes:
        name: for messages and tables, may be empty.
        source_id: what a segmentation image holds: the geom id in the engine's own model, and beyond those of geoms the ids of whatever
            else can be seen.
        body: index of its body.
        position, quat_wxyz: its frame in the body's frame, (3,) metres and (4,).
        mesh: index into ``Scene.meshes``, -1 for a plane (z = 0 of its frame, seen from +z).
        plane_half_size: (2,) half sizes of a plane along x and y, 0 for infinite; ignored for meshes.
        material: what it is made of.
        mirror_z: height in the geom's frame of a flat face of its mesh, upwards, that may reflect (``Material.reflectance``); None for
            none. Planes need none.
        uv_scale, uv_offset: texture coordinates are ``scale * uv + offset`` with the mesh's own ``uv`` where it has them, and the
            x and y of a point in the geom's frame (metres) where it has none, and on planes.
        cube_scale: (3,); a cube texture is seen along ``scale * point`` with the point in the geom's frame.
        cube_cap: (2,) of capsules, whose half spheres are textured by another scale: half the length of the straight part, metres, and
            how many times more z counts beyond it. 0 for all else.
        kind: what it is in the engine's model.
    """

    name: str
    source_id: int
    body: int
    position: tuple[float, float, float]
    quat_wxyz: tuple[float, float, float, float]
    mesh: int
    material: Material
    plane_half_size: tuple[float, float] = (0.0, 0.0)
    mirror_z: float | None = None
    uv_scale: tuple[float, float] = (1.0, 1.0)
    uv_offset: tuple[float, float] = (0.0, 0.0)
    cube_scale: tuple[float, float, float] = (1.0, 1.0, 1.0)
    cube_cap: tuple[float, float] = (0.0, 0.0)
    kind: GeomKind = "geom"


@dataclass(frozen=True, eq=False)
class Bodies:
    """What must be known of the bodies themselves.

    Attributes:
        names: of all bodies, the world (index 0) first.
        parent: int32 (bodies,), index of the parent; the world is its own.
        mass: float32 (bodies,), kilograms: only for cameras and lights that follow a centre of mass.
        center_of_mass: float32 (bodies, 3), in the body's frame, metres; likewise.
    """

    names: tuple[str, ...]
    parent: NDArray[np.int32]
    mass: NDArray[np.float32]
    center_of_mass: NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Scene:
    """All that can be seen of one world; every world of a batch shares it and differs in poses.

    Attributes:
        bodies: names, parents and masses.
        geoms: everything visible, in the order of the engine's geom ids. Where two surfaces coincide, the later geom is seen.
        meshes, textures: shared by the geoms.
        deforming: how those of the meshes deform that follow more than one body; their geoms hang on the world.
        num_path_points: how many path points they need of the source of the poses.
        lights: those that are switched on.
        headlight: the light at the camera, None if it is off; where nothing shines at all, MuJoCo's ambient light of 0.3 stands in.
        cameras: every camera of the model.
        skybox: index into ``textures`` or -1: then the background is black.
        blend_twice: translucent surfaces are blended twice, front to back and then back to front, as MuJoCo draws them: a single one of
            alpha a covers 1 - (1 - a)^2 of what is behind it.
        near_m: what lies nearer to a camera's plane is cut off.
        far_m: planes end there, and meshes that lie beyond it altogether are not seen.
        center, extent_m: (3,) middle and size of the model, as a free camera needs them.
        haze: a band at the horizon of the first infinite plane, drawn where there is a skybox; None for none.
        fog: what ``RenderOptions.fog`` switches on; None for none.
        warnings: what of the model is not drawn, in one line, and a line for each way in which the scene looks other than it.
    """

    bodies: Bodies
    geoms: tuple[Geom, ...]
    meshes: tuple[Mesh, ...]
    textures: tuple[Texture, ...] = ()
    lights: tuple[Light, ...] = ()
    headlight: Headlight | None = field(default_factory=Headlight)
    cameras: tuple[Camera, ...] = ()
    skybox: int = -1
    blend_twice: bool = False
    near_m: float = 0.01
    far_m: float = 1000.0
    center: tuple[float, float, float] = (0.0, 0.0, 0.0)
    extent_m: float = 1.0
    warnings: tuple[str, ...] = ()
    deforming: tuple[DeformingMesh, ...] = ()
    num_path_points: int = 0
    haze: Haze | None = None
    fog: Fog | None = None

    def camera(self, name: str) -> Camera:
        """The camera called ``name``.

        Raises:
            NotFoundError: there is none; the message lists those there are.
        """
        for camera in self.cameras:
            if camera.name == name:
                return camera
        known = ", ".join(camera.name for camera in self.cameras) or "none"
        raise NotFoundError(f"no camera {name!r} in this scene; its cameras: {known}")
