"""Small scenes and how to film them. A kernel is compiled for each set of features, so tests share few of them."""

from dataclasses import fields, replace

import numpy as np

from rollfilm import geometry
from rollfilm.engines.still import StillPoses
from rollfilm.render import BatchRenderer, CameraRequest, RenderOptions
from rollfilm.scene import Bodies, BodyPoses, Camera, Geom, Material, Mesh, MeshLevel, Placement, Scene

SHAPE = ("depth_m", "segmentation")
HERE = ((0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0))
WORLD = Bodies(("world",), np.zeros(1, np.int32), np.zeros(1, np.float32), np.zeros((1, 3), np.float32))
#: Out of everyone's sight: geometry is tested with one kernel, which has one plane.
UNSEEN = Geom("unseen", 999, 0, (0.0, 0.0, 1e4), (1.0, 0.0, 0.0, 0.0), -1, Material())


def look(eye, target, name="eye", fov_y_rad=0.8) -> Camera:
    """A camera fixed in the world."""
    quat = geometry.look_at_quat_wxyz(np.array(eye, float), np.array(target, float))
    return Camera(name, Placement(position=tuple(map(float, eye)), quat_wxyz=tuple(map(float, quat))), fov_y_rad)


def still(scene: Scene, num_worlds: int = 1) -> StillPoses:
    """All bodies at the origin."""
    shape = (num_worlds, len(scene.bodies.names))
    return StillPoses(scene, BodyPoses(np.zeros((*shape, 3), np.float32), np.tile(np.float32([1, 0, 0, 0]), (*shape, 1))))


def film(scene: Scene, cameras, height: int, width: int, outputs=SHAPE, *, source=None, **options) -> dict:
    """One frame of each camera: name -> CameraFrames of copies. ``options`` are those of the renderer and of RenderOptions."""
    source = source or still(scene)
    requests = [CameraRequest(camera, height, width, outputs) for camera in cameras]
    drawn = {field.name: options.pop(field.name) for field in fields(RenderOptions) if field.name in options}
    renderer = BatchRenderer(scene, source.num_worlds, requests, options=RenderOptions(**drawn), **options)
    frames = renderer.render(source)
    copies = {name: {output: getattr(frames[name], output).copy() for output in outputs} for name in frames}
    renderer.close()
    return copies


def shot(scene: Scene, camera, height: int, width: int, outputs=SHAPE, **options) -> dict:
    """The pictures of one camera in one world."""
    return {name: picture[0] for name, picture in film(scene, [camera], height, width, outputs, **options)[camera.name].items()}


def triangles(vertices, faces, name="mesh", error_m=0.0) -> Mesh:
    """A mesh of one level with flat normals."""
    corners = np.asarray(vertices, np.float32)[np.asarray(faces)]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]).astype(np.float64)
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    flat = corners.reshape(-1, 3)
    level = MeshLevel(flat, np.repeat(normals, 3, axis=0).astype(np.float32), np.arange(len(flat), dtype=np.int32).reshape(-1, 3), error_m)
    return Mesh(name, (level,), np.zeros(3, np.float32), float(np.linalg.norm(flat, axis=1).max()))


def thing(mesh: int, source_id: int, position=HERE[0], quat_wxyz=HERE[1], **material) -> Geom:
    """A geom that hangs on the world; mesh -1 is an infinite plane."""
    return Geom(f"thing{source_id}", source_id, 0, tuple(position), tuple(quat_wxyz), mesh, Material(**material))


def scene_of(meshes, geoms, **options) -> Scene:
    """A scene without lights but the headlight, and with one plane at least."""
    geoms = tuple(geoms)
    if all(geom.mesh >= 0 for geom in geoms):
        geoms = (UNSEEN, *geoms)
    return Scene(WORLD, geoms, tuple(meshes), **options)


def coarse(scene: Scene, most: int = 350) -> Scene:
    """The scene with one level of detail a mesh, of at most ``most`` triangles if it has such: what a ray caster can bear."""
    meshes = []
    for mesh in scene.meshes:
        level = next((level for level in mesh.levels if len(level.triangles) <= most), mesh.levels[-1])
        meshes.append(replace(mesh, levels=(replace(level, error_m=0.0),)))
    return replace(scene, meshes=tuple(meshes))
