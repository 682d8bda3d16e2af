"""The paths of tendons around geoms, which follow from more than the poses of bodies."""

# MuJoCo ships no types for what its binding exports.
# pyright: reportAttributeAccessIssue=false

import math

import mujoco
import numpy as np
from numpy.typing import NDArray

__all__ = ["num_path_points", "path_points", "path_slots"]

_SPHERE, _CYLINDER = int(mujoco.mjtWrap.mjWRAP_SPHERE), int(mujoco.mjtWrap.mjWRAP_CYLINDER)

#: Points on the arc around a geom.
_ARC = 12


def path_slots(model: mujoco.MjModel) -> dict[int, NDArray[np.int64]]:
    """The numbers of the path points of each tendon that runs around a geom: as many as its path can have."""
    slots, count = {}, 0
    for tendon in range(model.ntendon):
        first, entries = int(model.tendon_adr[tendon]), int(model.tendon_num[tendon])
        around = int(np.isin(model.wrap_type[first : first + entries], (_SPHERE, _CYLINDER)).sum())
        if around:
            slots[tendon] = count + np.arange(entries - around + _ARC * around)
            count += len(slots[tendon])
    return slots


def num_path_points(model: mujoco.MjModel) -> int:
    """Q, how many path points there are in all."""
    return sum(len(slots) for slots in path_slots(model).values())


def path_points(model: mujoco.MjModel, data: mujoco.MjData, slots: dict[int, NDArray[np.int64]] | None = None) -> NDArray[np.float32]:
    """Path points of a state: float32 (Q, 4), a place in the world, metres, and the share of its width that a tendon has from there on.

    That is 1, or 0 where a pulley parts the path and behind its end: points that a path does not need repeat its last. Around a geom the
    path is the arc that MuJoCo 4.0 draws: a circle's on a sphere, a helix on a cylinder.
    """
    slots = path_slots(model) if slots is None else slots
    points = np.zeros((sum(len(own) for own in slots.values()), 4), np.float32)
    places, geoms = data.wrap_xpos.reshape(-1, 3), data.wrap_obj.reshape(-1)
    for tendon, own in slots.items():
        start = int(data.ten_wrapadr[tendon])
        end = start + int(data.ten_wrapnum[tendon])
        path: list[tuple[float, float, float, float]] = []
        for k in range(start, end):
            last = k == end - 1 or geoms[k] == -2 or geoms[k + 1] == -2
            path.append((*places[k], 0.0 if last else 1.0))
            if k > start and not last and geoms[k] >= 0 and geoms[k + 1] == geoms[k]:
                arc = _arc(model, data, int(geoms[k]), places[k - 1], places[k], places[k + 1])
                path += [(*point, 1.0) for point in arc]
        if path:
            path = (path + [(*path[-1][:3], 0.0)] * len(own))[: len(own)]
            points[own] = path
    return points


def _arc(model: mujoco.MjModel, data: mujoco.MjData, geom: int, before: NDArray, enter: NDArray, leave: NDArray) -> NDArray:
    """Points between the two where a path meets a geom and leaves it, in the sense in which it came."""
    center, axis = data.geom_xpos[geom], data.geom_xmat[geom].reshape(3, 3)[:, 2]
    r0, r1 = enter - center, leave - center
    rise0 = rise1 = 0.0
    if model.geom_type[geom] == mujoco.mjtGeom.mjGEOM_SPHERE:
        axis = np.cross(r0, r1)
        length = float(np.linalg.norm(axis))
        if length < 1e-12:
            return np.zeros((0, 3))
        axis = axis / length
    else:
        rise0, rise1 = float(r0 @ axis), float(r1 @ axis)
        r0, r1 = r0 - rise0 * axis, r1 - rise1 * axis
    sense = float(np.cross(r0, enter - before) @ axis)
    angle = math.atan2(float(np.cross(r0, r1) @ axis), float(r0 @ r1))
    if angle * sense < 0:
        angle += math.copysign(2.0 * math.pi, sense)
    share = np.arange(1, _ARC - 1)[:, None] / (_ARC - 1)
    turned = np.cos(share * angle) * r0 + np.sin(share * angle) * np.cross(axis, r0)
    return center + turned + (rise0 + share * (rise1 - rise0)) * axis
