#!/usr/bin/env python3
"""Hold rollfilm to MuJoCo's own renderer on scenes of MuJoCo Menagerie, and its levels of detail to full detail.

    python bench/parity.py                                  # all scenes: a table, and a JSON line each in OUT/parity.jsonl
    python bench/parity.py --scenes panda,g1 --save         # and the pictures side by side, OUT/parity-*.png
    python bench/parity.py --page docs/parity.md            # build the page of the documentation
    python bench/parity.py --no-lod --scenes g1             # without the levels of detail

Both film 480 x 480 pixels in MuJoCo's default look. What rollfilm draws on request only (sites) is off in both.
"""

import argparse
import json
import statistics
import sys
import time
from pathlib import Path

import headless  # noqa: F401, must come before anything that imports MuJoCo

import mujoco  # isort: skip
import numpy as np

from parity_levels import triangles_in_view
from parity_metrics import averaged, away_from_edges, coincident, depth_difference_mm, id_overlap, psnr, ssim
from parity_scenes import CAMERA, SCENES, ParityScene, build_scene

SIZE = 480
LOD_SIZES = (64, 128, 256, 512)

#: The sizes of pictures that are averaged to those of LOD_SIZES: 64, 64, 16 and 4 samples a pixel.
FILTERED = {64: 512, 128: 1024, 256: 1024, 512: 1024}

#: What finer levels than the default would give.
FINER = (0.1, 0.05, 0.025)
ALL = ("rgb", "depth_m", "segmentation")

#: What the project promises.
BARS = {
    "ssim mean": 0.98,
    "ssim worst": 0.95,
    "depth mm at 2 m": 1.0,
    "depth mm at 2 m, largest pixel": 1.0,
    "ids": 0.99,
    "levels dB": 40.0,
    "levels dB, 1 sample": 40.0,
}


def read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scenes", default="", help=f"some of: {', '.join(scene.name for scene in SCENES)}")
    parser.add_argument("--menagerie", type=Path, help="folder of MuJoCo Menagerie; the installed one if left out")
    parser.add_argument("--no-lod", action="store_true", help="leave the levels of detail alone")
    parser.add_argument("--only-lod", action="store_true", help="measure nothing but the levels of detail, which needs no OpenGL")
    parser.add_argument("--save", action="store_true", help="write the pictures side by side")
    parser.add_argument("--page", type=Path, help="write the page of the documentation, with its pictures beside it")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "out")
    return parser.parse_args()


def film_mujoco(model: mujoco.MjModel, data: mujoco.MjData) -> dict[str, np.ndarray]:
    """What mujoco.Renderer shows by default, but for sites: rgb, depth_m and segmentation, (H, W, ...)."""
    option = mujoco.MjvOption()
    option.sitegroup[:] = 0
    with mujoco.Renderer(model, SIZE, SIZE) as renderer:
        renderer.update_scene(data, CAMERA, option)
        pictures = {"rgb": renderer.render().copy()}
        renderer.enable_depth_rendering()
        pictures["depth_m"] = renderer.render().copy()
        renderer.disable_depth_rendering()
        renderer.enable_segmentation_rendering()
        ids, kinds = np.moveaxis(renderer.render(), -1, 0)
        pictures["segmentation"] = np.where(kinds == int(mujoco.mjtObj.mjOBJ_GEOM), ids, -1)
    return pictures


class Filming:
    """rollfilm's pictures of one state of a model."""

    def __init__(self, model: mujoco.MjModel, data: mujoco.MjData) -> None:
        from rollfilm.engines.still import StillPoses
        from rollfilm.scene import BodyPoses
        from rollfilm.scene.mujoco import load_scene
        from rollfilm.scene.mujoco_paths import path_points

        self.scene = load_scene(model)
        poses = BodyPoses(data.xpos[None].astype(np.float32), data.xquat[None].astype(np.float32), path_points(model, data)[None])
        self.source = StillPoses(self.scene, poses)

    def pictures(self, options, size: int = SIZE, outputs: tuple[str, ...] = ALL) -> dict[str, np.ndarray]:
        """The outputs, (H, W, ...)."""
        from rollfilm.render import BatchRenderer, CameraRequest

        renderer = BatchRenderer(self.scene, 1, [CameraRequest(CAMERA, size, size, outputs)], options=options)
        frames = renderer.render(self.source)[CAMERA]
        pictures = {name: getattr(frames, name)[0].copy() for name in outputs}
        renderer.close()
        return pictures


