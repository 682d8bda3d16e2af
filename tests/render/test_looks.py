"""Worlds with looks of their own: each field gives the picture of a scene that was built with its value."""

import dataclasses

import numpy as np
import pytest

from render.looks_scene import geom_index, looks_scene, with_camera, with_geom, with_light
from render.moving import ALL
from rollfilm.engines.still import StillPoses
from rollfilm.geometry import look_at_quat_wxyz, quat_multiply, quat_rotate
from rollfilm.render import BatchRenderer, CameraRequest, RenderOptions, WorldLooks
from rollfilm.scene import BodyPoses, Headlight, Placement, Scene
from rollfilm.scene.primitives import ellipsoid

NUM_WORLDS = 3
SIZES = {"front": (60, 90), "above": (40, 40)}
#: Something of every group of arrays, so that all tests share one kernel; nothing of it changes a picture.
NEUTRAL = WorldLooks(
    geom_rgba={"box": np.full((NUM_WORLDS, 4), looks_scene().geoms[1].material.rgba)},
    geom_visible={"box": np.ones(NUM_WORLDS, bool)},
    geom_scale={"ball": np.ones((NUM_WORLDS, 3))},
    geom_texture={"floor": np.array(["squares"] * NUM_WORLDS)},
    light_on={"sun": np.ones(NUM_WORLDS, bool)},
    headlight_on=np.ones(NUM_WORLDS, bool),
    light_offset={"lamp": np.zeros((NUM_WORLDS, 3))},
    camera_fov_y_rad={"front": np.full(NUM_WORLDS, looks_scene().camera("front").fov_y_rad)},
)


def poses(num_worlds: int) -> BodyPoses:
    """Bodies somewhere else in every world."""
    random = np.random.default_rng(5)
    position = random.uniform((-0.6, -0.4, 0.2), (0.6, 0.6, 0.7), (num_worlds, 4, 3)).astype(np.float32)
    quat = random.normal(size=(num_worlds, 4, 4))
    quat = (quat / np.linalg.norm(quat, axis=-1, keepdims=True)).astype(np.float32)
    position[:, 0], quat[:, 0] = 0, (1, 0, 0, 0)
    return BodyPoses(position, quat)


def source(scene, which, of=NUM_WORLDS) -> StillPoses:
    everyone = poses(of)
    return StillPoses(scene, BodyPoses(everyone.position[which].copy(), everyone.quat_wxyz[which].copy()))


def make_renderer(scene, num_worlds=NUM_WORLDS, **options) -> BatchRenderer:
    requests = [CameraRequest(name, height, width, ALL) for name, (height, width) in SIZES.items()]
    return BatchRenderer(scene, num_worlds, requests, **options)


def copied(frames) -> dict:
    return {(name, output): getattr(frames[name], output).copy() for name in frames for output in ALL}


def filmed(scene, which, **options) -> dict:
    """The pictures of some worlds of a scene as it is."""
    renderer = make_renderer(scene, len(which), **options)
    pictures = copied(renderer.render(source(scene, which)))
    renderer.close()
    return pictures


@pytest.fixture(scope="module")
def renderer():
    renderer = make_renderer(looks_scene())
    renderer.set_looks(NEUTRAL)
    yield renderer
    renderer.close()


def film(renderer, looks=None, worlds=None) -> dict:
    if looks is not None:
        renderer.set_looks(looks, worlds)
    return copied(renderer.render(source(renderer._scene, np.arange(renderer.num_worlds), renderer.num_worlds)))


def assert_same(got, want, message=""):
    for key, picture in want.items():
        np.testing.assert_array_equal(got[key], picture, err_msg=f"{message} {key}")


def test_nothing_that_is_named_but_not_changed_changes_a_byte(renderer):
    assert_same(film(renderer, NEUTRAL), filmed(looks_scene(), np.arange(NUM_WORLDS)))


