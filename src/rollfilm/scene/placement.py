"""How cameras and lights hang on bodies."""

from dataclasses import dataclass
from enum import Enum

__all__ = ["Follow", "Placement"]


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
    """

    body: int = 0
    position: tuple[float, float, float] = (0.0, 0.0, 0.0)
    quat_wxyz: tuple[float, float, float, float] = (1.0, 0.0, 0.0, 0.0)
    follow: Follow = Follow.FIXED
    target: int = -1
