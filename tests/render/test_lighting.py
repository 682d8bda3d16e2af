"""Light and material: held to OpenGL's formula in NumPy, at the exact points and normals of a sphere and a plane."""

from dataclasses import replace

import numpy as np
import pytest

from render.fixed_function import lit
from render.raycast import camera_axes, pixel_rays
from render.scenes import look, scene_of, shot, thing
from rollfilm import geometry
from rollfilm.scene import Headlight, Light, Placement
from rollfilm.scene.primitives import sphere

HEIGHT, WIDTH, RADIUS = 60, 80, 0.4
CAMERA = look((1.2, -1.4, 0.9), (0.1, 0, 0.1), fov_y_rad=0.7)
PAINT = {"rgba": (0.8, 0.5, 0.3, 1.0), "specular": 0.6, "shininess": 0.25}
BALL, CENTER = sphere(RADIUS), np.array([0, 0, RADIUS])


def aimed(position, target) -> Placement:
    quat = geometry.look_at_quat_wxyz(np.array(position, float), np.array(target, float))
    return Placement(position=tuple(position), quat_wxyz=tuple(map(float, quat)))


SUN = Light(
    kind="directional", placement=aimed((1, 2, 3), (0, 0, 0)), ambient=(0.05, 0.1, 0), diffuse=(0.6, 0.5, 0.4), specular=(0.3, 0.5, 0.2)
)
SPOT = Light(kind="spot", placement=aimed((0.8, -1, 1.5), (0.2, 0, 0.2)), diffuse=(0.9, 0.8, 0.9), specular=(0.6, 0.5, 0.4))
DARK_SUN = replace(SUN, ambient=(0, 0, 0), diffuse=(0, 0, 0), specular=(0, 0, 0))
DARK_SPOT = replace(SPOT, diffuse=(0, 0, 0), specular=(0, 0, 0))


def hits():
    """What each pixel's ray meets: 0 nothing, 1 plane, 2 ball; the point and the normal there; whether it is clear of the silhouette."""
    eye, _ = camera_axes(CAMERA)
    rays = pixel_rays(CAMERA, HEIGHT, WIDTH).reshape(HEIGHT, WIDTH, 3)
    a, b = np.einsum("...i,...i", rays, rays), rays @ (eye - CENTER)
    spread = b**2 - a * ((eye - CENTER) @ (eye - CENTER) - RADIUS**2)
    ball = spread > 0
    to_ball = (-b - np.sqrt(np.maximum(spread, 0))) / a
    to_plane = -eye[2] / rays[..., 2]
    which = np.where(ball, 2, np.where(to_plane > 0, 1, 0))
    point = eye + np.where(ball, to_ball, to_plane)[..., None] * rays
    normal = np.where(ball[..., None], (point - CENTER) / RADIUS, np.array([0, 0, 1.0]))
    clear = np.abs(spread) > 0.02 * a
    return which, point, normal, clear


def ball_on_plane(paint=None, **options):
    paint = PAINT | (paint or {})
    return scene_of([BALL], [thing(-1, 1, **paint), thing(0, 2, CENTER, **paint)], **options)


def hold_to_formula(lights, headlight, paint=None, most=1):
    scene = ball_on_plane(paint, lights=tuple(lights), headlight=headlight)
    got = shot(scene, CAMERA, HEIGHT, WIDTH, ("rgb",), lod_pixels=0)["rgb"].astype(int)
    which, point, normal, clear = hits()
    want = lit(scene.geoms[0].material, point, normal, CAMERA, headlight, lights).astype(int)
    sure = clear & (which > 0)
    for light in lights:
        if light.kind == "spot" and light.cutoff_rad < np.pi:
            # a pixel on the rim of the cone may be on either side
            to_point = point - np.array(light.placement.position)
            axis = geometry.quat_rotate(np.array(light.placement.quat_wxyz), np.array([0, 0, -1.0]))
            angle = np.arccos(np.clip(to_point @ axis / np.linalg.norm(to_point, axis=-1), -1, 1))
            sure &= np.abs(angle - light.cutoff_rad) > 1e-3
    assert sure.mean() > 0.9
    assert np.abs(got - want)[sure].max() <= most
    assert want[sure].std() > 5  # the light does something
    assert (got[which == 0] == 0).all()


@pytest.mark.parametrize("shininess", [0.0, 0.1, 1.0])
def test_the_headlight(shininess):
    hold_to_formula([], Headlight(), {"shininess": shininess})


def test_a_directional_light():
    hold_to_formula([SUN, DARK_SPOT], None)


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"cutoff_rad": 0.25},
        {"cutoff_rad": 0.5, "exponent": 10.0},
        {"exponent": 3.0, "cutoff_rad": 1.5},
        {"attenuation": (0.5, 0.3, 0.2)},
        {"attenuation": (0.0, 0.0, 1.0)},
        {"kind": "point", "attenuation": (0.5, 0.3, 0.2), "exponent": 9.0, "cutoff_rad": np.pi},
    ],
    ids=str,
)
def test_a_spot(change):
    hold_to_formula([DARK_SUN, replace(SPOT, **change)], None)


def test_all_at_once_with_emission():
    spot = replace(SPOT, cutoff_rad=0.6, exponent=5.0, attenuation=(1.0, 0.2, 0.1), diffuse=(0.3, 0.3, 0.3))
    hold_to_formula([SUN, spot], Headlight(ambient=(0.1, 0.05, 0), diffuse=(0.2, 0.2, 0.1)), {"emission": 0.2})


def test_too_much_light_saturates():
    bright = replace(SUN, diffuse=(3.0, 3.0, 3.0))
    hold_to_formula([bright, DARK_SPOT], Headlight())


def test_without_any_light_there_is_mujocos_ambient():
    got = shot(ball_on_plane(headlight=None), CAMERA, HEIGHT, WIDTH, ("rgb",))["rgb"]
    which, *_ = hits()
    np.testing.assert_array_equal(np.unique(got[which > 0], axis=0), [np.rint(255 * 0.3 * np.array(PAINT["rgba"][:3]))])


def test_a_light_that_is_on_takes_the_ambient_away():
    from_below = replace(SUN, placement=aimed((0, 0, -1), (0, 0, 0)), ambient=(0, 0, 0))
    scene = scene_of([], [thing(-1, 1, **PAINT)], headlight=None, lights=(from_below, DARK_SPOT))
    assert not shot(scene, CAMERA, 20, 20, ("rgb",))["rgb"].any()
