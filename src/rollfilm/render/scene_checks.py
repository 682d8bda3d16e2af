"""Whether a scene holds together: kernels read what its indices name without looking."""

import math
from collections.abc import Iterable, Sequence

from rollfilm.errors import InvalidArgumentError
from rollfilm.scene import Camera, Placement, Scene

__all__ = ["require_sound"]

#: Texture coordinates beyond which their footprint leaves float32.
_FAR = 1e26

_LIGHT_KINDS = ("directional", "spot", "point")


def require_sound(scene: Scene, cameras: Sequence[Camera]) -> None:
    """Make sure that indices name what is there, and that what is placed and coloured is finite, in scenes that were made by hand.

    Raises:
        InvalidArgumentError: they do not, or it is not; the message names the geom, light or camera.
    """
    bodies = len(scene.bodies.names)
    if len(scene.bodies.parent) != bodies or len(scene.bodies.mass) != bodies or scene.bodies.center_of_mass.shape != (bodies, 3):
        raise InvalidArgumentError(f"the scene names {bodies} bodies; give as many parents, masses and centres of mass")
    for i, geom in enumerate(scene.geoms):
        what = f"geom {geom.name!r}" if geom.name else f"geom number {i}"
        _require_index(f"body of {what}", geom.body, 0, bodies, "bodies")
        _require_index(f"mesh of {what}", geom.mesh, -1, len(scene.meshes), "meshes")
        _require_index(f"texture of {what}", geom.material.texture, -1, len(scene.textures), "textures")
        finish = (geom.material.specular, geom.material.shininess, geom.material.emission, geom.material.reflectance)
        if not all(abs(number) < _FAR for number in (*geom.uv_scale, *geom.uv_offset, *geom.cube_scale, *geom.cube_cap)):
            raise InvalidArgumentError(
                f"a texture coordinate of {what} is not finite, or beyond {_FAR:g}; "
                "give uv_scale, uv_offset, cube_scale and cube_cap below that"
            )
        _require_finite(what, (*geom.position, *geom.quat_wxyz, *geom.plane_half_size, *geom.material.rgba, *finish))
    _require_index("skybox", scene.skybox, -1, len(scene.textures), "textures")
    if scene.skybox >= 0 and scene.textures[scene.skybox].kind == "2d":
        raise InvalidArgumentError(f"the skybox is texture {scene.textures[scene.skybox].name!r}, which is flat; give one of six faces")
    for i, light in enumerate(scene.lights):
        what = f"light {light.name!r}" if light.name else f"light number {i}"
        if light.kind not in _LIGHT_KINDS:
            raise InvalidArgumentError(f"{what} is of kind {light.kind!r}; choose from {', '.join(_LIGHT_KINDS)}")
        _require_placed(what, light.placement, bodies)
        colors = (*light.ambient, *light.diffuse, *light.specular)
        _require_finite(what, (*colors, *light.attenuation, light.cutoff_rad, light.exponent))
    for camera in cameras:
        _require_placed(f"camera {camera.name!r}", camera.placement, bodies)


def _require_placed(what: str, placement: Placement, bodies: int) -> None:
    _require_index(f"body of {what}", placement.body, 0, bodies, "bodies")
    _require_index(f"target of {what}", placement.target, -1, bodies, "bodies")


def _require_index(what: str, index: int, lowest: int, count: int, of: str) -> None:
    if not lowest <= index < count:
        none = ", or -1 for none" if lowest < 0 else ""
        allowed = f"an index from 0 to {count - 1}{none}" if count else "-1"
        raise InvalidArgumentError(f"{what} is {index}; the scene has {count} {of}: give {allowed}")


def _require_finite(what: str, numbers: Iterable[float]) -> None:
    if not all(math.isfinite(number) for number in numbers):
        raise InvalidArgumentError(f"a number of {what} is not finite; give its place, size, colour and finish as finite numbers")
