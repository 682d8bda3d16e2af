"""What the Python interface refuses before anything is allocated or a thread is started."""

import math

import pytest

from rollfilm.arguments import require_integer
from rollfilm.errors import InvalidArgumentError, MemoryBudgetError
from rollfilm.render import BatchRenderer, CameraRequest
from rollfilm.scene import Camera
from rollfilm.scene.mujoco import load_scene

MODEL = "<mujoco><worldbody><camera name='eye'/><geom size='1'/></worldbody></mujoco>"
EYE = CameraRequest("eye", 8, 8)


@pytest.mark.parametrize("value", [True, 1.0, "1", None, 0, -1, math.nan])
def test_what_is_no_integer_of_at_least_1(value):
    with pytest.raises(InvalidArgumentError, match=r"count is .*; it must be (an integer of )?at least 1"):
        require_integer(value, "count", lowest=1)


@pytest.mark.parametrize("fov_y_rad", [math.nan, 0.0, -1.0, math.pi, math.inf])
def test_fields_of_view_that_no_camera_has(fov_y_rad):
    with pytest.raises(InvalidArgumentError, match="between 0 and pi"):
        Camera("eye", fov_y_rad=fov_y_rad)


@pytest.mark.parametrize(
    "words", [("eye", 8.5, 8), ("eye", "8", 8), ("eye", math.nan, 8), ("eye", True, 8), ("eye", 8, 8, "rgb"), (None, 8, 8), (0, 8, 8)]
)
def test_requests_of_the_wrong_kind(words):
    with pytest.raises(InvalidArgumentError):
        CameraRequest(*words)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("scene", 1, [EYE]), "scene is str"),
        ((MODEL, 1.0, [EYE]), "num_worlds is 1.0"),
        ((MODEL, 1, EYE), "sequence of CameraRequest"),
        ((MODEL, 1, ["eye"]), "sequence of CameraRequest"),
    ],
)
def test_renderers_of_the_wrong_kind(words, said):
    scene = load_scene(MODEL) if words[0] == MODEL else words[0]
    with pytest.raises(InvalidArgumentError, match=said):
        BatchRenderer(scene, *words[1:])


@pytest.mark.parametrize(("worlds", "size"), [(10**10, 8), (10_000, 16384)])
def test_pictures_that_do_not_fit_are_refused_with_both_numbers(worlds, size):
    said = rf"pictures of {worlds} worlds: [\d.,]+ TB of memory are needed and [\d.]+ GB are available"
    with pytest.raises(MemoryBudgetError, match=said):
        BatchRenderer(load_scene(MODEL), worlds, [CameraRequest("eye", size, size)])


def test_a_closed_renderer_says_so():
    renderer = BatchRenderer(load_scene(MODEL), 1, [EYE])
    renderer.close()
    renderer.close()
    with pytest.raises(InvalidArgumentError, match="closed"):
        renderer.render(None)  # pyright: ignore[reportArgumentType]
