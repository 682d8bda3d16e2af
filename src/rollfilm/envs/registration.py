"""Makes the tasks known to Gymnasium."""

from typing import Any

__all__ = ["make_pick_cube", "make_pick_cube_vec", "register_environments"]


def register_environments() -> None:
    """Register ``rollfilm/PickCube-v0`` for ``gymnasium.make`` and ``gymnasium.make_vec``; a second call changes nothing."""
    from gymnasium.envs.registration import register, registry

    if "rollfilm/PickCube-v0" not in registry:
        register(
            id="rollfilm/PickCube-v0",
            entry_point="rollfilm.envs.registration:make_pick_cube",
            vector_entry_point="rollfilm.envs.registration:make_pick_cube_vec",
        )


def make_pick_cube(**options: Any) -> Any:
    """One world of pick-cube."""
    from rollfilm.envs.single_env import TaskEnv

    return TaskEnv("pick-cube", **options)


def make_pick_cube_vec(num_envs: int = 1, **options: Any) -> Any:
    """``num_envs`` worlds of pick-cube."""
    from rollfilm.envs.catalog import make

    return make("pick-cube", num_envs=num_envs, **options)
