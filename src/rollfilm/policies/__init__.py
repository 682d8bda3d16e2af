"""What maps observations to actions."""

from typing import TYPE_CHECKING, Any

from rollfilm.errors import NotFoundError
from rollfilm.policies.protocol import Policy

if TYPE_CHECKING:
    from rollfilm.envs.vector_env import TaskVectorEnv

__all__ = ["Policy", "expert_for"]


def expert_for(env: "TaskVectorEnv | Any") -> Policy:
    """The scripted expert of an environment's task.

    It sees the simulator's whole state, whatever the observation mode: where the observation is not the flat state, it reads that from
    the environment, so its actions fit the current state only. Wrappers around the environment are looked through.

    Raises:
        NotFoundError: the task has no expert.
        MissingExtraError: what the expert needs is not installed.
    """
    base = env.unwrapped
    if base.task_name == "pick-cube":
        from rollfilm.policies.pick_cube_expert import PickCubeExpert

        return PickCubeExpert(base)
    raise NotFoundError(f"the task {base.task_name!r} has no scripted expert; tasks with one: pick-cube")
