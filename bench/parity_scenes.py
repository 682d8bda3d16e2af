"""The scenes of the parity suite: robots of MuJoCo Menagerie on their own floor, with a table, a textured box and a height field."""

# MuJoCo ships no types for what its binding exports.
# pyright: reportAttributeAccessIssue=false

from dataclasses import dataclass
from pathlib import Path

import mujoco
import numpy as np

from rollfilm.envs.robots import robot_folder
from rollfilm.geometry import look_at_quat_wxyz

__all__ = ["CAMERA", "SCENES", "ParityScene", "build_scene"]

#: The name of the camera that frames the robot.
CAMERA = "parity"
FOV_Y_DEG = 45.0


@dataclass(frozen=True)
class ParityScene:
    """A scene file of Menagerie.

    Attributes:
        name: for tables and files.
        kind: arm, hand, quadruped or humanoid.
        folder, file: where it is in Menagerie.
        closer: the camera comes nearer by this factor, where bounds are loose.
    """

    name: str
    kind: str
    folder: str
    file: str = "scene.xml"
    closer: float = 1.0


#: All scene files of those models of Menagerie that the data wheels on PyPI hold.
SCENES = (
    ParityScene("panda", "arm", "franka_emika_panda"),
    ParityScene("panda-mjx", "arm", "franka_emika_panda", "mjx_scene.xml"),
    ParityScene("panda-cube", "arm", "franka_emika_panda", "mjx_single_cube.xml"),
    ParityScene("aloha", "arm", "aloha"),
    ParityScene("robotiq-2f85", "hand", "robotiq_2f85_v4"),
    ParityScene("leap-right", "hand", "leap_hand", "scene_right.xml"),
    ParityScene("leap-left", "hand", "leap_hand", "scene_left.xml"),
    ParityScene("aero-hand", "hand", "tetheria_aero_hand_open", "scene_right.xml"),
    ParityScene("spot", "quadruped", "boston_dynamics_spot"),
    ParityScene("spot-arm", "quadruped", "boston_dynamics_spot", "scene_arm.xml"),
    ParityScene("barkour", "quadruped", "google_barkour_vb"),
    ParityScene("barkour-mjx", "quadruped", "google_barkour_vb", "scene_mjx.xml"),
    ParityScene("barkour-hills", "quadruped", "google_barkour_vb", "scene_hfield_mjx.xml"),
    ParityScene("go1", "quadruped", "unitree_go1"),
    ParityScene("apollo", "humanoid", "apptronik_apollo"),
    ParityScene("berkeley", "humanoid", "berkeley_humanoid"),
    ParityScene("t1", "humanoid", "booster_t1"),
    ParityScene("op3", "humanoid", "robotis_op3"),
    ParityScene("g1", "humanoid", "unitree_g1"),
    ParityScene("g1-mjx", "humanoid", "unitree_g1", "scene_mjx.xml"),
    ParityScene("g1-hands", "humanoid", "unitree_g1", "scene_with_hands.xml"),
    ParityScene("h1", "humanoid", "unitree_h1"),
)


def build_scene(scene: ParityScene, menagerie: Path | None = None, offscreen: int = 480) -> tuple[mujoco.MjModel, mujoco.MjData]:
    """The model with what was added to it, and its state: the first keyframe, else the pose that the model starts in.

    Args:
        scene: which.
        menagerie: folder of MuJoCo Menagerie, None for where rollfilm finds its robots.
        offscreen: the largest side of a picture, pixels.

    Raises:
        RobotNotFoundError: Menagerie's model is not installed.
    """
    path = robot_folder(scene.folder, menagerie) / scene.file
    low, high = _bounds(*_posed(mujoco.MjModel.from_xml_path(str(path))))
    spec = mujoco.MjSpec.from_file(str(path))
    look = spec.visual.global_
    turn, tilt = np.deg2rad(float(look.azimuth)), np.deg2rad(float(look.elevation))
    forward = np.array([np.cos(tilt) * np.cos(turn), np.cos(tilt) * np.sin(turn), np.sin(tilt)])
    _furnish(spec, low, high, forward)
    middle, radius = 0.5 * (low + high), 0.5 * float(np.linalg.norm(high - low))
    distance = 1.25 * radius / np.sin(0.5 * np.deg2rad(FOV_Y_DEG)) / scene.closer
    eye = middle - distance * forward
    spec.worldbody.add_camera(name=CAMERA, pos=eye, quat=look_at_quat_wxyz(eye, middle), fovy=FOV_Y_DEG)
    look.offwidth = look.offheight = max(offscreen, int(look.offwidth), int(look.offheight))
    return _posed(spec.compile())


def _posed(model: mujoco.MjModel) -> tuple[mujoco.MjModel, mujoco.MjData]:
    data = mujoco.MjData(model)
    if model.nkey:
        mujoco.mj_resetDataKeyframe(model, data, 0)
    mujoco.mj_forward(model, data)
    return model, data


