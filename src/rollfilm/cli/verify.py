"""``rollfilm verify``: opens everything in a recording again and says what is wrong."""

import sys
import time
from dataclasses import dataclass
from pathlib import Path

import tyro

__all__ = ["Verify"]

EXIT_FAULTS = 1


@dataclass
class Verify:
    """Open everything in a recording again, and say what is wrong: which file, which episode, which frame.

    Exits with 0 if nothing is, with 1 otherwise.
    """

    folder: tyro.conf.Positional[Path]
    """folder of the recording"""

    def run(self) -> int:
        """Verify, and print a line for each fault."""
        from rollfilm.cli.progress import CountProgress
        from rollfilm.record.verify import VerifyOptions, verify

        started = time.perf_counter()
        with CountProgress("frames") as progress:

            def show(frames: int, total: int, video_seconds: float) -> None:
                progress(frames, total, f"{video_seconds / (time.perf_counter() - started):.0f}x real time")

            verdict = verify(self.folder, VerifyOptions(progress=show))
        for fault in verdict.faults:
            print(fault)
        rate = f"{verdict.video_seconds / max(verdict.wall_seconds, 1e-9):.1f}x real time"
        checked = f"{verdict.episodes} episodes, {verdict.frames:,} frames in {verdict.wall_seconds:.1f} s ({rate})"
        sys.stdout.flush()
        if verdict.faults:
            print(f"{len(verdict.faults)} faults in {self.folder}: {checked}")
            return EXIT_FAULTS
        print(f"{self.folder} is as it should be: {checked}")
        return 0
