"""Skins, flexes and tendons of MuJoCo models, as surfaces that follow bodies."""

# MuJoCo ships no types for what its binding exports.
# pyright: reportAttributeAccessIssue=false

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import mujoco
import numpy as np
from numpy.typing import NDArray

from rollfilm import geometry
from rollfilm.scene.deforming import DeformingMesh, deformed, tubes
from rollfilm.scene.mesh import Mesh, MeshLevel
from rollfilm.scene.mujoco_materials import material_of
from rollfilm.scene.mujoco_missing import Missing
from rollfilm.scene.mujoco_paths import path_points, path_slots
from rollfilm.scene.mujoco_things import first_ids
from rollfilm.scene.mujoco_values import vector2, vector4
from rollfilm.scene.primitives import mesh_from_levels
from rollfilm.scene.scene import Geom, GeomKind

__all__ = ["model_deforming"]

_OBJECTS = {"tendon": mujoco.mjtObj.mjOBJ_TENDON, "flex": mujoco.mjtObj.mjOBJ_FLEX, "skin": mujoco.mjtObj.mjOBJ_SKIN}

#: Straight pieces of a string that may hang.
_STRING_PIECES = 28

#: Groups of skins, flexes and tendons that MuJoCo's own viewers show.
_GROUPS = (0, 1, 2)


@dataclass(frozen=True)
class _Surface:
    """A deforming mesh, and what else is to be known of it: triangles (T, 3) and texture coordinates (V, 2), v down."""

    mesh: DeformingMesh
    triangles: NDArray
    uvs: NDArray | None = None


@dataclass(frozen=True)
class _Bones:
    """Control points: where the bones of each begin, and of each bone the body, and offset and weight."""

    first: NDArray
    body: NDArray
    bone: NDArray

    @classmethod
    def one_each(cls, body: NDArray, offset: NDArray) -> "_Bones":
        """Control points that are at an offset (P, 3) from one body (P,) each."""
        return cls(np.arange(len(body) + 1), body, np.column_stack([offset, np.ones(len(body))]))


def model_deforming(
    model: mujoco.MjModel, num_meshes: int, missing: Missing
) -> tuple[tuple[Geom, ...], tuple[Mesh, ...], tuple[DeformingMesh, ...]]:
    """What deforms in a model: geoms, their meshes in the model's initial pose, numbered from ``num_meshes`` on, and how they deform.

    A flex of several materials is a geom for each, of the same id; their names end in that of the material.
    """
    geoms, meshes, deforming = [], [], []
    data = None
    first = first_ids(model)
    for kind, number, matid, rgba, part, make in _candidates(model):
        material = material_of(model, matid, rgba)
        if material.rgba[3] == 0:
            continue
        name = (mujoco.mj_id2name(model, _OBJECTS[kind], number) or (f"{kind}_{number}" if part else "")) + part
        surface = make()
        if surface is None or len(surface.triangles) == 0:
            missing.add(f"{kind} {name!r}" if name else f"{kind} {number}", "no surface")
            continue
        if data is None:
            data = mujoco.MjData(model)
            mujoco.mj_fwdPosition(model, data)
        placed = replace(surface.mesh, mesh=num_meshes + len(meshes))
        path = path_points(model, data)
        vertices, normals = deformed(placed, surface.triangles, data.xpos, data.xmat.reshape(-1, 3, 3), path)
        uvs = None if surface.uvs is None else (surface.uvs * [1.0, -1.0] + [0.0, 1.0]).astype(np.float32)
        level = MeshLevel(vertices.astype(np.float32), normals.astype(np.float32), surface.triangles.astype(np.int32), 0.0, uvs)
        textured = uvs is not None
        repeat = vector2(model.mat_texrepeat[matid]) if matid >= 0 else (1.0, 1.0)
        geoms.append(
            Geom(
                name=name,
                source_id=first[kind] + number,
                body=0,
                position=(0.0, 0.0, 0.0),
                quat_wxyz=(1.0, 0.0, 0.0, 0.0),
                mesh=placed.mesh,
                # MuJoCo has no texture where there are no coordinates
                material=material if textured else replace(material, texture=-1),
                uv_scale=repeat,
                uv_offset=(0.0, 1.0 - repeat[1]),
                kind=kind,
            )
        )
        meshes.append(mesh_from_levels(name or f"{kind}_{number}", [level]))
        deforming.append(placed)
    return tuple(geoms), tuple(meshes), tuple(deforming)


