"""Pictures of MuJoCo's own renderer, where it runs."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest


@pytest.fixture(scope="session")
def mujoco_painter(tmp_path_factory):
    process = subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("mujoco_painter.py"))],
        env={"MUJOCO_GL": "egl", **os.environ},
        cwd=tmp_path_factory.mktemp("painter"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    yield process
    process.communicate()


@pytest.fixture
def mujoco_picture(mujoco_painter, tmp_path):
    """A function (model, camera, height, width, options) -> uint8 (H, W, 3): MuJoCo's picture without shadows and reflections.

    The options are those of ``mujoco_painter.py``.
    """
    import mujoco

    def picture(model, camera=0, height=120, width=160, **options):
        mujoco.mj_saveModel(model, str(tmp_path / "painted.mjb"), None)
        order = [str(tmp_path / "painted.mjb"), camera, height, width, str(tmp_path / "painted.npy"), options]
        try:
            mujoco_painter.stdin.write(json.dumps(order) + "\n")
            mujoco_painter.stdin.flush()
        except BrokenPipeError:
            pytest.skip("MuJoCo's renderer does not run here")
        if not mujoco_painter.stdout.readline():
            pytest.skip("MuJoCo's renderer does not run here")
        return np.load(tmp_path / "painted.npy")

    return picture
