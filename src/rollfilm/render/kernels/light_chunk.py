"""Lighting for a CPU: up to 64 points side by side, one short loop after the other.

The lighting of a point is one chain of some 280 cycles, of which a processor holds hardly two at a time. Cut into loops over stored
vectors, each shorter than what the processor looks ahead, the chains of all vectors run side by side. What is computed is what ``light``
computes for a point, to the bit. The loops are C++ over clang's vectors, as those of ``raster_many`` are.
"""

from functools import cache
from typing import NamedTuple

import warp as wp

from rollfilm.render.kernels.features import Features
from rollfilm.render.kernels.plane_texture import PLANE_TEXTURE
from rollfilm.render.kernels.shade import Eye, Plane, Surface
from rollfilm.render.kernels.surface_points import ChunkOfPoints
from rollfilm.render.kernels.types import LAYER_MASK, LAYER_STEP, SceneData, WorldData
from rollfilm.render.kernels.vectors import GATHERS, VECTORS

ChunkOfFloats = wp.types.vector(length=64, dtype=wp.float32)

#: Red of 64 points, then green, then blue.
ChunkOfColors = wp.types.vector(length=192, dtype=wp.float32)

_ROOM = """
    const int vectors = (count + 15) >> 4;
    const int w = eye.world;
    Way position[4], to_eye[4], normal[4], total[4], to_light[4];
    floats eye_height[4], along[4], highlight[4], distance[4], part[4];
"""

# of a plane: the depths of ``shade.plane_depth``, and what is the same at all points
_PLANE_POINTS = """
    const floats lane = {0.5f, 1.5f, 2.5f, 3.5f, 4.5f, 5.5f, 6.5f, 7.5f, 8.5f, 9.5f, 10.5f, 11.5f, 12.5f, 13.5f, 14.5f, 15.5f};
    const Way corner = all(eye.corner), step_x = all(eye.step_x), step_y = all(eye.step_y), inverse_depth = all(plane.inverse_depth);
    const floats place_y = (float)y + 0.5f;
    const Way row = {fused(step_y.x, place_y, corner.x), fused(step_y.y, place_y, corner.y), fused(step_y.z, place_y, corner.z)};
    const float factor = 1.0f + (float)(plane.geom & LAYER_MASK) * LAYER_STEP;
    floats depths[4];
    for (int k = 0; k < vectors; ++k) {
        const floats place_x = (floats)(float)(x + 16 * k) + lane;
        const Way ray = {fused(step_x.x, place_x, row.x), fused(step_x.y, place_x, row.y), fused(step_x.z, place_x, row.z)};
        const words bits = __builtin_bit_cast(words, most(dot(inverse_depth, ray), 1.0e-12f) * factor);
        const floats depth = factor / __builtin_bit_cast(floats, (bits & 0x7FFFFFF8u) | 4u);
        depths[k] = depth;
        PLACE
    }
    normal[0] = all(surface.facet);
    {
        const floats r = reciprocal_root(most(dot(normal[0], normal[0]), 1.0e-30f));
        normal[0] = Way {normal[0].x * r, normal[0].y * r, normal[0].z * r};
    }
    for (int k = 0; k < vectors; ++k)
        eye_height[k] = dot(normal[0], to_eye[k]);
    const floats red[1] = {every(surface.color.c[0])}, green[1] = {every(surface.color.c[1])}, blue[1] = {every(surface.color.c[2])};
    const floats emission[1] = {every(surface.finish.c[0])}, shiny[1] = {every(surface.finish.c[1])};
    const floats exponent[1] = {every(surface.finish.c[2])};
"""

# of surfaces, each point with its own
_SURFACE_POINTS = """
    const Way corner = all(eye.corner), step_x = all(eye.step_x), step_y = all(eye.step_y);
    const loose* const point = (const loose*)points.c;
    const loose *const red = point + 16, *const green = point + 20, *const blue = point + 24;
    const loose *const emission = point + 28, *const shiny = point + 32, *const exponent = point + 36;
    for (int k = 0; k < vectors; ++k) {
        const floats u = ((const loose*)place_x.c)[k], v = ((const loose*)place_y.c)[k], depth = point[12 + k];
        const Way ray = {
            fused(step_x.x, u, fused(step_y.x, v, corner.x)),
            fused(step_x.y, u, fused(step_y.y, v, corner.y)),
            fused(step_x.z, u, fused(step_y.z, v, corner.z)),
        };
        PLACE
    }
    for (int k = 0; k < vectors; ++k) {
        const Way n = {point[k], point[4 + k], point[8 + k]};
        UNIT
        normal[k] = Way {n.x * r, n.y * r, n.z * r};
        eye_height[k] = dot(normal[k], to_eye[k]);
    }
"""

