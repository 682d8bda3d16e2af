"""One video file: pictures in, an mp4 out that is either whole or not there."""

import contextlib
import io
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import IO

import av
import numpy as np
from av.error import FFmpegError
from av.video.reformatter import ColorRange, Colorspace, VideoReformatter
from numpy.typing import NDArray

from rollfilm.errors import InvalidArgumentError, RecordingError
from rollfilm.record.codecs import CODECS, Codec
from rollfilm.record.poster import write_poster
from rollfilm.record.video_reader import VideoReader

__all__ = ["PARTIAL_SUFFIX", "VideoOptions", "VideoWriter", "padded_size", "require_codec"]

#: What the name of a video ends with until the video is whole.
PARTIAL_SUFFIX = ".part"

#: BT.709 as H.273 numbers primaries and transfer characteristics, and sRGB's transfer.
_BT709, _SRGB = 1, 13

# SVT-AV1 would tell its settings on the standard output
os.environ.setdefault("SVT_LOG", "0")


@dataclass(frozen=True)
class VideoOptions:
    """How videos are encoded.

    Attributes:
        codec: ``"h264"``, ``"hevc"`` or ``"av1"`` (4:2:0); ``"ffv1"``, which loses nothing; ``"h264_nvenc"``, ``"hevc_nvenc"`` or
            ``"av1_nvenc"`` on a graphics card that has them.
        preset: the encoder's: slower makes smaller files. x264's and x265's names, SVT-AV1's 13 to 0, NVENC's p1 to p7. None for the
            usual one of the codec.
        crf: constant rate factor, 0 to 51 (av1: 63; av1_nvenc: 255); lower is better and larger. None for the usual one.
        keyframe_interval: frames from one key frame to the next: how far a reader decodes to reach any frame.

    Raises:
        InvalidArgumentError: a value that the encoder does not know.
    """

    codec: str = "h264"
    preset: str | None = None
    crf: int | None = None
    keyframe_interval: int = 20

    def __post_init__(self) -> None:
        if self.codec not in CODECS:
            raise InvalidArgumentError(f"codec {self.codec!r} is unknown; choose from {', '.join(CODECS)}")
        codec = self.encoder
        if self.preset is None:
            object.__setattr__(self, "preset", codec.preset)
        elif self.preset not in codec.presets:
            choice = f"choose from {', '.join(codec.presets)}" if codec.presets else f"{self.codec} has none; leave it out"
            raise InvalidArgumentError(f"preset {self.preset!r} is unknown to {self.codec}; {choice}")
        if codec.crf is None:
            if self.crf is not None:
                raise InvalidArgumentError(f"crf {self.crf} was asked for; {self.codec} loses nothing, so leave it out")
        elif self.crf is None:
            object.__setattr__(self, "crf", codec.crf[1])
        elif not 0 <= self.crf <= codec.crf[0]:
            raise InvalidArgumentError(f"crf {self.crf} was asked for; that of {self.codec} goes from 0 (best) to {codec.crf[0]}")
        if self.keyframe_interval < 1:
            raise InvalidArgumentError(f"keyframe_interval {self.keyframe_interval} was asked for; it is at least 1")

    @property
    def encoder(self) -> Codec:
        """What is known of the codec."""
        return CODECS[self.codec]

    def file_size(self, height: int, width: int) -> tuple[int, int]:
        """The size (H, W) that a picture has in the file: 4:2:0 chroma needs even sides, codecs that lose nothing take any."""
        return (height, width) if self.encoder.lossless else padded_size(height, width)


def padded_size(height: int, width: int) -> tuple[int, int]:
    """The size (H, W) of a picture with even sides, as 4:2:0 chroma needs them."""
    return height + height % 2, width + width % 2


