"""Same state, same bytes: in any slot and batch, with any cameras beside, any number of threads, any other output."""

import numpy as np
import pytest

from render.moving import ALL, moving_scene, random_poses, worlds
from rollfilm.render import BatchRenderer, CameraRequest

NUM_WORLDS = 16
FRONT, RIDER, ABOVE = ("front", 37, 90), ("rider", 24, 31), ("above", 37, 90)


def pictures(source, cameras, outputs=ALL, **options):
    """Copies: (camera, output) -> (B, H, W, ...)."""
    requests = [CameraRequest(name, height, width, outputs) for name, height, width in cameras]
    renderer = BatchRenderer(source.scene, source.num_worlds, requests, **options)
    frames = renderer.render(source)
    copies = {(name, output): getattr(frames[name], output).copy() for name in frames for output in outputs}
    renderer.close()
    return copies


@pytest.fixture(scope="module")
def poses():
    return random_poses(NUM_WORLDS)


@pytest.fixture(scope="module")
def reference(poses):
    """All worlds, one thread."""
    return pictures(worlds(poses, np.arange(NUM_WORLDS)), [FRONT, RIDER, ABOVE], num_threads=1)


def assert_same(got, reference, which):
    for key, picture in got.items():
        np.testing.assert_array_equal(picture, reference[key][which], err_msg=str(key))


def test_the_worlds_differ_and_fill_the_picture(reference):
    for (name, output), picture in reference.items():
        for i in range(1, NUM_WORLDS):
            assert (name, output) == ("rider", "segmentation") or (picture[i] != picture[0]).mean() > 0.01, (name, output)
    assert len(np.unique(reference["front", "rgb"])) > 100
    assert set(np.unique(reference["front", "segmentation"])) == {-1, 0, 1, 2, 3}


@pytest.mark.parametrize("num_threads", [1, 2, 3])
@pytest.mark.parametrize("count", [1, 2, 3, 7, 16])
def test_batch_size_slot_and_threads_change_nothing(poses, reference, count, num_threads):
    # an order in which no world keeps its slot
    which = (np.random.default_rng(count).permutation(NUM_WORLDS))[:count]
    assert_same(pictures(worlds(poses, which), [FRONT, RIDER, ABOVE], num_threads=num_threads), reference, which)


@pytest.mark.parametrize("num_threads", [1, 2, 3, 5])
def test_a_single_view_that_is_cut_into_bands_is_the_same(poses, reference, num_threads):
    assert_same(pictures(worlds(poses, [4]), [FRONT], num_threads=num_threads), reference, [4])


def test_more_bands_than_rows(poses):
    one, many = (pictures(worlds(poses, [4]), [("front", 2, 70)], num_threads=n) for n in (1, 5))
    assert_same(many, one, [0])


@pytest.mark.parametrize("cameras", [[FRONT], [ABOVE, FRONT], [RIDER, ABOVE], [ABOVE, RIDER, FRONT]])
def test_other_cameras_and_their_order_change_nothing(poses, reference, cameras):
    which = np.array([3, 11, 0])
    assert_same(pictures(worlds(poses, which), cameras, num_threads=2), reference, which)


@pytest.mark.parametrize("outputs", [("rgb",), ("depth_m",), ("segmentation",)])
def test_an_output_does_not_change_with_the_others(poses, reference, outputs):
    assert_same(pictures(worlds(poses, np.arange(NUM_WORLDS)), [FRONT, RIDER], outputs), reference, np.arange(NUM_WORLDS))


def test_what_was_not_asked_for_is_not_there(poses):
    renderer = BatchRenderer(moving_scene(), 1, [CameraRequest("front", 4, 4, ("depth_m",))])
    frame = renderer.render(worlds(poses, [0]))["front"]
    assert frame.rgb is None
    assert frame.segmentation is None
    renderer.close()
