"""Every kind of texture on every type of geom, held to MuJoCo's own pictures; and cubes from afar."""

import numpy as np
import pytest

from render.scenes import HERE, look, scene_of, shot
from render.test_textures import FLAT_LIGHT, PAPER, checker
from rollfilm.engines.mujoco import MujocoEngine
from rollfilm.render import BatchRenderer, CameraRequest, RenderOptions
from rollfilm.render.scene_data import _images
from rollfilm.scene import Geom, Material, Texture, primitives
from rollfilm.scene.mujoco import load_model

mujoco = pytest.importorskip("mujoco")

PLATE = 'vertex="-.3 -.2 -.1  .3 -.2 -.1  .3 .2 -.1  -.3 .2 -.1  -.3 -.2 0  .3 -.2 0  .3 .2 0  -.3 .2 0"'
FACES = 'face="4 5 6 4 6 7 0 2 1 0 3 2 0 1 5 0 5 4 1 2 6 1 6 5 2 3 7 2 7 6 3 0 4 3 4 7"'
MAPPED = " ".join(f"{0.1 + 0.6 * i} {0.2 + 0.5 * j}" for _ in range(2) for i, j in ((0, 0), (1, 0), (1, 1), (0, 1)))

GEOMS = {
    "plane": 'type="plane" size=".3 .25 .1"',
    "box": 'type="box" size=".25 .2 .3" euler="30 40 50"',
    "box from below": 'type="box" size=".25 .2 .3" euler="210 40 50"',
    "sphere": 'type="sphere" size=".3" euler="30 0 70"',
    "ellipsoid": 'type="ellipsoid" size=".3 .25 .2" euler="70 0 70"',
    "capsule": 'type="capsule" size=".15 .2" euler="70 0 70"',
    "end of a capsule": 'type="capsule" size=".25 .05" euler="-150 0 0"',
    "cylinder": 'type="cylinder" size=".2 .25" euler="60 0 70"',
    "bottom of a cylinder": 'type="cylinder" size=".3 .1" euler="170 0 0"',
    "mesh": 'type="mesh" mesh="plain" euler="20 30 0"',
    "mapped mesh": 'type="mesh" mesh="mapped" euler="20 10 0"',
    "height field": 'type="hfield" hfield="hills" euler="30 0 0"',
}
#: MuJoCo binds a cube to a unit that takes images where a mesh has coordinates, and draws whatever image was there before.
UNDEFINED = ("mapped mesh", "cube")


def model_of(kind: str, uniform: str):
    """All geoms in rows, each with a frame of its own, under even light; the image of the texture has no symmetry."""
    places = [f"{i % 4 - 1.5} {1 - i // 4} 0" for i in range(len(GEOMS))]
    geoms = "".join(f'<geom name="{name}" pos="{at}" material="m" {geom}/>' for at, (name, geom) in zip(places, GEOMS.items(), strict=True))
    model = load_model(f"""<mujoco>
      <visual><headlight ambient="1 1 1" diffuse="0 0 0" specular="0 0 0"/>
        <quality offsamples="0" numslices="100" numstacks="50"/></visual>
      <statistic center="0 0 0" extent="1"/>
      <asset><texture name="t" type="{kind}" builtin="flat" width="32" height="{192 if kind == "cube" else 64}"/>
        <texture name="other" type="{"2d" if kind == "cube" else "cube"}" builtin="flat" width="8" height="8"/>
        <material name="m" texture="t" texrepeat="1.5 2" texuniform="{uniform}"/><material name="other" texture="other"/>
        <hfield name="hills" nrow="3" ncol="4" elevation="0 .2 .3 0  .5 1 .4 .2  0 .1 0 .7" size=".35 .3 .1 .1"/>
        <mesh name="plain" {PLATE} {FACES}/><mesh name="mapped" {PLATE} {FACES} texcoord="{MAPPED}"/></asset>
      <worldbody>{geoms}<geom size=".01" pos="0 0 -9" material="other"/><camera name="above" pos=".03 .02 4" fovy="45"/></worldbody>
    </mujoco>""")
    height, width = int(model.tex_height[0]), int(model.tex_width[0])
    y, x = np.mgrid[0:height, 0:width]
    pixels = np.stack([40 + 6 * x, 30 + 200 * y / height, 128 + 90 * np.sin(x / 4) * np.cos(y / 5)], axis=-1).astype(np.uint8)
    model.tex_data[: pixels.size] = pixels.reshape(-1)
    return model


def pictures_of(model, height, width):
    engine = MujocoEngine(model, 1)
    renderer = BatchRenderer(
        engine.scene, 1, [CameraRequest("above", height, width, ("rgb", "segmentation"))], options=RenderOptions(lod_pixels=0)
    )
    frame = renderer.render(engine)["above"]
    result = frame.rgb[0].copy(), frame.segmentation[0].copy()
    renderer.close()
    engine.close()
    return result


