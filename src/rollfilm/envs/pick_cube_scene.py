"""The model of pick-cube: Menagerie's Panda on a table, a cube and a goal, built at run time."""

from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from rollfilm.envs.robots import robot_folder
from rollfilm.errors import ModelError, RobotNotFoundError
from rollfilm.geometry import look_at_quat_wxyz

__all__ = ["CUBE_HALF_SIZE_M", "GOAL_RADIUS_M", "GRIPPER_RANGE_M", "ROBOT_BASE", "build_pick_cube_model"]

#: ManiSkill's PickCube-v1: half the edge of the cube, the radius of the goal, and where the robot stands.
CUBE_HALF_SIZE_M = 0.02
GOAL_RADIUS_M = 0.025
ROBOT_BASE = (-0.615, 0.0, 0.0)

#: ManiSkill's gripper: newtons a metre, and the finger positions of its actions -1 and 1. Below zero, so that closed fingers press.
GRIPPER_STIFFNESS = 1000.0
GRIPPER_RANGE_M = (-0.01, 0.04)

_TABLE_HEIGHT_M = 0.75
_TABLE_HALF_SIZE_M = (0.55, 0.45, 0.02)
_TABLE_CENTER = (-0.27, 0.0)


def build_pick_cube_model(robot_path: str | Path | None = None, physics_frequency_hz: int = 500) -> mujoco.MjModel:
    """Menagerie's Panda and what pick-cube needs around it. The table's top is z = 0, as in ManiSkill.

    Joints, meshes and the arm's actuators are Menagerie's; the gripper's gains are ManiSkill's. Gravity of the arm is compensated, as
    the controller of the real robot does and as ManiSkill does: without it a controller that adds to measured positions would sink.

    Raises:
        RobotNotFoundError: no Panda is found.
        ModelError: it does not compile.
    """
    folder = robot_folder("franka_emika_panda", robot_path)
    file = folder / "panda.xml"
    if not file.is_file():
        raise RobotNotFoundError(f"{str(folder)!r} holds no panda.xml; name the folder franka_emika_panda of a MuJoCo Menagerie checkout")
    try:
        spec = mujoco.MjSpec.from_file(str(file))
        _prepare_robot(spec, physics_frequency_hz)
        _add_looks(spec)
        _add_floor_and_table(spec)
        _add_lights(spec)
        _add_cube_and_goal(spec)
        _add_cameras(spec)
        return spec.compile()
    except (ValueError, KeyError) as error:
        raise ModelError(f"MuJoCo cannot build pick-cube around {str(file)!r}: {' '.join(str(error).split())}") from error


def _prepare_robot(spec: Any, physics_frequency_hz: int) -> None:
    spec.modelname = "pick-cube"
    spec.option.timestep = 1.0 / physics_frequency_hz
    # Elliptic cones with a high impedance ratio keep a held object from creeping out of the fingers.
    spec.option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    spec.option.impratio = 10
    for key in list(spec.keys):
        spec.delete(key)
    for light in list(spec.lights):
        spec.delete(light)
    base = spec.body("link0")
    base.pos = ROBOT_BASE
    # Menagerie's gripper presses a 4 cm cube with 1 N, and fast arms lose it. ManiSkill's drive: 1000 N/m, 100 Ns/m, targets below 0.
    gripper = spec.actuator("actuator8")
    gripper.gainprm[0] = GRIPPER_STIFFNESS
    gripper.biasprm[1:3] = -GRIPPER_STIFFNESS, -0.1 * GRIPPER_STIFFNESS
    gripper.ctrlrange = GRIPPER_RANGE_M
    for body in spec.bodies:
        if body.name != "world":
            body.gravcomp = 1.0


def _add_looks(spec: Any) -> None:
    """The sky, the headlight, the view of a free camera, and what floor and table are made of."""
    spec.visual.headlight.ambient = (0.32, 0.32, 0.33)
    spec.visual.headlight.diffuse = (0.28, 0.28, 0.28)
    spec.visual.headlight.specular = (0.05, 0.05, 0.05)
    spec.visual.global_.offwidth = spec.visual.global_.offheight = 2048
    spec.visual.map.znear = 0.01
    spec.stat.center = (-0.2, 0.0, 0.2)
    spec.stat.extent = 1.2

    spec.add_texture(
        name="sky",
        type=mujoco.mjtTexture.mjTEXTURE_SKYBOX,
        builtin=mujoco.mjtBuiltin.mjBUILTIN_GRADIENT,
        rgb1=(0.86, 0.90, 0.94),
        rgb2=(0.55, 0.64, 0.73),
        width=256,
        height=1536,
    )
    spec.add_texture(
        name="floor",
        type=mujoco.mjtTexture.mjTEXTURE_2D,
        builtin=mujoco.mjtBuiltin.mjBUILTIN_CHECKER,
        rgb1=(0.60, 0.62, 0.65),
        rgb2=(0.55, 0.57, 0.60),
        width=256,
        height=256,
    )
    floor = spec.add_material(name="floor", texrepeat=(2, 2), texuniform=True, specular=0.1, shininess=0.1)
    floor.textures[mujoco.mjtTextureRole.mjTEXROLE_RGB] = "floor"
    spec.add_material(name="table_top", rgba=(0.80, 0.69, 0.55, 1), specular=0.15, shininess=0.2)
    spec.add_material(name="table_leg", rgba=(0.33, 0.35, 0.38, 1), specular=0.2, shininess=0.3)


