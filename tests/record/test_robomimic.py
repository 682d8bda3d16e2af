import json
import os
import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest

from counting_env import CountingVectorEnv, counting_policy
from recorded_files import lines
from rollfilm.evaluate.rollout import run_episodes
from rollfilm.record import Recorder, RecorderOptions


def record(folder, num_envs=3, episodes=12, env=None, **options):
    env = env or CountingVectorEnv(num_envs, {"front": (33, 48), "wrist": (16, 16)})
    options = {"formats": ("robomimic",), "seed": 7, **options}
    with Recorder.for_env(env, folder, RecorderOptions(**options)) as recorder:
        run_episodes(env, counting_policy, num_episodes=episodes, seed=7, recorder=recorder)
    return folder / "robomimic.hdf5"


@pytest.mark.parametrize("num_envs", [1, 2, 3, 5, 7, 8, 128])
def test_every_row_is_that_of_its_step_with_its_picture_unchanged(tmp_path, num_envs):
    path = record(tmp_path, num_envs, num_envs + 3)
    told = sorted(lines(tmp_path), key=lambda line: line["episode"])
    with h5py.File(path) as file:
        assert list(file["data"]) == [f"demo_{line['episode']}" for line in told]
        assert file["data"].attrs["total"] == sum(line["steps"] for line in told)
        for line in told:
            demo, steps = file["data"][f"demo_{line['episode']}"], line["steps"]
            assert (demo.attrs["num_samples"], demo.attrs["seed"]) == (steps, line["seed"])
            assert demo["obs/state"][:, 1].tolist() == list(range(steps))
            assert demo["next_obs/state"][:, 1].tolist() == list(range(1, steps + 1))
            assert demo["actions"][:].tolist() == [[k, line["episode"]] for k in range(steps)]
            assert demo["dones"][:].tolist() == [0] * (steps - 1) + [1]
            assert demo["rewards"].shape == (steps,)
            assert demo["states"][:, 0].tolist() == [10 * line["world"] + k for k in range(steps)]
            assert demo["states"].shape == (steps, 13 + 13 + 18) == (steps, len(demo["states"].attrs["names"]))
            # no codec in between: the level itself, not one near it
            for number, camera in enumerate(("front", "wrist")):
                pictures = demo[f"obs/{camera}_image"][:]
                assert pictures.dtype == np.uint8
                expected = [(10 * line["world"] + k + 128 * number) % 256 for k in range(steps)]
                assert [np.unique(picture).tolist() for picture in pictures] == [[level] for level in expected]
                assert pictures.shape[1:] == ((33, 48, 3) if camera == "front" else (16, 16, 3))


def test_filters_name_the_successful_and_the_failed(tmp_path):
    with h5py.File(record(tmp_path)) as file:
        assert [name.decode() for name in file["mask/failure"]] == ["demo_3", "demo_7", "demo_11"]
        assert len(file["mask/success"]) == 9
        env_args = json.loads(file["data"].attrs["env_args"])
        assert (env_args["env_name"], env_args["type"]) == ("Counting-v0", 2)
    with h5py.File(record(tmp_path / "silent", env=CountingVectorEnv(2, reports_success=False))) as file:
        assert "mask" not in file


def test_what_is_not_kept_is_not_in_it(tmp_path):
    with h5py.File(record(tmp_path, keep="success")) as file:
        assert list(file["data"]) == [f"demo_{k}" for k in (0, 1, 2, 4, 5, 6, 8, 9, 10)]
    assert not (tmp_path / "segments").exists()
    assert not record(tmp_path / "none", env=CountingVectorEnv(2, hopeless=True), keep="success").exists()


def test_robomimic_opens_it(tmp_path):
    """Here if robomimic is installed, else by the interpreter that ROLLFILM_ROBOMIMIC_PYTHON names."""
    python = os.environ.get("ROLLFILM_ROBOMIMIC_PYTHON")
    if python is None:
        pytest.importorskip("robomimic")
        python = sys.executable
    checker = Path(__file__).with_name("check_robomimic.py")
    done = subprocess.run([python, str(checker), str(record(tmp_path))], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "12 demos, 48 samples, 9 successful" in done.stdout
