"""Kernels of levels of detail are compiled beside the work that waits for them, and a compiler that fails is heard of."""

import threading

import mujoco
import pytest

from rollfilm.scene import loading
from rollfilm.scene.mujoco import load_scene


@pytest.fixture
def spheres():
    """A model of twelve meshes."""
    spec = mujoco.MjSpec()
    for k in range(12):
        mesh = spec.add_mesh(name=f"ball{k}", scale=[0.1 + 0.01 * k] * 3)
        mesh.make_sphere(subdivision=2)
        spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_MESH, meshname=mesh.name)
    return spec.compile()


def test_the_thread_that_asks_for_a_scene_compiles_while_others_work(spheres, monkeypatch):
    load, compiled_in, begun = loading._load, [], threading.Event()
    waits = loading.load_kernels

    def observed():
        compiled_in.append(threading.current_thread())
        # compiling takes as long as it takes another thread to come to where it needs the kernels
        if len(compiled_in) == 1:
            assert begun.wait(10)
        load()

    def coming():
        begun.set()
        waits()

    monkeypatch.setattr(loading, "_load", observed)
    for module in ("rollfilm.scene.checks", "rollfilm.scene.closest"):
        monkeypatch.setattr(f"{module}.load_kernels", coming)
    scene = load_scene(spheres)
    assert compiled_in[0] is threading.current_thread()
    assert all(len(mesh.levels) > 1 for mesh in scene.meshes)
    assert not any(thread.name.startswith("rollfilm-levels") for thread in threading.enumerate())


def test_a_scene_from_the_disk_needs_no_kernel(spheres, monkeypatch):
    first = load_scene(spheres)

    def fail():
        raise AssertionError("kernels were loaded")

    monkeypatch.setattr(loading, "_load", fail)
    assert [len(mesh.levels) for mesh in load_scene(spheres).meshes] == [len(mesh.levels) for mesh in first.meshes]


def test_a_compiler_that_fails_is_heard_of_and_nothing_more_is_begun(spheres, monkeypatch):
    tried = []

    def fail():
        tried.append(1)
        raise RuntimeError("CPU kernel build failed")

    monkeypatch.setattr(loading, "_load", fail)
    monkeypatch.setattr("rollfilm.scene.mujoco_surfaces.available_cores", lambda: 2)
    with pytest.raises(RuntimeError, match="CPU kernel build failed"):
        load_scene(spheres)
    # by the thread that asked, and by those two that had begun a mesh each
    assert len(tried) <= 5
    assert not any(thread.name.startswith("rollfilm-levels") for thread in threading.enumerate())


def test_a_mesh_that_fails_is_heard_of(spheres, monkeypatch):
    def fail(*_):
        raise MemoryError("no room")

    monkeypatch.setattr("rollfilm.scene.cache.build_levels", fail)
    with pytest.raises(MemoryError, match="no room"):
        load_scene(spheres)
    assert not any(thread.name.startswith("rollfilm-levels") for thread in threading.enumerate())