def _string(model: mujoco.MjModel, tendon: int) -> tuple[float, float, float, float] | None:
    """Of a string between two sites, which MuJoCo draws as a catenary while it is slack, where gravity pulls and its length."""
    spring = model.tendon_stiffness[tendon] > 0 and model.tendon_lengthspring[tendon, 0] == 0 < model.tendon_lengthspring[tendon, 1]
    limit = model.tendon_stiffness[tendon] == 0 and model.tendon_limited[tendon] and model.tendon_range[tendon, 0] == 0
    free = model.tendon_damping[tendon] == 0 and model.tendon_frictionloss[tendon] == 0
    pulls = (model.actuator_trntype == mujoco.mjtTrn.mjTRN_TENDON) & (model.actuator_trnid[:, 0] == tendon)
    gravity = float(np.linalg.norm(model.opt.gravity))
    if model.tendon_num[tendon] != 2 or spring == limit or not free or pulls.any() or gravity == 0:
        return None
    x, y, z = (model.opt.gravity / gravity).tolist()
    return x, y, z, float((model.tendon_lengthspring if spring else model.tendon_range)[tendon, 1])


def _candidates(model: mujoco.MjModel) -> Iterator[tuple]:
    """Everything in a visible group: kind, id, material, colour, which part of it that is, and how to make its surface."""
    kinds: Sequence[tuple[GeomKind, int]] = (("tendon", model.ntendon), ("flex", model.nflex), ("skin", model.nskin))
    for kind, count in kinds:
        groups, materials, colours = (getattr(model, f"{kind}_{field}") for field in ("group", "matid", "rgba"))
        for i in range(count):
            if min(max(int(groups[i]), 0), mujoco.mjNGROUP - 1) not in _GROUPS:
                continue
            if kind == "tendon" and model.wrap_type[model.tendon_adr[i]] == mujoco.mjtWrap.mjWRAP_JOINT:
                continue  # a fixed tendon couples joints and has no shape
            if kind == "flex":
                for matid, part, shown in _flex_parts(model, i):
                    yield kind, i, matid, vector4(colours[i]), part, lambda i=i, shown=shown: _flex(model, i, shown)
            else:
                make = _tendon if kind == "tendon" else _skin
                yield kind, i, int(materials[i]), vector4(colours[i]), "", lambda make=make, i=i: make(model, i)


def _flex_parts(model: mujoco.MjModel, flex: int) -> Iterator[tuple[int, str, NDArray[np.bool_]]]:
    """The materials of a flex, what the names of their parts end in, and which elements have them."""
    first = int(model.flex_elemadr[flex])
    own = model.flex_matid[first : first + int(model.flex_elemnum[flex])]
    materials = np.unique(own).tolist()
    for matid in materials:
        name = mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_MATERIAL, matid) or matid
        yield matid, f"/{name}" if len(materials) > 1 else "", own == matid


def _mesh(
    bones: _Bones, faces: NDArray, anchor: NDArray, shape: NDArray, flat: NDArray | None, triangles: NDArray, *, by_area: bool = False
) -> DeformingMesh:
    return DeformingMesh(
        mesh=-1,
        bone_first=bones.first.astype(np.int32),
        bone_body=bones.body.astype(np.int32),
        bone=bones.bone.astype(np.float32),
        faces=faces.astype(np.int32).reshape(-1, 3),
        by_area=by_area,
        anchor=anchor.astype(np.int32),
        shape=shape.astype(np.float32),
        flat=np.zeros(len(triangles), bool) if flat is None else flat,
    )


def _skin(model: mujoco.MjModel, skin: int) -> _Surface:
    """A skin: every vertex is a weighted sum of where its bones would take it (``mjv_updateActiveSkin`` in engine_vis_visualize.c)."""
    start, count = int(model.skin_vertadr[skin]), int(model.skin_vertnum[skin])
    rest = model.skin_vert[start : start + count].reshape(-1, 3).astype(np.float64)
    vertex, body, bone = [], [], []
    for j in range(int(model.skin_boneadr[skin]), int(model.skin_boneadr[skin] + model.skin_bonenum[skin])):
        part = slice(int(model.skin_bonevertadr[j]), int(model.skin_bonevertadr[j] + model.skin_bonevertnum[j]))
        which, weight = model.skin_bonevertid[part], model.skin_bonevertweight[part].astype(np.float64)
        inverse = geometry.quat_conjugate(model.skin_bonebindquat[j].astype(np.float64))
        local = geometry.quat_rotate(inverse, rest[which] - model.skin_bonebindpos[j])
        vertex.append(which)
        body.append(np.full(len(which), model.skin_bonebodyid[j]))
        bone.append(np.column_stack([weight[:, None] * local, weight]))
    vertex = np.concatenate(vertex)
    order = np.argsort(vertex, kind="stable")
    first = np.searchsorted(vertex[order], np.arange(count + 1))
    bones = _Bones(first, np.concatenate(body)[order], np.concatenate(bone)[order])
    faces = slice(int(model.skin_faceadr[skin]), int(model.skin_faceadr[skin] + model.skin_facenum[skin]))
    triangles = model.skin_face[faces].reshape(-1, 3)
    anchor = np.column_stack([np.arange(count), np.full((count, 2), -1)])
    shape = np.tile([1.0, float(model.skin_inflate[skin]), 0.0, 0.0], (count, 1))
    uvs = None
    if model.skin_texcoordadr[skin] >= 0:
        uvs = model.skin_texcoord[int(model.skin_texcoordadr[skin]) :][:count]
    return _Surface(_mesh(bones, triangles, anchor, shape, None, triangles, by_area=True), triangles, uvs)