def measure_parity(mine: dict[str, np.ndarray], theirs: dict[str, np.ndarray], shared: np.ndarray) -> dict:
    """SSIM, depth and ids of one scene; ``shared`` (H, W) are the pixels where two geoms coincide."""
    clear = away_from_edges(theirs["segmentation"], theirs["depth_m"])
    largest, most = depth_difference_mm(mine["depth_m"], theirs["depth_m"], clear)
    overlap, worst, worst_id = id_overlap(mine["segmentation"], theirs["segmentation"], ~shared)
    return {
        "ssim": ssim(mine["rgb"], theirs["rgb"]),
        "difference": float(np.abs(mine["rgb"].astype(np.int16) - theirs["rgb"]).mean()),
        "depth_mm_max": largest,
        "depth_mm_p999": most,
        "depth_pixels": int(clear.sum()),
        "ids_iou_all": id_overlap(mine["segmentation"], theirs["segmentation"], np.ones_like(shared))[0],
        "ids_iou": overlap,
        "ids_iou_worst": worst,
        "ids_worst_geom": worst_id,
        "coincident_pixels": int(shared.sum()),
    }


def measure_levels(filming: Filming) -> dict[str, dict]:
    """PSNR of the levels of detail against full detail by ``lod_pixels`` and size: ``filtered`` in pictures of many samples a pixel, which
    show surfaces and not where samples happen to fall, and ``single`` in pictures of one; and the triangles of the view.

    The filtered pictures are larger ones, averaged; they are drawn with the levels of the small ones. Both sides have the same samples.
    """
    from rollfilm.render import RenderOptions

    full = {size: filming.pictures(RenderOptions(lod_pixels=0.0), size, ("rgb",))["rgb"] for size in {*LOD_SIZES, *FILTERED.values()}}
    result: dict[str, dict] = {}
    for allowed in (RenderOptions().lod_pixels, *FINER):
        numbers = result[f"{allowed:g}"] = {"filtered": {}, "single": {}, "triangles": {}}
        for size, large in FILTERED.items():
            small = filming.pictures(RenderOptions(lod_pixels=allowed), size, ("rgb",))["rgb"]
            numbers["single"][str(size)] = psnr(small, full[size])
            drawn = filming.pictures(RenderOptions(lod_pixels=allowed * large / size), large, ("rgb",))["rgb"]
            numbers["filtered"][str(size)] = psnr(averaged(drawn, large // size), averaged(full[large], large // size))
            numbers["triangles"][str(size)] = triangles_in_view(filming.scene, filming.source, CAMERA, size, allowed)
    return result


def mujoco_look(lod_pixels: float | None = None):
    """The options that draw what MuJoCo draws by default."""
    from dataclasses import replace

    from rollfilm.render import RenderOptions

    look = RenderOptions.mujoco_look()
    return look if lod_pixels is None else replace(look, lod_pixels=lod_pixels)


def run_scene(scene: ParityScene, arguments: argparse.Namespace) -> tuple[dict, dict[str, dict[str, np.ndarray]]]:
    """The record of one scene, and the pictures by renderer."""
    started = time.perf_counter()
    model, data = build_scene(scene, arguments.menagerie, SIZE)
    filming = Filming(model, data)
    record: dict = {"scene": scene.name, "kind": scene.kind, "model": f"{scene.folder}/{scene.file}"}
    pictures = {}
    if not arguments.only_lod:
        pictures = {"rollfilm": filming.pictures(mujoco_look()), "mujoco": film_mujoco(model, data)}
        full, theirs = filming.pictures(mujoco_look(0.0)), pictures["mujoco"]
        shared = coincident(full["segmentation"], full["depth_m"], theirs["segmentation"], theirs["depth_m"])
        record |= measure_parity(pictures["rollfilm"], theirs, shared)
        record["full_detail"] = measure_parity(full, theirs, shared)
        record["warnings"] = list(filming.scene.warnings)
    if not arguments.no_lod:
        record["levels_db"] = measure_levels(filming)
    return record | {"seconds": time.perf_counter() - started}, pictures


def summary(records: list[dict]) -> dict[str, float]:
    """The numbers that bars are for."""
    result = {}
    if "ssim" in records[0]:
        result["ssim mean"] = statistics.mean(r["ssim"] for r in records)
        result["ssim worst"] = min(r["ssim"] for r in records)
        result["depth mm at 2 m"] = max(r["depth_mm_p999"] for r in records)
        result["depth mm at 2 m, largest pixel"] = max(r["depth_mm_max"] for r in records)
        result["ids"] = min(r["ids_iou_all"] for r in records)
    if "levels_db" in records[0]:
        for name, samples in (("levels dB", "filtered"), ("levels dB, 1 sample", "single")):
            result[name] = min(min(default_levels(r)[samples].values()) for r in records)
    return result


def default_levels(record: dict) -> dict[str, dict[str, float]]:
    """What was measured with the levels that are drawn unless others are asked for."""
    return next(iter(record["levels_db"].values()))


def versions() -> dict[str, str]:
    """What drew: packages by name, and OpenGL's own name for what is behind it."""
    from importlib.metadata import version

    from OpenGL.GL import GL_RENDERER, GL_VERSION, glGetString

    import rollfilm

    with mujoco.Renderer(mujoco.MjModel.from_xml_string("<mujoco/>"), 8, 8):
        opengl = " ".join(bytes(glGetString(name) or b"").decode() for name in (GL_RENDERER, GL_VERSION))
    return {"rollfilm": rollfilm.__version__, "Warp": version("warp-lang"), "MuJoCo": version("mujoco"), "OpenGL": opengl}


def print_table(records: list[dict]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(title="rollfilm against mujoco.Renderer (in brackets: with full detail), levels of detail against full detail")
    sizes = [f"dB {size} px (1 sample), triangles" for size in LOD_SIZES]
    for column in ("scene", "SSIM", "depth mm at 2 m: 99.9 %", "largest", "ids IoU", "worst geom", *sizes, "s"):
        table.add_column(column, justify="left" if column == "scene" else "right")
    for r in records:
        cells = [""] * 5
        if full := r.get("full_detail"):
            cells = [
                f"{r['ssim']:.4f} ({full['ssim']:.4f})",
                f"{r['depth_mm_p999']:.2f} ({full['depth_mm_p999']:.2f})",
                f"{r['depth_mm_max']:.1f} ({full['depth_mm_max']:.1f})",
                f"{r['ids_iou']:.4f} ({full['ids_iou']:.4f})",
                f"{r['ids_iou_worst']:.3f} ({full['ids_iou_worst']:.3f})",
            ]
        levels = [""] * len(LOD_SIZES)
        if "levels_db" in r:
            n = default_levels(r)
            levels = [f"{n['filtered'][s]:.1f} ({n['single'][s]:.1f}) {n['triangles'][s]:,}" for s in n["filtered"]]
        table.add_row(r["scene"], *cells, *levels, f"{r['seconds']:.0f}")
    Console(width=190).print(table)


def main() -> int:
    arguments = read_arguments()
    names = arguments.scenes.split(",") if arguments.scenes else [scene.name for scene in SCENES]
    unknown = set(names) - {scene.name for scene in SCENES}
    if unknown:
        sys.exit(f"--scenes {arguments.scenes}: no scene {', '.join(sorted(unknown))}; there are {', '.join(s.name for s in SCENES)}")
    arguments.out.mkdir(parents=True, exist_ok=True)
    records = []
    sheets = {}
    for scene in (scene for scene in SCENES if scene.name in names):
        record, pictures = run_scene(scene, arguments)
        record["date"] = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        records.append(record)
        with (arguments.out / "parity.jsonl").open("a") as file:
            file.write(json.dumps(record) + "\n")
        print({k: v for k, v in record.items() if k not in ("warnings", "full_detail", "model")}, file=sys.stderr, flush=True)
        colors = {name: outputs["rgb"] for name, outputs in pictures.items()}
        if colors and arguments.page:
            sheets[scene.name] = colors
        if colors and arguments.save:
            from sheet import write_sheet

            write_sheet(arguments.out / f"parity-{scene.name}.png", colors)
    print_table(records)
    measured = summary(records)
    for name, value in measured.items():
        good = value <= BARS[name] if "mm" in name else value >= BARS[name]
        print(f"{name:30s} {value:8.4f}   bar {BARS[name]:g}: {'held' if good else 'MISSED'}")
    if arguments.page:
        from parity_page import write_page

        write_page(arguments.page, records, sheets, measured, BARS, versions())
    return 0


if __name__ == "__main__":
    sys.exit(main())
