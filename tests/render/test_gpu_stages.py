"""The stages that a GPU runs, run on the CPU: the same kernels, held to what a CPU computes in one go, nearly always to the byte.

Texture units are all that a CPU lacks, so the scene has no textures and no sky.
"""

import dataclasses
from dataclasses import replace

import numpy as np
import pytest
import warp as wp

from render.composites import MODEL
from render.looks_scene import looks_scene, with_geom
from render.moving import ALL, moving_scene, random_poses, worlds
from render.scenes import look, scene_of, still, thing
from render.test_cracks import slivers
from render.test_outputs import EVERY
from rollfilm.engines.still import StillPoses
from rollfilm.errors import InvalidArgumentError
from rollfilm.render import BatchRenderer, CameraRequest, RenderOptions, WorldLooks, cuda
from rollfilm.render import limits as gpu_limits
from rollfilm.render.active import Schedule
from rollfilm.scene import Fog
from rollfilm.scene.mujoco import load_scene

NUM_WORLDS = 5
CAMERAS = (("front", 37, 90), ("rider", 24, 31), ("above", 37, 90))


def plain_scene():
    scene = moving_scene()
    geoms = tuple(dataclasses.replace(g, material=dataclasses.replace(g.material, texture=-1)) for g in scene.geoms)
    return dataclasses.replace(scene, geoms=geoms, skybox=-1, fog=Fog((0.3, 0.5, 0.6), 0.5, 3.0))


PLAIN, SHADOWS = RenderOptions(), RenderOptions(shadows=True, fog=True)


@pytest.fixture(scope="module", params=[PLAIN, SHADOWS], ids=["plain", "shadows"])
def renderer(request):
    requests = [CameraRequest(name, height, width, ALL) for name, height, width in CAMERAS]
    front = plain_scene().camera("front")
    lenses = {
        "shifted": {"fx": 60.0, "fy": 45.0, "cx": 30.0, "cy": 5.0},
        "flat": {"extent_y_m": 2.0},
        "bent": {"fx": 60.0, "distortion": (-0.1, 0.01, 0.002, 0.0, 0.0)},
        "fisheye": {"fx": 25.0, "fisheye": (0.0, 0.0, 0.0, 0.0)},
    }
    requests += [CameraRequest(dataclasses.replace(front, name=name, **lens), 37, 90, EVERY) for name, lens in lenses.items()]
    renderer = BatchRenderer(plain_scene(), NUM_WORLDS, requests, options=request.param)
    renderer.options = request.param
    yield renderer
    renderer.close()


@pytest.fixture(scope="module")
def sampled():
    requests = [CameraRequest(name, height, width, ALL) for name, height, width in CAMERAS]
    renderer = BatchRenderer(plain_scene(), NUM_WORLDS, requests, options=RenderOptions(samples=4))
    yield renderer
    renderer.close()


def render(renderer, seed: int):
    """The renderer's frames of a random state, copied."""
    poses = worlds(random_poses(NUM_WORLDS, seed), np.arange(NUM_WORLDS)).body_poses()
    frames = renderer.render(StillPoses(renderer._scene, poses))
    return copied(frames)


def copied(frames):
    return {
        (name, output): getattr(frames[name], output).copy()
        for name in frames
        for output in EVERY
        if getattr(frames[name], output) is not None
    }


@pytest.mark.parametrize(
    "limits",
    [
        {},
        {"MAX_CLUSTERS": 40},
        {"MAX_SMALL": 64},
        {"MAX_TILES": 64},
        {"MAX_CLUSTERS": 1, "MAX_SMALL": 1, "MAX_TILES": 1},
        {"VISIBILITY_BYTES": 3 * 8 * 37 * 90},
    ],
    ids=str,
)
def test_stages_give_the_same_bytes_whatever_overflows(renderer, monkeypatch, limits):
    check_stages(renderer, monkeypatch, limits)


FEW_LIMITS = pytest.mark.parametrize(
    "limits", [{}, {"MAX_CLUSTERS": 1, "MAX_SMALL": 1, "MAX_TILES": 1}, {"VISIBILITY_BYTES": 3 * 8 * 37 * 90}], ids=str
)


