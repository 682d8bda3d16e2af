"""Episodes, resets, refusals."""

import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode

import rollfilm
import rollfilm.envs
from rollfilm.envs import NextStepAutoreset, SameStepAutoreset
from rollfilm.errors import InvalidArgumentError, MemoryBudgetError, NotFoundError

pytestmark = pytest.mark.robots


def run(env, steps, seed=0):
    rng = np.random.default_rng(seed)
    for _ in range(steps):
        env.step(rng.uniform(-1, 1, env.action_space.shape))


def test_initial_states_depend_on_the_episode_index_alone(make_env):
    env, small = make_env(num_envs=6), make_env(num_envs=2)
    first, _ = env.reset(seed=3)
    assert env.episode_index.tolist() == [0, 1, 2, 3, 4, 5]
    seeds = env.episode_seed.copy()
    run(env, 3)
    # Other slots, another order, another batch size, after other episodes: the same states.
    again, _ = env.reset(seed=3, options={"episode_index": np.array([5, 4, 3, 2, 1, 0])})
    np.testing.assert_array_equal(again, first[::-1])
    np.testing.assert_array_equal(env.episode_seed, seeds[::-1])
    small.reset(seed=3)
    run(small, 2)
    later, _ = small.reset()
    np.testing.assert_array_equal(later, first[2:4])
    other, _ = env.reset(seed=4)
    assert not np.isclose(other[:, 29:31], first[:, 29:31]).any()


def test_a_masked_reset_changes_the_masked_worlds_only(make_env):
    env = make_env(num_envs=4)
    before, _ = env.reset(seed=0)
    run(env, 4)
    moved, saved, count = env.observe(), env.engine.get_state(), env.state_count
    mask = np.array([False, True, False, True])
    after, infos = env.reset(options={"reset_mask": mask})
    np.testing.assert_array_equal(after[~mask], moved[~mask])
    np.testing.assert_array_equal(env.engine.get_state()[~mask], saved[~mask])
    assert env.episode_index.tolist() == [0, 4, 2, 5]
    assert infos["elapsed_steps"].tolist() == [4, 0, 4, 0]
    assert env.state_count > count
    assert not np.isclose(after[mask][:, :7], moved[mask][:, :7]).all()
    back, _ = env.reset(options={"reset_mask": mask, "episode_index": np.array([9, 1, 9, 3])})
    np.testing.assert_array_equal(back[mask], before[mask])


def test_same_bytes_in_any_slot_batch_and_thread_count(make_env):
    trajectories = []
    for num_envs, threads, slot in ((1, 1, 0), (3, 2, 1), (3, 1, 2)):
        env = make_env(num_envs=num_envs, num_threads=threads)
        index = np.arange(num_envs) + 20
        index[slot] = 7
        env.reset(seed=5, options={"episode_index": index})
        rng, rows = np.random.default_rng(0), []
        for _ in range(12):
            actions = np.random.default_rng(1).uniform(-1, 1, env.action_space.shape)
            actions[slot] = rng.uniform(-1, 1, 8)
            observation, reward, *_ = env.step(actions)
            rows.append(np.append(observation[slot], reward[slot]))
        trajectories.append(np.array(rows))
    np.testing.assert_array_equal(trajectories[0], trajectories[1])
    np.testing.assert_array_equal(trajectories[0], trajectories[2])


def test_truncates_at_the_limit_and_then_stands_still(make_env):
    env = make_env(num_envs=2, max_episode_steps=3)
    env.reset(seed=0)
    for step in range(3):
        _, _, _, truncated, infos = env.step(env.action_space.sample())
        assert truncated.tolist() == [step == 2] * 2
    env.reset(options={"reset_mask": np.array([True, False])})
    state = env.engine.get_state()
    actions = env.action_space.sample()
    actions[1] = np.nan
    _, reward, _, truncated, infos = env.step(actions)
    assert truncated.tolist() == [False, True]
    assert infos["elapsed_steps"].tolist() == [1, 3]
    assert reward[1] == 0.0
    np.testing.assert_array_equal(env.engine.get_state()[1], state[1])
    assert not np.array_equal(env.engine.get_state()[0], state[0])


