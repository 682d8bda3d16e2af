"""Bad input is answered by one clear error, of the class that fits."""

import numpy as np
import pytest

from render.moving import moving_scene, random_poses, worlds
from render.scenes import look
from rollfilm.engines.still import StillPoses
from rollfilm.errors import DeviceError, InvalidArgumentError, MemoryBudgetError, NotFoundError
from rollfilm.render import BatchRenderer, CameraRequest, RenderOptions
from rollfilm.scene import BodyPoses

FRONT = CameraRequest("front", 8, 8)


def renderer_of(cameras=(FRONT,), num_worlds=2, **options):
    return BatchRenderer(moving_scene(), num_worlds, cameras, **options)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"cameras": ()}, InvalidArgumentError, "no camera was asked for"),
        ({"cameras": (FRONT, CameraRequest("front", 9, 9))}, InvalidArgumentError, "'front' was asked for more than once"),
        ({"cameras": (FRONT, CameraRequest(look((0, 0, 1), (1, 0, 0), "front")))}, InvalidArgumentError, "'front' was asked for more than"),
        ({"cameras": (CameraRequest("frnt"),)}, NotFoundError, "no camera 'frnt'.*front, above"),
        ({"num_worlds": 0}, InvalidArgumentError, "num_worlds is 0; it must be at least 1"),
        ({"num_worlds": -3}, InvalidArgumentError, "num_worlds is -3"),
        ({"num_worlds": 2.0}, InvalidArgumentError, "num_worlds is 2.0; it must be an integer of at least 1"),
        ({"num_threads": 0}, InvalidArgumentError, "num_threads is 0; it must be at least 1"),
        ({"options": 0.5}, InvalidArgumentError, "options is float; give rollfilm.render.RenderOptions"),
        ({"device": "tpu"}, DeviceError, "device 'tpu' was asked for; this machine has .*cpu"),
        ({"device": "cuda:99"}, DeviceError, "device 'cuda:99' was asked for; this machine has .*cpu"),
    ],
)
def test_a_renderer_refuses(arguments, error, message):
    with pytest.raises(error, match=message):
        renderer_of(**arguments)


@pytest.mark.parametrize(
    ("options", "message"),
    [({"lod_pixels": -0.1}, "lod_pixels is -0.1; it must be 0 or more"), ({"lod_pixels": float("nan")}, "lod_pixels is nan")],
)
def test_options_out_of_range_are_refused(options, message):
    with pytest.raises(InvalidArgumentError, match=message):
        RenderOptions(**options)


def test_more_memory_than_there_is_is_refused_before_it_is_taken():
    # 16384 x 16384 pixels of 3 bytes in a million worlds
    message = r"pictures of 1000000 worlds: [0-9.]+ TB of memory are needed and .* are available; take fewer worlds or smaller images"
    with pytest.raises(MemoryBudgetError, match=message):
        renderer_of((CameraRequest("front", 16384, 16384),), num_worlds=1_000_000)


@pytest.mark.parametrize("size", [(0, 8), (8, 0), (-1, 8), (100_000, 8), (8, 100_000), (8.5, 8), (8, 8.0)])
def test_a_size_out_of_range_is_refused(size):
    with pytest.raises(InvalidArgumentError, match=rf"'front': a size of {size[1]}x{size[0]} was asked for; .*integers from 1 to 16384"):
        CameraRequest("front", *size)


@pytest.mark.parametrize("outputs", [(), "rgb", ("rgb", "depth"), ("normal",)])
def test_unknown_outputs_are_refused(outputs):
    with pytest.raises(InvalidArgumentError, match=r"choose from rgb, depth_m, segmentation"):
        CameraRequest("front", outputs=outputs)


def changed(**arrays):
    poses = random_poses(2)
    return BodyPoses(arrays.get("position", poses.position), arrays.get("quat_wxyz", poses.quat_wxyz))


@pytest.fixture(scope="module")
def renderer():
    renderer = renderer_of()
    yield renderer
    renderer.close()


@pytest.mark.parametrize(
    ("poses", "message"),
    [
        (changed(position=np.zeros((3, 4, 3), np.float32)), r"position came as float32 \(3, 4, 3\); it must be float32 \(2, 4, 3\)"),
        (changed(position=np.zeros((2, 5, 3), np.float32)), r"position came as float32 \(2, 5, 3\); it must be float32 \(2, 4, 3\)"),
        (changed(position=np.zeros((2, 4, 3))), r"position came as float64 \(2, 4, 3\); it must be float32"),
        (changed(quat_wxyz=np.zeros((2, 4, 3), np.float32)), r"quat_wxyz came as float32 \(2, 4, 3\); it must be float32 \(2, 4, 4\)"),
        (
            changed(position=random_poses(2).position.tolist()),
            "position came as list; it must be a NumPy array, or an array that has DLPack",
        ),
        (changed(quat_wxyz=np.zeros((2, 16), np.float32)), r"quat_wxyz came as float32 \(2, 16\)"),
    ],
)
def test_poses_of_a_wrong_shape_or_type_are_refused(renderer, poses, message):
    with pytest.raises(InvalidArgumentError, match=message):
        renderer.render(StillPoses(moving_scene(), poses))


@pytest.mark.parametrize("name", ["position", "quat_wxyz"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_poses_that_are_not_finite_are_refused_by_name(renderer, name, value):
    poses = random_poses(2)
    getattr(poses, name)[1, 2, 1] = value
    with pytest.raises(InvalidArgumentError, match=f"{name} of body 'ball' in world 1 is not finite"):
        renderer.render(StillPoses(moving_scene(), poses))


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_infinities_that_cancel_are_refused(renderer):
    poses = random_poses(2)
    poses.position[0, 1, 0], poses.position[0, 1, 1] = np.inf, -np.inf
    with pytest.raises(InvalidArgumentError, match="body 'box' in world 0"):
        renderer.render(StillPoses(moving_scene(), poses))


def test_a_refused_frame_leaves_the_renderer_usable(renderer):
    source = worlds(random_poses(2), [0, 1])
    before = renderer.render(source)["front"].rgb.copy()
    with pytest.raises(InvalidArgumentError):
        renderer.render(StillPoses(moving_scene(), changed(position=np.zeros((2, 4, 3)))))
    np.testing.assert_array_equal(renderer.render(source)["front"].rgb, before)


def test_numpys_integers_are_numbers(renderer):
    source = worlds(random_poses(2), [0, 1])
    other = renderer_of((CameraRequest("front", np.int64(8), np.uint8(8)),), num_worlds=np.int64(2))
    np.testing.assert_array_equal(other.render(source)["front"].rgb, renderer.render(source)["front"].rgb)
    other.close()


def test_a_closed_renderer_says_so():
    other = renderer_of()
    other.close()
    other.close()
    with pytest.raises(InvalidArgumentError, match="this renderer is closed"):
        other.render(worlds(random_poses(2), [0, 1]))
