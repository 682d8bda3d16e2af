"""The geoms, sites and frames of MuJoCo models as meshes and planes."""

# MuJoCo ships no types for what its binding exports.
# pyright: reportAttributeAccessIssue=false

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import mujoco
import numpy as np

from rollfilm.cores import available_cores
from rollfilm.scene import primitives
from rollfilm.scene.cache import cached_levels, stored_levels
from rollfilm.scene.corners import face_normals
from rollfilm.scene.levels import LevelConfig, Surface
from rollfilm.scene.loading import compile_beside
from rollfilm.scene.mesh import Mesh, MeshLevel
from rollfilm.scene.mujoco_materials import cube_mapping, texture_mapping, thing_material
from rollfilm.scene.mujoco_missing import Missing
from rollfilm.scene.mujoco_things import Thing, first_ids
from rollfilm.scene.primitive_uvs import Mapping, box_uvs, capsule_uvs, cylinder_uvs, sphere_uvs, with_uvs
from rollfilm.scene.scene import Geom

__all__ = ["model_geoms"]

_GEOM = mujoco.mjtGeom

#: A corner keeps the model's normal if the cosine between it and the triangle's is at least this, else it gets the triangle's
#: (``mjr_uploadMesh`` in MuJoCo's render_context.c).
_SMOOTH_COSINE = 0.8


@dataclass(frozen=True, eq=False)
class _Unbuilt:
    """A surface whose levels are not on the disk."""

    name: str
    surface: Surface
    config: LevelConfig

    @property
    def checked(self) -> bool:
        """Whether there are enough triangles for a kernel to check which of them may go."""
        return len(self.surface.triangles) > self.config.fewest_triangles

    def build(self) -> Mesh | None:
        """Its mesh, None if it has no area."""
        return _mesh_of(self.name, cached_levels(self.surface, self.config))


_Source = Callable[[], Mesh | _Unbuilt | None]


def model_geoms(model: mujoco.MjModel, things: list[Thing], missing: Missing) -> tuple[tuple[Geom, ...], tuple[Mesh, ...]]:
    """Things that can be seen in their order, and the meshes that they share. What has no surface is ``missing``."""
    first = first_ids(model)
    sources: dict[tuple, _Source] = {}
    shapes: list[tuple[Thing, tuple | None]] = []
    for thing in things:
        if thing_material(model, thing).rgba[3] == 0:
            continue
        key, source = _shape(model, thing)
        if key is None and thing.type != _GEOM.mjGEOM_PLANE:
            missing.add(thing, "no surface")
            continue
        if key is not None and source is not None:
            sources.setdefault(key, source)
        shapes.append((thing, key))
    # the largest first, so that no core waits long for another's last
    order = sorted(sources, key=lambda key: -_num_faces(model, key))
    built = dict(zip(order, _built([sources[key] for key in order]), strict=True))
    meshes = {key: mesh for key in sources if (mesh := built[key]) is not None}
    index = {key: i for i, key in enumerate(meshes)}
    geoms = []
    for thing, key in shapes:
        if key is not None and key not in index:
            missing.add(thing, "a surface without area")
            continue
        geoms.append(_geom(model, thing, first[thing.kind] + thing.id, -1 if key is None else index[key]))
    return tuple(geoms), tuple(meshes.values())


def _built(sources: list[_Source]) -> list[Mesh | None]:
    """What the sources make, in their order, by all cores."""
    with ThreadPoolExecutor(max_workers=available_cores(), thread_name_prefix="rollfilm-levels") as pool:
        try:
            found = list(pool.map(lambda source: source(), sources))
            unbuilt = [each for each in found if isinstance(each, _Unbuilt)]

            def start() -> list[Future[Mesh | None]]:
                return [pool.submit(each.build) for each in unbuilt]

            futures = compile_beside(start) if any(each.checked for each in unbuilt) else start()
            meshes = iter([future.result() for future in futures])
        except BaseException:
            # nobody waits for meshes that are not begun
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return [next(meshes) if isinstance(each, _Unbuilt) else each for each in found]


def _num_faces(model: mujoco.MjModel, key: tuple) -> int:
    """Triangles of a surface (``_shape``), 0 for those that are made without levels being searched for."""
    return int(model.mesh_facenum[key[1]]) if key[0] == "mesh" else 0


def _shape(model: mujoco.MjModel, thing: Thing) -> tuple[tuple | None, _Source | None]:
    """What identifies a surface, and how to build it; None for planes and for what has no surface."""
    data = thing.data
    x, y, z = thing.size
    textured = _has_own_uvs(model, thing)
    match thing.type:
        case _GEOM.mjGEOM_MESH | _GEOM.mjGEOM_SDF if data >= 0:
            return ("mesh", data, textured), lambda: _mesh(model, data, textured)
        case _GEOM.mjGEOM_HFIELD if data >= 0:
            return ("hfield", data), lambda: _height_field(model, data)
        case _GEOM.mjGEOM_BOX if min(x, y, z) > 0:
            return ("box", x, y, z, textured), lambda: _mapped(primitives.box((x, y, z)), textured, (x, y, z), box_uvs)
        case _GEOM.mjGEOM_SPHERE if x > 0:
            return ("sphere", x, textured), lambda: _mapped(primitives.sphere(x), textured, (x, x, x), sphere_uvs)
        case _GEOM.mjGEOM_ELLIPSOID if min(x, y, z) > 0:
            return ("ellipsoid", x, y, z, textured), lambda: _mapped(primitives.ellipsoid((x, y, z)), textured, (x, y, z), sphere_uvs)
        case _GEOM.mjGEOM_CAPSULE if min(x, y) > 0:
            return ("capsule", x, y, textured), lambda: _mapped(primitives.capsule(x, y), textured, (x, x, x), capsule_uvs(y / x))
        case _GEOM.mjGEOM_CYLINDER if min(x, y) > 0:
            return ("cylinder", x, y, textured), lambda: _mapped(primitives.cylinder(x, y), textured, (x, x, y), cylinder_uvs)
    return None, None


