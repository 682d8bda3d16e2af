"""Pinholes of every shape and orthographic cameras: what is seen, held to a ray caster; how it is lit, held to MuJoCo's renderer."""

import math
from dataclasses import replace

import numpy as np
import pytest

from render.scenes import film, look, shot
from render.test_visibility import hold_to_rays, soup
from rollfilm.errors import InvalidArgumentError
from rollfilm.scene import Camera, Placement
from rollfilm.scene.mujoco import load_model, load_scene

#: In pixels of a picture of 40 x 56: far off the middle, stretched, with the principal point outside of the picture.
PINHOLES = {
    "shifted": {"fx": 40.0, "fy": 40.0, "cx": 12.5, "cy": 31.0},
    "stretched": {"fx": 60.0, "fy": 25.0, "cx": 28.0, "cy": 20.0},
    "beside": {"fx": 35.0, "fy": 45.0, "cx": -20.0, "cy": 55.0},
    "long": {"fx": 400.0, "fy": 300.0, "cx": 100.0, "cy": -80.0},
}
SIZE = (40, 56)


def with_lens(camera: Camera, name: str, **lens) -> Camera:
    return replace(camera, name=name, **lens)


@pytest.mark.parametrize("seed", [0, 1])
def test_pinholes_of_every_shape_see_what_rays_see(seed):
    scene = soup(seed)
    eye = look((1.1, -0.9, 0.7), (0.0, 0.1, 0.0))
    cameras = [with_lens(eye, name, **lens) for name, lens in PINHOLES.items()]
    pictures = film(scene, cameras, *SIZE, lod_pixels=0)
    for camera in cameras:
        hold_to_rays(scene, camera, {output: array[0] for output, array in pictures[camera.name].items()}, most_edges=0.08)


@pytest.mark.parametrize("seed", [0, 1])
def test_orthographic_cameras_see_what_rays_see(seed):
    scene = soup(seed)
    # from outside, from right above, and from within the heap, where the near plane cuts
    eyes = [((1.1, -0.9, 0.7), (0, 0.1, 0)), ((0.05, 0, 2), (0.05, 0, 0)), ((0.1, 0.1, 0), (-0.3, 0.4, -0.2))]
    cameras = [
        replace(look(*where, f"flat{i}"), extent_y_m=extent) for i, (where, extent) in enumerate(zip(eyes, (1.5, 2.5, 0.8), strict=True))
    ]
    pictures = film(scene, cameras, *SIZE, lod_pixels=0)
    for camera in cameras:
        truth = hold_to_rays(scene, camera, {output: array[0] for output, array in pictures[camera.name].items()}, most_edges=0.08)
        assert len(np.unique(truth.segmentation)) > 3


def test_a_picture_of_another_size_shows_the_whole_sensor():
    scene = soup(2)
    eye = look((1.1, -0.9, 0.7), (0.0, 0.1, 0.0))
    own = with_lens(eye, "own", height=20, width=28, fx=20.0, fy=20.0, cx=6.25, cy=15.5)
    pixels = with_lens(eye, "pixels", **PINHOLES["shifted"])
    pictures = film(scene, [own, pixels], *SIZE)
    for output, picture in pictures["pixels"].items():
        np.testing.assert_array_equal(pictures["own"][output], picture)
    # stretched to another ratio of sides
    hold_to_rays(scene, own, shot(scene, own, 48, 40, lod_pixels=0), most_edges=0.08)


def test_levels_of_detail_are_chosen_by_pixels_of_the_picture():
    scene = load_scene('<mujoco><worldbody><geom size=".3"/></worldbody></mujoco>')
    flat = replace(look((0, -2, 0.3), (0, 0, 0)), extent_y_m=1.0)
    for camera in (flat, with_lens(look((0, -2, 0.3), (0, 0, 0)), "long", fx=140.0, fy=70.0, cx=20.0, cy=12.0)):
        fine, coarse = (shot(scene, camera, *SIZE, lod_pixels=pixels)["segmentation"] for pixels in (0, 0.5))
        assert (fine >= 0).mean() > 0.05
        assert (fine != coarse).mean() < 0.02, camera.name
        assert (shot(scene, camera, *SIZE, lod_pixels=20)["segmentation"] != fine).any(), camera.name


