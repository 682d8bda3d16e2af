"""What worlds of one scene may have of their own, beside the poses of their bodies: colours, textures, sizes, lights, cameras."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rollfilm.arguments import require_fields
from rollfilm.errors import InvalidArgumentError, NotFoundError

__all__ = ["Named", "NamedValues", "WorldLooks"]

#: Lengths beyond which a position is taken for diverged, as for models.
_FAR = 1e10

#: How far the length of a quaternion may be from 1.
_UNIT_SLACK = 1e-3


@dataclass(frozen=True, eq=False)
class NamedValues:
    """Values of named things in every world.

    Attributes:
        names: of n things.
        values: (B, n, ...), read-only.
    """

    names: tuple[str, ...]
    values: NDArray

    def __getitem__(self, name: str) -> NDArray:
        """The values (B, ...) of one thing.

        Raises:
            NotFoundError: it has none; the message lists those that have.
        """
        if name not in self.names:
            raise NotFoundError(f"no values of {name!r} among these looks; there are: {', '.join(self.names)}")
        return self.values[:, self.names.index(name)]

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)


#: What a field takes: from a name to values (B, ...), or from n names to values (B, n, ...), where an n of 1 stands for all of them.
Named = Mapping[str | tuple[str, ...], ArrayLike] | NamedValues | None


@dataclass(frozen=True)
class _Rule:
    """What the values of a field are: how many numbers each, of which kind, within which bounds."""

    width: int
    kind: str  # float, bool, or choice: an index or a name
    low: float = -_FAR
    high: float = _FAR
    unit: bool = False  # of length 1
    open_ended: bool = False  # the bounds themselves are not allowed
    meaning: str = ""


_COLOR = _Rule(3, "float", 0.0, 1e4, meaning="red, green and blue, 0 or more")
_RGBA = _Rule(4, "float", 0.0, 1.0, meaning="red, green, blue and alpha, 0 to 1")
_PLACE = _Rule(3, "float", meaning="x, y and z in metres")
_QUAT = _Rule(4, "float", unit=True, meaning="a quaternion w, x, y, z of length 1")
_BOOL = _Rule(0, "bool", meaning="True or False")

_NAMED: dict[str, _Rule] = {
    "geom_rgba": _RGBA,
    "material_rgba": _RGBA,
    "geom_visible": _BOOL,
    "geom_scale": _Rule(3, "float", 1e-6, 1e6, meaning="factors along x, y and z, above 0"),
    "geom_texture": _Rule(0, "choice", -1, 2**31 - 1, meaning="a texture's name or index, '' or -1 for none"),
    "geom_mesh": _Rule(0, "choice", -1, 2**31 - 1, meaning="a mesh's name or index, '' or -1 for its own"),
    "light_on": _BOOL,
    "light_position": _PLACE,
    "light_direction": _Rule(3, "float", meaning="x, y and z of a direction"),
    "light_offset": _PLACE,
    "light_ambient": _COLOR,
    "light_diffuse": _COLOR,
    "light_specular": _COLOR,
    "camera_position": _PLACE,
    "camera_quat_wxyz": _QUAT,
    "camera_offset": _PLACE,
    "camera_turn_wxyz": _QUAT,
    "camera_fov_y_rad": _Rule(0, "float", 0.0, math.pi, open_ended=True, meaning="radians between 0 and pi"),
    "camera_intrinsics": _Rule(4, "float", meaning="fx, fy, cx and cy in pixels, focal lengths above 0"),
}
_HEADLIGHT: dict[str, _Rule] = {
    "headlight_on": _BOOL,
    "headlight_ambient": _COLOR,
    "headlight_diffuse": _COLOR,
    "headlight_specular": _COLOR,
}


@dataclass(frozen=True, eq=False)
class WorldLooks:
    """How B worlds look where they do not look as their scene says. What is not named is as the scene has it.

    Every field but those of the headlight is a mapping: from a name to values (B, ...), or from a tuple of n names to values
    (B, n, ...), or (B, 1, ...) for all of them alike. ``rollfilm.scene.geom_names`` names geoms by body or material; a geom without a
    name is called ``geom_<id>`` and a light ``light_<index>``. Numbers become float32; arrays on a device are read to the host once.
    Values are checked and copied; afterwards each field is a :class:`NamedValues`, or None.

    Attributes:
        geom_rgba: (B, 4) colours, 0 to 1, multiplied with the texture. A geom of alpha 0 is not drawn.
        material_rgba: (B, 4) likewise for all geoms of a material that have no ``geom_rgba``.
        geom_visible: (B,) bool.
        geom_scale: (B, 3) factors on the size along the axes of the geom's frame; of planes z is 1. Textures grow with their geom.
        geom_texture: (B,) names of textures of the scene, or indices into ``Scene.textures``; ``""`` or -1 for none.
        geom_mesh: (B,) names of meshes of the scene, or indices into ``Scene.meshes``; ``""`` or -1 for its own. A mesh
            hangs in the frame of the geom.
        light_on: (B,) bool, of lights beside the headlight.
        light_position: (B, 3) metres, in the world's frame, in place of where it is placed.
        light_direction: (B, 3) where it shines, in the world's frame; any length but 0.
        light_offset: (B, 3) metres along the world's axes, added to where it is.
        light_ambient, light_diffuse, light_specular: (B, 3) colours, 0 or more.
        headlight_on: (B,) bool.
        headlight_ambient, headlight_diffuse, headlight_specular: (B, 3) colours, 0 or more.
        camera_position: (B, 3) metres, in the world's frame, in place of where it is placed.
        camera_quat_wxyz: (B, 4) unit, its axes (OpenGL) in the world's frame, in place of how it is placed.
        camera_offset: (B, 3) metres along the camera's own axes (x right, y up, z backwards), added to where it is.
        camera_turn_wxyz: (B, 4) unit, a rotation about the camera's own axes, from how it is placed.
        camera_fov_y_rad: (B,) vertical field of view, radians; pixels become square and the principal point the middle.
        camera_intrinsics: (B, 4) fx, fy, cx and cy in pixels of its sensor, or of the picture where it has none (``Camera``).
        may_be_unseen: values of what is hidden or off in every world are no error, for looks that are drawn by lot.

    Raises:
        InvalidArgumentError: a wrong shape or dtype, a number that is not finite or out of its range (the world and the name are in the
            message), a name that comes twice in a field, or fields of different B.
        NotFoundError: a field that is none.
    """

    geom_rgba: Named = None
    material_rgba: Named = None
    geom_visible: Named = None
    geom_scale: Named = None
    geom_texture: Named = None
    geom_mesh: Named = None
    light_on: Named = None
    light_position: Named = None
    light_direction: Named = None
    light_offset: Named = None
    light_ambient: Named = None
    light_diffuse: Named = None
    light_specular: Named = None
    headlight_on: ArrayLike | None = None
    headlight_ambient: ArrayLike | None = None
    headlight_diffuse: ArrayLike | None = None
    headlight_specular: ArrayLike | None = None
    camera_position: Named = None
    camera_quat_wxyz: Named = None
    camera_offset: Named = None
    camera_turn_wxyz: Named = None
    camera_fov_y_rad: Named = None
    camera_intrinsics: Named = None
    may_be_unseen: bool = False

    def __new__(cls, *_: Any, **given: Any) -> "WorldLooks":
        """An instance, which is filled in later: what is misspelled is said in our own words."""
        require_fields(given, cls)
        return super().__new__(cls)

    def __post_init__(self) -> None:
        for field, rule in _NAMED.items():
            object.__setattr__(self, field, _named_values(field, rule, getattr(self, field)))
        for field, rule in _HEADLIGHT.items():
            if getattr(self, field) is not None:
                object.__setattr__(self, field, _checked(field, rule, ("",), getattr(self, field))[:, 0])
        if not isinstance(self.may_be_unseen, bool):
            raise InvalidArgumentError(f"may_be_unseen is {self.may_be_unseen!r}; it must be True or False")
        sizes = {field: len(self.values(field)) for field in self.used}
        if len(set(sizes.values())) > 1:
            listed = ", ".join(f"{field} {size}" for field, size in sizes.items())
            raise InvalidArgumentError(f"the fields of looks are of different numbers of worlds ({listed}); give each the same leading B")

    @property
    def used(self) -> tuple[str, ...]:
        """The fields that say something."""
        return tuple(field for field in (*_NAMED, *_HEADLIGHT) if getattr(self, field) is not None)

    @property
    def num_worlds(self) -> int | None:
        """B; None where no field says anything, which fits any number of worlds."""
        return len(self.values(self.used[0])) if self.used else None

    def values(self, field: str) -> NDArray:
        """The values of a field that says something: (B, n, ...), of the headlight (B, ...)."""
        value = getattr(self, field)
        return value.values if isinstance(value, NamedValues) else value

    def worlds(self, which: ArrayLike) -> "WorldLooks":
        """The looks of some worlds, by index (k,) or mask (B,), as looks of as many worlds.

        Raises:
            InvalidArgumentError: an index that is no world, or no world at all.
        """
        if self.num_worlds is None:
            return self
        rows = _rows(which, self.num_worlds)
        chosen = {field: self._with(field, self.values(field)[rows]) for field in self.used}
        return WorldLooks(**chosen, may_be_unseen=self.may_be_unseen)

    @classmethod
    def joined(cls, parts: Sequence["WorldLooks"]) -> "WorldLooks":
        """The worlds of all parts, one after the other.

        Raises:
            InvalidArgumentError: there is no part, or they do not name the same things.
        """
        if not isinstance(parts, Sequence) or not all(isinstance(part, WorldLooks) for part in parts):
            raise InvalidArgumentError("parts must be a sequence of WorldLooks")
        if not parts or any(part._named != parts[0]._named for part in parts):
            raise InvalidArgumentError("looks are joined where all of them name the same things; these do not")
        first = parts[0]
        values = {field: first._with(field, np.concatenate([part.values(field) for part in parts])) for field in first.used}
        return cls(**values, may_be_unseen=any(part.may_be_unseen for part in parts))

    def to_dict(self) -> dict[str, Any]:
        """Numbers, strings and lists, for JSON; :meth:`from_dict` makes the same looks of it, to the last bit."""
        plain: dict[str, Any] = {"may_be_unseen": self.may_be_unseen}
        for field in self.used:
            value = getattr(self, field)
            values = self.values(field).tolist()
            plain[field] = {"names": list(value.names), "values": values} if isinstance(value, NamedValues) else values
        return plain

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> "WorldLooks":
        """Looks from what :meth:`to_dict` gave.

        Raises:
            InvalidArgumentError: an unknown field, or values that are not allowed.
        """
        if not isinstance(plain, Mapping):
            raise InvalidArgumentError(f"stored looks are {type(plain).__name__}; give the mapping that to_dict made")
        unknown = sorted(set(plain) - {*_NAMED, *_HEADLIGHT, "may_be_unseen"})
        if unknown:
            raise InvalidArgumentError(f"looks have no field {unknown[0]!r}; they have {', '.join((*_NAMED, *_HEADLIGHT))}")
        made = {}
        for field, value in plain.items():
            if field in _NAMED:
                if not isinstance(value, Mapping) or set(value) != {"names", "values"}:
                    raise InvalidArgumentError(f"{field} of stored looks must have 'names' and 'values'; it is {type(value).__name__}")
                if not isinstance(value["names"], list | tuple):
                    raise InvalidArgumentError(f"{field} of stored looks must have a list of 'names'; it is {value['names']!r}")
                made[field] = {tuple(value["names"]): value["values"]}
            else:
                made[field] = value
        return cls(**made)

    @property
    def _named(self) -> dict[str, tuple[str, ...]]:
        return {field: tuple(getattr(self, field).names) if field in _NAMED else () for field in self.used}

    def _with(self, field: str, values: NDArray) -> Any:
        value = getattr(self, field)
        return NamedValues(value.names, values) if isinstance(value, NamedValues) else values


def _named_values(field: str, rule: _Rule, given: Named) -> NamedValues | None:
    if given is None:
        return None
    if isinstance(given, NamedValues):
        given = {given.names: given.values}
    if not isinstance(given, Mapping):
        raise InvalidArgumentError(f"{field} is {type(given).__name__}; give a mapping from names to values, as in {{'cube': values}}")
    names: list[str] = []
    columns: list[NDArray] = []
    for key, value in given.items():
        group = key if isinstance(key, tuple) else (key,)
        if not group or not all(isinstance(name, str) for name in group):
            raise InvalidArgumentError(f"{field} names {key!r}; give a name, or a tuple of names")
        names += group
        columns.append(_checked(field, rule, group, value, single=isinstance(key, str)))
    if not names:
        return None
    doubled = sorted({name for name in names if names.count(name) > 1})
    if doubled:
        raise InvalidArgumentError(f"{field} names {doubled[0]!r} more than once; give each name one value a world")
    if len(counts := sorted({len(column) for column in columns})) > 1:
        raise InvalidArgumentError(f"{field} has values for {counts} worlds; give all of them the same leading B")
    if len({column.dtype.kind == "U" for column in columns}) > 1:
        raise InvalidArgumentError(f"{field} came as names for some and as indices for others; give names, or indices, for all")
    values = np.concatenate(columns, axis=1)
    values.setflags(write=False)
    return NamedValues(tuple(names), values)


def _checked(field: str, rule: _Rule, names: tuple[str, ...], given: Any, *, single: bool = True) -> NDArray:
    """Values (B, n, ...) as float32, bool, int32 or str: a copy, after all checks."""
    values = _on_host(field, given)
    tail = (rule.width,) if rule.width else ()
    shape = values.shape
    listed = ", ".join(["B", *([] if single else ["n"]), *map(str, tail)]) + ("," if single and not tail else "")
    if len(shape) != (1 if single else 2) + len(tail) or shape[len(shape) - len(tail) :] != tail or 0 in shape:
        raise InvalidArgumentError(f"{_label(field, names)} came as {values.dtype} {shape}; it must be ({listed}): {rule.meaning}")
    if single:
        values = values[:, None]
    if values.shape[1] not in (1, len(names)):
        raise InvalidArgumentError(
            f"{_label(field, names)} has values for {values.shape[1]} things; {len(names)} are named: give one for each, or one for all"
        )
    values = _of_kind(field, rule, names, values)
    return np.repeat(values, len(names), axis=1) if values.shape[1] < len(names) else values.copy()


def _rows(which: ArrayLike, num_worlds: int) -> NDArray[np.int64]:
    """Indices of worlds, of indices or of a mask."""
    try:
        rows = np.asarray(which)
    except ValueError:
        rows = np.empty(0, object)
    if rows.dtype == bool and rows.shape == (num_worlds,):
        rows = np.flatnonzero(rows)
    if rows.dtype.kind not in "iu" or rows.ndim != 1 or not rows.size or rows.min() < 0 or rows.max() >= num_worlds:
        raise InvalidArgumentError(
            f"worlds came as {which!r}; give at least one of the worlds 0 to {num_worlds - 1} by index, or a bool mask ({num_worlds},)"
        )
    return rows.astype(np.int64)


def _on_host(field: str, given: Any) -> NDArray:
    if not isinstance(given, np.ndarray) and hasattr(given, "__dlpack__"):
        import warp as wp

        given = given.numpy() if isinstance(given, wp.array) else wp.from_dlpack(given).numpy()
    try:
        values = np.asarray(given)
    except ValueError:
        raise InvalidArgumentError(f"{field} is no array: its rows are of different lengths") from None
    return values


def _of_kind(field: str, rule: _Rule, names: tuple[str, ...], values: NDArray) -> NDArray:
    if rule.kind == "bool":
        if values.dtype != bool:
            raise InvalidArgumentError(f"{_label(field, names)} came as {values.dtype}; it must be bool: {rule.meaning}")
        return values
    if rule.kind == "choice":
        if values.dtype.kind == "U":
            return values
        if values.dtype.kind not in "iu":
            raise InvalidArgumentError(f"{_label(field, names)} came as {values.dtype}; it must be strings or integers: {rule.meaning}")
        _require_all(field, rule, names, values, (values >= rule.low) & (values <= rule.high))
        return values.astype(np.int32)
    if values.dtype.kind not in "fiu":
        raise InvalidArgumentError(f"{_label(field, names)} came as {values.dtype}; it must be numbers: {rule.meaning}")
    _require_all(field, rule, names, values, np.isfinite(values), "is not finite")
    inside = (values > rule.low) & (values < rule.high) if rule.open_ended else (values >= rule.low) & (values <= rule.high)
    _require_all(field, rule, names, values, inside)
    if field == "camera_intrinsics":
        _require_all(field, rule, names, values, values[..., :2] > 0)
    if rule.unit or field == "light_direction":
        length = np.linalg.norm(values.astype(np.float64), axis=-1, keepdims=True)
        _require_all(field, rule, names, values, np.abs(length - 1.0) <= _UNIT_SLACK if rule.unit else length > 1e-9)
    return values.astype(np.float32)


def _require_all(field: str, rule: _Rule, names: tuple[str, ...], values: NDArray, good: NDArray, wrong: str = "") -> None:
    if good.all():
        return
    world, column = (int(i) for i in np.argwhere(~good)[0][:2])
    name = names[column] if values.shape[1] == len(names) else names[0]
    shown = np.array2string(values[world, column], separator=", ")
    wrong = wrong or f"is {shown}"
    raise InvalidArgumentError(f"{_label(field, (name,))} in world {world} {wrong}; give {rule.meaning}")


def _label(field: str, names: Iterable[str]) -> str:
    listed = [repr(name) for name in names if name]
    more = f" and {len(listed) - 3} more" if len(listed) > 3 else ""
    return f"{field} of {', '.join(listed[:3])}{more}" if listed else field
