import json
import os
import subprocess
import sys
from fractions import Fraction
from functools import cache
from pathlib import Path

import h5py
import numpy as np
import pytest

from counting_env import CountingVectorEnv, counting_policy
from recorded_files import decode, lines
from rollfilm.errors import MissingExtraError, RecordingError
from rollfilm.evaluate.rollout import run_episodes
from rollfilm.record import Recorder, RecorderOptions, VideoOptions, VideoWriter
from rollfilm.record.formats import assemble_formats
from rollfilm.record.layout import Layout
from rollfilm.record.manifest import read_manifest
from rollfilm.record.sinks import lerobot, lerobot_dataset, lerobot_tables

pq = pytest.importorskip("pyarrow.parquet")

ALL = ("maniskill", "lerobot")


def record(folder, num_envs=3, episodes=9, env=None, policy=counting_policy, **options):
    env = env or CountingVectorEnv(num_envs, {"front": (32, 48), "wrist": (16, 16)}, contrast=8)
    options = {"formats": ALL, "seed": 7, **options}
    with Recorder.for_env(env, folder, RecorderOptions(**options)) as recorder:
        run_episodes(env, policy, num_episodes=episodes, seed=7, recorder=recorder)
    return folder / "lerobot"


def rows_of(dataset):
    return [row for path in sorted(dataset.glob("data/*/*.parquet")) for row in pq.read_table(path).to_pylist()]


def episodes_of(dataset):
    return pq.read_table(dataset / "meta/episodes/chunk-000/file-000.parquet").to_pylist()


def info_of(dataset):
    return json.loads((dataset / "meta/info.json").read_text())


@cache
def decoded(path):
    return decode(path)


def frames_of(dataset, episode, camera):
    """The mean brightness of each frame of an episode, found as LeRobot finds it: by file and time."""
    key = f"observation.images.{camera}"
    where = {name: episode[f"videos/{key}/{name}"] for name in ("chunk_index", "file_index", "from_timestamp", "to_timestamp")}
    shown = decoded(dataset / info_of(dataset)["video_path"].format(video_key=key, **where))
    fps = info_of(dataset)["fps"]
    first, end = round(where["from_timestamp"] * fps), round(where["to_timestamp"] * fps)
    assert end <= len(shown)
    return [round(float(picture.mean())) for picture in shown[first:end]]


@pytest.mark.parametrize("num_envs", [1, 2, 3, 5, 7, 8, 128])
def test_every_row_has_its_own_frame_state_and_action(tmp_path, num_envs):
    dataset = record(tmp_path, num_envs, num_envs + 3)
    told = lines(tmp_path)
    told.sort(key=lambda line: line["episode"])
    rows, episodes = rows_of(dataset), episodes_of(dataset)
    assert [row["index"] for row in rows] == list(range(len(rows)))
    assert [episode["episode_index"] for episode in episodes] == list(range(num_envs + 3))
    assert info_of(dataset)["total_frames"] == len(rows) == sum(line["steps"] for line in told)
    for line, episode in zip(told, episodes, strict=True):
        steps = line["steps"]
        part = rows[episode["dataset_from_index"] : episode["dataset_to_index"]]
        assert len(part) == steps == episode["length"]
        assert [row["frame_index"] for row in part] == [row["observation.state"][1] for row in part] == list(range(steps))
        assert {row["episode_index"] for row in part} == {episode["episode_index"]}
        assert [row["action"] for row in part] == [[k, line["episode"]] for k in range(steps)]
        assert [row["next.done"] for row in part] == [False] * (steps - 1) + [True]
        assert part[-1]["next.success"] == line["success"]
        np.testing.assert_allclose([row["timestamp"] for row in part], np.arange(steps) / 20, rtol=1e-6)
        assert (episode["rollfilm/episode"], episode["rollfilm/seed"]) == (line["episode"], line["seed"])
        for number, camera in enumerate(("front", "wrist")):
            expected = [(10 * line["world"] + 8 * k + 128 * number) % 256 for k in range(steps)]
            assert np.abs(np.subtract(frames_of(dataset, episode, camera), expected)).max() <= 2


def test_pictures_are_those_of_the_videos_bit_for_bit(tmp_path):
    dataset = record(tmp_path)
    joined = decode(dataset / "videos/observation.images.front/chunk-000/file-000.mp4")
    apart = [decode(tmp_path / "videos" / "front" / f"episode_{k:06d}.mp4")[:-1] for k in range(9)]
    np.testing.assert_array_equal(joined, np.concatenate(apart))


