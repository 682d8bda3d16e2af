"""The task: where things begin, what counts as success, what is rewarded, how the arm obeys."""

import numpy as np
import pytest

from rollfilm.geometry import quat_multiply

pytestmark = pytest.mark.robots

HOLD_STILL = {"pd_joint_delta_pos": np.array([0.0] * 7 + [1.0]), "pd_ee_delta_pose": np.array([0.0] * 6 + [1.0])}


def place_cube(env, position):
    """Put the cube of every world there, at rest, and the arm at its start, at rest."""
    qpos = env.engine.read_state().qpos
    qpos[:, 9:12] = position
    state = env.engine.get_state()
    state[:, 1 : 1 + qpos.shape[1]] = qpos
    state[:, 1 + qpos.shape[1] : 1 + qpos.shape[1] + 15] = 0.0
    env.engine.set_state(state)
    return env.engine.read_state()


def test_starts_are_spread_as_in_maniskill(make_env):
    env = make_env(num_envs=64)
    env.reset(seed=1)
    state = env.engine.read_state()
    cube, goal = state.qpos[:, 9:12], env.state_vector()[:, 26:29]
    assert (np.abs(cube[:, :2]) <= 0.1).all()
    assert np.abs(cube[:, :2]).max() > 0.08
    np.testing.assert_allclose(cube[:, 2], 0.02)
    assert (np.abs(goal[:, :2]) <= 0.1 + 1e-6).all()
    assert goal[:, 2].min() >= 0.02
    assert 0.25 < goal[:, 2].max() <= 0.32
    noise = state.qpos[:, :7] - np.array([0, np.pi / 8, 0, -np.pi * 5 / 8, 0, np.pi * 3 / 4, np.pi / 4])
    assert 0.015 < noise.std() < 0.025
    np.testing.assert_array_equal(state.qpos[:, 7:9], 0.04)
    yaw = 2 * np.arctan2(state.qpos[:, 15], state.qpos[:, 12])
    assert yaw.max() - yaw.min() > 5.0


def test_the_cube_lies_still_on_the_table(make_env):
    env = make_env(num_envs=4)
    env.reset(seed=2)
    before = env.engine.read_state().qpos[:, 9:12]
    for _ in range(20):
        env.step(np.tile(HOLD_STILL["pd_joint_delta_pos"], (4, 1)))
    np.testing.assert_allclose(env.engine.read_state().qpos[:, 9:12], before, atol=1e-3)


def test_success_needs_the_cube_at_the_goal_and_the_arm_at_rest(make_env):
    env = make_env(num_envs=4)
    env.reset(seed=0)
    goal = env.state_vector()[:, 26:29].astype(np.float64)
    offsets = np.array([[0, 0, 0.0], [0, 0, 0.0245], [0, 0, 0.0255], [0, 0, 0.0]])
    state = place_cube(env, goal + offsets)
    assert env.task.evaluate(state)["success"].tolist() == [True, True, False, True]
    state.qvel[3, 2] = 0.21
    state.qvel[0, 2] = -0.19
    state.qvel[1, 7] = 5.0  # A finger may move.
    facts = env.task.evaluate(state)
    assert facts["success"].tolist() == [True, True, False, False]
    assert facts["is_obj_placed"].tolist() == [True, True, False, True]
    assert facts["is_robot_static"].tolist() == [True, True, True, False]


def test_success_ends_the_episode(make_env):
    env = make_env(num_envs=4)
    env.reset(seed=0)
    goal = env.state_vector()[:, 26:29].astype(np.float64)
    # Released at the upper edge of the goal, the cube falls 1 cm in a control step and is still inside.
    place_cube(env, goal + np.array([[0, 0, 0.01], [0, 0, 0.2], [0, 0, 0.2], [0, 0, 0.2]]))
    _, reward, terminated, truncated, infos = env.step(np.tile(HOLD_STILL["pd_joint_delta_pos"], (4, 1)))
    assert terminated.tolist() == infos["success"].tolist() == [True, False, False, False]
    assert not truncated.any()
    assert reward[0] == 1.0
    assert (reward[1:] < 1.0).all()


