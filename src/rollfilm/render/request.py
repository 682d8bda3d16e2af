"""What is asked of a renderer: which cameras, at which size, with which outputs."""

from dataclasses import dataclass
from numbers import Integral

from rollfilm.errors import InvalidArgumentError
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

    Raises:
        InvalidArgumentError: a size that is no whole number from 1 to MAX_IMAGE_SIZE, no output, or one that is unknown.
    """

    camera: str | Camera
    height: int = 256
    width: int = 256
    outputs: tuple[str, ...] = ("rgb",)

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
        if isinstance(self.outputs, str) or not self.outputs or any(name not in OUTPUTS for name in self.outputs):
            raise InvalidArgumentError(f"camera {self.name!r}: outputs {self.outputs!r} were asked for; choose from {', '.join(OUTPUTS)}")

    @property
    def name(self) -> str:
        """The name of the camera."""
        return self.camera if isinstance(self.camera, str) else self.camera.name
