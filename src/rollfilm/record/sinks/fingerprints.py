"""Fingerprints of the frames of each episode, for those who verify its videos."""

from collections.abc import Sequence

from rollfilm.errors import RecordingError
from rollfilm.record.fingerprint import FingerprintSpool
from rollfilm.record.layout import Layout
from rollfilm.record.sink import Episode, Outcome, Receipt, StateRow, StepRow
from rollfilm.record.whole import naming, whole_or_not_there

__all__ = ["FingerprintSink"]


class FingerprintSink:
    """Writes ``fingerprints/episode_<index>.bin``: at most 256 bytes for each frame and camera, before compression.

    Args:
        layout: where the files go.
        cameras: whose frames.
    """

    def __init__(self, layout: Layout, cameras: Sequence[str]) -> None:
        self._layout = layout
        self._cameras = tuple(cameras)
        self._open: dict[int, FingerprintSpool] = {}
        with naming(layout.fingerprints):
            layout.fingerprints.mkdir(exist_ok=True)

    def on_reset(self, episode: Episode, first: StateRow) -> None:
        """Begin with the frame of the reset, if the episode is filmed."""
        if episode.filmed and self._cameras:
            self._open[episode.world] = FingerprintSpool(self._layout.root)
            self._append(episode, first)

    def on_step(self, episode: Episode, row: StepRow) -> None:
        """Append the frame after the step."""
        if episode.world in self._open:
            self._append(episode, row.after)

    def on_episode_end(self, episode: Episode, outcome: Outcome, *, keep: bool) -> Receipt:
        """Write the episode's file."""
        spool = self._open.pop(episode.world, None)
        if spool is None:
            return Receipt()
        try:
            if not keep:
                return Receipt()
            if spool.count != outcome.steps + 1:
                raise RecordingError(f"episode {episode.index}: {spool.count} fingerprints for {outcome.steps} steps")
            path = self._layout.fingerprint(episode.index)
            with naming(path), whole_or_not_there(path) as partial:
                spool.write(partial)
        finally:
            spool.close()
        return Receipt()

    def close(self) -> None:
        """Throw away what no episode end has written."""
        for spool in self._open.values():
            spool.close()
        self._open.clear()

    def _append(self, episode: Episode, state: StateRow) -> None:
        pictures = [state.pictures[camera].rgb for camera in self._cameras]
        self._open[episode.world].append(self._cameras, pictures)
