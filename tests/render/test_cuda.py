"""The renderer on an NVIDIA GPU. What it computes is held to the CPU's pictures, and to its own in other batches."""

import numpy as np
import pytest
import warp as wp

from render.moving import ALL, moving_scene, random_poses, worlds
from render.raycast import rays_inside_sphere
from render.scenes import look, scene_of, still, thing
from rollfilm.engines.still import StillPoses
from rollfilm.errors import InvalidArgumentError
from rollfilm.render import BatchRenderer, CameraRequest, RenderOptions
from rollfilm.render import limits as gpu_limits
from rollfilm.scene import BodyPoses
from rollfilm.scene.primitives import box, sphere

pytestmark = pytest.mark.cuda

NUM_WORLDS = 16
CAMERAS = (("front", 37, 90), ("rider", 24, 31), ("above", 37, 90))


@pytest.fixture(scope="module")
def device() -> str:
    if not wp.get_cuda_device_count():
        pytest.skip("no NVIDIA GPU")
    return "cuda:0"


def on_host(array) -> np.ndarray:
    """A copy of a torch tensor, or Warp or NumPy array."""
    if isinstance(array, np.ndarray):
        return array.copy()
    return array.cpu().numpy() if hasattr(array, "cpu") else array.numpy()


def requests(cameras=CAMERAS, outputs=ALL):
    return [CameraRequest(name, height, width, outputs) for name, height, width in cameras]


def copies(frames, outputs=ALL):
    return {(name, output): on_host(getattr(frames[name], output)) for name in frames for output in outputs}


def pictures(source, device, cameras=CAMERAS, outputs=ALL, **options):
    renderer = BatchRenderer(source.scene, source.num_worlds, requests(cameras, outputs), device=device, **options)
    rendered = copies(renderer.render(source), outputs)
    renderer.close()
    return rendered


@pytest.fixture(scope="module")
def poses():
    return random_poses(NUM_WORLDS)


@pytest.fixture(scope="module")
def reference(device, poses):
    return pictures(worlds(poses, np.arange(NUM_WORLDS)), device)


def assert_same(got, want, which=slice(None)):
    for key, picture in got.items():
        np.testing.assert_array_equal(picture, want[key][which], err_msg=str(key))


def test_frames_are_those_of_the_cpu(reference, poses):
    if not wp.is_cpu_available():
        pytest.skip("Warp cannot compile for the CPU here")
    for (name, output), want in pictures(worlds(poses, np.arange(NUM_WORLDS)), "cpu").items():
        got = reference[name, output]
        assert (got.shape, got.dtype) == (want.shape, want.dtype)
        if output == "rgb":
            same = (np.abs(got.astype(int) - want.astype(int)) <= 1).all(axis=-1)
        elif output == "depth_m":
            same = np.isclose(got, want, rtol=1e-5, atol=0)
        else:
            same = got == want
        assert same.mean() >= 0.999, (name, output)


def test_what_deforms_and_cube_textures_are_those_of_the_cpu(device):
    if not wp.is_cpu_available():
        pytest.skip("Warp cannot compile for the CPU here")
    pytest.importorskip("mujoco")
    from render.soft import soft_model, states
    from render.test_texture_kinds import model_of
    from rollfilm.engines.mujoco import MujocoEngine

    for model, qpos, cameras in (
        (soft_model(), states(5), (("front", 90, 120), ("side", 61, 40))),
        (model_of("cube", "false"), None, (("above", 120, 160),)),
    ):
        engine = MujocoEngine(model, 5)
        engine.reset(qpos=qpos)
        near, far = (pictures(engine, where, cameras) for where in ("cpu", device))
        for (name, output), want in near.items():
            got = far[name, output]
            close = np.isclose(got, want, rtol=1e-4, atol=1 if output == "rgb" else 0)
            assert close.mean() >= 0.999, (name, output)
        # the graph shows the next state, and a batch of two the same as one of five
        engine.reset(qpos=qpos)
        renderer = BatchRenderer(engine.scene, 5, requests(cameras), device=device)
        for _ in range(3):
            again = copies(renderer.render(engine))
        assert_same(again, far)
        renderer.close()
        engine.close()


