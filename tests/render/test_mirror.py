"""Mirrors: held to a ray caster that reflects its rays, and to mujoco.Renderer."""

from dataclasses import replace

import numpy as np
import pytest

from render.composites import HEIGHT, MODEL, WIDTH, film_model
from render.raycast import camera_axes, geom_depths, mesh_depths, pixel_rays
from render.scenes import look, scene_of, shot, still, thing, triangles
from rollfilm.errors import InvalidArgumentError
from rollfilm.render import BatchRenderer, CameraRequest, RenderOptions, WorldLooks
from rollfilm.scene.mujoco import load_scene

mujoco = pytest.importorskip("mujoco")

EYE = look((0.4, -2.5, 1.1), (0, 0, 0.3))
SIZE = 25, 41
SHARE = 0.35


def scene_with_a_mirror():
    """A reflecting floor under two patches, one of which goes through it."""
    meshes = [
        triangles([[-0.8, 0.2, 0.1], [0.1, 0.1, 0.2], [-0.3, 0.4, 1.0]], [[0, 1, 2]]),
        triangles([[0.2, 0.0, -0.3], [0.9, 0.2, -0.2], [0.5, 0.3, 0.8]], [[0, 1, 2]]),
    ]
    glow = {"emission": 1.0, "specular": 0.0}
    geoms = [
        thing(-1, 0, rgba=(0.1, 0.15, 0.2, 1), reflectance=SHARE, **glow),
        thing(0, 1, rgba=(0.6, 0.2, 0.1, 1), **glow),
        thing(1, 2, rgba=(0.1, 0.5, 0.3, 1), **glow),
    ]
    return scene_of(meshes, geoms, headlight=None)


def reflected_colors(scene, camera, depths, rays):
    """Colours (rays, 3) of what the floor shows, where it is seen."""
    eye = camera_axes(camera)[0]
    colors = np.array([np.minimum(1.3 * SHARE * np.array(g.material.rgba[:3]), 1) for g in scene.geoms])
    back_rays, back = rays * (1, 1, -1), eye * (1, 1, -1)
    nearest, seen = np.full(len(rays), np.inf), np.zeros((len(rays), 3))
    floor = -eye[2] / rays[:, 2]  # depth of the floor: what a mirror shows lies beyond
    for i, geom in enumerate(scene.geoms[1:], 1):
        level = scene.meshes[geom.mesh].levels[0]
        for triangle in level.vertices.astype(float)[level.triangles]:
            depth = mesh_depths(triangle[None] - back, back_rays, np.zeros_like(rays), scene.near_m)
            nearer = (depth > floor) & (depth < nearest)
            nearest, seen = np.where(nearer, depth, nearest), np.where(nearer[:, None], colors[i], seen)
    return seen


@pytest.mark.parametrize("samples", [1, 4])
def test_a_floor_adds_what_reflected_rays_meet(samples):
    scene, side = scene_with_a_mirror(), round(samples**0.5)
    height, width = SIZE
    rays = pixel_rays(EYE, side * height, side * width)
    depths = geom_depths(scene, EYE, rays)
    colors = np.array([np.minimum(1.3 * np.array(g.material.rgba[:3]), 1) for g in scene.geoms])
    which = depths.argmin(axis=0)
    seen = np.where(np.isfinite(depths.min(axis=0))[:, None], colors[which], 0.0)
    mirrored = np.where((which == 0)[:, None], reflected_colors(scene, EYE, depths, rays), 0.0)
    assert (mirrored.max(axis=1) > 0).mean() > 0.03
    want = 255 * (seen + mirrored).reshape(height, side, width, side, 3).mean(axis=(1, 3))
    got = shot(scene, EYE, height, width, ("rgb",), samples=samples, reflections=True)["rgb"]
    assert (np.abs(got - want).max(axis=-1) > 0.6).mean() < 0.01
    assert (shot(scene, EYE, height, width, ("rgb",), samples=samples)["rgb"] != got).any()


def test_reflections_change_colors_and_nothing_else():
    scene = scene_with_a_mirror()
    shapes = shot(scene, EYE, *SIZE)
    for name, picture in shot(scene, EYE, *SIZE, ("rgb", "depth_m", "segmentation"), reflections=True).items():
        assert name == "rgb" or picture.tobytes() == shapes[name].tobytes(), name


def test_a_scene_without_a_mirror_stays_as_it_is():
    scene = scene_with_a_mirror()
    dull = replace(scene, geoms=tuple(replace(g, material=replace(g.material, reflectance=0.0)) for g in scene.geoms))
    one, other = (shot(dull, EYE, *SIZE, ("rgb",), reflections=on)["rgb"] for on in (False, True))
    np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(("floor", "table"), [(0.3, 0), (0, 0.4), (0.2, 0.4)])
def test_pictures_are_mujocos(mujoco_picture, floor, table):
    model = MODEL.format(samples=4, floor=floor, table=table, glass="glass")
    compiled = mujoco.MjModel.from_xml_string(model)
    want, without = (mujoco_picture(compiled, "front", HEIGHT, WIDTH, effects=on).astype(int) for on in (["REFLECTION"], []))
    got = film_model(model, "front", samples=4, reflections=True)["rgb"].astype(int)
    error = np.abs(got - want).max(axis=-1)
    assert error.mean() < 0.8, error.mean()
    assert (error > 6).mean() < 0.04
    mirrored = np.abs(want - without).max(axis=-1) > 5
    assert mirrored.any()
    assert error[mirrored].mean() < 0.5 * np.abs(want - without).max(axis=-1)[mirrored].mean()


def test_batch_size_slot_and_threads_change_nothing():
    """With glass, a mirror, samples and shadows, in worlds that are each seen from elsewhere."""
    scene = load_scene(MODEL.format(samples=4, floor=0.3, table=0, glass="glass"))
    offset = np.random.default_rng(0).uniform(-0.3, 0.3, (6, 3))

    def filmed(which, num_threads):
        requests = [CameraRequest(name, 37, 70) for name in ("front", "below")]
        renderer = BatchRenderer(scene, len(which), requests, num_threads=num_threads, options=RenderOptions.mujoco_look())
        renderer.set_looks(WorldLooks(camera_offset={("front", "below"): np.repeat(offset[which][:, None], 2, axis=1)}))
        frames = renderer.render(still(scene, len(which)))
        copies = {name: frames[name].rgb.copy() for name in frames}
        renderer.close()
        return copies

    whole = filmed([0, 1, 2, 3, 4, 5], 1)
    assert all((whole[name][0] != whole[name][k]).any() for name in whole for k in range(1, 6))
    for which, num_threads in (([4], 3), ([2, 5, 0], 2), ([5, 4, 3, 2, 1, 0], 1)):
        for name, picture in filmed(which, num_threads).items():
            np.testing.assert_array_equal(picture, whole[name][which])


def test_other_values_are_refused():
    with pytest.raises(InvalidArgumentError, match="reflections"):
        RenderOptions(reflections=1)
    assert RenderOptions.mujoco_look(samples=16) == replace(RenderOptions.mujoco_look(), samples=16)
