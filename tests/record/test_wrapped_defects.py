"""What ManiSkill's ``RecordEpisode`` and others of its kind get wrong, each as a case that ``rollfilm.RecordEpisode`` gets right."""

import json
import os
import subprocess
import sys
import time
import warnings
from pathlib import Path

import gymnasium
import h5py
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

import rollfilm
from any_env import Batched, OneWorld, length_of, sync
from recorded_files import decode, levels
from rollfilm.errors import RecordingError, RecordingExistsError
from rollfilm.record.layout import Layout
from rollfilm.record.manifest import read_episodes

ACTION = np.zeros((3, 2), np.float32)


def ready(env, seed=None, **options):
    env.reset(seed=seed, **options)
    return env


def trajectory(folder):
    return h5py.File(next(folder.glob("trajectory.*.h5")))


def documents(folder):
    return json.loads(next(folder.glob("trajectory.*.json")).read_text())["episodes"]


def ended(folder):
    return {line["episode"]: line["ended"] for line in read_episodes(Layout(folder))}


class Endless(Batched):
    """Never ends an episode; remembers what it was reset with."""

    def step(self, action):
        observation, rewards, terminated, truncated, infos = super().step(action)
        return observation, rewards, terminated & False, truncated & False, infos


class Forgetful(Batched):
    """Says nothing of success in the second step."""

    def step(self, action):
        *result, infos = super().step(action)
        return *result, infos if self.steps[0] != 2 else {}


def test_steps_do_not_get_slower(tmp_path):
    with ready(rollfilm.RecordEpisode(Endless(3), tmp_path, save_video=False)) as env:
        seconds = []
        for _ in range(1600):
            started = time.perf_counter()
            env.step(ACTION)
            seconds.append(time.perf_counter() - started)
    assert np.median(seconds[1500:]) < 2.5 * np.median(seconds[50:150])


def test_frames_are_encoded_while_the_episode_runs_and_not_kept(tmp_path):
    with ready(rollfilm.RecordEpisode(Endless(3), tmp_path)) as env:
        for _ in range(200):
            env.step(ACTION)
        assert list(tmp_path.glob("videos/render/*.part"))
        assert len(env.recorder._ring._slots) == 3, "frames live in three buffers, however long the clip"


def test_the_last_clip_is_kept_whatever_the_trigger_says_at_close(tmp_path):
    with ready(rollfilm.RecordEpisode(Endless(3), tmp_path, save_video_trigger=lambda step: step < 4)) as env:
        for _ in range(6):
            env.step(ACTION)
    assert len(decode(tmp_path / "clips/000000.mp4")) == 5, "the state before the first step and after each of the four"


@pytest.mark.parametrize("size", [(64, 64), (84, 84), (90, 90), (63, 85)])
def test_pictures_have_the_size_that_was_asked_for(tmp_path, size):
    env = rollfilm.RecordEpisode(OneWorld(size=size), tmp_path)
    env.reset()
    env.step(ACTION[0])
    env.close()
    camera = json.loads((tmp_path / "recording.json").read_text())["cameras"]["render"]
    assert (camera["height"], camera["width"]) == size
    shown = decode(tmp_path / "videos/render/episode_000000.mp4")
    assert shown.shape[1:3] == (size[0] + size[0] % 2, size[1] + size[1] % 2)
    assert (camera["pad_bottom"], camera["pad_right"]) == (size[0] % 2, size[1] % 2)


def test_every_world_has_its_own_videos_and_the_overview_is_near_square(tmp_path):
    with ready(rollfilm.RecordEpisode(sync(7, AutoresetMode.NEXT_STEP), tmp_path)) as env:
        for _ in range(8):
            env.step(np.zeros((7, 2), np.float32))
    assert decode(tmp_path / "overview.mp4").shape[1:3] == (96, 96)
    assert {line["world"] for line in read_episodes(Layout(tmp_path))} == set(range(7))


def test_success_that_is_missing_once_erases_nothing(tmp_path):
    with ready(rollfilm.RecordEpisode(Forgetful(3), tmp_path)) as env:
        for _ in range(3):
            env.step(ACTION)
        env.reset(options={"env_idx": [0]})
    with trajectory(tmp_path) as file:
        assert file["traj_0/success"][:].tolist() == [False, False, True]
        assert file["traj_0/success_known"][:].tolist() == [True, False, True]


