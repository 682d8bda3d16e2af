"""A renderer says what memory it takes, splits what does not fit at once, and says how many worlds would fit."""

import re

import numpy as np
import pytest
import warp as wp

from render.looks_scene import looks_scene
from render.moving import moving_scene, random_poses, worlds
from render.scenes import still
from rollfilm.errors import MemoryBudgetError
from rollfilm.render import BatchRenderer, CameraRequest, RenderOptions, WorldLooks, budget, cuda
from rollfilm.render.batch import group_cameras
from rollfilm.render.kernels.batch import WorkLists
from rollfilm.render.kernels.types import SceneData

FRONT = CameraRequest("front", 30, 40, ("rgb", "depth_m"))
SHADOWS = RenderOptions(shadows=True, shadow_map_size=64)


def renderer_of(num_worlds=3, camera=FRONT, options=SHADOWS, scene=None, **more):
    return BatchRenderer(scene or moving_scene(), num_worlds, [camera], num_threads=1, options=options, **more)


def plan_of(*args, **more):
    renderer = renderer_of(*args, **more)
    renderer.close()
    return renderer.memory_plan


def free_memory(monkeypatch, num_bytes):
    monkeypatch.setattr(budget, "available_memory_bytes", lambda: num_bytes)


def test_the_plan_names_what_is_allocated():
    plan = plan_of()
    assert plan.parts["pictures"] == 3 * 30 * 40 * (3 + 4)
    assert plan.parts["visibility"] >= 30 * 40 * 8
    assert plan.parts["shadow maps"] >= 3 * 2 * 4 * 64 * 64  # two lights
    assert plan.total_bytes == sum(plan.parts.values())
    assert list(plan.parts.values()) == sorted(plan.parts.values(), reverse=True)
    first, *rows = str(plan).splitlines()
    assert re.fullmatch(r"memory of 3 worlds on cpu: [\d.]+ MB of [\d.]+ [GT]B free", first)
    assert [row.split("  ")[1] for row in rows] == [name for name, size in plan.parts.items() if size]


def test_pictures_in_arrays_of_the_callers_are_not_planned():
    rgb = np.zeros((3, 30, 40, 3), np.uint8)
    assert plan_of(out={"front": {"rgb": rgb}}).parts["pictures"] == 3 * 30 * 40 * 4


def test_what_worlds_share_is_counted_as_it_is_packed():
    renderer = renderer_of(scene=looks_scene())
    renderer.close()
    data = renderer._packed.data
    arrays = [getattr(data, name) for name in SceneData.vars]
    packed = sum(array.size * wp.types.type_size_in_bytes(array.dtype) for array in arrays if isinstance(array, wp.array))
    assert 0.5 * packed < renderer.memory_plan.parts["meshes and textures"] < 2 * packed


def bytes_of(arrays):
    return sum(array.size * wp.types.type_size_in_bytes(array.dtype) for array in arrays)


def pipeline_bytes(stages):
    lists = [getattr(stages._lists, name) for name in WorkLists.vars]
    return bytes_of([*lists, stages._visibility, stages._outlooks, stages._lamps])


class Gpu:
    """A GPU of which the plan asks nothing else."""

    is_cuda, sm_count = True, 132

    def __init__(self, free_memory):
        self.free_memory = free_memory

    def __str__(self):
        return "cuda:0"


def gpu_plan(free_memory, num_worlds=5, options=SHADOWS, scene=None):
    scene = scene or moving_scene()
    groups = group_cameras([FRONT], [scene.camera("front")])
    return budget.plan_memory(scene, num_worlds, groups, Gpu(free_memory), 1, options)


@pytest.mark.parametrize("scene", [moving_scene, looks_scene])
@pytest.mark.parametrize("options", [SHADOWS, RenderOptions(samples=4)])
def test_buffers_of_a_gpu_are_counted_as_they_are_allocated(monkeypatch, scene, options):
    renderer = renderer_of(5, scene=scene(), options=options)
    monkeypatch.setattr(renderer._device, "sm_count", 132)
    packed, plan = renderer._packed, gpu_plan(1 << 40, scene=scene(), options=options)
    stages = cuda.CudaPipeline(packed.data, renderer._world, renderer._batches, packed.worst_clusters, renderer._device, options)
    assert plan.parts["visibility"] == pipeline_bytes(stages)
    assert plan.parts["shadow maps"] == bytes_of([renderer._world.shadow_map])
    renderer.close()


