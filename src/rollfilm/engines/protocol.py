"""What an environment asks of a physics engine."""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from rollfilm.scene.poses import PoseSource

__all__ = ["Engine", "EngineState"]


@dataclass(frozen=True, eq=False)
class EngineState:
    """Everything that a task needs to know of the current state, on the host, read in one copy.

    The arrays are the caller's own: later steps do not change them. Quaternions are wxyz, metres, seconds, radians.

    Attributes:
        time: float64 (B,), simulated seconds since the reset.
        qpos: float64 (B, nq), generalised positions in the engine's order.
        qvel: float64 (B, nv), generalised velocities.
        body_position: float32 (B, bodies, 3), world frame.
        body_quat_wxyz: float32 (B, bodies, 4), world from body.
        sensors: float64 (B, S), what the model's sensors measure, in the engine's order; S is 0 for a model without sensors.
    """

    time: NDArray[np.float64]
    qpos: NDArray[np.float64]
    qvel: NDArray[np.float64]
    body_position: NDArray[np.float32]
    body_quat_wxyz: NDArray[np.float32]
    sensors: NDArray[np.float64]


@runtime_checkable
class Engine(PoseSource, Protocol):
    """Physics of B worlds behind one small contract. World masks are bool (B,), None for all worlds."""

    @property
    def control_size(self) -> int:
        """A, the number of actuators."""
        ...

    @property
    def diverged(self) -> NDArray[np.bool_]:
        """Worlds (B,) whose simulation became unstable: they keep their last good state and stand still until reset or set."""
        ...

    def reset(
        self,
        world_mask: NDArray[np.bool_] | None = None,
        *,
        qpos: NDArray[np.float64] | None = None,
        qvel: NDArray[np.float64] | None = None,
    ) -> None:
        """Put the masked worlds into the model's initial state, or into ``qpos`` (B, nq) and ``qvel`` (B, nv); others stay as they are."""
        ...

    def set_mocap(
        self,
        world_mask: NDArray[np.bool_] | None = None,
        *,
        position: NDArray[np.float64] | None = None,
        quat_wxyz: NDArray[np.float64] | None = None,
    ) -> None:
        """Move the bodies that no physics moves to ``position`` (B, M, 3) and ``quat_wxyz`` (B, M, 4); what is not given stays."""
        ...

    def step(self, control: NDArray[np.float64], substeps: int = 1, *, world_mask: NDArray[np.bool_] | None = None) -> None:
        """Hold ``control`` (B, A) for ``substeps`` steps of physics in the masked worlds; others stand still."""
        ...

    def read_state(self) -> EngineState:
        """The state on the host, in one copy."""
        ...

    def get_state(self) -> NDArray[np.float64]:
        """The complete state of the integrator, (B, S): restoring it and stepping repeats the same bytes."""
        ...

    def set_state(self, state: NDArray[np.float64], world_mask: NDArray[np.bool_] | None = None) -> None:
        """Restore what :meth:`get_state` gave, (B, S), in the masked worlds. Poses show it at once."""
        ...
