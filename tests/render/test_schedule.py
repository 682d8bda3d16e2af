"""Some worlds a call, some cameras a call, arrays of the caller's own: what is not filmed stays as it was, and frames say so."""

import numpy as np
import pytest

from render.moving import ALL, moving_scene, random_poses, worlds
from render.test_outputs import EVERY
from rollfilm.errors import InvalidArgumentError, NotFoundError
from rollfilm.render import BatchRenderer, CameraRequest

NUM_WORLDS = 5
REQUESTS = [CameraRequest("front", 24, 30, ALL), CameraRequest("rider", 24, 30, ALL), CameraRequest("above", 12, 10, ALL)]


def state(seed: int, count: int):
    source = worlds(random_poses(NUM_WORLDS, seed), np.arange(NUM_WORLDS))
    source.state_count = count
    return source


def copies(frames):
    return {(name, output): getattr(frames[name], output).copy() for name in frames for output in ALL}


@pytest.fixture(scope="module")
def whole():
    """All worlds' pictures of states 0 to 3."""
    renderer = BatchRenderer(moving_scene(), NUM_WORLDS, REQUESTS)
    pictures = [copies(renderer.render(state(seed, seed))) for seed in range(4)]
    renderer.close()
    return pictures


@pytest.fixture
def renderer():
    renderer = BatchRenderer(moving_scene(), NUM_WORLDS, REQUESTS, num_threads=2)
    yield renderer
    renderer.close()


@pytest.mark.parametrize("kind", ["mask", "indices", "list", "none of them"])
def test_only_the_worlds_that_are_asked_for_are_filmed(renderer, whole, kind):
    chosen = [] if kind == "none of them" else [3, 1]
    mask = np.isin(np.arange(NUM_WORLDS), chosen)
    asked = {"mask": mask, "indices": np.array(chosen), "list": chosen, "none of them": []}[kind]
    renderer.render(state(0, 0))
    where = renderer.camera_poses()["rider"][0]
    frames = renderer.render(state(1, 7), worlds=asked)
    for key, picture in copies(frames).items():
        np.testing.assert_array_equal(picture[mask], whole[1][key][mask])
        np.testing.assert_array_equal(picture[~mask], whole[0][key][~mask])
    assert frames.state_count == 7
    np.testing.assert_array_equal(frames["front"].world_state_counts, np.where(mask, 7, 0))
    # the cameras of the others are where their pictures were taken
    np.testing.assert_array_equal(renderer.camera_poses()["rider"][0][~mask], where[~mask])
    assert (renderer.camera_poses()["rider"][0][mask] != where[mask]).all()
    # and then all again
    frames = renderer.render(state(2, 8))
    for key, picture in copies(frames).items():
        np.testing.assert_array_equal(picture, whole[2][key])
    np.testing.assert_array_equal(frames["front"].world_state_counts, 8)


def test_what_was_never_filmed_is_black_and_of_no_state(renderer, whole):
    frames = renderer.render(state(1, 4), worlds=[2])
    assert frames["front"].world_state_counts.tolist() == [-1, -1, 4, -1, -1]
    assert not frames["front"].rgb[[0, 1, 3, 4]].any()
    np.testing.assert_array_equal(frames["front"].rgb[2], whole[1]["front", "rgb"][2])


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ([5], "worlds holds 5; there are worlds 0 to 4"),
        ([-1], "worlds holds -1"),
        ([True, False], r"worlds came as bool \(2,\); give a bool mask \(5,\), or indices"),
        ([[0, 1]], r"worlds came as int64 \(1, 2\)"),
        ([0.5], r"worlds came as float64 \(1,\)"),
    ],
)
def test_worlds_that_are_none_are_refused(renderer, whole, asked, message):
    renderer.render(state(0, 0))
    with pytest.raises(InvalidArgumentError, match=message):
        renderer.render(state(1, 1), worlds=asked)
    np.testing.assert_array_equal(renderer.render(state(1, 1))["front"].rgb, whole[1]["front", "rgb"])


