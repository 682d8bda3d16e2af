"""Films stored states: any of them in any order, many at once."""

from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Self

import numpy as np
from numpy.typing import NDArray

from rollfilm.errors import RecordingError
from rollfilm.render.frames import Frames
from rollfilm.render.looks import WorldLooks
from rollfilm.render.options import DEFAULT_OPTIONS, RenderOptions
from rollfilm.render.request import CameraRequest
from rollfilm.scene import BodyPoses, Scene

__all__ = ["StateRenderer"]

_AS_IT_IS = WorldLooks()


@dataclass(eq=False)
class _Poses:
    """The states that are filmed next, a world each: a source of poses."""

    scene: Scene
    num_worlds: int
    device: str
    position: NDArray[np.float32]
    quat_wxyz: NDArray[np.float32]
    path: NDArray[np.float32] | None
    state_count: int = 0

    def body_poses(self) -> BodyPoses:
        return BodyPoses(self.position, self.quat_wxyz, self.path)


class StateRenderer:
    """Films up to ``batch_size`` states at once. The pictures of a state are the bytes that the environment's own renderer made of it.

    Args:
        scene: what can be seen.
        cameras: what to film.
        batch_size: N, the most states that are filmed at once.
        device: ``"cpu"`` or ``"cuda:N"``.
        num_threads: host threads on the CPU; all cores that this process may use if None.
        options: how to draw.

    Raises:
        InvalidArgumentError, NotFoundError, DeviceError, MemoryBudgetError: see :class:`rollfilm.render.BatchRenderer`.
    """

    def __init__(
        self,
        scene: Scene,
        cameras: Sequence[CameraRequest],
        *,
        batch_size: int = 32,
        device: str = "cpu",
        num_threads: int | None = None,
        options: RenderOptions = DEFAULT_OPTIONS,
    ) -> None:
        from rollfilm.render import BatchRenderer

        self.batch_size = batch_size
        self._renderer = BatchRenderer(scene, batch_size, list(cameras), device=device, num_threads=num_threads, options=options)
        bodies = len(scene.bodies.names)
        path = np.zeros((batch_size, scene.num_path_points, 4), np.float32) if scene.num_path_points else None
        self._poses = _Poses(scene, batch_size, "cpu", np.zeros((batch_size, bodies, 3), np.float32), _unturned((batch_size, bodies)), path)
        self._looks: list[WorldLooks | None] = [None] * batch_size

    def film(self, poses: BodyPoses, looks: Sequence[WorldLooks | None] | None = None) -> Frames:
        """Pictures of n states, n <= N, in the first n places; the next call overwrites them.

        Args:
            poses: NumPy arrays whose first axis is that of the states, (n, bodies, ...).
            looks: of each state, looks of one world; None for what the scene says.

        Raises:
            RecordingError: the states are those of another scene.
            InvalidArgumentError, NotFoundError: poses that are not finite, or looks that the scene cannot have.
        """
        count, ours = len(poses.position), self._poses
        if poses.position.shape[1:] != ours.position.shape[1:] or (poses.path is not None and ours.path is None):
            raise RecordingError(
                f"states of {poses.position.shape[1]} bodies came for a scene of {ours.position.shape[1]}; "
                "take the scene that they were stored with"
            )
        ours.position[:count], ours.quat_wxyz[:count] = poses.position, poses.quat_wxyz
        if ours.path is not None:
            ours.path[:count] = 0.0 if poses.path is None else poses.path
        self.set_looks([None] * count if looks is None else looks)
        ours.state_count += 1
        return self._renderer.render(ours, worlds=None if count == self.batch_size else np.arange(count))

    def set_looks(self, looks: Sequence[WorldLooks | None]) -> None:
        """Let the first states that are filmed next look like this; those that do already cost nothing. Told apart as objects."""
        changed = [place for place, wanted in enumerate(looks) if wanted is not self._looks[place]]
        while changed:
            names = _names(looks[changed[0]])
            alike = [place for place in changed if _names(looks[place]) == names]
            changed = [place for place in changed if place not in alike]
            first = looks[alike[0]]
            if first is None:
                batch = _AS_IT_IS
            elif all(looks[place] is first for place in alike):
                batch = first.worlds(np.zeros(self.batch_size, np.int64))
            else:
                rows = dict.fromkeys(range(self.batch_size), first) | {place: looks[place] for place in alike}
                batch = WorldLooks.joined([row for row in rows.values() if row is not None])
            mask = np.zeros(self.batch_size, bool)
            mask[alike] = True
            self._renderer.set_looks(batch, mask)
            for place in alike:
                self._looks[place] = looks[place]

    def close(self) -> None:
        """End the renderer's threads."""
        self._renderer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self.close()


def _unturned(shape: tuple[int, ...]) -> NDArray[np.float32]:
    quat_wxyz = np.zeros((*shape, 4), np.float32)
    quat_wxyz[..., 0] = 1.0
    return quat_wxyz


def _names(looks: WorldLooks | None) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """What looks say something of: looks that say it of the same things can be set together."""
    if looks is None:
        return ()
    return tuple((field, tuple(getattr(getattr(looks, field), "names", ()))) for field in looks.used)
