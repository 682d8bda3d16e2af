"""What is wrong, and where."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

__all__ = ["Fault", "Job", "runs_of"]


@dataclass(frozen=True)
class Fault:
    """Something that is wrong with a recording.

    Attributes:
        file: where, as a path below the folder.
        text: what.
        episode: of which episode; None for all, or none.
        frame: at which frame or row of it the fault begins; None for all, or where there is none.
    """

    file: str
    text: str
    episode: int | None = None
    frame: int | None = None

    def __str__(self) -> str:
        places = [self.file]
        places += [] if self.episode is None else [f"episode {self.episode}"]
        places += [] if self.frame is None else [f"frame {self.frame}"]
        return f"{', '.join(places)}: {self.text}"


@dataclass(frozen=True)
class Job:
    """A part of the work, which a thread does.

    Attributes:
        work: gives the faults that it finds.
        frames: pictures of videos that it decodes, for those who wait.
        seconds: how long these last when played.
        alone: uses all cores by itself, so that it runs when the others are done.
    """

    work: Callable[[], Iterable[Fault]]
    frames: int = 0
    seconds: float = 0.0
    alone: bool = False


def runs_of(numbers: Iterable[int]) -> list[tuple[int, int]]:
    """Ascending numbers as runs of neighbours, (first, last) each."""
    runs: list[tuple[int, int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1] = (runs[-1][0], number)
        else:
            runs.append((number, number))
    return runs
