"""How the colours of a picture lie in memory."""

from typing import Any, NamedTuple

import numpy as np

from rollfilm.arguments import numbers_of
from rollfilm.errors import InvalidArgumentError

__all__ = ["LAYOUTS", "Layout", "averaged_size", "check_layout", "layout_shape"]


class Layout(NamedTuple):
    """A layout of colours.

    Attributes:
        dtype: NumPy's name of the type of its numbers.
        planar: the channels come one after the other, (B, 3, H, W); else pixel by pixel, (B, H, W, 3).
        normalised: colours are divided by 255; a mean can be taken away, and what is left divided by a deviation.
        luma: the weights of red, green and blue in the brightness of a YUV picture, None for others.
    """

    dtype: str
    planar: bool = True
    normalised: bool = False
    luma: tuple[float, float, float] | None = None


#: By name. The weights are those of ITU-R BT.709 (3.2) and BT.601 (2.5.1).
LAYOUTS = {
    "nhwc_uint8": Layout("uint8", planar=False),
    "nchw_uint8": Layout("uint8"),
    "nchw_float16": Layout("float16", normalised=True),
    "nchw_float32": Layout("float32", normalised=True),
    "yuv420": Layout("uint8", luma=(0.2126, 0.7152, 0.0722)),
    "yuv420_bt601": Layout("uint8", luma=(0.299, 0.587, 0.114)),
}


def layout_shape(name: str, num_worlds: int, height: int, width: int) -> tuple[int, ...]:
    """The shape of an array of pictures; those of YUV have sides that are even."""
    layout = LAYOUTS[name]
    if layout.luma is not None:
        rows, columns = height + height % 2, width + width % 2
        return num_worlds, rows * 3 // 2, columns
    return (num_worlds, 3, height, width) if layout.planar else (num_worlds, height, width, 3)


def averaged_size(size: tuple[int, int], factor: int) -> tuple[int, int]:
    """H and W, even, of planes of an even size whose blocks of ``factor`` x ``factor`` numbers are averaged."""
    return 2 * -(-size[0] // (2 * factor)), 2 * -(-size[1] // (2 * factor))


def check_layout(camera: str, name: str, mean: Any, std: Any, *, rgb: bool) -> None:
    """Make sure that a layout exists, and has an effect; ``mean`` and ``std`` are None or of three numbers, in whatever sequence.

    Raises:
        InvalidArgumentError: it does not, or mean or std are no three numbers, are given where they have no effect, or make numbers that
            the layout cannot hold.
    """
    if not isinstance(name, str) or name not in LAYOUTS:
        raise InvalidArgumentError(f"camera {camera!r}: rgb_layout {name!r} is unknown; choose from {', '.join(LAYOUTS)}")
    if name != "nhwc_uint8" and not rgb:
        raise InvalidArgumentError(f"camera {camera!r}: rgb_layout {name!r} has no effect without the output 'rgb'; ask for that too")
    for what, values in (("rgb_mean", mean), ("rgb_std", std)):
        if values is None:
            continue
        if not LAYOUTS[name].normalised:
            raise InvalidArgumentError(
                f"camera {camera!r}: {what} has no effect on {name}; take nchw_float16 or nchw_float32, or leave it out"
            )
        numbers = numbers_of(values)
        if numbers is None or len(numbers) != 3 or (what == "rgb_std" and min(numbers) <= 0):
            raise InvalidArgumentError(f"camera {camera!r}: {what} is {values!r}; give three finite numbers, deviations above 0")
    if LAYOUTS[name].normalised:
        _check_reach(camera, name, numbers_of(mean) if mean is not None else None, numbers_of(std) if std is not None else None)


def _check_reach(camera: str, name: str, mean: tuple[float, ...] | None, std: tuple[float, ...] | None) -> None:
    """Make sure that black and white, which all colours lie between, are numbers of the layout's type."""
    largest = max(max(abs(m), abs(1.0 - m)) / s for m, s in zip(mean or (0.0,) * 3, std or (1.0,) * 3, strict=True))
    if largest > float(np.finfo(LAYOUTS[name].dtype).max):
        raise InvalidArgumentError(
            f"camera {camera!r}: with this rgb_mean and rgb_std colours become numbers up to {largest:.3g}, which {name} cannot hold; "
            "give larger deviations"
        )
