"""The engine-free description of what can be seen: meshes, materials, textures, lights, cameras."""

from rollfilm.scene.atmosphere import Fog, Haze
from rollfilm.scene.camera import Camera, Intrinsics
from rollfilm.scene.deforming import DeformingMesh
from rollfilm.scene.light import Headlight, Light
from rollfilm.scene.material import Material, Texture
from rollfilm.scene.mesh import Mesh, MeshLevel
from rollfilm.scene.names import all_geom_names, geom_names, light_names
from rollfilm.scene.placement import Follow, Placement, world_pose
from rollfilm.scene.poses import BodyPoses, PoseSource
from rollfilm.scene.scene import Bodies, Geom, Scene

__all__ = [
    "Bodies",
    "BodyPoses",
    "Camera",
    "DeformingMesh",
    "Fog",
    "Follow",
    "Geom",
    "Haze",
    "Headlight",
    "Intrinsics",
    "Light",
    "Material",
    "Mesh",
    "MeshLevel",
    "Placement",
    "PoseSource",
    "Scene",
    "Texture",
    "all_geom_names",
    "geom_names",
    "light_names",
    "world_pose",
]