HEAD = looks_scene().headlight
RGBA = np.array([[1, 0, 0, 1], [0.1, 0.9, 0.3, 1], [0, 0, 1, 1]])
COLOR = np.array([[1, 0, 0.25], [0, 0, 0], [0.5, 2.0, 0.1]])
PLACE = np.array([[0.5, -1, 1.5], [-1, 0.25, 2.5], [0, 0, 1.75]])
TARGET = np.array([[0, 0, 0.25], [0.5, 0, 0], [0, 0.5, 0.25]])
QUAT = look_at_quat_wxyz(PLACE, TARGET).astype(np.float32).astype(np.float64)
UNIT = QUAT / np.linalg.norm(QUAT, axis=1, keepdims=True)
FOV = np.float32([0.5, 0.9, 1.4])
LENS = np.float32([[40, 40, 20, 20], [70.5, 50, 12, 25], [30, 90, 20, 3.25]])
OUT_OF_SIGHT = (0.0, 0.0, -1e5)
YES_NO = np.array([True, False, True])


def mirrored(row) -> tuple:
    return tuple(float(x) for x in np.float32(row))


def fixed(position, quat=(1.0, 0.0, 0.0, 0.0)) -> Placement:
    return Placement(position=mirrored(position), quat_wxyz=tuple(float(x) for x in quat))


def lamp(**changes) -> Placement:
    return dataclasses.replace(next(light.placement for light in looks_scene().lights if light.name == "lamp"), **changes)


def own_head(w, **changes):
    return dataclasses.replace(looks_scene(), headlight=dataclasses.replace(HEAD, **changes))


