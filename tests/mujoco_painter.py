"""A process that renders with MuJoCo's own renderer: where there is no OpenGL it aborts, and must not take the tests with it.

For each line on its input, a JSON list [model.mjb, camera, height, width, picture.npy, options], it writes the picture and answers with a
line. Options: "qpos", "frame" (a ``mjtFrame``), "sites" (false to leave them out), "effects" (those of SHADOW, REFLECTION, HAZE and FOG
that are on), and "segmentation" for ids and types of objects, (H, W, 2), or "depth" for metres, instead of colours.
"""

import json
import sys

import mujoco
import numpy as np


def paint(path: str, camera: int | str, height: int, width: int, target: str, options: dict) -> None:
    model = mujoco.MjModel.from_binary_path(path)
    data = mujoco.MjData(model)
    if options.get("qpos") is not None:
        data.qpos[:] = options["qpos"]
    shown = mujoco.MjvOption()
    shown.frame = options.get("frame", 0)
    if not options.get("sites", True):
        shown.sitegroup[:] = 0
    mujoco.mj_forward(model, data)
    with mujoco.Renderer(model, height, width) as renderer:
        if options.get("segmentation"):
            renderer.enable_segmentation_rendering()
        if options.get("depth"):
            renderer.enable_depth_rendering()
        renderer.update_scene(data, camera, shown)
        for name in ("SHADOW", "REFLECTION", "HAZE", "FOG"):
            renderer.scene.flags[getattr(mujoco.mjtRndFlag, f"mjRND_{name}")] = name in options.get("effects", ())
        np.save(target, renderer.render())


if __name__ == "__main__":
    for line in sys.stdin:
        paint(*json.loads(line))
        print("done", flush=True)
