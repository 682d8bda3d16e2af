"""Stored states: what they hold, and that what they say of cameras is what the renderer says."""

import json
from dataclasses import replace

import h5py
import numpy as np
import pytest

from counting_env import CountingVectorEnv
from filmed_env import FilmedVectorEnv, small_scene
from record_filmed import CAMERAS, record, record_with_looks
from recorded_files import lines
from rollfilm.errors import InvalidArgumentError, NotFoundError, RecordingError
from rollfilm.record import Recorder, RecorderOptions, ResetBatch, StepBatch
from rollfilm.record.reading import Recording
from rollfilm.record.states import read_states
from rollfilm.render import WorldLooks


def compare(states, rows):
    assert len(states) == len(rows)
    for name in ("position", "quat_wxyz", "engine_state", "state_count"):
        assert np.array_equal(getattr(states, name), np.stack([row[name] for row in rows])), name
    for number, row in enumerate(rows):
        for camera, parts in row["matrices"].items():
            for stored, true in zip(states.matrices_at(camera, number), parts, strict=True):
                assert np.abs(stored - true).max() < 2e-5 * max(1.0, np.abs(true).max()), (camera, number)


def test_an_episode_has_a_row_for_each_state_and_it_is_that_state(tmp_path):
    rows = record(tmp_path)
    recording = Recording(tmp_path)
    assert sorted(rows) == list(range(7))
    for line in recording.episodes:
        states = recording.states(line["episode"])
        assert line["states"] == f"states/episode_{line['episode']:06d}.h5"
        assert len(states) == line["steps"] + 1
        compare(states, rows[line["episode"]])
    assert recording.states(2).provenance["seed"] == recording.episode(2)["seed"] == 7002
    # what hangs on the world is there once
    assert {name: len(parts.cam2world_gl) for name, parts in recording.states(0).cameras.items()} == {
        "front": 1,
        "own": 1,
        "wrist": 4,
        "eye": 4,
    }


def test_provenance_says_who_drew_each_frame(tmp_path):
    record(tmp_path, episodes=1)
    said = Recording(tmp_path).states(0).provenance
    assert said["cameras"] == {name: {"height": height, "width": width} for name, (height, width) in CAMERAS.items()}
    assert said["renderer"]["name"] == "rollfilm"
    assert said["renderer"]["device"] == "cpu"
    assert said["renderer"]["options"]["lod_pixels"] == 0.25
    assert {"rollfilm", "warp-lang", "numpy"} <= set(said["versions"])
    assert json.loads((tmp_path / "recording.json").read_text())["renderer"] == said["renderer"]


def test_looks_are_stored_from_the_frame_on_that_they_were_set(tmp_path):
    red = WorldLooks(
        geom_rgba={"box": [[1, 0, 0, 1]]},
        camera_offset={"wrist": [[0.01, 0.02, -0.03]]},
        camera_turn_wxyz={"wrist": [[0.9950042, 0.0, 0.0998334, 0.0]]},
    )
    moved = WorldLooks(
        camera_position={"front": [[1.0, 1.0, 1.0]]},
        camera_quat_wxyz={"front": [[1, 0, 0, 0]]},
        camera_fov_y_rad={"eye": [0.7]},
        camera_intrinsics={"own": [[20.0, 22.0, 11.0, 12.0]]},
    )
    rows = record_with_looks(tmp_path, {1: red, 3: moved, 4: WorldLooks()}.get)
    states = Recording(tmp_path).states(0)
    compare(states, rows)
    assert states.looks_from.tolist() == [1, 3, 4]
    assert states.looks_at(0) is None
    assert states.looks_at(2).to_dict() == red.to_dict()
    assert states.looks_at(3).to_dict() == moved.to_dict()
    assert states.looks_at(4) is None
    with h5py.File(tmp_path / "states" / "episode_000000.h5") as file:
        assert file["cameras/front/extrinsic_cv"].shape == (5, 3, 4)


