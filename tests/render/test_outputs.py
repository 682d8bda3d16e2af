"""Distances, ids, normals, points and matrices agree with each other and with what is there."""

from dataclasses import replace

import numpy as np
import pytest

from render.moving import moving_scene, random_poses, worlds
from render.raycast import pixel_rays
from render.scenes import look, shot
from rollfilm import geometry
from rollfilm.render import BatchRenderer, CameraRequest
from rollfilm.scene.mujoco import load_scene

MEASURED = ("body_id", "ray_distance_m", "normal_camera", "normal_world", "position_world_m")
EVERY = ("rgb", "depth_m", "segmentation", "geom_id", *MEASURED)
HEIGHT, WIDTH, NUM_WORLDS = 30, 42, 3


def cameras():
    front = moving_scene().camera("front")
    lenses = {
        "plain": {},
        "shifted": {"fx": 40.0, "fy": 30.0, "cx": 12.0, "cy": 21.0},
        "sensor": {"height": 60, "width": 42, "fx": 35.0, "fy": 70.0, "cy": 26.0},
        "flat": {"extent_y_m": 2.0},
    }
    return [replace(front, name=name, **lens) for name, lens in lenses.items()] + [moving_scene().camera("rider")]


def filmed(outputs, source, **options):
    """The arrays of each camera, and its matrices."""
    requests = [CameraRequest(camera, HEIGHT, WIDTH, outputs) for camera in cameras()]
    renderer = BatchRenderer(moving_scene(), source.num_worlds, requests, **options)
    frames = renderer.render(source)
    arrays = {name: {output: getattr(frames[name], output).copy() for output in outputs} for name in frames}
    matrices = renderer.camera_matrices()
    renderer.close()
    return arrays, matrices


@pytest.fixture(scope="module")
def source():
    return worlds(random_poses(NUM_WORLDS, 4), np.arange(NUM_WORLDS))


@pytest.fixture(scope="module")
def all_of_it(source):
    return filmed(EVERY, source)


def test_shapes_and_types(all_of_it):
    for arrays in all_of_it[0].values():
        for output in ("normal_camera", "normal_world", "position_world_m"):
            assert (arrays[output].shape, arrays[output].dtype) == ((NUM_WORLDS, HEIGHT, WIDTH, 3), np.float32)
        assert (arrays["ray_distance_m"].shape, arrays["ray_distance_m"].dtype) == ((NUM_WORLDS, HEIGHT, WIDTH), np.float32)
        for output in ("body_id", "geom_id"):
            assert (arrays[output].shape, arrays[output].dtype) == ((NUM_WORLDS, HEIGHT, WIDTH), np.int32)


@pytest.mark.parametrize("outputs", [("rgb",), ("normal_world",), MEASURED], ids=str)
def test_an_output_does_not_change_with_the_others(all_of_it, source, outputs):
    for name, arrays in filmed(outputs, source)[0].items():
        for output, array in arrays.items():
            np.testing.assert_array_equal(array, all_of_it[0][name][output], err_msg=f"{name} {output}")


@pytest.mark.parametrize("which", [[1], [2, 0]])
def test_batch_size_slot_and_threads_change_nothing(all_of_it, which):
    arrays, matrices = filmed(EVERY, worlds(random_poses(NUM_WORLDS, 4), which), num_threads=3)
    for name, outputs in arrays.items():
        for output, array in outputs.items():
            np.testing.assert_array_equal(array, all_of_it[0][name][output][which], err_msg=f"{name} {output}")
        for got, want in zip(matrices[name], all_of_it[1][name], strict=True):
            np.testing.assert_array_equal(got, want[which])


def test_geom_and_body_ids(all_of_it):
    body = np.array([geom.body for geom in moving_scene().geoms])
    for arrays in all_of_it[0].values():
        np.testing.assert_array_equal(arrays["geom_id"], arrays["segmentation"])
        seen = arrays["geom_id"]
        np.testing.assert_array_equal(arrays["body_id"], np.where(seen < 0, -1, body[seen]))
    assert set(np.unique(all_of_it[0]["plain"]["body_id"])) == {-1, 0, 1, 2, 3}