def require_codec(options: VideoOptions, height: int, width: int) -> None:
    """Encode a picture of size (H, W) into memory, so that an encoder that this machine does not have is found out at once.

    Raises:
        InvalidArgumentError: it cannot be encoded; the message says why.
    """
    shape = (height, width, 3) if options.encoder.lossless else (options.file_size(height, width)[0] * 3 // 2, width + width % 2)
    try:
        stream = _Stream(io.BytesIO(), (height, width), Fraction(20), options)
        try:
            stream.encode(np.full(shape, 128, np.uint8), 0)
            stream.finish()
        finally:
            stream.close()
    except (FFmpegError, OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InvalidArgumentError(
            f"codec {options.codec!r} does not encode pictures of {width}x{height} on this machine ({options.encoder.encoder}: {reason}); "
            "take another codec or size"
        ) from error


class _Stream:
    """An mp4 with one video in it: the settings of all files."""

    def __init__(self, target: str | IO[bytes], size: tuple[int, int], fps: Fraction, options: VideoOptions) -> None:
        self._codec = options.encoder
        self._time_base = 1 / fps
        self._reformatter = VideoReformatter()
        # the muxer would otherwise multiply the time base, and presentation times would no longer count frames
        self._container = av.open(target, "w", format="mp4", options={"video_track_timescale": str(fps.numerator)})
        try:
            self._stream = self._add_stream(size, fps, options)
        except BaseException:
            self.close()
            raise

    def _add_stream(self, size: tuple[int, int], fps: Fraction, options: VideoOptions) -> av.VideoStream:
        (height, width), (rows, columns) = size, options.file_size(*size)
        picture = {"width": width, "height": height, "pad_right": columns - width, "pad_bottom": rows - height}
        self._container.metadata["comment"] = json.dumps({"picture": picture})
        settings = dict(self._codec.settings(options.preset, options.crf, options.keyframe_interval))
        stream = self._container.add_stream(self._codec.encoder, rate=fps, options=settings)
        assert isinstance(stream, av.VideoStream)
        stream.height, stream.width, stream.pix_fmt = rows, columns, self._codec.pixel_format
        stream.time_base = self._time_base
        context = stream.codec_context
        context.time_base = self._time_base
        context.thread_count = 1
        context.color_primaries = _BT709
        if self._codec.lossless:
            context.color_range, context.color_trc = ColorRange.JPEG, _SRGB
        else:
            context.colorspace, context.color_range, context.color_trc = Colorspace.ITU709, ColorRange.MPEG, _BT709
        return stream

    def encode(self, pixels: NDArray[np.uint8], number: int) -> None:
        """Encode picture ``number``: planes of 4:2:0, or uint8 (H, W, 3) for a codec that loses nothing."""
        if self._codec.lossless:
            frame = av.VideoFrame.from_ndarray(pixels, format="rgb24")
            frame = self._reformatter.reformat(frame, format=self._codec.pixel_format, threads=1)
        else:
            # without a copy: encoders take what they need before they return; PyAV knows no other heights of buffers than multiples of 4
            frame_of = av.VideoFrame.from_ndarray if len(pixels) % 6 else av.VideoFrame.from_numpy_buffer
            frame = frame_of(pixels, format="yuv420p")
        frame.pts, frame.time_base = number, self._time_base
        self._container.mux(self._stream.encode(frame))

    def finish(self) -> None:
        """Write what the encoder still holds, and the end of the file."""
        self._container.mux(self._stream.encode(None))
        self._container.close()

    def close(self) -> None:
        """Let go of the file, whole or not."""
        self._container.close()


class VideoWriter:
    """Encodes pictures of one size to an mp4.

    The file has its name only once it is whole: until then it ends with ``.part``. Frame k has the presentation time k, in units
    of 1/fps. There are no B-frames, so decoding order is presentation order. Pictures are BT.709 with limited range and tagged so; those
    of a codec that loses nothing are RGB. For 4:2:0 a picture with an odd side is padded by repeating its last row or column; the file's
    ``comment`` tag says which part is the picture. One thread: the same pictures give the same bytes.

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
        self._last: tuple[int, NDArray[np.uint8]] | None = None
        self.frame_count = 0
        self._size = (height, width)
        options = options or VideoOptions()
        self._lossless = options.encoder.lossless
        rows, columns = padded_size(height, width)
        self._planes = (rows * 3 // 2, columns)
        self._partial = path.with_name(path.name + PARTIAL_SUFFIX)
        with self._naming_the_file():
            try:
                self._stream = _Stream(str(self._partial), self._size, fps, options)
            except BaseException:
                self._remove()
                raise

    def write(self, pixels: NDArray[np.uint8], *, last: bool = False) -> None:
        """Encode one picture.

        Args:
            pixels: uint8 (H, W, 3), sRGB values; or, for 4:2:0, its planes, uint8 (H * 3 / 2, W) of even H and W, as
                ``rgb_layout="yuv420"`` gives them: the same bytes come of both.
            last: as far as is known, none follows: it is kept for the poster.

        Raises:
            InvalidArgumentError: the picture has another size or type.
            RecordingError: it cannot be written.
        """
        if pixels.dtype != np.uint8 or (pixels.shape != (*self._size, 3) and (self._lossless or pixels.shape != self._planes)):
            raise InvalidArgumentError(
                f"{self.path.name}: a picture of {pixels.dtype} {pixels.shape} came, uint8 {(*self._size, 3)} is needed"
                + ("" if self._lossless else f", or its planes {self._planes}")
            )
        if pixels.ndim == 3 and not self._lossless:
            from rollfilm.render.yuv import yuv420_of

            pixels = yuv420_of(pixels[None])[0]
        with self._naming_the_file():
            self._stream.encode(np.ascontiguousarray(pixels), self.frame_count)
        if last and self._poster is not None:
            self._last = (self.frame_count, pixels.copy())
        self.frame_count += 1

    def close(self) -> None:
        """Finish the file and give it its name, then write its poster.

        Raises:
            RecordingError: it cannot be written to its end. Nothing is left behind.
        """
        try:
            with self._naming_the_file():
                self._stream.finish()
                os.replace(self._partial, self.path)
        except BaseException:
            self.abort()
            raise
        if self._poster is not None and self.frame_count:
            write_poster(self._poster, self._last_frame(), self._size)

    def _last_frame(self) -> av.VideoFrame:
        """The last picture; one that was not known to be it is read from the file."""
        if self._last is None or self._last[0] != self.frame_count - 1:
            with VideoReader(self.path) as video:
                return av.VideoFrame.from_ndarray(video[-1], format="rgb24")
        pixels = self._last[1]
        if pixels.ndim == 3:
            return av.VideoFrame.from_ndarray(pixels, format="rgb24")
        frame = av.VideoFrame.from_ndarray(pixels, format="yuv420p")
        frame.colorspace, frame.color_range = Colorspace.ITU709, ColorRange.MPEG
        return frame

    def abort(self) -> None:
        """Throw away what was written. Raises nothing: where the file cannot be deleted, it stays under its ``.part`` name."""
        with contextlib.suppress(FFmpegError, OSError):
            self._stream.close()
        self._remove()

    def _remove(self) -> None:
        with contextlib.suppress(OSError):
            self._partial.unlink(missing_ok=True)

    @contextlib.contextmanager
    def _naming_the_file(self) -> Iterator[None]:
        try:
            yield
        except (FFmpegError, OSError) as error:
            raise RecordingError(f"cannot write {self.path}: {getattr(error, 'strerror', None) or error}") from error
