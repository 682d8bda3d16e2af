"""The geoms of MuJoCo models as meshes and planes."""

# MuJoCo ships no types for what its binding exports.
# pyright: reportAttributeAccessIssue=false

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import mujoco
import numpy as np

from rollfilm.cores import available_cores
from rollfilm.scene import primitives
from rollfilm.scene.cache import cached_levels
from rollfilm.scene.corners import face_normals
from rollfilm.scene.levels import LevelConfig, Surface
from rollfilm.scene.mesh import Mesh
from rollfilm.scene.mujoco_materials import cube_mapping, geom_material, texture_mapping
from rollfilm.scene.mujoco_values import vector3, vector4
from rollfilm.scene.primitive_uvs import Mapping, box_uvs, capsule_uvs, cylinder_uvs, sphere_uvs, with_uvs
from rollfilm.scene.scene import Geom

__all__ = ["model_geoms"]

_GEOM = mujoco.mjtGeom

#: A corner keeps the model's normal if the cosine between it and the triangle's is at least this, else it gets the triangle's
#: (``mjr_uploadMesh`` in MuJoCo's render_context.c).
_SMOOTH_COSINE = 0.8


def model_geoms(model: mujoco.MjModel, groups: frozenset[int], warnings: list[str]) -> tuple[tuple[Geom, ...], tuple[Mesh, ...]]:
    """The visible geoms in the order of their ids, and the meshes that they share. What is not drawn as MuJoCo does adds a warning."""
    sources: dict[tuple, Callable[[], Mesh | None]] = {}
    shapes: list[tuple[int, tuple | None]] = []
    for geom in range(model.ngeom):
        group = min(max(int(model.geom_group[geom]), 0), mujoco.mjNGROUP - 1)
        if group not in groups or geom_material(model, geom).rgba[3] == 0:
            continue
        key, source = _shape(model, geom)
        if key is None and model.geom_type[geom] != _GEOM.mjGEOM_PLANE:
            warnings.append(f"geom {_geom_name(model, geom)} is not drawn: it has no surface")
            continue
        if key is not None and source is not None:
            sources.setdefault(key, source)
        shapes.append((geom, key))
    with ThreadPoolExecutor(max_workers=available_cores()) as pool:
        built = dict(zip(sources, pool.map(lambda source: source(), sources.values()), strict=True))
    meshes = {key: mesh for key, mesh in built.items() if mesh is not None}
    index = {key: i for i, key in enumerate(meshes)}
    geoms = []
    for geom, key in shapes:
        if key is not None and key not in index:
            warnings.append(f"geom {_geom_name(model, geom)} is not drawn: its surface has no area")
            continue
        geoms.append(_geom(model, geom, -1 if key is None else index[key]))
    _warn_of_looks(model, geoms, warnings)
    return tuple(geoms), tuple(meshes.values())


def _shape(model: mujoco.MjModel, geom: int) -> tuple[tuple | None, Callable[[], Mesh | None] | None]:
    """What identifies the surface of a geom, and how to build it; None for planes and for what has no surface."""
    kind = int(model.geom_type[geom])
    data = int(model.geom_dataid[geom])
    x, y, z = (float(s) for s in model.geom_size[geom])
    textured = _has_own_uvs(model, geom)
    match kind:
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


def _has_own_uvs(model: mujoco.MjModel, geom: int) -> bool:
    """Whether a geom has a flat texture that lies on coordinates of its surface."""
    texture = geom_material(model, geom).texture
    if texture < 0 or model.tex_type[texture] != mujoco.mjtTexture.mjTEXTURE_2D:
        return False
    kind = int(model.geom_type[geom])
    if kind in (_GEOM.mjGEOM_MESH, _GEOM.mjGEOM_SDF):
        return _has_texcoords(model, int(model.geom_dataid[geom]))
    return kind not in (_GEOM.mjGEOM_PLANE, _GEOM.mjGEOM_HFIELD)


def _geom(model: mujoco.MjModel, geom: int, mesh: int) -> Geom:
    material = geom_material(model, geom)
    scale, offset = texture_mapping(model, geom, own_uvs=_has_own_uvs(model, geom))
    cube_scale, cube_cap = cube_mapping(model, geom)
    plane = mesh < 0
    return Geom(
        name=model.geom(geom).name,
        source_id=geom,
        body=int(model.geom_bodyid[geom]),
        position=vector3(model.geom_pos[geom]),
        quat_wxyz=vector4(model.geom_quat[geom]),
        mesh=mesh,
        material=material,
        plane_half_size=(float(model.geom_size[geom, 0]), float(model.geom_size[geom, 1])) if plane else (0.0, 0.0),
        uv_scale=scale,
        uv_offset=offset,
        cube_scale=cube_scale,
        cube_cap=cube_cap,
    )


def _has_texcoords(model: mujoco.MjModel, mesh: int) -> bool:
    return int(model.mesh_texcoordadr[mesh]) >= 0


def _mesh(model: mujoco.MjModel, mesh: int, textured: bool) -> Mesh | None:
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


def _height_field(model: mujoco.MjModel, field: int) -> Mesh | None:
    rows, columns, start = int(model.hfield_nrow[field]), int(model.hfield_ncol[field]), int(model.hfield_adr[field])
    x, y, top, base = (float(s) for s in model.hfield_size[field])
    heights = model.hfield_data[start : start + rows * columns].reshape(rows, columns) * top
    positions, triangles = primitives.height_field_surface(heights, (x, y), base)
    flat, _ = face_normals(positions, triangles)
    surface = Surface(positions, triangles, np.repeat(flat[:, None], 3, axis=1))
    return _with_levels(model.hfield(field).name, surface, LevelConfig(crease_angle_rad=0.0))


def _with_levels(name: str, surface: Surface, config: LevelConfig) -> Mesh | None:
    levels = cached_levels(surface, config)
    return primitives.mesh_from_levels(name, list(levels)) if levels else None


def _geom_name(model: mujoco.MjModel, geom: int) -> str:
    return repr(model.geom(geom).name) if model.geom(geom).name else str(geom)


def _warn_of_looks(model: mujoco.MjModel, geoms: list[Geom], warnings: list[str]) -> None:
    """One line for each way in which surfaces look other than in MuJoCo, with how many and the first of them."""
    translucent = [g for g in geoms if g.material.rgba[3] < 1]
    for found, what in ((translucent, "drawn opaque, though their alpha is below 1"),):
        if found:
            warnings.append(f"{len(found)} geoms are {what}; the first is geom {_geom_name(model, found[0].source_id)}")