def test_statistics_are_those_of_all_rows(tmp_path):
    dataset = record(tmp_path, episodes=11)
    stats, rows, episodes = json.loads((dataset / "meta/stats.json").read_text()), rows_of(dataset), episodes_of(dataset)
    for name in ("observation.state", "action", "next.reward", "next.done", "next.success", "timestamp", "index", "episode_index"):
        values = np.array([row[name] for row in rows], np.float64).reshape(len(rows), -1)
        check_statistics(stats[name], values)
        for episode in episodes:
            part = values[episode["dataset_from_index"] : episode["dataset_to_index"]]
            check_statistics({key: episode[f"stats/{name}/{key}"] for key in stats[name]}, part)
    pictures = decode(dataset / "videos/observation.images.front/chunk-000/file-000.mp4")
    pixels = pictures.reshape(-1, 3) / 255
    shaped = {key: value if key == "count" else np.array(value)[:, 0, 0] for key, value in stats["observation.images.front"].items()}
    assert np.array(stats["observation.images.front"]["mean"]).shape == (3, 1, 1)
    assert shaped.pop("count") == [len(pictures)]
    check_statistics({**shaped, "count": [len(pixels)]}, pixels)


def check_statistics(stats, values):
    assert stats["count"] == [len(values)]
    for name, expected in (("min", values.min(0)), ("max", values.max(0)), ("mean", values.mean(0)), ("std", values.std(0))):
        np.testing.assert_allclose(stats[name], expected, rtol=1e-6, atol=1e-9)
    for name, quantile in (("q01", 0.01), ("q10", 0.1), ("q50", 0.5), ("q90", 0.9), ("q99", 0.99)):
        np.testing.assert_allclose(stats[name], np.quantile(values, quantile, axis=0), rtol=1e-6, atol=1e-9)


def test_tasks_are_texts_that_pandas_finds_as_the_index(tmp_path):
    env = CountingVectorEnv(3)
    env.instruction = "count to five"
    dataset = record(tmp_path / "one", env=env)
    table = pq.read_table(dataset / "meta/tasks.parquet")
    assert table.column("task").to_pylist() == ["count to five"]
    assert json.loads(table.schema.metadata[b"pandas"])["index_columns"] == ["task"]
    assert {tuple(episode["tasks"]) for episode in episodes_of(dataset)} == {("count to five",)}

    class Told(CountingVectorEnv):
        @property
        def instructions(self):
            return [("count quickly", "count slowly")[index % 2] for index in self.episode_index]

    dataset = record(tmp_path / "two", env=Told(3))
    assert [episode["tasks"] for episode in episodes_of(dataset)] == [[("count quickly", "count slowly")[k % 2]] for k in range(9)]
    assert pq.read_table(dataset / "meta/tasks.parquet").column("task").to_pylist() == ["count quickly", "count slowly"]
    assert [row["task_index"] for row in rows_of(dataset)] == [row["episode_index"] % 2 for row in rows_of(dataset)]
    assert {line["instruction"] for line in lines(tmp_path / "two")} == {"count quickly", "count slowly"}
    assert record(tmp_path / "three")
    assert episodes_of(tmp_path / "three" / "lerobot")[0]["tasks"] == ["counting"]


def test_files_are_rotated_and_episodes_never_split(tmp_path, monkeypatch):
    monkeypatch.setattr(lerobot_tables, "DATA_BYTES", 4000)
    monkeypatch.setattr(lerobot_dataset, "_VIDEO_BYTES", 7000)
    monkeypatch.setattr(lerobot_tables, "FILES_PER_CHUNK", 2)
    dataset = record(tmp_path, episodes=12)
    episodes = episodes_of(dataset)
    files = [(episode["data/chunk_index"], episode["data/file_index"]) for episode in episodes]
    assert len(set(files)) == 3
    assert files == sorted(files)
    assert max(file for _, file in files) == 1
    assert len(list(dataset.glob("data/*/*.parquet"))) == len(set(files))
    for episode in episodes:
        path = dataset / info_of(dataset)["data_path"].format(
            chunk_index=episode["data/chunk_index"], file_index=episode["data/file_index"]
        )
        held = [row["frame_index"] for row in pq.read_table(path).to_pylist() if row["episode_index"] == episode["episode_index"]]
        assert held == list(range(episode["length"]))
    world = {line["episode"]: line["world"] for line in lines(tmp_path)}
    key = "videos/observation.images.front"
    videos = {(episode[f"{key}/chunk_index"], episode[f"{key}/file_index"]) for episode in episodes}
    assert len(videos) == 2
    for k, episode in enumerate(episodes):
        expected = [10 * world[k] + 8 * step for step in range(episode["length"])]
        assert np.abs(np.subtract(frames_of(dataset, episode, "front"), expected)).max() <= 2


