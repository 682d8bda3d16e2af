"""Episodes between their first frame and their line in ``episodes.jsonl``."""

from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from rollfilm.record.batch import StepBatch
from rollfilm.record.sink import Ended, Episode, Outcome, Receipt

__all__ = ["EndedEpisode", "Track"]


@dataclass
class Track:
    """An episode in flight.

    Attributes:
        flagged: whether the environment said with the last step that the episode ends.
        missing_at_end: what there is no record of for the last state.
        deferred: whether it is filmed after it has ended.
    """

    episode: Episode
    steps: int = 0
    episode_return: float = 0.0
    success: bool | None = None
    success_once: bool | None = None
    flagged: Ended | None = None
    missing_at_end: tuple[str, ...] = ()
    deferred: bool = False

    def count(self, batch: StepBatch) -> None:
        """Add the step of its world."""
        world = self.episode.world
        self.steps += 1
        self.flagged = "terminated" if batch.terminated[world] else "truncated" if batch.truncated[world] else None
        self.episode_return += float(batch.rewards[world])
        self.success = batch.success_of(world)
        if self.success is not None:
            self.success_once = bool(self.success_once) or self.success

    def outcome(self, ended: Ended, error: str | None = None) -> Outcome:
        """How it ended, if it ends now."""
        return Outcome(ended, self.success, self.success_once, self.steps, self.episode_return, error)


@dataclass
class EndedEpisode:
    """An episode whose files are on their way, or there.

    Attributes:
        digests: what its line says of the files, once they are whole.
    """

    episode: Episode
    outcome: Outcome
    keep: bool
    receipts: list[Receipt]
    notes: dict[str, Any] = field(default_factory=dict)
    written: bool = False
    digests: Future[dict[str, Any]] | None = None

    @property
    def settled(self) -> bool:
        """Whether nothing is under way any more."""
        return all(future.done() for receipt in self.receipts for future in receipt.pending)

    @property
    def error(self) -> BaseException | None:
        """What went wrong with its files, once it is settled."""
        futures = [future for receipt in self.receipts for future in receipt.pending]
        return next((error for future in futures if (error := future.exception()) is not None), None)
