"""Environments that are slow to build are built once; without robot models their tests are skipped."""

import pytest

from rollfilm.envs.robots import robot_folder
from rollfilm.errors import RobotNotFoundError


@pytest.fixture(autouse=True)
def _robots(request):
    if request.node.get_closest_marker("robots"):
        try:
            robot_folder("franka_emika_panda")
        except RobotNotFoundError as error:
            pytest.skip(str(error))


@pytest.fixture(scope="session")
def _pick_cube_envs():
    made = {}
    yield made
    for env in made.values():
        env.close()


@pytest.fixture
def make_env(_pick_cube_envs):
    """Make a pick-cube environment, or take the one made before with the same options. Reset it before use."""
    import rollfilm

    def make(**options):
        key = repr(sorted(options.items()))
        if key not in _pick_cube_envs:
            _pick_cube_envs[key] = rollfilm.make("pick-cube", **options)
        return _pick_cube_envs[key]

    return make
