"""Joins videos without encoding them again: the pictures stay as they are, bit for bit."""

import contextlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import Self

import av
from av.error import FFmpegError

from rollfilm.errors import RecordingError

__all__ = ["JoinedVideo", "VideoKind", "video_kind"]


@dataclass(frozen=True)
class VideoKind:
    """What two videos must have in common to be parts of one file.

    Attributes:
        codec: the codec's name, as ``"h264"``.
        pixel_format: FFmpeg's name, as ``"yuv420p"``.
        height, width: of the pictures in the file, padding included.
        extradata: the codec's header.
        comment: the file's tag, which declares padding.
    """

    codec: str
    pixel_format: str
    height: int
    width: int
    extradata: bytes
    comment: str

    @property
    def picture(self) -> dict[str, int]:
        """What the tag says of the picture: its size and its padding; empty if it says nothing."""
        with contextlib.suppress(ValueError):
            declared = json.loads(self.comment)
            if isinstance(declared, dict) and isinstance(declared.get("picture"), dict):
                return declared["picture"]
        return {}


def video_kind(path: Path) -> VideoKind:
    """What kind of video a file holds.

    Raises:
        RecordingError: it cannot be read, or is no video.
    """
    with _naming(path, "read"), av.open(str(path)) as container:
        if not container.streams.video:
            raise RecordingError(f"{path} holds no video")
        stream = container.streams.video[0]
        context = stream.codec_context
        comment = container.metadata.get("comment", "")
        return VideoKind(
            context.codec.canonical_name, str(context.pix_fmt), context.height, context.width, bytes(context.extradata or b""), comment
        )


class JoinedVideo:
    """A file to which the first frames of other videos are appended, packet by packet.

    Frame k of the file has the presentation time k in units of 1/fps, whatever the times were before.

    Args:
        path: of the file, which has its name from the beginning: for folders that are whole or not there as one.
        kind: of all that will be appended.
        fps: frames a second when played.

    Raises:
        RecordingError: the file cannot be written.

    Attributes:
        frame_count: frames so far.
        num_bytes: of their packets.
    """

    def __init__(self, path: Path, kind: VideoKind, fps: Fraction) -> None:
        self.path = path
        self.kind = kind
        self.frame_count = 0
        self.num_bytes = 0
        self._fps = fps
        self._stream: av.VideoStream | None = None
        with _naming(path, "written"):
            # the muxer would otherwise multiply the time base, and presentation times would no longer count frames
            self._container = av.open(str(path), "w", format="mp4", options={"video_track_timescale": str(fps.numerator)})
            self._container.metadata["comment"] = kind.comment

    def append(self, path: Path, num_frames: int) -> int:
        """Append the first ``num_frames`` frames of a video.

        Returns:
            How many frames the video has.

        Raises:
            RecordingError: it stores frames in another order than it shows them, so that the last ones cannot be left out, or it
                cannot be read.
        """
        with _naming(path, "read"), av.open(str(path)) as container:
            source = container.streams.video[0]
            with _naming(self.path, "written"):
                if self._stream is None:
                    self._stream = self._add_stream(source)
            count, last = 0, None
            for packet in container.demux(source):
                if packet.pts is None or not packet.size:
                    continue
                if last is not None and packet.pts <= last:
                    raise RecordingError(f"{path} stores frames in another order than it shows them; record without B-frames")
                last = packet.pts
                if count < num_frames:
                    self._write(packet)
                count += 1
        return count

    def close(self) -> None:
        """Finish the file.

        Raises:
            RecordingError: it cannot be written to its end.
        """
        with _naming(self.path, "written"):
            self._container.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        if error is None:
            self.close()
        else:
            with contextlib.suppress(FFmpegError, OSError):
                self._container.close()

    def _add_stream(self, source: av.VideoStream) -> av.VideoStream:
        stream = self._container.add_stream_from_template(source)
        stream.time_base = 1 / self._fps
        return stream

    def _write(self, packet: av.Packet) -> None:
        assert self._stream is not None
        packet.stream = self._stream
        packet.time_base = 1 / self._fps
        packet.pts = packet.dts = self.frame_count
        packet.duration = 1
        self.num_bytes += packet.size
        with _naming(self.path, "written"):
            self._container.mux(packet)
        self.frame_count += 1


@contextlib.contextmanager
def _naming(path: Path, done: str) -> Iterator[None]:
    try:
        yield
    except RecordingError:
        raise
    except (FFmpegError, OSError) as error:
        raise RecordingError(f"{path} cannot be {done}: {getattr(error, 'strerror', None) or error}") from error