def _mapped(mesh: Mesh, textured: bool, size: tuple[float, float, float], mapping: Mapping) -> Mesh:
    return with_uvs(mesh, size, mapping) if textured else mesh


def _has_own_uvs(model: mujoco.MjModel, thing: Thing) -> bool:
    """Whether a thing has a flat texture that lies on coordinates of its surface."""
    texture = thing_material(model, thing).texture
    if texture < 0 or model.tex_type[texture] != mujoco.mjtTexture.mjTEXTURE_2D:
        return False
    if thing.type in (_GEOM.mjGEOM_MESH, _GEOM.mjGEOM_SDF):
        return _has_texcoords(model, thing.data)
    return thing.type not in (_GEOM.mjGEOM_PLANE, _GEOM.mjGEOM_HFIELD)


def _geom(model: mujoco.MjModel, thing: Thing, source_id: int, mesh: int) -> Geom:
    scale, offset = texture_mapping(model, thing, own_uvs=_has_own_uvs(model, thing))
    cube_scale, cube_cap = cube_mapping(model, thing)
    return Geom(
        name=thing.name,
        source_id=source_id,
        body=thing.body,
        position=thing.position,
        quat_wxyz=thing.quat_wxyz,
        mesh=mesh,
        material=thing_material(model, thing),
        plane_half_size=thing.size[:2] if mesh < 0 else (0.0, 0.0),
        mirror_z=thing.size[2] if thing.type == _GEOM.mjGEOM_BOX else None,
        uv_scale=scale,
        uv_offset=offset,
        cube_scale=cube_scale,
        cube_cap=cube_cap,
        kind=thing.kind,
    )


def _has_texcoords(model: mujoco.MjModel, mesh: int) -> bool:
    return int(model.mesh_texcoordadr[mesh]) >= 0


def _mesh(model: mujoco.MjModel, mesh: int, textured: bool) -> Mesh | _Unbuilt | None:
    """A mesh with the normals that MuJoCo draws it with, and with texture coordinates where they are needed."""
    faces = slice(int(model.mesh_faceadr[mesh]), int(model.mesh_faceadr[mesh] + model.mesh_facenum[mesh]))
    start, count = int(model.mesh_vertadr[mesh]), int(model.mesh_vertnum[mesh])
    positions = model.mesh_vert[start : start + count]
    triangles = np.array(model.mesh_face[faces])
    flat, _ = face_normals(positions, triangles)
    normals = model.mesh_normal[int(model.mesh_normaladr[mesh]) + model.mesh_facenormal[faces]]
    if not _has_texcoords(model, mesh):
        smooth = np.sum(normals * flat[:, None], axis=-1, keepdims=True) >= _SMOOTH_COSINE
        normals = np.where(smooth, normals, flat[:, None])
    uvs = None
    if textured:
        uvs = model.mesh_texcoord[int(model.mesh_texcoordadr[mesh]) + model.mesh_facetexcoord[faces]].copy()
        # MuJoCo counts v from the image's first row, we from its last
        uvs[..., 1] = 1.0 - uvs[..., 1]
    return _with_levels(model.mesh(mesh).name, Surface(positions, triangles, normals, uvs), LevelConfig())


def _height_field(model: mujoco.MjModel, field: int) -> Mesh | _Unbuilt | None:
    rows, columns, start = int(model.hfield_nrow[field]), int(model.hfield_ncol[field]), int(model.hfield_adr[field])
    x, y, top, base = (float(s) for s in model.hfield_size[field])
    heights = model.hfield_data[start : start + rows * columns].reshape(rows, columns) * top
    positions, triangles = primitives.height_field_surface(heights, (x, y), base)
    flat, _ = face_normals(positions, triangles)
    surface = Surface(positions, triangles, np.repeat(flat[:, None], 3, axis=1))
    return _with_levels(model.hfield(field).name, surface, LevelConfig(crease_angle_rad=0.0))


def _with_levels(name: str, surface: Surface, config: LevelConfig) -> Mesh | _Unbuilt | None:
    levels = stored_levels(surface, config)
    return _Unbuilt(name, surface, config) if levels is None else _mesh_of(name, levels)


def _mesh_of(name: str, levels: tuple[MeshLevel, ...]) -> Mesh | None:
    return primitives.mesh_from_levels(name, list(levels)) if levels else None
