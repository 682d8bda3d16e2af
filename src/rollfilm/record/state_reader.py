"""The current state of an environment that someone else steps, as a recorder takes it."""

from typing import Any

from rollfilm.record.batch import StateBatch, scene_state_of
from rollfilm.record.pictures import PictureSource
from rollfilm.record.wrapped_env import WrappedEnv
from rollfilm.render.frames import Frames
from rollfilm.scene import PoseSource

__all__ = ["StateReader"]


class StateReader:
    """Reads states.

    Args:
        env: the environment.
        source: its pictures, None for none.
        poses: gives what films the states again, None where nobody knows it.
        env_states: read states in ManiSkill's layout too, where the environment has them.
    """

    def __init__(self, env: WrappedEnv, source: PictureSource | None, poses: PoseSource | None, *, env_states: bool) -> None:
        self.source = source
        self._env = env
        self._poses = poses
        self._env_states = env_states

    def read(self, frames: Frames | None, observation: Any) -> StateBatch:
        """The current state of all worlds. Arrays may be the environment's own, which its next step overwrites.

        Args:
            frames: its pictures, None if nobody needs them.
            observation: of all worlds.
        """
        count = 0 if self.source is None or frames is None else self.source.state_count()
        return StateBatch(
            frames=Frames({}, count) if frames is None else frames,
            state_count=count,
            observation=observation,
            env_states=self._env.env_states() if self._env_states else {},
            scene_state={} if self._poses is None else scene_state_of(self._poses),
            looks=getattr(self._env.base, "looks", None) if self._env.is_ours else None,
        )
