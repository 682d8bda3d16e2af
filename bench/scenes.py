"""What the benchmarks film: a robot of Menagerie on its floor with a cube, every world in a pose of its own."""

from dataclasses import dataclass
from pathlib import Path

import mujoco
import numpy as np

from rollfilm.geometry import look_at_quat_wxyz

JOINT_OFFSET_RAD = 0.15
CUBE_OFFSET_M = 0.1


@dataclass(frozen=True)
class Robot:
    """A robot, and where the cameras are: ``front`` and, as in a mirror, ``side`` in the world, ``own`` on one of its bodies."""

    folder: str
    keyframe: str
    eye: tuple[float, float, float]
    target: tuple[float, float, float]
    own_body: str
    own_eye: tuple[float, float, float]
    own_target: tuple[float, float, float]
    cube: tuple[float, float, float]


CAMERAS = ("front", "own", "side")

ROBOTS = {
    "panda": Robot("franka_emika_panda", "home", (1.5, 0.8, 0.9), (0.25, 0, 0.3), "hand", (0.07, 0, 0), (0.05, 0, 0.2), (0.5, 0, 0.02)),
    "g1": Robot("unitree_g1", "stand", (1.9, 1.0, 1.2), (0, 0, 0.7), "torso_link", (0.1, 0, 0.45), (0.6, 0, 0.1), (0.6, 0, 0.02)),
}


def find_model(robot: Robot, menagerie: Path | None) -> Path:
    """The scene file of a robot: below ``menagerie``, or where rollfilm finds its robots."""
    if menagerie is not None:
        return menagerie / robot.folder / "scene.xml"
    from rollfilm.envs.robots import robot_folder

    return robot_folder(robot.folder) / "scene.xml"


def build_model(
    name: str, menagerie: Path | None, offscreen: int, *, shadows: bool = False, samples: int = 1
) -> tuple[mujoco.MjModel, np.ndarray]:
    """The model, and the generalised positions (nq,) of its first world.

    Shadows and anti-aliasing are off in the model unless asked for, for every renderer alike.

    Args:
        name: key of ROBOTS.
        menagerie: folder of MuJoCo Menagerie, None for the installed one.
        offscreen: the largest side of a picture, pixels.
        shadows: leave the model's shadow maps as they are.
        samples: of a pixel.
    """
    robot = ROBOTS[name]
    spec = mujoco.MjSpec.from_file(str(find_model(robot, menagerie)))
    pose = np.array(spec.key(robot.keyframe).qpos)
    for key in list(spec.keys):
        spec.delete(key)  # they know nothing of the cube
    spec.visual.quality.offsamples = samples if samples > 1 else 0
    if not shadows:
        spec.visual.quality.shadowsize = 0
    spec.visual.global_.offwidth = spec.visual.global_.offheight = offscreen
    cube = spec.worldbody.add_body(name="cube", pos=robot.cube)
    cube.add_freejoint()
    cube.add_geom(type=mujoco.mjtGeom.mjGEOM_BOX, size=[0.02] * 3, rgba=[0.9, 0.2, 0.1, 1])
    spec.worldbody.add_camera(name="front", pos=robot.eye, quat=look_at_quat_wxyz(robot.eye, robot.target), fovy=45)
    side = (robot.eye[0], -robot.eye[1], robot.eye[2])
    spec.worldbody.add_camera(name="side", pos=side, quat=look_at_quat_wxyz(side, robot.target), fovy=45)
    own_quat = look_at_quat_wxyz(robot.own_eye, robot.own_target)
    spec.body(robot.own_body).add_camera(name="own", pos=robot.own_eye, quat=own_quat, fovy=70)
    return spec.compile(), np.concatenate([pose, robot.cube, [1, 0, 0, 0]])


@dataclass(frozen=True, eq=False)
class WorldPoses:
    """Where everything is in B worlds, as MuJoCo computed it; each renderer takes what it needs."""

    body_position: np.ndarray
    body_quat_wxyz: np.ndarray
    geom_xpos: np.ndarray
    geom_xmat: np.ndarray
    cam_xpos: np.ndarray
    cam_xmat: np.ndarray
    light_xpos: np.ndarray
    light_xdir: np.ndarray
    qpos: np.ndarray


def place_worlds(model: mujoco.MjModel, qpos: np.ndarray, num_worlds: int, seed: int) -> WorldPoses:
    """Small random joint offsets within the limits, and a cube moved and turned, for each world."""
    random = np.random.default_rng(seed)
    worlds = np.tile(qpos, (num_worlds, 1))
    for joint in range(model.njnt):
        address = model.jnt_qposadr[joint]
        if model.jnt_type[joint] == mujoco.mjtJoint.mjJNT_HINGE:
            worlds[:, address] += random.uniform(-JOINT_OFFSET_RAD, JOINT_OFFSET_RAD, num_worlds)
            if model.jnt_limited[joint]:
                worlds[:, address] = worlds[:, address].clip(*model.jnt_range[joint])
    yaw = random.uniform(-np.pi, np.pi, num_worlds)
    worlds[:, -7:-5] += random.uniform(-CUBE_OFFSET_M, CUBE_OFFSET_M, (num_worlds, 2))
    worlds[:, -4], worlds[:, -1] = np.cos(yaw / 2), np.sin(yaw / 2)
    data = mujoco.MjData(model)
    names = ("xpos", "xquat", "geom_xpos", "geom_xmat", "cam_xpos", "cam_xmat", "light_xpos", "light_xdir")
    columns: dict[str, list[np.ndarray]] = {name: [] for name in names}
    for row in worlds:
        place(model, data, row)
        for name in names:
            columns[name].append(getattr(data, name).astype(np.float32))
    return WorldPoses(*(np.stack(columns[name]) for name in names), worlds)


def place(model: mujoco.MjModel, data: mujoco.MjData, qpos: np.ndarray) -> None:
    """Put one world into ``qpos``: bodies, geoms, cameras and lights."""
    data.qpos[:] = qpos
    mujoco.mj_kinematics(model, data)
    mujoco.mj_comPos(model, data)
    mujoco.mj_camlight(model, data)
