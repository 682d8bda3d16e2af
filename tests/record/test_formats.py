import json
from dataclasses import replace

import h5py
import numpy as np
import pytest

from counting_env import CountingVectorEnv, counting_policy
from rollfilm.cli.formats import parse_formats
from rollfilm.errors import InvalidArgumentError
from rollfilm.evaluate.rollout import run_episodes
from rollfilm.record import Recorder, RecorderOptions, ResetBatch, StepBatch
from rollfilm.record.layout import Layout
from rollfilm.record.manifest import read_manifest


def test_an_unknown_format_is_said_with_the_known_ones():
    with pytest.raises(InvalidArgumentError, match="format 'rlds' is unknown; choose from maniskill, lerobot, robomimic, jsonl"):
        RecorderOptions(formats=("maniskill", "rlds"))
    with pytest.raises(InvalidArgumentError, match="format '' is unknown"):
        parse_formats("maniskill,")


def test_a_name_alone_and_a_name_twice_are_understood():
    assert RecorderOptions(formats="robomimic").formats == ("robomimic",)
    assert RecorderOptions(formats=["robomimic", "maniskill", "robomimic"]).formats == ("robomimic", "maniskill")
    assert parse_formats("robomimic, maniskill") == ("robomimic", "maniskill")
    assert parse_formats("none") == ()


@pytest.mark.parametrize("formats", [(), ("jsonl",)])
def test_videos_and_lines_are_always_there(tmp_path, formats):
    env = CountingVectorEnv(2)
    with Recorder.for_env(env, tmp_path, RecorderOptions(formats=formats)) as recorder:
        run_episodes(env, counting_policy, num_episodes=3, seed=0, recorder=recorder)
    names = {path.name for path in tmp_path.iterdir()}
    assert names >= {"episodes.jsonl", "recording.json", "videos"}
    assert not [name for name in names if name.startswith(("trajectory", "robomimic", "lerobot", "segments"))]
    manifest = read_manifest(Layout(tmp_path))
    assert manifest["formats"] == list(formats)
    assert (manifest["files"]["trajectory"], manifest["files"]["lerobot"], manifest["files"]["robomimic"]) == (None, None, None)


def test_datasets_of_pictures_leave_out_what_was_not_filmed(tmp_path):
    pq = pytest.importorskip("pyarrow.parquet")
    env = CountingVectorEnv(2)
    with Recorder.for_env(env, tmp_path, RecorderOptions(formats=("maniskill", "lerobot", "robomimic"))) as recorder:
        for first, filmed in ((0, True), (2, False), (4, True)):
            observation, _ = env.reset(seed=0, options={"episode_index": np.array([first, first + 1])})
            recorder.on_reset(replace(ResetBatch.of_env(env, observation, [0, 1], 0), filmed=filmed))
            for _ in range(5):
                actions = counting_policy(observation)
                result = env.step(actions)
                observation = result[0]
                recorder.on_step(StepBatch.of_env(env, actions, result))
    table = pq.read_table(tmp_path / "lerobot/meta/episodes/chunk-000/file-000.parquet")
    assert table.column("rollfilm/episode").to_pylist() == [0, 1, 4, 5]
    with h5py.File(tmp_path / "robomimic.hdf5") as file:
        assert list(file["data"]) == ["demo_0", "demo_1", "demo_4", "demo_5"]
    with h5py.File(next(tmp_path.glob("trajectory.*.h5"))) as file:
        assert len(file) == 6


def test_without_pictures_datasets_hold_rows_alone(tmp_path):
    pq = pytest.importorskip("pyarrow.parquet")
    env = CountingVectorEnv(2)
    with Recorder.for_env(env, tmp_path, RecorderOptions(formats=("lerobot", "robomimic"), pictures=False)) as recorder:
        run_episodes(env, counting_policy, num_episodes=3, seed=0, recorder=recorder)
    assert len(pq.read_table(tmp_path / "lerobot/data/chunk-000/file-000.parquet")) == 12
    assert json.loads((tmp_path / "lerobot/meta/info.json").read_text())["video_path"] is None
    with h5py.File(tmp_path / "robomimic.hdf5") as file:
        assert list(file["data/demo_0/obs"]) == ["state"]