def _flex_bones(model: mujoco.MjModel, flex: int) -> _Bones:
    """How the vertices of a flex follow bodies. Where they are interpolated between nodes MuJoCo itself is asked what each body adds."""
    vertices = slice(int(model.flex_vertadr[flex]), int(model.flex_vertadr[flex] + model.flex_vertnum[flex]))
    if model.flex_interp[flex] == 0:
        body = model.flex_vertbodyid[vertices]
        return _Bones.one_each(body, model.flex_vert[vertices] * (not model.flex_centered[flex]))
    nodes = slice(int(model.flex_nodeadr[flex]), int(model.flex_nodeadr[flex] + model.flex_nodenum[flex]))
    bodies = np.unique(model.flex_nodebodyid[nodes])
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    data.xpos[:], data.xmat[:] = 0.0, 0.0
    weights, offsets = [], []
    for body in bodies:  # what is linear in the poses is known by what each pose adds
        data.xpos[body, 0] = 1.0
        mujoco.mj_flex(model, data)
        weights.append(data.flexvert_xpos[vertices, 0].copy())
        data.xpos[body, 0], data.xmat[body] = 0.0, np.eye(3).reshape(-1)
        mujoco.mj_flex(model, data)
        offsets.append(data.flexvert_xpos[vertices].copy())
        data.xmat[body] = 0.0
    bone = np.concatenate([np.array(offsets), np.array(weights)[..., None]], axis=2)  # (bodies, V, 4)
    vertex, which = np.nonzero((np.abs(bone) > 1e-12).any(axis=2).T)
    first = np.searchsorted(vertex, np.arange(bone.shape[1] + 1))
    return _Bones(first, bodies[which], bone[which, vertex])


def _flex(model: mujoco.MjModel, flex: int, shown: NDArray) -> _Surface | None:
    """Those elements (bool) of a flex that are ``shown``, as MuJoCo draws its skin (``mjv_updateActiveFlex`` in
    engine_vis_visualize.c), ropes as capsules along their edges."""
    dim, radius = int(model.flex_dim[flex]), float(model.flex_radius[flex])
    bones = _flex_bones(model, flex)
    start, count = int(model.flex_elemdataadr[flex]), (dim + 1) * int(model.flex_elemnum[flex])
    elements = model.flex_elem[start : start + count].reshape(-1, dim + 1)
    if dim == 1:
        if radius <= 0:
            return None
        edges = model.flex_edge[int(model.flex_edgeadr[flex]) : int(model.flex_edgeadr[flex] + model.flex_edgenum[flex])]
        edges = edges[_within(edges, elements[shown])]
        anchor, shape, triangles = tubes(edges, radius)
        return _Surface(_mesh(bones, np.zeros((0, 3)), anchor, shape, None, triangles), triangles)
    shell_start = int(model.flex_shelldataadr[flex])
    shell = model.flex_shell[shell_start : shell_start + dim * int(model.flex_shellnum[flex])].reshape(-1, dim)
    flat = bool(model.flex_flatskin[flex])
    seen_shell = shell[_within(shell, elements[shown])]
    if dim == 3:
        corners = [_Corners(seen_shell, seen_shell, 1, radius, flat)]
        faces = shell
    else:
        faces, seen = elements, elements[shown]
        texels = model.flex_elemtexcoord[start : start + count].reshape(-1, 3)[shown]
        turned = [0, 2, 1]
        corners = [_Corners(seen, texels, 1, radius, flat), _Corners(seen[:, turned], texels[:, turned], -1, -radius, flat)]
        if radius > 0:
            # along the rim two triangles join the upper side and the lower one
            ahead, back = seen_shell[:, [0, 1, 1]], seen_shell[:, [1, 0, 0]]
            corners += [_Corners(ahead, ahead, 0, radius, True, (1, -1, 1)), _Corners(back, back, 0, radius, True, (-1, 1, -1))]
    texcoord = int(model.flex_texcoordadr[flex])
    return _joined(bones, faces, corners, None if texcoord < 0 else model.flex_texcoord[texcoord:])


