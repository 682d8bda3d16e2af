"""What may look different in any scene: a choice for those who have none of their own."""

from rollfilm.errors import InvalidArgumentError
from rollfilm.render.randomize import GeomRange, HeadlightRange, LightRange, LooksConfig, Range
from rollfilm.scene import Scene, all_geom_names, light_names

__all__ = ["scene_looks"]

#: How much darker or brighter a colour becomes at most, as a factor.
_SURFACES = (0.6, 1.4)
_LIGHTS = (0.5, 1.2)


def scene_looks(scene: Scene) -> LooksConfig:
    """Colours of all surfaces and lights around their own; shapes, textures and cameras stay.

    Raises:
        InvalidArgumentError: there is nothing in the scene that could look different.
    """
    names = all_geom_names(scene)
    geoms = tuple(
        GeomRange(geoms=(name,), rgba=_around(geom.material.rgba[:3], _SURFACES, geom.material.rgba[3]))
        for name, geom in zip(names, scene.geoms, strict=True)
        if names.count(name) == 1 and geom.material.rgba[3] > 0
    )
    lights = tuple(
        LightRange((name,), diffuse=_around(light.diffuse, _LIGHTS))
        for name, light in zip(light_names(scene), scene.lights, strict=True)
        if any(light.diffuse)
    )
    head = scene.headlight
    headlight = None if head is None else HeadlightRange(_around(head.ambient, _LIGHTS), _around(head.diffuse, _LIGHTS))
    if not (geoms or lights or headlight):
        raise InvalidArgumentError("nothing in this scene has a name and a colour of its own that could be drawn by lot")
    return LooksConfig(geoms=geoms, lights=lights, headlight=headlight)


def _around(color: tuple[float, ...], factors: tuple[float, float], *alpha: float) -> Range:
    low, high = (tuple(min(1.0, factor * float(part)) for part in color) for factor in factors)
    return (*low, *map(float, alpha)), (*high, *map(float, alpha))
