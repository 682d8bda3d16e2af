"""Body poses from whatever an engine gives, checked, as Warp arrays on the renderer's device."""

from typing import Any

import numpy as np
import warp as wp

from rollfilm.errors import InvalidArgumentError
from rollfilm.scene import BodyPoses

__all__ = ["PoseBuffer"]


class PoseBuffer:
    """Holds the poses of one frame on the device.

    NumPy poses are read in place on the CPU. On CUDA they are copied into arrays of our own, a few kilobytes a world, so that a
    recorded graph finds them at the same place in every frame; from the host in one transfer each, from the device without it.
    """

    def __init__(self, num_worlds: int, body_names: tuple[str, ...], device: wp.Device) -> None:
        self._num_worlds = num_worlds
        self._body_names = body_names
        self._device = device
        shape = (num_worlds, len(body_names))
        self.position = wp.zeros(shape, dtype=wp.vec3, device=device)
        self.quat_wxyz = wp.zeros(shape, dtype=wp.vec4, device=device)

    def load(self, poses: BodyPoses) -> None:
        """Take over the poses of a frame.

        Raises:
            InvalidArgumentError: a wrong shape or dtype; on the host also a value that is not finite (world and body are named).
        """
        for name, width in (("position", 3), ("quat_wxyz", 4)):
            value = getattr(poses, name)
            shape = (self._num_worlds, len(self._body_names), width)
            if isinstance(value, np.ndarray):
                self._check(name, value, shape)
                loaded = self._from_host(value, wp.vec3 if width == 3 else wp.vec4)
            else:
                loaded = self._from_device(name, value, shape, wp.vec3 if width == 3 else wp.vec4)
            if self._device.is_cuda:
                wp.copy(getattr(self, name), loaded)
            else:
                setattr(self, name, loaded)

    def _check(self, name: str, value: np.ndarray, shape: tuple[int, int, int]) -> None:
        if value.shape != shape or value.dtype != np.float32:
            raise InvalidArgumentError(
                f"body poses: {name} came as {value.dtype} {value.shape}; it must be float32 {shape}, (B worlds, bodies, {shape[2]})"
            )
        # one sum tells whether all is finite, without an array of flags
        if not np.isfinite(value.sum(dtype=np.float64)):
            world, body, _ = np.argwhere(~np.isfinite(value))[0]
            raise InvalidArgumentError(
                f"body poses: {name} of body {self._body_names[body]!r} in world {world} is not finite; "
                "reset that world before it is rendered"
            )

    def _from_host(self, value: np.ndarray, dtype: Any) -> wp.array:
        value = np.ascontiguousarray(value)
        host = wp.array(value, dtype=dtype, device="cpu", copy=False)
        return host.to(self._device) if self._device.is_cuda else host

    def _from_device(self, name: str, value: Any, shape: tuple[int, int, int], dtype: Any) -> wp.array:
        if not isinstance(value, wp.array) and not hasattr(value, "__dlpack__"):
            raise InvalidArgumentError(
                f"body poses: {name} came as {type(value).__name__}; it must be a NumPy array, or an array that has DLPack, float32 {shape}"
            )
        array = value if isinstance(value, wp.array) else wp.from_dlpack(value)
        if array.dtype in (wp.vec3, wp.vec4, wp.quat) and array.shape == shape[:2]:
            if array.dtype is not dtype:
                array = array.view(dtype)
        elif array.dtype is wp.float32 and array.shape == shape and array.is_contiguous:
            array = wp.array(ptr=array.ptr, dtype=dtype, shape=shape[:2], device=array.device, copy=False)
            array._keep_alive = value
        else:
            raise InvalidArgumentError(
                f"body poses: {name} came as {array.dtype.__name__} {array.shape}; it must be float32 {shape} and contiguous"
            )
        if array.device != self._device:
            raise InvalidArgumentError(
                f"body poses: {name} is on {array.device}, the renderer on {self._device}; "
                f"make the renderer with device={str(array.device)!r}"
            )
        return array
