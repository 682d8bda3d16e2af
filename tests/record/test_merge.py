import filecmp
import json
import os
import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest

import record_filmed
from counting_env import CountingVectorEnv, counting_policy
from recorded_files import levels, lines
from rollfilm.errors import InvalidArgumentError, RecordingError, RecordingExistsError
from rollfilm.evaluate.rollout import run_episodes
from rollfilm.record import Recorder, RecorderOptions, Recording
from rollfilm.record.digest import episode_digests
from rollfilm.record.merge import merge
from rollfilm.record.rerender import rerender_episodes

pq = pytest.importorskip("pyarrow.parquet")

ALL = ("maniskill", "lerobot", "robomimic")


def record(folder, seed, num_envs=3, episodes=5, env=None, **options):
    env = env or CountingVectorEnv(num_envs, {"front": (16, 32), "wrist": (16, 16)}, contrast=8)
    options = {"formats": ALL, "seed": seed, **options}
    with Recorder.for_env(env, folder, RecorderOptions(**options)) as recorder:
        run_episodes(env, counting_policy, num_episodes=episodes, seed=seed, recorder=recorder)
    return folder


@pytest.fixture
def merged(tmp_path):
    parts = [record(tmp_path / "a", 1, keep="success"), record(tmp_path / "b", 2, num_envs=2, episodes=12)]
    seen = []
    return parts, merge(parts, tmp_path / "c", progress=lambda done, total: seen.append((done, total))), seen


def test_episodes_are_renumbered_and_say_which_they_were(tmp_path, merged):
    _, result, seen = merged
    told = result.recording.episodes
    assert [line["episode"] for line in told] == list(range(17))
    assert [(line["source"]["recording"], line["source"]["episode"]) for line in told] == [
        *[("a", k) for k in range(5)],
        *[("b", k) for k in range(12)],
    ]
    assert [line["kept"] for line in told] == [True, True, True, False, True, *[True] * 12]
    assert [line["seed"] for line in told] == [1000 + k for k in range(5)] + [2000 + k for k in range(12)]
    assert seen[-1] == (17, 17)
    assert (result.left_out, result.twice) == ((), 0)
    assert result.recording.manifest["seed"] is None
    assert [part["seed"] for part in result.recording.manifest["merged_from"]] == [1, 2]


def test_every_file_is_that_of_its_episode(tmp_path, merged):
    _, result, _ = merged
    recording = result.recording
    for line in recording.kept:
        source = Recording(tmp_path / line["source"]["recording"])
        old = line["source"]["episode"]
        rows, expected = recording.trajectory(line["episode"]), source.trajectory(old)
        assert list(rows) == list(expected)
        for name in rows:
            np.testing.assert_array_equal(rows[name], expected[name])
        assert line["rows_sha256"] == source.episode(old)["rows_sha256"]
        for camera in ("front", "wrist"):
            path = recording.video_path(camera, line["episode"])
            assert path.name == f"episode_{line['episode']:06d}.mp4"
            assert filecmp.cmp(path, source.video_path(camera, old), shallow=False)
        # digests are those of the files under their new names
        assert episode_digests(recording.layout, line["episode"])["sha256"] == line["sha256"]
        assert f"videos/front/episode_{line['episode']:06d}.mp4" in line["sha256"]
    document = json.loads(recording.trajectory_file.with_suffix(".json").read_text())
    assert [entry["episode_id"] for entry in document["episodes"]] == [line["episode"] for line in recording.kept]
    assert [entry["episode_seed"] for entry in document["episodes"]] == [line["seed"] for line in recording.kept]
    assert recording.layout.page.is_file()
    assert not (tmp_path / "c" / "segments").exists()


