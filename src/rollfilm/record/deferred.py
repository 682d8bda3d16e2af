"""Episodes that are filmed after they have ended, if they are kept: until then only their states and rows are held."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rollfilm.errors import RecordingError
from rollfilm.record.batch import StateBatch, StepBatch
from rollfilm.record.batch_spool import BatchSpool, LeafPath
from rollfilm.record.looks_log import LooksLog
from rollfilm.record.ring import FrameRing, FrameSlot
from rollfilm.record.sink import Episode, Sink, StateRow, StepRow
from rollfilm.record.state_renderer import StateRenderer
from rollfilm.render.looks import WorldLooks
from rollfilm.scene import BodyPoses

__all__ = ["Camerawork", "DeferredEpisodes"]

#: Pixels of all cameras that are filmed at once, and how many states that may be.
_PIXELS_AT_ONCE = 1 << 21
_FEWEST, _MOST = 4, 64


@dataclass(eq=False)
class Camerawork:
    """Who films kept episodes: made when the first one is kept.

    Attributes:
        renderer: of stored states.
        ring: buffers for their pictures.
    """

    renderer: StateRenderer
    ring: FrameRing

    @staticmethod
    def states_at_once(sizes: Mapping[str, tuple[int, int]]) -> int:
        """How many states are filmed at once, by cameras of size (H, W)."""
        return max(_FEWEST, min(_MOST, _PIXELS_AT_ONCE // sum(height * width for height, width in sizes.values())))


@dataclass(eq=False)
class DeferredEpisodes:
    """The rows of episodes in flight that are not filmed yet: one copy an array and step, however many worlds there are.

    Attributes:
        folder: where rows go that do not fit into memory.
        num_worlds: B.
    """

    folder: Path
    num_worlds: int
    _states: BatchSpool = field(init=False)
    _steps: BatchSpool = field(init=False)
    _looks: dict[int, LooksLog] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self._states = BatchSpool(self.folder, self.num_worlds)
        self._steps = BatchSpool(self.folder, self.num_worlds)

    def begin(self, worlds: Sequence[int], state: StateBatch) -> None:
        """Episodes begin with the state after the reset, given on the host.

        Raises:
            RecordingError: the state came without poses, or there is no room on the disk.
        """
        for world in worlds:
            self.drop(world)
            self._looks[world] = LooksLog(self.folder)
        self._append_state(worlds, state)

    def append(self, worlds: Sequence[int], batch: StepBatch) -> None:
        """Episodes go on by one step, given on the host.

        Raises:
            RecordingError: see :meth:`begin`; or the arrays are others than before.
        """
        if not worlds:
            return
        leaves = _leaves(batch.actions, ("action",)) | {
            ("reward",): batch.rewards,
            ("terminated",): batch.terminated,
            ("truncated",): batch.truncated,
        }
        leaves["success",] = self._answers(batch.success, batch.success_known)
        leaves["fail",] = self._answers(batch.fail, batch.fail_known)
        self._steps.append(worlds, leaves)
        final = () if batch.final is None else batch.final.worlds
        self._append_state([world for world in worlds if world not in final], batch.state)
        if batch.final is not None:
            self._append_state([world for world in worlds if world in final], batch.final.state)

    def film(self, world: int, episode: Episode, sinks: Sequence[Sink], camerawork: Camerawork) -> int:
        """Give an episode's rows to ``sinks``, filmed now; how many states it had.

        Raises:
            RecordingError: a sink cannot write, or the rows cannot be read back.
        """
        count = 0
        steps = self._step_rows(world)
        for state, slot, place in self._filmed(world, camerawork):
            pictures = {camera: slot.picture(camera, place) for camera in slot.cameras}
            row = StateRow(state.observation, state.env_states, pictures, state.scene_state, state.looks)
            step = None if count == 0 else next(steps)
            for sink in sinks:
                if step is None:
                    sink.on_reset(episode, row)
                else:
                    sink.on_step(episode, step(row))
            count += 1
        return count

    def drop(self, world: int) -> None:
        """Forget the rows of a world."""
        self._states.drop(world)
        self._steps.drop(world)
        if (looks := self._looks.pop(world, None)) is not None:
            looks.close()

    def close(self) -> None:
        """Give memory and files back."""
        for looks in self._looks.values():
            looks.close()
        self._looks.clear()
        self._states.close()
        self._steps.close()

    def _answers(self, values: Any, known: Any) -> NDArray[np.int8]:
        """1 for yes, 0 for no, -1 where the environment does not say, (B,)."""
        if values is None:
            return np.full(self.num_worlds, -1, np.int8)
        return np.where(True if known is None else known, np.asarray(values, np.int8), -1).astype(np.int8)

    def _append_state(self, worlds: Sequence[int], state: StateBatch) -> None:
        if not worlds:
            return
        if not state.scene_state:
            raise RecordingError(
                "a state came without poses, from which it could be filmed afterwards; give scene_state=scene_state_of(source) to "
                'StateBatch, or set video_when="online"'
            )
        if state.looks is not None:
            for world in worlds:
                if (log := self._looks[world]).last is not state.looks[world]:
                    log.append(self._states.count(world), state.looks[world])
        leaves = _leaves(state.observation, ("obs",)) | _leaves(state.env_states, ("env_states",))
        leaves |= _leaves(state.scene_state, ("scene_state",))
        leaves["scene_state", "state_count"] = np.full(self.num_worlds, state.state_count, np.int64)
        self._states.append(worlds, leaves)

    def _filmed(self, world: int, camerawork: Camerawork) -> Iterator[tuple[StateRow, FrameSlot, int]]:
        """The states of an episode in order, without pictures; the buffer that holds those, and the place there."""
        frame, at_once = 0, camerawork.renderer.batch_size
        changes = self._looks[world].changes()
        upcoming, looks = next(changes, None), None
        for block in self._states.blocks(world):
            num_rows = len(block["scene_state", "state_count"])
            for first in range(0, num_rows, at_once):
                part = {path: leaf[first : first + at_once] for path, leaf in block.items()}
                states: list[StateRow] = []
                for place in range(min(at_once, num_rows - first)):
                    while upcoming is not None and upcoming[0] <= frame:
                        looks, upcoming = upcoming[1], next(changes, None)
                    states.append(_state_row(part, place, looks))
                    frame += 1
                poses = BodyPoses(*(part.get(("scene_state", name)) for name in ("position", "quat_wxyz", "path")))
                frames = camerawork.renderer.film(poses, [state.looks for state in states])
                slot = camerawork.ring.take(frames, None if len(states) == at_once else range(len(states)))
                try:
                    for place, state in enumerate(states):
                        yield state, slot, place
                finally:
                    slot.release()

    def _step_rows(self, world: int) -> Iterator[Callable[[StateRow], StepRow]]:
        """For each step what makes its row of the state after it."""
        for block in self._steps.blocks(world):
            for k in range(len(block["reward",])):
                yield partial(_step_row, block, k)


def _state_row(block: Mapping[LeafPath, NDArray], place: int, looks: WorldLooks | None) -> StateRow:
    env_states = _tree(block, "env_states", place) if any(path[0] == "env_states" for path in block) else {}
    return StateRow(_tree(block, "obs", place), env_states, {}, _tree(block, "scene_state", place), looks)


def _step_row(block: Mapping[LeafPath, NDArray], k: int, after: StateRow) -> StepRow:
    return StepRow(
        action=_tree(block, "action", k, np.float32),
        reward=float(block["reward",][k]),
        terminated=bool(block["terminated",][k]),
        truncated=bool(block["truncated",][k]),
        success=_meant(block["success",][k]),
        after=after,
        fail=_meant(block["fail",][k]),
    )


def _meant(said: int) -> bool | None:
    return None if said < 0 else bool(said)


def _leaves(tree: Any, path: LeafPath) -> dict[LeafPath, NDArray]:
    if isinstance(tree, Mapping):
        return {inner: leaf for name, branch in tree.items() for inner, leaf in _leaves(branch, (*path, name)).items()}
    return {path: np.asarray(tree)}


def _tree(leaves: Mapping[LeafPath, NDArray], root: str, row: int, dtype: Any = None) -> Any:
    """What :func:`_leaves` took apart, one row of it."""
    tree: dict[str, Any] = {}
    for path, leaf in leaves.items():
        if path[0] != root:
            continue
        value = leaf[row] if dtype is None else np.asarray(leaf[row], dtype)
        if len(path) == 1:
            return value
        branch = tree
        for name in path[1:-1]:
            branch = branch.setdefault(name, {})
        branch[path[-1]] = value
    return tree
