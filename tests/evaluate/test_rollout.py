import numpy as np
import pytest

from counting_env import CountingVectorEnv, counting_policy
from rollfilm.errors import InvalidArgumentError
from rollfilm.evaluate.rollout import run_episodes
from rollfilm.evaluate.statistics import wilson_interval


@pytest.mark.parametrize("num_envs", [1, 2, 3, 7, 20])
@pytest.mark.parametrize("num_episodes", [1, 10])
def test_which_episodes_are_run_does_not_depend_on_the_worlds(num_envs, num_episodes):
    rollout = run_episodes(CountingVectorEnv(num_envs), counting_policy, num_episodes=num_episodes, seed=2)
    assert [result.index for result in rollout.episodes] == list(range(num_episodes))
    assert [result.length for result in rollout.episodes] == [(3, 4, 5)[k % 3] for k in range(num_episodes)]
    assert [result.seed for result in rollout.episodes] == [2000 + k for k in range(num_episodes)]
    assert [result.episode_return for result in rollout.episodes] == [(3, 4, 5)[k % 3] for k in range(num_episodes)]
    assert [result.success_at_end for result in rollout.episodes] == [k % 4 != 3 for k in range(num_episodes)]


def test_success_once_and_at_the_end_are_told_apart():
    env = CountingVectorEnv(2, lengths=(4,))
    plain_step = env.step

    def step(actions):
        *rest, infos = plain_step(actions)
        infos["success"] = infos["success"] * 0 + (env.elapsed_steps == 2) * (env.episode_index % 2 == 0)
        return *rest, infos

    env.step = step
    results = run_episodes(env, counting_policy, num_episodes=4, seed=0).episodes
    assert [result.success_once for result in results] == [True, False, True, False]
    assert [result.success_at_end for result in results] == [False] * 4


def test_success_that_is_not_reported_is_none():
    env = CountingVectorEnv(2, reports_success=False)
    results = run_episodes(env, counting_policy, num_episodes=2, seed=0).episodes
    assert [(result.success_once, result.success_at_end) for result in results] == [(None, None)] * 2


def test_a_policy_is_told_where_episodes_begin_and_idle_worlds_get_no_action():
    env = CountingVectorEnv(3)
    begun, actions_seen = [], []
    plain_step = env.step
    env.step = lambda actions: (actions_seen.append(actions.copy()), plain_step(actions))[1]

    class Policy:
        def reset(self, mask):
            begun.append(mask.tolist())

        def __call__(self, observation):
            return np.ones((3, 2), np.float32)

    run_episodes(env, Policy(), num_episodes=4, seed=0)
    assert begun == [[True, True, True], [True, False, False]]
    assert [actions[:, 0].tolist() for actions in actions_seen] == [[1, 1, 1]] * 3 + [[1, 1, 1], [1, 0, 1], [1, 0, 0]]


def test_no_episode_is_an_error():
    with pytest.raises(InvalidArgumentError, match="at least 1"):
        run_episodes(CountingVectorEnv(1), counting_policy, num_episodes=0, seed=0)


@pytest.mark.parametrize(
    ("successes", "trials", "low", "high"),
    # scipy.stats.binomtest(k, n).proportion_ci(method="wilson") of SciPy 1.17
    [(10, 10, 0.722467, 1.0), (0, 10, 0.0, 0.277533), (5, 10, 0.236593, 0.763407), (31, 32, 0.842557, 0.994462)],
)
def test_wilson_interval(successes, trials, low, high):
    assert wilson_interval(successes, trials) == pytest.approx((low, high), abs=1e-6)
