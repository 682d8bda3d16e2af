"""Lights and cameras of MuJoCo models."""

# MuJoCo ships no types for what its binding exports.
# pyright: reportAttributeAccessIssue=false

import math
from typing import Literal

import mujoco
import numpy as np
from numpy.typing import NDArray

from rollfilm import geometry
from rollfilm.scene.camera import Camera
from rollfilm.scene.light import Headlight, Light
from rollfilm.scene.mujoco_missing import Missing
from rollfilm.scene.mujoco_values import vector3, vector4
from rollfilm.scene.placement import Follow, Placement

__all__ = ["model_cameras", "model_headlight", "model_lights"]

_FOLLOW = {
    int(mujoco.mjtCamLight.mjCAMLIGHT_FIXED): Follow.FIXED,
    int(mujoco.mjtCamLight.mjCAMLIGHT_TRACK): Follow.TRACK,
    int(mujoco.mjtCamLight.mjCAMLIGHT_TRACKCOM): Follow.TRACK_COM,
    int(mujoco.mjtCamLight.mjCAMLIGHT_TARGETBODY): Follow.TARGET_BODY,
    int(mujoco.mjtCamLight.mjCAMLIGHT_TARGETBODYCOM): Follow.TARGET_BODY_COM,
}

_KINDS: dict[int, Literal["directional", "spot", "point"]] = {
    int(mujoco.mjtLightType.mjLIGHT_DIRECTIONAL): "directional",
    int(mujoco.mjtLightType.mjLIGHT_SPOT): "spot",
    int(mujoco.mjtLightType.mjLIGHT_POINT): "point",
}

#: What MuJoCo's renderer adds to everything where no light at all is on (``initLights`` in render_gl3.c).
_AMBIENT_WITHOUT_LIGHTS = (0.3, 0.3, 0.3)


def model_headlight(model: mujoco.MjModel, lights: tuple[Light, ...]) -> Headlight | None:
    """The headlight if it is on. Where nothing shines at all, the ambient light that MuJoCo's renderer puts in its place."""
    headlight = model.vis.headlight
    if headlight.active:
        return Headlight(vector3(headlight.ambient), vector3(headlight.diffuse), vector3(headlight.specular))
    if lights:
        return None
    return Headlight(ambient=_AMBIENT_WITHOUT_LIGHTS, diffuse=(0.0, 0.0, 0.0), specular=(0.0, 0.0, 0.0))


def model_lights(model: mujoco.MjModel, warnings: list[str], missing: Missing) -> tuple[Light, ...]:
    """The lights that are on. Kinds that a Phong model cannot express add a warning, or are ``missing``."""
    lights = []
    for i in range(model.nlight):
        if not model.light_active[i]:
            continue
        name = model.light(i).name
        kind = int(model.light_type[i])
        if kind == mujoco.mjtLightType.mjLIGHT_IMAGE:
            missing.add(f"light {name!r}" if name else f"light {i}", "image lights do not shine")
            continue
        if kind == mujoco.mjtLightType.mjLIGHT_POINT:
            warnings.append(f"light {name or i} is a point light: it shines to all sides, where MuJoCo's own renderer leaves it dark")
        # OpenGL takes cones of up to 90 degrees to each side, or none
        cone = float(model.light_cutoff[i]) if kind == mujoco.mjtLightType.mjLIGHT_SPOT else 180.0
        lights.append(
            Light(
                name=name,
                kind=_KINDS[kind],
                placement=_light_placement(model, i),
                ambient=vector3(model.light_ambient[i]),
                diffuse=vector3(model.light_diffuse[i]),
                specular=vector3(model.light_specular[i]),
                attenuation=vector3(model.light_attenuation[i]),
                cutoff_rad=math.radians(cone) if cone <= 90.0 else math.pi,
                exponent=float(model.light_exponent[i]),
                cast_shadow=bool(model.light_castshadow[i]),
            )
        )
    return tuple(lights)


def model_cameras(model: mujoco.MjModel) -> tuple[Camera, ...]:
    """Every camera; those without a name are called ``camera_<id>``."""
    return tuple(_camera(model, i, model.camera(i).name or f"camera_{i}") for i in range(model.ncam))


def _camera(model: mujoco.MjModel, i: int, name: str) -> Camera:
    placement = _camera_placement(model, i)
    columns, rows = (int(x) for x in model.cam_resolution[i])
    # 1 x 1 stands for a model that does not say
    size = (rows, columns) if rows > 1 and columns > 1 else (None, None)
    if model.cam_projection[i] == mujoco.mjtProjection.mjPROJ_ORTHOGRAPHIC:
        return Camera(name, placement, height=size[0], width=size[1], extent_y_m=float(model.cam_fovy[i]))
    sensor_x, sensor_y = (float(x) for x in model.cam_sensorsize[i])
    if not (sensor_x > 0 and sensor_y > 0):
        return Camera(name, placement, math.radians(float(model.cam_fovy[i])), *size)
    # lengths on the sensor, the principal point from its middle: to the right and down, where MuJoCo moves the picture's middle
    focal_x, focal_y, center_x, center_y = (float(x) for x in model.cam_intrinsic[i])
    return Camera(
        name,
        placement,
        height=rows,
        width=columns,
        fx=focal_x / sensor_x * columns,
        fy=focal_y / sensor_y * rows,
        cx=(0.5 - center_x / sensor_x) * columns,
        cy=(0.5 - center_y / sensor_y) * rows,
    )


def _camera_placement(model: mujoco.MjModel, i: int) -> Placement:
    follow = _FOLLOW[int(model.cam_mode[i])]
    quat = geometry.quat_from_matrix(model.cam_mat0[i].reshape(3, 3)) if follow in (Follow.TRACK, Follow.TRACK_COM) else model.cam_quat[i]
    position = {Follow.TRACK: model.cam_pos0, Follow.TRACK_COM: model.cam_poscom0}.get(follow, model.cam_pos)[i]
    return _placement(follow, int(model.cam_bodyid[i]), int(model.cam_targetbodyid[i]), position, quat)


def _light_placement(model: mujoco.MjModel, i: int) -> Placement:
    follow = _FOLLOW[int(model.light_mode[i])]
    direction = (model.light_dir0 if follow in (Follow.TRACK, Follow.TRACK_COM) else model.light_dir)[i]
    position = {Follow.TRACK: model.light_pos0, Follow.TRACK_COM: model.light_poscom0}.get(follow, model.light_pos)[i]
    quat = geometry.look_at_quat_wxyz(np.zeros(3), direction)
    return _placement(follow, int(model.light_bodyid[i]), int(model.light_targetbodyid[i]), position, quat)


def _placement(follow: Follow, body: int, target: int, position: NDArray, quat: NDArray) -> Placement:
    if follow in (Follow.TARGET_BODY, Follow.TARGET_BODY_COM) and target < 0:
        follow = Follow.FIXED
    return Placement(
        body=body,
        position=vector3(position),
        quat_wxyz=vector4(quat),
        follow=follow,
        target=target if follow in (Follow.TARGET_BODY, Follow.TARGET_BODY_COM) else -1,
    )