@FEW_LIMITS
def test_stages_give_the_same_bytes_with_samples(sampled, monkeypatch, limits):
    check_stages(sampled, monkeypatch, limits)


@pytest.fixture(scope="module")
def composed():
    """Glass, a mirror, and a view from below the floor."""
    scene = load_scene(MODEL.format(samples=4, floor=0.3, table=0, glass="glass"))
    requests = [CameraRequest(name, 31, 70, ALL) for name in ("front", "below")]
    renderer = BatchRenderer(replace(scene, skybox=-1), 2, requests, options=RenderOptions(samples=4, reflections=True))
    yield renderer
    renderer.close()


@FEW_LIMITS
def test_stages_give_the_same_bytes_of_several_surfaces(composed, monkeypatch, limits):
    source = still(composed._scene, 2)
    check_stages(composed, monkeypatch, limits, lambda seed: copied(composed.render(source)), 1)


def test_stages_give_the_same_bytes_of_slivers(monkeypatch):
    eye = look((0.3, -0.4, 0.2), (0.1, 0.0, 0.0), fov_y_rad=0.6)
    scene = scene_of([slivers(3000, 0)], [thing(0, 1)], near_m=0.01)
    renderer = BatchRenderer(scene, 1, [CameraRequest(eye, 37, 90, ("depth_m", "segmentation"))])
    check_stages(renderer, monkeypatch, {}, lambda seed: copied(renderer.render(still(scene))), 1)
    renderer.close()


def test_stages_give_the_same_bytes_of_a_plane_from_behind(monkeypatch):
    scene = replace(load_scene(MODEL.format(samples=1, floor=0, table=0, glass="solid")), skybox=-1)
    renderer = BatchRenderer(scene, 1, [CameraRequest(name, 31, 70, ALL) for name in ("front", "below")])
    check_stages(renderer, monkeypatch, {}, lambda seed: copied(renderer.render(still(scene))), 2)
    renderer.close()


def check_stages(renderer, monkeypatch, limits, film=None, states=3):
    """Hold the stages to the CPU's bytes, with other limits of ``cuda``."""
    device = wp.get_device("cpu")
    monkeypatch.setattr(device, "sm_count", 1)
    for name, value in limits.items():
        monkeypatch.setattr(gpu_limits, name, value)
    packed = renderer._packed
    options = getattr(renderer, "options", RenderOptions())
    stages = cuda.CudaPipeline(packed.data, renderer._world, renderer._batches, packed.worst_clusters, device, options)
    film = film or (lambda seed: render(renderer, seed))
    for seed in range(states):  # the visibility buffer must come back empty from each
        want = film(seed)
        for batch in renderer._batches:
            for picture in batch._outputs.values():
                picture.fill_(7)
        renderer._world.shadow_map.fill_(0x7F000000)
        stages._launch(renderer._bodies, renderer._placements, [True] * len(renderer._batches))
        got = copied(renderer._frames)
        for key, picture in want.items():
            check_same(got[key], picture, f"{key} of state {seed}")


def check_same(got, want, what):
    """Equal to the byte; a GPU computes the ground's colour in axes of the ground, which may round a few bytes to their neighbours."""
    if want.dtype == np.uint8 and want.size:
        differ = np.abs(got.astype(int) - want)
        assert differ.max() <= 1, what
        assert np.mean(differ > 0) <= 2e-4, what
    else:
        np.testing.assert_array_equal(got, want, err_msg=what)


