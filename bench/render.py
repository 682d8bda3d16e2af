#!/usr/bin/env python3
"""Film the same scene with rollfilm, MuJoCo's own renderer and mujoco_warp, in one run.

    python bench/render.py                                              # the Panda on the CPU
    python bench/render.py --device cuda:0 --cases 128x512x512,4096x64x64
    python bench/render.py --shadows --samples 4                        # with shadows and anti-aliasing, for everyone
    python bench/render.py --latency --device cuda:0                    # one render of a few worlds with three cameras
    python bench/render.py --first-frame                                # how long until the first picture

Nobody draws reflections, nor shadows or anti-aliasing unless they are asked for. Every world has a pose of its own, the same one for
everyone. A render is timed from known poses to finished pictures in the renderer's own memory: on the host for MuJoCo and on the CPU, on
the device on CUDA. Writes a table, a JSON line a case (OUT/render.jsonl) and the pictures side by side (OUT/*.png).
"""

import argparse
import importlib.metadata
import json
import os
import sys
import time
from collections.abc import Iterable
from pathlib import Path

import headless  # noqa: F401, must come before anything that imports MuJoCo
from measure import Timing, take_turns
from renderers import CONTENDERS, Contender, Job, contender_names, cpu_model

VERSIONS = ("warp-lang", "mujoco", "mujoco-warp", "numpy")
PEERS = ("mujoco", "mujoco_warp")
LATENCY_CASES = "1x224x224,16x224x224,64x224x224"
DEFAULT_CASES = {"cpu": "16x512x512,256x64x64", "cuda": "128x512x512,1024x128x128,4096x64x64"}


