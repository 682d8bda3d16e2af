"""Lighting for a CPU: many points of surfaces side by side.

The lighting of a point is one chain of some 280 cycles, of which a processor holds hardly two at a time. A vector is several registers,
whose chains go on in turns. What is computed is what ``light`` computes for a point, but for rounding. It is C++ over clang's
vectors, as in ``raster_many``.
"""

from functools import cache

import warp as wp

from rollfilm.render.kernels.features import Features
from rollfilm.render.kernels.shade import Eye
from rollfilm.render.kernels.surface_points import ChunkOfPoints
from rollfilm.render.kernels.types import SceneData, WorldData
from rollfilm.render.kernels.vectors import vectors

ChunkOfFloats = wp.types.vector(length=64, dtype=wp.float32)

#: Red of 64 points, then green, then blue.
ChunkOfColors = wp.types.vector(length=192, dtype=wp.float32)

# each point with a surface of its own
_SURFACE_POINTS = """
    const int w = eye.world;
    const Way corner = all(eye.corner), step_x = all(eye.step_x), step_y = all(eye.step_y);
    wp::vec_t<192, wp::float32> colors;
    for (int first = 0; first < count; first += ROLLFILM_WIDE) {
    const auto point = [&](int number) { return *(const loose*)(points.c + 64 * number + first); };
    const Way facing = {point(0), point(1), point(2)};
    const floats depth = point(3), red = point(4), green = point(5), blue = point(6), emission = point(7), shiny = point(8);
    const floats exponent = point(9), u = *(const loose*)(place_x.c + first), v = *(const loose*)(place_y.c + first);
    const Way ray = {
        fused(step_x.x, u, fused(step_y.x, v, corner.x)),
        fused(step_x.y, u, fused(step_y.y, v, corner.y)),
        fused(step_x.z, u, fused(step_y.z, v, corner.z)),
    };
    PLACE
    UNIT
    const Way normal = {facing.x * to_unit, facing.y * to_unit, facing.z * to_unit};
    const floats eye_height = dot(normal, to_eye);
    Way total;
"""

_PLACE = """
    const floats to_eye_unit = -reciprocal_root(dot(ray, ray));
    const Way to_eye = {ray.x * to_eye_unit, ray.y * to_eye_unit, ray.z * to_eye_unit};
    const Way position = {depth * ray.x, depth * ray.y, depth * ray.z};
"""
_UNIT = "const floats to_unit = reciprocal_root(most(dot(facing, facing), 1.0e-30f));"

# shade.flat_point
_FLAT_PLACE = """
    const Way ahead = all(eye.forward);
    const floats beyond = depth - 1.0f;
    const Way position = {ray.x + beyond * ahead.x, ray.y + beyond * ahead.y, ray.z + beyond * ahead.z};
    const floats to_eye_unit
        = -1.0f / __builtin_elementwise_sqrt(position.x * position.x + position.y * position.y + position.z * position.z);
    const Way to_eye = {position.x * to_eye_unit, position.y * to_eye_unit, position.z * to_eye_unit};
"""
_FLAT_UNIT = """
    const floats to_unit = 1.0f
        / __builtin_elementwise_sqrt(most(facing.x * facing.x + facing.y * facing.y + facing.z * facing.z, 1.0e-30f));
"""

