"""Looks that cannot be, or would change nothing, are answered by one clear error that names what is wrong."""

import dataclasses

import numpy as np
import pytest

from render.looks_scene import looks_scene, with_camera, with_geom
from render.scenes import still
from rollfilm.errors import InvalidArgumentError, NotFoundError
from rollfilm.render import BatchRenderer, CameraRequest, WorldLooks

B = 2
RGBA = np.full((B, 4), 0.5)
YES, NO = np.ones(B, bool), np.zeros(B, bool)
XYZ = np.ones((B, 3))


def renderer_of(scene=None):
    return BatchRenderer(scene or looks_scene(), B, [CameraRequest("front", 4, 4)])


@pytest.fixture(scope="module")
def renderer():
    renderer = renderer_of()
    yield renderer
    renderer.close()


def with_value(values, where, value):
    changed = np.array(values, dtype=float)
    changed[where] = value
    return changed


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (
            {"geom_rgba": {"box": np.zeros((B, 3))}},
            r"geom_rgba of 'box' came as float64 \(2, 3\); it must be \(B, 4\): red, green, blue and",
        ),
        ({"geom_rgba": {("box", "ball"): np.zeros((B, 4))}}, r"geom_rgba of 'box', 'ball' came as .*it must be \(B, n, 4\)"),
        ({"geom_rgba": {("a", "b"): np.zeros((B, 3, 4))}}, "geom_rgba of 'a', 'b' has values for 3 things; 2 are named"),
        ({"geom_rgba": {"box": np.zeros((0, 4))}}, r"came as float64 \(0, 4\)"),
        ({"geom_rgba": {"box": with_value(RGBA, (1, 2), np.nan)}}, "geom_rgba of 'box' in world 1 is not finite"),
        ({"geom_rgba": {("box", "ball"): with_value(np.zeros((B, 2, 4)), (1, 1, 0), np.inf)}}, "of 'ball' in world 1 is not finite"),
        ({"geom_rgba": {"box": 255 * np.ones((B, 4), np.uint8)}}, r"of 'box' in world 0 is \[255, 255, 255, 255\]; give red, .*, 0 to 1"),
        ({"geom_rgba": {"box": np.array([["red"] * 4] * B)}}, "came as <U3; it must be numbers"),
        ({"geom_rgba": {"box": [[1, 1, 1, 1], [1]]}}, "geom_rgba is no array: its rows are of different lengths"),
        ({"geom_rgba": {3: RGBA}}, "geom_rgba names 3; give a name, or a tuple of names"),
        ({"geom_rgba": {("box",): RGBA[:, None], "box": RGBA}}, "geom_rgba names 'box' more than once"),
        ({"geom_rgba": RGBA}, "geom_rgba is ndarray; give a mapping from names to values"),
        ({"geom_rgba": {"box": RGBA, "ball": np.zeros((3, 4))}}, r"geom_rgba has values for \[2, 3\] worlds"),
        ({"geom_rgba": {"box": RGBA}, "light_on": {"sun": np.ones(3, bool)}}, r"different numbers of worlds \(geom_rgba 2, light_on 3\)"),
        ({"geom_visible": {"box": np.ones(B)}}, "geom_visible of 'box' came as float64; it must be bool"),
        ({"geom_scale": {"box": with_value(XYZ, (1, 0), 0)}}, "geom_scale of 'box' in world 1 is .* factors along x, y and z, above 0"),
        ({"geom_scale": {"box": with_value(XYZ, (0, 0), -1)}}, "geom_scale of 'box' in world 0 is"),
        ({"geom_texture": {"box": np.zeros(B)}}, "geom_texture of 'box' came as float64; it must be strings or integers"),
        ({"geom_mesh": {"box": np.array(["a", "b"]), "ball": np.array([0, 1])}}, "geom_mesh came as names for some and as indices for"),
        ({"geom_texture": {"box": np.array([0, -2])}}, "geom_texture of 'box' in world 1 is -2; give a texture's name or index"),
        ({"light_diffuse": {"sun": -XYZ}}, "light_diffuse of 'sun' in world 0 is .* 0 or more"),
        ({"light_direction": {"sun": 0 * XYZ}}, "light_direction of 'sun' in world 0 is .* a direction"),
        ({"headlight_diffuse": with_value(XYZ, (1, 1), np.nan)}, "^headlight_diffuse in world 1 is not finite"),
        (
            {"camera_quat_wxyz": {"front": np.ones((B, 4))}},
            "camera_quat_wxyz of 'front' in world 0 is .* a quaternion w, x, y, z of length 1",
        ),
        (
            {"camera_fov_y_rad": {"front": np.array([1, 3.2])}},
            "camera_fov_y_rad of 'front' in world 1 is 3.2; give radians between 0 and pi",
        ),
        ({"camera_intrinsics": {"front": -RGBA}}, "camera_intrinsics of 'front' in world 0 is .* focal lengths above 0"),
        ({"camera_position": {"front": 1e11 * XYZ}}, "camera_position of 'front' in world 0 is .* metres"),
    ],
)
def test_values_that_cannot_be(fields, message):
    with pytest.raises(InvalidArgumentError, match=message):
        WorldLooks(**fields)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"geom_rgba": {"cube": RGBA}}, "geom_rgba: no geom 'cube' is in this scene; there are: floor, box, ball, geom_3"),
        ({"material_rgba": {"wood": RGBA}}, "no visible geom is made of material 'wood'; there are: paint, tiles"),
        ({"light_on": {"moon": YES}}, "light_on: no light 'moon' is in this scene; there are: sun, lamp"),
        ({"camera_offset": {"above": XYZ}}, "no camera 'above' is filmed; there are: front"),
        ({"geom_texture": {"floor": np.array(["wood", ""])}}, "no texture 'wood' in this scene; there are: squares, shades, sky, noise"),
        ({"geom_texture": {"floor": np.array([0, 4])}}, "no texture has index 4; this scene has 4"),
        ({"geom_mesh": {"ball": np.array(["cone", "block"])}}, "no mesh 'cone' in this scene; there are: .*, block"),
        ({"geom_mesh": {"ball": np.array([0, 9])}}, "no mesh has index 9; this scene has 4"),
    ],
)
def test_what_is_not_there(renderer, fields, message):
    with pytest.raises(NotFoundError, match=message):
        renderer.set_looks(WorldLooks(**fields))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (
            {"geom_rgba": {"ball": RGBA}, "geom_visible": {"ball": NO}},
            "geom_rgba of 'ball' would have no effect: it is invisible in every world",
        ),
        ({"geom_scale": {"ball": XYZ}, "geom_rgba": {"ball": 0 * RGBA}}, "geom_scale of 'ball' would have no effect: it is invisible"),
        ({"geom_mesh": {"ball": np.array([1, 1])}, "geom_visible": {"ball": NO}}, "geom_mesh of 'ball' would have no effect"),
        (
            {"material_rgba": {"tiles": RGBA}, "geom_rgba": {("floor", "box"): RGBA[:, None]}},
            "material_rgba of 'tiles' would have no effect",
        ),
        (
            {"geom_texture": {"ball": np.array(["noise"] * B)}},
            "geom_texture of 'ball' would have no effect: it has no texture in the scene",
        ),
        ({"geom_texture": {"floor": np.array(["noise", "sky"])}}, "of 'floor' in world 1 is a skybox texture, 'sky'; this geom carries 2d"),
        ({"geom_mesh": {"floor": np.array([0, 0])}}, "geom_mesh of 'floor' would have no effect: it is a plane"),
        ({"geom_mesh": {"box": np.array(["wedge"] * B)}}, "geom_mesh of 'box' in world 0 is 'wedge', which has no texture coordinates"),
        ({"geom_scale": {"floor": 2 * XYZ}}, "geom_scale of 'floor' in world 0 is .* a plane has no height"),
        ({"light_diffuse": {"sun": XYZ}, "light_on": {"sun": NO}}, "light_diffuse of 'sun' would have no effect: it is off in every world"),
        ({"light_position": {"sun": XYZ}}, "light_position of 'sun' would have no effect: it is directional"),
        (
            {"camera_fov_y_rad": {"front": YES * 1.0}, "camera_intrinsics": {"front": RGBA}},
            "camera_fov_y_rad of 'front' would have no effect",
        ),
        ({"headlight_diffuse": XYZ, "headlight_on": NO}, "headlight_diffuse would have no effect: the headlight is off in every world"),
    ],
)
def test_what_would_change_nothing(renderer, fields, message):
    with pytest.raises(InvalidArgumentError, match=message):
        renderer.set_looks(WorldLooks(**fields))


