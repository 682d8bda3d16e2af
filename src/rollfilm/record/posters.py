"""Posters of videos that are there: of recordings that were interrupted, or came from elsewhere."""

from contextlib import suppress

import av

from rollfilm.errors import RecordingError
from rollfilm.record.poster import write_poster
from rollfilm.record.reading import Recording

__all__ = ["make_missing_posters"]


def make_missing_posters(recording: Recording) -> tuple[int, int]:
    """Write the posters that the videos of kept episodes lack. A video that cannot be read has none, as one that is not there.

    Returns:
        How many were made, and how many could not be.

    Raises:
        RecordingError: the folder cannot be written to.
    """
    made = without = 0
    for line in recording.kept:
        videos = line.get("videos")
        for camera in videos if isinstance(videos, dict) else ():
            path = recording.layout.poster(camera, line["episode"])
            if camera not in recording.cameras or path.is_file():
                continue
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise RecordingError(f"cannot make the folder {path.parent}: {error.strerror or error}") from error
            whole = False
            with suppress(RecordingError), recording.video(camera, line["episode"]) as video:
                if len(video):
                    whole = write_poster(path, av.VideoFrame.from_ndarray(video[-1], format="rgb24"), video.size)
            made += whole
            without += not whole
    return made, without
