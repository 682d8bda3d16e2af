"""Fair timing: everyone is warmed up, then everyone takes turns, so that a slow minute of the machine hits all of them."""

import gc
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field

__all__ = ["Timing", "take_turns"]

#: A sample is as many renders as fill this time, so that the clock's own cost disappears.
SAMPLE_S = 0.05


@dataclass
class Timing:
    """What was measured of one contender: seconds a render."""

    first_s: float
    calls: int = 1
    samples_s: list[float] = field(default_factory=list)

    @property
    def median_s(self) -> float:
        """Seconds a render, the median of the samples."""
        return statistics.median(self.samples_s)

    @property
    def spread(self) -> float:
        """The range of the samples over their median."""
        return (max(self.samples_s) - min(self.samples_s)) / self.median_s


def take_turns(renders: dict[str, Callable[[], None]], repeats: int, budget_s: float) -> dict[str, Timing | Exception]:
    """Time each render, ``repeats`` samples each, but no new sample for one that has spent ``budget_s``; at least one.

    A render that raises is left out and its exception given back.
    """
    timings: dict[str, Timing | Exception] = {}
    for name, render in renders.items():
        try:
            timings[name] = _warm_up(render)
        except Exception as error:
            timings[name] = error
    for _ in range(repeats):
        for name, timing in timings.items():
            if isinstance(timing, Timing) and (not timing.samples_s or sum(timing.samples_s) * timing.calls < budget_s):
                timing.samples_s.append(_sample(renders[name], timing.calls))
    return timings


def _warm_up(render: Callable[[], None]) -> Timing:
    timing = Timing(first_s=_sample(render, 1))
    timing.calls = max(1, round(SAMPLE_S / max(_sample(render, 1), 1e-6))) if timing.first_s < 60.0 else 1
    return timing


def _sample(render: Callable[[], None], calls: int) -> float:
    gc.collect()
    started = time.perf_counter()
    for _ in range(calls):
        render()
    return (time.perf_counter() - started) / calls