#: name -> looks, and what a scene is for the world w that has them.
FIELDS = {
    "colour": (WorldLooks(geom_rgba={"box": RGBA}), lambda s, w: with_geom(s, "box", material_rgba=tuple(RGBA[w]))),
    "colours of two": (
        WorldLooks(geom_rgba={("ball", "floor"): np.stack([RGBA, RGBA[::-1]], axis=1)}),
        lambda s, w: with_geom(with_geom(s, "ball", material_rgba=tuple(RGBA[w])), "floor", material_rgba=tuple(RGBA[2 - w])),
    ),
    "colour of a material": (
        WorldLooks(material_rgba={"paint": RGBA}),
        lambda s, w: with_geom(with_geom(s, "ball", material_rgba=tuple(RGBA[w])), "geom_3", material_rgba=tuple(RGBA[w])),
    ),
    "a geom before its material": (
        WorldLooks(material_rgba={"paint": RGBA}, geom_rgba={"ball": RGBA[::-1]}),
        lambda s, w: with_geom(with_geom(s, "ball", material_rgba=tuple(RGBA[2 - w])), "geom_3", material_rgba=tuple(RGBA[w])),
    ),
    "hidden mesh": (
        WorldLooks(geom_visible={"ball": YES_NO}),
        lambda s, w: s if YES_NO[w] else with_geom(s, "ball", position=OUT_OF_SIGHT),
    ),
    "hidden plane": (
        WorldLooks(geom_visible={"floor": YES_NO}),
        lambda s, w: s if YES_NO[w] else with_geom(s, "floor", position=OUT_OF_SIGHT),
    ),
    "hidden by alpha": (
        WorldLooks(geom_rgba={"ball": np.where(YES_NO[:, None], RGBA, 0.0)}),
        lambda s, w: with_geom(s, "ball", **({"material_rgba": tuple(RGBA[w])} if YES_NO[w] else {"position": OUT_OF_SIGHT})),
    ),
    "texture by name": (
        WorldLooks(geom_texture={("floor", "box"): np.array([["shades", "noise"], ["squares", ""], ["noise", "squares"]])}),
        lambda s, w: with_geom(with_geom(s, "floor", material_texture=(1, 0, 3)[w]), "box", material_texture=(3, -1, 0)[w]),
    ),
    "texture by index": (
        WorldLooks(geom_texture={"floor": np.array([1, -1, 3])}),
        lambda s, w: with_geom(s, "floor", material_texture=(1, -1, 3)[w]),
    ),
    "mesh": (
        WorldLooks(geom_mesh={"geom_3": np.array(["block", "", "block"])}),
        lambda s, w: with_geom(s, "geom_3", mesh=s.geoms[3].mesh if w == 1 else len(s.meshes) - 1),
    ),
    "mesh with more levels": (
        WorldLooks(geom_mesh={("geom_3", "ball"): np.array([[1, 2], [2, -1], [-1, 1]])}),
        lambda s, w: with_geom(with_geom(s, "geom_3", mesh=(1, 2, 2)[w]), "ball", mesh=(2, 1, 1)[w]),
    ),
    "light off": (
        WorldLooks(light_on={"sun": YES_NO}),
        lambda s, w: s if YES_NO[w] else with_light(s, "sun", ambient=(0.0,) * 3, diffuse=(0.0,) * 3, specular=(0.0,) * 3),
    ),
    "light colours": (
        WorldLooks(light_ambient={"lamp": COLOR}, light_diffuse={"sun": COLOR[::-1], "lamp": COLOR}, light_specular={"lamp": COLOR}),
        lambda s, w: with_light(
            with_light(s, "lamp", ambient=tuple(COLOR[w]), diffuse=tuple(COLOR[w]), specular=tuple(COLOR[w])),
            "sun",
            diffuse=tuple(COLOR[2 - w]),
        ),
    ),
    "light position": (
        WorldLooks(light_position={"lamp": PLACE}),
        lambda s, w: with_light(s, "lamp", placement=lamp(position=tuple(PLACE[w]))),
    ),
    "light direction": (
        WorldLooks(light_direction={"sun": TARGET - PLACE, "lamp": TARGET - PLACE}),
        lambda s, w: with_light(
            with_light(s, "lamp", placement=lamp(quat_wxyz=tuple(look_at_quat_wxyz(np.zeros(3), TARGET[w] - PLACE[w])))),
            "sun",
            placement=fixed((0, 0, 3), look_at_quat_wxyz(np.zeros(3), TARGET[w] - PLACE[w])),
        ),
    ),
    "light offset": (
        WorldLooks(light_offset={"lamp": PLACE}),
        lambda s, w: with_light(s, "lamp", placement=lamp(position=tuple(np.add(lamp().position, PLACE[w])))),
    ),
    "headlight": (
        WorldLooks(headlight_ambient=COLOR, headlight_diffuse=COLOR[::-1], headlight_specular=COLOR),
        lambda s, w: own_head(w, ambient=tuple(COLOR[w]), diffuse=tuple(COLOR[2 - w]), specular=tuple(COLOR[w])),
    ),
    "headlight off": (
        WorldLooks(headlight_on=YES_NO),
        lambda s, w: s if YES_NO[w] else dataclasses.replace(s, headlight=None),
    ),
    "camera": (
        WorldLooks(camera_position={"front": PLACE}, camera_quat_wxyz={"front": QUAT}),
        lambda s, w: with_camera(s, "front", placement=fixed(PLACE[w], UNIT[w])),
    ),
    "field of view": (
        WorldLooks(camera_fov_y_rad={"front": FOV}),
        lambda s, w: with_camera(s, "front", fov_y_rad=float(FOV[w])),
    ),
    "intrinsics": (
        WorldLooks(camera_intrinsics={"above": LENS}),
        lambda s, w: with_camera(s, "above", **dict(zip(("fx", "fy", "cx", "cy"), LENS[w].tolist(), strict=True))),
    ),
    "camera offset": (
        WorldLooks(camera_offset={"above": PLACE}),
        lambda s, w: with_camera(s, "above", placement=fixed(np.add((0, 0, 3), PLACE[w]))),
    ),
}


@pytest.mark.parametrize("name", FIELDS)
def test_a_field_shows_what_a_scene_shows_that_was_built_so(renderer, name):
    looks, build = FIELDS[name]
    got = film(renderer, looks)
    before = film(renderer, WorldLooks())
    assert any((got[key] != before[key]).any() for key in got), "the looks changed nothing"
    for w in range(NUM_WORLDS):
        want = filmed(build(looks_scene(), w), [w])
        assert_same({key: picture[w : w + 1] for key, picture in got.items()}, want, f"{name} in world {w}")


def test_all_lights_off_leave_the_ambient_light_of_mujoco(renderer):
    off = np.array([False, True, False])
    got = film(renderer, WorldLooks(light_on={("sun", "lamp"): np.stack([off, off], axis=1)}, headlight_on=off))
    dark = dataclasses.replace(looks_scene(), headlight=Headlight((0.3,) * 3, (0.0,) * 3, (0.0,) * 3))
    for name in ("sun", "lamp"):
        dark = with_light(dark, name, ambient=(0.0,) * 3, diffuse=(0.0,) * 3, specular=(0.0,) * 3)
    for w in (0, 2):
        assert_same({key: picture[w : w + 1] for key, picture in got.items()}, filmed(dark, [w]))


