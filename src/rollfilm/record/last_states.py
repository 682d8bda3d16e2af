"""The last state of worlds that something resets within a step: looked at in the moment before that happens."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from rollfilm.record.batch import FinalBatch, StateBatch
from rollfilm.record.infos import last_observation
from rollfilm.record.state_reader import StateReader
from rollfilm.record.trees import first_leaf, map_leaves, plain, put_rows
from rollfilm.record.wrapped_env import WrappedEnv
from rollfilm.render.frames import CameraFrames, Frames

__all__ = ["LastStates"]

#: Stands where there is no picture: no state of a simulation is of this grey alone, and the episode's line says that it is none.
_NO_PICTURE = 16


class LastStates:
    """Keeps the last pictures and states of worlds that are reset inside ``env.step``.

    A vector environment in the mode SAME_STEP resets worlds before it returns. Where it does that by calling the ``reset`` of the
    environment that it wraps (as our ``SameStepAutoreset`` and ManiSkill's vector wrapper), or of environments of one world each (as
    Gymnasium's ``SyncVectorEnv``), there is a moment in between. Environments that reset worlds without such a call give none: then
    pictures and states are missing, and are said to be.

    Args:
        env: the environment; its innermost layer gets a ``reset`` of this instance until :meth:`remove`.
        reader: reads its states.
    """

    def __init__(self, env: WrappedEnv, reader: StateReader) -> None:
        self._reader = reader
        self._inside = False
        self._filming = False
        self._seen: set[int] = set()
        self._rows: dict[str, Any] = {}
        self._looks: dict[int, Any] = {}
        self._state_count = 0
        parts = env.parts
        self._targets = parts or [env.base]
        for world, part in enumerate(parts):
            self._shadow(part, lambda options, world=world: [world])
        if not parts:
            self._shadow(env.base, env.worlds_of)

    @contextmanager
    def inside_step(self, *, filming: bool) -> Iterator[None]:
        """Resets in this block are those of a step; the worlds' pictures are kept on request."""
        self._seen, self._rows, self._looks = set(), {}, {}
        self._inside, self._filming = True, filming
        try:
            yield
        finally:
            self._inside = False

    def batch(self, worlds: Sequence[int], infos: Mapping[str, Any], now: StateBatch) -> FinalBatch:
        """The last states of ``worlds``, after the step.

        Args:
            worlds: those that were reset.
            infos: of the step.
            now: the state of all worlds after the step, its observation on the host.
        """
        seen = self._rows if self._seen.issuperset(worlds) else {}
        missing = ["pictures"] if now.frames and not seen.get("pictures") else []
        pictures = seen.get("pictures") or {name: _grey(camera.rgb) for name, camera in now.frames.items()}
        observation = now.observation
        if first_leaf(observation) is not None:
            observation = last_observation(infos, observation, np.asarray(worlds))
            if observation is None:
                observation = map_leaves(_nothing, now.observation)
                missing.append("observation")
        if now.env_states and not seen.get("env_states"):
            missing.append("env_states")
        count = self._state_count if seen else now.state_count
        state = StateBatch(
            frames=Frames({name: CameraFrames(rgb=rgb) for name, rgb in pictures.items()}, count),
            state_count=count,
            observation=observation,
            env_states=seen.get("env_states") or map_leaves(_nothing, now.env_states),
            scene_state=seen.get("scene_state", {}),
            looks=None if now.looks is None else [self._looks.get(world) for world in range(len(now.looks))],
        )
        return FinalBatch(state, worlds, tuple(missing))

    def remove(self) -> None:
        """Leave the environment as it was."""
        for target in self._targets:
            target.__dict__.pop("reset", None)
        self._targets = []

    def _shadow(self, target: Any, worlds_of: Callable[[Any], Sequence[int]]) -> None:
        original = target.reset

        def reset(*args: Any, **kwargs: Any) -> Any:
            if self._inside:
                self._look(list(worlds_of(kwargs.get("options"))))
            return original(*args, **kwargs)

        target.reset = reset

    def _look(self, worlds: list[int]) -> None:
        source = self._reader.source
        state = self._reader.read(source.frames_of(worlds) if self._filming and source is not None else None, {})
        self._state_count = state.state_count
        self._looks |= {world: state.looks[world] for world in worlds} if state.looks is not None else {}
        pictures = {name: camera.rgb for name, camera in state.frames.items()}
        rows = plain({"pictures": pictures, "env_states": state.env_states, "scene_state": state.scene_state}, batched=True)
        if not self._rows:
            self._rows = map_leaves(np.zeros_like, rows)
        put_rows(self._rows, rows, worlds)
        self._seen.update(worlds)


def _grey(rgb: Any) -> np.ndarray:
    return np.broadcast_to(np.uint8(_NO_PICTURE), tuple(rgb.shape))


def _nothing(array: np.ndarray) -> np.ndarray:
    """What stands where a value is missing: not a number, or zero where the type knows no such thing."""
    return np.full_like(array, np.nan) if array.dtype.kind == "f" else np.zeros_like(array)
