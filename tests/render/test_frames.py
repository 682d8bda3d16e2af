"""Frames show the state that they were rendered from, and say which."""

import numpy as np
import pytest

from render.moving import ALL, MODEL, moving_scene, random_poses, worlds
from rollfilm.engines.mujoco import MujocoEngine
from rollfilm.render import BatchRenderer, CameraRequest
from rollfilm.scene import BodyPoses

CAMERAS = [CameraRequest("front", 30, 40, ALL), CameraRequest("rider", 20, 30, ALL)]


def copies(frames):
    return {(name, output): getattr(frames[name], output).copy() for name in frames for output in ALL}


def fresh(source):
    """What a renderer shows that has never rendered before."""
    renderer = BatchRenderer(source.scene, source.num_worlds, CAMERAS)
    pictures = copies(renderer.render(source))
    renderer.close()
    return pictures


@pytest.fixture(scope="module")
def engine():
    engine = MujocoEngine(MODEL, num_worlds=3, num_threads=1)
    yield engine
    engine.close()


@pytest.fixture
def renderer(engine):
    renderer = BatchRenderer(engine.scene, 3, CAMERAS)
    yield renderer
    renderer.close()


def assert_same(got, want):
    for key, picture in want.items():
        np.testing.assert_array_equal(got[key], picture, err_msg=str(key))


def test_the_first_frame_after_a_change_shows_the_new_state(engine, renderer):
    engine.reset()
    at_first = copies(renderer.render(engine))
    saved = engine.get_state()
    engine.step(np.zeros((3, 0)), 40)
    fallen = copies(renderer.render(engine))
    assert all((fallen["front", output] != at_first["front", output]).any() for output in ALL)
    assert_same(fallen, fresh(engine))

    engine.set_state(saved)
    assert_same(copies(renderer.render(engine)), at_first)

    qpos = engine.read_state().qpos
    qpos[1, :3] = 0.3, 0.5, 0.8
    engine.reset(np.array([False, True, False]), qpos=qpos)
    moved = copies(renderer.render(engine))
    assert_same(moved, fresh(engine))
    for key, picture in moved.items():
        np.testing.assert_array_equal(picture[[0, 2]], at_first[key][[0, 2]])
        assert key == ("rider", "segmentation") or (picture[1] != at_first[key][1]).any()


def test_frames_carry_the_count_of_their_state(engine, renderer):
    for change in (engine.reset, lambda: engine.step(np.zeros((3, 0))), lambda: engine.set_state(engine.get_state())):
        before = renderer.render(engine)
        change()
        assert before.state_count < engine.state_count
        assert renderer.render(engine).state_count == engine.state_count


def test_the_next_render_overwrites_the_arrays(engine, renderer):
    engine.reset()
    kept = renderer.render(engine)["front"].rgb
    first = kept.copy()
    engine.step(np.zeros((3, 0)), 40)
    renderer.render(engine)
    assert (kept != first).any()


def test_shapes_types_and_order():
    renderer = BatchRenderer(moving_scene(), 2, [CAMERAS[1], CAMERAS[0]])
    frames = renderer.render(worlds(random_poses(2), [0, 1]))
    assert list(frames) == ["rider", "front"]
    assert len(frames) == 2
    front = frames["front"]
    assert (front.rgb.shape, front.rgb.dtype) == ((2, 30, 40, 3), np.uint8)
    assert (front.depth_m.shape, front.depth_m.dtype) == ((2, 30, 40), np.float32)
    assert (front.segmentation.shape, front.segmentation.dtype) == ((2, 30, 40), np.int32)
    renderer.close()


def test_poses_need_not_be_contiguous_and_are_not_kept():
    poses = random_poses(4)
    strided = worlds(poses, [0, 2])
    strided.show(BodyPoses(poses.position[::2], poses.quat_wxyz[::2]))
    assert not strided.body_poses().position.flags["C_CONTIGUOUS"]
    renderer = BatchRenderer(moving_scene(), 2, CAMERAS)
    assert_same(copies(renderer.render(strided)), fresh(worlds(poses, [0, 2])))
    # the caller's array changes in place: the next frame shows it
    poses.position[0, 1] += 0.2
    assert_same(copies(renderer.render(strided)), fresh(worlds(poses, [0, 2])))
    renderer.close()
