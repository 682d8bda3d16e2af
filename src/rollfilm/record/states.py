"""The stored states of an episode: all that a renderer needs to film it again, and what is known of each of its frames.

``states/episode_000012.h5`` of an episode of T steps holds, row k being the state after k actions:

- ``position`` float32 (T + 1, bodies, 3), ``quat_wxyz`` float32 (T + 1, bodies, 4), ``path`` float32 (T + 1, Q, 4) where tendons have
  paths: what a :class:`~rollfilm.scene.PoseSource` gives, in the order of the bodies of ``scene.npz``;
- ``state_count`` int64 (T + 1,): the environment's counter of its state, that of the frame;
- ``engine_state`` float64 (T + 1, S), where there is an engine: its complete state;
- ``cameras/<name>/cam2world_gl``, ``extrinsic_cv`` and ``intrinsic_cv``, float32, one row for each state, or a single one where it is the
  same for all (:class:`~rollfilm.render.CameraMatrices`);
- ``looks/first_frame`` int64 (n,) and ``looks/json`` (n,), where looks were set: from which frame on the world looked as
  ``WorldLooks.from_dict`` of the JSON makes it;
- the attribute ``provenance``, JSON: episode, seeds, renderer and its options, device, cameras, versions.

The arrays lie in the file in one piece and uncompressed, so that they are read in place and take no memory however long the episode is.
"""

import json
import mmap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import ArrayLike, NDArray

from rollfilm.errors import RecordingError
from rollfilm.render.frames import CameraMatrices
from rollfilm.render.looks import WorldLooks
from rollfilm.scene import BodyPoses

__all__ = ["FORMAT", "EpisodeStates", "read_states"]

FORMAT = "rollfilm states 1"

#: What a row of states may have, and how many axes it has without that of the rows.
_ARRAYS = {"position": 2, "quat_wxyz": 2, "path": 2, "state_count": 0, "engine_state": 1}


@dataclass(frozen=True, eq=False)
class EpisodeStates:
    """The T + 1 states of an episode of T steps; row k is the state after k actions. Arrays are read from the file as they are used.

    Attributes:
        position: float32 (T + 1, bodies, 3), metres, world frame.
        quat_wxyz: float32 (T + 1, bodies, 4), world from body.
        path: float32 (T + 1, Q, 4), paths of tendons around geoms, or None.
        state_count: int64 (T + 1,), the environment's counter.
        engine_state: float64 (T + 1, S), the engine's complete state, or None.
        cameras: by camera, matrices of T + 1 rows, or of one that holds for all.
        looks_from: int64 (n,), ascending: the frame from which on the world looked as ``looks`` of the same place say.
        looks: of one world each, None for what the scene says; before the first of them the scene's own.
        provenance: episode, seeds, renderer, device, cameras, versions.
    """

    position: NDArray[np.float32]
    quat_wxyz: NDArray[np.float32]
    path: NDArray[np.float32] | None
    state_count: NDArray[np.int64]
    engine_state: NDArray[np.float64] | None
    cameras: Mapping[str, CameraMatrices] = field(default_factory=dict)
    looks_from: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    looks: Sequence[WorldLooks | None] = ()
    provenance: Mapping[str, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        """T + 1, the number of states."""
        return len(self.state_count)

    def poses(self, rows: ArrayLike | slice) -> BodyPoses:
        """The poses of some states, an axis of rows in the place of worlds. Of a slice they are read where they are used."""
        index = rows if isinstance(rows, slice) else np.asarray(rows)
        path = None if self.path is None else self.path[index]
        return BodyPoses(self.position[index], self.quat_wxyz[index], path)

    def looks_at(self, row: int) -> WorldLooks | None:
        """How the world looked in a state, looks of one world; None for what the scene says."""
        place = int(np.searchsorted(self.looks_from, row, side="right")) - 1
        return None if place < 0 else self.looks[place]

    def matrices_at(self, camera: str, row: int) -> CameraMatrices:
        """Where a camera was in a state and how it mapped to pixels: (4, 4), (3, 4) and (3, 3)."""
        return CameraMatrices(*(matrix[min(row, len(matrix) - 1)] for matrix in self.cameras[camera]))


def read_states(path: Path) -> EpisodeStates:
    """The states of an episode from its file.

    Raises:
        RecordingError: the file is not there, cannot be read, or is damaged.
    """
    try:
        with path.open("rb") as raw, h5py.File(path, "r") as opened:
            file: Any = opened
            whole = np.frombuffer(mmap.mmap(raw.fileno(), 0, access=mmap.ACCESS_READ), np.uint8)
            if file.attrs.get("format") != FORMAT:
                raise RecordingError(f"{path} is not of the format {FORMAT!r} that this version of rollfilm reads")
            arrays: dict[str, Any] = {name: _in_place(file[name], whole) for name in _ARRAYS if name in file}
            cameras = {
                name: CameraMatrices(*(_in_place(file[f"cameras/{name}/{field}"], whole) for field in CameraMatrices._fields))
                for name in json.loads(file.attrs["provenance"])["cameras"]
            }
            looks = [None if (plain := json.loads(text)) is None else WorldLooks.from_dict(plain) for text in file["looks/json"][()]]
            states = EpisodeStates(
                arrays["position"],
                arrays["quat_wxyz"],
                arrays.get("path"),
                arrays["state_count"],
                arrays.get("engine_state"),
                cameras,
                np.asarray(file["looks/first_frame"][()], np.int64),
                looks,
                json.loads(file.attrs["provenance"]),
            )
    except FileNotFoundError:
        raise RecordingError(f"{path} is not there") from None
    except RecordingError:
        raise
    except (OSError, RuntimeError, KeyError, ValueError, TypeError) as error:
        raise RecordingError(f"{path} cannot be read: {error}") from error
    _check(path, arrays, states)
    return states


def _in_place(dataset: Any, whole: NDArray[np.uint8]) -> NDArray:
    """A dataset as a part of the file, which is read where it is used."""
    offset, size = dataset.id.get_offset(), dataset.size * dataset.dtype.itemsize
    if size == 0:
        return np.zeros(dataset.shape, dataset.dtype)
    if offset is None or offset + size > len(whole):
        raise ValueError(f"{dataset.name} does not lie in the file in one piece")
    return whole[offset : offset + size].view(dataset.dtype).reshape(dataset.shape)


def _check(path: Path, arrays: Mapping[str, NDArray], states: EpisodeStates) -> None:
    rows = len(states.state_count)
    wrong = [name for name, array in arrays.items() if len(array) != rows or array.ndim != _ARRAYS[name] + 1]
    wrong += [name for name, matrices in states.cameras.items() if any(len(matrix) not in (1, rows) for matrix in matrices)]
    if states.position.shape[1:] != (states.quat_wxyz.shape[1], 3) or states.quat_wxyz.shape[2] != 4:
        wrong.append("position")
    if rows == 0 or wrong:
        raise RecordingError(f"{path} is damaged: {wrong[0] if wrong else 'state_count'} does not have a row for each of {rows} states")
