"""A scene as a file: all that can be seen, to the last bit, free of the engine and the model that it came from.

The file is a NumPy archive (``.npz``) without pickled objects. ``tree`` is JSON: an object ``{"is": "Camera", ...}`` is a dataclass of
:mod:`rollfilm.scene` by its fields, a list is a tuple, ``{"array": ["<f4", 120, [40, 3]]}`` is an array (type, place, shape) in the
entry ``<f4``, which holds all arrays of that type one after the other, and ``{"number": ["<f4", 0.5]}`` is a NumPy scalar. Fields that
have a default may be missing, so that files stay readable when scenes learn more.
"""

import dataclasses
import io
import json
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from rollfilm.errors import ModelError
from rollfilm.scene.atmosphere import Fog, Haze
from rollfilm.scene.camera import Camera
from rollfilm.scene.deforming import DeformingMesh
from rollfilm.scene.light import Headlight, Light
from rollfilm.scene.material import Material, Texture
from rollfilm.scene.mesh import Mesh, MeshLevel
from rollfilm.scene.placement import Follow, Placement
from rollfilm.scene.scene import Bodies, Geom, Scene

__all__ = ["load_stored_scene", "store_scene"]

FORMAT = "rollfilm scene 1"

_PARTS = (Scene, Bodies, Geom, Mesh, MeshLevel, Material, Texture, DeformingMesh, Light, Headlight, Camera, Placement, Fog, Haze)
_CLASSES: dict[str, Callable[..., Any]] = {part.__name__: part for part in _PARTS}

#: zlib's fastest: higher levels take five times as long for a tenth less.
_COMPRESSION_LEVEL = 1


def store_scene(scene: Scene, file: str | Path | BinaryIO) -> None:
    """Write a scene to a file. The same scene gives the same bytes.

    Raises:
        OSError: it cannot be written.
    """
    pools = _Pools()
    tree = json.dumps({"format": FORMAT, "scene": _plain(scene, pools)}).encode()
    entries = {"tree": np.frombuffer(tree, np.uint8), **pools.joined()}
    with zipfile.ZipFile(file, "w") as archive:
        for name, array in entries.items():
            content = io.BytesIO()
            np.lib.format.write_array(content, array, allow_pickle=False)
            # an entry made of its name alone has no date
            archive.writestr(zipfile.ZipInfo(f"{name}.npy"), content.getbuffer(), zipfile.ZIP_DEFLATED, _COMPRESSION_LEVEL)


def load_stored_scene(file: str | Path | BinaryIO) -> Scene:
    """The scene that :func:`store_scene` wrote.

    Raises:
        ModelError: the file is not there, is no stored scene, is damaged, or is of a later version.
    """
    where = getattr(file, "name", file)
    try:
        with np.load(file, allow_pickle=False) as archive:
            document = json.loads(archive["tree"].tobytes())
            pools = {name: archive[name] for name in archive.files if name != "tree"}
        if not isinstance(document, dict) or document.get("format") != FORMAT:
            raise ModelError(f"{where} is not of the format {FORMAT!r} that this version of rollfilm reads")
        scene = _rebuilt(document["scene"], pools)
    except FileNotFoundError:
        raise ModelError(f"{where} is not there; give the file of a stored scene") from None
    except ModelError:
        raise
    except (OSError, ValueError, KeyError, TypeError, IndexError, EOFError, RecursionError, zipfile.BadZipFile, zlib.error) as error:
        raise ModelError(f"{where} is no stored scene, or is damaged: {error}") from error
    if not isinstance(scene, Scene):
        raise ModelError(f"{where} holds {type(scene).__name__} where a scene belongs")
    return scene


class _Pools:
    """The arrays of a scene, those of a type one after the other; an array that several parts share is there once."""

    def __init__(self) -> None:
        self._arrays: dict[str, list[NDArray]] = {}
        self._length: dict[str, int] = {}
        self._known: dict[int, list[Any]] = {}

    def place(self, array: NDArray) -> list[Any]:
        """Type, place and shape of an array, which is added unless it is there."""
        if id(array) not in self._known:
            kind = array.dtype.newbyteorder("<").str
            start = self._length.get(kind, 0)
            self._arrays.setdefault(kind, []).append(array.astype(kind, copy=False).reshape(-1))
            self._length[kind] = start + array.size
            self._known[id(array)] = [kind, start, list(array.shape)]
        return self._known[id(array)]

    def joined(self) -> dict[str, NDArray]:
        """All arrays of each type in one."""
        return {kind: np.concatenate(arrays) for kind, arrays in sorted(self._arrays.items())}


def _plain(value: Any, pools: _Pools) -> Any:
    """A part of a scene as JSON."""
    if isinstance(value, np.ndarray):
        return {"array": pools.place(value)}
    if isinstance(value, np.generic):
        return {"number": [value.dtype.newbyteorder("<").str, value.item()]}
    if isinstance(value, Follow):
        return {"is": "Follow", "value": value.value}
    if isinstance(value, _PARTS):
        return {"is": type(value).__name__} | {f.name: _plain(getattr(value, f.name), pools) for f in dataclasses.fields(value)}
    if isinstance(value, tuple | list):
        return [_plain(item, pools) for item in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(f"a scene holds {type(value).__name__}, which cannot be stored")


def _rebuilt(plain: Any, pools: dict[str, NDArray]) -> Any:
    """The part of a scene that :func:`_plain` made JSON of."""
    if isinstance(plain, list):
        return tuple(_rebuilt(item, pools) for item in plain)
    if not isinstance(plain, dict):
        return plain
    if "array" in plain:
        kind, start, shape = plain["array"]
        size = int(np.prod(shape, dtype=np.int64))
        if start < 0 or start + size > len(pools[kind]):
            raise ValueError(f"an array of {size} values at {start} lies beyond the {len(pools[kind])} of {kind}")
        return pools[kind][start : start + size].reshape(shape)
    if "number" in plain:
        kind, value = plain["number"]
        return np.dtype(kind).type(value)
    values = {name: _rebuilt(value, pools) for name, value in plain.items() if name != "is"}
    if plain["is"] == "Follow":
        return Follow(values["value"])
    return _CLASSES[plain["is"]](**values)