def _bounds(model: mujoco.MjModel, data: mujoco.MjData) -> tuple[np.ndarray, np.ndarray]:
    """The box (3,), (3,) around everything visible but the ground."""
    low, high = np.full(3, np.inf), np.full(3, -np.inf)
    for geom in range(model.ngeom):
        if int(model.geom_type[geom]) in (mujoco.mjtGeom.mjGEOM_PLANE, mujoco.mjtGeom.mjGEOM_HFIELD) or model.geom_group[geom] > 2:
            continue
        center, half = model.geom_aabb[geom, :3], model.geom_aabb[geom, 3:]
        rotation = data.geom_xmat[geom].reshape(3, 3)
        middle, reach = data.geom_xpos[geom] + rotation @ center, np.abs(rotation) @ half
        low, high = np.minimum(low, middle - reach), np.maximum(high, middle + reach)
    return low, high


def _furnish(spec: mujoco.MjSpec, low: np.ndarray, high: np.ndarray, forward: np.ndarray) -> None:
    """Add a table with a textured box behind the robot to the right, and a height field to the left."""
    floor = next((float(g.pos[2]) for g in spec.worldbody.geoms if g.type == mujoco.mjtGeom.mjGEOM_PLANE), 0.0)
    size = 0.5 * float(np.linalg.norm(high - low))
    ahead = np.array([forward[0], forward[1], 0.0]) / np.hypot(forward[0], forward[1])
    right = np.cross(ahead, [0.0, 0.0, 1.0])
    middle = np.array([0.5 * (low[0] + high[0]), 0.5 * (low[1] + high[1]), floor])
    turned = [np.cos(0.3), 0.0, 0.0, np.sin(0.3)]

    spec.add_texture(
        name="parity_faces", type=mujoco.mjtTexture.mjTEXTURE_CUBE, builtin=mujoco.mjtBuiltin.mjBUILTIN_CHECKER,
        mark=mujoco.mjtMark.mjMARK_EDGE, rgb1=[0.8, 0.5, 0.2], rgb2=[0.3, 0.6, 0.8], markrgb=[1, 1, 1], width=64, height=384,
    )  # fmt: skip
    spec.add_texture(
        name="parity_squares", type=mujoco.mjtTexture.mjTEXTURE_2D, builtin=mujoco.mjtBuiltin.mjBUILTIN_CHECKER,
        rgb1=[0.3, 0.5, 0.3], rgb2=[0.4, 0.6, 0.35], width=64, height=64,
    )  # fmt: skip
    for name, texture in (("parity_faces", "parity_faces"), ("parity_hills", "parity_squares")):
        textures = [""] * int(mujoco.mjtTextureRole.mjNTEXROLE)
        textures[mujoco.mjtTextureRole.mjTEXROLE_RGB] = texture
        spec.add_material(name=name, textures=textures, texrepeat=[2, 2])
    spec.add_material(name="parity_wood", rgba=[0.55, 0.4, 0.28, 1], specular=0.3, shininess=0.4)

    table = middle + 0.9 * size * right + 0.8 * size * ahead
    top = 0.5 * size
    board, leg = np.array([0.45, 0.35, 0.025]) * size, np.array([0.03 * size, 0.5 * (top - 0.025 * size)])
    spec.worldbody.add_geom(
        name="parity_table",
        type=mujoco.mjtGeom.mjGEOM_BOX,
        size=board,
        pos=table + np.array([0, 0, top]),
        quat=turned,
        material="parity_wood",
    )
    spin = np.array([[np.cos(0.6), -np.sin(0.6)], [np.sin(0.6), np.cos(0.6)]])
    for x in (-1, 1):
        for y in (-1, 1):
            foot = spin @ (np.array([x * 0.4, y * 0.3]) * size)
            spec.worldbody.add_geom(
                type=mujoco.mjtGeom.mjGEOM_CYLINDER, size=[*leg, 0], pos=table + np.array([*foot, leg[1]]), material="parity_wood"
            )
    box = 0.14 * size
    spec.worldbody.add_geom(
        name="parity_box", type=mujoco.mjtGeom.mjGEOM_BOX, size=[box] * 3, pos=table + np.array([0, 0, top + 0.025 * size + box]),
        quat=[np.cos(0.55), 0, 0, np.sin(0.55)], material="parity_faces",
    )  # fmt: skip

    rows, columns = np.mgrid[0:25, 0:31]
    hills = 0.5 + 0.5 * np.sin(0.55 * rows) * np.cos(0.4 * columns + 0.1 * rows)
    spec.add_hfield(name="parity_hills", nrow=25, ncol=31, size=[0.6 * size, 0.45 * size, 0.25 * size, 0.05 * size], userdata=hills.ravel())
    spec.worldbody.add_geom(
        name="parity_hills", type=mujoco.mjtGeom.mjGEOM_HFIELD, hfieldname="parity_hills", material="parity_hills",
        pos=middle - 0.9 * size * right + 0.8 * size * ahead + [0, 0, 0.06 * size],
    )  # fmt: skip
