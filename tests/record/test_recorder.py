import gc
import json
import os
import resource
import time
import tracemalloc
from dataclasses import replace

import h5py
import numpy as np
import pytest

from counting_env import CountingVectorEnv, counting_policy
from recorded_files import decode, levels, lines
from rollfilm.errors import InvalidArgumentError, MemoryBudgetError, RecordingError, RecordingExistsError, StaleFramesError
from rollfilm.evaluate.rollout import run_episodes
from rollfilm.record import Receipt, Recorder, RecorderOptions, ResetBatch, StateBatch, StepBatch, VideoWriter
from rollfilm.record.manifest import describe_env

LENGTHS = (3, 4, 5)


def record(folder, num_envs=3, episodes=9, sizes=None, env_options=None, **options):
    env = CountingVectorEnv(num_envs, sizes, **(env_options or {}))
    with Recorder.for_env(env, folder, RecorderOptions(seed=7, **options)) as recorder:
        run_episodes(env, counting_policy, num_episodes=episodes, seed=7, recorder=recorder)
    return env


def trajectory(folder):
    return h5py.File(next(folder.glob("trajectory.*.h5")))


@pytest.mark.parametrize("num_envs", [1, 2, 3, 5, 7, 8, 128])
def test_every_episode_has_one_frame_and_state_more_than_actions(tmp_path, num_envs):
    episodes = num_envs + 3
    record(tmp_path, num_envs, episodes, env_options={"contrast": 25})
    rows = lines(tmp_path)
    assert sorted(line["episode"] for line in rows) == list(range(episodes))
    with trajectory(tmp_path) as file:
        for line in rows:
            steps, world = LENGTHS[line["episode"] % 3], line["world"]
            assert line["steps"] == steps
            expected = [(10 * world + 25 * step) % 256 for step in range(steps + 1)]
            shown = levels(tmp_path / line["videos"]["front"])
            assert len(shown) == steps + 1
            assert np.abs(np.array(shown) - expected).max() <= 3, line
            group = file[line["trajectory"]]
            assert group["obs"][:].tolist() == [[world, step, line["episode"]] for step in range(steps + 1)]
            assert group["env_states/actors/cube"][:, 0].tolist() == [10 * world + step for step in range(steps + 1)]
            assert group["actions"][:].tolist() == [[step, line["episode"]] for step in range(steps)]
            assert group["rewards"].shape == group["success"].shape == group["terminated"].shape == (steps,)


def test_each_camera_has_its_own_pictures(tmp_path):
    record(tmp_path, 2, 4, {"front": (32, 32), "wrist": (16, 24)}, {"contrast": 20})
    for line in lines(tmp_path):
        expected = 10 * line["world"] + 20 * np.arange(LENGTHS[line["episode"] % 3] + 1)
        assert np.abs(levels(tmp_path / line["videos"]["front"]) - expected).max() <= 3
        assert np.abs(levels(tmp_path / line["videos"]["wrist"]) - expected - 128).max() <= 3


def test_the_overview_has_a_frame_for_the_reset_and_each_control_step(tmp_path):
    env = CountingVectorEnv(7, contrast=20)
    with Recorder.for_env(env, tmp_path) as recorder:
        rollout = run_episodes(env, counting_policy, num_episodes=6, seed=0, recorder=recorder)
    shown = decode(tmp_path / "overview.mp4")
    assert shown.shape == (1 + rollout.control_steps, 96, 96, 3)
    last_row = shown[:, 80, [16, 48, 80], 0].astype(int)
    assert np.abs(last_row[0] - [60, 16, 16]).max() <= 2
    assert np.abs(last_row[:, 0] - [60 + 20 * step for step in range(len(shown))]).max() <= 3, "a world without an episode stays live"


def test_kept_successes_only(tmp_path):
    record(tmp_path, 3, 9, keep="success")
    kept = [line["episode"] for line in lines(tmp_path) if line["kept"]]
    expected = [0, 1, 2, 4, 5, 6, 8]
    assert sorted(kept) == expected
    assert sorted(int(path.stem[-6:]) for path in tmp_path.glob("videos/front/*")) == expected
    with trajectory(tmp_path) as file:
        assert sorted(int(name[5:]) for name in file) == expected
    assert [line["success"] for line in lines(tmp_path) if not line["kept"]] == [False, False]


def test_a_function_chooses_what_is_kept(tmp_path):
    record(tmp_path, 3, 9, keep=lambda episode, outcome: outcome.steps == 4)
    assert sorted(line["episode"] for line in lines(tmp_path) if line["kept"]) == [1, 4, 7]
    assert len(list(tmp_path.glob("videos/front/*"))) == 3