SCALE = np.array([[2, 1, 0.5], [0.5, 0.5, 2], [1, 4, 1]])


def ball_scaled_to(scale) -> Scene:
    """The scene with an ellipsoid in the place of the ball."""
    scene = looks_scene()
    meshes = (*scene.meshes, ellipsoid(tuple(0.25 * scale)))
    return with_geom(dataclasses.replace(scene, meshes=meshes), "ball", mesh=len(meshes) - 1)


def test_a_scaled_ball_is_where_an_ellipsoid_is(renderer):
    """Factors are powers of two, by which nothing is rounded; levels of detail are the same, too. Only which side of a triangle is the
    shortest is not, so that depths are computed from other corners and may be a step of the visibility buffer apart."""
    got = film(renderer, WorldLooks(geom_scale={"ball": SCALE}))
    for w in range(NUM_WORLDS):
        for key, picture in filmed(ball_scaled_to(SCALE[w]), [w]).items():
            if key[1] == "depth_m":
                np.testing.assert_allclose(got[key][w : w + 1], picture, rtol=1e-6)
            elif key[1] != "rgb":
                np.testing.assert_array_equal(got[key][w : w + 1], picture)


def test_a_scaled_ball_is_lit_as_an_ellipsoid():
    """At full detail: between the corners of coarse levels normals are not those of an ellipsoid's own coarse levels."""
    options = RenderOptions(lod_pixels=0)
    scaled = make_renderer(looks_scene(), options=options)
    scaled.set_looks(dataclasses.replace(NEUTRAL, geom_scale={"ball": SCALE}))
    got = film(scaled)
    scaled.close()
    for w in range(NUM_WORLDS):
        for key, picture in filmed(ball_scaled_to(SCALE[w]), [w], options=options).items():
            if key[1] == "rgb":
                difference = np.abs(got[key][w : w + 1].astype(int) - picture)
                assert difference.max() <= 1
                assert (difference > 0).mean() < 3e-3


def test_a_scaled_plane_is_a_larger_plane_whose_texture_grows(renderer):
    scale = np.array([[2, 0.5, 1], [1, 1, 1], [0.25, 2, 1]])
    got = film(renderer, WorldLooks(geom_scale={"floor": scale}))
    floor = looks_scene().geoms[0]
    for w in range(NUM_WORLDS):
        half = tuple(np.multiply(floor.plane_half_size, scale[w, :2]))
        uv = tuple(np.divide(floor.uv_scale, scale[w, :2]))
        want = filmed(with_geom(looks_scene(), "floor", plane_half_size=half, uv_scale=uv), [w])
        for key, picture in want.items():
            # coordinates are divided where the scene's are not
            assert (got[key][w : w + 1] != picture).mean() < (2e-3 if key[1] == "rgb" else 1e-12), key


def test_a_small_scale_takes_coarser_levels(renderer):
    """Errors shrink with the size: half the size from here looks like the whole from twice as far."""
    scene = looks_scene()
    meshes = (*scene.meshes, dataclasses.replace(scene.meshes[scene.geoms[2].mesh], levels=scene.meshes[scene.geoms[2].mesh].levels[:1]))
    finest = with_geom(dataclasses.replace(scene, meshes=meshes), "ball", mesh=len(meshes) - 1)
    tiny = np.full((NUM_WORLDS, 3), 0.0625)
    got = film(renderer, WorldLooks(geom_scale={"ball": tiny}))
    other = make_renderer(finest)
    other.set_looks(NEUTRAL)
    full = film(other, WorldLooks(geom_scale={"ball": tiny}))
    other.close()
    assert any((got[key] != full[key]).any() for key in got), "no coarser level was taken"
    ids = got["front", "segmentation"] != full["front", "segmentation"]
    assert ids.sum() <= 0.5 * (full["front", "segmentation"] == 2).sum()


