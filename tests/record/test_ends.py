"""How episodes end: flagged, stopped, cut or thrown away; and worlds that an environment resets before it hands out the last state."""

from dataclasses import replace

import h5py
import numpy as np

from counting_env import CountingVectorEnv, counting_policy
from recorded_files import decode, levels, lines
from rollfilm.record import FinalBatch, Recorder, RecorderOptions, ResetBatch, StepBatch
from rollfilm.record.layout import Layout
from rollfilm.record.manifest import read_episodes


class Driver:
    """Steps a counting environment whose pictures differ by 20 levels a step, and tells a recorder."""

    def __init__(self, folder, num_envs=2, *, reset=True, **options):
        self.env = CountingVectorEnv(num_envs, contrast=20)
        self.recorder = Recorder.for_env(self.env, folder, RecorderOptions(**options))
        self.observation = self.env.reset(seed=0)[0]
        if reset:
            self.recorder.on_reset(ResetBatch.of_env(self.env, self.observation, range(num_envs), 0))

    def step(self, **changes):
        actions = counting_policy(self.observation)
        result = self.env.step(actions)
        self.observation = result[0]
        self.recorder.on_step(replace(StepBatch.of_env(self.env, actions, result), **changes))

    def restart(self, world, index):
        indices = np.full(self.env.num_envs, index)
        mask = np.arange(self.env.num_envs) == world
        self.observation = self.env.reset(options={"reset_mask": mask, "episode_index": indices})[0]
        self.recorder.on_reset(ResetBatch.of_env(self.env, self.observation, [world], 0))


def test_an_episode_that_is_stopped_is_whole(tmp_path):
    driver = Driver(tmp_path)
    driver.step()
    driver.recorder.end([1])
    driver.recorder.close()
    assert [(line["ended"], line["steps"]) for line in read_episodes(Layout(tmp_path))] == [("cut", 1), ("stopped", 1)]
    with h5py.File(next(tmp_path.glob("trajectory.*.h5"))) as file:
        assert list(file) == ["traj_1"], "an episode that was cut is none to learn from"
    assert len(levels(tmp_path / "videos/front/episode_000001.mp4")) == 2


def test_an_episode_goes_on_after_its_flag_until_it_is_ended(tmp_path):
    driver = Driver(tmp_path, 1)
    for _ in range(3):
        driver.step(ends=np.array([False]))
    driver.recorder.end([0])
    driver.recorder.close()
    (line,) = lines(tmp_path)
    assert (line["ended"], line["steps"], line["success"]) == ("terminated", 3, True)


def test_an_episode_with_a_flag_is_not_cut_by_closing_or_resetting(tmp_path):
    driver = Driver(tmp_path)
    for _ in range(3):
        driver.step(ends=np.array([False, False]))
    driver.restart(0, 2)
    driver.step(ends=np.array([False, False]))
    driver.recorder.close()
    ended = {line["episode"]: (line["ended"], line["steps"]) for line in lines(tmp_path)}
    assert ended == {0: ("terminated", 3), 1: ("terminated", 4), 2: ("cut", 1)}


def test_a_bad_episode_is_discarded_while_it_runs(tmp_path):
    driver = Driver(tmp_path)
    driver.step()
    assert driver.recorder.discard(0)
    for _ in range(3):
        driver.step()
    driver.recorder.close()
    found = [(line["kept"], line.get("discarded"), line["steps"]) for line in read_episodes(Layout(tmp_path))]
    assert found == [(False, True, 1), (True, None, 4)]
    assert [path.name for path in tmp_path.glob("videos/front/*")] == ["episode_000001.mp4"]
    with h5py.File(next(tmp_path.glob("trajectory.*.h5"))) as file:
        assert list(file) == ["traj_1"]


def test_a_bad_episode_is_discarded_after_it_has_ended(tmp_path):
    driver = Driver(tmp_path)
    for _ in range(3):
        driver.step()
    assert driver.recorder.discard(0)
    assert not driver.recorder.discard(0), "there is no other episode to throw away"
    driver.step()
    driver.recorder.close()
    kept = {line["episode"]: line["kept"] for line in read_episodes(Layout(tmp_path))}
    assert kept == {0: False, 1: True}
    assert driver.recorder.num_kept == 1
    assert [path.name for path in tmp_path.glob("videos/front/*")] == ["episode_000001.mp4"]


def test_discarding_means_the_episode_of_the_last_step_also_when_the_next_one_has_begun(tmp_path):
    driver = Driver(tmp_path, 1)
    for _ in range(3):
        driver.step()
    driver.restart(0, 1)
    while not (tmp_path / "episodes.jsonl").exists():  # the line of episode 0 is written once its video is whole
        driver.recorder.end([])
    assert driver.recorder.discard(0)
    assert [line["kept"] for line in lines(tmp_path)] == [True, False]
    driver.step()
    driver.recorder.end([0])
    driver.recorder.close()
    assert {line["episode"]: line["kept"] for line in read_episodes(Layout(tmp_path))} == {0: False, 1: True}


