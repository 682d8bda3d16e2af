"""Textures and the sky: the right way round, repeated, filtered, and the right size of image from afar."""

import numpy as np
import pytest

from render.raycast import camera_axes, pixel_rays
from render.scenes import HERE, WORLD, look, scene_of, shot, thing
from rollfilm.scene import Camera, Geom, Headlight, Material, Mesh, MeshLevel, Placement, Scene, Texture

#: Shows texels as they are.
FLAT_LIGHT = Headlight(ambient=(1.0, 1.0, 1.0), diffuse=(0.0, 0.0, 0.0), specular=(0.0, 0.0, 0.0))
PAPER = {"rgba": (1.0, 1.0, 1.0, 1.0), "specular": 0.0, "texture": 0}


def textured_plane(pixels, scale=(1.0, 1.0), offset=(0.0, 0.0), **material) -> Scene:
    geom = Geom("sheet", 1, 0, *HERE, -1, Material(**(PAPER | material)), uv_scale=scale, uv_offset=offset)
    return scene_of([], [geom], textures=(Texture("paper", "2d", pixels),), headlight=FLAT_LIGHT)


def above(height: float, x: float = 0.0, y: float = 0.0, fov_y_rad: float = 0.8) -> Camera:
    """A camera that looks straight down: the picture's right is +x, its top is +y."""
    return Camera("above", Placement(position=(x, y, height)), fov_y_rad)


def bilinear(pixels, u, v):
    """Bilinear lookup with repetition (OpenGL 2.1, section 3.8.8), v up from the last row."""
    height, width = pixels.shape[:2]
    x, y = u * width - 0.5, (1 - v) * height - 0.5
    x0, y0 = np.floor(x).astype(int), np.floor(y).astype(int)
    fx, fy = (x - x0)[..., None], (y - y0)[..., None]
    at = lambda dy, dx: pixels[(y0 + dy) % height, (x0 + dx) % width].astype(float)  # noqa: E731
    return (at(0, 0) * (1 - fx) + at(0, 1) * fx) * (1 - fy) + (at(1, 0) * (1 - fx) + at(1, 1) * fx) * fy


@pytest.mark.parametrize(("scale", "offset"), [((1, 1), (0, 0)), ((0.8, 1.7), (0.3, -0.2)), ((-1, 1), (0.1, 0)), ((2, -0.5), (0, 0.4))])
@pytest.mark.parametrize("size", [(3, 5), (8, 8), (1, 2)])
def test_magnified_texels_are_blended_as_opengl_blends_them(size, scale, offset):
    pixels = np.random.default_rng(0).integers(0, 256, (*size, 3)).astype(np.uint8)
    camera = above(1.0, 0.2, -0.3)
    got = shot(textured_plane(pixels, scale, offset), camera, 61, 90, ("rgb",))["rgb"].astype(float)
    eye, _ = camera_axes(camera)
    point = (eye + pixel_rays(camera, 61, 90)).reshape(61, 90, 3)
    want = bilinear(pixels, scale[0] * point[..., 0] + offset[0], scale[1] * point[..., 1] + offset[1])
    # weights are counted in 256ths of a texel
    assert np.abs(got - want).max() <= 2.5


def test_an_image_lies_on_a_plane_as_it_is():
    pixels = np.array([[(255, 0, 0), (0, 255, 0)], [(0, 0, 255), (255, 255, 0)]], np.uint8)
    # one image fills the square from (0, 0) to (1, 1), and the picture
    got = shot(textured_plane(pixels), above(0.5, 0.5, 0.5, np.pi / 2), 40, 40, ("rgb",))["rgb"]
    corners = got[[10, 10, 29, 29], [10, 29, 10, 29]].reshape(2, 2, 3)
    assert np.abs(corners.astype(int) - pixels).max() <= 20


def test_a_mesh_has_texture_coordinates_of_its_own():
    pixels = np.random.default_rng(1).integers(0, 256, (6, 4, 3)).astype(np.uint8)
    vertices = np.array([(-1, -1, 0), (1, -1, 0), (1, 1, 0), (-1, 1, 0)], np.float32)
    uvs = np.array([(0.1, 0.9), (0.1, 0.2), (0.8, 0.2), (0.8, 0.9)], np.float32)  # turned by a quarter
    level = MeshLevel(vertices, np.tile(np.float32([0, 0, 1]), (4, 1)), np.array([(0, 1, 2), (0, 2, 3)], np.int32), 0.0, uvs)
    mesh = Mesh("sheet", (level,), np.zeros(3, np.float32), 1.5)
    geom = Geom("sheet", 1, 0, *HERE, 0, Material(**PAPER), uv_scale=(0.9, 1.0), uv_offset=(0.0, 0.05))
    scene = scene_of([mesh], [geom], textures=(Texture("paper", "2d", pixels),), headlight=FLAT_LIGHT)
    camera = look((0.3, -0.8, 0.9), (0.05, 0, 0), fov_y_rad=0.9)
    got = shot(scene, camera, 60, 60, ("rgb",))["rgb"].astype(float)
    eye, _ = camera_axes(camera)
    rays = pixel_rays(camera, 60, 60)
    point = (eye - (eye[2] / rays[:, 2])[:, None] * rays).reshape(60, 60, 3)
    u, v = 0.1 + 0.35 * (point[..., 1] + 1), 0.9 - 0.35 * (point[..., 0] + 1)
    want = bilinear(pixels, 0.9 * u, v + 0.05)
    inside = np.abs(point[..., :2]).max(axis=-1) < 0.99
    assert inside.mean() > 0.5
    assert np.abs(got - want)[inside].max() <= 3