def test_a_camera_turns_about_its_own_axes_wherever_it_hangs(renderer):
    turn = QUAT
    film(renderer, WorldLooks(camera_offset={"front": PLACE}, camera_turn_wxyz={"front": turn}))
    placed = looks_scene().camera("front").placement
    eye, axes = renderer.camera_poses()["front"]
    want = np.add(placed.position, quat_rotate(placed.quat_wxyz, PLACE))
    np.testing.assert_allclose(eye, want, atol=1e-6)
    together = quat_multiply(placed.quat_wxyz, turn)
    np.testing.assert_allclose(np.abs(np.sum(axes * together, axis=1)), 1.0, atol=1e-6)


def some_looks(num_worlds: int, seed: int = 0) -> WorldLooks:
    """Everything at once, drawn."""
    random = np.random.default_rng(seed)

    def uniform(low, high, *shape):
        return random.uniform(low, high, (num_worlds, *shape))

    eye = uniform(-1, 1, 3) + np.array([0, 0, 2.5])
    return WorldLooks(
        geom_rgba={("box", "ball"): np.concatenate([uniform(0, 1, 2, 3), np.ones((num_worlds, 2, 1))], axis=2)},
        material_rgba={"paint": np.concatenate([uniform(0, 1, 3), np.ones((num_worlds, 1))], axis=1)},
        geom_visible={"ball": uniform(0, 1) > 0.3, "floor": uniform(0, 1) > 0.3},
        geom_scale={("ball", "geom_3"): uniform(0.5, 1.5, 2, 3)},
        geom_texture={"floor": random.choice(["squares", "shades", "noise", ""], num_worlds)},
        geom_mesh={"geom_3": random.choice(["wedge", "block"], num_worlds)},
        light_on={"sun": uniform(0, 1) > 0.3},
        light_position={"lamp": eye},
        light_direction={"sun": uniform(-1, 1, 3) - np.array([0, 0, 2])},
        light_diffuse={"sun": uniform(0, 1, 3), "lamp": uniform(0, 1, 3)},
        headlight_on=uniform(0, 1) > 0.3,
        headlight_diffuse=uniform(0, 1, 3),
        camera_position={"front": eye},
        camera_quat_wxyz={"front": look_at_quat_wxyz(eye, uniform(-0.2, 0.2, 3))},
        camera_offset={"above": uniform(-0.3, 0.3, 3)},
        camera_fov_y_rad={"above": uniform(0.5, 1.2)},
        may_be_unseen=True,
    )


def test_a_worlds_picture_depends_on_its_own_looks_alone():
    everyone = some_looks(7)
    whole = make_renderer(looks_scene(), 7)
    want = film(whole, everyone)
    whole.close()
    for which, threads in (([4], 1), ([6, 0], 2), ([2, 5, 3, 1], 3)):
        part = make_renderer(looks_scene(), len(which), num_threads=threads)
        part.set_looks(everyone.worlds(which))
        got = copied(part.render(source(looks_scene(), which, of=7)))
        part.close()
        assert_same(got, {key: picture[which] for key, picture in want.items()}, str(which))


def test_what_was_set_before_does_not_matter(renderer):
    first, second = some_looks(NUM_WORLDS, 1), WorldLooks(geom_rgba={"box": RGBA}, camera_offset={"above": PLACE})
    want = film(renderer, second)
    film(renderer, first)
    assert_same(film(renderer, second), want)
    assert_same(film(renderer, WorldLooks()), filmed(looks_scene(), np.arange(NUM_WORLDS)))


def test_a_mask_leaves_the_other_worlds_as_they_are(renderer):
    first, second = some_looks(NUM_WORLDS, 1), some_looks(NUM_WORLDS, 2)
    of_second = film(renderer, second)
    of_first = film(renderer, first)
    mask = np.array([True, False, True])
    got = film(renderer, second, mask)
    assert_same({key: picture[~mask] for key, picture in got.items()}, {key: picture[~mask] for key, picture in of_first.items()})
    assert_same({key: picture[mask] for key, picture in got.items()}, {key: picture[mask] for key, picture in of_second.items()})
    assert (of_first["front", "rgb"][1] != of_second["front", "rgb"][1]).any()


def test_arrays_that_were_given_may_change_afterwards(renderer):
    values = RGBA.copy()
    looks = WorldLooks(geom_rgba={"box": values})
    want = film(renderer, looks)
    values[:] = 0.5
    assert_same(film(renderer, looks), want)


