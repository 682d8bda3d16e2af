"""Lights that are read once for many points: while a kernel writes, memory is read again at every pixel, what lies in registers is not.

What is computed is what ``light`` computes.
"""

from functools import cache
from typing import Any

import warp as wp

from rollfilm.render.kernels.features import Features
from rollfilm.render.kernels.light import (
    Point,
    light_by_dull_head,
    light_by_head,
    light_by_own_head,
    no_brighter,
    reflected,
    spot_on,
)
from rollfilm.render.kernels.types import SceneData, WorldData

# Numbers of a lamp, whole runs of four: place, direction, ambient, diffuse, specular, attenuation and cone.
LAMP = 20


def lamps_of_view(lights: int) -> int:
    """Lamps that a view has room for: its lights in the world's axes, then those and the headlight in the ground's (``ground``)."""
    return 2 * lights + 1


@wp.func
def vector_at(lamps: Any, at: int):
    """Three numbers in a row."""
    return wp.vec3(lamps[at], lamps[at + 1], lamps[at + 2])


@wp.func
def store_vector(lamps: wp.array2d(dtype=float), row: int, at: int, v: wp.vec3):
    """Three numbers in a row."""
    lamps[row, at] = v[0]
    lamps[row, at + 1] = v[1]
    lamps[row, at + 2] = v[2]


@wp.func
def store_lamps(scene: SceneData, world: WorldData, w: int, camera_position: wp.vec3, lamps: wp.array2d(dtype=float), row: int):
    """The lights of a world, one after the other; their places are those from the camera."""
    for i in range(scene.light_spot.shape[0]):
        at = wp.static(LAMP) * i
        store_vector(lamps, row, at, world.light_position[w, i] - camera_position)
        store_vector(lamps, row, at + 3, world.light_direction[w, i])
        store_vector(lamps, row, at + 6, scene.light_ambient[w, i])
        store_vector(lamps, row, at + 9, scene.light_diffuse[w, i])
        store_vector(lamps, row, at + 12, scene.light_specular[w, i])
        store_vector(lamps, row, at + 15, scene.light_attenuation[i])
        lamps[row, at + 18] = scene.light_cone[i][0]
        lamps[row, at + 19] = scene.light_cone[i][1]


_LOAD = """
    const char* const from = (const char*)lamps.data + row * (size_t)lamps.strides[0] + 4 * FIRST;
#if defined(__CUDA_ARCH__)
    // sixteen bytes at a time
    wp::vec_t<NUMBERS, float> all;
    for (int i = 0; i < NUMBERS / 4; ++i) {
        const float4 part = ((const float4*)from)[i];
        all[4 * i] = part.x;
        all[4 * i + 1] = part.y;
        all[4 * i + 2] = part.z;
        all[4 * i + 3] = part.w;
    }
    return all;
#else
    return *(const wp::vec_t<NUMBERS, float>*)from;
#endif
"""


@cache
def lamp_loading(first: int, count: int) -> wp.Function:
    """The function that reads ``count`` lamps of a row, from number ``first`` on."""
    numbers = LAMP * max(1, count)
    Lamps = wp.types.vector(length=numbers, dtype=wp.float32)

    snippet = _LOAD.replace("NUMBERS", str(numbers)).replace("FIRST", str(LAMP * first))

    @wp.func_native(snippet)
    def load_lamps(lamps: wp.array2d(dtype=float), row: int) -> Lamps:
        """All numbers of those lamps."""

    return load_lamps


def _lamp(i: int, spot: bool) -> wp.Function:
    """The function that gives what lamp ``i`` adds."""
    at = LAMP * i

    @wp.func
    def by_spot(lamps: Any, point: Point):
        return spot_on(
            point,
            vector_at(lamps, wp.static(at)),
            vector_at(lamps, wp.static(at + 3)),
            vector_at(lamps, wp.static(at + 15)),
            wp.vec2(lamps[wp.static(at + 18)], lamps[wp.static(at + 19)]),
            vector_at(lamps, wp.static(at + 6)),
            vector_at(lamps, wp.static(at + 9)),
            vector_at(lamps, wp.static(at + 12)),
        )

    @wp.func
    def by_directional(lamps: Any, point: Point):
        direction = vector_at(lamps, wp.static(at + 3))
        ambient = vector_at(lamps, wp.static(at + 6))
        return reflected(point, -direction, ambient, vector_at(lamps, wp.static(at + 9)), vector_at(lamps, wp.static(at + 12)))

    return by_spot if spot else by_directional


def _one_more(before: wp.Function, lamp: wp.Function) -> wp.Function:
    @wp.func
    def lit(scene: SceneData, lamps: Any, w: int, forward: wp.vec3, point: Point):
        return before(scene, lamps, w, forward, point) + lamp(lamps, point)

    return lit


def _one_more_behind(before: wp.Function, lamp: wp.Function, place: int) -> wp.Function:
    @wp.func
    def lit(scene: SceneData, lamps: Any, w: int, forward: wp.vec3, point: Point, shares: Any):
        return before(scene, lamps, w, forward, point, shares) + shares[place] * no_brighter(lamp(lamps, point))

    return lit


@cache
def lamp_lighting(features: Features) -> wp.Function:
    """The function that lights a point by the headlight and by lamps: ``light.lighting``, or ``light.shadowed_lighting`` with shadows."""
    head = light_by_own_head if features.headlights else light_by_dull_head if features.dull else light_by_head

    @wp.func
    def free(scene: SceneData, lamps: Any, w: int, forward: wp.vec3, point: Point):
        return head(scene, w, forward, point)

    for i, spot in enumerate(features.lights):
        if i not in features.shadows:
            free = _one_more(free, _lamp(i, spot))
    if not features.shadows:
        return free
    unshadowed = free

    @wp.func
    def lit(scene: SceneData, lamps: Any, w: int, forward: wp.vec3, point: Point, shares: Any):
        return no_brighter(unshadowed(scene, lamps, w, forward, point))

    for place, i in enumerate(features.shadows):
        lit = _one_more_behind(lit, _lamp(i, features.lights[i]), place)
    return lit
