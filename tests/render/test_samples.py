"""Anti-aliasing: held to a ray caster with as many rays, and to larger pictures."""

import numpy as np
import pytest

from render.moving import ALL, moving_scene, random_poses, worlds
from render.raycast import geom_depths, pixel_rays
from render.scenes import look, scene_of, shot, thing, triangles
from render.test_invariance import ABOVE, FRONT, RIDER, assert_same, pictures
from rollfilm.errors import InvalidArgumentError
from rollfilm.render import BatchRenderer, CameraRequest, RenderOptions
from rollfilm.render.composite import SceneSurfaces, composite_keys

SIZE = 21, 33
EYE = look((0.3, -2.5, 1.2), (0, 0, 0.3))


def glowing(color):
    return {"rgba": (*color, 1.0), "emission": 1.0, "specular": 0.0}


@pytest.fixture(scope="module")
def slivers():
    """A plane, a patch that cuts through it and many thin triangles, each of one colour whatever the light."""
    random = np.random.default_rng(3)
    corners = random.uniform((-1, -0.5, 0), (1, 1, 1.2), (60, 1, 3)) + random.normal(scale=(0.02, 0.02, 0.25), size=(60, 3, 3))
    corners = np.concatenate([corners, corners[:, ::-1]]).reshape(-1, 3)  # seen from both sides
    colors = random.uniform(0.1, 0.9, (3, 3))
    meshes = [
        triangles(corners, np.arange(len(corners)).reshape(-1, 3)),
        triangles([[-0.8, 0, -0.4], [0.9, 0, -0.2], [0.1, 0.3, 1.1]], [[0, 1, 2]]),
    ]
    geoms = [thing(-1, 0, **glowing(colors[0])), thing(0, 1, **glowing(colors[1])), thing(1, 2, **glowing(colors[2]))]
    return scene_of(meshes, geoms, headlight=None)


@pytest.mark.parametrize("samples", [4, 16])
def test_a_pixel_is_the_mean_of_what_its_samples_see(slivers, samples):
    side = round(samples**0.5)
    height, width = SIZE
    rays = pixel_rays(EYE, side * height, side * width)
    depths = geom_depths(slivers, EYE, rays)
    colors = np.array([geom.material.rgba[:3] for geom in slivers.geoms])
    colors = np.minimum(1.3 * colors, 1)  # with MuJoCo's ambient light where there is none
    seen = np.where(np.isfinite(depths.min(axis=0))[:, None], colors[depths.argmin(axis=0)], 0.0)
    want = 255 * seen.reshape(height, side, width, side, 3).mean(axis=(1, 3))
    got = shot(slivers, EYE, height, width, ("rgb",), samples=samples)["rgb"].astype(float)
    wrong = np.abs(got - want).max(axis=-1) > 0.51
    assert wrong.mean() < 0.01  # rays that graze an edge may fall to either side
    assert np.abs(got - want).max() < 255 / samples + 1
    assert len(np.unique(got.reshape(-1, 3), axis=0)) > 12  # most of them mixed


def test_light_is_that_of_a_larger_picture(slivers):
    scene, source = moving_scene(), worlds(random_poses(1, seed=4), [0])
    large = pictures(source, [("front", 4 * 40, 4 * 60)], ("rgb",), options=RenderOptions(lod_pixels=1.0))["front", "rgb"]
    mean = large.astype(float).reshape(1, 40, 4, 60, 4, 3).mean(axis=(2, 4))
    kinds = [pictures(source, [("front", 40, 60)], ("rgb",), options=RenderOptions(samples=n))["front", "rgb"] for n in (1, 4, 16)]
    ids = pictures(source, [("front", 40, 60)], ("segmentation",))["front", "segmentation"]
    bodies = (ids != scene.geoms[0].source_id) & (ids >= 0)  # textures of the floor are filtered over a pixel, not over samples
    errors = [np.abs(picture - mean)[bodies].mean() for picture in kinds]
    assert errors[0] > 2 * errors[1] > 2 * errors[2], errors
    assert errors[2] < 1.0


def test_a_pixel_that_shows_one_surface_hardly_changes():
    one, four = (shot(moving_scene(), moving_scene().camera("front"), 37, 90, ("rgb",), samples=n)["rgb"].astype(int) for n in (1, 4))
    close = np.abs(one - four).max(axis=-1) <= 1
    assert close.mean() > 0.9


@pytest.mark.parametrize("samples", [4, 16])
def test_samples_change_colors_and_nothing_else(samples):
    source = worlds(random_poses(3), np.arange(3))
    one = pictures(source, [FRONT, RIDER], ALL)
    many = pictures(source, [FRONT, RIDER], ALL, options=RenderOptions(samples=samples))
    for (name, output), picture in many.items():
        assert (picture.tobytes() == one[name, output].tobytes()) == (output != "rgb"), (name, output)


@pytest.mark.parametrize("num_threads", [1, 2, 3])
@pytest.mark.parametrize("count", [1, 3])
def test_batch_size_slot_threads_and_other_outputs_change_nothing(count, num_threads):
    poses, options = random_poses(16), RenderOptions(samples=4)
    reference = pictures(worlds(poses, np.arange(16)), [FRONT, RIDER, ABOVE], ("rgb",), num_threads=1, options=options)
    which = np.random.default_rng(count).permutation(16)[:count]
    outputs = ALL if num_threads == 2 else ("rgb",)
    got = pictures(worlds(poses, which), [ABOVE, FRONT, RIDER], outputs, num_threads=num_threads, options=options)
    assert_same({key: picture for key, picture in got.items() if key[1] == "rgb"}, reference, which)


@pytest.mark.parametrize("samples", [0, 2, 8, 9, True, 4.5, "4"])
def test_other_numbers_of_samples_are_refused(samples):
    with pytest.raises(InvalidArgumentError, match="choose from 1, 4, 16"):
        RenderOptions(samples=samples)


def test_samples_that_cannot_be_counted_are_refused():
    request = CameraRequest("front", 16, 8193)
    with pytest.raises(InvalidArgumentError, match="at most 8192 pixels"):
        BatchRenderer(moving_scene(), 1, [request], options=RenderOptions(samples=16))


def test_the_budget_counts_samples():
    opaque, glass = SceneSurfaces((1.0,), (), False, False), SceneSurfaces((1.0, 0.5), ((0, 0.0, 0.2),), True, True)
    options = RenderOptions(samples=16, reflections=True)
    assert composite_keys(CameraRequest("front", 20, 30), opaque, options) == 16 * 20 * 30
    assert composite_keys(CameraRequest("front", 20, 30), glass, options) == 16 * 20 * 30 * (1 + 4) * 2
    assert composite_keys(CameraRequest("front", 20, 30, ("depth_m",)), glass, options) == 0
    needed = []
    for samples in (1, 4):
        renderer = BatchRenderer(moving_scene(), 1, [CameraRequest("front", 20, 30)], num_threads=2, options=RenderOptions(samples=samples))
        renderer.close()
        needed.append(renderer.memory_plan.total_bytes)
    assert needed[1] - needed[0] == 2 * 8 * 20 * 30 * 4