def test_closing_makes_no_finished_episodes_of_unfinished_ones(tmp_path):
    with ready(rollfilm.RecordEpisode(Batched(3), tmp_path)) as env:
        for _ in range(3):
            env.step(ACTION)
    assert ended(tmp_path) == {0: "terminated", 1: "cut", 2: "cut"}
    with trajectory(tmp_path) as file:
        assert list(file) == ["traj_0"]
    assert len(levels(tmp_path / "videos/render/episode_000001.mp4")) == 4


KILLED = """
import os, sys, time
import numpy as np
import rollfilm
from any_env import sync
from gymnasium.vector import AutoresetMode
env = rollfilm.RecordEpisode(sync(3, AutoresetMode.NEXT_STEP), sys.argv[1])
env.reset(seed=0)
for _ in range(8):
    env.step(np.zeros((3, 2), np.float32))
path = os.path.join(sys.argv[1], "episodes.jsonl")
while not os.path.exists(path) or open(path).read().count("\\n") < 3:
    env.step(np.zeros((3, 2), np.float32))
    time.sleep(0.01)
os.kill(os.getpid(), 9) if sys.argv[2] == "kill" else None
"""


def run_script(folder, how):
    paths = os.pathsep.join([str(Path(__file__).parents[1]), *sys.path])
    environment = {**os.environ, "PYTHONPATH": paths}
    return subprocess.run([sys.executable, "-c", KILLED, str(folder), how], env=environment, capture_output=True, text=True)


def test_finished_episodes_survive_a_kill(tmp_path):
    assert run_script(tmp_path, "kill").returncode == -9
    lines = read_episodes(Layout(tmp_path))
    assert len(lines) >= 3
    for line in lines:
        assert len(levels(tmp_path / line["videos"]["render"])) == line["steps"] + 1
        with h5py.File(tmp_path / f"segments/traj_{line['episode']:06d}.h5") as file:
            assert len(file[line["trajectory"]]["actions"]) == line["steps"]


def test_a_script_that_never_closes_leaves_whole_files(tmp_path):
    answer = run_script(tmp_path, "forget")
    # where there is no GPU, Warp says so when it is loaded
    said = [line for line in answer.stderr.splitlines() if not line.startswith("Warp CUDA warning")]
    assert (answer.returncode, said) == (0, [])
    assert json.loads((tmp_path / "recording.json").read_text())["status"] == "interrupted"
    assert not list(tmp_path.rglob("*.part"))
    assert list(tmp_path.glob("trajectory.*.h5"))
    assert (tmp_path / "overview.mp4").is_file()


def test_the_seed_is_that_of_this_very_episode(tmp_path):
    with ready(rollfilm.RecordEpisode(sync(3, AutoresetMode.DISABLED), tmp_path), seed=40) as env:
        for seed in (None, [7, None, 9]):
            env.step(ACTION)
            env.reset(seed=seed, options={"difficulty": np.float32(2)})
        env.step(ACTION)
        env.flush_trajectory()
    lines = read_episodes(Layout(tmp_path))
    assert [line["seed"] for line in lines] == [40, 41, 42, None, None, None, 7, None, 9]
    assert lines[-1]["reset_kwargs"] == {"options": {"difficulty": 2.0}}
    assert [entry["episode_seed"] for entry in documents(tmp_path)] == [line["seed"] for line in lines]


def test_one_seed_for_all_worlds_is_no_seed_of_an_episode(tmp_path):
    with ready(rollfilm.RecordEpisode(Endless(3), tmp_path), seed=40) as env:
        env.step(ACTION)
    assert {(line["seed"], line["run_seed"]) for line in read_episodes(Layout(tmp_path))} == {(None, 40)}


def test_a_recording_is_refused_before_the_first_step(tmp_path):
    first = ready(rollfilm.RecordEpisode(OneWorld(), tmp_path))
    first.close()
    with pytest.raises(RecordingExistsError, match="overwrite=True"):
        rollfilm.RecordEpisode(OneWorld(), tmp_path)
    beside = ready(rollfilm.RecordEpisode(OneWorld(), tmp_path, avoid_overwriting_video=True))
    assert beside.output_dir == tmp_path.with_name(f"{tmp_path.name}-2")
    beside.close()
    rollfilm.RecordEpisode(OneWorld(), tmp_path, overwrite=True).close()


