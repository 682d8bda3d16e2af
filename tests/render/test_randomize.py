"""Looks drawn by lot: the same for the same seed, spread as asked for, and what cannot be drawn is an error."""

import json
import math

import numpy as np
import pytest

from render.looks_scene import looks_scene
from rollfilm.errors import InvalidArgumentError, NotFoundError
from rollfilm.render import WorldLooks
from rollfilm.render.randomize import CameraRange, GeomRange, HeadlightRange, LightRange, LooksConfig, randomize
from rollfilm.seeds import episode_seed

SEEDS = [episode_seed(3, k) for k in range(2000)]

CONFIG = LooksConfig(
    geoms=(
        GeomRange(geoms=("box",), rgba=((0.2, 0, 0), (1, 0.5, 1)), textures=("squares", "noise", ""), scale=(0.5, 1.5)),
        GeomRange(materials=("paint",), rgba=((0, 0, 0, 0.5), (1, 1, 1, 1)), together=True),
        GeomRange(geoms=("ball",), scale=((1, 1, 0.5), (2, 1, 0.75)), hidden=0.25),
        GeomRange(bodies=("wedge",), meshes=("wedge", "block")),
        GeomRange(geoms=("floor",), textures=("shades",)),
    ),
    lights=(
        LightRange(("sun",), direction=((-1, -1, -3), (1, 1, -1)), diffuse=((0.5, 0.5, 0.5), (1, 1, 1)), off=0.1),
        LightRange(("lamp",), offset_m=((-1, -1, 0), (1, 1, 1)), ambient=((0, 0, 0), (0.1, 0.2, 0.3)), specular=((0, 0, 0), (1, 1, 1))),
    ),
    cameras=(CameraRange(("front", "above"), offset_m=((-0.1, -0.1, -0.2), (0.1, 0.1, 0.2)), turn_rad=0.2, fov_y_rad=(0.6, 0.9)),),
    headlight=HeadlightRange(diffuse=((0, 0, 0), (1, 1, 1)), off=0.5),
)


@pytest.fixture(scope="module")
def many() -> WorldLooks:
    return randomize(CONFIG, looks_scene(), SEEDS)


def bytes_of(looks: WorldLooks) -> dict:
    return {field: (getattr(getattr(looks, field), "names", ()), looks.values(field).tobytes()) for field in looks.used}


def test_a_world_depends_on_its_own_seed_alone(many):
    which = np.array([1999, 5, 0, 1234])
    assert bytes_of(randomize(CONFIG, looks_scene(), [SEEDS[i] for i in which])) == bytes_of(many.worlds(which))


def test_numpys_integers_are_seeds(many):
    assert bytes_of(randomize(CONFIG, looks_scene(), np.array(SEEDS[:3]))) == bytes_of(many.worlds(np.arange(3)))


def test_seeds_and_things_differ(many):
    for field in many.used:
        values = many.values(field)
        assert field == "geom_texture" or len(np.unique(values, axis=0)) > 1, field
    assert (many.geom_rgba["box"] != many.geom_rgba["ball"]).any(axis=1).all()
    assert (many.camera_offset["front"] != many.camera_offset["above"]).any(axis=1).all()


def test_what_else_is_drawn_changes_nothing(many):
    less = randomize(LooksConfig(geoms=CONFIG.geoms[2:3], lights=CONFIG.lights[1:]), looks_scene(), SEEDS[:20])
    for field in less.used:
        for name in getattr(less, field):
            np.testing.assert_array_equal(getattr(less, field)[name], getattr(many, field)[name][:20])


def test_those_together_get_the_same(many):
    np.testing.assert_array_equal(many.geom_rgba["ball"], many.geom_rgba["geom_3"])


def spread(values, low, high):
    """That numbers fill their range evenly: Kolmogorov's distance."""
    low, high = np.broadcast_to(low, values.shape[1:]), np.broadcast_to(high, values.shape[1:])
    for k in np.ndindex(values.shape[1:]):
        column = values[(slice(None), *k)]
        if low[k] == high[k]:
            assert (column == np.float32(low[k])).all()
            continue
        share = np.sort((column - low[k]) / (high[k] - low[k]))
        assert np.abs(share - np.arange(len(share)) / len(share)).max() < 2.2 / math.sqrt(len(share)), k


def test_numbers_are_spread_over_their_ranges(many):
    spread(many.geom_rgba["box"], (0.2, 0, 0, 1), (1, 0.5, 1, 1))
    spread(many.geom_rgba["ball"], (0, 0, 0, 0.5), 1)
    spread(many.geom_scale["ball"], (1, 1, 0.5), (2, 1, 0.75))
    spread(many.geom_scale["box"], 0.5, 1.5)
    assert (many.geom_scale["box"] == many.geom_scale["box"][:, :1]).all()
    spread(many.light_diffuse["sun"], 0.5, 1)
    spread(many.light_offset["lamp"], (-1, -1, 0), 1)
    spread(many.headlight_diffuse, 0, 1)
    spread(many.camera_offset["above"], (-0.1, -0.1, -0.2), (0.1, 0.1, 0.2))
    spread(many.camera_fov_y_rad["front"], 0.6, 0.9)


def test_chances_are_what_was_asked_for(many):
    for drawn, chance in (
        (many.geom_visible["ball"], 0.75),
        (many.light_on["sun"], 0.9),
        (many.headlight_on, 0.5),
        *((many.geom_texture["box"] == name, 1 / 3) for name in ("squares", "noise", "")),
        (many.geom_mesh["geom_3"] == "block", 0.5),
    ):
        assert abs(drawn.mean() - chance) < 4.5 * math.sqrt(chance * (1 - chance) / len(SEEDS))