def test_reward_grows_with_progress(make_env):
    env = make_env(num_envs=4)
    env.reset(seed=0)
    tcp, goal = env.state_vector()[:, 19:22].astype(np.float64), env.state_vector()[:, 26:29].astype(np.float64)
    rewards = []
    for distance in (0.3, 0.1, 0.03):
        state = place_cube(env, tcp - [0, distance, 0])
        facts = env.task.evaluate(state)
        rewards.append(env.task.dense_reward(state, facts | {"is_obj_placed": np.zeros(4, bool), "success": np.zeros(4, bool)}))
    state = place_cube(env, tcp)
    grasped = {"is_grasped": np.ones(4, bool), "is_obj_placed": np.zeros(4, bool), "success": np.zeros(4, bool)}
    rewards.append(env.task.dense_reward(state, grasped))
    state = place_cube(env, goal)
    rewards.append(env.task.dense_reward(state, grasped | {"is_obj_placed": np.ones(4, bool)}))
    rewards.append(env.task.dense_reward(state, env.task.evaluate(state)))
    assert (np.diff(np.array(rewards), axis=0) > 0).all()
    np.testing.assert_array_equal(rewards[-1], 5.0)
    # A hand 0.1 m from the cube gets 1 - tanh(0.5), as in ManiSkill.
    np.testing.assert_allclose(rewards[1], 1 - np.tanh(0.5), rtol=1e-5)


@pytest.mark.parametrize(("mode", "expected"), [("dense", 5.0), ("normalized_dense", 1.0), ("sparse", 1.0), ("none", 0.0)])
def test_reward_modes(make_env, mode, expected):
    env = make_env(num_envs=2, reward_mode=mode)
    env.reset(seed=0)
    place_cube(env, env.state_vector()[:, 26:29] + np.array([[0, 0, 0.01], [0, 0, 0.3]]))
    _, reward, *_ = env.step(np.tile(HOLD_STILL["pd_joint_delta_pos"], (2, 1)))
    assert reward[0] == expected
    assert (reward[1] == 0.0) == (mode in ("sparse", "none"))


def test_joint_deltas_move_their_joint_and_no_other(make_env):
    env = make_env(num_envs=7)
    env.reset(seed=0)
    before = env.engine.read_state().qpos[:, :7]
    actions = np.concatenate([np.eye(7), np.ones((7, 1))], axis=1)
    env.step(actions)
    first = env.engine.read_state().qpos[:, :7] - before
    # The drive's time constant is twice the control period: 1 - exp(-0.5) = 39 % of 0.1 rad in the first step.
    np.testing.assert_allclose(np.diag(first), 0.1 * (1 - np.exp(-0.5)), rtol=0.2)
    env.step(actions)
    moved = env.engine.read_state().qpos[:, :7] - before
    np.testing.assert_allclose(np.diag(moved), 0.08, rtol=0.15)
    assert np.abs(moved - np.diag(np.diag(moved))).max() < 0.004


def test_pose_deltas_move_the_hand_along_the_bases_axes(make_env):
    env = make_env(num_envs=6, control_mode="pd_ee_delta_pose")
    env.reset(seed=0)
    before = env.state_vector()[:, 19:26].astype(np.float64)
    for _ in range(5):
        env.step(np.concatenate([0.5 * np.eye(6), np.ones((6, 1))], axis=1))
    after = env.state_vector()[:, 19:26].astype(np.float64)
    shift = after[:, :3] - before[:, :3]
    np.testing.assert_allclose(np.diag(shift[:3]), 0.1, atol=0.012)
    assert np.abs(shift - np.pad(np.diag(np.diag(shift[:3])), ((0, 3), (0, 0)))).max() < 0.006
    for axis in range(3):
        turned = quat_multiply(after[3 + axis, 3:], before[3 + axis, 3:] * [1, -1, -1, -1])
        vector = 2 * turned[1:] * np.sign(turned[0])
        assert vector[axis] == pytest.approx(0.1, abs=0.012), "positive turns by the right hand"
        assert np.abs(np.delete(vector, axis)).max() < 0.01
    still = after[:3, 3:] * np.sign(np.sum(after[:3, 3:] * before[:3, 3:], axis=-1, keepdims=True))
    np.testing.assert_allclose(still, before[:3, 3:], atol=0.01)


