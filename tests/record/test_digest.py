import hashlib
import json

import numpy as np
import pytest

from counting_env import CountingVectorEnv, counting_policy
from full_disk import files_of_at_most
from recorded_files import lines
from rollfilm.errors import RecordingError
from rollfilm.evaluate.rollout import run_episodes
from rollfilm.record import Recorder, RecorderOptions
from rollfilm.record.digest import rows_sha256
from rollfilm.record.layout import Layout
from rollfilm.record.manifest import EnvDescription, append_episode, manifest_checksum
from rollfilm.record.reading import Recording
from rollfilm.record.sink import Episode, Outcome


def record(folder, **options):
    env = CountingVectorEnv(3, {"front": (16, 16), "arm/wrist": (8, 8)})
    with Recorder.for_env(env, folder, RecorderOptions(**options)) as recorder:
        run_episodes(env, counting_policy, num_episodes=7, seed=0, recorder=recorder)


def sha256(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_the_digest_of_every_file_is_written_down(tmp_path):
    record(tmp_path, keep="success")
    said = {}
    for line in lines(tmp_path):
        assert ("sha256" in line) == line["kept"]
        said |= line.get("sha256", {})
    manifest = json.loads((tmp_path / "recording.json").read_text())
    said |= manifest["sha256"]
    files = [path.relative_to(tmp_path) for path in tmp_path.rglob("*") if path.is_file()]
    can_be_made_again = ("recording.json", "index.html", "posters")
    there = {str(path): sha256(tmp_path / path) for path in files if path.parts[0] not in can_be_made_again}
    assert said == there
    assert manifest["run"]["checksum"] == manifest_checksum(manifest)
    assert manifest_checksum({**manifest, "task": "another"}) != manifest["run"]["checksum"]


def test_the_digest_of_rows_is_that_of_the_rows_read_again(tmp_path):
    record(tmp_path)
    recording = Recording(tmp_path)
    digests = [line["rows_sha256"] for line in recording.kept]
    assert digests == [rows_sha256(recording.trajectory(line["episode"])) for line in recording.kept]
    assert len(set(digests)) == 7


@pytest.mark.parametrize(
    "changed",
    [{"a": [1.0, 3.0]}, {"b": [1.0, 2.0]}, {"a": [[1.0, 2.0]]}, {"a": [1.0, 2.0], "b": []}],
    ids=["value", "name", "shape", "one more"],
)
def test_the_digest_of_rows_depends_on_all_that_they_are(changed):
    rows = {"a": np.array([1.0, 2.0])}
    assert rows_sha256(rows) != rows_sha256({name: np.array(values) for name, values in changed.items()})
    assert rows_sha256(rows) != rows_sha256({"a": rows["a"].astype(np.float32)})
    assert rows_sha256(rows) == rows_sha256({"a": np.array([1.0, 9.0, 2.0])[::2]})


def test_half_a_line_is_taken_back(tmp_path):
    layout, outcome = Layout(tmp_path), Outcome("terminated", True, True, 3, 3.0)
    append_episode(layout, Episode(0, 0, 0), outcome, kept=False, files={})
    whole = layout.episodes.read_bytes()
    with files_of_at_most(len(whole) + 20), pytest.raises(RecordingError, match=r"episodes\.jsonl: File too large"):
        append_episode(layout, Episode(1, 1, 0), outcome, kept=False, files={})
    assert layout.episodes.read_bytes() == whole


def test_one_recorder_a_folder(tmp_path):
    env = EnvDescription(2, CountingVectorEnv(2).cameras, 20)
    with Recorder(tmp_path, env):
        before = sorted(tmp_path.rglob("*"))
        with pytest.raises(RecordingError, match="is being recorded to"):
            Recorder(tmp_path, env, RecorderOptions(overwrite=True))
        assert sorted(tmp_path.rglob("*")) == before
    Recorder(tmp_path, env, RecorderOptions(overwrite=True)).close()