def test_looks_drawn_by_lot_may_hide_what_they_colour(renderer):
    renderer.set_looks(WorldLooks(geom_rgba={"ball": RGBA}, geom_visible={"ball": NO}, may_be_unseen=True))
    renderer.set_looks(WorldLooks())


def test_an_infinite_plane_without_a_texture_has_no_size():
    renderer = renderer_of(with_geom(looks_scene(), "floor", plane_half_size=(0.0, 0.0), material_texture=-1))
    with pytest.raises(InvalidArgumentError, match="geom_scale of 'floor' would have no effect: the plane is infinite"):
        renderer.set_looks(WorldLooks(geom_scale={"floor": np.ones((B, 3))}))
    renderer.close()


def test_an_orthographic_camera_has_no_field_of_view():
    scene = with_camera(looks_scene(), "front", extent_y_m=2.0)
    renderer = renderer_of(scene)
    with pytest.raises(InvalidArgumentError, match="camera_fov_y_rad of 'front' would have no effect: the camera is orthographic"):
        renderer.set_looks(WorldLooks(camera_fov_y_rad={"front": np.ones(B)}))
    renderer.close()


def test_a_name_that_two_things_have_is_refused():
    scene = looks_scene()
    renderer = renderer_of(with_geom(dataclasses.replace(scene, meshes=(*scene.meshes, scene.meshes[-1])), "ball", name="box"))
    with pytest.raises(InvalidArgumentError, match="2 geoms are called 'box'"):
        renderer.set_looks(WorldLooks(geom_rgba={"box": RGBA}))
    with pytest.raises(InvalidArgumentError, match="geom_mesh: 2 of the scene's are called 'block'; choose by their index"):
        renderer.set_looks(WorldLooks(geom_mesh={"geom_3": np.array(["block"] * B)}))
    renderer.close()