def test_the_dataset_points_to_the_right_frames_and_its_statistics_are_those_of_all_rows(tmp_path, merged):
    _, result, _ = merged
    dataset = tmp_path / "c" / "lerobot"
    rows = pq.read_table(dataset / "data/chunk-000/file-000.parquet").to_pylist()
    episodes = pq.read_table(dataset / "meta/episodes/chunk-000/file-000.parquet").to_pylist()
    assert [episode["rollfilm/episode"] for episode in episodes] == [line["episode"] for line in result.recording.kept]
    assert [row["index"] for row in rows] == list(range(len(rows)))
    shown = levels(dataset / "videos/observation.images.front/chunk-000/file-000.mp4")
    for episode, line in zip(episodes, result.recording.kept, strict=True):
        first = round(episode["videos/observation.images.front/from_timestamp"] * 20)
        expected = [10 * line["world"] + 8 * k for k in range(line["steps"])]
        assert np.abs(np.subtract(shown[first : first + line["steps"]], expected)).max() <= 2
    stats = json.loads((dataset / "meta/stats.json").read_text())
    states = np.array([row["observation.state"] for row in rows])
    np.testing.assert_allclose(stats["observation.state"]["mean"], states.mean(0), rtol=1e-6)
    # quantiles of all rows, which are not the average of those of the parts
    np.testing.assert_allclose(stats["observation.state"]["q90"], np.quantile(states, 0.9, axis=0), rtol=1e-6)
    parts = [json.loads((tmp_path / name / "lerobot/meta/stats.json").read_text())["observation.state"]["q90"] for name in "ab"]
    assert not np.allclose(np.mean(parts, axis=0), stats["observation.state"]["q90"])


def test_robomimic_demos_are_copied_under_their_new_names(tmp_path, merged):
    _, result, _ = merged
    with h5py.File(tmp_path / "c" / "robomimic.hdf5") as file:
        assert list(file["data"]) == [f"demo_{line['episode']}" for line in result.recording.kept]
        assert file["data"].attrs["total"] == sum(line["steps"] for line in result.recording.kept)
        assert [name.decode() for name in file["mask/failure"]] == ["demo_8", "demo_12", "demo_16"]
        for line in result.recording.kept:
            demo = file["data"][f"demo_{line['episode']}"]
            assert demo.attrs["seed"] == line["seed"]
            assert demo["obs/front_image"][:, 0, 0, 0].tolist() == [10 * line["world"] + 8 * k for k in range(line["steps"])]


@pytest.mark.usefixtures("merged")
def test_merged_recordings_can_be_merged_again(tmp_path):
    again = merge([tmp_path / "c", record(tmp_path / "d", 3)], tmp_path / "e")
    assert len(again.recording.episodes) == 22
    assert [line["episode"] for line in again.recording.episodes] == list(range(22))


def test_states_are_filmed_as_the_episodes_they_are_now(tmp_path):
    for name in "ab":
        record_filmed.record(tmp_path / name, episodes=3)
    recording = merge([tmp_path / "a", tmp_path / "b"], tmp_path / "c").recording
    for line in recording.kept:
        assert line["states"] == f"states/episode_{line['episode']:06d}.h5"
        assert recording.states(line["episode"]).provenance["episode"] == line["episode"]
    old, new = (list(rerender_episodes(Recording(tmp_path / "b"), [2])), list(rerender_episodes(recording, [5])))
    np.testing.assert_array_equal(old[0].cameras["front"].rgb, new[0].cameras["front"].rgb)


def test_formats_that_only_some_have_are_left_out_and_said(tmp_path):
    result = merge([record(tmp_path / "a", 1), record(tmp_path / "b", 2, formats=("maniskill",))], tmp_path / "c")
    assert result.left_out == ("lerobot", "robomimic")
    assert not (tmp_path / "c" / "lerobot").exists()
    assert result.recording.manifest["formats"] == ["maniskill"]
    result = merge([record(tmp_path / "d", 1, formats=("lerobot",)), record(tmp_path / "e", 1, formats=("lerobot",))], tmp_path / "f")
    assert result.left_out == ("lerobot",)
    assert result.twice == 5


