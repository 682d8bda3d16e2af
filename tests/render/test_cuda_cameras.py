"""Lenses, layouts, schedules and arrays of the caller's own on an NVIDIA GPU: held to the CPU's pictures."""

from dataclasses import replace

import numpy as np
import pytest
import warp as wp

from render.moving import moving_scene, random_poses, worlds
from render.test_outputs import EVERY
from rollfilm.errors import InvalidArgumentError
from rollfilm.host import host_array
from rollfilm.render import BatchRenderer, CameraRequest

pytestmark = pytest.mark.cuda

NUM_WORLDS = 6
SIZE = (37, 50)
LENSES = {
    "shifted": {"fx": 40.0, "fy": 30.0, "cx": 12.0, "cy": 21.0},
    "flat": {"extent_y_m": 2.0},
    "barrel": {"fx": 30.0, "distortion": (-0.12, 0.02, 0.004, -0.003, 0.001)},
    "fisheye": {"fx": 13.0, "fisheye": (0.0, 0.0, 0.0, 0.0)},
}


@pytest.fixture(scope="module")
def device() -> str:
    if not wp.get_cuda_device_count():
        pytest.skip("no NVIDIA GPU")
    return "cuda:0"


def state(seed: int):
    source = worlds(random_poses(NUM_WORLDS, seed), np.arange(NUM_WORLDS))
    source.state_count = seed
    return source


def lens_requests(**options):
    front = moving_scene().camera("front")
    return [CameraRequest(replace(front, name=name, **lens), *SIZE, **options) for name, lens in LENSES.items()]


def host_copies(frames, outputs):
    return {(name, output): np.array(host_array(getattr(frames[name], output))) for name in frames for output in outputs}


def test_lenses_and_outputs_are_those_of_the_cpu(device):
    if not wp.is_cpu_available():
        pytest.skip("Warp cannot compile for the CPU here")
    pictures = []
    for where in (device, "cpu"):
        renderer = BatchRenderer(moving_scene(), NUM_WORLDS, lens_requests(outputs=EVERY), device=where)
        for _ in range(3):  # launched, recorded, replayed
            pictures.append(host_copies(renderer.render(state(1)), EVERY))
        renderer.close()
    for got in pictures[:3]:
        for (name, output), want in pictures[3].items():
            difference = np.abs(got[name, output].astype(float) - want)
            same = difference <= {"rgb": 1, "normal_world": 1e-3, "normal_camera": 1e-3}.get(output, 1e-4)
            assert same.mean() >= 0.995, (name, output)


@pytest.mark.parametrize("layout", ["nchw_uint8", "nchw_float16", "nchw_float32", "yuv420"])
def test_layouts_are_those_of_the_cpu(device, layout):
    if not wp.is_cpu_available():
        pytest.skip("Warp cannot compile for the CPU here")
    request = CameraRequest("front", *SIZE, rgb_layout=layout)
    pictures = []
    for where in (device, "cpu"):
        renderer = BatchRenderer(moving_scene(), NUM_WORLDS, [request], device=where)
        pictures.append(host_copies(renderer.render(state(2)), ("rgb",))["front", "rgb"])
        renderer.close()
    assert (pictures[0].shape, pictures[0].dtype) == (pictures[1].shape, pictures[1].dtype)
    step = 1 / 200 if "float" in layout else 1
    assert (np.abs(pictures[0].astype(float) - pictures[1]) <= step).mean() >= 0.995


@pytest.mark.parametrize("kind", ["host", "mask", "indices"])
def test_worlds_are_chosen_by_lists_on_the_device(device, kind):
    requests = [*lens_requests(), CameraRequest("rider", 24, 30, every=2)]
    renderer = BatchRenderer(moving_scene(), NUM_WORLDS, requests, device=device)
    free = BatchRenderer(moving_scene(), NUM_WORLDS, requests, device=device)
    want = [host_copies(free.render(state(seed)), ("rgb",)) for seed in (0, 1, 2)]
    mask = np.isin(np.arange(NUM_WORLDS), [4, 1])
    chosen = {
        "host": mask,
        "mask": wp.array(mask, dtype=wp.bool, device=device),
        "indices": wp.array([4, 1, 99], dtype=wp.int64, device=device),
    }[kind]
    renderer.render(state(0))
    renderer.render(state(0))
    frames = renderer.render(state(2), worlds=chosen)  # every second call: rider is filmed now
    for key, picture in host_copies(frames, ("rgb",)).items():
        np.testing.assert_array_equal(picture[mask], want[2][key][mask], err_msg=str(key))
        np.testing.assert_array_equal(picture[~mask], want[0][key][~mask], err_msg=str(key))
    assert host_array(frames["flat"].world_state_counts).tolist() == np.where(mask, 2, 0).tolist()
    assert (frames["rider"].state_count, frames["rider"].age) == (2, 0)
    assert (renderer.render(state(3))["rider"].state_count, renderer.render(state(4))["rider"].age) == (2, 0)
    renderer.close()
    free.close()


def test_pictures_are_written_to_the_callers_tensors(device):
    torch = pytest.importorskip("torch")
    rgb = torch.zeros((NUM_WORLDS, *SIZE, 3), dtype=torch.uint8, device=device)
    normal = torch.zeros((NUM_WORLDS, *SIZE, 3), dtype=torch.float32, device=device)
    request = CameraRequest("front", *SIZE, outputs=("rgb", "normal_world"))
    renderer = BatchRenderer(moving_scene(), NUM_WORLDS, [request], device=device, out={"front": {"rgb": rgb, "normal_world": normal}})
    free = BatchRenderer(moving_scene(), NUM_WORLDS, [request], device=device)
    for seed in range(3):
        frames, want = renderer.render(state(seed))["front"], free.render(state(seed))["front"]
        assert frames.rgb.data_ptr() == rgb.data_ptr()
        np.testing.assert_array_equal(host_array(rgb), host_array(want.rgb))
        np.testing.assert_array_equal(host_array(normal), host_array(want.normal_world))
    renderer.close()
    free.close()
    for wrong, message in (
        (rgb.cpu(), "is on cpu, the renderer on cuda:0"),
        (rgb.float(), "came as float32"),
        (rgb[:, :, ::2], "must be uint8"),
    ):
        with pytest.raises(InvalidArgumentError, match=message):
            BatchRenderer(moving_scene(), NUM_WORLDS, [request], device=device, out={"front": {"rgb": wrong}})
