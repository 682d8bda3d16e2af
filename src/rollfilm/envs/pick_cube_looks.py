"""What of pick-cube may look different from episode to episode. The cube stays reddish, the goal greenish: a policy can tell them."""

from collections.abc import Sequence

from rollfilm.render.randomize import CameraRange, GeomRange, HeadlightRange, LightRange, LooksConfig

__all__ = ["pick_cube_looks"]

_GEOMS = (
    GeomRange(geoms=("cube",), rgba=((0.5, 0.0, 0.0), (1.0, 0.25, 0.25))),
    GeomRange(geoms=("goal_site",), rgba=((0.0, 0.5, 0.1), (0.3, 1.0, 0.4))),
    GeomRange(geoms=("floor",), textures=("floor", ""), rgba=((0.3, 0.3, 0.3), (1.0, 1.0, 1.0))),
    GeomRange(materials=("table_top",), rgba=((0.2, 0.2, 0.2), (0.9, 0.8, 0.7)), together=True),
    GeomRange(materials=("table_leg",), rgba=((0.1, 0.1, 0.1), (0.7, 0.7, 0.7)), together=True),
)
_LIGHTS = (
    LightRange(("key",), direction=((-1.0, -1.0, -1.5), (1.0, 1.0, -1.0)), diffuse=((0.2, 0.2, 0.2), (0.8, 0.8, 0.8))),
    LightRange(("fill",), diffuse=((0.0, 0.0, 0.0), (0.3, 0.3, 0.3)), off=0.2),
)
_CAMERAS = {
    "front": CameraRange(("front",), offset_m=((-0.08, -0.08, -0.08), (0.08, 0.08, 0.08)), turn_rad=0.05),
    # on the hand it is known to a few millimetres
    "wrist": CameraRange(("wrist",), offset_m=((-0.005, -0.005, -0.005), (0.005, 0.005, 0.005)), turn_rad=0.02),
}
_HEADLIGHT = HeadlightRange(ambient=((0.15, 0.15, 0.15), (0.45, 0.45, 0.45)), diffuse=((0.0, 0.0, 0.0), (0.4, 0.4, 0.4)))


def pick_cube_looks(filmed: Sequence[str]) -> LooksConfig:
    """Colours of cube, goal, floor and table, the lights, and where those of its cameras are that are ``filmed``."""
    cameras = tuple(part for name, part in _CAMERAS.items() if name in filmed)
    return LooksConfig(geoms=_GEOMS, lights=_LIGHTS, cameras=cameras, headlight=_HEADLIGHT)