def test_stored_looks_are_the_same_looks(renderer):
    import json

    looks = some_looks(NUM_WORLDS, 3)
    again = WorldLooks.from_dict(json.loads(json.dumps(looks.to_dict())))
    assert_same(film(renderer, again), film(renderer, looks))
    halves = WorldLooks.joined([looks.worlds([0]), looks.worlds([False, True, True])])
    assert halves.to_dict() == looks.to_dict() == again.to_dict()
    assert geom_index("box") == 1


def test_shadows_are_those_of_each_worlds_own_look():
    """The wedge comes last, so that a scene without it is one in which it is hidden."""
    options = RenderOptions(shadows=True)
    here = np.array([True, False, True])
    shaded = make_renderer(looks_scene(), options=options)
    got = film(
        shaded,
        WorldLooks(
            geom_visible={"geom_3": here},
            geom_mesh={"geom_3": np.array([3, -1, -1]), "ball": np.array([2, 1, 1])},
            light_position={"lamp": PLACE},
            light_direction={"sun": TARGET - PLACE},
        ),
    )
    shaded.close()
    for w in range(NUM_WORLDS):
        scene = with_light(looks_scene(), "lamp", placement=lamp(position=tuple(PLACE[w])))
        scene = with_light(scene, "sun", placement=fixed((0, 0, 3), look_at_quat_wxyz(np.zeros(3), TARGET[w] - PLACE[w])))
        scene = with_geom(with_geom(scene, "geom_3", mesh=(3, 2, 2)[w]), "ball", mesh=(2, 1, 1)[w])
        if not here[w]:
            scene = dataclasses.replace(scene, geoms=scene.geoms[:-1])
        want = filmed(scene, [w], options=options)
        assert_same({key: picture[w : w + 1] for key, picture in got.items()}, want, f"world {w}")
    plain = filmed(scene, [w])
    assert (plain["front", "rgb"] != want["front", "rgb"]).any(), "no shadow is seen"


def test_the_shadow_of_a_scaled_ball_is_that_of_an_ellipsoid():
    options = RenderOptions(shadows=True)
    shaded = make_renderer(looks_scene(), options=options)
    got = film(shaded, WorldLooks(geom_scale={"ball": SCALE}))
    shaded.close()
    for w in range(NUM_WORLDS):
        want = filmed(ball_scaled_to(SCALE[w]), [w], options=options)
        floor = want["front", "segmentation"] == 0
        assert floor.any()
        np.testing.assert_array_equal(got["front", "rgb"][w : w + 1][floor], want["front", "rgb"][floor])


def test_worlds_are_translucent_by_their_own_alpha():
    alpha = np.array([[0.5, 1.0], [1.0, 0.3], [0.75, 0.6]])
    rgba = np.concatenate([np.tile(RGBA[:, None, :3], (1, 2, 1)), alpha[..., None]], axis=2)
    glassy = make_renderer(looks_scene())
    got = film(glassy, WorldLooks(geom_rgba={("ball", "floor"): rgba}))
    for w in range(NUM_WORLDS):
        scene = with_geom(looks_scene(), "ball", material_rgba=tuple(rgba[w, 0]))
        want = filmed(with_geom(scene, "floor", material_rgba=tuple(rgba[w, 1])), [w])
        assert_same({key: picture[w : w + 1] for key, picture in got.items()}, want, f"world {w}")
    assert_same(film(glassy, WorldLooks()), filmed(looks_scene(), np.arange(NUM_WORLDS)))
    glassy.close()


def test_samples_are_taken_through_each_worlds_own_lens():
    options = RenderOptions(samples=4)
    smooth = make_renderer(looks_scene(), options=options)
    got = film(smooth, WorldLooks(camera_fov_y_rad={"front": FOV}, geom_visible={"ball": YES_NO}))
    smooth.close()
    for w in range(NUM_WORLDS):
        scene = with_camera(looks_scene(), "front", fov_y_rad=float(FOV[w]))
        scene = scene if YES_NO[w] else with_geom(scene, "ball", position=OUT_OF_SIGHT)
        assert_same({key: picture[w : w + 1] for key, picture in got.items()}, filmed(scene, [w], options=options), f"world {w}")
