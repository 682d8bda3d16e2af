"""The tasks there are, by name."""

from collections.abc import Sequence
from importlib.metadata import EntryPoint
from typing import TYPE_CHECKING, Any

from rollfilm.envs.config import config_from_options
from rollfilm.errors import NotFoundError
from rollfilm.render.randomize import LooksConfig

if TYPE_CHECKING:
    from rollfilm.envs.vector_env import TaskVectorEnv

__all__ = ["make", "task_looks", "task_names"]

#: Task name, and where its class is: imported when it is made.
_TASKS = {"pick-cube": "rollfilm.envs.pick_cube:PickCube"}


def task_names() -> tuple[str, ...]:
    """The names of all tasks."""
    return tuple(_TASKS)


def make(task: str, **options: Any) -> "TaskVectorEnv":
    """B worlds of a task as a Gymnasium vector environment.

    Args:
        task: its name, for example ``"pick-cube"``.
        options: see :class:`rollfilm.envs.EnvConfig`; for example ``num_envs=16, cameras={"front": (256, 256)}``.

    Raises:
        NotFoundError: the task or an option is unknown; the message lists the known ones.
        InvalidArgumentError: an option has a value that is not allowed.
        RobotNotFoundError: the robot's model is not installed.
    """
    from rollfilm.envs.vector_env import TaskVectorEnv

    task_class = _task_class(task)
    config = config_from_options(options)
    return TaskVectorEnv(task_class(robot_path=config.robot_path, physics_frequency_hz=config.physics_frequency_hz), config)


def task_looks(task: str, filmed: Sequence[str]) -> LooksConfig:
    """What a task lets look different from episode to episode, where cameras of the names ``filmed`` are filmed.

    Raises:
        NotFoundError: the task is unknown; the message lists the known ones.
    """
    return _task_class(task).looks(filmed)


def _task_class(task: str) -> Any:
    if not isinstance(task, str) or task not in _TASKS:
        raise NotFoundError(f"no task {task!r}; tasks: {', '.join(_TASKS)}")
    return EntryPoint(task, _TASKS[task], "").load()
