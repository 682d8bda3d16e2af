import os

import numpy as np
import pytest

from rollfilm.scene import cache, primitives
from rollfilm.scene.levels import LevelConfig, Surface


def sphere_surface():
    level = primitives.sphere(0.2).levels[3]
    return Surface(level.vertices, level.triangles, level.normals[level.triangles])


@pytest.fixture
def builds(monkeypatch):
    """Counts how often levels are built."""
    count = []

    def counted(*arguments):
        count.append(1)
        return build(*arguments)

    build = cache.build_levels
    monkeypatch.setattr(cache, "build_levels", counted)
    return count


def entries():
    return sorted((cache.cache_folder() / "meshes").iterdir())


def same(a, b):
    return len(a) == len(b) and all(
        np.array_equal(x.vertices, y.vertices)
        and np.array_equal(x.normals, y.normals)
        and np.array_equal(x.triangles, y.triangles)
        and x.error_m == y.error_m
        and ((x.uvs is None and y.uvs is None) or np.array_equal(x.uvs, y.uvs))
        for x, y in zip(a, b, strict=True)
    )


@pytest.mark.parametrize("textured", [False, True])
def test_the_second_time_levels_come_from_the_disk_unchanged(builds, textured):
    surface = sphere_surface()
    if textured:
        surface = Surface(surface.positions, surface.triangles, surface.normals, surface.normals[..., :2])
    first = cache.cached_levels(surface)
    second = cache.cached_levels(surface)
    assert len(builds) == 1
    assert same(first, second)
    assert [path.suffix for path in entries()] == [".npz"]


def test_what_changes_the_levels_changes_the_entry(builds):
    surface = sphere_surface()
    variants = [
        Surface(surface.positions * np.float32(1.001), surface.triangles, surface.normals),
        Surface(surface.positions, surface.triangles[1:], surface.normals[1:]),
        Surface(surface.positions, surface.triangles, -surface.normals),
        Surface(surface.positions, surface.triangles, surface.normals, surface.normals[..., :2]),
    ]
    for variant in [surface, *variants]:
        cache.cached_levels(variant)
    cache.cached_levels(surface, LevelConfig(error_growth=3.0))
    assert len(builds) == 6
    assert len(entries()) == 6


@pytest.mark.parametrize("damage", ["truncated", "flipped", "empty", "not an archive", "other arrays", "parts of another entry"])
def test_a_damaged_entry_is_built_again(builds, damage):
    surface = sphere_surface()
    good = cache.cached_levels(surface)
    (path,) = entries()
    content = path.read_bytes()
    middle = len(content) // 2
    match damage:
        case "truncated":
            path.write_bytes(content[:middle])
        case "flipped":
            path.write_bytes(content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :])
        case "empty":
            path.write_bytes(b"")
        case "not an archive":
            path.write_bytes(b"x" * 100)
        case "other arrays":
            np.savez(path, counts=np.array([[1, 2]]))
        case "parts of another entry":
            arrays = dict(np.load(path))
            np.savez(path, **{**arrays, "counts": arrays["counts"] + 1})
    assert same(cache.cached_levels(surface), good)
    assert len(builds) == 2
    assert same(cache.cached_levels(surface), good)
    assert len(builds) == 2


def test_a_cache_that_cannot_be_written_costs_only_time(builds, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("ROLLFILM_CACHE", str(tmp_path / "file"))
    surface = sphere_surface()
    assert same(cache.cached_levels(surface), cache.cached_levels(surface))
    assert len(builds) == 2


def test_a_write_that_fails_leaves_nothing_behind(monkeypatch):
    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", fail)
    assert len(cache.cached_levels(sphere_surface())) > 1
    assert entries() == []


def test_where_the_cache_is(monkeypatch, tmp_path):
    monkeypatch.setenv("ROLLFILM_CACHE", str(tmp_path / "own"))
    assert cache.cache_folder() == tmp_path / "own"
    monkeypatch.delenv("ROLLFILM_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache.cache_folder() == tmp_path / "xdg" / "rollfilm"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache.cache_folder() == tmp_path / ".cache" / "rollfilm"