def final_of_world_0(env, steps):
    """The last state of world 0 after its reset: what ``frames`` would have shown before."""
    state = StepBatch.of_env(env, np.zeros((2, 2)), (env._observation(), *[np.zeros(2)] * 3, {})).state
    elapsed, env.elapsed_steps = env.elapsed_steps, np.array([steps, 0])
    pictures = {name: replace(camera, rgb=camera.rgb.copy()) for name, camera in env.frames().items()}
    final = replace(state, frames=replace(env.frames(), cameras=pictures), observation=env._observation(), env_states=env.env_states())
    env.elapsed_steps = elapsed
    return final


def test_the_last_state_of_a_world_that_was_reset_already(tmp_path):
    driver = Driver(tmp_path)
    driver.step()
    driver.step()
    actions = counting_policy(driver.observation)
    observation, rewards, terminated, truncated, infos = driver.env.step(actions)
    facts = {name: value.copy() for name, value in infos.items()}
    observation = driver.env.reset(options={"reset_mask": np.array([True, False]), "episode_index": np.array([2, 1])})[0]
    final = FinalBatch(final_of_world_0(driver.env, 3), [0])
    batch = StepBatch.of_env(driver.env, actions, (observation, rewards, terminated, truncated, facts))
    driver.recorder.on_step(replace(batch, final=final))
    driver.recorder.on_reset(ResetBatch.of_env(driver.env, observation, [0], 0))
    driver.recorder.close()
    assert np.abs(np.array(levels(tmp_path / "videos/front/episode_000000.mp4")) - [0, 20, 40, 60]).max() <= 3
    with h5py.File(next(tmp_path.glob("trajectory.*.h5"))) as file:
        assert file["traj_0/obs"][:, 1].tolist() == [0, 1, 2, 3]
        assert file["traj_0/env_states/actors/cube"][:, 0].tolist() == [0, 1, 2, 3]
    overview = decode(tmp_path / "overview.mp4")
    assert abs(int(overview[-1, 16, 16, 0]) - 60) <= 8, "the overview shows the last state too, in the frame that its border belongs to"


def test_what_is_missing_of_the_last_state_is_said(tmp_path):
    driver = Driver(tmp_path)
    driver.step()
    final = FinalBatch(final_of_world_0(driver.env, 1), [0], missing=("pictures",))
    driver.step(final=final, ends=np.array([True, False]))
    driver.recorder.close()
    said = {line["episode"]: line.get("missing_at_end") for line in lines(tmp_path)}
    assert said == {0: ["pictures"], 1: None}


def test_success_that_is_said_of_some_steps_alone_is_kept(tmp_path):
    driver = Driver(tmp_path, 2, keep="all")
    driver.step(success=None)
    driver.step(fail=np.array([False, True]))
    driver.step()
    driver.step()
    driver.recorder.close()
    with h5py.File(next(tmp_path.glob("trajectory.*.h5"))) as file:
        for name, steps in (("traj_0", 3), ("traj_1", 4)):
            assert file[name]["success"][:].tolist() == [False] * (steps - 1) + [True]
            assert file[name]["success_known"][:].tolist() == [False] + [True] * (steps - 1)
        assert file["traj_1/fail"][:].tolist() == [False, True, False, False]


def test_steps_without_pictures(tmp_path):
    driver = Driver(tmp_path, pictures=False)
    for _ in range(4):
        driver.step()
    driver.recorder.close()
    assert not list(tmp_path.rglob("*.mp4"))
    with h5py.File(next(tmp_path.glob("trajectory.*.h5"))) as file:
        assert file["traj_0/obs"].shape == (4, 3)


def test_episodes_that_are_not_filmed(tmp_path):
    driver = Driver(tmp_path, reset=False, overview=False)
    batch = ResetBatch.of_env(driver.env, driver.observation, [0], 0)
    driver.recorder.on_reset(replace(batch, filmed=False))
    assert not driver.recorder.needs_pictures
    driver.recorder.on_reset(replace(batch, worlds=[1]))
    assert driver.recorder.needs_pictures
    for _ in range(4):
        driver.step()
    driver.recorder.close()
    assert {line["episode"]: len(line["videos"]) for line in lines(tmp_path)} == {0: 0, 1: 1}
    assert len(levels(tmp_path / "videos/front/episode_000001.mp4")) == 5
    with h5py.File(next(tmp_path.glob("trajectory.*.h5"))) as file:
        assert sorted(file) == ["traj_0", "traj_1"]


def test_clips_of_all_worlds_begin_and_end_on_request(tmp_path):
    driver = Driver(tmp_path, overview=False)
    driver.step()
    assert driver.recorder.clip_frames == 0
    driver.recorder.begin_clip(driver.env.frames())
    driver.step()
    assert driver.recorder.clip_frames == 2
    driver.recorder.end_clip(tmp_path / "mine.mp4")
    driver.step()
    driver.recorder.begin_clip(driver.env.frames())
    driver.recorder.end_clip(None)
    driver.recorder.close()
    shown = decode(tmp_path / "mine.mp4")[:, 16, 48, 0].astype(int)
    assert np.abs(shown - [30, 50]).max() <= 3
    assert [path.name for path in tmp_path.glob("*.mp4*")] == ["mine.mp4"]
