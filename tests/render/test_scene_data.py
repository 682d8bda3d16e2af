"""What kernels read: mip levels, texels in rows, lists of subtrees."""

import numpy as np
import pytest
import warp as wp

from render.scenes import scene_of, thing
from rollfilm.errors import InvalidArgumentError
from rollfilm.render.scene_data import pack_scene, pack_subtrees
from rollfilm.scene import Texture
from rollfilm.scene.primitives import box

CPU = wp.get_device("cpu")


def packed_texture(*textures):
    return pack_scene(scene_of([], [thing(-1, 0, texture=0)], textures=textures), CPU).data


def images(data) -> list[tuple[int, int, int]]:
    """First texel, width and height of every image, as they are packed into one word."""
    return [(word & 0xFFFFFFFF, (word >> 32) & 0xFFFF, word >> 48) for word in data.texture_image.numpy().tolist()]


def image(data, number: int) -> np.ndarray:
    """Image ``number`` read back texel by texel, (H, W, 3), by the layout that is written down: each row followed by a texel more."""
    (first, width, height), texel = images(data)[number], data.texel.numpy()
    pixels = np.zeros((height, width, 3), int)
    for y in range(height):
        for x in range(width):
            word = int(texel[first + y * (width + 1) + x])
            pixels[y, x] = word & 255, (word >> 8) & 255, word >> 16
    return pixels


@pytest.mark.parametrize("size", [(1, 1), (4, 4), (5, 7), (3, 16), (9, 2)])
def test_texels_are_found_again(size):
    pixels = np.random.default_rng(0).integers(0, 256, (*size, 3)).astype(np.uint8)
    data = packed_texture(Texture("one", "2d", pixels))
    np.testing.assert_array_equal(image(data, 0), pixels)


def test_mip_levels_halve_to_one_texel_and_average():
    pixels = np.random.default_rng(1).integers(0, 256, (6, 8, 3)).astype(np.uint8)
    data = packed_texture(Texture("one", "2d", pixels))
    assert [size for _, *size in images(data)] == [[8, 6], [4, 3], [2, 1], [1, 1]]
    for number in range(3):
        fine, coarse = image(data, number).astype(float), image(data, number + 1)
        if len(fine) % 2:
            fine = fine[[len(fine) // 2] * 2]  # of three or one the middle
        mean = (fine[::2, ::2] + fine[1::2, ::2] + fine[::2, 1::2] + fine[1::2, 1::2]) / 4
        # levels are made one from the other before rounding
        assert np.abs(coarse - mean).max() <= 1.0


def test_a_flat_texture_stays_flat_on_every_level():
    data = packed_texture(Texture("flat", "2d", np.full((5, 9, 3), (10, 200, 255), np.uint8)))
    for number in range(len(images(data))):
        assert (image(data, number) == (10, 200, 255)).all()


def test_textures_follow_each_other_and_cubes_have_six_images():
    random = np.random.default_rng(2)
    first, faces, last = (random.integers(0, 256, shape).astype(np.uint8) for shape in ((2, 2, 3), (6, 3, 3, 3), (1, 5, 3)))
    data = packed_texture(Texture("first", "2d", first), Texture("sky", "skybox", faces), Texture("last", "2d", last))
    assert data.texture_level.numpy().tolist() == [0, 2, 8, 11]
    np.testing.assert_array_equal(image(data, 0), first)
    for face in range(6):
        np.testing.assert_array_equal(image(data, 2 + face), faces[face])
    np.testing.assert_array_equal(image(data, 8), last)


def test_subtrees_of_bodies_in_any_order():
    # not depth first: 1 has 3 and 5, 2 has 4, 3 has 6
    parent = np.array([0, 0, 0, 1, 2, 1, 3], np.int32)
    first, members = pack_subtrees(parent)
    lists = [members[first[i] : first[i + 1]].tolist() for i in range(7)]
    assert [sorted(members) for members in lists] == [[0, 1, 2, 3, 4, 5, 6], [1, 3, 5, 6], [2, 4], [3, 6], [4], [5], [6]]
    assert [members[0] for members in lists] == list(range(7))


def test_the_world_alone():
    first, members = pack_subtrees(np.zeros(1, np.int32))
    assert (first.tolist(), members.tolist()) == ([0, 1], [0])


def test_more_than_a_key_can_number_is_refused():
    many = [thing(0, i) for i in range((1 << 14) + 1)]
    with pytest.raises(InvalidArgumentError, match=r"has 16386 visible geoms; at most 16384"):
        pack_scene(scene_of([box((1, 1, 1))], many), CPU)
