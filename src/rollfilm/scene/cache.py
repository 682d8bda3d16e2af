"""Levels of detail on disk, found again by the content of the mesh that they were made from."""

import hashlib
import os
import tempfile
import zipfile
from contextlib import suppress
from pathlib import Path

import numpy as np

from rollfilm.scene.levels import LevelConfig, Surface, build_levels
from rollfilm.scene.mesh import MeshLevel

__all__ = ["cache_folder", "cached_levels", "stored_levels"]

#: To be raised with every change of what :func:`~rollfilm.scene.levels.build_levels` makes of the same surface.
_VERSION = 7


def cache_folder() -> Path:
    """``$ROLLFILM_CACHE``, else ``$XDG_CACHE_HOME/rollfilm``, else ``~/.cache/rollfilm``."""
    if own := os.environ.get("ROLLFILM_CACHE"):
        return Path(own).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "rollfilm"


def cached_levels(surface: Surface, config: LevelConfig | None = None) -> tuple[MeshLevel, ...]:
    """The levels of :func:`~rollfilm.scene.levels.build_levels`, from the disk if they were built before.

    An entry that cannot be read is built and written again; a folder that cannot be written costs time and nothing else.
    """
    config = config or LevelConfig()
    path = _path(surface, config)
    if (stored := _stored(path)) is not None:
        return stored
    levels = build_levels(surface, config)
    with suppress(OSError):
        _write(path, levels)
    return levels


def stored_levels(surface: Surface, config: LevelConfig) -> tuple[MeshLevel, ...] | None:
    """What :func:`cached_levels` finds on the disk, None where it would build."""
    return _stored(_path(surface, config))


def _path(surface: Surface, config: LevelConfig) -> Path:
    return cache_folder() / "meshes" / f"{_key(surface, config)}.npz"


def _stored(path: Path) -> tuple[MeshLevel, ...] | None:
    with suppress(OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return _read(path)
    return None


def _key(surface: Surface, config: LevelConfig) -> str:
    digest = hashlib.sha256(f"{_VERSION} {config!r}".encode())
    for array in (surface.positions, surface.triangles, surface.normals, surface.uvs):
        digest.update(b"none" if array is None else f"{array.dtype.str} {array.shape}".encode())
        if array is not None:
            digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def _read(path: Path) -> tuple[MeshLevel, ...]:
    with np.load(path, allow_pickle=False) as entry:
        counts, errors = entry["counts"], entry["errors"]
        vertices, normals, triangles = entry["vertices"], entry["normals"], entry["triangles"]
        uvs = entry.get("uvs")
    sizes = counts.sum(axis=0)
    if len(vertices) != sizes[0] or len(normals) != sizes[0] or len(triangles) != sizes[1] or len(errors) != len(counts):
        raise ValueError("the entry's parts do not fit together")
    levels, vertex, triangle = [], 0, 0
    for (more_vertices, more_triangles), error in zip(counts, errors, strict=True):
        part = slice(vertex, vertex + more_vertices)
        corners = triangles[triangle : triangle + more_triangles]
        levels.append(MeshLevel(vertices[part], normals[part], corners, float(error), None if uvs is None else uvs[part]))
        vertex, triangle = vertex + more_vertices, triangle + more_triangles
    return tuple(levels)


def _write(path: Path, levels: tuple[MeshLevel, ...]) -> None:
    if not levels:
        return
    arrays = {
        "counts": np.array([[len(level.vertices), len(level.triangles)] for level in levels], dtype=np.int64),
        "errors": np.array([level.error_m for level in levels], dtype=np.float64),
        "vertices": np.concatenate([level.vertices for level in levels]),
        "normals": np.concatenate([level.normals for level in levels]),
        "triangles": np.concatenate([level.triangles for level in levels]),
    }
    uvs = [level.uvs for level in levels if level.uvs is not None]
    if uvs:
        arrays["uvs"] = np.concatenate(uvs)
    path.parent.mkdir(parents=True, exist_ok=True)
    # another process may write the same entry: each writes its own file, and the last rename wins
    handle, partial = tempfile.mkstemp(dir=path.parent, prefix=path.stem, suffix=".partial")
    try:
        with os.fdopen(handle, "wb") as file:
            np.savez(file, **arrays)
        os.replace(partial, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(partial)
        raise
