"""What a model must hold to be drawn at all."""

# MuJoCo ships no types for what its binding exports.
# pyright: reportAttributeAccessIssue=false

import mujoco
import numpy as np

from rollfilm.errors import ModelError

__all__ = ["check_numbers"]

#: MuJoCo's mjMAXVAL, beyond which it takes a position for diverged; squares of it are far inside of float32.
_HUGE = 1e10

_PLACES = {
    "body": (mujoco.mjtObj.mjOBJ_BODY, ("pos", "quat", "ipos", "mass")),
    "geom": (mujoco.mjtObj.mjOBJ_GEOM, ("pos", "quat", "size", "rgba")),
    "site": (mujoco.mjtObj.mjOBJ_SITE, ("pos", "quat", "size", "rgba")),
    "tendon": (mujoco.mjtObj.mjOBJ_TENDON, ("width", "rgba")),
    "flex": (mujoco.mjtObj.mjOBJ_FLEX, ("radius", "rgba")),
    "skin": (mujoco.mjtObj.mjOBJ_SKIN, ("inflate", "rgba")),
    "cam": (mujoco.mjtObj.mjOBJ_CAMERA, ("pos", "quat", "fovy")),
    "light": (mujoco.mjtObj.mjOBJ_LIGHT, ("pos", "dir", "ambient", "diffuse", "specular", "attenuation", "cutoff", "exponent")),
    "mat": (mujoco.mjtObj.mjOBJ_MATERIAL, ("rgba", "emission", "specular", "shininess", "texrepeat")),
}


def check_numbers(model: mujoco.MjModel) -> None:
    """Make sure that all that places and shapes what is drawn is a number: MuJoCo compiles NaN and 1e30 without a word.

    Raises:
        ModelError: something is not finite or beyond 1e10; the message names it.
    """
    for prefix, (kind, fields) in _PLACES.items():
        for field in fields:
            values = np.asarray(getattr(model, f"{prefix}_{field}"), np.float64)
            rows = values[:, None] if values.ndim == 1 else values
            if (bad := np.flatnonzero(~(np.abs(rows) <= _HUGE).all(axis=1))).size:
                name = mujoco.mj_id2name(model, kind, int(bad[0])) or f"number {bad[0]}"
                raise _refused(f"{field} of {prefix} {name!r}", rows[bad[0]])
    for what, values in (
        ("vertices of meshes", model.mesh_vert),
        ("sizes of height fields", model.hfield_size),
        ("vertices of flexes", model.flex_vert),
        ("vertices of skins", model.skin_vert),
        ("weights of skins", model.skin_bonevertweight),
        ("bones of skins", np.concatenate([model.skin_bonebindpos.reshape(-1), model.skin_bonebindquat.reshape(-1)])),
        ("center and extent of <statistic>", np.array([*model.stat.center, model.stat.extent])),
        ("znear, zfar and fovy of <visual>", np.array([model.vis.map.znear, model.vis.map.zfar, model.vis.global_.fovy])),
    ):
        values = np.asarray(values, np.float64).reshape(-1)
        if bad := np.flatnonzero(~(np.abs(values) <= _HUGE)).tolist():
            raise _refused(what, values[bad[:1]])


def _refused(what: str, values: np.ndarray) -> ModelError:
    shown = " ".join(f"{value:g}" for value in values)
    return ModelError(f"the model cannot be drawn: {what}: {shown}; give numbers between -1e10 and 1e10")
