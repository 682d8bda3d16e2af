"""How cameras and lights hang on bodies."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rollfilm import geometry
from rollfilm.arguments import numbers_of, require_integer
from rollfilm.errors import InvalidArgumentError

if TYPE_CHECKING:
    from rollfilm.scene.scene import Bodies

__all__ = ["Follow", "Placement", "subtree_center_of_mass", "world_pose"]


#: How far the length of a rotation may be from 1.
_UNIT_SLACK = 1e-3


class Follow(Enum):
    """MuJoCo's modes of cameras and lights (``mjtCamLight``)."""

    FIXED = "fixed"
    """moves with its body as if welded to it"""
    TRACK = "track"
    """keeps a constant offset, in world axes, from its body's frame, and a constant world orientation"""
    TRACK_COM = "trackcom"
    """the same, from the centre of mass of the body's subtree"""
    TARGET_BODY = "targetbody"
    """at a fixed place on its body, turned to the frame of the target body"""
    TARGET_BODY_COM = "targetbodycom"
    """the same, turned to the centre of mass of the target body's subtree"""


@dataclass(frozen=True)
class Placement:
    """Where a camera or a light is.

    Attributes:
        body: index of the body it hangs on, 0 for the world.
        position: (3,) metres. In the body's frame for FIXED and the TARGET modes; for the TRACK modes the offset in world axes from
            the body's frame, or from the centre of mass of its subtree.
        quat_wxyz: (4,) rotation of its axes (OpenGL camera axes; a light shines along -z): in the body's frame for FIXED, in the
            world's for the TRACK modes, without meaning for the TARGET modes.
        follow: the mode.
        target: index of the target body in the TARGET modes, else -1.

    Raises:
        InvalidArgumentError: a number that is not finite, a rotation that is none, or an index below 0.
    """

    body: int = 0
    position: tuple[float, float, float] = (0.0, 0.0, 0.0)
    quat_wxyz: tuple[float, float, float, float] = (1.0, 0.0, 0.0, 0.0)
    follow: Follow = Follow.FIXED
    target: int = -1

    def __post_init__(self) -> None:
        position, quat = numbers_of(self.position), numbers_of(self.quat_wxyz)
        if position is None or len(position) != 3:
            raise InvalidArgumentError(f"position of a placement is {self.position!r}; give x, y and z in metres, finite numbers")
        if quat is None or len(quat) != 4 or not 1 - _UNIT_SLACK <= math.sqrt(sum(part * part for part in quat)) <= 1 + _UNIT_SLACK:
            raise InvalidArgumentError(f"quat_wxyz of a placement is {self.quat_wxyz!r}; give a quaternion w, x, y, z of length 1")
        if not isinstance(self.follow, Follow):
            raise InvalidArgumentError(
                f"follow of a placement is {self.follow!r}; choose from {', '.join(f'Follow.{f.name}' for f in Follow)}"
            )
        object.__setattr__(self, "body", require_integer(self.body, "body of a placement", lowest=0))
        aims = self.follow in (Follow.TARGET_BODY, Follow.TARGET_BODY_COM)
        object.__setattr__(self, "target", require_integer(self.target, "target of a placement", lowest=0 if aims else -1))


def world_pose(placement: Placement, bodies: Bodies, position: ArrayLike, quat_wxyz: ArrayLike) -> tuple[NDArray, NDArray]:
    """Where a camera or a light is in the world: what ``mj_camlight`` in MuJoCo's engine_core_smooth.c computes.

    Args:
        placement: how it hangs on its body.
        bodies: of its scene.
        position: (B, bodies, 3), metres, world frame.
        quat_wxyz: (B, bodies, 4), unit, world from body.

    Returns:
        Position (B, 3) and rotation (B, 4) of its axes, float64.
    """
    body_position = np.asarray(position, dtype=np.float64)
    body_quat = np.asarray(quat_wxyz, dtype=np.float64)
    offset, turn = np.asarray(placement.position), np.asarray(placement.quat_wxyz)
    here, there = body_position[:, placement.body], body_position[:, placement.target]
    match placement.follow:
        case Follow.TRACK:
            return here + offset, np.broadcast_to(turn, (len(here), 4)).copy()
        case Follow.TRACK_COM:
            center = subtree_center_of_mass(bodies, placement.body, body_position, body_quat)
            return center + offset, np.broadcast_to(turn, (len(here), 4)).copy()
    eye = here + geometry.quat_rotate(body_quat[:, placement.body], offset)
    match placement.follow:
        case Follow.TARGET_BODY:
            return eye, geometry.look_at_quat_wxyz(eye, there)
        case Follow.TARGET_BODY_COM:
            return eye, geometry.look_at_quat_wxyz(eye, subtree_center_of_mass(bodies, placement.target, body_position, body_quat))
    return eye, geometry.quat_multiply(body_quat[:, placement.body], turn)


def subtree_center_of_mass(bodies: Bodies, body: int, position: NDArray, quat_wxyz: NDArray) -> NDArray[np.float64]:
    """The centre of mass (B, 3) of a body and all that hang on it; that of the body alone where they weigh nothing."""
    member = np.zeros(len(bodies.parent), dtype=bool)
    member[body] = True
    # parents come before their children
    for child in range(body + 1, len(member)):
        member[child] |= bool(member[bodies.parent[child]])
    centers = position[:, member] + geometry.quat_rotate(quat_wxyz[:, member], bodies.center_of_mass[member])
    mass = bodies.mass[member].astype(np.float64)
    if mass.sum() <= 0:
        return centers[:, 0]
    return np.einsum("n,bni->bi", mass / mass.sum(), centers)
