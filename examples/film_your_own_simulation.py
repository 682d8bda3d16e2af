"""Film a simulation that you step yourself: four double pendulums that start almost alike, in one video.

    python examples/film_your_own_simulation.py [pendulums.mp4]

Whatever moves the bodies, the renderer asks for their poses alone.
"""

import sys
from fractions import Fraction
from pathlib import Path

import mujoco
import numpy as np

from rollfilm.engines.still import StillPoses
from rollfilm.record import VideoWriter
from rollfilm.render import BatchRenderer, CameraRequest
from rollfilm.scene import BodyPoses
from rollfilm.scene.mujoco import load_scene

MODEL = """
<mujoco>
  <option timestep="0.005"><flag contact="disable"/></option>
  <worldbody>
    <light pos="0 -2 3" dir="0 .5 -1" directional="true"/>
    <geom type="plane" size="0 0 .1" rgba=".3 .4 .5 1"/>
    <body pos="0 0 1.2">
      <joint axis="0 1 0"/><geom type="capsule" fromto="0 0 0 0 0 -.4" size=".06" rgba=".9 .6 .1 1"/>
      <body pos="0 0 -.4"><joint axis="0 1 0"/><geom type="capsule" fromto="0 0 0 0 0 -.4" size=".06" rgba=".8 .2 .2 1"/></body>
    </body>
    <camera name="front" pos="0 -2.4 1.3" xyaxes="1 0 0 0 .1 1"/>
  </worldbody>
</mujoco>
"""
SIDE, FRAMES, FPS, SUBSTEPS = 128, 150, 25, 8


def poses_of(worlds: list[mujoco.MjData]) -> BodyPoses:
    """Where the bodies of all worlds are."""
    return BodyPoses(
        np.stack([data.xpos for data in worlds]).astype(np.float32),
        np.stack([data.xquat for data in worlds]).astype(np.float32),
    )


def main(path: Path) -> None:
    """Step, film, write."""
    model = mujoco.MjModel.from_xml_string(MODEL)
    worlds = [mujoco.MjData(model) for _ in range(4)]
    for k, data in enumerate(worlds):
        data.qpos[:] = 2.5 + 0.001 * k, 1.0
        mujoco.mj_forward(model, data)

    scene = load_scene(model)
    source = StillPoses(scene, poses_of(worlds))
    renderer = BatchRenderer(scene, len(worlds), [CameraRequest("front", SIDE, SIDE)])
    video = VideoWriter(path, 2 * SIDE, 2 * SIDE, Fraction(FPS))
    for _ in range(FRAMES):
        rgb = renderer.render(source)["front"].rgb
        video.write(np.ascontiguousarray(rgb.reshape(2, 2, SIDE, SIDE, 3).swapaxes(1, 2).reshape(2 * SIDE, 2 * SIDE, 3)))
        for data in worlds:
            mujoco.mj_step(model, data, SUBSTEPS)
        source.show(poses_of(worlds))
    video.close()
    print(f"wrote {path}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "pendulums.mp4"))
