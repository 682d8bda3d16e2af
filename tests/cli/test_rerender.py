"""Recordings filmed again on the command line, from what the demo task recorded."""

import json

import pytest

from recorded_files import decode, lines
from rollfilm.cli import main
from rollfilm.record.layout import Layout
from rollfilm.record.manifest import read_manifest

pytestmark = pytest.mark.robots


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    folder = tmp_path_factory.mktemp("recorded") / "a"
    cameras = "front:48x40,wrist:32x32"
    command = ["record", "pick-cube", "--num-envs", "2", "--episodes", "3", "--seed", "1"]
    assert main([*command, "--cameras", cameras, "--out", str(folder)]) == 0
    return folder


def test_the_same_cameras_give_the_same_bytes(recorded, tmp_path, capsys):
    assert main(["rerender", str(recorded), "--out", str(tmp_path / "b")]) == 0
    videos = sorted(path.relative_to(recorded) for path in recorded.glob("videos/*/*.mp4"))
    assert len(videos) == 6
    for video in videos:
        assert (tmp_path / "b" / video).read_bytes() == (recorded / video).read_bytes(), video
    old, new = ({line["episode"]: line for line in lines(folder)} for folder in (recorded, tmp_path / "b"))
    for name in ("seed", "run_seed", "steps", "ended", "success", "episode_return"):
        assert {k: line[name] for k, line in old.items()} == {k: line[name] for k, line in new.items()}, name
    assert main(["verify", str(tmp_path / "b")]) == 0
    assert "3 episodes" in capsys.readouterr().out


def test_another_size_and_other_looks(recorded, tmp_path):
    command = ["rerender", str(recorded), "--cameras", "front", "--size", "64x48", "--episodes", "1"]
    for name, seed in (("b", "5"), ("c", "5"), ("d", "6")):
        assert main([*command, "--out", str(tmp_path / name), "--randomize", seed]) == 0
    b, c, d = (decode(tmp_path / name / "videos/front/episode_000001.mp4") for name in "bcd")
    assert b.shape[1:] == (48, 64, 3)
    assert (b == c).all()
    assert (b != d).mean() > 0.5, "another seed looks different"
    assert sorted(read_manifest(Layout(tmp_path / "b"))["cameras"]) == ["front"]
    assert [line["episode"] for line in lines(tmp_path / "b")] == [1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--cameras", "nope"], "no camera 'nope' in this scene; its cameras: front, wrist"),
        (["--cameras", "front:12"], "is not NAME:WIDTHxHEIGHT"),
        (["--cameras", "front:64x64", "--size", "64x64"], "has no effect"),
        (["--randomize", "-1"], "give a seed"),
        (["--episodes", "99"], "99"),
    ],
)
def test_bad_input_is_one_line_and_makes_nothing(recorded, tmp_path, capsys, options, message):
    assert main(["rerender", str(recorded), "--out", str(tmp_path / "b"), *options]) == 2
    error = capsys.readouterr().err.strip()
    assert message in error
    assert "\n" not in error
    assert not (tmp_path / "b").exists()


def test_a_recording_is_not_filmed_into_itself(recorded, capsys):
    before = json.loads((recorded / "recording.json").read_text())
    assert main(["rerender", str(recorded), "--out", str(recorded), "--overwrite"]) == 2
    assert "is the recording itself" in capsys.readouterr().err
    assert json.loads((recorded / "recording.json").read_text()) == before
