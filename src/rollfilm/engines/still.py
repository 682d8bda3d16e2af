"""Poses from anywhere, to be filmed as they are: a source for pictures without a simulation behind them."""

from dataclasses import dataclass, field

from rollfilm.scene import BodyPoses, Scene

__all__ = ["StillPoses"]


@dataclass(eq=False)
class StillPoses:
    """A pose source that shows what it was given last.

    Attributes:
        scene: what can be seen.
        poses: where its bodies are, B worlds.
        device: where the arrays of ``poses`` are, ``"cpu"`` or ``"cuda:0"``.
        state_count: how often :meth:`show` was called.
    """

    scene: Scene
    poses: BodyPoses
    device: str = "cpu"
    state_count: int = field(default=0, init=False)

    @property
    def num_worlds(self) -> int:
        """B."""
        return int(self.poses.position.shape[0])

    def body_poses(self) -> BodyPoses:
        """The arrays that were given, no copy."""
        return self.poses

    def show(self, poses: BodyPoses) -> None:
        """Put the bodies elsewhere."""
        self.poses = poses
        self.state_count += 1
