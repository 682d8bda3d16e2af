"""Episodes that are filmed after they have ended: the same files as online, and nothing is rendered for those that are thrown away."""

import resource
from collections.abc import Mapping

import h5py
import numpy as np
import pytest

from counting_env import CountingVectorEnv, counting_policy
from filmed_env import FilmedVectorEnv
from full_disk import files_of_at_most
from record_filmed import CAMERAS
from recorded_files import decode, lines
from rollfilm.errors import InvalidArgumentError, RecordingError
from rollfilm.evaluate.rollout import run_episodes
from rollfilm.record import Recorder, RecorderOptions, ResetBatch, StateBatch, StepBatch
from rollfilm.record.deferred import Camerawork
from rollfilm.record.manifest import describe_env
from rollfilm.render import WorldLooks


class NestedEnv(FilmedVectorEnv):
    """Observes nested mappings, and each episode looks different from its third state on."""

    def _observation(self):
        flat = super()._observation()
        return {"flat": flat, "deep": {"a/b": flat[:, :2].astype(np.float64), "steps": self.elapsed_steps.astype(np.int32)}}

    def step(self, actions):
        result = super().step(actions)
        if (third := self.elapsed_steps == 2).any():
            shade = (self.episode_index % 5 + 1) / 6
            self.set_looks(WorldLooks(geom_rgba={"box": np.stack([shade, 0 * shade, 0 * shade, 0 * shade + 1], axis=1)}), third)
        return result

    def reset(self, **kwargs):
        result = super().reset(**kwargs)
        self.set_looks(WorldLooks(), kwargs.get("options", {}).get("reset_mask"))
        return result


def nested_policy(observation):
    return counting_policy(observation["flat"] if isinstance(observation, Mapping) else observation)


def record(folder, env, episodes=9, **options):
    with Recorder(folder, describe_env(env), RecorderOptions(seed=7, **options)) as recorder:
        run_episodes(env, nested_policy, num_episodes=episodes, seed=7, recorder=recorder)
    return recorder


def files(folder):
    """What was written, but for the overview and what tells of the run itself."""
    left_out = ("overview.mp4", "recording.json", "index.html", "episodes.jsonl")
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.name not in left_out}


@pytest.mark.parametrize("keep", ["all", "success", lambda episode, outcome: episode.index % 3 == 1])
@pytest.mark.parametrize("num_envs", [1, 2, 7])
def test_the_files_are_those_of_filming_online(tmp_path, keep, num_envs, monkeypatch):
    monkeypatch.setattr(Camerawork, "states_at_once", staticmethod(lambda sizes: 3))
    for when in ("online", "after"):
        env = NestedEnv(num_envs, CAMERAS)
        record(tmp_path / when, env, keep=keep, video_when=when)
        assert (env.renders == 0) == (when == "after")
    online, after = files(tmp_path / "online"), files(tmp_path / "after")
    assert sorted(online) == sorted(after)
    assert any(name.startswith("videos/wrist/") for name in online)
    for name, content in online.items():
        assert after[name] == content, name
    by_episode = [sorted(lines(tmp_path / when), key=lambda line: line["episode"]) for when in ("online", "after")]
    assert by_episode[0] == by_episode[1]


def test_the_looks_of_each_frame_are_those_it_had(tmp_path):
    record(tmp_path, NestedEnv(2, {"front": (36, 48)}), episodes=4, video_when="after", keep="success")
    for line in lines(tmp_path):
        if line["kept"]:
            reds = decode(tmp_path / line["videos"]["front"]).astype(int)
            assert np.abs(reds[1] - reds[2]).max() > 40, "the looks of the third state"


def test_long_episodes_go_through_the_disk(tmp_path):
    for when in ("online", "after"):
        record(tmp_path / when, FilmedVectorEnv(3, {"front": (16, 16)}, lengths=(150, 64, 63)), episodes=4, video_when=when)
    online, after = files(tmp_path / "online"), files(tmp_path / "after")
    assert sorted(online) == sorted(after)
    assert all(after[name] == content for name, content in online.items())


def test_once_most_episodes_are_thrown_away_none_is_rendered_before_it_is_kept(tmp_path):
    env = FilmedVectorEnv(2, {"front": (16, 16)}, hopeless=True)
    record(tmp_path, env, episodes=60, keep="success")
    rendered = env.renders
    assert rendered < 40, "about 9 episodes of 4 steps in two worlds"
    assert len(lines(tmp_path)) == 60
    # the overview ends where filming does
    assert len(decode(tmp_path / "overview.mp4")) < 40
    env = FilmedVectorEnv(2, {"front": (16, 16)}, hopeless=True)
    record(tmp_path / "b", env, episodes=60, keep="success", video_when="online")
    assert env.renders > 100


def test_those_that_are_kept_then_are_filmed(tmp_path):
    env = FilmedVectorEnv(2, {"front": (16, 16)})
    record(tmp_path, env, episodes=60, keep=lambda episode, outcome: episode.index > 50)
    for line in lines(tmp_path):
        assert line["kept"] == (line["episode"] > 50)
        if line["kept"]:
            assert len(decode(tmp_path / line["videos"]["front"])) == line["steps"] + 1
    assert env.renders < 60


def test_when_all_are_kept_they_are_filmed_online(tmp_path):
    env = FilmedVectorEnv(2, {"front": (16, 16)}, hopeless=True)
    record(tmp_path, env, episodes=30)
    assert env.renders > 60


