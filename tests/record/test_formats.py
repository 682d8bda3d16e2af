import pytest

from counting_env import CountingVectorEnv, counting_policy
from rollfilm.cli.formats import parse_formats
from rollfilm.errors import InvalidArgumentError
from rollfilm.evaluate.rollout import run_episodes
from rollfilm.record import Recorder, RecorderOptions
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