def test_a_sink_of_ones_own_is_told_everything(tmp_path):
    class Notes:
        def __init__(self):
            self.calls = []

        def on_reset(self, episode, first):
            self.calls.append(("reset", episode.index, first.pictures["front"].rgb[0, 0, 0], first.observation[1]))

        def on_step(self, episode, row):
            self.calls.append(("step", episode.index, row.after.pictures["front"].rgb[0, 0, 0], row.after.observation[1]))

        def on_episode_end(self, episode, outcome, *, keep):
            self.calls.append(("end", episode.index, outcome.steps, keep))
            return Receipt({"notes": "taken"})

        def close(self):
            self.calls.append("close")

    notes, env = Notes(), CountingVectorEnv(1, contrast=2)
    with Recorder(tmp_path, describe_env(env), extra_sinks=[notes]) as recorder:
        run_episodes(env, counting_policy, num_episodes=1, seed=0, recorder=recorder)
    steps = [("step", 0, 2 * step, step) for step in (1, 2, 3)]
    assert notes.calls == [("reset", 0, 0, 0), *steps, ("end", 0, 3, True), "close"]
    assert lines(tmp_path)[0]["notes"] == "taken"


def test_unknown_success_is_not_failure(tmp_path):
    record(tmp_path, 2, 2, env_options={"reports_success": False})
    assert [line["success"] for line in lines(tmp_path)] == [None, None]
    with trajectory(tmp_path) as file:
        assert "success" not in file["traj_0"]
    document = json.loads(next(tmp_path.glob("trajectory.*.json")).read_text())
    assert all("success" not in episode for episode in document["episodes"])


def test_keeping_successes_needs_to_know_them(tmp_path):
    with pytest.raises(InvalidArgumentError, match="does not say"):
        record(tmp_path, 2, 2, env_options={"reports_success": False}, keep="success")


def test_the_seed_that_made_the_episode_is_stored(tmp_path):
    record(tmp_path, 2, 5)
    document = json.loads(next(tmp_path.glob("trajectory.*.json")).read_text())
    assert [episode["episode_id"] for episode in document["episodes"]] == list(range(5))
    assert [episode["episode_seed"] for episode in document["episodes"]] == [7000 + k for k in range(5)]
    assert [episode["reset_kwargs"] for episode in document["episodes"]] == [{"options": {"episode_index": [k]}} for k in range(5)]
    assert {line["run_seed"] for line in lines(tmp_path)} == {7}


def test_frames_of_another_state_are_refused(tmp_path):
    env = CountingVectorEnv(2)
    with Recorder.for_env(env, tmp_path) as recorder:
        stale = env.frames()
        observation, _ = env.reset(seed=0)
        with pytest.raises(StaleFramesError, match="show state 0, the environment is in state 1"):
            recorder.on_reset(ResetBatch(StateBatch(stale, env.state_count, observation), [0, 1], np.arange(2)))
        recorder.on_reset(ResetBatch.of_env(env, observation, [0, 1], 0))
        stale = env.frames()
        actions = np.zeros((2, 2), np.float32)
        step = StepBatch.of_env(env, actions, env.step(actions))
        with pytest.raises(StaleFramesError):
            recorder.on_step(replace(step, state=replace(step.state, frames=stale)))


def test_a_step_that_is_not_recorded_is_found(tmp_path):
    env = CountingVectorEnv(2)
    recorder = Recorder.for_env(env, tmp_path)
    observation, _ = env.reset(seed=0)
    recorder.on_reset(ResetBatch.of_env(env, observation, [0, 1], 0))
    actions = np.zeros((2, 2), np.float32)
    env.step(actions)
    step = StepBatch.of_env(env, actions, env.step(actions))
    with pytest.raises(RecordingError, match="the environment counts 2 steps") as caught:
        recorder.on_step(step)
    recorder.close(caught.value)
    assert {line["ended"] for line in lines(tmp_path)} == {"failed"}


def test_closing_early_cuts_what_is_in_flight(tmp_path):
    env = CountingVectorEnv(3, contrast=20)
    with Recorder.for_env(env, tmp_path) as recorder:
        observation, _ = env.reset(seed=0)
        recorder.on_reset(ResetBatch.of_env(env, observation, [0, 1, 2], 0))
        for _ in range(3):
            actions = np.zeros((3, 2), np.float32)
            recorder.on_step(StepBatch.of_env(env, actions, env.step(actions)))
    assert [(line["ended"], line["steps"]) for line in lines(tmp_path)] == [("terminated", 3), ("cut", 3), ("cut", 3)]
    assert np.abs(np.array(levels(tmp_path / lines(tmp_path)[1]["videos"]["front"])) - [10, 30, 50, 70]).max() <= 3
    with trajectory(tmp_path) as file:
        assert list(file) == ["traj_0"], "an episode that was cut is not written as if it had ended"


