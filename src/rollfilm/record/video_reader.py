"""Reads a video that was recorded: any frame of it, as it was handed to the encoder."""

import contextlib
import json
from collections.abc import Iterator
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import av
import numpy as np
from av.error import FFmpegError
from av.video.reformatter import ColorRange, VideoReformatter
from numpy.typing import NDArray

from rollfilm.errors import RecordingError

__all__ = ["VideoReader"]


class VideoReader:
    """The pictures of a video file: ``len(video)``, ``video[k]``, ``for picture in video``; each uint8 (H, W, 3), sRGB values.

    Frame k is the k-th one by presentation time. The part that the encoder had to pad is cut off again, as the file's ``comment``
    tag declares it. Only one picture is held at a time, and reading one at random decodes no more than from the key frame before it.
    Close it, or use it in a ``with`` statement.

    Args:
        path: of the file.
        num_threads: of the decoder.

    Raises:
        RecordingError: the file is not there, is no video, or (later) cannot be decoded.

    Attributes:
        path: of the file.
    """

    def __init__(self, path: Path, *, num_threads: int = 1) -> None:
        self.path = path
        self._next = 0
        self._decoded: Iterator[av.VideoFrame] | None = None
        self._reformatter = VideoReformatter()
        with self._naming_the_file():
            self._container = av.open(str(path))
            if not self._container.streams.video:
                self._container.close()
                raise RecordingError(f"{path} holds no video")
            self._stream = self._container.streams.video[0]
            self._stream.codec_context.thread_count = num_threads
        self._size = self._picture_size()

    @property
    def size(self) -> tuple[int, int]:
        """(H, W) of a picture, without padding."""
        return self._size

    @property
    def codec(self) -> str:
        """The codec's name, as ``"h264"``."""
        return self._stream.codec_context.codec.canonical_name

    @property
    def pixel_format(self) -> str:
        """FFmpeg's name of the layout of pixels in the file, as ``"yuv420p"``."""
        return str(self._stream.codec_context.pix_fmt)

    @property
    def fps(self) -> Fraction:
        """Frames a second when played."""
        return Fraction(self._stream.average_rate or 0)

    @property
    def time_base(self) -> Fraction:
        """Seconds in one unit of :attr:`pts`."""
        return Fraction(self._stream.time_base or 0)

    @property
    def metadata(self) -> dict[str, str]:
        """The tags of the file."""
        return dict(self._container.metadata)

    @property
    def pts(self) -> NDArray[np.int64]:
        """Presentation time of each frame, int64 (T + 1,), ascending, in units of :attr:`time_base`. Reads all, decodes nothing."""
        return self._index[0]

    def __len__(self) -> int:
        return len(self.pts)

    def __iter__(self) -> Iterator[NDArray[np.uint8]]:
        with self._naming_the_file():
            self._rewind(0)
            for frame in self._container.decode(self._stream):
                yield self._picture(frame)

    def __getitem__(self, index: int) -> NDArray[np.uint8]:
        """Frame ``index``; negative ones count from the end.

        Raises:
            IndexError: there is no such frame.
            RecordingError: it cannot be decoded.
        """
        count = len(self)
        position = index + count if index < 0 else index
        if not 0 <= position < count:
            raise IndexError(f"{self.path} has {count} frames; frame {index} was asked for")
        with self._naming_the_file():
            # going forward needs no seek as long as no key frame is passed: readers that do so decode each frame once
            if self._decoded is None or not self._next <= position or self._index[1][self._next : position + 1].any():
                self._rewind(int(self.pts[position]))
                self._decoded = self._container.decode(self._stream)
            for frame in self._decoded:
                if frame.pts is not None and frame.pts >= self.pts[position]:
                    self._next = position + 1
                    return self._picture(frame)
        raise RecordingError(f"{self.path}: frame {position} cannot be decoded")

    def close(self) -> None:
        """Close the file."""
        self._decoded = None
        self._container.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self.close()

    @cached_property
    def _index(self) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Presentation time of each frame, and whether it is a key frame."""
        with self._naming_the_file():
            self._rewind(0)
            packets = self._container.demux(self._stream)
            frames = sorted((packet.pts, packet.is_keyframe) for packet in packets if packet.pts is not None and packet.size)
        return np.array([pts for pts, _ in frames], np.int64), np.array([is_key for _, is_key in frames], np.bool_)

    def _rewind(self, pts: int) -> None:
        self._decoded = None
        self._container.seek(pts, stream=self._stream, backward=True)

    def _picture(self, frame: av.VideoFrame) -> NDArray[np.uint8]:
        rgb = self._reformatter.reformat(frame, format="rgb24", dst_color_range=ColorRange.JPEG, threads=1).to_ndarray()
        height, width = self._size
        return np.ascontiguousarray(rgb[:height, :width], np.uint8)

    def _picture_size(self) -> tuple[int, int]:
        """As the file's comment declares it, or else all of the picture."""
        context = self._stream.codec_context
        with contextlib.suppress(ValueError, RecursionError):
            declared: Any = json.loads(self._container.metadata.get("comment", ""))
            picture = declared.get("picture") if isinstance(declared, dict) else None
            if isinstance(picture, dict):
                height, width = picture.get("height"), picture.get("width")
                if not (isinstance(height, int) and isinstance(width, int) and 0 < height <= context.height and 0 < width <= context.width):
                    raise RecordingError(f"{self.path} declares a picture of {width}x{height} in {context.width}x{context.height} pixels")
                return height, width
        return context.height, context.width

    @contextlib.contextmanager
    def _naming_the_file(self) -> Iterator[None]:
        try:
            yield
        except RecordingError:
            raise
        except (FFmpegError, OSError) as error:
            raise RecordingError(f"{self.path} cannot be read: {getattr(error, 'strerror', None) or error}") from error
