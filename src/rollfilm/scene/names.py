"""What the things of a scene are called, also those without a name of their own."""

from collections.abc import Sequence

from rollfilm.errors import InvalidArgumentError, NotFoundError
from rollfilm.scene.scene import Scene

__all__ = ["all_geom_names", "geom_names", "light_names"]


def all_geom_names(scene: Scene) -> tuple[str, ...]:
    """The name of every geom, in their order; ``geom_<source_id>`` where it has none.

    Raises:
        InvalidArgumentError: ``scene`` is none.
    """
    _require_scene(scene)
    return tuple(geom.name or f"geom_{geom.source_id}" for geom in scene.geoms)


def light_names(scene: Scene) -> tuple[str, ...]:
    """The name of every light, in their order; ``light_<index>`` where it has none.

    Raises:
        InvalidArgumentError: ``scene`` is none.
    """
    _require_scene(scene)
    return tuple(light.name or f"light_{i}" for i, light in enumerate(scene.lights))


def geom_names(scene: Scene, *, body: str | None = None, material: str | None = None) -> tuple[str, ...]:
    """The names of the geoms that hang on a body, that are made of a material, or both.

    Raises:
        NotFoundError: there is no such body or material, or no visible geom of it.
        InvalidArgumentError: ``scene`` is none.
    """
    _require_scene(scene)
    bodies = scene.bodies.names
    if body is not None and body not in bodies:
        raise _unknown("body", body, bodies)
    materials = sorted({geom.material.name for geom in scene.geoms} - {""})
    if material is not None and material not in materials:
        raise _unknown("material", material, materials)
    chosen = tuple(
        name
        for name, geom in zip(all_geom_names(scene), scene.geoms, strict=True)
        if body in (None, bodies[geom.body]) and material in (None, geom.material.name)
    )
    if not chosen:
        raise NotFoundError(
            f"no visible geom hangs on body {body!r}" + (f" and is made of material {material!r}" if material is not None else "")
        )
    return chosen


def _require_scene(scene: Scene) -> None:
    if not isinstance(scene, Scene):
        raise InvalidArgumentError(f"scene is {type(scene).__name__}; give a rollfilm.scene.Scene, as load_scene makes it")


def _unknown(kind: str, name: str, known: Sequence[str]) -> NotFoundError:
    return NotFoundError(f"no {kind} {name!r} in this scene; there are: {', '.join(known) or 'none'}")