def test_a_pipeline_takes_no_more_than_was_planned(monkeypatch):
    renderer = renderer_of(300, options=RenderOptions())
    monkeypatch.setattr(renderer._device, "sm_count", 132)
    packed, plenty = renderer._packed, gpu_plan(1 << 40, 300, RenderOptions())
    plan = gpu_plan(plenty.total_bytes * 3 // 4, 300, RenderOptions())
    stages = cuda.CudaPipeline(
        packed.data,
        renderer._world,
        renderer._batches,
        packed.worst_clusters,
        renderer._device,
        renderer._options,
        visibility_bytes=plan.working.visibility_bytes,
    )
    assert tuple(stages._chunks) == plan.views_at_once < (300,)
    assert pipeline_bytes(stages) == plan.parts["visibility"] < plenty.parts["visibility"]
    renderer.close()


def test_buffers_of_a_gpu_shrink_to_what_is_free():
    plenty = gpu_plan(1 << 40, 4000)
    assert (plenty.worlds_at_once, *plenty.views_at_once) == (4000, 4000)
    sizes = []
    for cut in (0.999, 0.8, 0.6, 0.5):
        plan = gpu_plan(int(plenty.total_bytes * cut), 4000)
        assert plan.total_bytes <= plan.available
        assert plan.total_bytes > 0.6 * plan.available  # what is there is used
        sizes.append((plan.worlds_at_once, plan.views_at_once[0]))
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1][0] < 4000
    without = gpu_plan(int(gpu_plan(1 << 40, 4000, RenderOptions()).total_bytes * 0.8), 4000, RenderOptions())
    assert without.total_bytes <= without.available
    assert without.views_at_once[0] < 4000
    with pytest.raises(MemoryBudgetError, match="take fewer worlds"):
        gpu_plan(1_000_000, 4000)


@pytest.mark.parametrize("options", [RenderOptions(), SHADOWS])
def test_looks_that_enlarge_the_buffers_are_counted(monkeypatch, options):
    """Translucent geoms take six times the keys."""
    scene = looks_scene()
    camera = CameraRequest("front", 300, 400)
    renderer = renderer_of(scene=scene, options=options, camera=camera)
    before = renderer._working.num_bytes
    looks = WorldLooks(geom_rgba={"box": np.full((3, 4), 0.5)})
    free_memory(monkeypatch, 4 * before)
    with pytest.raises(MemoryBudgetError, match=r"looks of 3 worlds: .* needed"):
        renderer.set_looks(looks)
    assert renderer._working.num_bytes == before
    free_memory(monkeypatch, 8 * before)
    renderer.set_looks(looks)
    keys = sum(size.pixels + size.samples for size in (batch.size for batch in renderer._batches))
    assert renderer._working.num_bytes == 8 * keys > 5 * before
    renderer.close()


def test_a_batch_whose_shadow_maps_do_not_fit_is_split_and_shows_the_same(monkeypatch):
    source = worlds(random_poses(5), np.arange(5))
    whole = renderer_of(5)
    expected = whole.render(source)["front"].rgb.copy()
    whole.close()
    maps = whole.memory_plan.parts["shadow maps"]
    free_memory(monkeypatch, whole.memory_plan.total_bytes - maps // 2)
    split = renderer_of(5)
    assert split.memory_plan.worlds_at_once == 2
    assert split.memory_plan.total_bytes <= split.memory_plan.available
    assert "shadow maps of 2 worlds at once" in str(split.memory_plan)
    np.testing.assert_array_equal(split.render(source)["front"].rgb, expected)
    split.close()


def test_the_error_says_how_many_worlds_fit(monkeypatch):
    free_memory(monkeypatch, 50_000_000)
    with pytest.raises(MemoryBudgetError, match=r"pictures of 100000 worlds: .*\(pictures 840.0 MB, ") as caught:
        renderer_of(100_000)
    fit = int(re.search(r"about (\d+) worlds fit", str(caught.value)).group(1))
    assert plan_of(fit).total_bytes <= 50_000_000
    with pytest.raises(MemoryBudgetError):
        renderer_of(fit + fit // 10)
    free_memory(monkeypatch, 1000)
    with pytest.raises(MemoryBudgetError, match=r"not even one world fits"):
        renderer_of(2)


@pytest.mark.parametrize(
    "looks",
    [
        WorldLooks(geom_rgba={"box": np.full((3, 4), 0.5)}),
        WorldLooks(geom_scale={"box": np.full((3, 3), 2.0)}),
        WorldLooks(camera_fov_y_rad={"front": np.full(3, 0.5)}),
    ],
)
def test_looks_that_do_not_fit_change_nothing(monkeypatch, looks):
    scene = looks_scene()
    renderer = renderer_of(scene=scene, options=RenderOptions())
    before = renderer.render(still(scene, 3))["front"].rgb.copy()
    free_memory(monkeypatch, 20)
    with pytest.raises(MemoryBudgetError, match=r"looks of 3 worlds: .* needed and 20 B are available"):
        renderer.set_looks(looks)
    np.testing.assert_array_equal(renderer.render(still(scene, 3))["front"].rgb, before)
    renderer.close()