def test_a_diverged_world_ends_its_episode(make_env, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    env = make_env(num_envs=2)
    env.reset(seed=0)
    state = env.engine.get_state()
    state[1, 1 + env.engine.model.nq] = 1e9
    env.engine.set_state(state)
    observation, _, terminated, _, infos = env.step(np.zeros((2, 8)))
    assert infos["diverged"].tolist() == [False, True]
    assert infos["success"].tolist() == [False, False]
    assert terminated.tolist() == [False, True]
    assert np.isfinite(observation).all()
    _, infos = env.reset(options={"reset_mask": np.array([False, True])})
    assert not infos["diverged"].any()


def test_seeds_each_world(make_env):
    env = make_env(num_envs=3)
    env.reset(seed=8)
    single = env.observe()[0]
    listed, _ = env.reset(seed=[8, 9, 8])
    np.testing.assert_array_equal(listed[0], single)
    np.testing.assert_array_equal(listed[2], single)
    assert env.episode_index.tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"reset_mask": np.array([True])}, InvalidArgumentError, "shape"),
        ({"reset_mask": np.array([1, 0])}, InvalidArgumentError, "bool"),
        ({"reset_mask": np.array([False, False])}, InvalidArgumentError, "one True"),
        ({"episode_index": np.array([0, -1])}, InvalidArgumentError, "0 or more"),
        ({"episode_index": np.array([0.0, 1.0])}, InvalidArgumentError, "integers"),
        ({"mask": np.array([True, False])}, NotFoundError, "reset_mask"),
    ],
)
def test_refuses_bad_reset_options(make_env, options, error, words):
    env = make_env(num_envs=2)
    before, _ = env.reset(seed=0)
    with pytest.raises(error, match=words):
        env.reset(options=options)
    np.testing.assert_array_equal(env.observe(), before)


def test_refuses_bad_actions(make_env):
    env = make_env(num_envs=3)
    env.reset(seed=0)
    with pytest.raises(InvalidArgumentError, match=r"\(3, 8\)"):
        env.step(np.zeros((3, 7)))
    actions = np.zeros((3, 8))
    actions[1, 2] = np.nan
    with pytest.raises(InvalidArgumentError, match=r"\[1\]"):
        env.step(actions)
    assert env.elapsed_steps.tolist() == [0, 0, 0]


def test_refuses_steps_before_the_first_reset():
    env = rollfilm.make("pick-cube", num_envs=2)
    with pytest.raises(InvalidArgumentError, match="reset"):
        env.step(np.zeros((2, 8)))
    env.close()


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"obs_mode": "pixels"}, InvalidArgumentError, "state_dict"),
        ({"control_mode": "pd_magic"}, NotFoundError, "pd_ee_delta_pose"),
        ({"cameras": {"back": (8, 8)}}, NotFoundError, "front, wrist"),
        ({"cameras": {"front": (0, 8)}}, InvalidArgumentError, "8x0"),
        ({"control_frequency_hz": 30}, InvalidArgumentError, "16.6667"),
        ({"engine": "phlogiston"}, NotFoundError, "mujoco"),
        ({"colour": 1}, NotFoundError, "num_envs"),
        ({"num_envs": 0}, InvalidArgumentError, "at least 1"),
        ({"num_envs": 1.5}, InvalidArgumentError, "num_envs is 1.5"),
        ({"num_threads": "two"}, InvalidArgumentError, "num_threads"),
        ({"num_envs": 10**10}, MemoryBudgetError, "states of 10000000000 worlds: .* are needed and .* are available"),
        ({"control_frequency_hz": float("nan")}, InvalidArgumentError, "control_frequency_hz is nan"),
        ({"device": None}, InvalidArgumentError, "device is None"),
        ({"cameras": {"front": 256}}, InvalidArgumentError, "height, width"),
        ({"cameras": {"front": (25.6, 8)}}, InvalidArgumentError, "integers from 1"),
        ({"cameras": "front"}, InvalidArgumentError, "CameraRequest"),
        ({"obs_mode": "rgb", "cameras": {}}, InvalidArgumentError, "camera"),
    ],
)
def test_refuses_bad_options(options, error, words):
    with pytest.raises(error, match=words):
        rollfilm.make("pick-cube", **options)


def test_unknown_tasks_list_the_known_ones():
    with pytest.raises(NotFoundError, match="pick-cube"):
        rollfilm.make("fold-laundry")


def test_actions_beyond_one_are_clipped(make_env):
    env = make_env(num_envs=2)
    env.reset(seed=0)
    actions = np.ones((2, 8))
    clipped = env.step(actions)[0]
    env.reset(seed=0)
    np.testing.assert_array_equal(env.step(5 * actions)[0], clipped)


@pytest.mark.parametrize("obs_mode", ["state", "state_dict"])
def test_spaces_hold_what_comes(make_env, obs_mode):
    env = make_env(num_envs=2, obs_mode=obs_mode)
    observation, _ = env.reset(seed=0)
    assert observation in env.observation_space
    observation, *_ = env.step(env.action_space.sample())
    assert observation in env.observation_space


