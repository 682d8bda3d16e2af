"""The video codecs that a recording can have, and what is asked of their encoders."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

__all__ = ["CODECS", "Codec"]

_X264_PRESETS = ("ultrafast", "superfast", "veryfast", "faster", "fast", "medium", "slow", "slower", "veryslow")


@dataclass(frozen=True)
class Codec:
    """A codec and the encoder that FFmpeg has for it.

    Attributes:
        encoder: FFmpeg's name.
        pixel_format: FFmpeg's name of what the encoder takes: ``"yuv420p"``, or ``"bgr0"`` for one that keeps every colour as it is.
        presets: what a user can choose between speed and size, fastest first; empty where there is nothing to choose.
        preset: which of them if nobody does.
        crf: highest and usual constant rate factor; None where the codec loses nothing.
        settings: from preset, crf and the interval of key frames to the encoder's options.
        memory: bytes that an open encoder takes, for itself and for each pixel.
    """

    encoder: str
    pixel_format: str
    presets: tuple[str, ...]
    preset: str | None
    crf: tuple[int, int] | None
    settings: Callable[[str | None, int | None, int], Mapping[str, str]]
    memory: tuple[int, int]

    @property
    def lossless(self) -> bool:
        """Whether the encoder takes colours as they are and gives them back so, of any size."""
        return self.pixel_format != "yuv420p"


def _x264(preset: str | None, crf: int | None, interval: int) -> dict[str, str]:
    # Without mbtree=0 about one file in 400 differs from run to run: x264's macroblock tree does not always give the same numbers. It is
    # all that looks ahead where there are no B-frames, so the frames that it would wait for need no memory either.
    return {"preset": str(preset), "crf": str(crf), "g": str(interval), "bf": "0", "mbtree": "0", "rc-lookahead": "0"}


def _x265(preset: str | None, crf: int | None, interval: int) -> dict[str, str]:
    # one thread, and nothing that looks ahead, as for x264
    own = f"pools=none:frame-threads=1:wpp=0:bframes=0:rc-lookahead=0:cutree=0:scenecut=0:keyint={interval}:log-level=none"
    return {"preset": str(preset), "crf": str(crf), "x265-params": own}


def _svt_av1(preset: str | None, crf: int | None, interval: int) -> dict[str, str]:
    # low delay: decoding order is presentation order; lp=1 is as near to one thread as SVT-AV1 goes
    return {"preset": str(preset), "crf": str(crf), "g": str(interval), "svtav1-params": "pred-struct=1:lp=1:lookahead=0"}


def _ffv1(preset: str | None, crf: int | None, interval: int) -> dict[str, str]:
    return {"level": "3", "slices": "4", "slicecrc": "1", "g": str(interval)}


def _nvenc(preset: str | None, crf: int | None, interval: int) -> dict[str, str]:
    return {"preset": str(preset), "rc": "constqp", "qp": str(crf), "g": str(interval), "bf": "0", "delay": "0"}


_NVENC_PRESETS = tuple(f"p{number}" for number in range(1, 8))

#: By the name that a user gives. Memory was measured on noise of 128x128 to 512x512, NVENC's guessed.
CODECS: dict[str, Codec] = {
    "h264": Codec("libx264", "yuv420p", _X264_PRESETS, "veryfast", (51, 20), _x264, (1_200_000, 40)),
    "hevc": Codec("libx265", "yuv420p", _X264_PRESETS, "ultrafast", (51, 22), _x265, (5_000_000, 50)),
    "av1": Codec("libsvtav1", "yuv420p", tuple(str(number) for number in range(13, -1, -1)), "10", (63, 30), _svt_av1, (4_000_000, 30)),
    "ffv1": Codec("ffv1", "bgr0", (), None, None, _ffv1, (1_000_000, 80)),
    "h264_nvenc": Codec("h264_nvenc", "yuv420p", _NVENC_PRESETS, "p4", (51, 22), _nvenc, (5_000_000, 20)),
    "hevc_nvenc": Codec("hevc_nvenc", "yuv420p", _NVENC_PRESETS, "p4", (51, 24), _nvenc, (5_000_000, 20)),
    "av1_nvenc": Codec("av1_nvenc", "yuv420p", _NVENC_PRESETS, "p4", (255, 90), _nvenc, (5_000_000, 20)),
}
