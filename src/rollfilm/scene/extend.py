"""Meshes and textures beyond those of a model, for worlds that look different."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rollfilm.errors import InvalidArgumentError
from rollfilm.scene.cache import cached_levels
from rollfilm.scene.levels import LevelConfig, Surface
from rollfilm.scene.material import Texture
from rollfilm.scene.mesh import Mesh
from rollfilm.scene.normals import crease_normals
from rollfilm.scene.primitives import mesh_from_levels
from rollfilm.scene.scene import Scene

__all__ = ["mesh_from_triangles", "texture_from_image", "with_meshes", "with_textures"]


def mesh_from_triangles(name: str, vertices: ArrayLike, triangles: ArrayLike, *, uvs: ArrayLike | None = None) -> Mesh:
    """A mesh with levels of detail, as those of models have them: built once and kept in the cache.

    Args:
        name: what looks call it.
        vertices: (V, 3), metres, in the frame of the geom that will take it.
        triangles: (T, 3) indices, counter-clockwise seen from outside.
        uvs: (V, 2) texture coordinates, v up from the image's last row; None for a mesh that carries no texture of its own.

    Raises:
        InvalidArgumentError: a wrong shape, an index of no vertex, a number that is not finite, or no triangle that has an area.
    """
    points, faces = _numbers(f"vertices of mesh {name!r}", vertices), _array(f"triangles of mesh {name!r}", triangles)
    if points.ndim != 2 or points.shape[1:] != (3,) or not np.isfinite(points).all():
        raise InvalidArgumentError(f"vertices of mesh {name!r} came as {points.shape}; they must be finite numbers (V, 3)")
    if faces.ndim != 2 or faces.shape[1:] != (3,) or (faces.dtype.kind not in "iu" and faces.size):
        raise InvalidArgumentError(f"triangles of mesh {name!r} came as {faces.dtype} {faces.shape}; they must be integers (T, 3)")
    if not faces.size:
        raise InvalidArgumentError(f"mesh {name!r} has no triangle; give at least one that has an area")
    if not 0 <= faces.min() <= faces.max() < len(points):
        wrong = faces.min() if faces.min() < 0 else faces.max()
        raise InvalidArgumentError(f"a triangle of mesh {name!r} names vertex {wrong}; there are {len(points)}, counted from 0")
    corners = None
    if uvs is not None:
        coordinates = _numbers(f"uvs of mesh {name!r}", uvs)
        if coordinates.shape != (len(points), 2) or not np.isfinite(coordinates).all():
            raise InvalidArgumentError(f"uvs of mesh {name!r} came as {coordinates.shape}; they must be finite numbers ({len(points)}, 2)")
        corners = coordinates[faces]
    levels = cached_levels(Surface(points, faces, crease_normals(points, faces), corners), LevelConfig())
    if not levels:
        raise InvalidArgumentError(f"mesh {name!r} has no triangle that has an area")
    return mesh_from_levels(name, list(levels))


def texture_from_image(name: str, pixels: NDArray[np.uint8]) -> Texture:
    """A flat texture.

    Args:
        name: what looks call it.
        pixels: uint8 (H, W, 3), sRGB values, row 0 on top.

    Raises:
        InvalidArgumentError: a wrong shape or dtype.
    """
    image = _array(f"pixels of texture {name!r}", pixels)
    if image.dtype != np.uint8 or image.ndim != 3 or image.shape[2] != 3 or 0 in image.shape:
        raise InvalidArgumentError(f"pixels of texture {name!r} came as {image.dtype} {image.shape}; they must be uint8 (H, W, 3)")
    return Texture(name, "2d", np.ascontiguousarray(image))


def with_meshes(scene: Scene, *meshes: Mesh) -> Scene:
    """The scene with more meshes, which no geom shows until looks choose them.

    Raises:
        InvalidArgumentError: something else than a mesh; a mesh without a name, or of a name that is taken.
    """
    _require_kinds(scene, meshes, Mesh, "mesh_from_triangles")
    _require_new_names("mesh", [mesh.name for mesh in meshes], {mesh.name for mesh in scene.meshes})
    return replace(scene, meshes=(*scene.meshes, *meshes))


def with_textures(scene: Scene, *textures: Texture) -> Scene:
    """The scene with more textures, which no geom shows until looks choose them.

    Raises:
        InvalidArgumentError: something else than a texture; a texture without a name, or of a name that is taken.
    """
    _require_kinds(scene, textures, Texture, "texture_from_image")
    _require_new_names("texture", [texture.name for texture in textures], {texture.name for texture in scene.textures})
    return replace(scene, textures=(*scene.textures, *textures))


def _array(what: str, given: Any) -> NDArray:
    try:
        return np.asarray(given)
    except ValueError:
        raise InvalidArgumentError(f"{what} are no array: their rows are of different lengths") from None


def _numbers(what: str, given: Any) -> NDArray[np.float64]:
    array = _array(what, given)
    if array.dtype.kind not in "fiu":
        raise InvalidArgumentError(f"{what} came as {array.dtype} {array.shape}; they must be finite numbers in rows")
    return array.astype(np.float64)


def _require_kinds(scene: Any, things: tuple[Any, ...], kind: type, maker: str) -> None:
    if not isinstance(scene, Scene):
        raise InvalidArgumentError(f"scene is {type(scene).__name__}; give a rollfilm.scene.Scene, as load_scene makes it")
    for thing in things:
        if not isinstance(thing, kind):
            raise InvalidArgumentError(f"a {kind.__name__} was expected and {type(thing).__name__} came; make it with {maker}")


def _require_new_names(kind: str, names: list[str], taken: set[str]) -> None:
    for i, name in enumerate(names):
        if not isinstance(name, str) or not name or name in taken or name in names[:i]:
            raise InvalidArgumentError(f"a {kind} called {name!r} cannot be added: give it a name that is not empty and not taken")
