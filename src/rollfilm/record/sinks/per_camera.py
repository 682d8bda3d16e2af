"""What sinks have in common that write a file for each episode and camera."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rollfilm.errors import RecordingError
from rollfilm.record.layout import Layout
from rollfilm.record.pool import PooledVideo
from rollfilm.record.ring import Picture
from rollfilm.record.sink import Episode, Outcome, Receipt, StateRow, StepRow

__all__ = ["PerCameraSink", "make_folder"]


class PerCameraSink(ABC):
    """Writes a file for each episode and camera: the frame of the reset first, the terminal one last, T + 1 in all.

    Writing starts with the first frame, in the threads of the pool. An episode that is not kept is thrown away at its end.

    Args:
        layout: where the files go.
        cameras: names of those that have files.
        entry: under which name an episode's line in ``episodes.jsonl`` lists them.

    Raises:
        RecordingError: a folder cannot be made.
    """

    def __init__(self, layout: Layout, cameras: Iterable[str], entry: str) -> None:
        self._layout = layout
        self._names = tuple(cameras)
        self._entry = entry
        self._open: dict[int, dict[str, PooledVideo]] = {}
        for camera in self._names:
            make_folder(self._path(camera, 0).parent)

    @abstractmethod
    def _path(self, camera: str, episode: int) -> Path:
        """The file of a camera and episode."""

    @abstractmethod
    def _begin(self, camera: str, episode: int) -> PooledVideo:
        """Begin the file of a camera and episode."""

    @abstractmethod
    def _content(self, camera: str, picture: Picture) -> Any:
        """What is written of a picture; called in a thread of the pool."""

    def on_reset(self, episode: Episode, first: StateRow) -> None:
        """Begin one file a camera, if the episode is filmed."""
        filmed = self._names if episode.filmed else ()
        self._open[episode.world] = {camera: self._begin(camera, episode.index) for camera in filmed}
        self._write(episode, first)

    def on_step(self, episode: Episode, row: StepRow) -> None:
        """Append the frame after the step."""
        self._write(episode, row.after, last=row.terminated or row.truncated)

    def on_episode_end(self, episode: Episode, outcome: Outcome, *, keep: bool) -> Receipt:
        """Finish the episode's files, or throw them away."""
        files = self._open.pop(episode.world, {})
        if not keep:
            return Receipt(pending=[file.discard() for file in files.values()])
        for camera, file in files.items():
            if file.frames_submitted != outcome.steps + 1:
                for unfinished in files.values():
                    unfinished.discard()
                raise RecordingError(
                    f"episode {episode.index}, camera {camera!r}: {file.frames_submitted} frames for {outcome.steps} steps; "
                    "one for each state is needed"
                )
        paths = {camera: str(self._path(camera, episode.index).relative_to(self._layout.root)) for camera in files}
        return Receipt({self._entry: paths}, [file.finish() for file in files.values()])

    def close(self) -> None:
        """Throw away what no episode end has closed."""
        for files in self._open.values():
            for file in files.values():
                file.discard()
        self._open.clear()

    def _write(self, episode: Episode, state: StateRow, *, last: bool = False) -> None:
        for camera, file in self._open[episode.world].items():
            picture = state.pictures[camera]
            file.write(picture.slot, lambda camera=camera, picture=picture: self._content(camera, picture), last=last)


def make_folder(folder: Path) -> None:
    """Make a folder where there is none.

    Raises:
        RecordingError: it cannot be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RecordingError(f"cannot make the folder {folder}: {error.strerror or error}") from error
