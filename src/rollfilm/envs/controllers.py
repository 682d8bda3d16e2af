"""What an action means: the controllers of the Panda, under ManiSkill's names and with ManiSkill's limits.

Facts from ManiSkill 3 (``mani_skill/agents/robots/panda/panda.py``, ``agents/controllers/pd_joint_pos.py`` and ``pd_ee_pose.py``). Both
modes add to the *measured* joint angles or pose at the start of the control step (``use_target=False`` there). One difference: in
``pd_ee_delta_pose`` ManiSkill scales the rotation by its lower bound, -0.1, and so turns against the sign of the action; here a positive
component turns by the right hand about the axis.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from rollfilm.envs.kinematics import SerialChain
from rollfilm.geometry import quat_multiply

__all__ = ["CONTROL_MODES", "Controller", "EEDeltaPose", "JointDeltaPos"]

Array = NDArray[np.float64]

CONTROL_MODES = ("pd_joint_delta_pos", "pd_ee_delta_pose")

#: A full action moves a joint's target by this, radians, and the hand's by this, metres and radians.
DELTA = 0.1


class Controller(Protocol):
    """Turns normalised actions into the targets of joints and gripper."""

    @property
    def action_size(self) -> int:
        """A, the number of components of an action."""
        ...

    def targets(self, actions: Array, joint_position: Array) -> tuple[Array, Array]:
        """Arm targets (B, J) radians and finger targets (B,) metres, of actions (B, A) in [-1, 1] and measured angles (B, J)."""
        ...


def _gripper_target(action: Array, limits: tuple[float, float]) -> Array:
    """Finger targets (B,) of the gripper's actions (B,), absolute: -1 closes, 1 opens."""
    return limits[0] + 0.5 * (action + 1.0) * (limits[1] - limits[0])


@dataclass(frozen=True, eq=False)
class JointDeltaPos:
    """``pd_joint_delta_pos``: J joint deltas of at most 0.1 rad, and the gripper."""

    chain: SerialChain
    gripper_range_m: tuple[float, float]

    @property
    def action_size(self) -> int:
        """A, one a joint and the gripper."""
        return len(self.chain.lower) + 1

    def targets(self, actions: Array, joint_position: Array) -> tuple[Array, Array]:
        """See :class:`Controller`."""
        target = np.clip(joint_position + DELTA * actions[:, :-1], self.chain.lower, self.chain.upper)
        return target, _gripper_target(actions[:, -1], self.gripper_range_m)


@dataclass(frozen=True, eq=False)
class EEDeltaPose:
    """``pd_ee_delta_pose``: a shift and a turn of the tool centre point, both along the base's axes, and the gripper.

    The shift is at most 0.1 m an axis. The turn (XYZ Euler angles, ManiSkill's) is at most 0.1 rad in all: longer ones are shortened.
    """

    chain: SerialChain
    gripper_range_m: tuple[float, float]
    action_size: int = 7

    def targets(self, actions: Array, joint_position: Array) -> tuple[Array, Array]:
        """See :class:`Controller`."""
        turn = actions[:, 3:6] / np.maximum(np.linalg.norm(actions[:, 3:6], axis=-1, keepdims=True), 1.0)
        position, quat, _ = self.chain.forward(joint_position)
        target = self.chain.inverse(position + DELTA * actions[:, :3], quat_multiply(_quat_from_euler(DELTA * turn), quat), joint_position)
        return target, _gripper_target(actions[:, 6], self.gripper_range_m)


def _quat_from_euler(angles: Array) -> Array:
    """Quaternions (B, 4) of rotations about x, then the turned y, then the turned z: Rx Ry Rz, angles (B, 3) in radians."""
    quats = np.zeros((3, len(angles), 4))
    for axis in range(3):
        quats[axis, :, 0] = np.cos(0.5 * angles[:, axis])
        quats[axis, :, 1 + axis] = np.sin(0.5 * angles[:, axis])
    return quat_multiply(quat_multiply(quats[0], quats[1]), quats[2])
