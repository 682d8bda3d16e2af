#!/usr/bin/env python3
"""What looks cost: the Panda filmed with no looks, with looks that change nothing, and with looks that differ in every field.

    python bench/looks.py --device cpu --cases 64x64x64,8x512x512

All take turns in one run. "as the scene" sets every field to what the scene has, so that the pictures are the same and only the cost of
the fields is left. Also timed: drawing the looks of all worlds, and giving them to the renderer after the first time.
"""

import argparse
from collections.abc import Callable

import numpy as np

import rollfilm
from measure import Timing, take_turns
from rollfilm.render import (
    BatchRenderer,
    CameraRange,
    CameraRequest,
    GeomRange,
    HeadlightRange,
    LightRange,
    LooksConfig,
    WorldLooks,
    randomize,
)
from rollfilm.scene import Scene, all_geom_names, light_names


def same_looks(scene: Scene, num_worlds: int) -> WorldLooks:
    """Every field, as the scene has it."""

    def rows(values: object) -> np.ndarray:
        return np.repeat(np.asarray(values)[None], num_worlds, axis=0)

    names, lights = all_geom_names(scene), light_names(scene)
    textured = [i for i, geom in enumerate(scene.geoms) if geom.material.texture >= 0]
    head = scene.headlight
    assert head is not None
    camera = scene.camera("front")
    return WorldLooks(
        geom_rgba={names: rows([geom.material.rgba for geom in scene.geoms])},
        geom_visible={names: rows(np.ones(len(names), bool))},
        geom_scale={tuple(n for n, g in zip(names, scene.geoms, strict=True) if g.mesh >= 0): np.ones((num_worlds, 1, 3))},
        geom_texture={names[i]: np.full(num_worlds, scene.geoms[i].material.texture) for i in textured},
        geom_mesh={"cube": np.full(num_worlds, -1)},
        light_diffuse={lights: rows([light.diffuse for light in scene.lights])},
        headlight_diffuse=rows(head.diffuse),
        camera_offset={"front": np.zeros((num_worlds, 3))},
        camera_fov_y_rad={"front": np.full(num_worlds, camera.fov_y_rad)},
    )


CONFIG = LooksConfig(
    geoms=(
        GeomRange(geoms=("cube",), rgba=((0, 0, 0), (1, 1, 1)), scale=(0.8, 1.5), meshes=("",)),
        GeomRange(geoms=("floor",), textures=("floor", ""), rgba=((0.3, 0.3, 0.3), (1, 1, 1))),
        GeomRange(geoms=("goal_site",), hidden=0.5),
        GeomRange(materials=("table_top", "white", "off_white", "black"), rgba=((0, 0, 0), (1, 1, 1))),
    ),
    lights=(LightRange(("key", "fill"), direction=((-1, -1, -1.5), (1, 1, -1)), diffuse=((0, 0, 0), (1, 1, 1))),),
    cameras=(CameraRange(("front",), offset_m=((-0.1, -0.1, -0.1), (0.1, 0.1, 0.1)), turn_rad=0.05, fov_y_rad=(0.7, 0.9)),),
    headlight=HeadlightRange(diffuse=((0, 0, 0), (0.4, 0.4, 0.4))),
)


def main() -> None:
    """Measure each case and print a line for each renderer."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--cases", default="64x64x64,8x512x512", help="WORLDSxWIDTHxHEIGHT, with commas between them")
    parser.add_argument("--repeats", type=int, default=9)
    arguments = parser.parse_args()
    for case in arguments.cases.split(","):
        run_case(case, arguments.device, arguments.repeats)


def run_case(case: str, device: str, repeats: int) -> None:
    """Measure one case."""
    num_worlds, width, height = (int(number) for number in case.split("x"))
    env = rollfilm.make("pick-cube", num_envs=num_worlds)
    env.reset(seed=0)
    scene, seeds = env.engine.scene, env.episode_seed
    renderers = {
        name: BatchRenderer(scene, num_worlds, [CameraRequest("front", height, width)], device=device)
        for name in ("no looks", "as the scene", "all different")
    }
    renderers["as the scene"].set_looks(same_looks(scene, num_worlds))
    drawn = randomize(CONFIG, scene, seeds)
    renderers["all different"].set_looks(drawn)
    pictures = {name: renderer.render(env.engine)["front"].rgb for name, renderer in renderers.items()}
    same = bool((pictures["no looks"] == pictures["as the scene"]).all())
    jobs: dict[str, Callable[[], None]] = {
        name: lambda renderer=renderer: wait(renderer, env.engine) for name, renderer in renderers.items()
    }
    jobs["draw looks"] = lambda: draw(scene, seeds)
    jobs["set looks"] = lambda: renderers["all different"].set_looks(drawn)
    for name, timing in take_turns(jobs, repeats, 20.0).items():
        assert isinstance(timing, Timing), timing
        rate = f"{num_worlds / timing.median_s:,.0f} images/s" if name in renderers else f"{1e3 * timing.median_s:.2f} ms"
        print(f"{case}  {name:14} {rate}, spread {timing.spread:.0%}")
    print(f"{case}  pictures as the scene: {'the same bytes' if same else 'DIFFERENT'}")
    for renderer in renderers.values():
        renderer.close()
    env.close()


def draw(scene: Scene, seeds: np.ndarray) -> None:
    """Draw the looks of all worlds."""
    randomize(CONFIG, scene, seeds)


def wait(renderer: BatchRenderer, source: object) -> None:
    """Render, until the pictures are there."""
    renderer.render(source)  # pyright: ignore[reportArgumentType]
    if renderer.device != "cpu":
        import warp as wp

        wp.synchronize_device(renderer.device)


if __name__ == "__main__":
    main()
