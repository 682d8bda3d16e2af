"""A scripted expert for pick-cube: above the cube, down, grasp, up, to the goal, hold still."""

from enum import IntEnum
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rollfilm.errors import InvalidArgumentError
from rollfilm.geometry import quat_conjugate, quat_multiply
from rollfilm.policies.arm_ik import ArmIK

if TYPE_CHECKING:
    from rollfilm.envs.vector_env import TaskVectorEnv

__all__ = ["PickCubeExpert"]

Array = NDArray[np.float64]

_HOVER_M = 0.07
_CARRY_HEIGHT_M = 0.06
#: The arm covers 40 % of a commanded delta within a control step; asking for more than the rest of the way makes up for that.
_GAIN = 2.0
_DELTA = 0.1
#: Full actions are fast enough to look hasty: the largest joint delta, and the largest shift along an axis, as actions.
_MAX_TURN, _MAX_SHIFT = 0.6, 0.35
_TCP_FROM_HAND_M = 0.1034
#: Control steps for which the fingers press before the arm lifts, and after which a grasp that did not come is given up.
_CLOSE_STEPS, _GIVE_UP_STEPS = 3, 15


class Phase(IntEnum):
    """What a world is at."""

    APPROACH = 0
    DESCEND = 1
    CLOSE = 2
    CARRY = 3


