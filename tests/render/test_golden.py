"""Every output of a small scene against pictures that were looked at and kept, and pictures that are wrong, which must be told from them.

``python tests/render/test_golden.py`` writes the pictures anew; look at what it changes before you keep them.
"""

import os
from pathlib import Path

import numpy as np
import pytest

from render.moving import MODEL, moving_scene, random_poses, worlds
from rollfilm.render import BatchRenderer, CameraRequest, RenderOptions

KEPT = Path(__file__).with_name("golden.npz")
OUTPUTS = ("rgb", "depth_m", "segmentation", "body_id", "ray_distance_m", "normal_camera", "normal_world", "position_world_m")
HEIGHT, WIDTH = 36, 48

#: How far a value may be from the kept one; what is farther counts as wrong.
TOLERANCE = {"rgb": 2, "depth_m": 2e-3, "ray_distance_m": 2e-3, "normal_camera": 0.02, "normal_world": 0.02, "position_world_m": 4e-3}
#: Pixels that may be wrong, as a share: those at edges, which a compiler's rounding can move.
MOST_WRONG = 0.005


def film() -> dict[str, np.ndarray]:
    """All outputs of one camera in one world."""
    source = worlds(random_poses(4), [2])
    request = CameraRequest("front", HEIGHT, WIDTH, OUTPUTS)
    renderer = BatchRenderer(moving_scene(), 1, [request], options=RenderOptions(lod_pixels=0.0), num_threads=1)
    frames = renderer.render(source)["front"]
    pictures = {name: getattr(frames, name)[0].copy() for name in OUTPUTS}
    renderer.close()
    return pictures


def share_wrong(name: str, picture: np.ndarray, kept: np.ndarray) -> float:
    """The share of pixels that are not those of the kept picture; of channels each is counted by itself."""
    apart = np.abs(picture.astype(np.float64) - kept) > TOLERANCE.get(name, 0)
    return float(apart.reshape(HEIGHT * WIDTH, -1).mean(axis=0).max())


@pytest.fixture(scope="module")
def pictures():
    return film()


@pytest.fixture(scope="module")
def kept():
    with np.load(KEPT) as file:
        return dict(file)


@pytest.mark.parametrize("name", OUTPUTS)
def test_an_output_is_what_it_was(pictures, kept, name):
    assert pictures[name].dtype == kept[name].dtype
    assert share_wrong(name, pictures[name], kept[name]) <= MOST_WRONG


MUTANTS = {
    "nothing at all": np.zeros_like,
    "upside down": lambda p: p[::-1],
    "left and right swapped": lambda p: p[:, ::-1],
    "a pixel to the right": lambda p: np.roll(p, 1, axis=1),
    "a twentieth less": lambda p: (0.95 * p).astype(p.dtype),
    "one channel for another": lambda p: p[..., ::-1] if p.ndim == 3 else p + 1,
    "one channel missing": lambda p: p * np.array([1, 0, 1], p.dtype) if p.ndim == 3 else np.full_like(p, p.max()),
}


@pytest.mark.parametrize(
    ("name", "mutant"),
    # ids are too small to lose a twentieth
    [(n, m) for n in OUTPUTS for m in MUTANTS if m != "a twentieth less" or n not in ("segmentation", "body_id")],
)
def test_a_wrong_picture_is_told_from_the_right_one(pictures, kept, name, mutant):
    assert share_wrong(name, MUTANTS[mutant](pictures[name]), kept[name]) > 4 * MOST_WRONG


def test_the_kept_colors_are_those_of_mujocos_renderer(kept, mujoco_picture):
    """The same poses as free joints of the model, drawn without shadows by MuJoCo."""
    mujoco = pytest.importorskip("mujoco")
    model = mujoco.MjModel.from_xml_string(MODEL)
    poses = random_poses(4)
    model.qpos0[:] = np.concatenate([np.concatenate([poses.position[2, b], poses.quat_wxyz[2, b]]) for b in range(1, model.nbody)])
    picture = mujoco_picture(model, "front", HEIGHT, WIDTH)
    # MuJoCo smooths edges, and lights corners instead of pixels
    difference = np.abs(picture.astype(int) - kept["rgb"]).mean(axis=(0, 1))
    assert difference.max() < 4
    for wrong in (np.zeros_like(picture), picture[..., ::-1], picture[::-1], picture[:, ::-1]):
        assert np.abs(wrong.astype(int) - kept["rgb"]).mean(axis=(0, 1)).max() > 8


if __name__ == "__main__":
    np.savez_compressed(KEPT, **film())  # pyright: ignore[reportArgumentType]
    print(f"wrote {KEPT}, {os.path.getsize(KEPT)} bytes")