# light.reflected: how light falls in and its highlight, then what is reflected
_REFLECTED = """
        const floats along = dot(normal, TO_LIGHT);
        const floats near = most(along + eye_height, 1.0e-6f);
        const floats square = most(fused(2.0f, dot(TO_LIGHT, to_eye), 2.0f), 1.0e-12f);
        const floats highlight = shiny * exp2_of(exponent * fused(-0.5f, log2_of(square), log2_of(near)));
        const floats cosine = most(along, 0.0f);
        const floats strength = cosine > 0.0f ? highlight : (floats)0.0f;
        const Way lit = {
            FACTOR fused(specular.x, strength, fused(diffuse.x, cosine, ambient.x) * red),
            FACTOR fused(specular.y, strength, fused(diffuse.y, cosine, ambient.y) * green),
            FACTOR fused(specular.z, strength, fused(diffuse.z, cosine, ambient.z) * blue),
        };
        ADD
"""
_LIGHT_COLORS = """
        const Way ambient = all(*wp::address(scene.light_ambient, w, LIGHT)), diffuse = all(*wp::address(scene.light_diffuse, w, LIGHT));
        const Way specular = all(*wp::address(scene.light_specular, w, LIGHT));
        const Way direction = all(*wp::address(world.light_direction, w, LIGHT));
"""
_DIRECTIONAL = "        const Way towards = {-direction.x, -direction.y, -direction.z};\n"
_SPOT = """
        const Way lamp = all(wp::sub(*wp::address(world.light_position, w, LIGHT), eye.position));
        const wp::vec3 fading = *wp::address(scene.light_attenuation, LIGHT);
        const wp::vec2 cone = *wp::address(scene.light_cone, LIGHT);
        const Way offset = {lamp.x - position.x, lamp.y - position.y, lamp.z - position.z};
        const floats offset_square = most(dot(offset, offset), 1.0e-12f);
        const floats inverse = reciprocal_root(offset_square);
        const floats distance = offset_square * inverse;
        const Way to_light = {offset.x * inverse, offset.y * inverse, offset.z * inverse};
        const floats from_axis = -dot(to_light, direction);
        const floats faded = 1.0f / most(fading[0] + distance * (fading[1] + distance * fading[2]), 1.0e-6f);
        const floats part = from_axis < cone[0] ? (floats)0.0f : faded * exp2_of(cone[1] * log2_of(most(from_axis, 1.0e-6f)));
"""
_HEAD = """
        const Way forward = all(eye.forward), towards = {-forward.x, -forward.y, -forward.z};
        const Way ambient = all(HEAD_AMBIENT), diffuse = all(HEAD_DIFFUSE), specular = all(HEAD_SPECULAR);
"""
_DULL = """
        const floats cosine = most(dot(normal, towards), 0.0f);
        const Way lit = {
            fused(diffuse.x, cosine, ambient.x) * red,
            fused(diffuse.y, cosine, ambient.y) * green,
            fused(diffuse.z, cosine, ambient.z) * blue,
        };
        ADD
"""
_GLOW = "total = Way {emission * red + lit.x, emission * green + lit.y, emission * blue + lit.z};"
_ADD = "total = Way {total.x + lit.x, total.y + lit.y, total.z + lit.z};"
_ADD_SHARE = """
        const floats share = *(const loose*)(shares.c + 64 * NUMBER + first);
        total = Way {
            total.x + share * least(lit.x, 1.0f), total.y + share * least(lit.y, 1.0f), total.z + share * least(lit.z, 1.0f),
        };
"""
_CUT = """
    total = Way {least(total.x, 1.0f), least(total.y, 1.0f), least(total.z, 1.0f)};
"""
_OUT = """
    *(loose*)(colors.c + first) = total.x;
    *(loose*)(colors.c + 64 + first) = total.y;
    *(loose*)(colors.c + 128 + first) = total.z;
    }
    return colors;
"""


def _filled(text: str, **words: str) -> str:
    for word, value in words.items():
        text = text.replace(word.upper(), value)
    return text


def _light(features: Features, i: int, add: str) -> str:
    """The lines that add light ``i``."""
    spot = features.lights[i]
    body = _LIGHT_COLORS + (_SPOT if spot else _DIRECTIONAL) + _REFLECTED
    to_light, factor = ("to_light", "part *") if spot else ("towards", "")
    return "    {" + _filled(body, to_light=to_light, factor=factor, add=add, light=str(i)) + "    }\n"


def _head(features: Features) -> str:
    """The lines that begin with what shines by itself and the headlight."""
    own = features.headlights
    of = {
        f"head_{part}": f"*wp::address(scene.own_head_{part}, w)" if own else f"scene.head_{part}"
        for part in ("ambient", "diffuse", "specular")
    }
    body = _DULL if features.dull and not own else _REFLECTED
    return "    {" + _filled(_HEAD, **of) + _filled(body, to_light="towards", factor="", add=_GLOW) + "    }\n"


def _all_lights(features: Features) -> str:
    """``light.lighting``, or where there are shadows ``light.shadowed_lighting``."""
    text = _head(features)
    for i in range(len(features.lights)):
        if i not in features.shadows:
            text += _light(features, i, _ADD)
    if features.shadows:
        text += _CUT
    for number, i in enumerate(features.shadows):
        text += _light(features, i, _ADD_SHARE.replace("NUMBER", str(number)))
    return text


@cache
def chunk_lighting(features: Features) -> wp.Function:
    """The function that lights points of surfaces anywhere in the picture, for these features.

    Its last argument are the shares of lights that cast shadows, light by light; without such lights they are not looked at.
    """
    of = {"place": _FLAT_PLACE if features.flat else _PLACE, "unit": _FLAT_UNIT if features.flat else _UNIT}
    on_surfaces = _filled(vectors("ROLLFILM_WIDE") + _SURFACE_POINTS + _all_lights(features), **of) + _OUT
    ChunkOfShares = wp.types.vector(length=64 * max(len(features.shadows), 1), dtype=wp.float32)

    @wp.func_native(on_surfaces)
    def light_surfaces(
        scene: SceneData,
        world: WorldData,
        eye: Eye,
        place_x: ChunkOfFloats,  # pyright: ignore[reportInvalidTypeForm]
        place_y: ChunkOfFloats,  # pyright: ignore[reportInvalidTypeForm]
        points: ChunkOfPoints,  # pyright: ignore[reportInvalidTypeForm]
        count: int,
        shares: ChunkOfShares,  # pyright: ignore[reportInvalidTypeForm]
    ) -> ChunkOfColors:  # pyright: ignore[reportInvalidTypeForm]
        """``count`` points where rays through places of the picture meet surfaces."""

    return light_surfaces
