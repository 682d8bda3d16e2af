"""MuJoCo on all cores of the CPU.

A world is nothing but its state vector (``mjSTATE_INTEGRATION``). Threads take worlds in turn: load the vector into the one
``MjData`` a thread has, step, and store the vector. So memory does not grow by an ``MjData`` a world, and no world can depend on the
slot it is in, on its neighbours or on the number of threads.
"""

import copy
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
from numpy.typing import ArrayLike, NDArray

from rollfilm.cores import available_cores
from rollfilm.engines.protocol import EngineState
from rollfilm.errors import InvalidArgumentError
from rollfilm.memory import require_memory
from rollfilm.scene.mujoco import load_model, load_scene
from rollfilm.scene.mujoco_paths import num_path_points, path_points, path_slots
from rollfilm.scene.poses import BodyPoses
from rollfilm.scene.scene import Scene

__all__ = ["MujocoEngine"]

_STATE = mujoco.mjtState.mjSTATE_INTEGRATION
_INSTABILITY = [int(mujoco.mjtWarning.mjWARN_BADQPOS), int(mujoco.mjtWarning.mjWARN_BADQVEL), int(mujoco.mjtWarning.mjWARN_BADQACC)]
#: MuJoCo's mjMAXVAL: a position or velocity beyond it counts as diverged.
_HUGE = 1e10