def test_points_are_seen_where_the_matrices_say(all_of_it):
    columns, rows = np.meshgrid(np.arange(WIDTH) + 0.5, np.arange(HEIGHT) + 0.5)
    for name, arrays in all_of_it[0].items():
        matrices = all_of_it[1][name]
        there = arrays["segmentation"] >= 0
        assert there.any()
        for w in range(NUM_WORLDS):
            point = arrays["position_world_m"][w][there[w]].astype(float)
            in_camera = point @ matrices.extrinsic_cv[w, :, :3].T + matrices.extrinsic_cv[w, :, 3]
            np.testing.assert_allclose(in_camera[:, 2], arrays["depth_m"][w][there[w]], rtol=1e-4, atol=1e-5)
            flat = np.ones_like(in_camera[:, 2]) if name == "flat" else in_camera[:, 2]
            pixel = np.stack([in_camera[:, 0], in_camera[:, 1], flat], axis=-1) @ matrices.intrinsic_cv[w].T
            np.testing.assert_allclose(pixel[:, 0] / pixel[:, 2], columns[there[w]], atol=2e-3, err_msg=name)
            np.testing.assert_allclose(pixel[:, 1] / pixel[:, 2], rows[there[w]], atol=2e-3, err_msg=name)
            way = in_camera[:, 2] if name == "flat" else np.linalg.norm(in_camera, axis=-1)
            np.testing.assert_allclose(arrays["ray_distance_m"][w][there[w]], way, rtol=1e-4)
            back = in_camera * (1, -1, -1) @ matrices.cam2world_gl[w, :3, :3].T + matrices.cam2world_gl[w, :3, 3]
            np.testing.assert_allclose(back, point, atol=1e-5)
        for output in ("position_world_m", "ray_distance_m", "normal_world", "normal_camera"):
            assert not arrays[output][~there].any()


def test_normals_are_of_unit_length_and_turn_with_the_camera(all_of_it):
    for name, arrays in all_of_it[0].items():
        there = arrays["segmentation"] >= 0
        length = np.linalg.norm(arrays["normal_world"], axis=-1)
        np.testing.assert_allclose(length[there], 1, atol=1e-5)
        turned = np.einsum("bhwi,bij->bhwj", arrays["normal_world"], all_of_it[1][name].cam2world_gl[:, :3, :3])
        np.testing.assert_allclose(arrays["normal_camera"], turned, atol=1e-5)
        np.testing.assert_allclose(arrays["normal_world"][arrays["segmentation"] == 0] - (0, 0, 1), 0, atol=1e-5)


def test_normals_of_a_ball_point_away_from_its_middle():
    scene = load_scene('<mujoco><worldbody><geom size=".3" pos=".1 .2 .3"/></worldbody></mujoco>')
    camera = look((0.4, -1.5, 0.9), (0.1, 0.2, 0.3))
    for lens in ({}, {"extent_y_m": 0.9}):
        seen = shot(scene, replace(camera, **lens), 40, 40, EVERY, lod_pixels=0)
        there = seen["geom_id"] == 0
        assert there.mean() > 0.1
        want = (seen["position_world_m"][there] - (0.1, 0.2, 0.3)) / 0.3
        assert (np.einsum("pi,pi->p", want, seen["normal_world"][there]) > 0.999).all()


def test_rays_are_longer_than_depth():
    scene = load_scene('<mujoco><worldbody><geom type="plane" size="0 0 .1"/></worldbody></mujoco>')
    camera = look((0, 0, 2), (0.3, 0.1, 0))
    seen = shot(scene, camera, 21, 33, EVERY)
    rays = pixel_rays(camera, 21, 33).reshape(21, 33, 3)
    there = seen["depth_m"] > 0
    np.testing.assert_allclose(seen["ray_distance_m"][there], (-2 / rays[..., 2] * np.linalg.norm(rays, axis=-1))[there], rtol=1e-5)


def test_matrices_are_those_of_the_lens():
    assert geometry.intrinsic_cv_from_lens(2, 3, 4, 5).tolist() == [[2, 0, 4], [0, 3, 5], [0, 0, 1]]
    np.testing.assert_allclose(geometry.intrinsic_cv(np.pi / 2, 4, 6), geometry.intrinsic_cv_from_lens(2, 2, 3, 2))
