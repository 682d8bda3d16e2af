"""Inverse kinematics of an arm by mink, one world after the other, each from its own last solution."""

from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from rollfilm.errors import MissingExtraError

__all__ = ["ArmIK"]

_SOLVER = "daqp"


class ArmIK:
    """Solves for the joint angles that bring a body of an arm to a pose.

    Args:
        model: the model of the arm; what else it holds stays where it is.
        num_joints: J; the arm's are the first of the model's joints.
        body: the name of the body to bring to the pose.

    Raises:
        MissingExtraError: mink or its solver is not installed.
    """

    def __init__(self, model: mujoco.MjModel, num_joints: int, body: str):
        try:
            import daqp  # noqa: F401
            import mink
        except ImportError as error:
            raise MissingExtraError(
                f"inverse kinematics needs mink and daqp, and {error.name} is not installed: pip install 'rollfilm[robots]'"
            ) from error
        self._mink = mink
        self._num_joints = num_joints
        self._configuration = mink.Configuration(model)
        self._task = mink.FrameTask(body, "body", position_cost=10.0, orientation_cost=1.0)
        frozen = list(range(num_joints, model.nv))
        self._constraints = [mink.DofFreezingTask(model, dof_indices=frozen)] if frozen else None
        self._limits = [mink.ConfigurationLimit(model)]

    def solve(self, angles: NDArray[np.float64], position: Any, quat_wxyz: Any, *, iterations: int = 2) -> NDArray[np.float64]:
        """Angles (J,) nearer to the pose, from ``angles`` (J,); ``position`` (3,) metres and ``quat_wxyz`` (4,), world frame."""
        target = self._mink.SE3(np.concatenate([quat_wxyz, position]))
        self._task.set_target(target)
        q = self._configuration.model.qpos0.copy()
        q[: self._num_joints] = angles
        self._configuration.update(q)
        for _ in range(iterations):
            try:
                velocity = self._mink.solve_ik(
                    self._configuration, [self._task], 1.0, _SOLVER, damping=1e-3, limits=self._limits, constraints=self._constraints
                )
            except self._mink.NoSolutionFound:
                # Between limits that contradict each other for a moment: as near as it got.
                break
            self._configuration.integrate_inplace(velocity, 1.0)
        return self._configuration.q[: self._num_joints].copy()
