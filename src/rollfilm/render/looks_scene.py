"""Looks against the scene that they are for: names become indices, and what would have no effect is an error."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rollfilm.errors import InvalidArgumentError, NotFoundError
from rollfilm.render.looks import NamedValues, WorldLooks
from rollfilm.scene import Camera, Scene, all_geom_names, light_names

__all__ = ["Columns", "LooksResolver"]


@dataclass(frozen=True, eq=False)
class Columns:
    """Values of some things: their indices (n,), and the values (k, n, ...) in k worlds."""

    index: NDArray[np.int64]
    values: NDArray

    def over(self, row: NDArray) -> NDArray:
        """What all things have, (k, N, ...): ``row`` (N, ...) but for these."""
        everything = np.repeat(row[None], len(self.values), axis=0)
        everything[:, self.index] = self.values
        return everything


class LooksResolver:
    """Finds what looks name in one scene and among the cameras that are filmed.

    Args:
        scene: what is filmed.
        cameras: those that are filmed.
    """

    def __init__(self, scene: Scene, cameras: Sequence[Camera]) -> None:
        self._scene, self._cameras = scene, cameras
        self._names = {"geom": all_geom_names(scene), "light": light_names(scene), "camera": tuple(c.name for c in cameras)}
        self._has_uvs = np.array([mesh.levels[0].uvs is not None for mesh in scene.meshes], bool)

    def resolve(self, looks: WorldLooks, rows: NDArray[np.int64]) -> dict[str, Columns]:
        """The fields of the named things for the worlds ``rows`` (k,), by the names of the fields; ``geom_rgba`` has those of materials.

        Raises:
            NotFoundError: a geom, material, light, camera, texture or mesh that is not there; the message lists those that are.
            InvalidArgumentError: a name that several things have, or values that would have no effect.
        """
        found: dict[str, Columns] = {}
        for field in looks.used:
            named = getattr(looks, field)
            if not isinstance(named, NamedValues):
                continue
            kind = field.split("_")[0]
            if kind == "material":
                continue
            index = np.array([self._index(kind, name, field) for name in named.names])
            values = named.values[rows]
            if field in ("geom_texture", "geom_mesh"):
                values = self._choices(field.removeprefix("geom_"), values)
            if field == "geom_mesh":
                values = np.where(values < 0, np.array([self._scene.geoms[i].mesh for i in index], np.int32), values)
            found[field] = Columns(index, values)
        if isinstance(looks.material_rgba, NamedValues):
            found["geom_rgba"] = self._with_materials(looks.material_rgba, found.get("geom_rgba"), rows)
        if not looks.may_be_unseen:
            self._require_seen(found, rows)
            self._require_lit(looks, found, rows)
        self._require_effect(found, rows)
        return found

    def _index(self, kind: str, name: str, field: str) -> int:
        names = self._names[kind]
        if name not in names:
            known = ", ".join(names) or "none"
            where = "is filmed; there are" if kind == "camera" else "is in this scene; there are"
            raise NotFoundError(f"{field}: no {kind} {name!r} {where}: {known}")
        if names.count(name) > 1:
            raise InvalidArgumentError(f"{field}: {names.count(name)} {kind}s are called {name!r}; give each a name of its own")
        return names.index(name)

    def _choices(self, kind: str, values: NDArray) -> NDArray[np.int32]:
        """Indices of textures or meshes, of names or indices; -1 for no name."""
        things = self._scene.textures if kind == "texture" else self._scene.meshes
        if values.dtype.kind != "U":
            if values.max() >= len(things):
                raise NotFoundError(f"geom_{kind}: no {kind} has index {values.max()}; this scene has {len(things)}")
            return values
        names = [thing.name for thing in things]
        index = {"": -1}
        for name in np.unique(values).tolist():
            if name in index:
                continue
            if name not in names:
                raise NotFoundError(f"geom_{kind}: no {kind} {name!r} in this scene; there are: {', '.join(names) or 'none'}")
            if names.count(name) > 1:
                raise InvalidArgumentError(f"geom_{kind}: {names.count(name)} of the scene's are called {name!r}; choose by their index")
            index[name] = names.index(name)
        return np.vectorize(index.__getitem__, otypes=[np.int32])(values)

    def _with_materials(self, named: NamedValues, own: Columns | None, rows: NDArray[np.int64]) -> Columns:
        """Colours of geoms: their own ones, else those of their materials."""
        materials = [geom.material.name for geom in self._scene.geoms]
        taken = set() if own is None else set(own.index.tolist())
        index, columns = ([], []) if own is None else ([own.index], [own.values])
        for k, name in enumerate(named.names):
            geoms = [i for i, material in enumerate(materials) if material == name and name]
            if not geoms:
                known = ", ".join(sorted(set(materials) - {""})) or "none"
                raise NotFoundError(f"material_rgba: no visible geom is made of material {name!r}; there are: {known}")
            free = np.array([i for i in geoms if i not in taken], np.int64)
            if not free.size:
                raise InvalidArgumentError(
                    f"material_rgba of {name!r} would have no effect: every geom of it has a geom_rgba; leave one of the two out"
                )
            index.append(free)
            columns.append(np.repeat(named.values[rows, k : k + 1], len(free), axis=1))
        return Columns(np.concatenate(index), np.concatenate(columns, axis=1))

    def _geom(self, i: int) -> str:
        return repr(self._names["geom"][i])

    def _require_seen(self, found: dict[str, Columns], rows: NDArray[np.int64]) -> None:
        count = len(self._scene.geoms)
        shown = found["geom_visible"].over(np.ones(count, bool)) if "geom_visible" in found else np.ones((len(rows), count), bool)
        drawn = shown
        if "geom_rgba" in found:
            drawn = shown & (found["geom_rgba"].over(np.ones((count, 4), np.float32))[..., 3] > 0)
        for field in ("geom_rgba", "geom_scale", "geom_texture", "geom_mesh"):
            if field not in found:
                continue
            seen = shown if field == "geom_rgba" else drawn
            for i in found[field].index:
                if not seen[:, i].any():
                    raise InvalidArgumentError(
                        f"{field} of {self._geom(i)} would have no effect: it is invisible in every world; show it, or leave {field} out"
                    )

    def _require_effect(self, found: dict[str, Columns], rows: NDArray[np.int64]) -> None:
        for field in ("light_position", "light_offset"):
            for i in found[field].index if field in found else ():
                if self._scene.lights[i].kind == "directional":
                    name = self._names["light"][i]
                    raise InvalidArgumentError(f"{field} of {name!r} would have no effect: it is directional; give light_direction")
        self._check_lenses(found)
        self._refuse_deforming(found)
        if "geom_scale" in found:
            self._check_plane_scales(found["geom_scale"], found.get("geom_texture"), rows)
        if "geom_texture" in found:
            self._check_textures(found["geom_texture"], rows)
        if "geom_mesh" in found:
            self._check_meshes(found["geom_mesh"], found.get("geom_texture"), rows)

    def _check_lenses(self, found: dict[str, Columns]) -> None:
        named: set[int] = set()
        for field in ("camera_fov_y_rad", "camera_intrinsics"):
            for i in found[field].index.tolist() if field in found else ():
                name = self._cameras[i].name
                if self._cameras[i].orthographic:
                    raise InvalidArgumentError(f"{field} of {name!r} would have no effect: the camera is orthographic")
                if self._cameras[i].bends:
                    raise InvalidArgumentError(
                        f"{field} names camera {name!r}, whose lens bends straight lines; all worlds share such a lens"
                    )
                if i in named:
                    raise InvalidArgumentError(f"camera_fov_y_rad of {name!r} would have no effect beside its camera_intrinsics; give one")
                named.add(i)

    def _refuse_deforming(self, found: dict[str, Columns]) -> None:
        deforming = {mesh.mesh for mesh in self._scene.deforming}
        for field in ("geom_scale", "geom_mesh"):
            for k, i in enumerate(found[field].index if field in found else ()):
                if self._scene.geoms[i].mesh in deforming:
                    raise InvalidArgumentError(f"{field} of {self._geom(i)} would have no effect: it deforms with its bodies; leave it out")
                if field == "geom_mesh" and (chosen := deforming & set(found[field].values[:, k].tolist())):
                    name = self._scene.meshes[min(chosen)].name
                    raise InvalidArgumentError(
                        f"geom_mesh of {self._geom(i)} is {name!r}, which deforms with its bodies; choose another mesh"
                    )

    def _check_plane_scales(self, scale: Columns, textures: Columns | None, rows: NDArray[np.int64]) -> None:
        for k, i in enumerate(scale.index):
            geom = self._scene.geoms[i]
            if geom.mesh >= 0:
                continue
            if (bad := np.flatnonzero(scale.values[:, k, 2] != 1)).size:
                raise InvalidArgumentError(
                    f"geom_scale of {self._geom(i)} in world {rows[bad[0]]} is {scale.values[bad[0], k].tolist()}; "
                    "a plane has no height: give 1 for z"
                )
            textured = geom.material.texture >= 0 or (textures is not None and i in textures.index)
            if max(geom.plane_half_size) <= 0 and not textured:
                raise InvalidArgumentError(
                    f"geom_scale of {self._geom(i)} would have no effect: the plane is infinite and has no texture; leave it out"
                )

    def _check_textures(self, textures: Columns, rows: NDArray[np.int64]) -> None:
        kinds = [texture.kind for texture in self._scene.textures]
        for k, i in enumerate(textures.index):
            geom = self._scene.geoms[i]
            own = geom.material.texture
            if own < 0 and geom.mesh >= 0 and not self._has_uvs[geom.mesh]:
                raise InvalidArgumentError(
                    f"geom_texture of {self._geom(i)} would have no effect: it has no texture in the scene, and its mesh has no texture "
                    "coordinates; give it a material with a texture in the model"
                )
            fitting = kinds[own] if own >= 0 else "2d"
            chosen = textures.values[:, k]
            wrong = np.array([c >= 0 and kinds[c] != fitting for c in chosen])
            if wrong.any():
                world = int(np.flatnonzero(wrong)[0])
                raise InvalidArgumentError(
                    f"geom_texture of {self._geom(i)} in world {rows[world]} is a {kinds[chosen[world]]} texture, "
                    f"{self._scene.textures[chosen[world]].name!r}; this geom carries {fitting} textures"
                )

    def _check_meshes(self, meshes: Columns, textures: Columns | None, rows: NDArray[np.int64]) -> None:
        geoms = self._scene.geoms
        own_textures = np.array([geom.material.texture for geom in geoms], np.int32)
        textured = (textures.over(own_textures) if textures is not None else np.repeat(own_textures[None], len(rows), axis=0)) >= 0
        for k, i in enumerate(meshes.index):
            if geoms[i].mesh < 0:
                raise InvalidArgumentError(f"geom_mesh of {self._geom(i)} would have no effect: it is a plane, which has no mesh")
            differs = self._has_uvs[meshes.values[:, k]] != self._has_uvs[geoms[i].mesh]
            if (bad := np.flatnonzero(differs & textured[:, i])).size:
                mesh = self._scene.meshes[meshes.values[bad[0], k]].name
                has = "no" if self._has_uvs[geoms[i].mesh] else "own"
                raise InvalidArgumentError(
                    f"geom_mesh of {self._geom(i)} in world {rows[bad[0]]} is {mesh!r}, which has {has} texture coordinates, "
                    "unlike the mesh that its texture was laid on; choose another mesh, or no texture in that world"
                )

    def _require_lit(self, looks: WorldLooks, found: dict[str, Columns], rows: NDArray[np.int64]) -> None:
        lights = self._scene.lights
        on = found["light_on"].over(np.ones(len(lights), bool)) if "light_on" in found else np.ones((len(rows), len(lights)), bool)
        for field, columns in found.items():
            if not field.startswith("light_") or field == "light_on":
                continue
            for i in columns.index:
                name = repr(self._names["light"][i])
                if not on[:, i].any():
                    raise InvalidArgumentError(f"{field} of {name} would have no effect: it is off in every world; leave it out")
        head = self._scene.headlight is not None if looks.headlight_on is None else bool(np.asarray(looks.headlight_on)[rows].any())
        for field in ("headlight_ambient", "headlight_diffuse", "headlight_specular"):
            if getattr(looks, field) is not None and not head:
                raise InvalidArgumentError(f"{field} would have no effect: the headlight is off in every world; give headlight_on")
