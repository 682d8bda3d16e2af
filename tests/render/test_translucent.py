"""Translucent surfaces and planes seen from behind: held to blending in NumPy, and to mujoco.Renderer."""

from dataclasses import replace

import numpy as np
import pytest

from render.composites import HEIGHT, MODEL, WIDTH, film_model
from render.raycast import geom_depths, pixel_rays
from render.scenes import look, scene_of, shot, thing, triangles
from rollfilm.scene.mujoco import load_scene

mujoco = pytest.importorskip("mujoco")

EYE = look((0.2, -3, 0.9), (0, 0, 0.5))
SIZE = 25, 41


def sheet(y, shift, alpha, number, color):
    """A triangle across the view at a distance, of one colour whatever the light."""
    corners = [[-0.9 + shift, y, -0.3], [0.8 + shift, y, 0.1], [0.1 - shift, y + 0.2, 1.4]]
    geom = thing(number, number + 1, rgba=(*color, alpha), emission=1.0, specular=0.0)
    return triangles(corners, [[0, 1, 2]]), geom


def stack(alphas):
    """Sheets one behind the other, in no order, before an opaque floor."""
    random = np.random.default_rng(1)
    colors = random.uniform(0.1, 0.7, (len(alphas) + 1, 3))
    places = random.permutation(len(alphas))
    sheets = [sheet(-1.0 + 0.3 * places[i], 0.1 * places[i], alpha, i, colors[i]) for i, alpha in enumerate(alphas)]
    floor = thing(-1, 0, rgba=(*colors[-1], 1.0), emission=1.0, specular=0.0)
    return scene_of([mesh for mesh, _ in sheets], [floor, *(geom for _, geom in sheets)], headlight=None)


def blended(scene, depths, twice: bool):
    """Colours (rays, 3) by explicit blending of the surfaces of each ray, the farthest first."""
    colors = np.array([np.minimum(1.3 * np.array(g.material.rgba[:3]), 1) for g in scene.geoms])
    alphas = np.array([g.material.rgba[3] for g in scene.geoms])
    picture = np.zeros((depths.shape[1], 3))
    for i, depth in enumerate(depths.T):
        opaque = np.where(alphas == 1, depth, np.inf)
        limit = opaque.min()
        color = colors[opaque.argmin()] if np.isfinite(limit) else np.zeros(3)
        near_to_far = [g for g in np.argsort(depth) if alphas[g] < 1 and depth[g] < limit]
        for g in [*(near_to_far if twice else []), *near_to_far[::-1]]:
            color = alphas[g] * colors[g] + (1 - alphas[g]) * color
        picture[i] = color
    return 255 * picture


@pytest.mark.parametrize(("samples", "twice"), [(1, False), (4, True)])
def test_layers_are_blended_in_order_of_depth(samples, twice):
    scene = replace(stack([0.3, 0.6, 0.2, 0.5]), blend_twice=twice)
    side = round(samples**0.5)
    height, width = SIZE
    depths = geom_depths(scene, EYE, pixel_rays(EYE, side * height, side * width))
    assert (np.isfinite(depths[1:]).sum(axis=0) == 4).mean() > 0.02
    want = blended(scene, depths, twice).reshape(height, side, width, side, 3).mean(axis=(1, 3))
    got = shot(scene, EYE, height, width, ("rgb",), samples=samples)["rgb"]
    wrong = np.abs(got - want).max(axis=-1) > 0.6
    assert wrong.mean() < 0.005, wrong.mean()


def test_depth_and_ids_show_translucent_geoms_as_solid():
    scene = stack([0.3, 0.6, 0.2, 0.5])
    solid = replace(scene, geoms=tuple(replace(g, material=replace(g.material, rgba=(*g.material.rgba[:3], 1.0))) for g in scene.geoms))
    shapes = shot(solid, EYE, *SIZE)
    for name, picture in shot(scene, EYE, *SIZE, ("rgb", "depth_m", "segmentation")).items():
        assert name == "rgb" or picture.tobytes() == shapes[name].tobytes(), name


def test_an_edge_between_two_triangles_is_no_second_layer():
    quad = triangles([[-1, 0, 0], [1, 0, 0], [1, 0, 2], [-1, 0, 2]], [[0, 1, 2], [0, 2, 3]])
    scene = scene_of([quad], [thing(0, 1, rgba=(0.5, 0.5, 0.5, 0.5), emission=1.0, specular=0.0)], headlight=None)
    straight = look((0, -3, 1), (0, 0, 1))
    picture = shot(scene, straight, 32, 32, ("rgb",))["rgb"]
    assert len(np.unique(picture[14:18, 14:18].reshape(-1, 3), axis=0)) == 1  # the diagonal passes through the centres of pixels


@pytest.mark.parametrize(("camera", "samples", "most"), [("front", 4, 0.7), ("below", 1, 1.4)])
def test_pictures_are_mujocos(mujoco_picture, camera, samples, most):
    model = MODEL.format(samples=samples, floor=0, table=0, glass="glass" if camera == "front" else "solid")
    want = mujoco_picture(mujoco.MjModel.from_xml_string(model), camera, HEIGHT, WIDTH).astype(int)
    got = film_model(model, camera, samples=samples)["rgb"].astype(int)
    error = np.abs(got - want).max(axis=-1)
    assert error.mean() < most, error.mean()
    assert (error > 6).mean() < 0.04, (error > 6).mean()


def test_planes_are_seen_from_behind_as_mujoco_sees_them(mujoco_picture):
    model = MODEL.format(samples=1, floor=0, table=0, glass="solid")
    got = film_model(model, "below", ("depth_m", "segmentation"))
    compiled = mujoco.MjModel.from_xml_string(model)
    want = mujoco_picture(compiled, "below", HEIGHT, WIDTH, segmentation=True)
    same = got["segmentation"] == np.where(want[..., 1] == mujoco.mjtObj.mjOBJ_GEOM, want[..., 0], -1)
    assert (want[..., 0] == 0).mean() > 0.4
    assert same.mean() > 0.985
    depth = mujoco_picture(compiled, "below", HEIGHT, WIDTH, depth=True)
    floor = same & (want[..., 0] == 0)
    assert np.abs(got["depth_m"] - depth)[floor].max() < 0.02


def test_no_warning_names_what_is_drawn():
    assert not any("alpha" in line for line in load_scene(MODEL.format(samples=1, floor=0, table=0, glass="glass")).warnings)