_PLACE = """
        const floats r = -reciprocal_root(dot(ray, ray));
        to_eye[k] = Way {ray.x * r, ray.y * r, ray.z * r};
        position[k] = Way {depth * ray.x, depth * ray.y, depth * ray.z};
"""
_UNIT = "const floats r = reciprocal_root(most(dot(n, n), 1.0e-30f));"

# shade.flat_point
_FLAT_PLACE = """
        const Way forward = all(eye.forward);
        const floats beyond = depth - 1.0f;
        const Way p = {ray.x + beyond * forward.x, ray.y + beyond * forward.y, ray.z + beyond * forward.z};
        const floats r = -1.0f / __builtin_elementwise_sqrt(p.x * p.x + p.y * p.y + p.z * p.z);
        to_eye[k] = Way {p.x * r, p.y * r, p.z * r};
        position[k] = p;
"""
_FLAT_UNIT = "const floats r = 1.0f / __builtin_elementwise_sqrt(most(n.x * n.x + n.y * n.y + n.z * n.z, 1.0e-30f));"

# light.reflected: how light falls in and its highlight, then what is reflected; OF is the number of a point's own normal and finish
_HIGHLIGHTS = """
        for (int k = 0; k < vectors; ++k) {
            along[k] = dot(normal[OF], TO_LIGHT);
            const floats near = most(along[k] + eye_height[k], 1.0e-6f);
            const floats square = most(fused(2.0f, dot(TO_LIGHT, to_eye[k]), 2.0f), 1.0e-12f);
            highlight[k] = shiny[OF] * exp2_of(exponent[OF] * fused(-0.5f, log2_of(square), log2_of(near)));
        }
"""
_REFLECTED = """
        for (int k = 0; k < vectors; ++k) {
            const floats cosine = most(along[k], 0.0f);
            const floats strength = cosine > 0.0f ? highlight[k] : (floats)0.0f;
            const Way lit = {
                FACTOR fused(specular.x, strength, fused(diffuse.x, cosine, ambient.x) * red[OF]),
                FACTOR fused(specular.y, strength, fused(diffuse.y, cosine, ambient.y) * green[OF]),
                FACTOR fused(specular.z, strength, fused(diffuse.z, cosine, ambient.z) * blue[OF]),
            };
            ADD
        }
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
        for (int k = 0; k < vectors; ++k) {
            const Way offset = {lamp.x - position[k].x, lamp.y - position[k].y, lamp.z - position[k].z};
            const floats square = most(dot(offset, offset), 1.0e-12f);
            const floats inverse = reciprocal_root(square);
            distance[k] = square * inverse;
            to_light[k] = Way {offset.x * inverse, offset.y * inverse, offset.z * inverse};
        }
        for (int k = 0; k < vectors; ++k) {
            const floats cosine = -dot(to_light[k], direction);
            const floats strength = 1.0f / most(fading[0] + distance[k] * (fading[1] + distance[k] * fading[2]), 1.0e-6f);
            part[k] = cosine < cone[0] ? (floats)0.0f : strength * exp2_of(cone[1] * log2_of(most(cosine, 1.0e-6f)));
        }
"""
_HEAD = """
        const Way forward = all(eye.forward), towards = {-forward.x, -forward.y, -forward.z};
        const Way ambient = all(HEAD_AMBIENT), diffuse = all(HEAD_DIFFUSE), specular = all(HEAD_SPECULAR);
"""
_DULL = """
        for (int k = 0; k < vectors; ++k) {
            const floats cosine = most(dot(normal[OF], towards), 0.0f);
            const Way lit = {
                fused(diffuse.x, cosine, ambient.x) * red[OF],
                fused(diffuse.y, cosine, ambient.y) * green[OF],
                fused(diffuse.z, cosine, ambient.z) * blue[OF],
            };
            ADD
        }
"""
_GLOW = "total[k] = Way {emission[OF] * red[OF] + lit.x, emission[OF] * green[OF] + lit.y, emission[OF] * blue[OF] + lit.z};"
_ADD = "total[k] = Way {total[k].x + lit.x, total[k].y + lit.y, total[k].z + lit.z};"
_ADD_SHARE = """
            const floats share = ((const loose*)shares.c)[4 * NUMBER + k];
            total[k] = Way {
                total[k].x + share * least(lit.x, 1.0f), total[k].y + share * least(lit.y, 1.0f), total[k].z + share * least(lit.z, 1.0f),
            };
"""
_CUT = """
    for (int k = 0; k < vectors; ++k)
        total[k] = Way {least(total[k].x, 1.0f), least(total[k].y, 1.0f), least(total[k].z, 1.0f)};
"""
_OUT = """
    wp::vec_t<192, wp::float32> colors;
    loose* const out = (loose*)colors.c;
    for (int k = 0; k < vectors; ++k) {
        out[k] = total[k].x;
        out[k + 4] = total[k].y;
        out[k + 8] = total[k].z;
    }
    return colors;
"""


