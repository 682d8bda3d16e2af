"""Pick-cube: grasp a 4 cm cube on the table and hold it at a goal in the air.

Numbers and definitions are those of ManiSkill 3's PickCube-v1 (``mani_skill/envs/tasks/tabletop/pick_cube.py`` and ``pick_cube_cfgs.py``,
``utils/scene_builder/table/scene_builder.py`` for where the arm begins).
"""

from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rollfilm.engines.protocol import EngineState
from rollfilm.envs.controllers import CONTROL_MODES, Controller, EEDeltaPose, JointDeltaPos
from rollfilm.envs.kinematics import SerialChain
from rollfilm.envs.pick_cube_looks import pick_cube_looks
from rollfilm.envs.pick_cube_scene import CUBE_HALF_SIZE_M, GRIPPER_RANGE_M, ROBOT_BASE, build_pick_cube_model
from rollfilm.envs.task import InitialState, Observation
from rollfilm.geometry import quat_rotate

__all__ = ["PickCube"]

SPAWN_HALF_SIZE_M = 0.1
MAX_GOAL_HEIGHT_M = 0.3
GOAL_THRESHOLD_M = 0.025
STATIC_SPEED_RAD_S = 0.2
START_QPOS = (0.0, np.pi / 8, 0.0, -np.pi * 5 / 8, 0.0, np.pi * 3 / 4, np.pi / 4, 0.04, 0.04)
START_NOISE_RAD = 0.02
#: The tool centre point in the hand's frame, metres: ManiSkill's link panda_hand_tcp.
TCP_OFFSET = (0.0, 0.0, 0.1034)
GRASP_FORCE_N = 0.5
GRASP_ANGLE_RAD = np.deg2rad(85.0)

_ARM = tuple(f"joint{i}" for i in range(1, 8))
_ROBOT_QPOS = slice(0, 9)
_CUBE_QPOS = slice(9, 16)
_CUBE_QVEL = slice(9, 15)


