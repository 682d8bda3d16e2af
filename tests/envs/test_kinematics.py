"""The arm's kinematics against MuJoCo's."""

import mujoco
import numpy as np
import pytest

from rollfilm.envs.kinematics import SerialChain
from rollfilm.errors import ModelError
from rollfilm.geometry import quat_multiply

ARM = """
<mujoco>
  <compiler angle="radian"/>
  <worldbody>
    <body name="base" pos=".1 .2 .3" quat=".9 .1 -.2 .1">
      <body name="a" pos="0 0 .2"><joint name="j0" axis="0 0 1" range="-2 2"/><geom size=".02"/>
        <body name="b" pos=".1 0 .1" quat=".7 .7 0 0"><joint name="j1" axis="0 1 0" range="-2 2"/><geom size=".02"/>
          <body name="c" pos="0 .3 0"><joint name="j2" axis="1 0 0" range="-2 2"/><geom size=".02"/>
            <body name="d" pos="0 .1 .2"><joint name="j3" axis="0 0 1" range="-2 2"/><geom size=".02"/>
              <body name="e" pos=".1 0 .1"><joint name="j4" axis="0 1 0" range="-2 2"/><geom size=".02"/>
                <body name="f" pos="0 0 .2"><joint name="j5" axis="1 0 0" range="-2 2"/><geom size=".02"/>
                  <body name="tool" pos=".02 0 .1" quat=".9 0 0 .4"><geom size=".01"/></body>
                </body></body></body></body></body></body>
    </body>
  </worldbody>
</mujoco>
"""
JOINTS = tuple(f"j{i}" for i in range(6))
OFFSET = (0.01, 0.02, 0.1)


@pytest.fixture
def model():
    return mujoco.MjModel.from_xml_string(ARM)


@pytest.fixture
def chain(model):
    return SerialChain.from_model(model, JOINTS, "tool", OFFSET)


def test_forward_and_jacobian_are_mujocos(model, chain):
    angles = np.random.default_rng(0).uniform(-1.5, 1.5, (5, 6))
    position, quat, jacobian = chain.forward(angles)
    for world in range(5):
        data = mujoco.MjData(model)
        data.qpos[:] = angles[world]
        mujoco.mj_forward(model, data)
        tool = data.body("tool")
        tip = tool.xpos + tool.xmat.reshape(3, 3) @ OFFSET
        linear, angular = np.zeros((3, 6)), np.zeros((3, 6))
        mujoco.mj_jac(model, data, linear, angular, tip, tool.id)
        np.testing.assert_allclose(position[world], tip, atol=1e-12)
        assert abs(np.dot(quat[world], tool.xquat)) == pytest.approx(1.0, abs=1e-12)
        np.testing.assert_allclose(jacobian[world], np.vstack([linear, angular]), atol=1e-12)


def test_inverse_reaches_what_is_near(chain):
    start = np.random.default_rng(1).uniform(-0.8, 0.8, (20, 6))
    position, quat, _ = chain.forward(start)
    turn = np.array([np.cos(0.05), np.sin(0.05), 0.0, 0.0])
    target_position, target_quat = position + np.array([0.02, -0.03, 0.02]), quat_multiply(turn, quat)
    reached, turned, _ = chain.forward(chain.inverse(target_position, target_quat, start, iterations=20))
    assert np.median(np.linalg.norm(reached - target_position, axis=-1)) < 1e-6
    assert np.median(1 - np.abs(np.sum(turned * target_quat, axis=-1))) < 1e-9


def test_inverse_keeps_the_limits(chain):
    start = np.full((1, 6), 1.9)
    position, quat, _ = chain.forward(start)
    angles = chain.inverse(position + 5.0, quat, start, iterations=10)
    assert (np.abs(angles) <= 2.0 + 1e-12).all()


def test_a_joint_left_out_is_an_error(model):
    with pytest.raises(ModelError, match="named joints alone"):
        SerialChain.from_model(model, JOINTS[:4] + JOINTS[5:], "tool", OFFSET)
