"""What is asked of a renderer: which cameras, at which size, with which outputs."""

from collections.abc import Collection
from dataclasses import dataclass
from numbers import Integral

from rollfilm.arguments import numbers_of
from rollfilm.errors import InvalidArgumentError
from rollfilm.render.layouts import check_layout
from rollfilm.render.outputs import OUTPUTS
from rollfilm.scene import Camera

__all__ = ["MAX_IMAGE_SIZE", "CameraRequest"]

#: Rows or columns that a picture may have at most.
MAX_IMAGE_SIZE = 16384


@dataclass(frozen=True)
class CameraRequest:
    """One camera to film.

    Attributes:
        camera: the name of a camera of the scene, or a camera of your own.
        height, width: pixels, any size from 1x1 up.
        outputs: any of those that ``CameraFrames`` describes; what is not asked for costs nothing.
        every: film on every n-th call of ``render``, the first among them; between them the pictures stay.
        rgb_layout: how colours lie in memory: ``"nhwc_uint8"`` (B, H, W, 3); ``"nchw_uint8"``, ``"nchw_float16"`` or ``"nchw_float32"``
            (B, 3, H, W), the last two divided by 255; ``"yuv420"`` uint8 (B, H * 3 / 2, W): the planes Y, U and V of 4:2:0 chroma one after
            the other, limited range, BT.709 (``"yuv420_bt601"``: BT.601). Odd sides of YUV are padded by repeating the last row or column.
        rgb_mean, rgb_std: of red, green and blue, for the normalised layouts: ``(value / 255 - mean) / std``.

    Raises:
        InvalidArgumentError: a size that is no whole number from 1 to MAX_IMAGE_SIZE, no output, one that is unknown,
            ``every`` below 1, or a layout that is unknown or has no effect.
    """

    camera: str | Camera
    height: int = 256
    width: int = 256
    outputs: tuple[str, ...] = ("rgb",)
    every: int = 1
    rgb_layout: str = "nhwc_uint8"
    rgb_mean: tuple[float, float, float] | None = None
    rgb_std: tuple[float, float, float] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.camera, str | Camera):
            raise InvalidArgumentError(f"a camera is a name or a rollfilm.scene.Camera; {self.camera!r} came")
        for side in (self.height, self.width):
            if isinstance(side, bool) or not isinstance(side, Integral) or not 1 <= side <= MAX_IMAGE_SIZE:
                raise InvalidArgumentError(
                    f"camera {self.name!r}: a size of {self.width}x{self.height} was asked for; "
                    f"width and height are integers from 1 to {MAX_IMAGE_SIZE}"
                )
        # NumPy's integers stop being ones in arithmetic with other kinds
        object.__setattr__(self, "height", int(self.height))
        object.__setattr__(self, "width", int(self.width))
        if isinstance(self.every, bool) or not isinstance(self.every, Integral) or self.every < 1:
            raise InvalidArgumentError(f"camera {self.name!r}: every is {self.every!r}; it is an integer of at least 1")
        object.__setattr__(self, "every", int(self.every))
        names = tuple(self.outputs) if isinstance(self.outputs, Collection) and not isinstance(self.outputs, str) else ()
        if not names or any(not isinstance(name, str) or name not in OUTPUTS for name in names):
            raise InvalidArgumentError(f"camera {self.name!r}: outputs {self.outputs!r} were asked for; choose from {', '.join(OUTPUTS)}")
        object.__setattr__(self, "outputs", names)
        check_layout(self.name, self.rgb_layout, self.rgb_mean, self.rgb_std, rgb="rgb" in self.outputs)
        for field in ("rgb_mean", "rgb_std"):
            if getattr(self, field) is not None:
                object.__setattr__(self, field, numbers_of(getattr(self, field)))

    @property
    def name(self) -> str:
        """The name of the camera."""
        return self.camera if isinstance(self.camera, str) else self.camera.name
