"""One video file: RGB pictures in, an mp4 out that is either whole or not there."""

import contextlib
import json
import os
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
from av.error import FFmpegError
from av.video.reformatter import ColorRange, Colorspace, VideoReformatter
from numpy.typing import NDArray

from rollfilm.errors import InvalidArgumentError, RecordingError
from rollfilm.record.poster import write_poster

__all__ = ["PARTIAL_SUFFIX", "VideoOptions", "VideoWriter", "padded_size"]

#: What the name of a video ends with until the video is whole.
PARTIAL_SUFFIX = ".part"

#: BT.709 as H.273 numbers primaries and transfer characteristics.
_BT709 = 1

_ENCODERS = {"h264": "libx264"}

#: Without these about one file in 400 differs from run to run: x264's macroblock tree does not always give the same numbers. It is
#: all that looks ahead where there are no B-frames, so the frames that it would wait for need no memory either.
_REPEATABLE = {"mbtree": "0", "rc-lookahead": "0"}


@dataclass(frozen=True)
class VideoOptions:
    """How videos are encoded.

    Attributes:
        codec: ``"h264"``.
        preset: x264's, from ``"ultrafast"`` to ``"veryslow"``: slower makes smaller files.
        crf: x264's constant rate factor, 0 (lossless) to 51; lower is better and larger.
        keyframe_interval: frames from one key frame to the next: how far a reader decodes to reach any frame.

    Raises:
        InvalidArgumentError: a value that the encoder does not know.
    """

    codec: str = "h264"
    preset: str = "veryfast"
    crf: int = 20
    keyframe_interval: int = 20

    def __post_init__(self) -> None:
        presets = ("ultrafast", "superfast", "veryfast", "faster", "fast", "medium", "slow", "slower", "veryslow")
        if self.codec not in _ENCODERS:
            raise InvalidArgumentError(f"codec {self.codec!r} is unknown; choose from {', '.join(_ENCODERS)}")
        if self.preset not in presets:
            raise InvalidArgumentError(f"preset {self.preset!r} is unknown; choose from {', '.join(presets)}")
        if not 0 <= self.crf <= 51:
            raise InvalidArgumentError(f"crf {self.crf} was asked for; it goes from 0 (lossless) to 51")
        if self.keyframe_interval < 1:
            raise InvalidArgumentError(f"keyframe_interval {self.keyframe_interval} was asked for; it is at least 1")


def padded_size(height: int, width: int) -> tuple[int, int]:
    """The size (H, W) that a picture has in the file: 4:2:0 chroma needs even sides."""
    return height + height % 2, width + width % 2


class VideoWriter:
    """Encodes pictures of one size to an mp4.

    The file has its name only once it is whole: until then it ends with ``.part``. Frame k has the presentation time k, in units
    of 1/fps. There are no B-frames, so decoding order is presentation order. Pictures are converted to BT.709 with limited range
    and tagged so. A picture with an odd side is padded by repeating its last row or column; the file's ``comment`` tag says which
    part is the picture. One thread: the same pictures give the same bytes.

    Args:
        path: of the finished file, in a folder that exists.
        height, width: of the pictures, pixels.
        fps: frames a second.
        options: how to encode.
        poster: where the last picture goes as a small JPEG once the video is whole; None for nowhere.

    Raises:
        RecordingError: the file cannot be opened.
    """

    def __init__(
        self, path: Path, height: int, width: int, fps: Fraction, options: VideoOptions | None = None, *, poster: Path | None = None
    ) -> None:
        self.path = path
        self._poster = poster
        self._last_frame: av.VideoFrame | None = None
        self.frame_count = 0
        self._size = (height, width)
        self._file_size = padded_size(height, width)
        self._time_base = 1 / fps
        self._reformatter = VideoReformatter()
        self._partial = path.with_name(path.name + PARTIAL_SUFFIX)
        with self._naming_the_file():
            # the muxer would otherwise multiply the time base, and presentation times would no longer count frames
            self._container = av.open(self._partial, "w", format="mp4", options={"video_track_timescale": str(fps.numerator)})
            try:
                self._stream = self._add_stream(fps, options or VideoOptions())
            except BaseException:
                self.abort()
                raise

    def _add_stream(self, fps: Fraction, options: VideoOptions) -> av.VideoStream:
        height, width = self._size
        picture = {"width": width, "height": height, "pad_right": self._file_size[1] - width, "pad_bottom": self._file_size[0] - height}
        self._container.metadata["comment"] = json.dumps({"picture": picture})
        settings = {"preset": options.preset, "crf": str(options.crf), "g": str(options.keyframe_interval), "bf": "0", **_REPEATABLE}
        stream = self._container.add_stream(_ENCODERS[options.codec], rate=fps, options=settings)
        assert isinstance(stream, av.VideoStream)
        stream.height, stream.width = self._file_size
        stream.pix_fmt = "yuv420p"
        stream.time_base = self._time_base
        context = stream.codec_context
        context.time_base = self._time_base
        context.thread_count = 1
        context.colorspace, context.color_range = Colorspace.ITU709, ColorRange.MPEG
        context.color_primaries = context.color_trc = _BT709
        return stream

    def write(self, rgb: NDArray[np.uint8]) -> None:
        """Encode one picture, uint8 (H, W, 3), sRGB values.

        Raises:
            InvalidArgumentError: the picture has another size or type.
            RecordingError: it cannot be written.
        """
        if rgb.shape != (*self._size, 3) or rgb.dtype != np.uint8:
            raise InvalidArgumentError(f"{self.path.name}: a picture of {rgb.dtype} {rgb.shape} came, uint8 {(*self._size, 3)} is needed")
        if self._size != self._file_size:
            rgb = np.pad(rgb, [(0, self._file_size[0] - self._size[0]), (0, self._file_size[1] - self._size[1]), (0, 0)], mode="edge")
        with self._naming_the_file():
            frame = self._reformatter.reformat(
                av.VideoFrame.from_ndarray(np.ascontiguousarray(rgb), format="rgb24"),
                format="yuv420p",
                dst_colorspace=Colorspace.ITU709,
                dst_color_range=ColorRange.MPEG,
                threads=1,
            )
            frame.pts, frame.time_base = self.frame_count, self._time_base
            self._container.mux(self._stream.encode(frame))
        self.frame_count += 1
        if self._poster is not None:
            self._last_frame = frame

    def close(self) -> None:
        """Finish the file and give it its name, then write its poster.

        Raises:
            RecordingError: it cannot be written to its end. Nothing is left behind.
        """
        try:
            with self._naming_the_file():
                self._container.mux(self._stream.encode(None))
                self._container.close()
                os.replace(self._partial, self.path)
        except BaseException:
            self.abort()
            raise
        if self._poster is not None and self._last_frame is not None:
            write_poster(self._poster, self._last_frame, self._size)

    def abort(self) -> None:
        """Throw away what was written. Raises nothing: where the file cannot be deleted, it stays under its ``.part`` name."""
        with contextlib.suppress(FFmpegError, OSError):
            self._container.close()
        with contextlib.suppress(OSError):
            self._partial.unlink(missing_ok=True)

    @contextlib.contextmanager
    def _naming_the_file(self):
        try:
            yield
        except (FFmpegError, OSError) as error:
            raise RecordingError(f"cannot write {self.path}: {getattr(error, 'strerror', None) or error}") from error
