"""The stages that a GPU runs, run on the CPU: the same kernels, held byte by byte to what a CPU computes in one go.

Texture units are all that a CPU lacks, so the scene has no textures and no sky.
"""

import dataclasses

import numpy as np
import pytest
import warp as wp

from render.moving import ALL, moving_scene, random_poses, worlds
from render.test_outputs import EVERY
from rollfilm.engines.still import StillPoses
from rollfilm.render import BatchRenderer, CameraRequest, cuda

NUM_WORLDS = 5
CAMERAS = (("front", 37, 90), ("rider", 24, 31), ("above", 37, 90))


def plain_scene():
    scene = moving_scene()
    geoms = tuple(dataclasses.replace(g, material=dataclasses.replace(g.material, texture=-1)) for g in scene.geoms)
    return dataclasses.replace(scene, geoms=geoms, skybox=-1)


@pytest.fixture(scope="module")
def renderer():
    requests = [CameraRequest(name, height, width, ALL) for name, height, width in CAMERAS]
    front = plain_scene().camera("front")
    lenses = {"shifted": {"fx": 60.0, "fy": 45.0, "cx": 30.0, "cy": 5.0}, "flat": {"extent_y_m": 2.0}}
    requests += [CameraRequest(dataclasses.replace(front, name=name, **lens), 37, 90, EVERY) for name, lens in lenses.items()]
    renderer = BatchRenderer(plain_scene(), NUM_WORLDS, requests)
    yield renderer
    renderer.close()


def render(renderer, seed: int):
    """The renderer's frames of a random state, copied."""
    poses = worlds(random_poses(NUM_WORLDS, seed), np.arange(NUM_WORLDS)).body_poses()
    frames = renderer.render(StillPoses(renderer._scene, poses))
    return copied(frames)


def copied(frames):
    return {
        (name, output): getattr(frames[name], output).copy()
        for name in frames
        for output in EVERY
        if getattr(frames[name], output) is not None
    }


@pytest.mark.parametrize(
    "limits",
    [
        {},
        {"MAX_CLUSTERS": 40},
        {"MAX_SMALL": 64},
        {"MAX_TILES": 64},
        {"MAX_CLUSTERS": 1, "MAX_SMALL": 1, "MAX_TILES": 1},
        {"VISIBILITY_BYTES": 3 * 8 * 37 * 90},
    ],
    ids=str,
)
def test_stages_give_the_same_bytes_whatever_overflows(renderer, monkeypatch, limits):
    device = wp.get_device("cpu")
    monkeypatch.setattr(device, "sm_count", 1)
    for name, value in limits.items():
        monkeypatch.setattr(cuda, name, value)
    packed = renderer._packed
    stages = cuda.CudaPipeline(packed.data, renderer._world, renderer._batches, packed.worst_clusters, device)
    for seed in range(3):  # the visibility buffer must come back empty from each
        want = render(renderer, seed)
        for batch in renderer._batches:
            for picture in batch._outputs.values():
                picture.fill_(7)
        stages._launch(renderer._bodies, renderer._placements)
        got = copied(renderer._frames)
        for key, picture in want.items():
            np.testing.assert_array_equal(got[key], picture, err_msg=f"{key} of state {seed}")
