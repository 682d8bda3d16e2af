import json
import shutil

import pytest
from PIL import Image

from counting_env import CountingVectorEnv, counting_policy
from recorded_files import levels, lines
from rollfilm.cli import main
from rollfilm.evaluate.rollout import run_episodes
from rollfilm.record import Recorder, RecorderOptions


@pytest.fixture
def recording(tmp_path):
    env = CountingVectorEnv(3, {"front": (63, 85), "wrist": (8, 8)}, contrast=25)
    with Recorder.for_env(env, tmp_path, RecorderOptions(keep="success", seed=5)) as recorder:
        run_episodes(env, counting_policy, num_episodes=8, seed=5, recorder=recorder)
    return tmp_path


def test_index_makes_what_a_kill_left_out(recording, capsys):
    page = (recording / "index.html").read_bytes()
    shutil.rmtree(recording / "posters")
    (recording / "index.html").unlink()
    assert main(["index", str(recording)]) == 0
    assert capsys.readouterr().out == f"{recording / 'index.html'} (8 episodes, 12 posters made)\n"
    assert (recording / "index.html").read_bytes() == page
    for line in lines(recording):
        for camera, video in line.get("videos", {}).items():
            with Image.open(recording / "posters" / camera / f"episode_{line['episode']:06d}.jpg") as image:
                assert image.size == ((85, 63) if camera == "front" else (8, 8))
                assert abs(image.convert("L").getpixel((3, 3)) - levels(recording / video)[-1]) <= 3


def test_index_leaves_posters_that_are_there(recording, capsys):
    before = {path: path.stat().st_mtime_ns for path in recording.rglob("*.jpg")}
    assert main(["index", str(recording)]) == 0
    assert capsys.readouterr().out.endswith("(8 episodes)\n")
    assert {path: path.stat().st_mtime_ns for path in recording.rglob("*.jpg")} == before


def test_index_counts_videos_that_cannot_be_read(recording, capsys):
    shutil.rmtree(recording / "posters")
    (recording / "videos" / "front" / "episode_000000.mp4").write_bytes(b"not a video")
    (recording / "videos" / "wrist" / "episode_000001.mp4").unlink()
    assert main(["index", str(recording)]) == 0
    assert capsys.readouterr().out.endswith("(8 episodes, 10 posters made, 2 videos without a poster)\n")
    assert len(list(recording.rglob("*.jpg"))) == 10
    assert not list(recording.rglob("*.part"))


def test_index_of_a_recording_that_runs_says_so(recording):
    manifest = json.loads((recording / "recording.json").read_text())
    (recording / "recording.json").write_text(json.dumps(manifest | {"status": "recording"}))
    assert main(["index", str(recording)]) == 0
    assert '"status":"recording"' in (recording / "index.html").read_text()


def test_index_refuses_what_is_no_recording(tmp_path, capsys):
    assert main(["index", str(tmp_path)]) == 2
    assert "holds no recording" in capsys.readouterr().err


def test_index_does_not_overwrite_somebody_elses_page(recording, capsys):
    (recording / "index.html").write_text("mine")
    assert main(["index", str(recording)]) == 2
    assert "is not the page of a recording" in capsys.readouterr().err
    assert (recording / "index.html").read_text() == "mine"
