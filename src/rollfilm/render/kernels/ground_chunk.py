"""The floor for a CPU: up to 64 points of a plane side by side, in axes of its own.

In axes of which two lie in the plane and the third, z, is its normal, all its points have the same z from the camera and the same normal,
so that most of what ``light`` and ``texture`` compute for any surface is the same all over a view. It is worked out once a view; a point
does the rest. A vector is several registers, every line several instructions that do not wait for each other: the longer chains of
instructions become, the fewer of them a processor has in sight at once.
"""

from functools import cache
from typing import NamedTuple

import warp as wp

from rollfilm.render.kernels.features import Features
from rollfilm.render.kernels.filter_chunk import filtering
from rollfilm.render.kernels.plane_texture import PLANE_TEXTURE
from rollfilm.render.kernels.shade import Eye, Plane, Surface
from rollfilm.render.kernels.types import SceneData, WorldData
from rollfilm.render.kernels.vectors import gathers, vectors

#: Red of 64 points, then green, then blue.
ChunkOfColors = wp.types.vector(length=192, dtype=wp.float32)

# what is worked out once: of a ray the reciprocal depth and two axes along the plane; lengths in metres
_RAYS = ("corner", "step_x", "step_y")
_NUMBERS = (
    "height",  # z of the plane, from the camera
    "height_square",
    "base_r", "base_g", "base_b",  # what shines by itself, and all light that is the same everywhere
    "exponent", "whole", "lowest",  # of highlights; half of it if that is a whole number, else -1; what is as good as nothing, raised to it
)  # fmt: skip
_TEXTURE_NUMBERS = (
    # from a point to texture coordinates; v's by as much as the image is higher than wide, which ``narrow`` undoes
    "u_x", "u_y", "u_0", "v_x", "v_y", "v_0", "narrow",
    "right_u", "right_v", "down_u", "down_v", "turn_x", "turn_y",  # how they change to the next column and row
    "wide",  # 256 times the logarithm of the width
)  # fmt: skip
# of a light without a place, then of a spot: from the plane to it, its colours times the plane's
_FAR_NUMBERS = ("to_x", "to_y", "to_z", "lit_r", "lit_g", "lit_b", "shine_r", "shine_g", "shine_b")
_SPOT_NUMBERS = (
    "lamp_x", "lamp_y", "lamp_z", "lamp_square", "axis_x", "axis_y", "axis_z", "ambient_r", "ambient_g", "ambient_b",
    "lit_r", "lit_g", "lit_b", "shine_r", "shine_g", "shine_b", "fades", "fade_0", "fade_1", "fade_2", "cut", "cone", "cone_whole",
    "cone_lowest",
)  # fmt: skip