def test_one_row_group_an_episode(tmp_path):
    dataset = record(tmp_path)
    file = pq.ParquetFile(dataset / "data/chunk-000/file-000.parquet")
    assert [file.metadata.row_group(k).num_rows for k in range(file.num_row_groups)] == [e["length"] for e in episodes_of(dataset)]


def test_late_episodes_begin_on_the_frame(tmp_path):
    env = CountingVectorEnv(8, lengths=(1, 2, 4))
    env.control_frequency_hz = 30
    dataset = record(tmp_path, env=env, episodes=60)
    frames = 0
    for episode in episodes_of(dataset):
        # not the sum of many durations, which drifts
        assert episode["videos/observation.images.front/from_timestamp"] == float(Fraction(frames, 30))
        frames += episode["length"]
        assert episode["videos/observation.images.front/to_timestamp"] == float(Fraction(frames, 30))


def test_the_rate_is_that_of_the_rows_whatever_the_videos_are_played_at(tmp_path):
    dataset = record(tmp_path, fps=60)
    assert info_of(dataset)["fps"] == 20
    assert np.abs(np.subtract(frames_of(dataset, episodes_of(dataset)[4], "front"), [10 + 8 * k for k in range(4)])).max() <= 2


def test_kept_episodes_are_numbered_without_gaps_and_nothing_else_stays(tmp_path):
    dataset = record(tmp_path, keep="success")
    assert [episode["rollfilm/episode"] for episode in episodes_of(dataset)] == [0, 1, 2, 4, 5, 6, 8]
    assert [episode["episode_index"] for episode in episodes_of(dataset)] == list(range(7))
    assert info_of(dataset)["splits"] == {"train": "0:7"}
    assert not (tmp_path / "segments").exists()
    assert not list(tmp_path.rglob("*.part"))


def test_without_a_kept_episode_there_is_no_dataset(tmp_path):
    dataset = record(tmp_path, env=CountingVectorEnv(2, hopeless=True), keep="success")
    assert not dataset.exists()
    assert not (tmp_path / "segments").exists()


def test_named_observations_become_one_vector_with_names(tmp_path):
    env = CountingVectorEnv(2)
    plain = env._observation
    env._observation = lambda: {"agent": {"qpos": plain()}, "rgb": {"front": np.zeros((2, 4, 4, 3), np.uint8)}, "held": plain()[:, 0] > 0}
    dataset = record(tmp_path, env=env, policy=lambda observation: counting_policy(observation["agent"]["qpos"]), episodes=2)
    feature = info_of(dataset)["features"]["observation.state"]
    assert feature == {"dtype": "float32", "shape": [4], "names": ["agent.qpos.0", "agent.qpos.1", "agent.qpos.2", "held"]}
    assert rows_of(dataset)[4]["observation.state"] == [1, 1, 1, 1]


def test_success_is_left_out_where_the_environment_does_not_say(tmp_path):
    dataset = record(tmp_path, env=CountingVectorEnv(2, reports_success=False), episodes=2)
    assert "next.success" not in info_of(dataset)["features"]
    assert "next.success" not in rows_of(dataset)[0]


