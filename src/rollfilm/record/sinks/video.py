"""A video for each episode and camera."""

from collections.abc import Mapping
from fractions import Fraction

from rollfilm.errors import RecordingError
from rollfilm.record.layout import Layout
from rollfilm.record.pool import EncoderPool, PooledVideo
from rollfilm.record.sink import Episode, Outcome, Receipt, StateRow, StepRow
from rollfilm.record.video import VideoOptions

__all__ = ["VideoSink"]


class VideoSink:
    """Writes ``videos/<camera>/episode_<index>.mp4``: the frame of the reset first, the terminal one last, T + 1 in all.

    Encoding starts with the first frame. An episode that is not kept is thrown away at its end.

    Args:
        layout: where the files go.
        pool: who encodes.
        sizes: (H, W) of each camera.
        fps: frames a second when played.
        options: how to encode.
        posters: write the last frame of each video that stays as a small JPEG.
    """

    def __init__(
        self,
        layout: Layout,
        pool: EncoderPool,
        sizes: Mapping[str, tuple[int, int]],
        fps: Fraction,
        options: VideoOptions,
        *,
        posters: bool = True,
    ) -> None:
        self._layout = layout
        self._pool = pool
        self._sizes = sizes
        self._fps = fps
        self._options = options
        self._posters = posters
        self._open: dict[int, dict[str, PooledVideo]] = {}
        files = [layout.video(camera, 0) for camera in sizes] + [layout.poster(camera, 0) for camera in sizes if posters]
        for folder in [file.parent for file in files]:
            try:
                folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise RecordingError(f"cannot make the folder {folder}: {error.strerror or error}") from error

    def on_reset(self, episode: Episode, first: StateRow) -> None:
        """Open one video a camera, if the episode is filmed."""
        self._open[episode.world] = {
            camera: self._open_video(camera, size, episode.index) for camera, size in (self._sizes.items() if episode.filmed else ())
        }
        self._write(episode, first)

    def on_step(self, episode: Episode, row: StepRow) -> None:
        """Append the frame after the step."""
        self._write(episode, row.after)

    def on_episode_end(self, episode: Episode, outcome: Outcome, *, keep: bool) -> Receipt:
        """Close the episode's videos, or throw them away."""
        videos = self._open.pop(episode.world, {})
        if not keep:
            return Receipt(pending=[video.discard() for video in videos.values()])
        for camera, video in videos.items():
            if video.frames_submitted != outcome.steps + 1:
                for unfinished in videos.values():
                    unfinished.discard()
                raise RecordingError(
                    f"episode {episode.index}, camera {camera!r}: {video.frames_submitted} frames for {outcome.steps} steps; "
                    "one for each state is needed"
                )
        files = {camera: str(self._layout.video(camera, episode.index).relative_to(self._layout.root)) for camera in videos}
        return Receipt({"videos": files}, [video.finish() for video in videos.values()])

    def close(self) -> None:
        """Throw away what no episode end has closed."""
        for videos in self._open.values():
            for video in videos.values():
                video.discard()
        self._open.clear()

    def _open_video(self, camera: str, size: tuple[int, int], episode: int) -> PooledVideo:
        poster = self._layout.poster(camera, episode) if self._posters else None
        return self._pool.open(self._layout.video(camera, episode), size, self._fps, self._options, poster=poster)

    def _write(self, episode: Episode, state: StateRow) -> None:
        for camera, video in self._open[episode.world].items():
            picture = state.pictures[camera]
            video.write(picture.slot, lambda picture=picture: picture.rgb)
