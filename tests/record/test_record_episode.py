"""``RecordEpisode`` around every kind of environment: each episode has its own frames, states and actions, from the first to the last."""

import os
import re
import subprocess
import sys
from pathlib import Path

import gymnasium
import h5py
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

import rollfilm
from any_env import Batched, OneWorld, length_of, sync
from counting_env import CountingVectorEnv
from recorded_files import levels
from rollfilm.envs.autoreset import NextStepAutoreset, SameStepAutoreset
from rollfilm.record.layout import Layout
from rollfilm.record.manifest import read_episodes

STEPS = 14


def actions_of(observation):
    """(step, episode), so that rows can be told apart."""
    return np.asarray(observation)[..., 1:3].astype(np.float32)


def drive(env, steps=STEPS, *, reset=None):
    """Step an environment; where it does not reset itself, ``reset`` names the option in which it takes the worlds."""
    observation, _ = env.reset(seed=5)
    for _ in range(steps):
        observation, _, terminated, truncated, _ = env.step(actions_of(observation))
        ended = np.asarray(terminated) | np.asarray(truncated)
        if reset is not None and ended.any():
            options = {"reset_mask": ended} if reset == "reset_mask" else {"env_idx": np.flatnonzero(ended)} if reset else None
            observation, _ = env.reset(options=options)
    env.close()


def check(folder, *, camera="render", lengths=length_of, fewest=1):
    """Every episode that ended is there, with the right frames in the right order; what was cut is said to be."""
    shown = read_episodes(Layout(folder))
    begun = dict.fromkeys({line["world"] for line in shown}, 0)
    complete = [line for line in shown if line["ended"] in ("terminated", "truncated")]
    assert len(complete) >= fewest
    with h5py.File(next(folder.glob("trajectory.*.h5"))) as file:
        assert sorted(file) == sorted(line["trajectory"] for line in complete)
        for line in shown:
            world, episode = line["world"], begun[line["world"]]
            begun[world] += 1
            expected = [(10 * world + 25 * step) % 256 for step in range(line["steps"] + 1)]
            frames = levels(folder / line["videos"][camera])
            assert len(frames) == line["steps"] + 1 >= 2, line
            assert np.abs(np.array(frames) - expected).max() <= 3, line
            if line not in complete:
                assert line["ended"] == "cut"
                continue
            steps = line["steps"]
            assert steps == lengths(world, episode)
            assert line["episode_return"] == steps
            assert line["success"] is (line["ended"] == "terminated")
            group = file[line["trajectory"]]
            observations = group["obs/state"] if isinstance(group["obs"], h5py.Group) else group["obs"]
            assert observations[:].tolist() == [[world, step, episode] for step in range(steps + 1)]
            assert group["actions"][:].tolist() == [[step, episode] for step in range(steps)]
            assert group["success"][:].tolist() == [False] * (steps - 1) + [line["success"]]
            assert (group["terminated"][:] | group["truncated"][:]).tolist() == [False] * (steps - 1) + [True]
    return shown


@pytest.mark.parametrize("num_envs", [1, 2, 3, 5, 7, 8])
@pytest.mark.parametrize("mode", list(AutoresetMode), ids=lambda mode: mode.name.lower())
def test_gymnasiums_vector_environments(tmp_path, mode, num_envs):
    env = rollfilm.RecordEpisode(sync(num_envs, mode), tmp_path)
    drive(env, reset="reset_mask" if mode == AutoresetMode.DISABLED else None)
    shown = check(tmp_path, fewest=2 * num_envs)
    assert not any("missing_at_end" in line for line in shown)


@pytest.mark.parametrize("mode", list(AutoresetMode), ids=lambda mode: mode.name.lower())
def test_128_worlds(tmp_path, mode):
    env = rollfilm.RecordEpisode(sync(128, mode, size=(16, 16)), tmp_path)
    drive(env, 7, reset="reset_mask" if mode == AutoresetMode.DISABLED else None)
    check(tmp_path, fewest=128)