def read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu", help="cpu or cuda:0")
    parser.add_argument("--cases", default="", help="WORLDSxWIDTHxHEIGHT, with commas between them")
    parser.add_argument("--robot", default="panda", choices=("panda", "g1"))
    parser.add_argument("--cameras", default="", help="front (the default), own (on the robot), side, with commas between them")
    parser.add_argument("--shadows", action="store_true", help="everyone draws shadows")
    parser.add_argument("--samples", type=int, default=1, help="of a pixel; those who cannot are left out")
    parser.add_argument("--lod-pixels", type=float, help="the levels of detail that rollfilm draws; its own choice if left out")
    parser.add_argument("--latency", action="store_true", help="1, 16 and 64 worlds x 3 cameras x 224x224 unless others are asked for")
    parser.add_argument("--menagerie", type=Path, help="folder of MuJoCo Menagerie; the installed one if left out")
    parser.add_argument("--only", default="", help=f"some of: {', '.join(CONTENDERS)}")
    parser.add_argument("--repeats", type=int, default=9, help="samples of each renderer")
    parser.add_argument("--time-budget", type=float, default=20.0, help="seconds of samples for each renderer and case")
    parser.add_argument("--seed", type=int, default=0, help="of the poses")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "out")
    parser.add_argument("--first-frame", action="store_true", help="measure the first frame and the import instead")
    parser.add_argument("--film-once", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


def read_cases(text: str) -> list[tuple[int, int, int]]:
    cases = []
    for word in text.split(","):
        numbers = word.split("x")
        if len(numbers) != 3 or not all(number.isdecimal() and int(number) > 0 for number in numbers):
            sys.exit(f"--cases {text}: give WORLDSxWIDTHxHEIGHT, as in 16x512x512")
        cases.append((int(numbers[0]), int(numbers[1]), int(numbers[2])))
    return cases


def read_names(option: str, text: str, known: Iterable[str]) -> list[str]:
    names = text.split(",") if text else []
    if not set(names) <= set(known):
        sys.exit(f"{option} {text}: choose from {', '.join(known)}, with commas between them")
    return names


def machine(device: str) -> dict:
    """What the numbers were measured on."""
    import warp as wp

    try:
        device_name = wp.get_device(device).name
    except (ValueError, RuntimeError) as error:
        sys.exit(f"--device {device}: {error}")
    versions = {"rollfilm": __import__("rollfilm").__version__}
    for name in VERSIONS:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            versions[name] = "not installed"
    return {
        "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "device": device,
        "device_name": device_name,
        "cpu_model": cpu_model(),
        "threads": len(os.sched_getaffinity(0)),
        "python": sys.version.split()[0],
        "versions": versions,
    }


def run_case(job: Job, names: list[str], repeats: int, budget_s: float) -> tuple[dict, dict[str, Contender]]:
    """Measure one case: the results by contender (a missing one with its reason), and the contenders."""
    ready: dict[str, Contender] = {}
    results: dict[str, dict] = {}
    for name in names:
        try:
            ready[name] = CONTENDERS[name](job)
        except Exception as error:  # whatever a peer throws at us, the others still run
            results[name] = {"missing": reason(error)}
    timings = take_turns({name: contender.render for name, contender in ready.items()}, repeats, budget_s)
    images = job.num_worlds * len(job.cameras)
    for name, timing in timings.items():
        if isinstance(timing, Timing):
            results[name] = {
                "images_per_s": images / timing.median_s,
                "median_ms": 1e3 * timing.median_s,
                "spread": timing.spread,
                "samples": len(timing.samples_s),
                "first_call_s": timing.first_s,
            }
        else:
            results[name] = {"missing": reason(timing)}
            del ready[name]
    return {name: results[name] for name in names}, ready


def reason(error: Exception) -> str:
    """Why a contender is missing, in one line; of a long story the beginning and the end."""
    text = f"{type(error).__name__}: {' '.join(str(error).split())}"
    return text if len(text) <= 300 else f"{text[:140]} ... {text[-150:]}"


def ratios(results: dict[str, dict]) -> dict[str, float]:
    """How many times faster the best way to run rollfilm is than the best way to run each peer."""

    def best(name: str) -> float:
        return max((results.get(key, {}).get("images_per_s", 0.0) for key in (name, f"{name} graph")), default=0.0)

    return {peer: best("rollfilm") / best(peer) for peer in PEERS if best("rollfilm") and best(peer)}


def print_table(record: dict) -> None:
    from rich.console import Console
    from rich.table import Table

    case = f"{record['robot']}, {record['worlds']} worlds x {record['width']}x{record['height']}, cameras {', '.join(record['cameras'])}"
    case += ", shadows" * record["shadows"] + f", {record['samples']} samples" * (record["samples"] > 1)
    table = Table(title=f"{case}\n{record['device_name']} ({record['cpu_model']}, {record['threads']} threads)")
    for column in ("", "images/s", "ms a render", "spread", "samples", "first call s", "rollfilm is faster by"):
        table.add_column(column, justify="right" if column else "left")
    for name, result in record["results"].items():
        if "missing" in result:
            table.add_row(name, "missing", result["missing"])
            continue
        ratio = record["ratio"].get(name.removesuffix(" graph"))
        table.add_row(
            name,
            f"{result['images_per_s']:,.0f}",
            f"{result['median_ms']:.2f}",
            f"{result['spread']:.0%}",
            str(result["samples"]),
            f"{result['first_call_s']:.2f}",
            f"{ratio:.1f}x" if ratio else "",
        )
    Console(width=140).print(table)


def compare(arguments: argparse.Namespace) -> None:
    from scenes import CAMERAS, build_model, place_worlds
    from sheet import difference, write_sheet

    device = arguments.device
    place_of_run = machine(device)
    cases = read_cases(arguments.cases or (LATENCY_CASES if arguments.latency else DEFAULT_CASES[device.split(":")[0]]))
    names = read_names("--only", arguments.only, CONTENDERS) or contender_names(device)
    cameras = read_names("--cameras", arguments.cameras or ("front,own,side" if arguments.latency else "front"), CAMERAS)
    arguments.out.mkdir(parents=True, exist_ok=True)
    offscreen = max(max(case[1:]) for case in cases)
    shadows, samples = arguments.shadows, arguments.samples
    model, qpos = build_model(arguments.robot, arguments.menagerie, offscreen, shadows=shadows, samples=samples)
    for worlds, width, height in cases:
        poses = place_worlds(model, qpos, worlds, arguments.seed)
        job = Job(model, poses, tuple(cameras), width, height, device, shadows, samples, arguments.lod_pixels)
        results, ready = run_case(job, names, arguments.repeats, arguments.time_budget)
        case = {"robot": arguments.robot, "worlds": worlds, "width": width, "height": height, "cameras": list(job.cameras)}
        case |= {"shadows": shadows, "samples": samples, "lod_pixels": arguments.lod_pixels}
        record = case | place_of_run | {"results": results, "ratio": ratios(results)}
        for camera in job.cameras:
            pictures = {name: ready[name].picture(camera, worlds - 1) for name in ready if not name.endswith("graph")}
            path = arguments.out / f"{arguments.robot}-{worlds}x{width}x{height}-{camera}-{device.split(':')[0]}.png"
            if pictures:
                print(f"{path}, from left to right: {', '.join(write_sheet(path, pictures))}")
            if {"rollfilm", "mujoco"} <= pictures.keys():
                record.setdefault("difference_from_mujoco", {})[camera] = difference(pictures["rollfilm"], pictures["mujoco"])
        print_table(record)
        append(arguments.out / "render.jsonl", record)


def append(path: Path, record: dict) -> None:
    with path.open("a") as file:
        file.write(json.dumps(record) + "\n")
    print(f"appended to {path}")


def main() -> None:
    arguments = read_arguments()
    if arguments.film_once:
        from first_frame import film_once

        film_once(arguments.robot, arguments.device, arguments.menagerie)
    elif arguments.first_frame:
        from first_frame import measure_first_frames

        arguments.out.mkdir(parents=True, exist_ok=True)
        measured = measure_first_frames(arguments.robot, arguments.device, arguments.menagerie)
        print(json.dumps(measured, indent=2))
        append(arguments.out / "first_frame.jsonl", {"robot": arguments.robot} | machine(arguments.device) | measured)
    else:
        compare(arguments)


if __name__ == "__main__":
    main()