def test_color_and_light_multiply_the_texture_after_they_are_limited():
    pixels = np.full((2, 2, 3), (200, 100, 50), np.uint8)
    got = shot(textured_plane(pixels, rgba=(0.5, 1.0, 1.0, 1.0), emission=1.0), above(1.0), 4, 4, ("rgb",))["rgb"]
    # ambient and emission give twice the color, of which no channel passes 1
    np.testing.assert_array_equal(np.unique(got.reshape(-1, 3), axis=0), [(200, 100, 50)])


def checker(size):
    squares = np.indices((size, size)).sum(axis=0) % 2
    return (255 * squares[..., None] * np.ones(3)).astype(np.uint8)


def test_a_checker_far_away_turns_grey():
    scene = textured_plane(checker(64), (4.0, 4.0))
    near, far = (shot(scene, above(h), 64, 64, ("rgb",))["rgb"].astype(int) for h in (0.05, 30.0))
    assert near.min() < 30
    assert near.max() > 225
    assert np.abs(far - 127.5).max() <= 3


@pytest.mark.parametrize("texels_a_pixel", [1, 2, 4, 8])
def test_the_mip_level_is_the_logarithm_of_the_pixels_size(texels_a_pixel):
    # random texels: a level is told by its deviation, which halves from one to the next
    size = 256
    pixels = np.random.default_rng(2).integers(0, 256, (size, size, 1)).repeat(3, axis=2).astype(np.uint8)
    side = 2 * np.tan(0.4) / 48  # of a pixel, on the plane one metre below
    scale = texels_a_pixel / size / side
    got = shot(textured_plane(pixels, (scale, scale)), above(1.0), 48, 48, ("rgb",))["rgb"][..., 0].astype(float)
    level = pixels[..., 0].astype(float)
    for _ in range(int(np.log2(texels_a_pixel))):
        level = level.reshape(len(level) // 2, 2, -1, 2).mean(axis=(1, 3))
    eye_x = (np.arange(48) + 0.5 - 24) * side * scale
    u, v = np.meshgrid(eye_x, -eye_x)
    want = bilinear(level[..., None], u, v)[..., 0]
    # the level between two is chosen to a 256th, the weights likewise
    assert np.abs(got - want).max() <= 6
    assert want.std() > 3


def test_textured_and_plain_things_side_by_side():
    pixels = np.full((2, 2, 3), (10, 200, 30), np.uint8)
    plain = thing(-1, 2, (0, 0, 0.001), rgba=(1.0, 0.0, 0.0, 1.0), specular=0.0)
    half = Geom("half", 2, 0, (0.5, 0, 0.01), HERE[1], -1, plain.material, plane_half_size=(0.5, 5.0))
    unused = Geom("sheet", 1, 0, *HERE, -1, Material(**PAPER))
    scene = Scene(WORLD, (unused, half), (), (Texture("paper", "2d", pixels),), headlight=FLAT_LIGHT)
    got = shot(scene, above(1.0), 20, 20, ("rgb",))["rgb"]
    assert (got[:, :9] == (10, 200, 30)).all()
    assert (got[:, 11:] == (255, 0, 0)).all()


FACES = np.array([(255, 0, 0), (0, 255, 0), (0, 0, 255), (255, 255, 0), (0, 255, 255), (255, 0, 255)], np.uint8)


@pytest.mark.parametrize(
    ("direction", "face"),
    # MuJoCo's sky is turned by 90 degrees about x: the cube's +y, its top, is the world's +z
    [((1, 0, 0), 0), ((-1, 0, 0), 1), ((0, 0, 1), 2), ((0, 0, -1), 3), ((0, -1, 0), 4), ((0, 1, 0), 5)],
)
def test_each_face_of_the_sky_is_where_it_belongs(direction, face):
    pixels = np.broadcast_to(FACES[:, None, None], (6, 4, 4, 3)).copy()
    # on each face the texel in the upper left corner is white
    pixels[:, 0, 0] = 255
    scene = scene_of([], [], textures=(Texture("sky", "skybox", pixels),), skybox=0)
    got = shot(scene, look((0, 0, 0), direction, fov_y_rad=1.5), 33, 33, ("rgb",))["rgb"]
    assert (got[12:21, 12:21] == FACES[face]).all()
    # OpenGL's cube maps are left-handed: the four sides are seen as in a mirror
    if direction[2] == 0:
        assert (got[2, -3] > 200).all()
        for corner in (got[2, 2], got[-3, 2], got[-3, -3]):
            np.testing.assert_array_equal(corner, FACES[face])


def test_without_a_sky_the_background_is_black():
    scene = scene_of([], [])
    assert not shot(scene, look((0, 0, 0), (1, 0, 0)), 8, 8, ("rgb",))["rgb"].any()
