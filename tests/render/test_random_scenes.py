"""Random scenes: no crash, nothing that is not a number, no difference between batch sizes.

A few of them run always; ``ROLLFILM_RANDOM_SCENES=1000 pytest tests/render/test_random_scenes.py`` runs as many as it says.
"""

import os

import numpy as np
import pytest

from render.moving import ALL
from render.random_models import CAMERAS, random_model, random_poses
from rollfilm.engines.still import StillPoses
from rollfilm.errors import ModelError
from rollfilm.render import BatchRenderer, CameraRequest, RenderOptions
from rollfilm.scene import BodyPoses
from rollfilm.scene.mujoco import load_scene

NUM_WORLDS = 3
SIZES = ((24, 40), (33, 17), (1, 1))
COUNT = int(os.environ.get("ROLLFILM_RANDOM_SCENES", "24"))
#: Scenes that one test films.
STRIDE = 8


def filmed(scene, poses: BodyPoses, which, options: RenderOptions) -> dict[str, np.ndarray]:
    """Every output of every camera in the worlds ``which``."""
    source = StillPoses(scene, BodyPoses(poses.position[which].copy(), poses.quat_wxyz[which].copy()))
    requests = [CameraRequest(name, *size, ALL) for name, size in zip(CAMERAS, SIZES, strict=True)]
    renderer = BatchRenderer(scene, source.num_worlds, requests, options=options)
    frames = renderer.render(source)
    copies = {f"{name} {output}": getattr(frames[name], output).copy() for name in frames for output in ALL}
    renderer.close()
    return copies


def check_scene(seed: int) -> bool:
    """Film a random scene together and world by world; False where MuJoCo does not compile it."""
    try:
        scene = load_scene(random_model(seed))
    except ModelError:
        return False
    poses = random_poses(len(scene.bodies.names), NUM_WORLDS, seed)
    together = filmed(scene, poses, np.arange(NUM_WORLDS), RenderOptions())
    known = {-1, *(geom.source_id for geom in scene.geoms)}
    for name, pictures in together.items():
        if name.endswith("depth_m"):
            assert np.isfinite(pictures).all(), (seed, name)
            assert pictures.min() >= 0, (seed, name)
            assert ((pictures > 0) == (together[name.replace("depth_m", "segmentation")] >= 0)).all(), (seed, name)
        if name.endswith("segmentation"):
            assert set(np.unique(pictures).tolist()) <= known, (seed, name)
    for world in range(NUM_WORLDS):
        for name, alone in filmed(scene, poses, [world], RenderOptions()).items():
            np.testing.assert_array_equal(alone[0], together[name][world], err_msg=f"seed {seed}, {name}, world {world}")
    return True


@pytest.mark.parametrize("first", range(0, COUNT, STRIDE))
def test_random_scenes_are_filmed_the_same_alone_and_together(first):
    compiled = sum(check_scene(seed) for seed in range(first, min(first + STRIDE, COUNT)))
    # MuJoCo refuses some of the meshes
    assert compiled >= 1


def test_the_scenes_are_odd():
    text = "".join(random_model(seed) for seed in range(100))
    for kind in ("sphere", "capsule", "cylinder", "ellipsoid", "box", "mesh", "hfield", "plane"):
        assert text.count(f'type="{kind}"') > 50, kind
    assert any(random_model(seed).count("<geom") > 300 for seed in range(100))
