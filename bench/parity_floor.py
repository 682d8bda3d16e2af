#!/usr/bin/env python3
"""What PSNR two exact pictures have that lie a little apart: the most that levels of detail can have which move surfaces as far.

    python bench/parity_floor.py                            # four scenes
    python bench/parity_floor.py --scenes panda             # one of bench/parity.py

Pictures of one sample a pixel in full detail, of a camera whose principal point is displaced in three directions, against the same
picture as it is; and beside them the levels of detail, with what of their error lies in pixels that show another geom.
"""

import argparse
from dataclasses import replace

import numpy as np

import headless  # noqa: F401, must come before anything that imports MuJoCo
from parity import LOD_SIZES, SIZE, Filming
from parity_metrics import psnr
from parity_scenes import CAMERA, SCENES, build_scene

DISPLACEMENTS = (0.02, 0.05, 0.1)
DIRECTIONS_RAD = (0.0, 1.57, 2.4)


def film(filming: Filming, size: int, lod_pixels: float, displacement: complex = 0) -> tuple[np.ndarray, np.ndarray]:
    """Colours (H, W, 3) and ids (H, W) of a camera whose principal point is displaced, pixels to the right and down."""
    from rollfilm.render import BatchRenderer, CameraRequest, RenderOptions

    lens = filming.scene.camera(CAMERA)
    focal = 0.5 * size / np.tan(0.5 * lens.fov_y_rad)
    camera = replace(lens, name="displaced", fx=focal, cx=0.5 * size + displacement.real, cy=0.5 * size + displacement.imag)
    renderer = BatchRenderer(
        filming.scene, 1, [CameraRequest(camera, size, size, ("rgb", "segmentation"))], options=RenderOptions(lod_pixels=lod_pixels)
    )
    frames = renderer.render(filming.source)["displaced"]
    pictures = frames.rgb[0].copy(), frames.segmentation[0].copy()
    renderer.close()
    return pictures


def main() -> None:
    from rollfilm.render import RenderOptions

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scenes", default="panda,t1,apollo,h1")
    names = parser.parse_args().scenes.split(",")
    for scene in (scene for scene in SCENES if scene.name in names):
        filming = Filming(*build_scene(scene, None, SIZE))
        for size in LOD_SIZES:
            full, ids = film(filming, size, 0.0)
            coarse, coarse_ids = film(filming, size, RenderOptions().lod_pixels)
            error = ((coarse.astype(np.float64) - full) ** 2).sum(axis=-1)
            flipped = coarse_ids != ids
            print(
                f"{scene.name} {size} px: levels {psnr(coarse, full):.1f} dB, {flipped.sum()} pixels of another geom are "
                f"{error[flipped].sum() / error.sum():.0%} of their error;",
                end="",
            )
            for displacement in DISPLACEMENTS:
                moved = [film(filming, size, 0.0, displacement * np.exp(1j * angle))[0] for angle in DIRECTIONS_RAD]
                found = [psnr(picture, full) for picture in moved]
                print(f" full detail moved by {displacement} px {min(found):.1f} to {max(found):.1f} dB,", end="")
            print(flush=True)


if __name__ == "__main__":
    main()
