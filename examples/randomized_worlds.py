"""Sixteen worlds of pick-cube that look different, on one sheet: colours, floors, lights, cameras, the size and shape of the cube.

python examples/randomized_worlds.py sheet.png
"""

import sys
from pathlib import Path

import numpy as np

import rollfilm
from rollfilm.cli.png import write_png
from rollfilm.render import (
    BatchRenderer,
    CameraRange,
    CameraRequest,
    GeomRange,
    HeadlightRange,
    LightRange,
    LooksConfig,
    randomize,
)
from rollfilm.scene.extend import mesh_from_triangles, texture_from_image, with_meshes, with_textures

NUM_WORLDS, SIDE = 16, 128

#: An octahedron as large as the cube.
TIPS = 0.03 * np.array([[1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1]])
SIDES = [[0, 2, 4], [2, 1, 4], [1, 3, 4], [3, 0, 4], [2, 0, 5], [1, 2, 5], [3, 1, 5], [0, 3, 5]]


def planks(seed: int) -> np.ndarray:
    """A floor of boards, (128, 128, 3)."""
    random = np.random.default_rng(seed)
    boards = np.repeat(random.uniform(0.5, 1.0, (8, 1)), 16, axis=0) * random.normal(1.0, 0.05, (128, 128))
    boards[::16] *= 0.5
    return np.clip(boards[..., None] * np.array([190, 140, 90]), 0, 255).astype(np.uint8)


CONFIG = LooksConfig(
    geoms=(
        GeomRange(geoms=("cube",), rgba=((0, 0, 0), (1, 1, 1)), scale=(0.8, 1.5), meshes=("", "gem")),
        GeomRange(geoms=("floor",), textures=("floor", "planks", ""), rgba=((0.3, 0.3, 0.3), (1, 1, 1))),
        GeomRange(geoms=("goal_site",), hidden=0.5),
        GeomRange(materials=("table_top",), rgba=((0.2, 0.2, 0.2), (0.9, 0.8, 0.7)), together=True),
        GeomRange(materials=("white",), rgba=((0.3, 0.3, 0.3), (1, 1, 1)), together=True),
        GeomRange(materials=("off_white",), rgba=((0.1, 0.1, 0.1), (1, 1, 1)), together=True),
    ),
    lights=(LightRange(("key",), direction=((-1, -1, -1.5), (1, 1, -1)), diffuse=((0.2, 0.2, 0.2), (0.9, 0.9, 0.9))),),
    cameras=(CameraRange(("front",), offset_m=((-0.1, -0.1, -0.1), (0.1, 0.1, 0.1)), turn_rad=0.08, fov_y_rad=(0.6, 0.9)),),
    headlight=HeadlightRange(diffuse=((0, 0, 0), (0.4, 0.4, 0.4))),
)


def main(path: Path) -> None:
    """Draw sixteen worlds and write their pictures side by side."""
    env = rollfilm.make("pick-cube", num_envs=NUM_WORLDS)
    env.reset(seed=0)
    scene = with_textures(env.engine.scene, texture_from_image("planks", planks(0)))
    scene = with_meshes(scene, mesh_from_triangles("gem", TIPS, SIDES))
    renderer = BatchRenderer(scene, NUM_WORLDS, [CameraRequest("front", SIDE, SIDE)])
    renderer.set_looks(randomize(CONFIG, scene, env.episode_seed))
    rgb = renderer.render(env.engine)["front"].rgb
    sheet = rgb.reshape(4, 4, SIDE, SIDE, 3).swapaxes(1, 2).reshape(4 * SIDE, 4 * SIDE, 3)
    write_png(path, sheet)
    renderer.close()
    env.close()


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "randomized_worlds.png"))