@pytest.mark.parametrize(
    ("looks", "worlds", "message"),
    [
        (WorldLooks(geom_rgba={"box": np.ones((3, 4))}), None, "looks are for 3 worlds; this renderer films 2"),
        (WorldLooks(), np.ones(3, bool), r"worlds came as bool \(3,\); it must be a mask, bool \(2,\)"),
        (WorldLooks(), np.array([0, 1]), r"worlds came as int64 \(2,\)"),
        (WorldLooks(), NO, "with a world in it"),
        ({"geom_rgba": {}}, None, "looks is dict; give rollfilm.render.WorldLooks"),
    ],
)
def test_arguments_of_set_looks(renderer, looks, worlds, message):
    with pytest.raises(InvalidArgumentError, match=message):
        renderer.set_looks(looks, worlds)


def test_refused_looks_change_nothing(renderer):
    renderer.set_looks(WorldLooks(geom_rgba={"box": RGBA}))
    before = renderer.render(still(looks_scene(), B))["front"].rgb.copy()
    with pytest.raises(NotFoundError):
        renderer.set_looks(WorldLooks(geom_rgba={"box": 0 * RGBA + 1}, light_on={"moon": YES}))
    np.testing.assert_array_equal(renderer.render(still(looks_scene(), B))["front"].rgb, before)


def test_looks_refused_for_a_bent_lens_change_nothing_either():
    renderer = renderer_of(with_camera(looks_scene(), "front", fx=4.0, fisheye=(0.0, 0.0, 0.0, 0.0)))
    before = renderer.render(still(looks_scene(), B))["front"].rgb.copy()
    with pytest.raises(InvalidArgumentError, match="'front', whose lens bends straight lines"):
        renderer.set_looks(WorldLooks(geom_rgba={"floor": RGBA}, camera_fov_y_rad={"front": YES * 1.0}))
    np.testing.assert_array_equal(renderer.render(still(looks_scene(), B))["front"].rgb, before)
    renderer.close()


def test_a_closed_renderer_takes_no_looks():
    renderer = renderer_of()
    renderer.close()
    with pytest.raises(InvalidArgumentError, match="this renderer is closed"):
        renderer.set_looks(WorldLooks())


@pytest.mark.parametrize(
    ("plain", "message"),
    [
        ({"geom_colour": {}}, "looks have no field 'geom_colour'; they have geom_rgba"),
        ({"geom_rgba": {"box": RGBA.tolist()}}, "geom_rgba of stored looks must have 'names' and 'values'"),
    ],
)
def test_stored_looks_that_are_none(plain, message):
    with pytest.raises(InvalidArgumentError, match=message):
        WorldLooks.from_dict(plain)


def test_looks_that_name_different_things_are_not_joined():
    with pytest.raises(InvalidArgumentError, match="name the same things"):
        WorldLooks.joined([WorldLooks(geom_rgba={"box": RGBA}), WorldLooks(geom_rgba={"ball": RGBA})])