def test_a_folder_that_is_no_recording_is_no_hindrance(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    ready(rollfilm.RecordEpisode(OneWorld(), tmp_path)).close()
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_a_bad_episode_is_discarded(tmp_path):
    with ready(rollfilm.RecordEpisode(sync(3, AutoresetMode.SAME_STEP), tmp_path)) as env:
        for _ in range(3):
            env.step(ACTION)
        assert env.discard(0), "the one that has just ended, though the next one waits"
        assert env.discard(2), "the one that runs"
        for _ in range(3):
            env.step(ACTION)
    lines = read_episodes(Layout(tmp_path))
    assert [(line["world"], line["steps"], line["kept"]) for line in lines[:3]] == [(0, 3, False), (1, 4, True), (2, 3, False)]
    assert sorted(path.stem for path in tmp_path.glob("videos/render/*.mp4")) == [
        f"episode_{line['episode']:06d}" for line in lines if line["kept"]
    ]
    assert [line["steps"] for line in lines if line["world"] == 0] == [3, 3]


def test_success_by_another_name(tmp_path):
    class Renamed(OneWorld):
        def step(self, action):
            *result, infos = super().step(action)
            return *result, {"is_success": infos["success"]}

    with rollfilm.RecordEpisode(Renamed(), tmp_path, keep="success", success_key="is_success") as env:
        for _ in range(4):
            env.reset()
            while not any(env.step(ACTION[0])[2:4]):
                pass
    lines = read_episodes(Layout(tmp_path))
    assert [line["kept"] for line in lines] == [True, True, True, False]


def test_no_episode_kept_is_said_aloud(tmp_path):
    with (
        pytest.warns(UserWarning, match="no episode was kept of 3"),
        ready(rollfilm.RecordEpisode(Endless(3), tmp_path, keep="success")) as env,
    ):
        env.step(ACTION)


def test_an_error_leaves_no_side_files(tmp_path):
    class Breaks(OneWorld):
        def step(self, action):
            if self.steps == 2:
                raise RuntimeError("the simulation broke")
            return super().step(action)

    def film():
        with rollfilm.RecordEpisode(Breaks(), tmp_path) as env:
            env.reset()
            while True:
                env.step(ACTION[0])

    with pytest.raises(RuntimeError, match="broke"):
        film()
    (line,) = read_episodes(Layout(tmp_path))
    assert (line["ended"], line["error"]) == ("failed", "RuntimeError: the simulation broke")
    assert not list(tmp_path.rglob("*.part"))
    assert not list(tmp_path.glob("videos/render/*"))


class ResetsInside(gymnasium.vector.VectorEnv):
    """Resets worlds within its step, without a word of how their episodes ended."""

    def __init__(self, num_envs=3):
        self.inner = Batched(num_envs)
        self.num_envs, self.render_mode = num_envs, "rgb_array"
        self.metadata = {"autoreset_mode": AutoresetMode.SAME_STEP}
        self.observation_space, self.single_observation_space = self.inner.observation_space, self.inner.single_observation_space
        self.action_space, self.single_action_space = self.inner.action_space, self.inner.single_action_space

    def reset(self, *, seed=None, options=None):
        return self.inner.reset()

    def step(self, actions):
        observation, rewards, terminated, truncated, _ = self.inner.step(actions)
        if (terminated | truncated).any():
            observation, _ = self.inner.reset(options={"env_idx": np.flatnonzero(terminated | truncated)})
        return observation, rewards, terminated, truncated, {}

    def render(self):
        return tuple(self.inner.render())


def test_a_last_frame_that_nobody_could_see_is_not_invented(tmp_path):
    with warnings.catch_warnings(record=True) as said, ready(rollfilm.RecordEpisode(ResetsInside(), tmp_path)) as env:
        for _ in range(9):
            env.step(ACTION)
    assert ["pictures and observation of last states are missing" in str(one.message) for one in said] == [True], "said once"
    lines = [line for line in read_episodes(Layout(tmp_path)) if line["ended"] != "cut"]
    assert len(lines) >= 6
    with trajectory(tmp_path) as file:
        for line in lines:
            assert line["missing_at_end"] == ["pictures", "observation"]
            shown = levels(tmp_path / line["videos"]["render"])
            expected = [(10 * line["world"] + 25 * step) % 256 for step in range(line["steps"])]
            assert np.abs(np.array(shown[:-1]) - expected).max() <= 3
            assert shown[-1] == 16, "grey, and not the next episode's first frame"
            rows = file[line["trajectory"]]["obs"][:]
            assert rows[:-1, 1].tolist() == list(range(line["steps"]))
            assert np.isnan(rows[-1]).all()


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP], ids=["next_step", "same_step"])
def test_worlds_in_other_processes(tmp_path, mode):
    def made(world):
        return lambda: OneWorld(world)

    env = gymnasium.vector.AsyncVectorEnv([made(0), made(1)], autoreset_mode=mode, context="fork")
    with warnings.catch_warnings(record=True):
        env = ready(rollfilm.RecordEpisode(env, tmp_path))
        for _ in range(9):
            env.step(ACTION[:2])
        env.close()
    lines = [line for line in read_episodes(Layout(tmp_path)) if line["ended"] != "cut"]
    assert len(lines) >= 2
    with trajectory(tmp_path) as file:
        for line in lines:
            assert line.get("missing_at_end") == (["pictures"] if mode == AutoresetMode.SAME_STEP else None)
            assert file[line["trajectory"]]["obs"][:, 1].tolist() == list(range(line["steps"] + 1))


