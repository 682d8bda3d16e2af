"""Runs all checks that a folder calls for, on all cores."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path

from rollfilm.cores import available_cores
from rollfilm.record.reading import Recording
from rollfilm.record.verify.faults import Fault, Job
from rollfilm.record.verify.listing import check_listing
from rollfilm.record.verify.rows import check_rows
from rollfilm.record.verify.videos import check_videos

__all__ = ["Verdict", "VerifyOptions", "verify"]

#: What is checked, one file a format.
_CHECKS: tuple[Callable[[Recording], Iterator[Job]], ...] = (check_listing, check_rows, check_videos)


@dataclass(frozen=True)
class VerifyOptions:
    """How a recording is verified.

    Attributes:
        num_threads: None for one a core.
        progress: called with how many of how many frames have been decoded, and how many seconds of video that is.
    """

    num_threads: int | None = None
    progress: Callable[[int, int, float], None] | None = None


@dataclass
class Verdict:
    """What verifying found.

    Attributes:
        faults: all of them, in the order of files and episodes.
        episodes: how many have ended, kept or not.
        frames: pictures that were decoded.
        video_seconds: how long these last when played.
        wall_seconds: how long it took.
    """

    faults: list[Fault] = field(default_factory=list)
    episodes: int = 0
    frames: int = 0
    video_seconds: float = 0.0
    wall_seconds: float = 0.0


def verify(folder: str | Path, options: VerifyOptions | None = None) -> Verdict:
    """Open everything in a recording again and compare it with what should be there. Nothing is changed.

    Args:
        folder: of the recording.
        options: how.

    Raises:
        RecordingError: the folder holds no recording, or one whose list of episodes cannot be read.
    """
    options = options or VerifyOptions()
    started = time.perf_counter()
    recording = Recording(folder)
    jobs = [job for check in _CHECKS for job in check(recording)]
    verdict = Verdict(episodes=len(recording.episodes))
    total = sum(job.frames for job in jobs)
    with ThreadPoolExecutor(options.num_threads or available_cores()) as pool:
        futures = {pool.submit(_run, job): job for job in jobs if not job.alone}
        for future in _done(futures, pool):
            _count(verdict, futures[future], future.result(), total, options)
        for job in jobs:
            if job.alone:
                _count(verdict, job, _run(job), total, options)
    verdict.faults.sort(key=lambda fault: (fault.file, -1 if fault.episode is None else fault.episode, fault.frame or 0))
    verdict.wall_seconds = time.perf_counter() - started
    return verdict


def _run(job: Job) -> list[Fault]:
    return list(job.work())


def _done(futures: dict[Future[list[Fault]], Job], pool: ThreadPoolExecutor) -> Iterator[Future[list[Fault]]]:
    try:
        yield from as_completed(futures)
    except BaseException:
        # Ctrl-C: what has not begun is not waited for
        pool.shutdown(wait=False, cancel_futures=True)
        raise


def _count(verdict: Verdict, job: Job, faults: list[Fault], total: int, options: VerifyOptions) -> None:
    verdict.faults += faults
    verdict.frames += job.frames
    verdict.video_seconds += job.seconds
    if options.progress is not None:
        options.progress(verdict.frames, total, verdict.video_seconds)