MODEL = """
<mujoco>
  <visual><headlight ambient=".2 .2 .2" diffuse=".4 .4 .4" specular=".3 .3 .3"/></visual>
  <asset>
    <texture name="sky" type="skybox" builtin="gradient" rgb1=".3 .5 .7" rgb2=".8 .3 .2" width="64" height="384"/>
    <texture name="squares" type="2d" builtin="checker" rgb1=".2 .3 .4" rgb2=".8 .7 .6" width="128" height="128"/>
    <material name="squares" texture="squares" texrepeat="3 3" texuniform="true"/>
    <mesh name="tile" vertex="-.3 -.3 0 .3 -.3 0 .3 .3 0 -.3 .3 .3" texcoord="0 0 1 0 1 1 0 1" face="0 1 2 0 2 3"/>
  </asset>
  <worldbody>
    <light pos="0 0 3" dir=".2 .3 -1" directional="true" diffuse=".4 .4 .4"/>
    <light pos="-1 -1.5 2" dir=".5 .7 -1" cutoff="40" exponent="5" diffuse=".5 .4 .3"/>
    <geom type="plane" size="2 1.5 .1" material="squares"/>
    <geom type="mesh" mesh="tile" pos="-.6 .2 .5" euler="40 10 0" material="squares"/>
    <geom type="box" size=".1 .2 .15" pos="0 0 .5" euler="10 20 30" rgba=".9 .3 .2 1"/>
    <geom type="sphere" size=".2" pos=".6 .3 .4" rgba=".2 .7 .3 1"/>
    <camera name="tele" pos=".3 -2 1.2" xyaxes="1 .1 0 0 .5 1"
      sensorsize=".004 .003" focal=".005 .004" principal=".0006 -.0004" resolution="160 120"/>
    <camera name="flat" pos=".3 -2 1.2" xyaxes="1 .1 0 0 .5 1" projection="orthographic" fovy="1.6"/>
  </worldbody>
</mujoco>"""


@pytest.mark.parametrize("name", ["tele", "flat"])
def test_colours_are_those_of_mujoco(name, mujoco_picture):
    model = load_model(MODEL)
    want = mujoco_picture(model, model.camera(name).id, 96, 150).astype(int)
    scene = load_scene(model)
    got = shot(scene, scene.camera(name), 96, 150, ("rgb",), lod_pixels=0)["rgb"].astype(int)
    near = (np.abs(got - want).max(axis=-1) <= 8).mean()
    # edges are anti-aliased there and highlights are of corners
    assert near > 0.95
    moved = np.roll(got, 2, axis=1)
    assert (np.abs(moved - want).max(axis=-1) <= 8).mean() < near - 0.05


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ({"fx": 0.0}, "fx is 0.0; a focal length is a positive number of pixels"),
        ({"fx": -3.0}, "fx is -3.0"),
        ({"fx": math.nan}, "fx is nan"),
        ({"fx": math.inf}, "fx is inf"),
        ({"fx": 3.0, "fy": 0.0}, "fy is 0.0"),
        ({"fx": 3.0, "cx": math.nan}, "cx is nan; a principal point is a finite number of pixels"),
        ({"fx": 3.0, "cy": math.inf}, "cy is inf"),
        ({"cx": 3.0}, "cx came without fx"),
        ({"fy": 3.0, "cy": 1.0}, "fy, cy came without fx"),
        ({"extent_y_m": 0.0}, "extent_y_m is 0.0; it is a positive number of metres"),
        ({"extent_y_m": math.nan}, "extent_y_m is nan"),
        ({"extent_y_m": 1.0, "fx": 2.0}, "fx and extent_y_m came together"),
        ({"height": 3}, "given together, or neither"),
        ({"height": 0, "width": 4}, "positive integers"),
        ({"height": 2.5, "width": 4}, "positive integers"),
    ],
)
def test_lenses_that_no_camera_has_are_refused(numbers, message):
    with pytest.raises(InvalidArgumentError, match=f"camera 'odd'.*{message}"):
        Camera("odd", Placement(), **numbers)


def test_the_field_of_view_follows_from_the_focal_length():
    assert Camera("eye", height=200, width=100, fx=80.0, fy=100.0).fov_y_rad == pytest.approx(math.pi / 2)
    assert Camera("eye", height=200, width=100, fx=100.0, cy=0.0).fov_y_rad == pytest.approx(math.atan(2))