@pytest.mark.parametrize("steps", [5, 14])
def test_finished_episodes_survive_a_kill_and_are_put_together(tmp_path, steps):
    script = f"""
import os, signal, sys
sys.path.insert(0, {str(Path(__file__).parents[1])!r})
from counting_env import CountingVectorEnv, counting_policy
from rollfilm.evaluate.rollout import run_episodes
from rollfilm.record import Recorder, RecorderOptions
env = CountingVectorEnv(3, contrast=8)
with Recorder.for_env(env, {str(tmp_path)!r}, RecorderOptions(formats=("lerobot", "robomimic", "maniskill"))) as recorder:
    def kill(rollout):
        if rollout.control_steps == {steps}:
            os.kill(os.getpid(), signal.SIGKILL)
    run_episodes(env, counting_policy, num_episodes=100, seed=0, recorder=recorder, progress=kill)
"""
    done = subprocess.run([sys.executable, "-c", script], env=os.environ, capture_output=True, text=True)
    assert done.returncode == -9, done.stderr
    layout = Layout(tmp_path)
    told = sorted(line["episode"] for line in lines(tmp_path))
    assert len(told) >= (1 if steps == 5 else 7)
    for kind in ("lerobot", "robomimic", "traj"):
        assert set(told) <= set(layout.segments_of(kind))
    # as if a first attempt to put them together had been killed, too
    (tmp_path / "lerobot.part" / "data").mkdir(parents=True)
    written = assemble_formats(layout, read_manifest(layout))
    assert {path.name for path in written} >= {"lerobot", "robomimic.hdf5"}
    assert [episode["rollfilm/episode"] for episode in episodes_of(tmp_path / "lerobot")] == told
    for episode, line in zip(episodes_of(tmp_path / "lerobot"), sorted(lines(tmp_path), key=lambda line: line["episode"]), strict=True):
        expected = [10 * line["world"] + 8 * k for k in range(line["steps"])]
        assert np.abs(np.subtract(frames_of(tmp_path / "lerobot", episode, "front"), expected)).max() <= 2
    assert not (tmp_path / "lerobot.part").exists()
    assert assemble_formats(layout, read_manifest(layout)) == []


def test_a_video_that_lacks_a_frame_is_refused_and_the_segments_stay(tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(lerobot, "_assemble", lambda *_: None)
        record(tmp_path)
    writer = VideoWriter(tmp_path / "videos/wrist/episode_000002.mp4", 16, 16, Fraction(20), VideoOptions())
    for _ in range(5):
        writer.write(np.zeros((16, 16, 3), np.uint8))
    writer.close()
    layout = Layout(tmp_path)
    with pytest.raises(RecordingError, match=r"wrist/episode_000002\.mp4 has 5 frames for 5 steps; 6 are needed"):
        assemble_formats(layout, read_manifest(layout))
    (tmp_path / "videos/wrist/episode_000002.mp4").unlink()
    with pytest.raises(RecordingError, match="episode 2: there is no video of camera 'wrist'"):
        assemble_formats(layout, read_manifest(layout))
    assert sorted(layout.segments_of("lerobot")) == list(range(9))
    assert not (tmp_path / "lerobot").exists()
    assert not (tmp_path / "lerobot.part").exists()


def test_recording_again_replaces_the_dataset(tmp_path):
    record(tmp_path, episodes=9)
    (tmp_path / "lerobot" / "notes.txt").write_text("mine")
    dataset = record(tmp_path, episodes=4, formats=("maniskill",), overwrite=True)
    assert [path.name for path in dataset.rglob("*") if path.is_file()] == ["notes.txt"]
    with pytest.raises(RecordingError, match="already holds a recording"):
        record(tmp_path)


def test_without_pyarrow_it_is_said_before_anything_is_recorded(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match=r"needs pyarrow; install it with: pip install 'rollfilm\[lerobot\]'"):
        RecorderOptions(formats=("lerobot",))


def test_segments_hold_rows_of_the_state_before_the_step(tmp_path):
    env = CountingVectorEnv(1)
    with Recorder.for_env(env, tmp_path, RecorderOptions(formats=("lerobot",))) as recorder:
        run_episodes(env, counting_policy, num_episodes=1, seed=0, recorder=recorder)
        with h5py.File(Layout(tmp_path).segment(0, "lerobot")) as file:
            assert file["observation.state"][:, 1].tolist() == [0, 1, 2]


def test_lerobot_opens_it(tmp_path):
    """Here if lerobot is installed, else by the interpreter that ROLLFILM_LEROBOT_PYTHON names."""
    python = os.environ.get("ROLLFILM_LEROBOT_PYTHON")
    if python is None:
        pytest.importorskip("lerobot")
        python = sys.executable

    class Told(CountingVectorEnv):
        @property
        def instructions(self):
            return [("count quickly", "count slowly")[index % 2] for index in self.episode_index]

    dataset = record(tmp_path, env=Told(3, {"front": (32, 48), "wrist": (33, 45)}, contrast=8), episodes=12, keep="success")
    checker = Path(__file__).with_name("check_lerobot.py")
    done = subprocess.run([python, str(checker), str(dataset), str(tmp_path)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "9 episodes, 36 frames, 2 cameras, tasks ['count quickly', 'count slowly']" in done.stdout
