"""How far a rollout, or something else, has come: a bar on a terminal, a line now and then elsewhere."""

import sys
import time
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from rollfilm.evaluate.rollout import Rollout

__all__ = ["CountProgress", "RolloutProgress", "success_text"]

_SECONDS_BETWEEN_LINES = 5.0


def success_text(rollout: Rollout) -> str:
    """``"12/13"``, successes at the end of those episodes that said so; empty where none did."""
    known = [result.success_at_end for result in rollout.episodes if result.success_at_end is not None]
    return f"{sum(known)}/{len(known)}" if known else ""


class RolloutProgress:
    """Shows a rollout on stderr: episodes, images a second and success so far. Call it after every step."""

    def __init__(self, num_episodes: int) -> None:
        self._num_episodes = num_episodes
        self._started = self._last_line = time.perf_counter()
        self._bar: Progress | None = None
        self._task = TaskID(0)
        if sys.stderr.isatty():
            columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[rates]}"))
            self._bar = Progress(*columns, TimeElapsedColumn(), console=Console(stderr=True), transient=True)
            self._task = self._bar.add_task("episodes", total=num_episodes, rates="")

    def __call__(self, rollout: Rollout) -> None:
        """Show the state of ``rollout``."""
        if self._bar is not None:
            self._bar.update(self._task, completed=len(rollout.episodes), rates=self._rates(rollout))
        elif time.perf_counter() - self._last_line >= _SECONDS_BETWEEN_LINES:
            self._last_line = time.perf_counter()
            print(f"episodes {len(rollout.episodes)}/{self._num_episodes}, {self._rates(rollout)}", file=sys.stderr, flush=True)

    def __enter__(self) -> Self:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        if self._bar is not None:
            self._bar.stop()

    def _rates(self, rollout: Rollout) -> str:
        success = success_text(rollout)
        images = f"{rollout.pictures / max(rollout.wall_seconds, 1e-9):,.0f} images/s"
        return f"{images}, success {success}" if success else images


class CountProgress:
    """Shows how many things of how many are done, on stderr. Call it with both numbers, and words of one's own, as often as one likes."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._last_line = time.perf_counter()
        self._bar: Progress | None = None
        self._task = TaskID(0)
        if sys.stderr.isatty():
            columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[note]}"))
            self._bar = Progress(*columns, TimeElapsedColumn(), console=Console(stderr=True), transient=True)
            self._task = self._bar.add_task(what, total=None, note="")

    def __call__(self, done: int, total: int, note: str = "") -> None:
        """Show that ``done`` of ``total`` are done."""
        if self._bar is not None:
            self._bar.update(self._task, completed=done, total=total, note=note)
        elif time.perf_counter() - self._last_line >= _SECONDS_BETWEEN_LINES:
            self._last_line = time.perf_counter()
            print(", ".join(filter(None, (f"{self._what} {done:,}/{total:,}", note))), file=sys.stderr, flush=True)

    def __enter__(self) -> Self:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        if self._bar is not None:
            self._bar.stop()