def test_the_worlds_differ(reference):
    for i in range(1, NUM_WORLDS):
        assert (reference["front", "rgb"][i] != reference["front", "rgb"][0]).mean() > 0.01
    assert set(np.unique(reference["front", "segmentation"])) == {-1, 0, 1, 2, 3}


@pytest.mark.parametrize("count", [1, 2, 3, 7, 16])
def test_batch_size_and_slot_change_nothing(device, reference, poses, count):
    which = np.random.default_rng(count).permutation(NUM_WORLDS)[:count]
    assert_same(pictures(worlds(poses, which), device), reference, which)


@pytest.mark.parametrize("cameras", [CAMERAS[:1], CAMERAS[::-1], CAMERAS[1:]])
def test_other_cameras_and_their_order_change_nothing(device, reference, poses, cameras):
    assert_same(pictures(worlds(poses, [3, 11]), device, cameras), reference, [3, 11])


@pytest.mark.parametrize("outputs", [("rgb",), ("depth_m",), ("segmentation",)])
def test_an_output_does_not_change_with_the_others(device, reference, poses, outputs):
    assert_same(pictures(worlds(poses, np.arange(NUM_WORLDS)), device, CAMERAS, outputs), reference)


def test_a_graph_that_is_replayed_shows_each_new_state(device):
    # the first frame is launched, the second is recorded, those after it are replayed
    renderer = BatchRenderer(moving_scene(), 4, requests(), device=device)
    for frame in range(4):
        source = worlds(random_poses(4, seed=frame), np.arange(4))
        source.state_count = frame
        frames = renderer.render(source)
        assert frames.state_count == frame
        assert_same(copies(frames), pictures(source, device))
    renderer.close()


@pytest.mark.parametrize(
    "limits",
    [
        {"MAX_CLUSTERS": 5},
        {"MAX_SMALL": 9},
        {"MAX_TILES": 6},
        {"MAX_CLUSTERS": 40, "MAX_SMALL": 3},
        {"MAX_CLUSTERS": 1, "MAX_SMALL": 1, "MAX_TILES": 1},
    ],
    ids=str,
)
def test_work_lists_that_overflow_change_nothing(device, reference, poses, monkeypatch, limits):
    for name, value in limits.items():
        monkeypatch.setattr(gpu_limits, name, value)
    renderer = BatchRenderer(moving_scene(), NUM_WORLDS, requests(), device=device)
    # the counters start anew in every frame, replayed or not
    for _ in range(3):
        assert_same(copies(renderer.render(worlds(poses, np.arange(NUM_WORLDS)))), reference)
    renderer.close()


@pytest.mark.parametrize("views", [1, 3, 5])
def test_views_in_several_chunks_are_the_same(device, reference, poses, monkeypatch, views):
    monkeypatch.setattr(gpu_limits, "VISIBILITY_BYTES", views * 8 * 37 * 90)
    assert_same(pictures(worlds(poses, np.arange(NUM_WORLDS)), device), reference)


def test_a_fine_sphere_has_no_hole(device):
    random = np.random.default_rng(0)
    eyes = random.normal(size=(24, 3))
    eyes *= random.uniform(0.52, 3.0, (24, 1)) / np.linalg.norm(eyes, axis=1, keepdims=True)
    cameras = [look(eye, random.uniform(-0.2, 0.2, 3), f"eye{i}", 0.9) for i, eye in enumerate(eyes)]
    scene = scene_of([sphere(0.5)], [thing(0, 1)])
    asked = [CameraRequest(camera, 64, 80, ("segmentation",)) for camera in cameras]
    renderer = BatchRenderer(scene, 1, asked, device=device, options=RenderOptions(lod_pixels=0))
    frames = renderer.render(still(scene))
    for camera in cameras:
        inside = rays_inside_sphere(camera, 64, 80, 0.4995)
        assert (on_host(frames[camera.name].segmentation)[0][inside] == 1).all(), camera.name
    renderer.close()


