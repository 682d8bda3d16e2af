"""Stored states: what a renderer needs to film an episode again (the format is that of :mod:`rollfilm.record.states`)."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from rollfilm.errors import RecordingError
from rollfilm.record.camera_matrices import camera_matrices, stands_still
from rollfilm.record.hdf5 import writing_hdf5
from rollfilm.record.layout import Layout
from rollfilm.record.looks_log import LooksLog
from rollfilm.record.rows import RowSpool
from rollfilm.record.sink import Episode, Outcome, Receipt, StateRow, StepRow
from rollfilm.record.states import FORMAT
from rollfilm.record.whole import naming, whole_or_not_there
from rollfilm.render.frames import CameraMatrices
from rollfilm.render.looks import WorldLooks
from rollfilm.scene import Scene
from rollfilm.scene.stored import store_scene

__all__ = ["StatesSink"]


@dataclass
class _OpenEpisode:
    rows: RowSpool
    looks: LooksLog
    lacks_poses: bool = False

    def close(self) -> None:
        self.rows.close()
        self.looks.close()


class StatesSink:
    """Writes ``scene.npz`` and ``states/episode_<index>.h5``: T + 1 states, the reset's first, the terminal one last.

    Args:
        layout: where the files go.
        scene: what can be seen; its cameras are those that are filmed, among others.
        sizes: (H, W) of each camera that is filmed.
        provenance: what is said of all episodes, as JSON.
        required: a state that comes without poses is an error; otherwise its episode has no states.

    Raises:
        RecordingError: a file cannot be written.
    """

    def __init__(
        self, layout: Layout, scene: Scene, sizes: Mapping[str, tuple[int, int]], provenance: Mapping[str, Any], *, required: bool = False
    ) -> None:
        self._layout = layout
        self._scene = scene
        self._sizes = dict(sizes)
        self._provenance = provenance
        self._required = required
        self._open: dict[int, _OpenEpisode] = {}
        with naming(layout.states):
            layout.states.mkdir(exist_ok=True)
        with naming(layout.scene), whole_or_not_there(layout.scene) as partial:
            store_scene(scene, partial)

    def on_reset(self, episode: Episode, first: StateRow) -> None:
        """Begin with the state after the reset."""
        self._open[episode.world] = _OpenEpisode(RowSpool(self._layout.root), LooksLog(self._layout.root))
        self._append(episode, first)

    def on_step(self, episode: Episode, row: StepRow) -> None:
        """Append the state after the step."""
        self._append(episode, row.after)

    def on_episode_end(self, episode: Episode, outcome: Outcome, *, keep: bool) -> Receipt:
        """Write the episode's file."""
        rows = self._open.pop(episode.world, None)
        try:
            if not keep or (rows is not None and rows.lacks_poses):
                return Receipt()
            count = 0 if rows is None else rows.rows.count
            if rows is None or count != outcome.steps + 1:
                raise RecordingError(f"episode {episode.index}: {count} states for {outcome.steps} steps; {outcome.steps + 1} are needed")
            self._write(episode, outcome, rows)
        finally:
            if rows is not None:
                rows.close()
        return Receipt({"states": str(self._layout.state(episode.index).relative_to(self._layout.root))})

    def close(self) -> None:
        """Throw away what no episode end has written."""
        for rows in self._open.values():
            rows.close()
        self._open.clear()

    def _append(self, episode: Episode, state: StateRow) -> None:
        rows = self._open[episode.world]
        rows.lacks_poses |= not state.scene_state
        if rows.lacks_poses and self._required:
            raise RecordingError(
                f"a state of episode {episode.index} came without poses, which keep_states=True needs; give "
                "scene_state=scene_state_of(source) to StateBatch, or leave keep_states out"
            )
        if rows.lacks_poses:
            return
        rows.looks.append(rows.rows.count, state.looks)
        rows.rows.append(state.scene_state)

    def _write(self, episode: Episode, outcome: Outcome, rows: _OpenEpisode) -> None:
        path = self._layout.state(episode.index)
        with naming(path), whole_or_not_there(path) as partial, writing_hdf5(partial) as file:
            file.attrs["format"] = FORMAT
            file.attrs["provenance"] = json.dumps({**_described(episode), "steps": outcome.steps, **self._provenance})
            targets = {
                name: file.create_dataset(name, (rows.rows.count, *shape), dtype) for name, (dtype, shape) in rows.rows.layout.items()
            }
            for start, block in rows.rows.blocks():
                for name, target in targets.items():
                    target[start : start + len(block)] = block[name]
            self._write_looks(file, rows.looks)
            for name in self._sizes:
                self._write_matrices(file, name, rows)

    def _write_looks(self, file: h5py.File, looks: LooksLog) -> None:
        first = file.create_dataset("looks/first_frame", (looks.num_changes,), np.int64)
        texts = file.create_dataset("looks/json", (looks.num_changes,), h5py.string_dtype())
        for place, (frame, change) in enumerate(looks.changes()):
            first[place], texts[place] = frame, json.dumps(None if change is None else change.to_dict())

    def _write_matrices(self, file: h5py.File, name: str, rows: _OpenEpisode) -> None:
        camera, size = self._scene.camera(name), self._sizes[name]
        moves = not stands_still(camera) or rows.looks.num_changes > 0
        count = rows.rows.count if moves else 1
        targets = None
        for start, block, looks in _stretches(rows):
            block = block[: count - start]
            matrices = camera_matrices(camera, size, self._scene.bodies, block["position"], block["quat_wxyz"], looks)
            if targets is None:
                targets = [
                    file.create_dataset(f"cameras/{name}/{field}", (count, *matrix.shape[1:]), np.float32)
                    for field, matrix in zip(CameraMatrices._fields, matrices, strict=True)
                ]
            for target, matrix in zip(targets, matrices, strict=True):
                target[start : start + len(block)] = matrix
            if not moves:
                break


def _described(episode: Episode) -> dict[str, Any]:
    return {
        "episode": episode.index,
        "seed": episode.seed,
        "run_seed": episode.run_seed,
        "reset_kwargs": dict(episode.reset_kwargs),
        "world": episode.world,
    }


def _stretches(rows: _OpenEpisode) -> Iterator[tuple[int, NDArray, WorldLooks | None]]:
    """The rows in order, in blocks of the same looks: the index of the first row, a structured array of the rows, and those looks."""
    changes = rows.looks.changes()
    upcoming = next(changes, None)
    looks: WorldLooks | None = None
    for start, block in rows.rows.blocks():
        while len(block):
            while upcoming is not None and upcoming[0] <= start:
                looks, upcoming = upcoming[1], next(changes, None)
            length = len(block) if upcoming is None else min(len(block), upcoming[0] - start)
            yield start, block[:length], looks
            start, block = start + length, block[length:]