@pytest.mark.parametrize("mode", ["pd_joint_delta_pos", "pd_ee_delta_pose"])
def test_zero_actions_hold_the_arm_against_gravity(make_env, mode):
    env = make_env(num_envs=2, control_mode=mode)
    env.reset(seed=0)
    before = env.engine.read_state().qpos[:, :7]
    for _ in range(40):
        env.step(np.tile(HOLD_STILL[mode], (2, 1)))
    np.testing.assert_allclose(env.engine.read_state().qpos[:, :7], before, atol=2e-3)


def test_the_gripper_opens_and_closes(make_env):
    env = make_env(num_envs=2)
    env.reset(seed=0)
    actions = np.zeros((2, 8))
    for gripper, expected in ((-1.0, 0.0), (0.2, 0.02), (1.0, 0.04)):
        actions[:, 7] = gripper
        for _ in range(15):
            env.step(actions)
        np.testing.assert_allclose(env.engine.read_state().qpos[:, 7:9], expected, atol=1e-3)


def test_observation_is_maniskills_42_numbers(make_env):
    env = make_env(num_envs=3)
    vector, _ = env.reset(seed=4)
    state, named = env.engine.read_state(), make_env(num_envs=3, obs_mode="state_dict").reset(seed=4)[0]
    assert vector.shape == (3, 42)
    assert list(named) == ["agent", "extra"]
    assert list(named["extra"]) == ["is_grasped", "tcp_pose", "goal_pos", "obj_pose", "tcp_to_obj_pos", "obj_to_goal_pos"]
    flat = np.concatenate([*named["agent"].values(), *named["extra"].values()], axis=1)
    np.testing.assert_array_equal(vector, flat)
    np.testing.assert_allclose(vector[:, :9], state.qpos[:, :9], rtol=1e-6)
    np.testing.assert_allclose(vector[:, 29:36], state.qpos[:, 9:16], rtol=1e-6)
    np.testing.assert_allclose(vector[:, 36:39], vector[:, 29:32] - vector[:, 19:22], atol=1e-6)
    np.testing.assert_allclose(vector[:, 39:42], vector[:, 26:29] - vector[:, 29:32], atol=1e-6)


def test_env_states_are_maniskills(make_env):
    env = make_env(num_envs=3)
    env.reset(seed=0)
    state = env.engine.get_state()
    nq = env.engine.model.nq
    state[:, 1 + nq + 9 : 1 + nq + 15] = [0.1, 0.2, 0.3, 1.0, 0.0, 0.0]
    env.engine.set_state(state)
    states, qpos = env.env_states(), env.engine.read_state().qpos
    assert {name: value.shape for name, value in states["actors"].items()} == {"cube": (3, 13), "goal_site": (3, 13)}
    assert states["articulations"]["panda"].shape == (3, 31)
    np.testing.assert_allclose(states["articulations"]["panda"][:, :7], np.tile([-0.615, 0, 0, 1, 0, 0, 0], (3, 1)), rtol=1e-6)
    np.testing.assert_allclose(states["articulations"]["panda"][:, 13:22], qpos[:, :9], rtol=1e-6)
    np.testing.assert_allclose(states["actors"]["cube"][:, 7:10], np.tile([0.1, 0.2, 0.3], (3, 1)), rtol=1e-6)
    yaw = 2 * np.arctan2(qpos[:, 15], qpos[:, 12])
    # The cube turns about its own x axis, which the yaw turns in the world.
    np.testing.assert_allclose(states["actors"]["cube"][:, 10:], np.stack([np.cos(yaw), np.sin(yaw), 0 * yaw], axis=1), atol=1e-6)