def test_an_episode_goes_on_while_it_is_not_reset(tmp_path):
    with ready(rollfilm.RecordEpisode(Batched(1), tmp_path)) as env:
        for _ in range(5):
            env.step(ACTION[:1])
        env.reset()
    (line,) = read_episodes(Layout(tmp_path))
    assert (line["steps"], line["ended"]) == (5, "terminated"), "ManiSkill's worlds go on after a success"
    assert len(levels(tmp_path / line["videos"]["render"])) == 6


def test_a_reset_that_no_step_follows_leaves_nothing(tmp_path):
    with ready(rollfilm.RecordEpisode(Batched(3), tmp_path)) as env:
        env.reset()
        env.reset()
        env.step(ACTION)
        env.reset()
    assert ended(tmp_path) == {0: "stopped", 1: "stopped", 2: "stopped"}
    with trajectory(tmp_path) as file:
        assert sorted(file) == ["traj_0", "traj_1", "traj_2"]
        assert file["traj_1/obs"][:].tolist() == [[1, 0, 2], [1, 1, 2]]


def test_nothing_is_changed_for_who_uses_the_environment(tmp_path):
    plain, wrapped = sync(3, AutoresetMode.SAME_STEP), rollfilm.RecordEpisode(sync(3, AutoresetMode.SAME_STEP), tmp_path)
    assert wrapped.observation_space == plain.observation_space
    np.testing.assert_equal(wrapped.reset(seed=1), plain.reset(seed=1))
    for _ in range(9):
        assert repr(wrapped.step(ACTION)) == repr(plain.step(ACTION))
    parts = wrapped.unwrapped.envs
    wrapped.close()
    assert not any("reset" in part.__dict__ for part in parts), "the environment is left as it was"
    assert all(part.closed for part in parts)


def test_a_full_disk_is_an_error_and_finished_episodes_stay(tmp_path, monkeypatch):
    env = ready(rollfilm.RecordEpisode(sync(3, AutoresetMode.NEXT_STEP), tmp_path))
    for _ in range(4):
        env.step(ACTION)

    def full(*args, **kwargs):
        raise RecordingError("cannot keep the rows of an episode: No space left on device")

    monkeypatch.setattr("rollfilm.record.rows.RowSpool.append", full)
    with pytest.raises(RecordingError, match="No space left"):
        env.step(ACTION)
    monkeypatch.undo()
    env.close()
    assert not list(tmp_path.rglob("*.part"))
    assert ended(tmp_path)[0] == "terminated"
    assert len(levels(tmp_path / "videos/render/episode_000000.mp4")) == length_of(0, 0) + 1
