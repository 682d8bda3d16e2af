#!/usr/bin/env python3
"""What recording costs, against its parts and against ManiSkill's way, on the same frames in one run.

    python bench/record.py                                              # 16 worlds of 256x256 on the CPU
    python bench/record.py --device cuda:0 --worlds 128 --size 512      # 128 files at once
    python bench/record.py --only throughput,loop                       # some of the measurements

throughput  images/s into one file a world: the encoder pool alone, the recorder, the recorder with its overview, and the way of ManiSkill's
            RecordEpisode (a copy to pageable memory, one mosaic of all worlds a step, one ffmpeg at the end), in turns.
loop        rendering and recording in one loop, over rendering alone plus encoding alone.
long        time a step of an episode at step 5,000, over that of a younger one, in turns.
memory      how much a recorder holds after 10,000 short episodes, more than after 100.

The film is a Panda in slow motion, every world in another phase. Writes a table and one JSON line (OUT/record.jsonl).
"""

import argparse
import json
import shutil
import sys
import tempfile
from pathlib import Path

import headless  # noqa: F401, must come before anything that imports MuJoCo
from film import Film
from recording_costs import LONG_STEPS, MANY_EPISODES, long_episodes, loop_cost, memory_growth
from recording_paths import ANCHORS, PATHS, Job, throughput
from render import machine

MEASUREMENTS = ("throughput", "loop", "long", "memory")
KIND = ("worlds", "size", "states", "steps", "mosaic_steps", "rounds", "codec", "preset", "threads")


def read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu", help="cpu or cuda:0, where the frames are")
    parser.add_argument("--worlds", type=int, default=16)
    parser.add_argument("--size", type=int, default=256, help="pixels, both sides of a picture")
    parser.add_argument("--states", type=int, default=32, help="different states in the film, which is played to and fro")
    parser.add_argument("--steps", type=int, default=100, help="of an episode of the encoder pool and of the recorder")
    parser.add_argument("--mosaic-steps", type=int, default=40, help="of an episode of ManiSkill's way, which holds all of it in memory")
    parser.add_argument("--rounds", type=int, default=3, help="turns of each contender; medians count")
    parser.add_argument("--codec", default="h264")
    parser.add_argument("--preset", default="ultrafast")
    parser.add_argument("--threads", type=int, help="that encode; all cores if left out")
    parser.add_argument("--long-steps", type=int, default=LONG_STEPS)
    parser.add_argument("--episodes", type=int, default=MANY_EPISODES, help="short ones, for the memory")
    parser.add_argument("--menagerie", type=Path, help="folder of MuJoCo Menagerie; the installed one if left out")
    parser.add_argument("--only", default="", help=f"some of: {', '.join(MEASUREMENTS)}")
    parser.add_argument("--scratch", type=Path, help="folder for the videos, which are deleted; the system's if left out")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "out")
    return parser.parse_args()


def measure(job: Job, wanted: list[str], options: argparse.Namespace) -> dict:
    """The results by measurement."""
    results: dict = {}
    if "throughput" in wanted:
        results["throughput"] = throughput(job, options.steps, options.mosaic_steps, options.rounds)
    if "loop" in wanted:
        results["loop"] = loop_cost(job, options.steps, options.rounds)
    if "long" in wanted:
        results["long"] = long_episodes(job, options.long_steps)
    if "memory" in wanted:
        results["memory"] = memory_growth(job.scratch, options.episodes)
    return results


def print_results(results: dict, what: str) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console(width=None if sys.stdout.isatty() else 140)
    if rates := results.get("throughput"):
        table = Table("", "images/s", "ms a step", "spread", title=what)
        for name in PATHS:
            row = rates[name]
            table.add_row(name, f"{row['images_per_s']:,.0f}", f"{row['step_ms']:.1f}", f"{100 * row['spread']:.0f} %")
        console.print(table)
        for anchor in ANCHORS:
            plain, whole = rates[f"of_{anchor}"], rates[f"of_{anchor}_with_overview"]
            console.print(f"recorder over {anchor}: {plain:.3f} times, with overview {whole:.3f} times")
    if loop := results.get("loop"):
        parts = " + ".join(f"{name} {loop[f'{name}_ms']:.1f} ms" for name in ("render", "encode"))
        console.print(f"loop: {parts} a step; recorded {loop['recorded_ms']:.1f} ms: {100 * loop['cost']:+.1f} %")
    if long := results.get("long"):
        console.print(
            f"at step {long['steps']:,} {long['old_ms']:.2f} ms a step, at step 50 {long['young_ms']:.2f} ms: {long['ratio']:.3f} times"
        )
    if memory := results.get("memory"):
        console.print(f"memory after {memory['episodes']:,} episodes: {memory['growth_mb']:+.2f} MB over that after {memory['after']}")


def main() -> int:
    options = read_arguments()
    wanted = options.only.split(",") if options.only else list(MEASUREMENTS)
    if not set(wanted) <= set(MEASUREMENTS):
        sys.exit(f"--only {options.only}: choose from {', '.join(MEASUREMENTS)}, with commas between them")
    about = machine(options.device)
    needs_film = set(wanted) != {"memory"}
    film = Film.shoot(options.worlds, options.size, options.states, options.device, options.menagerie) if needs_film else None
    scratch = Path(tempfile.mkdtemp(prefix="rollfilm-bench-", dir=options.scratch))
    try:
        job = Job(film, scratch, options.codec, options.preset, options.threads)
        results = measure(job, wanted, options)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    kind = {
        name: getattr(options, name)
        for name in ("worlds", "size", "states", "steps", "mosaic_steps", "rounds", "codec", "preset", "threads")
    }
    options.out.mkdir(parents=True, exist_ok=True)
    with (options.out / "record.jsonl").open("a") as file:
        file.write(json.dumps({**about, **kind, **results}) + "\n")
    what = f"{options.worlds} worlds x {options.size}x{options.size}, {options.codec} {options.preset}"
    what += f"\n{about['device_name']} ({about['cpu_model']}, {about['threads']} threads)"
    print_results(results, what)
    return 0


if __name__ == "__main__":
    sys.exit(main())
