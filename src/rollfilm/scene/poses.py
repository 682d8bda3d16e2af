"""What a renderer asks of a simulator: the one contract between the two."""

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from rollfilm.scene.scene import Scene

__all__ = ["BodyPoses", "PoseSource"]


@dataclass(frozen=True, eq=False)
class BodyPoses:
    """Where the bodies of all worlds are, on the engine's own device, without a copy.

    Attributes:
        position: float32 (B, bodies, 3), metres, world frame. NumPy on the CPU; anything with DLPack on CUDA.
        quat_wxyz: float32 (B, bodies, 4), unit, world from body.
        path: float32 (B, Q, 4) where the scene has Q path points (``Scene.num_path_points``): the paths of tendons around geoms, which
            follow from more than poses (``mujoco_paths.path_points``). None where nobody knows them: those tendons are not drawn.
    """

    position: Any
    quat_wxyz: Any
    path: Any = None


@runtime_checkable
class PoseSource(Protocol):
    """A simulation of ``num_worlds`` copies of one scene, stepped by whoever owns it."""

    @property
    def scene(self) -> Scene:
        """What can be seen."""
        ...

    @property
    def num_worlds(self) -> int:
        """B, the number of worlds."""
        ...

    @property
    def device(self) -> str:
        """Where the poses are: ``"cpu"`` or ``"cuda:0"``."""
        ...

    @property
    def state_count(self) -> int:
        """Grows with every change of state of any world: frames carry it, so that a stale frame can be told."""
        ...

    def body_poses(self) -> BodyPoses:
        """The poses of the current state. The arrays may be overwritten by the next change of state."""
        ...