def test_an_environment_without_states_is_filmed_online(tmp_path):
    with Recorder.for_env(env := CountingVectorEnv(2, hopeless=True), tmp_path, RecorderOptions(keep="success")) as recorder:
        run_episodes(env, counting_policy, num_episodes=40, seed=0, recorder=recorder)
        assert recorder.wants_frames


def test_what_cannot_be_deferred_is_an_error(tmp_path):
    with pytest.raises(InvalidArgumentError, match="none are stored"):
        Recorder.for_env(CountingVectorEnv(2), tmp_path / "a", RecorderOptions(video_when="after"))
    with pytest.raises(InvalidArgumentError, match="none are stored"):
        Recorder.for_env(FilmedVectorEnv(2), tmp_path / "b", RecorderOptions(video_when="after", keep_states=False))
    with pytest.raises(InvalidArgumentError, match="nothing would be filmed"):
        RecorderOptions(video_when="after", pictures=False)
    with pytest.raises(InvalidArgumentError, match="give 'auto', 'online' or 'after'"):
        RecorderOptions(video_when="never")  # type: ignore[arg-type]
    assert not (tmp_path / "a").exists()
    assert not (tmp_path / "b").exists()


def stepping(env, recorder, steps):
    observation, _ = env.reset(seed=3)
    recorder.on_reset(ResetBatch.of_env(env, observation, range(env.num_envs), 3, pictures=recorder.wants_frames))
    actions = np.zeros((env.num_envs, 2), np.float32)
    for _ in range(steps):
        recorder.on_step(StepBatch.of_env(env, actions, env.step(actions), pictures=recorder.wants_frames))


def test_an_episode_that_is_cut_is_filmed_when_it_is_kept(tmp_path):
    env = FilmedVectorEnv(2, {"front": (16, 16)})
    with Recorder.for_env(env, tmp_path, RecorderOptions(video_when="after")) as recorder:
        stepping(env, recorder, 2)
    for line in lines(tmp_path):
        assert line["ended"] == "cut"
        assert len(decode(tmp_path / line["videos"]["front"])) == 3
    with h5py.File(tmp_path / "states" / "episode_000001.h5") as file:
        assert file["position"].shape[0] == 3


def test_an_episode_that_is_discarded_is_never_filmed(tmp_path):
    env = FilmedVectorEnv(2, {"front": (16, 16)})
    with Recorder.for_env(env, tmp_path, RecorderOptions(video_when="after")) as recorder:
        stepping(env, recorder, 2)
        assert recorder.discard(0)
    assert {line["episode"]: line["kept"] for line in lines(tmp_path)} == {0: False, 1: True}
    assert [path.name for path in (tmp_path / "videos" / "front").iterdir()] == ["episode_000001.mp4"]


def test_an_error_of_the_loop_leaves_what_had_ended(tmp_path):
    env = FilmedVectorEnv(3, {"front": (16, 16)})

    def fail():
        with Recorder.for_env(env, tmp_path, RecorderOptions(video_when="after", keep="success")) as recorder:
            stepping(env, recorder, 4)
            raise ValueError("the policy is broken")

    with pytest.raises(ValueError, match="broken"):
        fail()
    ended = {line["episode"]: (line["ended"], line["kept"]) for line in lines(tmp_path)}
    assert ended == {0: ("terminated", True), 1: ("terminated", True), 2: ("failed", False)}


def test_states_without_poses_are_refused(tmp_path):
    env = FilmedVectorEnv(1)
    observation, _ = env.reset(seed=0)
    recorder = Recorder.for_env(env, tmp_path, RecorderOptions(video_when="after"))
    bare = StateBatch(env.frames(), env.state_count, observation, env.env_states())
    with pytest.raises(RecordingError, match=r'came without poses.*video_when="online"'):
        recorder.on_reset(ResetBatch(bare, [0], env.episode_index))
    recorder.close()


def test_frames_that_are_missing_online_are_an_error(tmp_path):
    env = FilmedVectorEnv(1)
    observation, _ = env.reset(seed=0)
    recorder = Recorder.for_env(env, tmp_path)
    with pytest.raises(RecordingError, match="frames came without camera 'front'"):
        recorder.on_reset(ResetBatch.of_env(env, observation, [0], 0, pictures=False))
    recorder.close()


def test_a_disk_that_is_full_while_filming_is_a_clear_error(tmp_path):
    env = FilmedVectorEnv(2, {"front": (16, 16)})
    recorder = Recorder.for_env(env, tmp_path, RecorderOptions(video_when="after", page=False))
    with pytest.raises(RecordingError, match="cannot write"), files_of_at_most(3000):
        stepping(env, recorder, 5)
    recorder.close()
    ended = {line["episode"]: line for line in lines(tmp_path)}
    assert (ended[0]["ended"], ended[0]["kept"]) == ("failed", False)
    assert not list(tmp_path.rglob("*.part"))
    assert not list(tmp_path.rglob("*_000000.*"))
    # the other one was cut, after the disk had room again
    assert (ended[1]["ended"], ended[1]["kept"]) == ("cut", True)
    assert len(decode(tmp_path / ended[1]["videos"]["front"])) == ended[1]["steps"] + 1 == 4


def test_memory_grows_neither_with_episodes_nor_with_their_length(tmp_path):
    def run(episodes, length, name):
        env = FilmedVectorEnv(4, {"front": (16, 16)}, lengths=(length,), hopeless=True)
        record(tmp_path / name, env, episodes=episodes, keep="success", video_when="after")
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

    run(100, 3, "warm")
    base = run(8, 700, "long warm")
    grown = [run(1500, 3, "many") - base, run(8, 4000, "long") - base]
    assert max(grown) < 5_000_000, grown
