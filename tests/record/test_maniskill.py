import os
import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest

from counting_env import CountingVectorEnv, counting_policy
from rollfilm.evaluate.rollout import run_episodes
from rollfilm.record import Recorder, RecorderOptions
from rollfilm.record.layout import Layout
from rollfilm.record.sinks.maniskill import TrajectoryInfo, assemble_trajectories


def record(folder, env):
    with Recorder.for_env(env, folder, RecorderOptions(seed=1)) as recorder:
        run_episodes(env, counting_policy, num_episodes=12, seed=1, recorder=recorder)
    return next(folder.glob("trajectory.*.h5"))


def test_names_types_and_layout_are_those_of_the_format(tmp_path):
    path = record(tmp_path, CountingVectorEnv(3))
    assert path.name == "trajectory.state.pd_joint_delta_pos.counting.h5"
    with h5py.File(path) as file:
        assert sorted(file) == sorted(f"traj_{k}" for k in range(12))
        group = file["traj_10"]
        assert dict(group.attrs) == {}
        assert group.id.get_create_plist().get_link_creation_order() != 0
        types = {name: group[name].dtype for name in ("actions", "rewards", "terminated", "truncated", "success", "obs")}
        assert types == {
            "actions": np.float32,
            "rewards": np.float32,
            "terminated": np.bool_,
            "truncated": np.bool_,
            "success": np.bool_,
            "obs": np.float32,
        }
        assert set(group["env_states"]) == {"actors", "articulations"}
        assert group["terminated"][:].tolist() == [False, False, False, True]


def test_pictures_among_the_observations_are_compressed(tmp_path):
    env = CountingVectorEnv(2)
    plain = env._observation
    env._observation = lambda: {
        "state": plain(),
        "sensor_data": {"front": {"rgb": np.zeros((2, 8, 8, 3), np.uint8), "depth": np.zeros((2, 8, 8, 1), np.int16)}},
    }
    with Recorder.for_env(env, tmp_path) as recorder:
        run_episodes(env, lambda observation: counting_policy(observation["state"]), num_episodes=2, seed=0, recorder=recorder)
    with h5py.File(next(tmp_path.glob("trajectory.*.h5"))) as file:
        rgb = file["traj_0/obs/sensor_data/front/rgb"]
        assert (rgb.shape, rgb.dtype, rgb.compression, rgb.compression_opts) == ((4, 8, 8, 3), np.uint8, "gzip", 5)
        assert file["traj_0/obs/sensor_data/front/depth"].compression == "gzip"
        assert file["traj_0/obs/state"].compression is None


def test_finished_episodes_survive_a_kill(tmp_path):
    script = f"""
import os, signal, sys
sys.path.insert(0, {str(Path(__file__).parents[1])!r})
from counting_env import CountingVectorEnv, counting_policy
from rollfilm.evaluate.rollout import run_episodes
from rollfilm.record import Recorder
env = CountingVectorEnv(3)
with Recorder.for_env(env, {str(tmp_path)!r}) as recorder:
    def kill(rollout):
        if rollout.control_steps == 14:
            os.kill(os.getpid(), signal.SIGKILL)
    run_episodes(env, counting_policy, num_episodes=100, seed=0, recorder=recorder, progress=kill)
"""
    done = subprocess.run([sys.executable, "-c", script], env=os.environ, capture_output=True, text=True)
    assert done.returncode == -9, done.stderr
    segments = sorted((tmp_path / "segments").glob("traj_*.h5"))
    assert len(segments) >= 9
    for segment in segments:
        with h5py.File(segment) as file:
            (name,) = file
            assert len(file[name]["obs"]) == len(file[name]["actions"]) + 1
    path = assemble_trajectories(Layout(tmp_path), TrajectoryInfo("Counting-v0", {}, 5, "state", "pd_joint_delta_pos", "counting"))
    with h5py.File(path) as file:
        assert len(file) == len(segments)
    assert not (tmp_path / "segments").exists()


def test_mani_skill_opens_it(tmp_path):
    """Here if mani_skill is installed, else by the interpreter that ROLLFILM_MANISKILL_PYTHON names."""
    python = os.environ.get("ROLLFILM_MANISKILL_PYTHON")
    if python is None:
        pytest.importorskip("mani_skill")
        python = sys.executable
    record(tmp_path, CountingVectorEnv(3))
    checker = Path(__file__).with_name("check_maniskill.py")
    done = subprocess.run([python, str(checker), str(tmp_path)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "12 episodes, 48 steps, 36 of them in successful episodes" in done.stdout