def _within(sides: NDArray, elements: NDArray) -> NDArray[np.bool_]:
    """Which sides (S, k) are those of some element (E, n): all their control points are its."""
    if len(elements) == 0:
        return np.zeros(len(sides), bool)
    found = {tuple(sorted(side)) for element in elements.tolist() for side in itertools.combinations(element, sides.shape[1])}
    return np.array([tuple(sorted(side)) in found for side in sides.tolist()], bool)


@dataclass(frozen=True)
class _Corners:
    """Triangles (T, 3) of control points with texture coordinates by number (T, 3), on one side of a surface."""

    points: NDArray
    texels: NDArray
    side: int
    height: float
    flat: bool
    signs: tuple[int, int, int] = (1, 1, 1)


def _joined(bones: _Bones, faces: NDArray, parts: list[_Corners], texcoord: NDArray | None) -> _Surface:
    """One mesh of several parts; corners that agree in everything are one vertex, those of flat triangles stay alone."""
    rows, flat = [], []
    for part in parts:
        count = len(part.points)
        columns = np.zeros((count, 3, 5))
        columns[..., 0] = part.points
        columns[..., 1] = part.side
        columns[..., 2] = part.height * np.array(part.signs)
        columns[..., 3] = 0 if texcoord is None else part.texels
        # a number of its own for every triangle that shares nothing
        columns[..., 4] = (1 + sum(len(r) for r in rows) + np.arange(count))[:, None] if part.flat else 0
        rows.append(columns)
        flat.append(np.full(count, part.flat))
    table = np.concatenate(rows)
    unique, index = np.unique(table.reshape(-1, 5), axis=0, return_inverse=True)
    if table[..., 4].any():
        # a flat triangle may have one control point twice, as those along a rim
        alone = np.flatnonzero(np.repeat(np.concatenate(flat), 3))
        unique = np.concatenate([unique, table.reshape(-1, 5)[alone]])
        index[alone] = len(unique) - len(alone) + np.arange(len(alone))
        used = np.unique(index)
        unique, index = unique[used], np.searchsorted(used, index)
    triangles = index.reshape(-1, 3)
    anchor = np.column_stack([unique[:, 0], np.full((len(unique), 2), -1)])
    shape = np.column_stack([unique[:, 1:3], np.zeros((len(unique), 2))])
    mesh = _mesh(bones, faces, anchor, shape, np.concatenate(flat), triangles)
    return _Surface(mesh, triangles, None if texcoord is None else texcoord[unique[:, 3].astype(int)])


def _tendon(model: mujoco.MjModel, tendon: int) -> _Surface | None:
    """A tendon: capsules from site to site, or along its path around geoms (``mjv_addGeoms`` in engine_vis_visualize.c)."""
    if model.tendon_width[tendon] <= 0:
        return None
    slots, hangs = path_slots(model).get(tendon), None
    if slots is not None:
        count = len(slots)
        bones = _Bones(np.arange(count + 1), model.nbody + slots, np.tile([0.0, 0.0, 0.0, 1.0], (count, 1)))
        segments = np.column_stack([np.arange(count - 1), np.arange(1, count)])
    else:
        part = slice(int(model.tendon_adr[tendon]), int(model.tendon_adr[tendon] + model.tendon_num[tendon]))
        is_site = model.wrap_type[part] == mujoco.mjtWrap.mjWRAP_SITE
        sites = model.wrap_objid[part][is_site]
        bones = _Bones.one_each(model.site_bodyid[sites], model.site_pos[sites])
        rank = np.cumsum(is_site) - 1
        joined = np.flatnonzero(is_site[:-1] & is_site[1:])
        segments = np.column_stack([rank[joined], rank[joined] + 1])
        hangs = _string(model, tendon) if len(sites) == 2 else None
        if hangs is not None:
            bones = _straight(bones)
            segments = np.column_stack([np.arange(_STRING_PIECES), np.arange(1, _STRING_PIECES + 1)])
    anchor, shape, triangles = tubes(segments, float(model.tendon_width[tendon]))
    mesh = _mesh(bones, np.zeros((0, 3)), anchor, shape, None, triangles)
    return _Surface(replace(mesh, hangs=hangs), triangles)


def _straight(ends: _Bones) -> _Bones:
    """Control points in a straight line from the first of two to the second."""
    share = np.arange(_STRING_PIECES + 1)[:, None, None] / _STRING_PIECES
    parts = np.concatenate([1.0 - share, share], axis=1) * ends.bone  # offsets and weights of both ends
    return _Bones(2 * np.arange(_STRING_PIECES + 2), np.tile(ends.body, _STRING_PIECES + 1), parts.reshape(-1, 4))