def test_cameras_turn_about_every_axis_and_every_angle(many):
    quat = many.camera_turn_wxyz["front"].astype(np.float64)
    angle = 2 * np.arctan2(np.linalg.norm(quat[:, 1:], axis=1), quat[:, 0])
    spread(angle[:, None], 0.0, 0.2)
    axis = quat[:, 1:] / np.linalg.norm(quat[:, 1:], axis=1, keepdims=True)
    spread(axis, -1, 1)


def test_stored_looks_are_the_same(many):
    few = many.worlds(np.arange(5))
    assert bytes_of(WorldLooks.from_dict(json.loads(json.dumps(few.to_dict())))) == bytes_of(few)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (LooksConfig(geoms=(GeomRange(geoms=("cube",), hidden=0.5),)), "no geom 'cube' is in this scene"),
        (LooksConfig(geoms=(GeomRange(bodies=("arm",), hidden=0.5),)), "no body 'arm' in this scene; there are: world, box, ball, wedge"),
        (LooksConfig(geoms=(GeomRange(materials=("wood",), hidden=0.5),)), "no material 'wood' in this scene; there are: paint, tiles"),
        (LooksConfig(geoms=(GeomRange(geoms=("box",), textures=("squares", "wood")),)), "no texture 'wood' in this scene"),
        (LooksConfig(geoms=(GeomRange(geoms=("ball",), meshes=("block", "cone")),)), "no mesh 'cone' in this scene"),
        (LooksConfig(lights=(LightRange(("moon",), off=0.5),)), "no light 'moon' is in this scene"),
        (LooksConfig(cameras=(CameraRange(("side",), turn_rad=0.1),)), "no camera 'side' is filmed; there are: front, above"),
    ],
)
def test_what_is_not_there(config, message):
    with pytest.raises(NotFoundError, match=message):
        randomize(config, looks_scene(), [0])


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (LooksConfig(geoms=(GeomRange(geoms=("ball",), textures=("squares",)),)), "geom_texture of 'ball' would have no effect"),
        (LooksConfig(geoms=(GeomRange(geoms=("box",), meshes=("wedge",)),)), "'wedge', which has no texture coordinates"),
        (LooksConfig(lights=(LightRange(("sun",), offset_m=((0, 0, 0), (1, 1, 1))),)), "light_offset of 'sun' would have no effect"),
        (
            LooksConfig(geoms=(GeomRange(geoms=("ball",), hidden=0.5), GeomRange(bodies=("ball",), hidden=0.5))),
            "geom_visible of 'ball' is drawn twice",
        ),
    ],
)
def test_what_would_have_no_effect(config, message):
    # also with a seed whose own draw would not meet it
    for seed in range(4):
        with pytest.raises(InvalidArgumentError, match=message):
            randomize(config, looks_scene(), [seed])


@pytest.mark.parametrize("seeds", [[], [-1], [0.5], ["1"]])
def test_seeds_that_are_none(seeds):
    with pytest.raises(InvalidArgumentError, match="seed"):
        randomize(CONFIG, looks_scene(), seeds)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: LooksConfig(), "these looks draw nothing"),
        (lambda: LooksConfig(geoms=(GeomRange(geoms=("box",)),)), "GeomRange draws nothing; give one of rgba, scale, textures"),
        (lambda: LooksConfig(headlight=HeadlightRange()), "HeadlightRange draws nothing"),
        (lambda: GeomRange(hidden=0.5), "GeomRange is for nobody; name geoms or bodies or materials"),
        (lambda: GeomRange(geoms="box", hidden=0.5), "geoms is 'box'; give a tuple of names"),
        (lambda: GeomRange(geoms=("box",), hidden=1.5), "hidden is 1.5; a probability lies between 0 and 1"),
        (lambda: GeomRange(geoms=("box",), hidden=1.0, rgba=((0, 0, 0), (1, 1, 1))), "hidden is 1, so that it is never seen"),
        (lambda: GeomRange(geoms=("box",), rgba=(0, 1)), r"rgba is \(0, 1\); give \(lowest, highest\), each 3 numbers or 4 numbers"),
        (lambda: GeomRange(geoms=("box",), scale=(2, 1)), "scale is .*the lowest before the highest"),
        (lambda: GeomRange(geoms=("box",), scale=(0, 1)), "scale is .* of at least 1e-06"),
        (lambda: GeomRange(geoms=("box",), scale=(1, math.nan)), "scale is .* finite"),
        (lambda: CameraRange(("front",), turn_rad=4), "turn_rad is 4; give an angle from 0 to pi"),
        (lambda: LightRange(("sun",), diffuse=((0, 0), (1, 1))), "each 3 numbers"),
    ],
)
def test_configurations_that_cannot_be(make, message):
    with pytest.raises(InvalidArgumentError, match=message):
        make()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: GeomRange(geoms=("box",), rgba=((0, 0, 0), (1, 1, 3))), "rgba is .*; give numbers of at most 1"),
        (lambda: CameraRange(("front",), fov_y_rad=(1, 4)), "fov_y_rad is .*; give numbers of at most 3.14"),
        (lambda: CameraRange(("front",), fov_y_rad=(0, 1)), "fov_y_rad is .* of at least 1e-06"),
    ],
)
def test_what_some_seed_would_draw_out_of_range_is_refused_before(make, message):
    with pytest.raises(InvalidArgumentError, match=message):
        make()
