"""Fingerprints of the frames of each episode, for those who verify its videos."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rollfilm.errors import RecordingError
from rollfilm.record.fingerprint import FingerprintSpool, luma_of, sample
from rollfilm.record.layout import Layout
from rollfilm.record.pool import EncoderPool, PooledVideo
from rollfilm.record.ring import Picture
from rollfilm.record.sink import Episode, Outcome, Receipt, StateRow, StepRow
from rollfilm.record.whole import naming, whole_or_not_there

__all__ = ["FingerprintSink"]

#: What it takes to look at a frame, in pixels of an encoder.
_PIXELS = 1000


class _FingerprintWriter:
    """Writes the fingerprints of one episode."""

    def __init__(self, path: Path, folder: Path) -> None:
        self.path = path
        self._spool = FingerprintSpool(folder)

    def write(self, samples: Mapping[str, NDArray[np.uint8]], /, *, last: bool = False) -> None:
        self._spool.append(tuple(samples), tuple(samples.values()))

    def close(self) -> None:
        try:
            with naming(self.path), whole_or_not_there(self.path) as partial:
                self._spool.write(partial)
        finally:
            self._spool.close()

    def abort(self) -> None:
        self._spool.close()


class FingerprintSink:
    """Writes ``fingerprints/episode_<index>.bin``: at most 256 bytes for each frame and camera, before compression.

    Frames are looked at in the threads of the pool: the loop does not wait for them to come from a GPU.

    Args:
        layout: where the files go.
        pool: whose threads write.
        cameras: whose frames.
    """

    def __init__(self, layout: Layout, pool: EncoderPool, cameras: Sequence[str]) -> None:
        self._layout = layout
        self._pool = pool
        self._cameras = tuple(cameras)
        self._open: dict[int, PooledVideo] = {}
        with naming(layout.fingerprints):
            layout.fingerprints.mkdir(exist_ok=True)

    def on_reset(self, episode: Episode, first: StateRow) -> None:
        """Begin with the frame of the reset, if the episode is filmed."""
        if episode.filmed and self._cameras:
            path = self._layout.fingerprint(episode.index)
            self._open[episode.world] = self._pool.open_with(lambda: _FingerprintWriter(path, self._layout.root), _PIXELS)
            self._append(episode, first)

    def on_step(self, episode: Episode, row: StepRow) -> None:
        """Append the frame after the step."""
        if episode.world in self._open:
            self._append(episode, row.after)

    def on_episode_end(self, episode: Episode, outcome: Outcome, *, keep: bool) -> Receipt:
        """Write the episode's file."""
        file = self._open.pop(episode.world, None)
        if file is None:
            return Receipt()
        if not keep:
            return Receipt(pending=[file.discard()])
        if file.frames_submitted != outcome.steps + 1:
            file.discard()
            raise RecordingError(f"episode {episode.index}: {file.frames_submitted} fingerprints for {outcome.steps} steps")
        return Receipt(pending=[file.finish()])

    def close(self) -> None:
        """Throw away what no episode end has written."""
        for file in self._open.values():
            file.discard()
        self._open.clear()

    def _append(self, episode: Episode, state: StateRow) -> None:
        pictures = [state.pictures[camera] for camera in self._cameras]
        self._open[episode.world].write(pictures[0].slot, lambda: {picture.camera: _sampled(picture) for picture in pictures})


def _sampled(picture: Picture) -> NDArray[np.uint8]:
    """The luma of a few pixels: as the encoder gets it, or of the colours for one that loses nothing."""
    pixels, (height, width) = picture.pixels, picture.size
    return sample(pixels[:height, :width]) if pixels.ndim == 2 else luma_of(sample(pixels))