@pytest.mark.parametrize("uniform", ["false", "true"])
@pytest.mark.parametrize("kind", ["2d", "cube"])
def test_textures_look_as_in_mujoco(mujoco_picture, kind, uniform):
    model = model_of(kind, uniform)
    got, ids = pictures_of(model, 240, 320)
    want = mujoco_picture(model, "above", 240, 320)
    for i, name in enumerate(GEOMS):
        if (name, kind) == UNDEFINED:
            continue
        inside = ids == i
        for axis in (0, 1):  # away from edges
            for step in (1, -1):
                inside &= np.roll(ids, step, axis=axis) == i
        assert inside.sum() > 300, name
        difference = np.abs(got[inside].astype(int) - want[inside]).max(axis=1)
        assert np.median(difference) <= 2, (name, np.median(difference))
        # the picture jumps where an image repeats and where faces of a cube meet, and is blurred at flat angles
        assert np.mean(difference <= 8) > 0.85, (name, np.mean(difference <= 8))


@pytest.mark.parametrize("half_size", [(1.0, 1.0, 1.0), (0.5, 1.0, 2.0)])
def test_a_checkered_cube_far_away_turns_grey(half_size):
    """Every face has all levels: what is smaller than a pixel does not flicker, as it would if the finest image were all."""
    texture = Texture("squares", "cube", np.broadcast_to(checker(64), (6, 64, 64, 3)))
    geom = Geom("cube", 1, 0, *HERE, 0, Material(**PAPER), cube_scale=tuple(1.0 / s for s in half_size))
    scene = scene_of([primitives.box(half_size)], [geom], textures=(texture,), headlight=FLAT_LIGHT, far_m=1e4)
    near = shot(scene, look((0, 0, 2.1 * half_size[2]), (0, 0, 0), fov_y_rad=0.1), 32, 32, ("rgb",))["rgb"]
    far = shot(scene, look((300, 400, 350), (0, 0, 0), fov_y_rad=0.01), 32, 32, ("rgb", "segmentation"))
    assert near.min() < 30
    assert near.max() > 225
    seen = far["rgb"][far["segmentation"] == 1].astype(int)
    assert len(seen) > 50
    assert np.abs(seen - 127.5).max() <= 3


def test_the_size_of_a_cube_textures_level_follows_the_pixel():
    """A face seen square on: one pixel is 4 texels wide, so the level of a quarter of the size is shown."""
    size, pixels = 64, 16
    faces = np.random.default_rng(3).integers(0, 256, (6, size, size, 1)).repeat(3, axis=3).astype(np.uint8)
    geom = Geom("cube", 1, 0, *HERE, 0, Material(**PAPER))
    scene = scene_of([primitives.box((1.0, 1.0, 1.0))], [geom], textures=(Texture("t", "cube", faces),), headlight=FLAT_LIGHT)
    # the picture shows just the face +z: its right is +x, and +y, the top, is up the image
    got = shot(scene, look((0, 0, 3), (0, 0, 0), fov_y_rad=2 * np.arctan(0.5)), pixels, pixels, ("rgb",))["rgb"][..., 0]
    want = faces[4, ..., 0].reshape(pixels, 4, pixels, 4).mean(axis=(1, 3))
    assert np.abs(got[1:-1, 1:-1] - want[1:-1, 1:-1]).max() <= 3
    assert want.std() > 10


@pytest.mark.parametrize("size", [64, 100, 127])
def test_levels_of_images_of_any_size_look_as_in_mujoco(mujoco_picture, size):
    """A checkered floor at a flat angle: most of it is seen in levels whose sizes are halves rounded down."""
    model = load_model(f"""<mujoco>
      <visual><headlight ambient="1 1 1" diffuse="0 0 0" specular="0 0 0"/><quality offsamples="0"/></visual>
      <statistic center="0 0 0" extent="3"/>
      <asset><texture name="t" type="2d" builtin="checker" rgb1="0 0 0" rgb2=".8 .8 .8" width="{size}" height="{size}"/>
        <texture name="other" type="cube" builtin="flat" width="8" height="8"/>
        <material name="m" texture="t" texrepeat="12 12"/><material name="other" texture="other"/></asset>
      <worldbody><geom name="floor" type="plane" size="5 5 .1" material="m"/><geom size=".01" pos="0 0 -9" material="other"/>
        <camera name="above" pos="0 -5 1" xyaxes="1 0 0 0 .3 1"/></worldbody></mujoco>""")
    got, ids = pictures_of(model, 120, 160)
    want = mujoco_picture(model, "above", 120, 160)
    assert (ids == 0).mean() > 0.3
    assert np.abs(got.astype(int) - want)[ids == 0].mean() < 6


def test_a_line_in_the_middle_of_an_odd_image_stays_bright():
    pixels = np.zeros((127, 127, 3), np.uint8)
    pixels[63] = 255
    levels = _images(Texture("line", "2d", pixels), True)
    assert [level.shape[:2] for level in levels] == [(n, n) for n in (127, 63, 31, 15, 7, 3, 1)]
    assert [int(level.max()) for level in levels] == [255] * 7
    even = np.random.default_rng(4).integers(0, 256, (8, 4, 3)).astype(np.uint8)
    second = _images(Texture("even", "2d", even), True)[1]
    np.testing.assert_array_equal(second, np.rint(even.reshape(4, 2, 2, 2, 3).astype(float).mean(axis=(1, 3))))
