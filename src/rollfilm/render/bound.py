"""Arrays of the caller's own that pictures are written to."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import warp as wp

from rollfilm.errors import InvalidArgumentError, NotFoundError
from rollfilm.render.outputs import OUTPUTS, picture_format
from rollfilm.render.request import CameraRequest

__all__ = ["bind_outputs"]


def bind_outputs(
    out: Mapping[str, Mapping[str, Any]], requests: Sequence[CameraRequest], num_worlds: int, device: wp.Device
) -> dict[str, dict[str, wp.array]]:
    """The caller's arrays as kernels take them, (B, numbers of a picture): by camera and output, no copy.

    Raises:
        NotFoundError: a camera or output that was not asked for.
        InvalidArgumentError: ``out`` is not by camera and output; an array of a wrong shape, dtype or device, one that is not
            contiguous or cannot be written, or two for one picture.
    """
    if not isinstance(out, Mapping) or not all(isinstance(arrays, Mapping) for arrays in out.values()):
        raise InvalidArgumentError("out must name arrays by camera and output, as in {'front': {'rgb': array}}")
    by_name = {request.name: request for request in requests}
    bound: dict[str, dict[str, wp.array]] = {}
    for camera, arrays in out.items():
        if camera not in by_name:
            raise NotFoundError(f"out names camera {camera!r}; the cameras that were asked for: {', '.join(by_name)}")
        request = by_name[camera]
        for name, array in arrays.items():
            if name not in request.outputs:
                raise NotFoundError(f"out names {name!r} of camera {camera!r}; its outputs: {', '.join(request.outputs)}")
            picture = OUTPUTS[name].picture
            if any(OUTPUTS[other].picture == picture for other in bound.get(camera, ())):
                raise InvalidArgumentError(f"out has two arrays for camera {camera!r}: {name!r} is another name of one of them; give one")
            what = f"out[{camera!r}][{name!r}]"
            shape, dtype = picture_format(request, name, num_worlds)
            bound.setdefault(camera, {})[name] = _flat_view(what, array, shape, np.dtype(dtype), device)
    return bound


def _flat_view(what: str, array: Any, shape: tuple[int, ...], dtype: np.dtype, device: wp.Device) -> wp.array:
    if not device.is_cuda:
        if not isinstance(array, np.ndarray):
            raise InvalidArgumentError(
                f"{what} is {type(array).__name__}; on the CPU give a NumPy array, {dtype} {shape} "
                "(numpy() of a torch tensor shares its memory)"
            )
        _require(what, array.shape, array.dtype, shape, dtype, bool(array.flags["C_CONTIGUOUS"]))
        if not array.flags["WRITEABLE"]:
            raise InvalidArgumentError(f"{what} cannot be written; give an array that can")
        flat = array.reshape(shape[0], -1)
        return wp.array(flat, dtype=wp.dtype_from_numpy(dtype), device=device, copy=False)
    if not isinstance(array, wp.array) and not hasattr(array, "__dlpack__"):
        raise InvalidArgumentError(f"{what} is {type(array).__name__}; give a torch or Warp array, or any that has DLPack, {dtype} {shape}")
    taken = array if isinstance(array, wp.array) else wp.from_dlpack(array)
    if taken.device != device:
        raise InvalidArgumentError(f"{what} is on {taken.device}, the renderer on {device}; give an array on that device")
    _require(what, taken.shape, np.dtype(wp.dtype_to_numpy(taken.dtype)), shape, dtype, taken.is_contiguous)
    flat = taken.reshape((shape[0], int(np.prod(shape[1:]))))
    flat._keep_alive = array
    return flat


def _require(what: str, came: tuple[int, ...], kind: np.dtype, shape: tuple[int, ...], dtype: np.dtype, contiguous: bool) -> None:
    if tuple(came) != shape or kind != dtype:
        raise InvalidArgumentError(f"{what} came as {kind} {tuple(came)}; it must be {dtype} {shape}")
    if not contiguous:
        raise InvalidArgumentError(f"{what} is not contiguous; give an array in C order that is no slice of another")