class PickCube:
    """See the module. The base of the robot is at (-0.615, 0, 0); the table's top is z = 0."""

    name = "pick-cube"
    instruction = "pick up the cube and hold it at the goal"
    env_id = "rollfilm/PickCube-v0"
    max_episode_steps = 100
    control_modes = CONTROL_MODES
    max_reward = 5.0
    looks = staticmethod(pick_cube_looks)

    def __init__(self, *, robot_path: str | Path | None = None, physics_frequency_hz: int = 500):
        self.model = build_pick_cube_model(robot_path, physics_frequency_hz)
        self._hand, self._cube, self._goal, self._left, self._right = (
            int(self.model.body(name).id) for name in ("hand", "cube", "goal_site", "left_finger", "right_finger")
        )
        actuators = self.model.actuator_ctrlrange
        self._ctrl_low, self._ctrl_high = actuators[:, 0].copy(), actuators[:, 1].copy()

    @cached_property
    def arm(self) -> SerialChain:
        """The seven joints, with the tool centre point as the tip."""
        return SerialChain.from_model(self.model, _ARM, "hand", TCP_OFFSET)

    @cached_property
    def _controllers(self) -> dict[str, Controller]:
        return {"pd_joint_delta_pos": JointDeltaPos(self.arm, GRIPPER_RANGE_M), "pd_ee_delta_pose": EEDeltaPose(self.arm, GRIPPER_RANGE_M)}

    def action_size(self, control_mode: str) -> int:
        """8 for ``pd_joint_delta_pos``, 7 for ``pd_ee_delta_pose``."""
        return self._controllers[control_mode].action_size

    def initial_state(self, rng: np.random.Generator) -> InitialState:
        """The arm near its start, the cube anywhere in 20 x 20 cm at any yaw, the goal above the same square, up to 32 cm high."""
        robot = np.array(START_QPOS)
        robot[:7] += rng.normal(0.0, START_NOISE_RAD, 7)
        cube_xy = rng.uniform(-SPAWN_HALF_SIZE_M, SPAWN_HALF_SIZE_M, 2)
        yaw = rng.uniform(0.0, 2.0 * np.pi)
        goal_xy = rng.uniform(-SPAWN_HALF_SIZE_M, SPAWN_HALF_SIZE_M, 2)
        goal_z = CUBE_HALF_SIZE_M + rng.uniform(0.0, MAX_GOAL_HEIGHT_M)
        cube = [*cube_xy, CUBE_HALF_SIZE_M, np.cos(0.5 * yaw), 0.0, 0.0, np.sin(0.5 * yaw)]
        return InitialState(
            qpos=np.concatenate([robot, cube]),
            qvel=np.zeros(15),
            mocap_position=np.array([[*goal_xy, goal_z]]),
            mocap_quat_wxyz=np.array([[1.0, 0.0, 0.0, 0.0]]),
        )

    def control(self, control_mode: str, actions: NDArray[np.float64], state: EngineState) -> NDArray[np.float64]:
        """Joint targets in radians and the finger target in metres, (B, 8)."""
        arm, fingers = self._controllers[control_mode].targets(actions, state.qpos[:, :7])
        control = np.concatenate([arm, fingers[:, None]], axis=-1)
        return np.clip(control, self._ctrl_low, self._ctrl_high)

    def evaluate(self, state: EngineState) -> dict[str, NDArray]:
        """``success``, ``is_obj_placed``, ``is_robot_static``, ``is_grasped``, each bool (B,)."""
        distance = np.linalg.norm(self._goal_position(state) - state.qpos[:, _CUBE_QPOS][:, :3], axis=-1)
        placed = distance <= GOAL_THRESHOLD_M
        static = np.abs(state.qvel[:, :7]).max(axis=-1) <= STATIC_SPEED_RAD_S
        return {"success": placed & static, "is_obj_placed": placed, "is_robot_static": static, "is_grasped": self._is_grasped(state)}

    def observe(self, state: EngineState, facts: dict[str, NDArray], *, privileged: bool) -> Observation:
        """ManiSkill's layout and order; see docs/pick-cube.md for the 42 numbers."""
        tcp, hand_quat = self._tcp_position(state), state.body_quat_wxyz[:, self._hand]
        cube, goal = state.qpos[:, _CUBE_QPOS], self._goal_position(state)
        extra = {"is_grasped": facts["is_grasped"], "tcp_pose": np.concatenate([tcp, hand_quat], axis=-1), "goal_pos": goal}
        if privileged:
            extra |= {"obj_pose": cube, "tcp_to_obj_pos": cube[:, :3] - tcp, "obj_to_goal_pos": goal - cube[:, :3]}
        agent = {"qpos": state.qpos[:, _ROBOT_QPOS], "qvel": state.qvel[:, _ROBOT_QPOS]}
        as_float = {name: value.astype(np.float32) for name, value in extra.items() if name != "is_grasped"}
        return {
            "agent": {name: value.astype(np.float32) for name, value in agent.items()},
            "extra": {"is_grasped": facts["is_grasped"].astype(np.float32)[:, None], **as_float},
        }

    def dense_reward(self, state: EngineState, facts: dict[str, NDArray]) -> NDArray[np.float64]:
        """Reach (to 1), grasp (1), carry (to 1) and come to rest (to 1) at the goal; 5 on success."""
        cube = state.qpos[:, _CUBE_QPOS][:, :3]
        to_cube = np.linalg.norm(cube - self._tcp_position(state), axis=-1)
        to_goal = np.linalg.norm(self._goal_position(state) - cube, axis=-1)
        speed = np.linalg.norm(state.qvel[:, :7], axis=-1)
        reward = 1.0 - np.tanh(5.0 * to_cube)
        reward += facts["is_grasped"] * (2.0 - np.tanh(5.0 * to_goal))
        reward += facts["is_obj_placed"] * (1.0 - np.tanh(5.0 * speed))
        return np.where(facts["success"], self.max_reward, reward)

    def env_states(self, state: EngineState) -> dict[str, dict[str, NDArray[np.float32]]]:
        """``cube`` and ``goal_site`` (B, 13), ``panda`` (B, 31); the table is static and left out, as in ManiSkill."""
        batch = len(state.qpos)
        pose, velocity = state.qpos[:, _CUBE_QPOS], state.qvel[:, _CUBE_QVEL]
        # MuJoCo's free joint has its angular velocity in the body's frame.
        cube = np.concatenate([pose, velocity[:, :3], quat_rotate(pose[:, 3:], velocity[:, 3:])], axis=-1)
        goal = np.concatenate([self._goal_position(state), state.body_quat_wxyz[:, self._goal], np.zeros((batch, 6))], axis=-1)
        root = np.tile(np.array([*ROBOT_BASE, 1.0, *[0.0] * 9]), (batch, 1))
        panda = np.concatenate([root, state.qpos[:, _ROBOT_QPOS], state.qvel[:, _ROBOT_QPOS]], axis=-1)
        return {
            "actors": {"cube": cube.astype(np.float32), "goal_site": goal.astype(np.float32)},
            "articulations": {"panda": panda.astype(np.float32)},
        }

    def _goal_position(self, state: EngineState) -> NDArray:
        return state.body_position[:, self._goal]

    def _tcp_position(self, state: EngineState) -> NDArray:
        return state.body_position[:, self._hand] + quat_rotate(state.body_quat_wxyz[:, self._hand], np.array(TCP_OFFSET))

    def _is_grasped(self, state: EngineState) -> NDArray[np.bool_]:
        # Both fingers feel the cube push them open, within 85 degrees of the direction in which they open.
        grasped = np.ones(len(state.qpos), dtype=np.bool_)
        for slot, finger in enumerate((self._left, self._right)):
            force = state.sensors[:, 3 * slot : 3 * slot + 3] * _FORCE_ON_FINGER
            opening = quat_rotate(state.body_quat_wxyz[:, finger], np.array([0.0, 1.0, 0.0]))
            strength = np.linalg.norm(force, axis=-1)
            along = np.sum(force * opening, axis=-1)
            grasped &= (strength >= GRASP_FORCE_N) & (along >= np.cos(GRASP_ANGLE_RAD) * strength)
        return grasped


#: MuJoCo's sensor gives the force that the finger exerts on the cube.
_FORCE_ON_FINGER = -1.0
