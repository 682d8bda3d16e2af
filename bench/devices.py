#!/usr/bin/env python3
"""Compare the pictures of two devices, which need not be in the same machine.

    python bench/devices.py --device cpu --save cpu.npz
    python bench/devices.py --device cuda:0 --compare cpu.npz

Films the Panda, and a scene with every kind of geom, light and texture, at several sizes with all outputs. Prints for each picture
the part of its pixels that are equal and the part that differ by at most 1 of 255; exits with 1 where the latter is below 99.9 %.
"""

import argparse
import sys
from pathlib import Path

import mujoco
import numpy as np

import headless  # noqa: F401, must come before anything that imports MuJoCo
from rollfilm.engines.still import StillPoses
from rollfilm.render import BatchRenderer, CameraRequest
from rollfilm.scene import BodyPoses, Camera, Placement
from rollfilm.scene.mujoco import load_scene
from scenes import build_model

SIZES = ((512, 512), (85, 63), (64, 64))
OUTPUTS = ("rgb", "depth_m", "segmentation")

SHAPES = """
<mujoco>
  <asset>
    <texture name="sky" type="skybox" builtin="gradient" rgb1="0.4 0.6 0.8" rgb2="0.1 0.1 0.2" width="64" height="384"/>
    <texture name="check" type="2d" builtin="checker" rgb1="0.8 0.7 0.2" rgb2="0.2 0.2 0.6" width="64" height="64"/>
    <material name="floor" texture="check" texrepeat="4 4" texuniform="true" specular="0.3"/>
    <material name="shiny" rgba="0.7 0.2 0.2 1" specular="1" shininess="0.8"/>
  </asset>
  <worldbody>
    <light type="directional" dir="-0.3 0.2 -1" diffuse="0.5 0.5 0.5"/>
    <light type="spot" pos="1 -1 2" dir="-0.5 0.5 -1" cutoff="35" exponent="4" attenuation="1 0.1 0.05"/>
    <camera name="front" pos="1.6 -1.4 1.1" xyaxes="0.66 0.75 0 -0.34 0.3 0.9"/>
    <geom type="plane" size="0 0 1" material="floor"/>
    <geom type="plane" size="0.5 0.3 1" pos="0 0 0.002" rgba="0.9 0.9 0.9 1"/>
    <geom type="box" size="0.2 0.1 0.15" pos="0.1 0.1 0.15" euler="10 20 30" rgba="0.3 0.6 0.3 1"/>
    <geom type="sphere" size="0.2" pos="-0.4 0.1 0.3" material="shiny"/>
    <geom type="capsule" size="0.08 0.2" pos="0.5 0.4 0.3" euler="40 10 0" material="shiny"/>
    <geom type="cylinder" size="0.1 0.15" pos="-0.3 -0.5 0.2" euler="70 0 20" rgba="0.2 0.4 0.9 1"/>
    <geom type="ellipsoid" size="0.1 0.2 0.15" pos="0.4 -0.4 0.2" rgba="0.9 0.5 0.1 1"/>
  </worldbody>
</mujoco>
"""


def film(model: mujoco.MjModel, qpos: np.ndarray | None, device: str) -> dict[str, np.ndarray]:
    """Every output of every size, as arrays on the host."""
    data = mujoco.MjData(model)
    if qpos is not None:
        data.qpos[:] = qpos
    mujoco.mj_kinematics(model, data)
    scene = load_scene(model)
    place = scene.camera("front")
    cameras = [Camera(f"{w}x{h}", place.placement, place.fov_y_rad) for w, h in SIZES]
    # the same view from inside the scene: near clipping
    cameras.append(Camera("inside", Placement(position=(0.05, 0.05, 0.12), quat_wxyz=place.placement.quat_wxyz)))
    requests = [CameraRequest(c, h, w, OUTPUTS) for c, (w, h) in zip(cameras, [*SIZES, (128, 96)], strict=True)]
    position = data.xpos[None].astype(np.float32)
    quat = data.xquat[None].astype(np.float32)
    if device != "cpu":
        import warp as wp

        position, quat = wp.array(position, dtype=float, device=device), wp.array(quat, dtype=float, device=device)
    renderer = BatchRenderer(scene, 1, requests, device=device)
    source = StillPoses(scene, BodyPoses(position, quat), device=device)
    for _ in range(3):  # on CUDA the first is launched, the others are replayed from a graph
        frames = renderer.render(source)
    result = {}
    for name, pictures in frames.items():
        for output in OUTPUTS:
            array = getattr(pictures, output)
            result[f"{name}.{output}"] = array if isinstance(array, np.ndarray) else array.cpu().numpy()
    return result


def compare(mine: dict[str, np.ndarray], theirs: dict[str, np.ndarray]) -> bool:
    """Print a line a picture; true if all are close enough."""
    good = True
    for name, a in mine.items():
        b = theirs[name]
        if name.endswith("rgb"):
            gap = np.abs(a.astype(int) - b).max(axis=-1)
        elif name.endswith("depth_m"):
            gap = np.abs(a - b) / np.maximum(b, 1e-3) * 1e4  # 1 is a part in 10,000
        else:
            gap = 2.0 * (a != b)
        close = float((gap <= 1).mean())
        print(f"{name:36s} equal {100 * float((a == b).mean()):8.4f} %   close {100 * close:8.4f} %")
        good &= close >= 0.999
    return good


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--menagerie", type=Path, help="folder of MuJoCo Menagerie; the installed one if left out")
    parser.add_argument("--save", type=Path)
    parser.add_argument("--compare", type=Path)
    options = parser.parse_args()
    panda, qpos = build_model("panda", options.menagerie, 512)
    shapes = mujoco.MjModel.from_xml_string(SHAPES)
    films = {"panda": film(panda, qpos, options.device), "shapes": film(shapes, None, options.device)}
    pictures = {f"{scene}.{name}": array for scene, arrays in films.items() for name, array in arrays.items()}
    if options.save:
        np.savez_compressed(options.save, **pictures)
    if options.compare:
        return 0 if compare(pictures, dict(np.load(options.compare))) else 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