def test_what_was_cut_is_no_success(tmp_path):
    env = CountingVectorEnv(2)
    with Recorder.for_env(env, tmp_path, RecorderOptions(keep="success")) as recorder:
        observation, _ = env.reset(seed=0)
        recorder.on_reset(ResetBatch.of_env(env, observation, [0], 0))
        actions = np.zeros((2, 2), np.float32)
        step = StepBatch.of_env(env, actions, env.step(actions))
        recorder.on_step(replace(step, success=np.ones(2, bool)))
        recorder.on_reset(ResetBatch.of_env(env, env.reset(seed=0)[0], [1], 0))
    assert [(line["ended"], line["success"], line["kept"]) for line in lines(tmp_path)] == [("cut", True, False), ("cut", None, False)]
    assert not list(tmp_path.glob("videos/*/*"))


def test_an_error_in_the_loop_fails_the_episodes_and_closes_every_file(tmp_path):
    env = CountingVectorEnv(2)

    def policy(observation):
        raise ZeroDivisionError("the policy divided by zero")

    with pytest.raises(ZeroDivisionError), Recorder.for_env(env, tmp_path) as recorder:
        run_episodes(env, policy, num_episodes=2, seed=0, recorder=recorder)
    assert {(line["ended"], line["error"], line["kept"]) for line in lines(tmp_path)} == {
        ("failed", "ZeroDivisionError: the policy divided by zero", False)
    }
    assert json.loads((tmp_path / "recording.json").read_text())["status"] == "failed"
    assert not list(tmp_path.rglob("*.part"))
    assert not list(tmp_path.glob("videos/*/*"))


@pytest.mark.parametrize("steps", [2, 3], ids=["when it is closed", "when an episode ends"])
def test_a_choice_that_fails_closes_every_file(tmp_path, steps):
    def keep(episode, outcome):
        raise ZeroDivisionError("no ground to choose on")

    def film():
        env = CountingVectorEnv(2)
        with Recorder.for_env(env, tmp_path, RecorderOptions(keep=keep)) as recorder:
            observation, _ = env.reset(seed=0)
            recorder.on_reset(ResetBatch.of_env(env, observation, [0, 1], 0))
            for _ in range(steps):
                actions = np.zeros((2, 2), np.float32)
                recorder.on_step(StepBatch.of_env(env, actions, env.step(actions)))

    with pytest.raises(ZeroDivisionError):
        film()
    assert [(line["ended"], line["error"]) for line in lines(tmp_path)] == [("failed", "ZeroDivisionError: no ground to choose on")] * 2
    assert json.loads((tmp_path / "recording.json").read_text())["status"] == "failed"
    assert not list(tmp_path.rglob("*.part"))
    assert not list(tmp_path.glob("videos/*/*"))


@pytest.mark.parametrize("error", [RuntimeError("no such device"), KeyboardInterrupt()])
def test_an_error_before_the_first_episode_leaves_nothing(tmp_path, error):
    (tmp_path / "there").mkdir()
    for folder in (tmp_path / "there", tmp_path / "new"):
        env = CountingVectorEnv(2)

        def reset(error=error, **options):
            raise error

        env.reset = reset
        with pytest.raises(type(error)), Recorder.for_env(env, folder) as recorder:
            run_episodes(env, counting_policy, num_episodes=2, seed=0, recorder=recorder)
    assert [path.name for path in tmp_path.rglob("*")] == ["there"]


def test_an_encoder_that_cannot_write_stops_the_loop_and_spares_finished_episodes(tmp_path):
    env = CountingVectorEnv(2, {"front": (64, 64)}, lengths=(3, 200))
    noise = np.random.default_rng(0)
    plain_frames = env.frames

    def noisy_frames():
        frames = plain_frames()
        if env.elapsed_steps.max() > 5:
            frames["front"].rgb[:] = noise.integers(0, 256, frames["front"].rgb.shape)
        return frames

    env.frames = noisy_frames
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, hard))
    try:
        with pytest.raises(RecordingError, match=r"cannot write .*mp4"), Recorder.for_env(env, tmp_path) as recorder:
            run_episodes(env, counting_policy, num_episodes=2, seed=0, recorder=recorder)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    first, second = lines(tmp_path)
    assert (first["ended"], first["kept"]) == ("terminated", True)
    assert len(decode(tmp_path / first["videos"]["front"])) == 4
    assert (second["ended"], second["kept"]) == ("failed", False)
    assert "cannot write" in second["error"]
    assert not list(tmp_path.rglob("*.part"))
    with trajectory(tmp_path) as file:
        assert list(file) == ["traj_0"]


