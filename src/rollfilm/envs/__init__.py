"""Tasks as Gymnasium vector environments. Importing this package makes them known to Gymnasium."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from rollfilm.envs.registration import register_environments

if TYPE_CHECKING:
    from rollfilm.envs.autoreset import NextStepAutoreset, SameStepAutoreset
    from rollfilm.envs.catalog import make, task_names
    from rollfilm.envs.config import EnvConfig
    from rollfilm.envs.single_env import TaskEnv
    from rollfilm.envs.vector_env import TaskVectorEnv
    from rollfilm.policies import expert_for

__all__ = ["EnvConfig", "NextStepAutoreset", "SameStepAutoreset", "TaskEnv", "TaskVectorEnv", "expert_for", "make", "task_names"]

_HOME = {
    "EnvConfig": "rollfilm.envs.config",
    "NextStepAutoreset": "rollfilm.envs.autoreset",
    "SameStepAutoreset": "rollfilm.envs.autoreset",
    "TaskEnv": "rollfilm.envs.single_env",
    "TaskVectorEnv": "rollfilm.envs.vector_env",
    "expert_for": "rollfilm.policies",
    "make": "rollfilm.envs.catalog",
    "task_names": "rollfilm.envs.catalog",
}

register_environments()


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