_MAKE = """
    wp::vec_t<COUNT, wp::float32> numbers;
    const int w = eye.world;
    const wp::vec3 z = wp::normalize(surface.facet), x = wp::normalize(plane.axis_x), y = wp::cross(z, x);
    const auto keep = [&](int at, const wp::vec3& v) {
        for (int e = 0; e < 3; ++e)
            numbers.c[at + e] = v.c[e];
    };
    const auto turned = [&](const wp::vec3& v) { return wp::vec3(wp::dot(x, v), wp::dot(y, v), wp::dot(z, v)); };
    const auto keep_ray = [&](int at, const wp::vec3& v) {
        keep(at, wp::vec3(wp::dot(plane.inverse_depth, v), wp::dot(x, v), wp::dot(y, v)));
    };
    // a whole number that is raised to by squaring, and where what is raised becomes less than 2^-30: see power.exp2_of
    const auto keep_whole = [&](int at, float number) {
        const bool whole = number >= 0.0f && number <= 256.0f && number == wp::floor(number);
        numbers.c[at] = whole ? number : -1.0f;
        numbers.c[at + 1] = whole ? (float)wp::pow(2.0f, -30.0f / wp::max(number, 1.0f)) : 1.0e-24f;
    };
    keep_ray(corner, eye.corner);
    keep_ray(step_x, eye.step_x);
    keep_ray(step_y, eye.step_y);
    const float from_eye = 1.0f / wp::dot(z, plane.inverse_depth);
    numbers.c[height] = from_eye;
    numbers.c[height_square] = from_eye * from_eye;
    const wp::vec3 color = surface.color;
    const float shiny = surface.finish.c[1];
    numbers.c[exponent] = 0.5f * surface.finish.c[2];
    keep_whole(whole, 0.5f * surface.finish.c[2]);
    wp::vec3 base = wp::mul(surface.finish.c[0], color);
"""
_MAKE_FAR = """
    {
        const wp::vec3 to = turned(wp::neg(TOWARDS));
        const float cosine = wp::max(to[2], 0.0f);
        const wp::vec3 lit = wp::cw_mul(wp::add(AMBIENT, wp::mul(cosine, DIFFUSE)), color);
        keep(to_x_LIGHT, to);
        keep(lit_r_LIGHT, lit);
        keep(shine_r_LIGHT, wp::mul(cosine > 0.0f ? shiny : 0.0f, SPECULAR));
        EVERYWHERE
    }
"""
_MAKE_SPOT = """
    {
        const wp::vec3 lamp = turned(wp::sub(*wp::address(world.light_position, w, LIGHT), eye.position));
        const wp::vec3 axis = turned(*wp::address(world.light_direction, w, LIGHT));
        const wp::vec3 fading = *wp::address(scene.light_attenuation, LIGHT);
        const wp::vec2 of_cone = *wp::address(scene.light_cone, LIGHT);
        const float above = lamp[2] - from_eye;
        keep(lamp_x_LIGHT, wp::vec3(lamp[0], lamp[1], above));
        numbers.c[lamp_square_LIGHT] = above * above;
        keep(axis_x_LIGHT, wp::vec3(axis[0], axis[1], axis[2] * above));
        numbers.c[fades_LIGHT] = fading[1] != 0.0f || fading[2] != 0.0f ? 1.0f : 0.0f;
        keep(fade_0_LIGHT, fading);
        const float strength = numbers.c[fades_LIGHT] != 0.0f ? 1.0f : 1.0f / wp::max(fading[0], 1.0e-6f);
        keep(ambient_r_LIGHT, wp::mul(strength, wp::cw_mul(*wp::address(scene.light_ambient, w, LIGHT), color)));
        keep(lit_r_LIGHT, wp::mul(above > 0.0f ? strength : 0.0f, wp::cw_mul(*wp::address(scene.light_diffuse, w, LIGHT), color)));
        keep(shine_r_LIGHT, wp::mul(above > 0.0f ? strength * shiny : 0.0f, *wp::address(scene.light_specular, w, LIGHT)));
        numbers.c[cut_LIGHT] = of_cone[0];
        numbers.c[cone_LIGHT] = of_cone[1];
        keep_whole(cone_whole_LIGHT, of_cone[1]);
    }
"""
_MAKE_TEXTURE = """
    if (surface.textured == 1) {
        const float high = surface.texture_size[1] / surface.texture_size[0];
        const wp::vec3 u = turned(surface.u), v = wp::mul(high, turned(surface.v));
        const wp::vec3 right = turned(eye.step_x), down = turned(eye.step_y);
        keep(u_x, wp::vec3(u[0], u[1], surface.uv_offset[0] + u[2] * from_eye));
        keep(v_x, wp::vec3(v[0], v[1], surface.uv_offset[1] + v[2] * from_eye / high));
        numbers.c[narrow] = 1.0f / high;
        numbers.c[right_u] = u[0] * right[0] + u[1] * right[1];
        numbers.c[right_v] = v[0] * right[0] + v[1] * right[1];
        numbers.c[down_u] = u[0] * down[0] + u[1] * down[1];
        numbers.c[down_v] = v[0] * down[0] + v[1] * down[1];
        numbers.c[turn_x] = -wp::dot(plane.inverse_depth, eye.step_x);
        numbers.c[turn_y] = -wp::dot(plane.inverse_depth, eye.step_y);
        numbers.c[wide] = 256.0f * wp::log2(surface.texture_size[0]);
    }
"""
_MADE = """
    keep(base_r, base);
    return numbers;
"""