def test_of_coincident_things_the_later_is_seen(device):
    scene = scene_of([box((0.2, 0.2, 0.2))], [thing(0, 1), thing(0, 2)])
    asked = [
        CameraRequest(look((np.cos(a), np.sin(a), 0.5), (0, 0, 0), f"eye{i}"), 48, 64, ("segmentation",)) for i, a in enumerate(range(6))
    ]
    renderer = BatchRenderer(scene, 1, asked, device=device)
    for frame in renderer.render(still(scene)).values():
        seen = on_host(frame.segmentation)
        assert (seen == 2).any()
        assert not (seen == 1).any()
    renderer.close()


@pytest.mark.parametrize(("height", "width"), [(1, 1), (63, 85), (200, 3), (9, 700)])
def test_any_size(device, poses, height, width):
    if not wp.is_cpu_available():
        pytest.skip("Warp cannot compile for the CPU here")
    size = (("front", height, width),)
    got, want = (pictures(worlds(poses, [1, 2]), where, size)["front", "segmentation"] for where in (device, "cpu"))
    assert got.shape == (2, height, width)
    assert (got == want).mean() >= 0.995


def test_outputs_are_tensors_on_the_device(device, poses):
    torch = pytest.importorskip("torch")
    renderer = BatchRenderer(moving_scene(), 2, requests(), device=device)
    frames = renderer.render(worlds(poses, [0, 1]))
    for name, height, width in CAMERAS:
        frame = frames[name]
        assert all(isinstance(getattr(frame, output), torch.Tensor) and getattr(frame, output).is_cuda for output in ALL)
        assert (tuple(frame.rgb.shape), frame.rgb.dtype) == ((2, height, width, 3), torch.uint8)
        assert (tuple(frame.depth_m.shape), frame.depth_m.dtype) == ((2, height, width), torch.float32)
        assert (tuple(frame.segmentation.shape), frame.segmentation.dtype) == ((2, height, width), torch.int32)
    address = frames["front"].rgb.data_ptr()
    assert renderer.render(worlds(poses, [2, 3]))["front"].rgb.data_ptr() == address  # no copy
    renderer.close()


@pytest.mark.parametrize("kind", ["warp", "torch"])
def test_poses_on_the_device_are_taken_as_they_are(device, reference, poses, kind):
    if kind == "torch":
        torch = pytest.importorskip("torch")
        arrays = [torch.from_numpy(array.copy()).to(device) for array in (poses.position, poses.quat_wxyz)]
    else:
        arrays = [wp.array(poses.position, dtype=wp.vec3, device=device), wp.array(poses.quat_wxyz, dtype=wp.vec4, device=device)]
    assert_same(pictures(StillPoses(moving_scene(), BodyPoses(*arrays), device), device), reference)


def test_poses_on_another_device_are_refused(device):
    if not wp.is_cpu_available():
        pytest.skip("Warp cannot compile for the CPU here")
    arrays = wp.zeros((1, 4), dtype=wp.vec3, device=device), wp.zeros((1, 4), dtype=wp.vec4, device=device)
    renderer = BatchRenderer(moving_scene(), 1, [CameraRequest("front", 4, 4, ("depth_m",))], device="cpu")
    with pytest.raises(InvalidArgumentError, match=f"is on {device}, the renderer on cpu; make the renderer with device='{device}'"):
        renderer.render(StillPoses(moving_scene(), BodyPoses(*arrays), device))
    renderer.close()


def test_poses_that_are_not_finite_are_refused_before_they_are_sent(device):
    bad = random_poses(2)
    bad.position[1, 2, 0] = np.nan
    renderer = BatchRenderer(moving_scene(), 2, [CameraRequest("front", 4, 4, ("depth_m",))], device=device)
    with pytest.raises(InvalidArgumentError, match="body 'ball' in world 1"):
        renderer.render(StillPoses(moving_scene(), bad))
    renderer.close()
