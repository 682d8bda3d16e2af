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
    """

    time: NDArray[np.float64]
    qpos: NDArray[np.float64]
    qvel: NDArray[np.float64]
    body_position: NDArray[np.float32]
    body_quat_wxyz: NDArray[np.float32]


@runtime_checkable
class Engine(PoseSource, Protocol):
    """Physics of B worlds behind one small contract. World masks are bool (B,), None for all worlds."""

    @property
    def control_size(self) -> int:
        """A, the number of actuators."""
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

    def step(self, control: NDArray[np.float64], substeps: int = 1) -> None:
        """Hold ``control`` (B, A) for ``substeps`` steps of physics, in every world."""
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
