import filecmp

import h5py
import numpy as np
import pytest

import record_filmed
from counting_env import CountingVectorEnv, counting_policy
from recorded_files import lines
from rollfilm.errors import InvalidArgumentError, RecordingError, RecordingExistsError
from rollfilm.evaluate.rollout import run_episodes
from rollfilm.record import Recorder, RecorderOptions, Recording
from rollfilm.record.export import export


def record(folder, env=None, policy=counting_policy, episodes=9, **options):
    env = env or CountingVectorEnv(3, {"front": (33, 48), "wrist": (16, 16)}, contrast=8)
    options = {"formats": ("maniskill", "lerobot", "robomimic"), "seed": 7, **options}
    with Recorder.for_env(env, folder, RecorderOptions(**options)) as recorder:
        run_episodes(env, policy, num_episodes=episodes, seed=7, recorder=recorder)
    return Recording(folder)


def same_tree(one, other):
    names = sorted(path.relative_to(one) for path in one.rglob("*") if path.is_file())
    assert names == sorted(path.relative_to(other) for path in other.rglob("*") if path.is_file())
    return [str(name) for name in names if not filecmp.cmp(one / name, other / name, shallow=False)]


class NamedEnv(CountingVectorEnv):
    """Observations whose names are not in the order of the alphabet."""

    def _observation(self):
        plain = super()._observation()
        return {"qpos": plain, "agent": {"z": plain[:, :1], "a": plain[:, 1:]}}


@pytest.mark.parametrize("env", [CountingVectorEnv, NamedEnv])
def test_lerobot_is_the_dataset_that_the_recorder_would_have_written_byte_for_byte(tmp_path, env):
    pytest.importorskip("pyarrow")

    def policy(observation):
        return counting_policy(observation["qpos"] if isinstance(observation, dict) else observation)

    recording = record(tmp_path / "a", env(3, {"front": (33, 48), "wrist": (16, 16)}, contrast=8), policy, keep="success")
    seen = []
    assert export(recording, "lerobot", tmp_path / "b", progress=lambda done, total: seen.append((done, total))) == tmp_path / "b"
    assert seen == [(k + 1, 7) for k in range(7)]
    assert same_tree(tmp_path / "a" / "lerobot", tmp_path / "b") == []


def test_maniskill_is_the_file_that_the_recorder_wrote(tmp_path):
    recording = record(tmp_path / "a", keep="success")
    path = export(recording, "maniskill", tmp_path / "b")
    assert filecmp.cmp(path, recording.trajectory_file, shallow=False)
    assert filecmp.cmp(path.with_suffix(".json"), recording.trajectory_file.with_suffix(".json"), shallow=False)
    assert sorted(path.name for path in (tmp_path / "b").iterdir()) == sorted([path.name, path.with_suffix(".json").name])


def test_robomimic_has_the_decoded_pictures_where_no_states_are_stored(tmp_path):
    recording = record(tmp_path / "a")
    with h5py.File(export(recording, "robomimic", tmp_path / "b")) as file, h5py.File(tmp_path / "a" / "robomimic.hdf5") as online:
        assert '"decoded from videos"' in file["data"].attrs["rollfilm"]
        assert list(file["data"]) == list(online["data"])
        for name in online["data"]:
            for key in ("states", "actions", "rewards", "dones", "obs/state", "next_obs/state"):
                np.testing.assert_array_equal(file["data"][name][key][:], online["data"][name][key][:])
            pictures, exact = file["data"][name]["obs/front_image"][:], online["data"][name]["obs/front_image"][:]
            assert pictures.shape == exact.shape
            assert np.abs(pictures.astype(int) - exact).max() <= 3
    assert [path.name for path in (tmp_path / "b").iterdir()] == ["robomimic.hdf5"]


def test_robomimic_has_the_same_pictures_as_online_where_states_are_stored(tmp_path):
    record_filmed.record(tmp_path / "a", formats=("maniskill", "robomimic"))
    with h5py.File(export(Recording(tmp_path / "a"), "robomimic", tmp_path / "b")) as file:
        assert '"rendered from states"' in file["data"].attrs["rollfilm"]
        with h5py.File(tmp_path / "a" / "robomimic.hdf5") as online:
            for name in online["data"]:
                for key in ("front_image", "wrist_image", "own_image"):
                    np.testing.assert_array_equal(file["data"][name]["obs"][key][:], online["data"][name]["obs"][key][:])


def test_an_interrupted_recording_is_exported_as_far_as_it_is_finished(tmp_path):
    env = CountingVectorEnv(3, {"front": (16, 16)})
    recorder = Recorder.for_env(env, tmp_path / "a", RecorderOptions())
    run_episodes(env, counting_policy, num_episodes=6, seed=0, recorder=recorder)
    while len(lines(tmp_path / "a")) < 6:
        recorder._settle()
    with h5py.File(export(Recording(tmp_path / "a"), "maniskill", tmp_path / "b")) as file:
        assert sorted(file) == [f"traj_{k}" for k in range(6)]
    recorder.close()


def test_what_cannot_be_exported_is_said_and_leaves_nothing(tmp_path):
    recording = record(tmp_path / "a")
    with pytest.raises(InvalidArgumentError, match="format 'rlds' cannot be exported to; choose from lerobot, maniskill, robomimic"):
        export(recording, "rlds", tmp_path / "b")
    with pytest.raises(RecordingExistsError, match="is there already; take another folder"):
        export(recording, "maniskill", tmp_path / "a")
    recording.video_path("wrist", 4).unlink()
    for name in ("robomimic", "lerobot"):
        with pytest.raises(RecordingError, match="wrist"):
            export(Recording(tmp_path / "a"), name, tmp_path / "b")
        assert not (tmp_path / "b").exists()
    with pytest.raises(RecordingError, match="has no complete, kept episode with rows"):
        export(record(tmp_path / "c", formats=()), "maniskill", tmp_path / "b")