@pytest.mark.parametrize("num_envs", [1, 3])
def test_batched_environments_that_go_on_until_they_are_reset(tmp_path, num_envs):
    env = rollfilm.RecordEpisode(Batched(num_envs), tmp_path)
    assert isinstance(env, gymnasium.Wrapper)
    drive(env, reset="env_idx")
    check(tmp_path, fewest=2 * num_envs)


@pytest.mark.parametrize("num_envs", [1, 3])
def test_tensors(tmp_path, num_envs):
    torch = pytest.importorskip("torch")
    env = rollfilm.RecordEpisode(Batched(num_envs, array=torch.as_tensor), tmp_path)
    drive(env, reset="env_idx")
    check(tmp_path, fewest=2 * num_envs)


def test_one_world_without_a_batch_axis(tmp_path):
    with rollfilm.RecordEpisode(OneWorld(nested=True), tmp_path) as env:
        observation, _ = env.reset(seed=1)
        for _ in range(STEPS):
            observation, reward, terminated, truncated, _ = env.step(actions_of(observation["state"]))
            assert isinstance(reward, float)
            if terminated or truncated:
                observation, _ = env.reset()
    check(tmp_path, fewest=3)


def test_one_world_that_resets_itself(tmp_path):
    env = rollfilm.RecordEpisode(gymnasium.wrappers.Autoreset(OneWorld()), tmp_path)
    drive(env)
    check(tmp_path, fewest=2)


@pytest.mark.parametrize("wrap", [lambda env: env, NextStepAutoreset, SameStepAutoreset], ids=["disabled", "next_step", "same_step"])
def test_our_environments(tmp_path, wrap):
    env = rollfilm.RecordEpisode(
        wrap(CountingVectorEnv(4, {"front": (32, 32), "wrist": (16, 24)}, contrast=25)), tmp_path, cameras=["front"]
    )
    drive(env, reset="reset_mask" if env.metadata["autoreset_mode"] == AutoresetMode.DISABLED else None)
    shown = read_episodes(Layout(tmp_path))
    assert len([line for line in shown if line["ended"] != "cut"]) >= 8
    with h5py.File(next(tmp_path.glob("trajectory.*.h5"))) as file:
        for line in shown:
            assert list(line["videos"]) == ["front"]
            expected = [(10 * line["world"] + 25 * step) % 256 for step in range(line["steps"] + 1)]
            assert np.abs(np.array(levels(tmp_path / line["videos"]["front"])) - expected).max() <= 3
            if line["ended"] != "cut":
                assert line["steps"] == (3, 4, 5)[line["world"] % 3]
                assert file[line["trajectory"]]["env_states/actors/cube"][:, 0].tolist() == [
                    10 * line["world"] + step for step in range(line["steps"] + 1)
                ]
                assert "missing_at_end" not in line


def test_the_example_of_the_page_prints_what_it_says(tmp_path, monkeypatch, capsys):
    page = (Path(__file__).parents[2] / "docs/record_episode.md").read_text()
    monkeypatch.chdir(tmp_path)
    example = "\n".join(re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL))
    exec(compile(example, "record_episode.md", "exec"), {})
    assert capsys.readouterr().out.splitlines() == re.findall(r"print\(.*\)  # (.*)", example)


def test_it_writes_what_mani_skills_own_writes(tmp_path):
    """Here if mani_skill is installed, else by the interpreter that ROLLFILM_MANISKILL_PYTHON names, in which rollfilm can be imported."""
    python = os.environ.get("ROLLFILM_MANISKILL_PYTHON")
    if python is None:
        pytest.importorskip("mani_skill")
        python = sys.executable
    checker = Path(__file__).with_name("check_record_episode.py")
    done = subprocess.run([python, str(checker), str(tmp_path)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "3 recordings hold what ManiSkill's own RecordEpisode writes" in done.stdout