def test_long_episodes_have_all_their_states_and_looks(tmp_path):
    colors = [WorldLooks(geom_rgba={"box": [[k / 600, 0, 0, 1]]}) for k in range(0, 600, 50)]
    rows = record_with_looks(tmp_path, lambda frame: colors[frame // 50] if frame % 50 == 0 and frame < 600 else None, num_steps=599)
    states = Recording(tmp_path).states(0)
    compare(states, rows)
    assert states.looks_from.tolist() == list(range(0, 600, 50))


def test_the_scene_is_that_of_the_environment_with_the_cameras_that_were_filmed(tmp_path):
    record(tmp_path, episodes=1)
    scene = Recording(tmp_path).scene
    assert [camera.name for camera in scene.cameras] == ["front", "eye", "wrist", "own"]
    assert len(scene.meshes) == len(small_scene().meshes)


def test_episodes_that_are_not_kept_leave_no_states(tmp_path):
    record(tmp_path, keep="success")
    stored = sorted(int(path.stem[-6:]) for path in (tmp_path / "states").iterdir())
    assert (
        stored
        == [line["episode"] for line in sorted(lines(tmp_path), key=lambda line: line["episode"]) if line["kept"]]
        == [0, 1, 2, 4, 5, 6]
    )
    with pytest.raises(RecordingError, match="no states of episode 3: it was not kept"):
        Recording(tmp_path).states(3)
    with pytest.raises(NotFoundError, match="no finished episode 12"):
        Recording(tmp_path).states(12)


def test_overwriting_removes_states_and_scene(tmp_path):
    record(tmp_path)
    record(tmp_path, episodes=2, overwrite=True)
    assert len(list((tmp_path / "states").iterdir())) == 2
    record(tmp_path, episodes=2, overwrite=True, keep_states=False)
    assert not (tmp_path / "states").exists()
    assert not (tmp_path / "scene.npz").exists()
    with pytest.raises(RecordingError, match="without states"):
        _ = Recording(tmp_path).scene


def test_states_that_were_asked_for_and_cannot_be_had_are_an_error(tmp_path):
    env = CountingVectorEnv(2)
    with pytest.raises(InvalidArgumentError, match="keep_states=True"):
        Recorder.for_env(env, tmp_path / "a", RecorderOptions(keep_states=True))
    assert not (tmp_path / "a").exists()
    filmed = FilmedVectorEnv(1)
    observation, _ = filmed.reset(seed=0)
    batch = ResetBatch.of_env(filmed, observation, [0], 0)
    batch = replace(batch, state=replace(batch.state, scene_state={}))
    asked = RecorderOptions(keep_states=True)
    with pytest.raises(RecordingError, match="came without poses"), Recorder.for_env(filmed, tmp_path / "b", asked) as recorder:
        recorder.on_reset(batch)


def test_an_episode_whose_poses_nobody_gave_has_no_states(tmp_path):
    env = FilmedVectorEnv(2)
    observation, _ = env.reset(seed=0)
    actions = np.zeros((2, 2), np.float32)
    with Recorder.for_env(env, tmp_path) as recorder:
        recorder.on_reset(ResetBatch.of_env(env, observation, [0, 1], 0))
        for step in range(3):
            batch = StepBatch.of_env(env, actions, env.step(actions))
            recorder.on_step(batch if step != 1 else replace(batch, state=replace(batch.state, scene_state={})))
    assert all(line["kept"] and "states" not in line for line in lines(tmp_path))
    with pytest.raises(RecordingError, match="no states of episode 0"):
        Recording(tmp_path).states(0)


def test_a_damaged_file_of_states_is_one_clear_error(tmp_path):
    record(tmp_path, episodes=1)
    path = tmp_path / "states" / "episode_000000.h5"
    whole = path.read_bytes()
    for end in (0, 100, len(whole) // 2, len(whole) - 10):
        path.write_bytes(whole[:end])
        with pytest.raises(RecordingError, match=r"episode_000000\.h5"):
            read_states(path)
    path.write_bytes(whole)
    with h5py.File(path, "r+") as file:
        del file["state_count"]
        file["state_count"] = np.zeros(3, np.int64)
    with pytest.raises(RecordingError, match="damaged"):
        read_states(path)


def test_the_same_recording_gives_the_same_bytes(tmp_path):
    for name in ("a", "b"):
        record(tmp_path / name)
    for path in [tmp_path / "a" / "scene.npz", *(tmp_path / "a" / "states").iterdir()]:
        assert path.read_bytes() == (tmp_path / "b" / path.relative_to(tmp_path / "a")).read_bytes(), path