def test_a_folder_with_a_recording_is_refused(tmp_path):
    record(tmp_path, 1, 1)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    with pytest.raises(RecordingExistsError, match="already holds a recording"):
        record(tmp_path, 1, 1)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_overwriting_leaves_the_users_own_files(tmp_path):
    record(tmp_path, 3, 6, {"front": (32, 32), "wrist": (16, 16)})
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "videos" / "wrist" / "best.mp4").write_text("mine too")
    record(tmp_path, 1, 1, overwrite=True)
    assert (tmp_path / "notes.txt").read_text() == "mine"
    assert sorted(path.name for path in tmp_path.glob("videos/*/*")) == ["best.mp4", "episode_000000.mp4"]
    assert len(lines(tmp_path)) == 1


def test_a_folder_that_cannot_be_written_to_is_one_clear_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(RecordingError, match=r"cannot record to .*file/out"):
        record(tmp_path / "file" / "out", 1, 1)


def test_more_memory_than_there_is(tmp_path):
    env = CountingVectorEnv(4096, {"front": (1, 1)})
    env.cameras = (replace(env.cameras[0], height=16384, width=16384),)
    with pytest.raises(MemoryBudgetError, match=r"[\d,.]+ TB of memory are needed and [\d.]+ GB are available"):
        Recorder.for_env(env, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_the_same_seed_gives_the_same_files_but_for_dates(tmp_path):
    sizes = {"front": (63, 85), "wrist": (1, 1)}
    for name in ("a", "b"):
        record(tmp_path / name, 5, 12, sizes, encoder_threads=1 if name == "a" else 4)
    files = sorted(path.relative_to(tmp_path / "a") for path in (tmp_path / "a").rglob("*") if path.is_file())
    assert files == sorted(path.relative_to(tmp_path / "b") for path in (tmp_path / "b").rglob("*") if path.is_file())
    assert len(files) == 5 * 12 + 6
    for file in files:
        a, b = ((tmp_path / name / file).read_bytes() for name in ("a", "b"))
        if file.name == "recording.json":
            a, b = ({**json.loads(text), "run": None} for text in (a, b))
        assert a == b, file


def test_a_slow_encoder_makes_the_loop_wait_and_nothing_is_dropped(tmp_path, monkeypatch):
    plain_write = VideoWriter.write
    monkeypatch.setattr(VideoWriter, "write", lambda self, pixels, **more: (time.sleep(0.01), plain_write(self, pixels, **more))[1])
    env = CountingVectorEnv(4)
    with Recorder.for_env(env, tmp_path, RecorderOptions(encoder_threads=1, buffered_steps=1)) as recorder:
        run_episodes(env, counting_policy, num_episodes=4, seed=0, recorder=recorder)
        waited = recorder.timings["encode"]
    assert waited > 0.1
    assert [len(decode(tmp_path / line["videos"]["front"])) for line in sorted(lines(tmp_path), key=lambda x: x["episode"])] == [4, 5, 6, 4]


def test_memory_does_not_grow_with_episodes(tmp_path):
    def resident_bytes():
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    env = CountingVectorEnv(4, {"front": (32, 32)}, lengths=(3, 4, 5))
    with Recorder.for_env(env, tmp_path, RecorderOptions(keep=lambda episode, outcome: episode.index % 10 == 0)) as recorder:
        run_episodes(env, counting_policy, num_episodes=100, seed=0, recorder=recorder)
        before = resident_bytes()
        run_episodes(env, counting_policy, num_episodes=300, seed=1, recorder=recorder)
        assert resident_bytes() - before < 5e6


def test_memory_does_not_grow_with_the_length_of_an_episode(tmp_path, monkeypatch):
    monkeypatch.setattr("rollfilm.record.rows._MEMORY_BYTES", 50_000)

    env = CountingVectorEnv(1, {"front": (2, 2)}, lengths=(30_000,))
    observation, _ = env.reset(seed=0)
    actions = np.zeros((1, 2), np.float32)
    with Recorder.for_env(env, tmp_path, RecorderOptions(keep=lambda *_: False, overview=False)) as recorder:
        recorder.on_reset(ResetBatch.of_env(env, observation, [0], 0))
        tracemalloc.start()
        for step in range(1500):
            recorder.on_step(StepBatch.of_env(env, actions, env.step(actions)))
            if step == 700:
                gc.collect()  # empties the interpreter's own stores, too
                before = tracemalloc.get_traced_memory()[0]
        gc.collect()
        grown = tracemalloc.get_traced_memory()[0] - before
        tracemalloc.stop()
    assert grown < 50_000
