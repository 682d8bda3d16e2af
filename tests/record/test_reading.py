import os
import shutil

import h5py
import numpy as np
import pytest

from counting_env import CountingVectorEnv, counting_policy
from rollfilm.errors import NotFoundError, RecordingError
from rollfilm.evaluate.rollout import run_episodes
from rollfilm.record import Recorder, RecorderOptions, Recording


def record(folder, num_envs=3, episodes=9, stop_after=None, **options):
    """Record the counting environment; after ``stop_after`` control steps without closing, as a kill would leave it."""
    env = CountingVectorEnv(num_envs, {"front": (33, 48), "wrist": (32, 32)}, contrast=8)
    recorder = Recorder.for_env(env, folder, RecorderOptions(seed=7, **options))

    def stop(rollout):
        if rollout.control_steps == stop_after:
            recorder._pool.close()
            recorder._settle(everything=True)
            raise StopIteration

    try:
        run_episodes(env, counting_policy, num_episodes=episodes, seed=7, recorder=recorder, progress=stop)
    except StopIteration:
        return Recording(folder)
    recorder.close()
    return Recording(folder)


def test_rows_are_those_that_were_recorded(tmp_path):
    recording = record(tmp_path)
    assert [line["episode"] for line in recording.episodes] == list(range(9)) == [line["episode"] for line in recording.kept]
    assert recording.cameras == ("front", "wrist")
    for line in recording.episodes:
        rows, steps = recording.trajectory(line["episode"]), line["steps"]
        assert (rows.index, rows.steps) == (line["episode"], steps)
        names = {"obs", "actions", "rewards", "terminated", "truncated", "success"}
        assert set(rows) == names | {"env_states/actors/cube", "env_states/articulations/panda"}
        assert rows["obs"][:, 1].tolist() == list(range(steps + 1))
        assert rows["obs"][:, 2].tolist() == [line["episode"]] * (steps + 1)
        assert rows["actions"][:, 0].tolist() == list(range(steps))
        assert len(rows["env_states/actors/cube"]) == steps + 1
        assert rows["success"].dtype == np.bool_


def test_videos_are_those_of_the_episode_and_camera(tmp_path):
    recording = record(tmp_path)
    for line in recording.episodes:
        for number, (camera, size) in enumerate({"front": (33, 48), "wrist": (32, 32)}.items()):
            with recording.video(camera, line["episode"]) as video:
                assert (len(video), video.size) == (line["steps"] + 1, size)
                shown = [round(float(picture.mean())) for picture in video]
                expected = [(10 * line["world"] + 8 * k + 128 * number) % 256 for k in range(line["steps"] + 1)]
                assert np.abs(np.subtract(shown, expected)).max() <= 2


def test_an_interrupted_recording_is_read_as_far_as_it_is_finished(tmp_path):
    recording = record(tmp_path, episodes=100, stop_after=14)
    assert recording.manifest["status"] == "recording"
    assert len(recording.episodes) >= 9
    for line in recording.kept:
        assert recording.trajectory(line["episode"]).steps == line["steps"]
        with recording.video("front", line["episode"]) as video:
            assert len(video) == line["steps"] + 1


def test_what_is_not_there_is_said(tmp_path):
    recording = record(tmp_path / "a", keep="success")
    with pytest.raises(NotFoundError, match="no finished episode 9: there are 9, from 0 to 8"):
        recording.trajectory(9)
    with pytest.raises(RecordingError, match="no rows of episode 3: it was not kept"):
        recording.trajectory(3)
    with pytest.raises(RecordingError, match=r"episode_000003\.mp4 is not there: episode 3 was not kept"):
        recording.video("front", 3)
    with pytest.raises(NotFoundError, match="no camera 'back'; choose from front, wrist"):
        recording.video("back", 0)
    with pytest.raises(RecordingError, match="the recording has no format 'maniskill'"):
        record(tmp_path / "b", formats=()).trajectory(0)
    os.remove(recording.video_path("wrist", 0))
    with pytest.raises(RecordingError, match=r"wrist/episode_000000\.mp4 is not there$"):
        recording.video("wrist", 0)
    shutil.copy(recording.video_path("front", 0), recording.trajectory_file)
    with pytest.raises(RecordingError, match="episode 0: cannot be read"):
        recording.trajectory(0)
    with pytest.raises(RecordingError, match="is not there; give the folder of a recording"):
        Recording(tmp_path / "none")


def test_a_cut_episode_has_a_video_and_no_rows(tmp_path):
    env = CountingVectorEnv(1)
    with Recorder.for_env(env, tmp_path) as recorder:
        run_episodes(env, counting_policy, num_episodes=1, seed=0, recorder=recorder)
        from rollfilm.record import ResetBatch

        observation, _ = env.reset(options={"episode_index": np.array([1])})
        recorder.on_reset(ResetBatch.of_env(env, observation, [0], 0))
    recording = Recording(tmp_path)
    assert recording.episode(1)["ended"] == "cut"
    with recording.video("front", 1) as video:
        assert len(video) == 1
    with pytest.raises(RecordingError, match="no rows of episode 1: it ended as 'cut'"):
        recording.trajectory(1)


def test_rows_that_lack_rewards_are_an_error(tmp_path):
    recording = record(tmp_path)
    with h5py.File(recording.trajectory_file, "a") as file:
        del file["traj_0/rewards"]
        del file["traj_1"]
    with pytest.raises(RecordingError, match="episode 0: there are no rewards"):
        recording.trajectory(0)
    with pytest.raises(RecordingError, match=r"no rows of episode 1: .* lacks it"):
        recording.trajectory(1)
