import json
import re

import pytest

from counting_env import CountingVectorEnv, counting_policy
from rollfilm.cli import main
from rollfilm.evaluate.rollout import run_episodes
from rollfilm.record import Recorder, RecorderOptions


@pytest.fixture
def recording(tmp_path):
    env = CountingVectorEnv(3, {"front": (63, 85), "wrist": (8, 8)})
    with Recorder.for_env(env, tmp_path, RecorderOptions(keep="success", seed=5)) as recorder:
        run_episodes(env, counting_policy, num_episodes=8, seed=5, recorder=recorder)
    return tmp_path


def test_info_says_what_a_recording_holds(recording, capsys):
    assert main(["info", str(recording)]) == 0
    out = capsys.readouterr().out
    for pattern in (
        r"task +counting \(Counting-v0\)",
        r"seed 5",
        r"status +complete",
        r"episodes +8 \(6 terminated, 2 truncated\)",
        r"success +6/8 at the end",
        r"kept +6 \(keep: success\)",
        r"steps +3 to 5, 3.9 on average",
        r"front +85x63 +1 right, 1 bottom +6, h264",
        r"wrist +8x8 +none +6, h264",
        r"overview\.mp4 +\d",
        r"trajectory\.state\.pd_joint_delta_pos\.counting\.h5 +\d",
    ):
        assert re.search(pattern, out), pattern
    assert "warning" not in out


def test_info_lists_episodes_when_asked(recording, capsys):
    assert main(["info", str(recording), "--episodes"]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["3", "5003", "3", "truncated", "no", "3.000", "no"] in rows
    assert ["4", "5004", "4", "terminated", "yes", "4.000", "yes"] in rows


def test_info_warns_of_what_is_missing(recording, capsys):
    manifest = json.loads((recording / "recording.json").read_text())
    (recording / "recording.json").write_text(json.dumps(manifest | {"status": "recording"}))
    (recording / "videos" / "front" / "episode_000001.mp4").unlink()
    (recording / "videos" / "wrist" / "episode_000009.mp4.part").write_bytes(b"")
    assert main(["info", str(recording)]) == 0
    out = capsys.readouterr().out
    assert "never closed" in out
    assert "episode 1: videos/front/episode_000001.mp4 is not there" in out
    assert "videos/wrist/episode_000009.mp4.part was not finished" in out


def test_a_line_that_was_half_written_is_not_an_episode(recording, capsys):
    with (recording / "episodes.jsonl").open("a") as file:
        file.write('{"episode": 8, "see')
    assert main(["info", str(recording)]) == 0
    assert re.search(r"episodes +8 ", capsys.readouterr().out)


@pytest.mark.parametrize("kind", ["missing", "empty", "file", "foreign"])
def test_what_is_no_recording_is_one_line_and_exit_code_2(tmp_path, capsys, kind):
    folder = tmp_path / "x"
    if kind == "file":
        folder.write_text("")
    elif kind != "missing":
        folder.mkdir()
    if kind == "foreign":
        (folder / "recording.json").write_text("{}")
    assert main(["info", str(folder)]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.count("\n") == 1
    assert str(folder) in shown.err


DAMAGES = {
    "no fields": ("recording.json", lambda content: {"format": content["format"]}, "'status' is missing"),
    "no cameras": ("recording.json", lambda content: {**content, "cameras": None}, "'cameras'"),
    "an empty camera": ("recording.json", lambda content: {**content, "cameras": {"front": {}}}, "'front', is damaged: 'width' is missing"),
    "no run": ("recording.json", lambda content: {**content, "run": 3}, "'run'"),
    "a list": ("episodes.jsonl", lambda content: [content], "line 1, is damaged"),
    "no index": ("episodes.jsonl", lambda content: {"steps": 3}, "'episode' is missing"),
    "steps in words": ("episodes.jsonl", lambda content: {**content, "steps": "three"}, "'steps' is str"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_info_on_a_damaged_recording_is_one_line_and_exits_2(recording, capsys, damage):
    name, change, said = DAMAGES[damage]
    path = recording / name
    first, *others = path.read_text().split("\n") if name.endswith("jsonl") else [path.read_text()]
    path.write_text("\n".join([json.dumps(change(json.loads(first))), *others]))
    assert main(["info", str(recording)]) == 2
    line = capsys.readouterr().err
    assert line.count("\n") == 1
    assert name in line
    assert said in line


@pytest.mark.parametrize("name", ["recording.json", "episodes.jsonl"])
@pytest.mark.parametrize("content", [b"\xff\xfe\n\x00\n", b"[" * 100_000 + b"\n", b"{oops\n"])
def test_info_on_files_that_are_no_json(recording, capsys, name, content):
    (recording / name).write_bytes(content)
    assert main(["info", str(recording)]) == 2
    assert re.fullmatch(rf"rollfilm: error: \S*{name}.* cannot be read: .*\n", capsys.readouterr().err)


def test_info_prints_square_brackets_as_they_are(recording, capsys):
    manifest = json.loads((recording / "recording.json").read_text())
    manifest |= {"task": "[bold]lift[/] [/red]", "status": "failed", "error": "no [/axis]"}
    (recording / "recording.json").write_text(json.dumps(manifest))
    assert main(["info", str(recording)]) == 0
    out = capsys.readouterr().out
    assert "[bold]lift[/] [/red]" in out
    assert "no [/axis]" in out