class PickCubeExpert:
    """Acts in all worlds of a pick-cube environment, in both control modes; each world has a phase of its own.

    Args:
        env: the environment that it acts in.

    Raises:
        MissingExtraError: mink or daqp is not installed and ``env`` is controlled by joints.
    """

    def __init__(self, env: "TaskVectorEnv"):
        self._env = env
        self._ik = ArmIK(env.task.model, 7, "hand") if env.control_mode == "pd_joint_delta_pos" else None
        batch = env.num_envs
        self.phase = np.zeros(batch, dtype=np.int64)
        self._steps_in_phase = np.zeros(batch, dtype=np.int64)
        self._yaw = np.zeros(batch)
        self._angles = np.full((batch, 7), np.nan)

    def reset(self, world_mask: NDArray | None = None) -> None:
        """New episodes begin in the masked worlds, all if None."""
        mask = np.ones(len(self.phase), dtype=np.bool_) if world_mask is None else np.asarray(world_mask, dtype=np.bool_)
        self.phase[mask] = Phase.APPROACH
        self._steps_in_phase[mask] = 0
        self._angles[mask] = np.nan

    def __call__(self, observation: Any) -> NDArray[np.float32]:
        """Actions (B, A) for the flat state observation (B, 42); other observations are read from the environment instead."""
        if self._env.obs_mode != "state":
            observation = self._env.state_vector()
        state = np.asarray(observation, dtype=np.float64)
        if state.shape != (len(self.phase), 42):
            raise InvalidArgumentError(
                f"the observation has shape {state.shape}; the expert of {len(self.phase)} worlds takes ({len(self.phase)}, 42)"
            )
        self._advance(state)
        position, quat = self._target(state)
        arm = _pose_deltas(position, quat, state) if self._ik is None else self._joint_deltas(position, quat, state)
        gripper = np.where(self.phase >= Phase.CLOSE, -1.0, 1.0)[:, None]
        return np.concatenate([arm, gripper], axis=-1).astype(np.float32)

    def _advance(self, state: Array) -> None:
        tcp, cube, grasped = state[:, 19:22], state[:, 29:32], state[:, 18] > 0.5
        across = np.linalg.norm(cube[:, :2] - tcp[:, :2], axis=-1)
        turn = np.abs(_wrap(_yaw(state[:, 22:26]) - self._yaw, np.pi))
        waited = self._steps_in_phase
        near = tcp[:, 2] < cube[:, 2] + _HOVER_M + 0.03
        above = (self.phase == Phase.APPROACH) & (across < 0.012) & (turn < 0.08) & near & (waited > 0)
        down = (self.phase == Phase.DESCEND) & (np.linalg.norm(cube - tcp, axis=-1) < 0.008)
        closed = (self.phase == Phase.CLOSE) & grasped & (waited >= _CLOSE_STEPS)
        missed = (self.phase == Phase.CLOSE) & (waited >= _GIVE_UP_STEPS) | (self.phase == Phase.DESCEND) & (waited >= 2 * _GIVE_UP_STEPS)
        lost = (self.phase == Phase.CARRY) & ~grasped & (waited >= 2) & (np.linalg.norm(cube - tcp, axis=-1) > 0.03)
        self._steps_in_phase += 1
        for mask, phase in ((above, Phase.DESCEND), (down, Phase.CLOSE), (closed, Phase.CARRY), (missed | lost, Phase.APPROACH)):
            self.phase[mask], self._steps_in_phase[mask] = phase, 0

    def _target(self, state: Array) -> tuple[Array, Array]:
        """Where the tool centre point shall be, (B, 3), and how the hand shall be turned, (B, 4)."""
        tcp, cube, goal = state[:, 19:22], state[:, 29:32], state[:, 26:29]
        free = self.phase <= Phase.APPROACH
        # A cube looks the same every quarter turn: the turn nearest to the arm's start.
        self._yaw[free] = _wrap(_yaw(state[:, 32:36]), np.pi / 2)[free]
        position = cube.copy()
        position[free, 2] += _HOVER_M
        away = np.linalg.norm((goal - cube)[:, :2], axis=-1)
        carried_to = goal.copy()
        # Not along the table: first up, then across, then down.
        carried_to[:, 2] = np.where(away > 0.02, np.maximum(goal[:, 2], _CARRY_HEIGHT_M), goal[:, 2])
        carried_to[:, :2] = np.where((cube[:, 2] < 0.03)[:, None] & (away > 0.02)[:, None], cube[:, :2], carried_to[:, :2])
        carrying = self.phase == Phase.CARRY
        position[carrying] = (tcp + carried_to - cube)[carrying]
        half = 0.5 * self._yaw
        zero = np.zeros_like(half)
        # The hand looks down: turned half way round x, then by the yaw about z.
        return position, quat_multiply(np.stack([np.cos(half), zero, zero, np.sin(half)], axis=-1), np.array([0.0, 1.0, 0.0, 0.0]))

    def _joint_deltas(self, position: Array, quat: Array, state: Array) -> Array:
        assert self._ik is not None
        measured = state[:, :7]
        hand = position + np.array([0.0, 0.0, _TCP_FROM_HAND_M])
        for world in np.flatnonzero(~self._env.has_ended):
            start = self._angles[world] if np.isfinite(self._angles[world]).all() else measured[world]
            self._angles[world] = self._ik.solve(start, hand[world], quat[world])
        wanted = np.where(np.isfinite(self._angles), self._angles, measured)
        deltas = _GAIN * (wanted - measured) / _DELTA
        # All joints slowed alike keep the path straight.
        return deltas / np.maximum(np.abs(deltas).max(axis=-1, keepdims=True) / _MAX_TURN, 1.0)


def _pose_deltas(position: Array, quat: Array, state: Array) -> Array:
    shift = _GAIN * (position - state[:, 19:22]) / _DELTA
    shift /= np.maximum(np.abs(shift).max(axis=-1, keepdims=True) / _MAX_SHIFT, 1.0)
    error = quat_multiply(quat, quat_conjugate(state[:, 22:26]))
    error = np.where(error[:, :1] < 0, -error, error)
    # Twice the vector part is the turn, for the small turns that are left after the first steps.
    turn = _GAIN * 2.0 * error[:, 1:] / _DELTA
    return np.concatenate([shift, turn / np.maximum(np.linalg.norm(turn, axis=-1, keepdims=True), 1.0)], axis=-1)


def _yaw(quat_wxyz: Array) -> Array:
    w, x, y, z = quat_wxyz.T
    return np.arctan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))


def _wrap(angle: Array, period: float) -> Array:
    """The same angle plus a multiple of the period, within half a period of 0."""
    return (angle + 0.5 * period) % period - 0.5 * period