def test_gymnasium_knows_the_task():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        env = gymnasium.make_vec("rollfilm/PickCube-v0", num_envs=4, max_episode_steps=7)
    assert env.metadata["autoreset_mode"] == AutoresetMode.DISABLED
    assert env.reset(seed=0)[0] in env.observation_space
    assert env.unwrapped.max_episode_steps == 7
    assert len(gymnasium.wrappers.vector.DictInfoToList(env).step(env.action_space.sample())[-1]) == 4
    env.close()


@pytest.mark.parametrize("control_mode", ["pd_joint_delta_pos", "pd_ee_delta_pose"])
def test_gymnasiums_checker_passes(control_mode):
    env = gymnasium.make("rollfilm/PickCube-v0", control_mode=control_mode)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # An unbounded observation is what a pose is.
        warnings.filterwarnings("ignore", message=".*Box observation space.*infinity.*")
        check_env(env.unwrapped, skip_render_check=True)
    env.close()


def test_gymnasiums_own_vectorisation_works():
    env = gymnasium.make_vec("rollfilm/PickCube-v0", num_envs=2, vectorization_mode="sync")
    assert env.reset(seed=0)[0].shape == (2, 42)
    assert env.step(env.action_space.sample())[0].shape == (2, 42)
    env.close()


def test_same_step_autoreset(make_env):
    base = make_env(num_envs=3, max_episode_steps=2)
    env = SameStepAutoreset(base)
    env.reset(seed=0)
    base.reset(options={"reset_mask": np.array([True, False, False])})
    env.step(np.zeros((3, 8)))
    base.reset(options={"reset_mask": np.array([True, False, False])})
    observation, _, _, truncated, infos = env.step(np.zeros((3, 8)))
    assert env.metadata["autoreset_mode"] == AutoresetMode.SAME_STEP
    assert truncated.tolist() == [False, True, True]
    assert infos["_final_obs"].tolist() == [False, True, True]
    assert infos["final_obs"][0] is None
    assert infos["final_info"]["elapsed_steps"].tolist() == [0, 2, 2]
    assert infos["elapsed_steps"].tolist() == [1, 0, 0]
    assert not np.array_equal(infos["final_obs"][1], observation[1])
    assert base.episode_index.tolist() == [4, 5, 6]
    assert not base.has_ended.any()


def test_next_step_autoreset(make_env):
    base = make_env(num_envs=2, max_episode_steps=2)
    env = NextStepAutoreset(base)
    env.reset(seed=0)
    env.step(np.zeros((2, 8)))
    base.reset(options={"reset_mask": np.array([True, False])})
    _, _, _, truncated, infos = env.step(np.zeros((2, 8)))
    assert truncated.tolist() == [False, True]
    assert infos["elapsed_steps"].tolist() == [1, 2]
    observation, reward, terminated, truncated, infos = env.step(np.ones((2, 8)))
    # World 1 is reset by this step; world 0 ends in it and is still seen at its end.
    assert truncated.tolist() == [True, False]
    assert not terminated.any()
    assert reward[0] > 0.0
    assert reward[1] == 0.0
    assert infos["elapsed_steps"].tolist() == [2, 0]
    assert base.episode_index.tolist() == [2, 3]
    env.step(np.zeros((2, 8)))
    assert base.episode_index.tolist() == [4, 3]
    assert base.elapsed_steps.tolist() == [0, 1]
    expected, _ = base.reset(seed=0, options={"episode_index": np.array([3, 3])})
    np.testing.assert_array_equal(observation[1], expected[1])


def test_autoreset_wraps_no_autoreset(make_env):
    with pytest.raises(InvalidArgumentError, match="SAME_STEP"):
        NextStepAutoreset(SameStepAutoreset(make_env(num_envs=2)))


@pytest.mark.parametrize("task", [None, 3, ["pick-cube"], "pick-cub"])
def test_refuses_what_is_no_task(task):
    with pytest.raises(NotFoundError, match="tasks: pick-cube"):
        rollfilm.make(task)


def test_a_closed_environment_says_so():
    env = rollfilm.make("pick-cube")
    env.reset(seed=0)
    env.close()
    env.close()
    for use in (env.reset, lambda: env.step(np.zeros((1, 8)))):
        with pytest.raises(InvalidArgumentError, match="closed"):
            use()


@pytest.mark.parametrize("actions", ["push", None, [[1.0], [1.0, 2.0]], np.zeros((1, 8), complex)])
def test_actions_that_are_no_numbers(actions):
    env = rollfilm.make("pick-cube")
    env.reset(seed=0)
    with pytest.raises(InvalidArgumentError, match="the actions are"):
        env.step(actions)
    with pytest.raises(InvalidArgumentError, match="reset_mask"):
        env.reset(options=3)
    env.close()
