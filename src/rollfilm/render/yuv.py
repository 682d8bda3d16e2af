"""Planar YUV 4:2:0 of pictures, wherever they are: what encoders of video take."""

from collections.abc import Sequence

import numpy as np
import warp as wp
from numpy.typing import NDArray

from rollfilm.render.kernels.yuv import WEIGHT_DIGITS, YuvWeights, average_plane, rgb_to_yuv420
from rollfilm.render.layouts import LAYOUTS, averaged_size, layout_shape

__all__ = [
    "averaged_on_host",
    "packed_weights",
    "store_averages",
    "store_averages_on_host",
    "store_yuv420",
    "store_yuv420_on_host",
    "thread_columns",
    "yuv420_of",
    "yuv_weights",
]


def yuv_weights(luma: Sequence[float]) -> NDArray[np.int64]:
    """What red, green and blue (columns) count in Y, U and V (rows) of limited range, times 2 ** WEIGHT_DIGITS; greys have no colour.

    Args:
        luma: the weights of red, green and blue in the brightness (ITU-T H.273, 8.3).
    """
    brightness = np.asarray(luma, float)
    blue = (np.array([0, 0, 1]) - brightness) / (1 - brightness[2])
    red = (np.array([1, 0, 0]) - brightness) / (1 - brightness[0])
    weights = np.array([219 / 255 * brightness, 112 / 255 * blue, 112 / 255 * red]) * 2**WEIGHT_DIGITS
    rounded = np.rint(weights).astype(np.int64)
    # what rounding leaves goes to green, the largest in all three
    rounded[:, 1] += np.rint(weights.sum(axis=1)).astype(np.int64) - rounded.sum(axis=1)
    return rounded


def packed_weights(luma: Sequence[float]) -> YuvWeights:  # pyright: ignore[reportInvalidTypeForm]
    """The weights as kernels take them."""
    packed = YuvWeights()
    packed.y, packed.u, packed.v = (wp.vec3i(*(int(number) for number in row)) for row in yuv_weights(luma))
    return packed


def thread_columns(width: int, device: wp.Device) -> int:
    """Columns that a thread of a layout kernel works on: two on a GPU, whole rows on a CPU, which makes vectors of them."""
    return 2 if device.is_cuda else width + width % 2


def store_yuv420(rgb: wp.array, order: wp.array, size: tuple[int, int], out: wp.array) -> None:
    """Convert pictures where they are (BT.709, limited range), in the order of the device's current stream.

    Args:
        rgb: uint8 (B, H * W * 3).
        order: int32 (n,), which pictures.
        size: H and W.
        out: uint8 (n or more, numbers of a picture): the planes Y, U and V of each, one after the other; sides are even.
    """
    height, width = size
    span = thread_columns(width, rgb.device)
    wp.launch(
        rgb_to_yuv420,
        dim=(order.shape[0], -(-height // 2), -(-width // span)),
        inputs=[order, rgb, out, _BT709, height, width, span],
        device=rgb.device,
    )


def store_averages(planes: wp.array, size: tuple[int, int], factor: int, out: wp.array) -> None:
    """Scale pictures in planes down by averaging blocks of ``factor`` x ``factor`` numbers, in the order of the device's current stream.

    Args:
        planes: uint8 (B, numbers of a picture).
        size: H and W of its brightness, even.
        factor: from 1 up.
        out: uint8 (B, numbers of a picture of the size of :func:`averaged_size`).
    """
    (height, width), (rows, columns) = size, averaged_size(size, factor)
    first = out_first = 0
    for half in (1, 2, 2):
        wp.launch(
            average_plane,
            dim=(len(planes), rows // half, columns // half if planes.device.is_cuda else 1),
            inputs=[planes, first, height // half, width // half, out, out_first, columns // half, factor],
            device=planes.device,
        )
        first += height * width // half**2
        out_first += rows * columns // half**2


def store_yuv420_on_host(rgb: NDArray[np.uint8], order: NDArray[np.int32], planes: NDArray[np.uint8]) -> None:
    """Convert pictures ``order`` of ``rgb`` (B, H, W, 3) on the host; their planes are the first rows of ``planes``, contiguous."""
    rgb = np.ascontiguousarray(rgb)
    store_yuv420(_host_rows(rgb), wp.array(order, dtype=int, device="cpu", copy=False), (rgb.shape[1], rgb.shape[2]), _host_rows(planes))


def yuv420_of(rgb: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The planes of pictures (B, H, W, 3) on the host, uint8 (B, H * 3 / 2, W) of even H and W, as ``rgb_layout="yuv420"`` gives them."""
    planes = np.empty(layout_shape("yuv420", *rgb.shape[:3]), np.uint8)
    store_yuv420_on_host(rgb, np.arange(len(rgb), dtype=np.int32), planes)
    return planes


def store_averages_on_host(planes: NDArray[np.uint8], factor: int, out: NDArray[np.uint8]) -> None:
    """Scale pictures in planes (B, H * 3 / 2, W) on the host down (:func:`store_averages`) to ``out`` (B, ...), both contiguous."""
    store_averages(_host_rows(planes), (planes.shape[1] * 2 // 3, planes.shape[2]), factor, _host_rows(out))


def averaged_on_host(planes: NDArray[np.uint8], factor: int) -> NDArray[np.uint8]:
    """Pictures in planes (B, H * 3 / 2, W) on the host, scaled down (:func:`store_averages`)."""
    rows, columns = averaged_size((planes.shape[1] * 2 // 3, planes.shape[2]), factor)
    out = np.empty((len(planes), rows * 3 // 2, columns), np.uint8)
    store_averages_on_host(planes, factor, out)
    return out


def _host_rows(array: NDArray[np.uint8]) -> wp.array:
    """Contiguous bytes (B, ...) on the host as Warp's (B, bytes), without a copy; they live as long as ``array`` does."""
    shape = (len(array), array[0].size)
    return wp.array(ptr=array.__array_interface__["data"][0], dtype=wp.uint8, shape=shape, device="cpu")


_BT709 = packed_weights(LAYOUTS["yuv420"].luma or ())
