"""Forward and inverse kinematics of a serial arm, for all worlds at once."""

from dataclasses import dataclass

import mujoco
import numpy as np
from numpy.typing import NDArray

from rollfilm.errors import ModelError
from rollfilm.geometry import quat_conjugate, quat_multiply, quat_rotate

__all__ = ["SerialChain"]

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class SerialChain:
    """Hinges in a row, from a base fixed in the world to a tip.

    Attributes:
        position, quat_wxyz: (J, 3) metres and (J, 4), the frame of each link in its parent's at angle 0; the first in the world's.
        axis: (J, 3), the hinge's axis in its link's frame, through its origin.
        lower, upper: (J,) radians.
        tip_position, tip_quat_wxyz: (3,) and (4,), the tip in the last link's frame.
    """

    position: Array
    quat_wxyz: Array
    axis: Array
    lower: Array
    upper: Array
    tip_position: Array
    tip_quat_wxyz: Array

    @classmethod
    def from_model(
        cls, model: mujoco.MjModel, joints: tuple[str, ...], tip_body: str, tip_offset: tuple[float, float, float]
    ) -> "SerialChain":
        """The chain of ``joints`` (base first, one a body) of a model, with its tip at ``tip_offset`` in the frame of ``tip_body``.

        Raises:
            ModelError: the bodies between base and tip move by other joints than these.
        """
        bodies = [int(model.joint(name).bodyid[0]) for name in joints]
        offsets = [_offset(model, body, stop) for body, stop in zip(bodies, [0, *bodies[:-1]], strict=True)]
        tip = int(model.body(tip_body).id)
        position, quat = _offset(model, tip, bodies[-1], count_own_joints=True)
        ids = [int(model.joint(name).id) for name in joints]
        return cls(
            position=np.array([offset[0] for offset in offsets]),
            quat_wxyz=np.array([offset[1] for offset in offsets]),
            axis=model.jnt_axis[ids].copy(),
            lower=model.jnt_range[ids, 0].copy(),
            upper=model.jnt_range[ids, 1].copy(),
            tip_position=position + quat_rotate(quat, np.array(tip_offset)),
            tip_quat_wxyz=quat,
        )

    def forward(self, angles: Array) -> tuple[Array, Array, Array]:
        """Tip position (B, 3), tip rotation (B, 4) wxyz and the geometric Jacobian (B, 6, J), linear rows first, of angles (B, J)."""
        batch, joints = angles.shape
        position, quat = np.zeros((batch, 3)), np.tile(np.array([1.0, 0.0, 0.0, 0.0]), (batch, 1))
        origins, axes = np.empty((batch, joints, 3)), np.empty((batch, joints, 3))
        for j in range(joints):
            position = position + quat_rotate(quat, self.position[j])
            quat = quat_multiply(quat, self.quat_wxyz[j])
            origins[:, j], axes[:, j] = position, quat_rotate(quat, self.axis[j])
            half = 0.5 * angles[:, j, None]
            quat = quat_multiply(quat, np.concatenate([np.cos(half), np.sin(half) * self.axis[j]], axis=-1))
        position = position + quat_rotate(quat, self.tip_position)
        # Columns of the Jacobian: a hinge moves the tip by its axis crossed with the arm from it.
        linear = np.cross(axes, position[:, None] - origins)
        return position, quat_multiply(quat, self.tip_quat_wxyz), np.concatenate([linear, axes], axis=-1).swapaxes(1, 2)

    def inverse(self, position: Array, quat_wxyz: Array, start: Array, *, iterations: int = 4) -> Array:
        """Angles (B, J) that bring the tip near ``position`` (B, 3) and ``quat_wxyz`` (B, 4), from ``start`` (B, J).

        Levenberg-Marquardt with the damping of Sugihara, "Solvability-unconcerned inverse kinematics by the Levenberg-Marquardt method"
        (2011): half the squared error and a little more, so that steps stay small where the arm is stretched or folded. Within the
        joint limits. Meant for targets near the start; it gets as near as the iterations allow.
        """
        angles = start.copy()
        for _ in range(iterations):
            tip_position, tip_quat, jacobian = self.forward(angles)
            error = np.concatenate([position - tip_position, _rotation_vector(quat_multiply(quat_wxyz, quat_conjugate(tip_quat)))], axis=-1)
            damping = 0.5 * np.sum(error * error, axis=-1)[:, None, None] + 1e-5
            gram = jacobian @ jacobian.swapaxes(1, 2) + damping * np.eye(6)
            step = jacobian.swapaxes(1, 2) @ np.linalg.solve(gram, error[..., None])
            angles = np.clip(angles + step[..., 0], self.lower, self.upper)
        return angles


def _rotation_vector(quat_wxyz: Array) -> Array:
    quat = np.where(quat_wxyz[..., :1] < 0, -quat_wxyz, quat_wxyz)
    sine = np.linalg.norm(quat[..., 1:], axis=-1, keepdims=True)
    angle = 2.0 * np.arctan2(sine, quat[..., :1])
    return quat[..., 1:] * np.where(sine > 1e-9, angle / np.maximum(sine, 1e-9), 2.0)


def _offset(model: mujoco.MjModel, body: int, stop: int, *, count_own_joints: bool = False) -> tuple[Array, Array]:
    """The frame of ``body`` in that of its ancestor ``stop``, at angle 0."""
    position, quat = np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0])
    current = body
    while current != stop:
        allowed = 1 if current == body and not count_own_joints else 0
        if current == 0 or model.body_jntnum[current] > allowed:
            raise ModelError(f"the body {model.body(body).name!r} does not follow {model.body(stop).name!r} by the named joints alone")
        position = model.body_pos[current] + quat_rotate(model.body_quat[current], position)
        quat = quat_multiply(model.body_quat[current], quat)
        current = int(model.body_parentid[current])
    return position, quat / np.linalg.norm(quat)