def test_cameras_at_their_own_rates(whole):
    requests = [
        CameraRequest("front", 24, 30, ALL, every=2),
        CameraRequest("rider", 24, 30, ALL),
        CameraRequest("above", 12, 10, ALL, every=3),
    ]
    renderer = BatchRenderer(moving_scene(), NUM_WORLDS, requests)
    shown = {"front": [0, 0, 2, 2], "rider": [0, 1, 2, 3], "above": [0, 0, 0, 3]}
    poses = {}
    for call in range(4):
        frames = renderer.render(state(call, 10 * call))
        for name in shown:
            last = shown[name][call]
            assert (frames[name].state_count, frames[name].age) == (10 * last, 10 * (call - last))
            for output in ALL:
                np.testing.assert_array_equal(getattr(frames[name], output), whole[last][name, output])
            where = np.concatenate(renderer.camera_poses()[name], axis=1)
            if last == call:
                poses[name] = where
            np.testing.assert_array_equal(where, poses[name])
        assert frames.state_count == 10 * call
    renderer.close()


@pytest.mark.parametrize("every", [0, -2, 1.5, True])
def test_rates_that_are_none_are_refused(every):
    with pytest.raises(InvalidArgumentError, match=r"'front': every is .*an integer of at least 1"):
        CameraRequest("front", every=every)


def own_arrays(outputs, height=24, width=30):
    kinds = {"rgb": ((3,), np.uint8), "depth_m": ((), np.float32), "normal_world": ((3,), np.float32), "geom_id": ((), np.int32)}
    return {name: np.full((NUM_WORLDS, height, width, *kinds[name][0]), 5, kinds[name][1]) for name in outputs}


def test_pictures_are_written_to_the_callers_arrays(whole):
    out = {"front": own_arrays(("rgb", "normal_world", "geom_id"))}
    requests = [CameraRequest(name, 24, 30, EVERY) for name in ("front", "rider")]
    renderer = BatchRenderer(moving_scene(), NUM_WORLDS, requests, out=out)
    free = BatchRenderer(moving_scene(), NUM_WORLDS, requests)
    for seed in range(2):
        frames, want = renderer.render(state(seed, seed)), free.render(state(seed, seed))
        for name in ("front", "rider"):
            for output in EVERY:
                np.testing.assert_array_equal(getattr(frames[name], output), getattr(want[name], output))
        for output, array in out["front"].items():
            assert np.shares_memory(array, getattr(frames["front"], output))
            np.testing.assert_array_equal(array, getattr(want["front"], output))
        assert np.shares_memory(out["front"]["geom_id"], frames["front"].segmentation)
    renderer.close()
    free.close()


@pytest.mark.parametrize(
    ("out", "error", "message"),
    [
        ({"side": {}}, NotFoundError, "out names camera 'side'; the cameras that were asked for: front"),
        (
            {"front": {"depth_m": np.zeros(1)}},
            NotFoundError,
            "out names 'depth_m' of camera 'front'; its outputs: rgb, geom_id, segmentation",
        ),
        (
            {"front": {"rgb": np.zeros((5, 24, 30, 3))}},
            InvalidArgumentError,
            r"out\['front'\]\['rgb'\] came as float64 .* must be uint8 \(5, 24",
        ),
        ({"front": {"rgb": np.zeros((5, 30, 24, 3), np.uint8)}}, InvalidArgumentError, r"came as uint8 \(5, 30, 24, 3\)"),
        ({"front": {"rgb": np.zeros((5, 24, 60, 3), np.uint8)[:, :, ::2]}}, InvalidArgumentError, "is not contiguous"),
        ({"front": {"rgb": np.broadcast_to(np.uint8(0), (5, 24, 30, 3))}}, InvalidArgumentError, "is not contiguous"),
        ({"front": {"rgb": [[0]]}}, InvalidArgumentError, "is list; on the CPU give a NumPy array, uint8"),
        (
            {"front": {"geom_id": np.zeros((5, 24, 30), np.int32), "segmentation": np.zeros((5, 24, 30), np.int32)}},
            InvalidArgumentError,
            "two arrays for camera 'front'",
        ),
    ],
)
def test_arrays_that_do_not_fit_are_refused(out, error, message):
    with pytest.raises(error, match=message):
        BatchRenderer(moving_scene(), NUM_WORLDS, [CameraRequest("front", 24, 30, ("rgb", "geom_id", "segmentation"))], out=out)


def test_an_array_that_cannot_be_written_is_refused():
    array = np.zeros((5, 24, 30, 3), np.uint8)
    array.flags.writeable = False
    with pytest.raises(InvalidArgumentError, match="cannot be written"):
        BatchRenderer(moving_scene(), NUM_WORLDS, [CameraRequest("front", 24, 30)], out={"front": {"rgb": array}})
