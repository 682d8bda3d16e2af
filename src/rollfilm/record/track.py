"""Episodes between their first frame and their line in ``episodes.jsonl``."""

from dataclasses import dataclass

from rollfilm.record.sink import Ended, Episode, Outcome, Receipt

__all__ = ["EndedEpisode", "Track"]


@dataclass
class Track:
    """An episode in flight."""

    episode: Episode
    steps: int = 0
    episode_return: float = 0.0
    success: bool | None = None
    success_once: bool | None = None

    def count(self, reward: float, success: bool | None) -> None:
        """Add a step."""
        self.steps += 1
        self.episode_return += reward
        self.success = success
        if success is not None:
            self.success_once = bool(self.success_once) or success

    def outcome(self, ended: Ended, error: str | None = None) -> Outcome:
        """How it ended, if it ends now."""
        return Outcome(ended, self.success, self.success_once, self.steps, self.episode_return, error)


@dataclass
class EndedEpisode:
    """An episode whose files are on their way."""

    episode: Episode
    outcome: Outcome
    keep: bool
    receipts: list[Receipt]

    @property
    def settled(self) -> bool:
        """Whether nothing is under way any more."""
        return all(future.done() for receipt in self.receipts for future in receipt.pending)