class MujocoEngine:
    """B worlds of one MuJoCo model, an :class:`rollfilm.engines.protocol.Engine`.

    A world whose simulation becomes unstable (MuJoCo's warnings of NaN or huge values) is put back to where it was before that
    :meth:`step` and marked in :attr:`diverged`; it stands still until it is reset or its state is set. MuJoCo's own remedy, a reset in
    the middle of an episode, is never seen.

    Args:
        model_or_path: an ``MjModel`` (copied), the path of an MJCF, URDF or MJB file, or an XML text.
        num_worlds: B, 1 or more.
        num_threads: threads that step; None for the number of cores this process may use.
        geom_groups: the geom groups that can be seen.

    Raises:
        ModelError: the model is missing or does not compile.
        InvalidArgumentError: ``num_worlds`` or ``num_threads`` below 1.
        MemoryBudgetError: the states of that many worlds do not fit into memory.
    """

    device = "cpu"

    def __init__(
        self,
        model_or_path: mujoco.MjModel | str | Path,
        num_worlds: int,
        *,
        num_threads: int | None = None,
        geom_groups: tuple[int, ...] = (0, 1, 2),
    ):
        if num_worlds < 1:
            raise InvalidArgumentError(f"num_worlds={num_worlds} was asked for; 1 or more is allowed")
        if num_threads is not None and num_threads < 1:
            raise InvalidArgumentError(f"num_threads={num_threads} was asked for; 1 or more is allowed, or None for all cores")
        model = load_model(model_or_path)
        self.model = copy.copy(model) if model is model_or_path else model
        size = mujoco.mj_stateSize(self.model, _STATE)
        require_memory(8 * num_worlds * (size + self.model.nsensordata + 4 * self.model.nbody), f"states of {num_worlds} worlds")
        self.num_worlds = num_worlds
        self.state_count = 0
        self.diverged = np.zeros(num_worlds, dtype=np.bool_)
        self._geom_groups = geom_groups
        self._num_threads = min(num_threads or available_cores(), num_worlds)
        self._pool = ThreadPoolExecutor(self._num_threads, "rollfilm-mujoco") if self._num_threads > 1 else None
        self._data = [mujoco.MjData(self.model) for _ in range(self._num_threads)]

        self._initial = np.empty(size)
        mujoco.mj_getState(self.model, self._data[0], self._initial, _STATE)
        self._state = np.tile(self._initial, (num_worlds, 1))
        self._position = np.zeros((num_worlds, self.model.nbody, 3), dtype=np.float32)
        self._quat_wxyz = np.zeros((num_worlds, self.model.nbody, 4), dtype=np.float32)
        self._sensors = np.zeros((num_worlds, self.model.nsensordata))
        self._slots = path_slots(self.model)
        self._path = np.zeros((num_worlds, num_path_points(self.model), 4), dtype=np.float32)
        self._refresh(range(num_worlds))

    @cached_property
    def scene(self) -> Scene:
        """What can be seen, built when it is first asked for."""
        return load_scene(self.model, geom_groups=self._geom_groups)

    @property
    def control_size(self) -> int:
        """A, the number of actuators."""
        return self.model.nu

    def body_poses(self) -> BodyPoses:
        """The poses of the current state: the engine's own arrays, overwritten by the next change."""
        return BodyPoses(self._position, self._quat_wxyz, self._path if self._slots else None)

    def read_state(self) -> EngineState:
        """The state in arrays that are the caller's own."""
        nq, nv = self.model.nq, self.model.nv
        return EngineState(
            time=self._state[:, 0].copy(),
            qpos=self._state[:, 1 : 1 + nq].copy(),
            qvel=self._state[:, 1 + nq : 1 + nq + nv].copy(),
            body_position=self._position.copy(),
            body_quat_wxyz=self._quat_wxyz.copy(),
            sensors=self._sensors.copy(),
        )

    def get_state(self) -> NDArray[np.float64]:
        """The complete state, (B, S): ``mjSTATE_INTEGRATION``, with the solver's warm start, controls and mocap poses."""
        return self._state.copy()

    def set_state(self, state: ArrayLike, world_mask: ArrayLike | None = None) -> None:
        """Restore what :meth:`get_state` gave, (B, S), in the masked worlds.

        Raises:
            InvalidArgumentError: another shape, or a value of a masked world that is not finite.
        """
        mask = self._mask(world_mask)
        self._state[mask] = self._checked("state", state, self._state.shape[1:], mask)[mask]
        self._changed(mask)

    def reset(self, world_mask: ArrayLike | None = None, *, qpos: ArrayLike | None = None, qvel: ArrayLike | None = None) -> None:
        """Put the masked worlds into the model's initial state, or into ``qpos`` (B, nq) and ``qvel`` (B, nv).

        Time, controls, mocap poses and the solver's warm start go back to the model's own. Other worlds stay as they are.

        Raises:
            InvalidArgumentError: another shape, or a value of a masked world that is not finite.
        """
        nq, nv = self.model.nq, self.model.nv
        mask = self._mask(world_mask)
        fresh = np.tile(self._initial, (self.num_worlds, 1))
        if qpos is not None:
            fresh[:, 1 : 1 + nq] = self._checked("qpos", qpos, (nq,), mask)
        if qvel is not None:
            fresh[:, 1 + nq : 1 + nq + nv] = self._checked("qvel", qvel, (nv,), mask)
        self._state[mask] = fresh[mask]
        self._changed(mask)

    def set_mocap(
        self, world_mask: ArrayLike | None = None, *, position: ArrayLike | None = None, quat_wxyz: ArrayLike | None = None
    ) -> None:
        """Move the mocap bodies of the masked worlds to ``position`` (B, M, 3) and ``quat_wxyz`` (B, M, 4), in the model's order.

        What is not given stays as it is.

        Raises:
            InvalidArgumentError: another shape, or a value of a masked world that is not finite.
        """
        mask = self._mask(world_mask)
        parts = [
            ("position", position, mujoco.mjtState.mjSTATE_MOCAP_POS, 3),
            ("quat_wxyz", quat_wxyz, mujoco.mjtState.mjSTATE_MOCAP_QUAT, 4),
        ]
        for name, value, component, size in parts:
            if value is None:
                continue
            checked = self._checked(name, value, (self.model.nmocap, size), mask).reshape(self.num_worlds, -1)
            start = mujoco.mj_stateSize(self.model, int(component) - 1)
            self._state[mask, start : start + checked.shape[1]] = checked[mask]
        self._changed(mask)

    def step(self, control: ArrayLike, substeps: int = 1, *, world_mask: ArrayLike | None = None) -> None:
        """Hold ``control`` (B, A) for ``substeps`` steps of physics, in the masked worlds that have not diverged.

        Raises:
            InvalidArgumentError: another shape, a control that is not finite, or ``substeps`` below 1. No world has moved then.
        """
        if substeps < 1:
            raise InvalidArgumentError(f"substeps={substeps} was asked for; 1 or more is allowed")
        mask = self._mask(world_mask)
        controls = self._checked("control", control, (self.model.nu,), mask)
        self._for_each(np.flatnonzero(mask & ~self.diverged), lambda data, world: self._step_world(data, world, controls[world], substeps))
        self.state_count += 1

    def world_data(self, world: int) -> mujoco.MjData:
        """A copy of one world as a fresh ``MjData``, for MuJoCo's own tools."""
        data = mujoco.MjData(self.model)
        mujoco.mj_setState(self.model, data, self._state[world], _STATE)
        mujoco.mj_forward(self.model, data)
        return data

    def close(self) -> None:
        """End the threads. Nothing else can be asked of the engine afterwards."""
        if self._pool is not None:
            self._pool.shutdown()

    def _step_world(self, data: mujoco.MjData, world: int, control: NDArray[np.float64], substeps: int) -> None:
        model, state = self.model, self._state[world]
        mujoco.mj_setState(model, data, state, _STATE)
        data.ctrl[:] = control
        data.warning.number[:] = 0
        mujoco.mj_step(model, data, substeps)
        moving = np.concatenate([data.qpos, data.qvel])
        # MuJoCo may have reset an unstable world by now; the warning tells. Comparing this way round also catches NaN.
        if data.warning.number[_INSTABILITY].any() or not (np.abs(moving) < _HUGE).all():
            self.diverged[world] = True
            return
        mujoco.mj_getState(model, data, state, _STATE)
        self._show(data, world)

    def _show(self, data: mujoco.MjData, world: int) -> None:
        # A step leaves poses and sensors as they were before its integration.
        mujoco.mj_forward(self.model, data)
        self._position[world] = data.xpos
        self._quat_wxyz[world] = data.xquat
        self._sensors[world] = data.sensordata
        if self._slots:
            self._path[world] = path_points(self.model, data, self._slots)

    def _changed(self, mask: NDArray[np.bool_]) -> None:
        self.diverged[mask] = False
        self._refresh(np.flatnonzero(mask))
        self.state_count += 1

    def _refresh(self, worlds: Iterable[int]) -> None:
        def refresh(data: mujoco.MjData, world: int) -> None:
            mujoco.mj_setState(self.model, data, self._state[world], _STATE)
            self._show(data, world)

        self._for_each(worlds, refresh)

    def _for_each(self, worlds: Iterable[int], act: Callable[[mujoco.MjData, int], None]) -> None:
        # One shared iterator: a thread that got easy worlds takes more of them.
        queue = iter(list(map(int, worlds)))

        def work(data: mujoco.MjData) -> None:
            for world in queue:
                act(data, world)

        if self._pool is None:
            work(self._data[0])
        else:
            list(self._pool.map(work, self._data))

    def _mask(self, world_mask: ArrayLike | None) -> NDArray[np.bool_]:
        if world_mask is None:
            return np.ones(self.num_worlds, dtype=np.bool_)
        mask = np.asarray(world_mask)
        if mask.dtype != np.bool_ or mask.shape != (self.num_worlds,):
            raise InvalidArgumentError(
                f"the world mask is {mask.dtype} of shape {mask.shape}; it must be bool of shape ({self.num_worlds},), or None for all"
            )
        return mask

    def _checked(self, name: str, value: Any, tail: tuple[int, ...], mask: NDArray[np.bool_]) -> NDArray[np.float64]:
        array = np.asarray(value, dtype=np.float64)
        if array.shape != (self.num_worlds, *tail):
            raise InvalidArgumentError(f"{name} has shape {array.shape}; it must be {(self.num_worlds, *tail)}")
        bad = mask & ~np.isfinite(array).reshape(self.num_worlds, -1).all(axis=1)
        if bad.any():
            raise InvalidArgumentError(f"{name} is not finite in worlds {np.flatnonzero(bad).tolist()}; NaN and infinity are not allowed")
        return array
