"""Ways from frames on a device to video files, timed on the same frames in turns."""

import shutil
import statistics
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import av
import numpy as np

from film import CAMERA, Film
from rollfilm.host import host_array
from rollfilm.record import EnvDescription, Recorder, RecorderOptions, ResetBatch, StateBatch, StepBatch, VideoOptions
from rollfilm.record.buffers import camera_buffers
from rollfilm.record.pool import EncoderPool
from rollfilm.record.ring import FrameRing, FrameSlot
from rollfilm.render.frames import Frames

FPS = 20

#: Frames that wait for the encoders, as the recorder has them by itself.
BUFFERED_STEPS = RecorderOptions().buffered_steps

#: ManiSkill's writer (imageio's with quality=5 and its macro blocks): x264's own preset, crf 25, sides that 16 divides.
MOSAIC_OPTIONS = {"crf": "25"}
MOSAIC_BLOCK = 16


@dataclass(frozen=True, eq=False)
class Job:
    """What is recorded, and how."""

    film: Film
    scratch: Path
    codec: str
    preset: str
    threads: int | None

    @property
    def video(self) -> VideoOptions:
        """How videos are encoded."""
        return VideoOptions(codec=self.codec, preset=self.preset)

    def recorder(self, name: str, *, overview: bool = False, keep: str = "all") -> Recorder:
        """A recorder of videos and trajectories in a new folder."""
        env = EnvDescription(self.film.num_worlds, (self.film.request,), FPS, device=self.film.device)
        options = RecorderOptions(keep=keep, video=self.video, overview=overview, encoder_threads=self.threads, overwrite=True)
        return Recorder(self.scratch / name, env, options)


def begin(recorder: Recorder, film: Film, frames: Frames | None = None) -> None:
    """The reset of an episode in each world."""
    worlds = film.num_worlds
    state = StateBatch(frames or film.frames(0), 0, np.zeros((worlds, 32), np.float32))
    recorder.on_reset(ResetBatch(state, range(worlds), np.arange(worlds)))


def go_on(recorder: Recorder, film: Film, step: int, *, last: bool = False, frames: Frames | None = None) -> None:
    """One step of all worlds: what an environment with a state of 32 numbers and 8 joints gives."""
    worlds = film.num_worlds
    state = StateBatch(frames or film.frames(step), step, np.zeros((worlds, 32), np.float32))
    flags = np.full(worlds, last)
    actions, rewards = np.zeros((worlds, 8), np.float32), np.ones(worlds, np.float32)
    recorder.on_step(StepBatch(state, actions, rewards, flags, np.zeros(worlds, bool), success=flags))


def throughput(job: Job, steps: int, mosaic_steps: int, rounds: int) -> dict:
    """Images a second of each way, and how they compare."""
    samples: dict[str, list[float]] = {name: [] for name in PATHS}
    slots = filled_slots(job.film, job.video)
    for turn in range(rounds + 1):
        for name, path in PATHS.items():
            count = mosaic_steps if name == "maniskill" else steps
            started = time.perf_counter()
            path(job, count, slots)
            seconds = time.perf_counter() - started
            shutil.rmtree(job.scratch / name, ignore_errors=True)
            if turn:  # everyone is warmed up first
                samples[name].append(seconds / (count + 1))
    step_s = {name: statistics.median(values) for name, values in samples.items()}
    results: dict = {
        name: {
            "images_per_s": job.film.num_worlds / step_s[name],
            "step_ms": 1e3 * step_s[name],
            "spread": (max(values) - min(values)) / step_s[name],
        }
        for name, values in samples.items()
    }
    for anchor in ANCHORS:
        results[f"of_{anchor}"] = step_s[anchor] / step_s["recorder"]
        results[f"of_{anchor}_with_overview"] = step_s[anchor] / step_s["recorder and overview"]
    return results


def filled_slots(film: Film, video: VideoOptions) -> list[FrameSlot]:
    """A buffer on the host for each state of the film, which holds its frames from now on."""
    buffers = camera_buffers([film.request], video)
    return [FrameRing(buffers, film.num_worlds, 1).take(film.frames(step)) for step in range(len(film.poses))]


