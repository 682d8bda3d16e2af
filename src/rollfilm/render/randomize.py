"""Looks drawn by lot: the same for the same seed, wherever and whenever it is drawn."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rollfilm.arguments import is_number, require_integer
from rollfilm.errors import InvalidArgumentError
from rollfilm.render.looks import WorldLooks
from rollfilm.render.looks_scene import LooksResolver
from rollfilm.scene import Camera, Scene, geom_names
from rollfilm.seeds import Lots

__all__ = ["CameraRange", "GeomRange", "HeadlightRange", "LightRange", "LooksConfig", "randomize"]

Vector = tuple[float, ...]
#: From, to. Each number between them is equally likely.
Range = tuple[float | Vector, float | Vector]


@dataclass(frozen=True)
class GeomRange:
    """What is drawn for some geoms, for each by itself unless ``together``.

    Attributes:
        geoms: their names (``rollfilm.scene.all_geom_names``).
        bodies, materials: all visible geoms of these bodies, of these materials.
        together: all of them get the same.
        rgba: lowest and highest colour, (3,) or with alpha (4,), 0 to 1.
        scale: smallest and largest factor: two numbers for all three axes alike, or two (3,) for each by itself.
        textures, meshes: names of those of the scene that are chosen from, each equally likely; the texture ``""`` is none,
            the mesh ``""`` its own.
        hidden: the probability that it is not drawn.

    Raises:
        InvalidArgumentError: no geom, nothing to draw, or numbers out of their range.
    """

    geoms: tuple[str, ...] = ()
    bodies: tuple[str, ...] = ()
    materials: tuple[str, ...] = ()
    together: bool = False
    rgba: Range | None = None
    scale: Range | None = None
    textures: tuple[str, ...] = ()
    meshes: tuple[str, ...] = ()
    hidden: float = 0.0

    def __post_init__(self) -> None:
        _check_names(self, "geoms", "bodies", "materials")
        _check_names(self, "textures", "meshes", may_be_empty=True)
        _check_range(self, "rgba", (3, 4), highest=1.0)
        _check_range(self, "scale", (0, 3), lowest=1e-6)
        _check_probability(self, "hidden")
        if self.hidden == 1 and (self.rgba or self.scale or self.textures or self.meshes):
            raise InvalidArgumentError("what is drawn for a geom would have no effect: hidden is 1, so that it is never seen")


@dataclass(frozen=True)
class LightRange:
    """What is drawn for each of some lights.

    Attributes:
        lights: their names (``rollfilm.scene.light_names``).
        offset_m: lowest and highest offset (3,) along the world's axes from where it is, metres; not of directional lights.
        direction: lowest and highest direction (3,) in the world's frame, made one of length 1 after it was drawn.
        ambient, diffuse, specular: lowest and highest colour (3,), 0 or more.
        off: the probability that it is off.

    Raises:
        InvalidArgumentError: no light, nothing to draw, or numbers out of their range.
    """

    lights: tuple[str, ...]
    offset_m: Range | None = None
    direction: Range | None = None
    ambient: Range | None = None
    diffuse: Range | None = None
    specular: Range | None = None
    off: float = 0.0

    def __post_init__(self) -> None:
        _check_names(self, "lights")
        for name in ("offset_m", "direction"):
            _check_range(self, name, (3,), lowest=-math.inf)
        for name in ("ambient", "diffuse", "specular"):
            _check_range(self, name, (3,))
        _check_probability(self, "off")


@dataclass(frozen=True)
class HeadlightRange:
    """What is drawn for the headlight: lowest and highest colours (3,), and the probability that it is off.

    Raises:
        InvalidArgumentError: nothing to draw, or numbers out of their range.
    """

    ambient: Range | None = None
    diffuse: Range | None = None
    specular: Range | None = None
    off: float = 0.0

    def __post_init__(self) -> None:
        for name in ("ambient", "diffuse", "specular"):
            _check_range(self, name, (3,))
        _check_probability(self, "off")


@dataclass(frozen=True)
class CameraRange:
    """What is drawn for each of some cameras.

    Attributes:
        cameras: their names.
        offset_m: lowest and highest offset (3,) along the camera's own axes (x right, y up, z backwards), metres.
        turn_rad: the largest angle that it is turned by, about an axis of any direction; each angle up to it is equally likely.
        fov_y_rad: smallest and largest vertical field of view, radians.

    Raises:
        InvalidArgumentError: no camera, nothing to draw, or numbers out of their range.
    """

    cameras: tuple[str, ...]
    offset_m: Range | None = None
    turn_rad: float = 0.0
    fov_y_rad: Range | None = None

    def __post_init__(self) -> None:
        _check_names(self, "cameras")
        _check_range(self, "offset_m", (3,), lowest=-math.inf)
        _check_range(self, "fov_y_rad", (0,), lowest=1e-6, highest=math.pi - 1e-6)
        if not is_number(self.turn_rad) or not 0 <= self.turn_rad <= math.pi:
            raise InvalidArgumentError(f"turn_rad is {self.turn_rad!r}; give an angle from 0 to pi")


@dataclass(frozen=True)
class LooksConfig:
    """What is drawn for a world.

    Raises:
        InvalidArgumentError: nothing at all, or a part that has nothing to draw.
    """

    geoms: tuple[GeomRange, ...] = ()
    lights: tuple[LightRange, ...] = ()
    cameras: tuple[CameraRange, ...] = ()
    headlight: HeadlightRange | None = None

    def __post_init__(self) -> None:
        for name, kind in (("geoms", GeomRange), ("lights", LightRange), ("cameras", CameraRange)):
            ranges = getattr(self, name)
            if not isinstance(ranges, list | tuple) or not all(isinstance(one, kind) for one in ranges):
                raise InvalidArgumentError(f"{name} is {ranges!r}; give a tuple of rollfilm.render.{kind.__name__}")
            object.__setattr__(self, name, tuple(ranges))
        if self.headlight is not None and not isinstance(self.headlight, HeadlightRange):
            raise InvalidArgumentError(f"headlight is {self.headlight!r}; give rollfilm.render.HeadlightRange, or None")
        parts = (*self.geoms, *self.lights, *self.cameras, *([self.headlight] if self.headlight else []))
        if not parts:
            raise InvalidArgumentError("these looks draw nothing; name geoms, lights, cameras or the headlight")
        for part in parts:
            drawn = [f.name for f in fields(part) if f.name not in _WHO]
            if not any(getattr(part, name) for name in drawn):
                raise InvalidArgumentError(f"{type(part).__name__} draws nothing; give one of {', '.join(drawn)}")


#: Fields that say for whom something is drawn, and not what.
_WHO = ("geoms", "bodies", "materials", "together", "lights", "cameras")


def randomize(config: LooksConfig, scene: Scene, seeds: Iterable[int], *, cameras: Sequence[Camera] = ()) -> WorldLooks:
    """Draw the looks of B worlds, one for each seed.

    What a seed gives depends on the configuration, the seed and the names alone: not on the other seeds, on the place among them, or
    on what is drawn for other names.

    Args:
        config: what is drawn.
        scene: whose looks they are.
        seeds: of the episodes that the worlds are in, B integers of 0 or more: ``rollfilm.seeds.episode_seed(run, k)``, or
            ``episode_seed`` of an environment.
        cameras: filmed cameras that the scene does not have.

    Raises:
        NotFoundError: a geom, body, material, light, camera, texture or mesh that is not there.
        InvalidArgumentError: a seed that is none, a thing that is drawn twice, or what would have no effect.
    """
    if not isinstance(config, LooksConfig):
        raise InvalidArgumentError(f"config is {type(config).__name__}; give rollfilm.render.LooksConfig")
    if not isinstance(scene, Scene):
        raise InvalidArgumentError(f"scene is {type(scene).__name__}; give a rollfilm.scene.Scene, as load_scene makes it")
    if not hasattr(seeds, "__iter__"):
        raise InvalidArgumentError(f"seeds is {seeds!r}; give a sequence of integers, one for each world")
    numbers = [require_integer(seed, "a seed", lowest=0) for seed in seeds]
    if not numbers:
        raise InvalidArgumentError("no seeds came; give one for each world")
    lots = Lots(numbers, "looks")
    drawn: dict[str, Any] = dict(_drawn_for_headlight(config.headlight, lots))

    def put(field: str, name: str, values: NDArray) -> None:
        if name in drawn.setdefault(field, {}):
            raise InvalidArgumentError(f"{field} of {name!r} is drawn twice; name it in one range")
        drawn[field][name] = values

    for part in config.geoms:
        for group in _groups(part, scene):
            for field, values in _drawn_for_geoms(part, "|".join(group), lots).items():
                for name in group:
                    put(field, name, values)
    for part in config.lights:
        for name in part.lights:
            for field, values in _drawn_for_light(part, name, lots).items():
                put(field, name, values)
    for part in config.cameras:
        for name in part.cameras:
            for field, values in _drawn_for_camera(part, name, lots).items():
                put(field, name, values)
    looks = WorldLooks(**drawn, may_be_unseen=True)
    resolver = LooksResolver(scene, [*scene.cameras, *cameras])
    resolver.resolve(looks, np.arange(len(numbers)))
    resolver.resolve(_every_choice(config, scene), np.arange(_most_choices(config)))
    return looks


def _groups(part: GeomRange, scene: Scene) -> list[tuple[str, ...]]:
    """The geoms that get the same, in groups."""
    named = [*part.geoms]
    for body in part.bodies:
        named += geom_names(scene, body=body)
    for material in part.materials:
        named += geom_names(scene, material=material)
    unique = tuple(dict.fromkeys(named))
    return [unique] if part.together else [(name,) for name in unique]


def _between(lots: Lots, label: str, bounds: Range, width: int) -> NDArray:
    low, high = (np.broadcast_to(np.asarray(bound, np.float64), (width,)) for bound in bounds)
    return low + (high - low) * lots.uniform(label, width)


def _chosen(lots: Lots, label: str, names: tuple[str, ...]) -> NDArray:
    return np.array(names)[(lots.uniform(label, 1)[:, 0] * len(names)).astype(np.int64)]


def _drawn_for_geoms(part: GeomRange, who: str, lots: Lots) -> dict[str, NDArray]:
    drawn: dict[str, NDArray] = {}
    if part.rgba:
        width = np.size(part.rgba[0])
        color = _between(lots, f"geom_rgba {who}", part.rgba, width)
        drawn["geom_rgba"] = color if width == 4 else np.concatenate([color, np.ones((len(color), 1))], axis=1)
    if part.scale:
        width = np.size(part.scale[0])
        drawn["geom_scale"] = np.broadcast_to(_between(lots, f"geom_scale {who}", part.scale, width), (len(lots), 3))
    if part.textures:
        drawn["geom_texture"] = _chosen(lots, f"geom_texture {who}", part.textures)
    if part.meshes:
        drawn["geom_mesh"] = _chosen(lots, f"geom_mesh {who}", part.meshes)
    if part.hidden:
        drawn["geom_visible"] = lots.uniform(f"geom_visible {who}", 1)[:, 0] >= part.hidden
    return drawn


def _drawn_for_light(part: LightRange, who: str, lots: Lots) -> dict[str, NDArray]:
    drawn = {
        f"light_{name.removesuffix('_m')}": _between(lots, f"light_{name} {who}", getattr(part, name), 3)
        for name in ("offset_m", "direction", "ambient", "diffuse", "specular")
        if getattr(part, name)
    }
    if part.off:
        drawn["light_on"] = lots.uniform(f"light_on {who}", 1)[:, 0] >= part.off
    return drawn


def _drawn_for_headlight(part: HeadlightRange | None, lots: Lots) -> dict[str, NDArray]:
    if part is None:
        return {}
    drawn = {
        f"headlight_{name}": _between(lots, f"headlight_{name}", getattr(part, name), 3)
        for name in ("ambient", "diffuse", "specular")
        if getattr(part, name)
    }
    if part.off:
        drawn["headlight_on"] = lots.uniform("headlight_on", 1)[:, 0] >= part.off
    return drawn


def _drawn_for_camera(part: CameraRange, who: str, lots: Lots) -> dict[str, NDArray]:
    drawn: dict[str, NDArray] = {}
    if part.offset_m:
        drawn["camera_offset"] = _between(lots, f"camera_offset {who}", part.offset_m, 3)
    if part.turn_rad:
        height, longitude, share = lots.uniform(f"camera_turn {who}", 3).T
        # heights of points that are spread evenly over a sphere are spread evenly, too (Archimedes)
        z, around = 2.0 * height - 1.0, 2.0 * np.pi * longitude
        ring = np.sqrt(np.maximum(1.0 - z * z, 0.0))
        half = 0.5 * part.turn_rad * share
        axis = np.stack([ring * np.cos(around), ring * np.sin(around), z], axis=1)
        drawn["camera_turn_wxyz"] = np.concatenate([np.cos(half)[:, None], np.sin(half)[:, None] * axis], axis=1)
    if part.fov_y_rad:
        drawn["camera_fov_y_rad"] = _between(lots, f"camera_fov_y_rad {who}", part.fov_y_rad, 1)[:, 0]
    return drawn


def _most_choices(config: LooksConfig) -> int:
    return max([1, *(max(len(part.textures), len(part.meshes)) for part in config.geoms)])


def _every_choice(config: LooksConfig, scene: Scene) -> WorldLooks:
    """Looks in which every texture and mesh that may be drawn is there: what cannot be is found before it is drawn."""
    every: dict[str, Any] = {"geom_texture": {}, "geom_mesh": {}}
    for part in config.geoms:
        for field, choices in (("geom_texture", part.textures), ("geom_mesh", part.meshes)):
            for group in _groups(part, scene) if choices else ():
                for name in group:
                    every[field][name] = np.array([choices[i % len(choices)] for i in range(_most_choices(config))])
    return WorldLooks(**every, may_be_unseen=True)


def _check_names(part: Any, *lists: str, may_be_empty: bool = False) -> None:
    for name in lists:
        value = getattr(part, name)
        if not isinstance(value, tuple) or not all(isinstance(one, str) for one in value):
            raise InvalidArgumentError(f"{name} is {value!r}; give a tuple of names")
    if not may_be_empty and not any(getattr(part, name) for name in lists):
        raise InvalidArgumentError(f"{type(part).__name__} is for nobody; name {' or '.join(lists)}")


def _check_range(part: Any, name: str, widths: tuple[int, ...], lowest: float = 0.0, highest: float = math.inf) -> None:
    bounds = getattr(part, name)
    if bounds is None:
        return
    sizes = " or ".join("a number" if width == 0 else f"{width} numbers" for width in widths)
    try:
        low, high = (np.asarray(bound, np.float64) for bound in bounds)
    except (TypeError, ValueError):
        raise InvalidArgumentError(f"{name} is {bounds!r}; give (lowest, highest), each {sizes}") from None
    if low.shape != high.shape or low.shape not in [(width,) if width else () for width in widths]:
        raise InvalidArgumentError(f"{name} is {bounds!r}; give (lowest, highest), each {sizes}")
    if not (np.isfinite(low).all() and np.isfinite(high).all() and (low <= high).all() and (low >= lowest).all()):
        raise InvalidArgumentError(f"{name} is {bounds!r}; give finite numbers of at least {lowest:g}, the lowest before the highest")
    if (high > highest).any():
        raise InvalidArgumentError(f"{name} is {bounds!r}; give numbers of at most {highest:g}")
    object.__setattr__(part, name, (low.tolist(), high.tolist()) if low.ndim == 0 else (tuple(low.tolist()), tuple(high.tolist())))


def _check_probability(part: Any, name: str) -> None:
    value = getattr(part, name)
    if not is_number(value) or not 0 <= value <= 1:
        raise InvalidArgumentError(f"{name} is {value!r}; a probability lies between 0 and 1")
