"""What recording adds: to a loop that renders, to long episodes, and to the memory of a process that records many."""

import os
import shutil
import statistics
import time
from pathlib import Path

import numpy as np

from film import CAMERA
from recording_paths import FPS, Job, begin, encoder_pool, filled_slots, go_on
from rollfilm.record import EnvDescription, Recorder, RecorderOptions, ResetBatch, StateBatch, StepBatch
from rollfilm.render import CameraRequest
from rollfilm.render.frames import CameraFrames, Frames

LONG_STEPS = 5000
MANY_EPISODES = 10_000

#: Steps of one turn of the long episode and of the young one, and how many turns.
WINDOW = 50
TURNS = 8


def loop_cost(job: Job, steps: int, rounds: int) -> dict:
    """A loop that renders and records, over rendering alone plus encoding alone; milliseconds a step, medians of turns."""
    film = job.film
    renderer = film.renderer(film.num_worlds)
    slots = filled_slots(film, job.video)
    samples: dict[str, list[float]] = {"render": [], "encode": [], "recorded": []}

    def render() -> None:
        for step in range(steps + 1):
            wait_for(renderer.render(film.source(film.at(step)))[CAMERA].rgb)

    def recorded() -> None:
        with job.recorder("recorder") as recorder:
            begin(recorder, film, frames=_numbered(renderer.render(film.source(0)), 0))
            for step in range(1, steps + 1):
                frames = _numbered(renderer.render(film.source(film.at(step))), step)
                go_on(recorder, film, step, last=step == steps, frames=frames)

    ways = {"render": render, "encode": lambda: encoder_pool(job, steps, slots), "recorded": recorded}
    for turn in range(rounds + 1):
        for name, way in ways.items():
            started = time.perf_counter()
            way()
            seconds = time.perf_counter() - started
            shutil.rmtree(job.scratch, ignore_errors=True)
            job.scratch.mkdir()
            if turn:
                samples[name].append(1e3 * seconds / (steps + 1))
    renderer.close()
    medians = {name: statistics.median(values) for name, values in samples.items()}
    cost = medians["recorded"] / (medians["render"] + medians["encode"]) - 1
    return {**{f"{name}_ms": value for name, value in medians.items()}, "cost": cost, "samples_ms": samples}


def _numbered(frames: Frames, step: int) -> Frames:
    return Frames(frames.cameras, step)


def wait_for(array: object) -> None:
    """Until what a GPU is asked for is there."""
    if not isinstance(array, np.ndarray):
        import warp as wp

        wp.synchronize()


def long_episodes(job: Job, steps: int) -> dict:
    """Milliseconds a step of an episode around step ``steps``, and of one around step 50, in turns: both meet the same minute."""
    film = job.film
    old = job.recorder("old", keep="success")
    begin(old, film)
    for step in range(1, steps + 1):
        go_on(old, film, step)
    samples: dict[str, list[float]] = {"old": [], "young": []}
    for turn in range(TURNS):
        young = job.recorder("young", keep="success")
        begin(young, film)
        for step in range(1, WINDOW // 2 + 1):
            go_on(young, film, step)
        first = {"old": steps + turn * WINDOW, "young": WINDOW // 2}
        for name, recorder in (("old", old), ("young", young)):
            started = time.perf_counter()
            for step in range(first[name] + 1, first[name] + WINDOW + 1):
                go_on(recorder, film, step)
            samples[name].append(1e3 * (time.perf_counter() - started) / WINDOW)
        young.close()
    old.close()
    medians = {name: statistics.median(values) for name, values in samples.items()}
    ratio = statistics.median(a / b for a, b in zip(samples["old"], samples["young"], strict=True))
    return {"steps": steps, "old_ms": medians["old"], "young_ms": medians["young"], "ratio": ratio, "samples_ms": samples}


def memory_growth(scratch: Path, episodes: int, after: int = 100) -> dict:
    """Megabytes that a recorder of 4 worlds holds after many episodes of 3 steps, more than after ``after``."""
    worlds, side = 4, 32
    request = CameraRequest(CAMERA, side, side)
    env = EnvDescription(worlds, (request,), FPS)
    options = RecorderOptions(keep=lambda episode, outcome: episode.index % 10 == 0, encoder_threads=2)
    pictures = np.random.default_rng(0).integers(0, 256, (4, worlds, side, side, 3), np.uint8)
    observation = np.zeros((worlds, 32), np.float32)
    count, held = 0, {}
    with Recorder(scratch / "short", env, options) as recorder:

        def state(step: int) -> StateBatch:
            return StateBatch(Frames({CAMERA: CameraFrames(rgb=pictures[step])}, count), count, observation)

        for first in range(0, episodes, worlds):
            if first in (after, episodes - worlds):
                held[first] = _resident_mb()
            recorder.on_reset(ResetBatch(state(0), range(worlds), first + np.arange(worlds)))
            for step in (1, 2, 3):
                count += 1
                flags = np.full(worlds, step == 3)
                actions, rewards = np.zeros((worlds, 8), np.float32), np.ones(worlds, np.float32)
                recorder.on_step(StepBatch(state(step), actions, rewards, flags, np.zeros(worlds, bool), success=flags))
    return {"episodes": episodes, "after": after, "growth_mb": held[episodes - worlds] - held[after], "held_mb": list(held.values())}


def _resident_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6