class StepInFlight:
    """A step that encoders work on: gives a place back to ``places`` once the last of them has let go of it."""

    def __init__(self, places: threading.Semaphore) -> None:
        self._places = places
        self._lock = threading.Lock()
        self._users = 0

    def retain(self) -> None:
        """An encoder has a picture of it to do."""
        with self._lock:
            self._users += 1

    def release(self) -> None:
        """It is done."""
        with self._lock:
            self._users -= 1
            if self._users == 0:
                self._places.release()


def encoder_pool(job: Job, steps: int, slots: list[FrameSlot]) -> None:
    """The encoders alone: frames are on the host already, no more of them wait than in the recorder."""
    folder = job.scratch / "pool"
    folder.mkdir()
    film = job.film
    pool = EncoderPool(job.threads)
    worlds = range(film.num_worlds)
    videos = [pool.open(folder / f"{world}.mp4", (film.size, film.size), Fraction(FPS), job.video) for world in worlds]
    places = threading.Semaphore(BUFFERED_STEPS)
    for step in range(steps + 1):
        places.acquire()
        in_flight = StepInFlight(places)
        in_flight.retain()
        for world, video in enumerate(videos):
            picture = slots[film.at(step)].picture(CAMERA, world)
            video.write(in_flight, lambda picture=picture: picture.pixels)
        in_flight.release()
    for done in [video.finish() for video in videos]:
        done.result()
    pool.close()


def recorded(job: Job, steps: int, slots: list[FrameSlot]) -> None:
    """The recorder: videos and trajectories."""
    _record(job, job.recorder("recorder"), steps)


def recorded_with_overview(job: Job, steps: int, slots: list[FrameSlot]) -> None:
    """The recorder as it is by itself, with the video of all worlds."""
    _record(job, job.recorder("recorder and overview", overview=True), steps)


def _record(job: Job, recorder: Recorder, steps: int) -> None:
    with recorder:
        begin(recorder, job.film)
        for step in range(1, steps + 1):
            go_on(recorder, job.film, step, last=step == steps)


def maniskill(job: Job, steps: int, slots: list[FrameSlot]) -> None:
    """ManiSkill's way: tile all worlds at every step, keep the mosaics in a list, encode one video of them at the end.

    imageio hands pictures to a process through a pipe; here the encoder is in this process, which only helps.
    """
    mosaics = [tiled(host_array(job.film.frames(step)[CAMERA].rgb)) for step in range(steps + 1)]
    folder = job.scratch / "maniskill"
    folder.mkdir()
    height, width = (-(-side // MOSAIC_BLOCK) * MOSAIC_BLOCK for side in mosaics[0].shape[:2])
    with av.open(folder / "mosaic.mp4", "w") as container:
        stream = container.add_stream("libx264", rate=FPS, options=MOSAIC_OPTIONS)
        stream.height, stream.width, stream.pix_fmt = height, width, "yuv420p"
        stream.thread_count, stream.thread_type = 0, "AUTO"
        for mosaic in mosaics:
            frame = av.VideoFrame.from_ndarray(mosaic, format="rgb24").reformat(width, height, "yuv420p", threads=0)
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))


def tiled(pictures: np.ndarray) -> np.ndarray:
    """One picture of all worlds (B, H, W, 3), column by column into int(sqrt(B)) rows."""
    rows = int(np.sqrt(len(pictures)))
    columns = list(_columns(pictures, rows))
    height, width = pictures.shape[1:3]
    mosaic = np.zeros((rows * height, len(columns) * width, 3), np.uint8)
    for x, column in enumerate(columns):
        mosaic[: len(column), x * width : (x + 1) * width] = column
    return mosaic


def _columns(pictures: np.ndarray, rows: int) -> Iterator[np.ndarray]:
    for first in range(0, len(pictures), rows):
        yield np.concatenate(pictures[first : first + rows], axis=0)


PATHS = {"pool": encoder_pool, "recorder": recorded, "recorder and overview": recorded_with_overview, "maniskill": maniskill}
ANCHORS = ("pool", "maniskill")