def _filled(text: str, **words: str) -> str:
    for word, value in words.items():
        text = text.replace(word.upper(), value)
    return text


def _light(features: Features, i: int, add: str) -> str:
    """The loops that add light ``i``."""
    spot = features.lights[i]
    body = _LIGHT_COLORS + (_SPOT if spot else _DIRECTIONAL) + _HIGHLIGHTS + _REFLECTED
    to_light, factor = ("to_light[k]", "part[k] *") if spot else ("towards", "")
    return "    {" + _filled(body, to_light=to_light, factor=factor, add=add, light=str(i)) + "    }\n"


def _head(features: Features) -> str:
    """The loops that begin with what shines by itself and the headlight."""
    own = features.headlights
    of = {
        f"head_{part}": f"*wp::address(scene.own_head_{part}, w)" if own else f"scene.head_{part}"
        for part in ("ambient", "diffuse", "specular")
    }
    body = _DULL if features.dull and not own else _HIGHLIGHTS + _REFLECTED
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


class ChunkLighting(NamedTuple):
    """The functions that light points of a plane in a row of the picture, and points of surfaces anywhere.

    The last argument of each are the shares of lights that cast shadows, light by light; without such lights they are not looked at.
    """

    plane: wp.Function
    surfaces: wp.Function


@cache
def chunk_lighting(features: Features) -> ChunkLighting:
    """The functions for these features."""
    of = {"place": _FLAT_PLACE if features.flat else _PLACE, "unit": _FLAT_UNIT if features.flat else _UNIT}
    lights = _all_lights(features)
    plane_points = _PLANE_POINTS.replace("LAYER_MASK", str(LAYER_MASK)).replace("LAYER_STEP", f"{LAYER_STEP!r}f")
    # what each light adds is cut at 1 where there are shadows, else the sum of all
    texture = GATHERS + PLANE_TEXTURE.replace("BRIGHTEST", "1.0e30f" if features.shadows else "1.0f") if features.textures else ""
    on_plane = _filled(VECTORS + _ROOM + plane_points + lights, **of).replace("OF", "0") + texture + _OUT
    on_surfaces = _filled(VECTORS + _ROOM + _SURFACE_POINTS + lights, **of).replace("OF", "k") + _OUT
    ChunkOfShares = wp.types.vector(length=64 * max(len(features.shadows), 1), dtype=wp.float32)

    @wp.func_native(on_plane)
    def light_plane(
        scene: SceneData,
        world: WorldData,
        eye: Eye,
        plane: Plane,
        surface: Surface,
        x: int,
        y: int,
        count: int,
        shares: ChunkOfShares,  # pyright: ignore[reportInvalidTypeForm]
    ) -> ChunkOfColors:  # pyright: ignore[reportInvalidTypeForm]
        """``count`` points of a plane from column ``x`` of row ``y``."""

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
        """Points where rays through places of the picture meet surfaces."""

    return ChunkLighting(light_plane, light_surfaces)
