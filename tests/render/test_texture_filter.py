"""Texels are filtered as a GPU's texture units do it, to the bit: against the rule in whole numbers of any size."""

import numpy as np
import pytest
import warp as wp

from render.test_textures import textured_plane
from rollfilm.render.kernels.filter_chunk import filtering
from rollfilm.render.kernels.texture import bilinear_face, filtered, trilinear
from rollfilm.render.kernels.types import SceneData
from rollfilm.render.kernels.vectors import gathers, vectors
from rollfilm.render.scene_data import _images, pack_scene
from rollfilm.scene import Texture

PLACES = 4096
PIXELS = np.random.default_rng(0).integers(0, 256, (11, 70, 3), np.uint8)

Places = wp.types.vector(length=16, dtype=wp.float32)
Colors = wp.types.vector(length=48, dtype=wp.float32)


@wp.kernel
def look(scene: SceneData, last: int, place: wp.array(dtype=wp.vec3), out: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    out[i] = trilinear(scene, 0, last, place[i][0], place[i][1], place[i][2])


@wp.kernel
def look_at_face(scene: SceneData, place: wp.array(dtype=wp.vec3), out: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    out[i] = filtered(bilinear_face(scene, 0, place[i][0], place[i][1], 256))


@wp.func_native(
    vectors(16)
    + gathers(16)
    + filtering(16)
    + """
    wp::vec_t<48, float> out;
    const words width = (words)(wp::uint32)WIDTH, height = (words)(wp::uint32)HEIGHT;
    const ints x = texel_place(fixed_place(*(const loose*)u.c), width), y = texel_place(fixed_place(*(const loose*)v.c), height);
    const words column = __builtin_elementwise_min(__builtin_bit_cast(words, x >> 8), width - 1);
    const words line = __builtin_elementwise_min(__builtin_bit_cast(words, y >> 8), height - 1);
    const ints at = __builtin_bit_cast(ints, line * (width + 1) + column);
    words t[4];
    two_texels(scene.texel.data, at, t[0], t[1]);
    two_texels(scene.texel.data, at + (WIDTH + 1), t[2], t[3]);
    const Sums sum = weighed(t, x, y, (words)256u);
    *(loose*)out.c = filtered(sum.r);
    *(loose*)(out.c + 16) = filtered(sum.g);
    *(loose*)(out.c + 32) = filtered(sum.b);
    return out;
""".replace("WIDTH", str(PIXELS.shape[1])).replace("HEIGHT", str(PIXELS.shape[0]))
)
def many(scene: SceneData, u: Places, v: Places) -> Colors: ...


@wp.kernel
def look_at_many(scene: SceneData, place: wp.array(dtype=wp.vec3), out: wp.array(dtype=wp.vec3)):
    i = 16 * wp.tid()
    u = Places()
    v = Places()
    for k in range(16):
        u[k] = place[i + k][0]
        v[k] = 1.0 - place[i + k][1]
    colors = many(scene, u, v)
    for k in range(16):
        out[i + k] = wp.vec3(colors[k], colors[16 + k], colors[32 + k])


def rule(images, u, v, level, wraps=True):
    """What the texture unit of an H200 gives (found by sampling it): u and v down in [0, 1], levels at least 0."""
    levels = np.minimum(np.floor(level * 256).astype(np.int64), 256 * (len(images) - 1))
    total = np.zeros((len(u), 3), np.int64)
    for number, image in enumerate(images):
        height, width = image.shape[:2]
        part = levels & 255
        for weight, chosen in ((256 - part, levels >> 8 == number), (part, (levels >> 8) + 1 == number)):
            x, y = (
                (np.floor(place * np.float32(2**21)).astype(np.int64) * size * 256 + 2**20) // 2**21 - 128
                for place, size in ((u, width), (v, height))
            )
            if not wraps:
                x, y = np.clip(x, 0, 256 * (width - 1)), np.clip(y, 0, 256 * (height - 1))
            fx, fy = x & 255, y & 255
            right = (fx * weight + 128) >> 8
            left = weight - right
            lower_right, lower_left = (right * fy + 128) >> 8, (left * fy + 127) >> 8
            column, line = x >> 8, y >> 8
            for dy, dx, share in (
                (0, 0, left - lower_left), (0, 1, right - lower_right), (1, 0, lower_left), (1, 1, lower_right),
            ):  # fmt: skip
                total += np.where(chosen, share, 0)[:, None] * image[(line + dy) % height, (column + dx) % width]
    return (total + ((total + 128) >> 8)) / 65535.0


def places(seed: int, least: float):
    random = np.random.default_rng(seed)
    place = random.uniform((least, least, 0.0), (1.0 - least, 1.0 - least, 8.0), (PLACES, 3)).astype(np.float32)
    place[: PLACES // 4, 2] = np.floor(place[: PLACES // 4, 2])  # on a level
    # where texels meet, and in their middles
    place[-256:, 0] = np.arange(256) / 256 * 0.9 + 0.05
    return place


def looked(kernel, scene, place, *numbers, dim=PLACES):
    packed = pack_scene(scene, wp.get_device("cpu"), 1)
    out = wp.zeros(PLACES, dtype=wp.vec3, device="cpu")
    wp.launch(kernel, dim=dim, inputs=[packed.data, *numbers, wp.array(place, dtype=wp.vec3, device="cpu")], outputs=[out], device="cpu")
    return out.numpy()


@pytest.mark.parametrize("seed", [0, 1])
def test_images_are_filtered_between_two_levels(seed):
    images = _images(Texture("paper", "2d", PIXELS), True)
    place = places(seed, 0.001)
    got = looked(look, textured_plane(PIXELS), place, len(images) - 1)
    want = rule(images, place[:, 0], np.float32(1) - place[:, 1], place[:, 2])
    np.testing.assert_allclose(got, want, atol=1e-7)


def test_sixteen_at_once_are_filtered_alike():
    place = places(2, 0.001)
    got = looked(look_at_many, textured_plane(PIXELS), place, dim=PLACES // 16)
    want = rule([PIXELS], place[:, 0], np.float32(1) - place[:, 1], np.zeros(PLACES))
    np.testing.assert_allclose(got, want, atol=1e-7)


def test_faces_of_a_cube_end_at_their_edges():
    square = PIXELS[:, :11]
    place = places(3, 0.0)
    got = looked(look_at_face, textured_plane(square), place)
    want = rule([square], place[:, 0], place[:, 1], np.zeros(PLACES), wraps=False)
    np.testing.assert_allclose(got, want, atol=1e-7)