def test_what_does_not_belong_together_is_refused_and_leaves_nothing(tmp_path):
    one = record(tmp_path / "a", 1)
    other = record(tmp_path / "b", 1, env=CountingVectorEnv(3, {"front": (16, 16), "wrist": (16, 16)}))
    with pytest.raises(RecordingError, match=r"cameras is \{'front': \(32, 16\).* in .*/a and \{'front': \(16, 16\).* in .*/b"):
        merge([one, other], tmp_path / "c")
    with pytest.raises(RecordingError, match=r"fps is '20' in .*/a and '10' in .*/d; only recordings of the same can be merged"):
        merge([one, record(tmp_path / "d", 1, fps=10)], tmp_path / "c")
    with pytest.raises(InvalidArgumentError, match="merge two or more, each once"):
        merge([one, tmp_path / "b" / ".." / "a"], tmp_path / "c")
    with pytest.raises(RecordingExistsError, match="already holds a recording"):
        merge([one, record(tmp_path / "e", 2)], other)
    (tmp_path / "e" / "videos/front/episode_000004.mp4").write_bytes((tmp_path / "a/videos/front/episode_000000.mp4").read_bytes())
    with pytest.raises(RecordingError, match=r"e/videos/front/episode_000004\.mp4 is not what it was when it was recorded"):
        merge([one, tmp_path / "e"], tmp_path / "c")
    without_digests = [{name: value for name, value in line.items() if name != "sha256"} for line in lines(tmp_path / "e")]
    (tmp_path / "e" / "episodes.jsonl").write_text("".join(json.dumps(line) + "\n" for line in without_digests))
    for formats in (ALL, ("maniskill",)):  # found where the dataset is made, and by counting again
        for folder in (tmp_path / "a", tmp_path / "e"):
            manifest = json.loads((folder / "recording.json").read_text())
            (folder / "recording.json").write_text(json.dumps({**manifest, "formats": formats}))
        with pytest.raises(RecordingError, match=r"c/videos/front/episode_000009\.mp4 has 4 frames for 4 steps"):
            merge([one, tmp_path / "e"], tmp_path / "c")
    assert not (tmp_path / "c").exists()
    manifest = json.loads((tmp_path / "d" / "recording.json").read_text())
    (tmp_path / "d" / "recording.json").write_text(json.dumps({**manifest, "status": "recording"}))
    with pytest.raises(RecordingError, match="was never closed; make it whole first: rollfilm recover"):
        merge([one, tmp_path / "d"], tmp_path / "c")


def test_the_command_merges_and_exports(tmp_path, capsys):
    from rollfilm.cli import main

    record(tmp_path / "a", 1)
    record(tmp_path / "b", 1, formats=("maniskill",))
    assert main(["merge", str(tmp_path / "a"), str(tmp_path / "b"), "--out", str(tmp_path / "c")]) == 0
    out = capsys.readouterr().out
    assert "10 episodes of 2 recordings, 10 of them kept" in out
    assert "left out: robomimic, which only some of them have" in out
    assert "warning: 5 kept episodes began from the same seed as another one" in out
    assert main(["export", str(tmp_path / "c"), "--format", "lerobot", "--out", str(tmp_path / "d")]) == 0
    assert capsys.readouterr().out == f"lerobot: {tmp_path / 'd'}\n"
    assert main(["merge", str(tmp_path / "a"), "--out", str(tmp_path / "e")]) == 2
    assert main(["export", str(tmp_path / "c"), "--format", "lerobot", "--out", str(tmp_path / "d")]) == 2
    assert capsys.readouterr().err.count("\n") == 2
    assert len(lines(tmp_path / "c")) == 10


def test_lerobot_opens_what_was_merged(tmp_path, merged):
    """Here if lerobot is installed, else by the interpreter that ROLLFILM_LEROBOT_PYTHON names."""
    python = os.environ.get("ROLLFILM_LEROBOT_PYTHON")
    if python is None:
        pytest.importorskip("lerobot")
        python = sys.executable
    checker = Path(__file__).with_name("check_lerobot.py")
    done = subprocess.run([python, str(checker), str(tmp_path / "c" / "lerobot"), str(tmp_path / "c")], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "16 episodes" in done.stdout