def _add_floor_and_table(spec: Any) -> None:
    world = spec.worldbody
    world.add_geom(name="floor", type=mujoco.mjtGeom.mjGEOM_PLANE, size=(0, 0, 0.05), pos=(0, 0, -_TABLE_HEIGHT_M), material="floor")
    half_x, half_y, half_z = _TABLE_HALF_SIZE_M
    x, y = _TABLE_CENTER
    world.add_geom(name="table", type=mujoco.mjtGeom.mjGEOM_BOX, size=_TABLE_HALF_SIZE_M, pos=(x, y, -half_z), material="table_top")
    leg = (_TABLE_HEIGHT_M - 2 * half_z) / 2
    for sign_x in (-1, 1):
        for sign_y in (-1, 1):
            world.add_geom(
                type=mujoco.mjtGeom.mjGEOM_BOX,
                size=(0.03, 0.03, leg),
                pos=(x + sign_x * (half_x - 0.06), y + sign_y * (half_y - 0.06), -2 * half_z - leg),
                material="table_leg",
                contype=0,
                conaffinity=0,
            )


def _add_lights(spec: Any) -> None:
    world = spec.worldbody
    world.add_light(
        name="key",
        type=mujoco.mjtLightType.mjLIGHT_DIRECTIONAL,
        pos=(0.8, 1.0, 2.2),
        dir=(-0.45, -0.45, -1.0),
        diffuse=(0.52, 0.51, 0.49),
        specular=(0.25, 0.25, 0.25),
        castshadow=True,
    )
    world.add_light(
        name="fill",
        type=mujoco.mjtLightType.mjLIGHT_DIRECTIONAL,
        pos=(0.8, -1.0, 1.8),
        dir=(-0.5, 0.8, -0.7),
        diffuse=(0.14, 0.15, 0.17),
        specular=(0.05, 0.05, 0.05),
        castshadow=False,
    )


def _add_cube_and_goal(spec: Any) -> None:
    spec.add_material(name="cube", rgba=(0.86, 0.13, 0.11, 1), specular=0.3, shininess=0.4)
    spec.add_material(name="goal", rgba=(0.12, 0.78, 0.25, 1), specular=0.3, shininess=0.4, emission=0.15)
    cube = spec.worldbody.add_body(name="cube", pos=(0, 0, CUBE_HALF_SIZE_M))
    cube.add_freejoint(name="cube")
    cube.add_geom(
        name="cube",
        type=mujoco.mjtGeom.mjGEOM_BOX,
        size=(CUBE_HALF_SIZE_M,) * 3,
        material="cube",
        density=1000.0,
        # As stiff as the time step allows: the arm starts each control step with a jerk, and softer contacts let the cube slide a
        # millimetre each time.
        solref=(2.5 * spec.option.timestep, 1.0),
        solimp=(0.98, 0.99, 0.001, 0.5, 2.0),
        priority=1,
    )
    goal = spec.worldbody.add_body(name="goal_site", mocap=True, pos=(0, 0, 0.2))
    goal.add_geom(
        name="goal_site", type=mujoco.mjtGeom.mjGEOM_SPHERE, size=(GOAL_RADIUS_M, 0, 0), material="goal", contype=0, conaffinity=0
    )
    for finger in ("left_finger", "right_finger"):
        spec.add_sensor(
            name=f"{finger}_on_cube",
            type=mujoco.mjtSensor.mjSENS_CONTACT,
            objtype=mujoco.mjtObj.mjOBJ_BODY,
            objname=finger,
            reftype=mujoco.mjtObj.mjOBJ_BODY,
            refname="cube",
            # The net force in world axes (the sensor's reduction 3), one slot.
            intprm=(1 << int(mujoco.mjtConDataField.mjCONDATA_FORCE), 3, 1),
        )


def _add_cameras(spec: Any) -> None:
    eye, target = np.array((0.72, 0.95, 0.62)), np.array((-0.27, 0.0, 0.29))
    spec.worldbody.add_camera(name="front", pos=eye, quat=look_at_quat_wxyz(eye, target), fovy=38.0)
    eye, target = np.array((0.095, 0.0, 0.02)), np.array((0.015, 0.0, 0.13))
    spec.body("hand").add_camera(name="wrist", pos=eye, quat=look_at_quat_wxyz(eye, target, up=(1.0, 0.0, 0.0)), fovy=75.0)
