"""What a user waits for before the first picture."""

import os
import subprocess
import sys

LOADING = """
from render.moving import moving_scene, random_poses, worlds
from rollfilm.render import BatchRenderer, CameraRequest, RenderOptions

renderer = BatchRenderer(moving_scene(), 2, [CameraRequest("front", 20, 30)], options=RenderOptions(shadows=True, samples=4))
print("made", flush=True)
renderer.render(worlds(random_poses(2), [0, 1]))
print("drawn", flush=True)
"""


def test_kernels_are_loaded_before_the_first_frame():
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    ran = subprocess.run([sys.executable, "-c", LOADING], env=environment, capture_output=True, text=True, check=True)
    before, after = ran.stdout.split("made")
    assert before.count("Module ") >= 3
    assert "Module " not in after