def test_stages_show_each_world_its_own_looks(monkeypatch):
    scene = looks_scene()
    for name in ("floor", "box"):
        scene = with_geom(scene, name, material_texture=-1)
    scene = dataclasses.replace(scene, skybox=-1)
    device = wp.get_device("cpu")
    monkeypatch.setattr(device, "sm_count", 1)
    random = np.random.default_rng(0)
    requests = [CameraRequest(name, 37, 90, ALL) for name in ("front", "above")]
    others = BatchRenderer(scene, NUM_WORLDS, requests, options=SHADOWS)
    others.set_looks(
        WorldLooks(
            geom_rgba={("floor", "ball"): random.uniform(0.1, 1, (NUM_WORLDS, 2, 4))},
            geom_visible={("floor", "ball"): random.random((NUM_WORLDS, 2)) > 0.4},
            geom_scale={"ball": random.uniform(0.5, 2, (NUM_WORLDS, 3))},
            geom_mesh={"geom_3": random.choice(["block", "wedge"], NUM_WORLDS)},
            light_diffuse={"lamp": random.random((NUM_WORLDS, 3))},
            headlight_ambient=random.random((NUM_WORLDS, 3)),
            camera_offset={"front": random.uniform(-0.2, 0.2, (NUM_WORLDS, 3))},
            may_be_unseen=True,
        )
    )
    poses = random_poses(NUM_WORLDS)
    want = copied(others.render(StillPoses(scene, poses)))
    assert all((want["front", output][0] != want["front", output][k]).any() for output in ALL for k in range(1, NUM_WORLDS))
    stages = cuda.CudaPipeline(others._packed.data, others._world, others._batches, others._looks.worst_clusters, device, SHADOWS)
    for picture in (others._frames[name] for name in ("front", "above")):
        picture.rgb[:], picture.depth_m[:], picture.segmentation[:] = 7, 7, 7
    others._world.shadow_map.fill_(0x7F000000)
    stages._launch(others._bodies, others._placements, [True] * len(others._batches))
    for key, picture in copied(others._frames).items():
        check_same(picture, want[key], str(key))
    others.close()


@pytest.mark.parametrize("limits", [{}, {"VISIBILITY_BYTES": 3 * 8 * 37 * 90}], ids=str)
def test_stages_film_the_worlds_and_cameras_that_are_due(renderer, monkeypatch, limits):
    device = wp.get_device("cpu")
    monkeypatch.setattr(device, "sm_count", 1)
    for name, value in limits.items():
        monkeypatch.setattr(gpu_limits, name, value)
    packed = renderer._packed
    options = getattr(renderer, "options", RenderOptions())
    stages = cuda.CudaPipeline(packed.data, renderer._world, renderer._batches, packed.worst_clusters, device, options)
    due = [i != 1 for i in range(len(renderer._batches))]
    left_out = {member.request.name for batch, is_due in zip(renderer._batches, due, strict=True) if not is_due for member in batch.members}
    assert left_out
    want = render(renderer, 4)
    before = render(renderer, 5)
    poses = worlds(random_poses(NUM_WORLDS, 4), np.arange(NUM_WORLDS)).body_poses()
    renderer._poses.load(poses)
    renderer._bodies.position, renderer._bodies.quat_wxyz = renderer._poses.position, renderer._poses.quat_wxyz
    renderer._schedule.choose_worlds(np.array([True, False, False, True, False]))
    stages._launch(renderer._bodies, renderer._placements, due)
    renderer._schedule.choose_worlds(None)
    for (name, output), picture in copied(renderer._frames).items():
        filmed = np.zeros(NUM_WORLDS, bool) if name in left_out else np.isin(np.arange(NUM_WORLDS), [0, 3])
        check_same(picture[filmed], want[name, output][filmed], (name, output))
        np.testing.assert_array_equal(picture[~filmed], before[name, output][~filmed])


def test_lists_of_worlds_on_the_device_are_taken_there():
    schedule = Schedule(5, [1], wp.get_device("cpu"))
    for chosen in (
        wp.array([False, True, False, True, False], dtype=wp.bool, device="cpu"),
        wp.array([3, 1, 7, -1], dtype=wp.int64, device="cpu"),
    ):
        schedule.choose_worlds(chosen)
        assert schedule.active.numpy().tolist() == [0, 1, 0, 1, 0]
    for chosen in (wp.zeros(4, dtype=wp.bool, device="cpu"), wp.zeros(5, dtype=float, device="cpu")):
        with pytest.raises(InvalidArgumentError, match=r"on a device give a bool mask \(5,\), or int64 indices"):
            schedule.choose_worlds(chosen)
    schedule.choose_worlds(None)
    assert schedule.active.numpy().tolist() == [1] * 5