_POINTS = """
    const auto one = [&](int number) { return every(ground.c[number]); };
    const auto three = [&](int number) { return Way {one(number), one(number + 1), one(number + 2)}; };
    const auto whole_number = [&](int number) { return (int)*(const volatile float*)&ground.c[number]; };
    // to a power that is the same for all points
    const auto raised = [&](floats value, int power, int times, floats lowest) {
        floats square = most(value, lowest);
        if (times < 0)
            return exp2_of(one(power) * log2_of(square));
        floats product = times & 1 ? square : (floats)1.0f;
        for (int left_over = times >> 1; left_over; left_over >>= 1) {
            square *= square;
            if (left_over & 1)
                product *= square;
        }
        return product;
    };
    wp::vec_t<192, wp::float32> colors;
    static const float middle[64] = {MIDDLES};
    for (int first = 0; first < count; first += ROLLFILM_WIDE) {
    const floats place_x = (float)x + *(const loose*)(middle + first), place_y = (float)y + 0.5f, from_eye = one(height);
    const Way step = three(step_x), start = three(corner), down = three(step_y);
    const Way row = {fused(down.x, place_y, start.x), fused(down.y, place_y, start.y), fused(down.z, place_y, start.z)};
    // never infinite: what is computed beside the plane is thrown away, but addresses come of it
    const floats depth = 1.0f / most(fused(step.x, place_x, row.x), 1.0e-12f);
    const floats px = depth * fused(step.y, place_x, row.y), py = depth * fused(step.z, place_x, row.z);
    // one over the distance to the eye
    const floats to_eye = reciprocal_root(fused(px, px, fused(py, py, one(height_square))));
    Way total = three(base_r);
"""
# light.reflected: (n . (l + e) / |l + e|)^2, with l . e = -(l . p) / |p|
_FAR = """
    {
        const Way to = three(to_x_LIGHT), shine = three(shine_r_LIGHT);
        const floats near = most(fused(-from_eye, to_eye, to.z), 1.0e-6f);
        const floats between = fused(to.x, px, fused(to.y, py, to.z * from_eye)) * to_eye;
        const floats square = near * near / most(fused(-2.0f, between, 2.0f), 1.0e-12f);
        const floats highlight = raised(square, exponent, whole_number(whole), one(lowest));
        ADD
    }
"""
_SPOT = """
    {
        const Way lamp = three(lamp_x_LIGHT), axis = three(axis_x_LIGHT);
        const floats ox = lamp.x - px, oy = lamp.y - py;
        const floats away = reciprocal_root(most(fused(ox, ox, fused(oy, oy, one(lamp_square_LIGHT))), 1.0e-12f));
        const floats facing = lamp.z * away;
        const floats cosine = -away * fused(ox, axis.x, fused(oy, axis.y, axis.z));
        const floats between = fused(ox, px, fused(oy, py, lamp.z * from_eye)) * to_eye;
        const floats near = most(fused(-from_eye, to_eye, facing), 1.0e-6f);
        const floats square = near * near / most(fused(-2.0f * between, away, 2.0f), 1.0e-12f);
        floats strength = raised(most(cosine, 1.0e-6f), cone_LIGHT, whole_number(cone_whole_LIGHT), one(cone_lowest_LIGHT));
        strength = cosine < one(cut_LIGHT) ? (floats)0.0f : strength;
        if (whole_number(fades_LIGHT) == 1) {
            const Way fading = three(fade_0_LIGHT);
            const floats distance = 1.0f / away;
            strength /= most(fused(distance, fused(distance, fading.z, fading.y), fading.x), 1.0e-6f);
        }
        const floats highlight = raised(square, exponent, whole_number(whole), one(lowest));
        const Way ambient = three(ambient_r_LIGHT), lit = three(lit_r_LIGHT), shine = three(shine_r_LIGHT);
        ADD
    }
"""
_ADD_FAR = """
        total.x = fused(shine.x, highlight, total.x);
        total.y = fused(shine.y, highlight, total.y);
        total.z = fused(shine.z, highlight, total.z);
"""
_ADD_SPOT = """
        total.x = fused(strength, fused(shine.x, highlight, fused(lit.x, facing, ambient.x)), total.x);
        total.y = fused(strength, fused(shine.y, highlight, fused(lit.y, facing, ambient.y)), total.y);
        total.z = fused(strength, fused(shine.z, highlight, fused(lit.z, facing, ambient.z)), total.z);
"""
# OpenGL cuts what a light with shadows adds at 1 (``light.shadowed_lighting``)
_SHARE_FAR = """
        const floats share = *(const loose*)(shares.c + 64 * NUMBER + first);
        const Way lit = three(lit_r_LIGHT);
        total.x = fused(share, least(fused(shine.x, highlight, lit.x), 1.0f), total.x);
        total.y = fused(share, least(fused(shine.y, highlight, lit.y), 1.0f), total.y);
        total.z = fused(share, least(fused(shine.z, highlight, lit.z), 1.0f), total.z);
"""
_SHARE_SPOT = """
        const floats share = *(const loose*)(shares.c + 64 * NUMBER + first);
        total.x = fused(share, least(strength * fused(shine.x, highlight, fused(lit.x, facing, ambient.x)), 1.0f), total.x);
        total.y = fused(share, least(strength * fused(shine.y, highlight, fused(lit.y, facing, ambient.y)), 1.0f), total.y);
        total.z = fused(share, least(strength * fused(shine.z, highlight, fused(lit.z, facing, ambient.z)), 1.0f), total.z);
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


def _names(features: Features) -> list[str]:
    """What is worked out once a view, in the order in which it is kept."""
    names = [f"{ray}{part}" for ray in _RAYS for part in ("", "_1", "_2")]
    names += [*_NUMBERS, *_TEXTURE_NUMBERS]
    for i, spot in enumerate(features.lights):
        names += [f"{name}_{i}" for name in (_SPOT_NUMBERS if spot else _FAR_NUMBERS)]
    return names + [f"{name}_{len(features.lights)}" for name in _FAR_NUMBERS]


def _making(features: Features) -> str:
    """The text that works out all numbers of a view. The headlight comes after the lights: all of it that changes are highlights."""
    text = _MAKE
    everywhere = "base = wp::add(base, lit);"
    for i, spot in enumerate(features.lights):
        light = {part: f"*wp::address(scene.light_{part}, w, {i})" for part in ("ambient", "diffuse", "specular")}
        light["towards"] = f"*wp::address(world.light_direction, w, {i})"
        text += _filled(_MAKE_SPOT if spot else _MAKE_FAR, **light, light=str(i), everywhere="" if i in features.shadows else everywhere)
    own = features.headlights
    head = {part: f"*wp::address(scene.own_head_{part}, w)" if own else f"scene.head_{part}" for part in ("ambient", "diffuse", "specular")}
    text += _filled(_MAKE_FAR, **head, towards="eye.forward", light=str(len(features.lights)), everywhere=everywhere)
    return text + (_MAKE_TEXTURE if features.textures else "") + _MADE


def _lighting(features: Features) -> str:
    """The text that lights points: ``light.lighting``, or where there are shadows ``light.shadowed_lighting``."""
    text = "" if features.dull and not features.headlights else _filled(_FAR, add=_ADD_FAR, light=str(len(features.lights)))
    for i, spot in enumerate(features.lights):
        if i not in features.shadows:
            text += _filled(_SPOT if spot else _FAR, add=_ADD_SPOT if spot else _ADD_FAR, light=str(i))
    if features.shadows:
        text += _CUT
    for number, i in enumerate(features.shadows):
        spot = features.lights[i]
        add = (_SHARE_SPOT if spot else _SHARE_FAR).replace("NUMBER", str(number))
        text += _filled(_SPOT if spot else _FAR, add=add, light=str(i))
    return text


class GroundShading(NamedTuple):
    """What a view works out once about its floor, the function that does so, and the one that colours points in a row of the picture."""

    numbers: type
    make: wp.Function
    colors: wp.Function


@cache
def ground_shading(features: Features) -> GroundShading:
    """The functions for these features, of perspective cameras."""
    names = _names(features)
    Ground = wp.types.vector(length=len(names), dtype=wp.float32)
    ChunkOfShares = wp.types.vector(length=64 * max(len(features.shadows), 1), dtype=wp.float32)
    order = f"    enum {{ {', '.join(names)} }};\n"
    # what each light adds is cut at 1 where there are shadows, else the sum of all
    wide = "ROLLFILM_WIDE"
    texture = PLANE_TEXTURE.replace("BRIGHTEST", "1.0e30f" if features.shadows else "1.0f")
    texture = gathers(wide) + filtering(wide) + texture if features.textures else ""

    @wp.func_native(order + _making(features).replace("COUNT", str(len(names))))
    def make_ground(scene: SceneData, world: WorldData, eye: Eye, plane: Plane, surface: Surface) -> Ground:  # pyright: ignore[reportInvalidTypeForm]
        """What all points of a plane share that a view sees."""

    points = _POINTS.replace("MIDDLES", ", ".join(f"{i}.5f" for i in range(64)))

    @wp.func_native(vectors(wide) + order + points + _lighting(features) + texture + _OUT)
    def ground_chunk(
        scene: SceneData,
        ground: Ground,  # pyright: ignore[reportInvalidTypeForm]
        surface: Surface,
        x: int,
        y: int,
        count: int,
        shares: ChunkOfShares,  # pyright: ignore[reportInvalidTypeForm]
    ) -> ChunkOfColors:  # pyright: ignore[reportInvalidTypeForm]
        """``count`` points from column ``x`` of row ``y``, as if the plane were all that is seen.

        ``shares`` are those of lights that cast shadows, light by light; without such lights they are not looked at.
        """

    return GroundShading(Ground, make_ground, ground_chunk)
