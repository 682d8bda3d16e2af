"""From the arrays of a GPU to pinned memory of the host, while the GPU renders on and the host goes on."""

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rollfilm.errors import RecordingError
from rollfilm.record.buffers import PLANES, BufferKey, CameraBuffer
from rollfilm.record.video import padded_size

__all__ = ["DeviceCopy", "is_on_cuda"]


def is_on_cuda(array: Any) -> bool:
    """Whether an array of torch or Warp lies on a GPU."""
    return bool(getattr(array, "is_cuda", False) or getattr(getattr(array, "device", None), "is_cuda", False))


class DeviceCopy:
    """One batched copy of some buffers at a time, to pinned memory of its own.

    What is copied is first gathered on the GPU, and colours are converted to planes there: in the order of the device's current stream,
    so that the next render may overwrite the sources at once. The copies themselves run on a stream of their own. Of several such
    objects, one works while others are still being read.

    Args:
        buffers: what is copied.
        num_worlds: B.
        example: an array on the device.

    Attributes:
        arrays: where the copies land, (B, ...) on the host.
    """

    def __init__(self, buffers: Mapping[BufferKey, CameraBuffer], num_worlds: int, example: Any) -> None:
        import warp as wp

        self._buffers = buffers
        self._device = wp.get_device(str(example.device))
        self._stream = _copy_stream(str(self._device))
        self._ready, self._done = wp.Event(self._device), wp.Event(self._device)
        self._started = False
        self._pinned, self._staging, self.arrays = {}, {}, {}
        for key, buffer in buffers.items():
            kind = wp.uint8 if buffer.dtype == "uint8" else wp.int32
            shape = (num_worlds, int(np.prod(buffer.shape)))
            self._pinned[key] = wp.empty(shape, dtype=kind, device="cpu", pinned=True)
            self._staging[key] = wp.empty(shape, dtype=kind, device=self._device)
            self.arrays[key] = self._pinned[key].numpy().view(buffer.dtype).reshape(num_worlds, *buffer.shape)

    def start(self, sources: Mapping[BufferKey, Any], order: NDArray[np.int32]) -> None:
        """Begin to copy the rows ``order`` of some arrays on the device; returns before they are there.

        Raises:
            RecordingError: an array of another type came than was announced.
        """
        import warp as wp

        rows = {key: _rows(source, self._buffers[key], key) for key, source in sources.items()}
        stream = wp.get_stream(self._device)
        producers = _torch_streams(sources.values())
        for producer in producers:
            stream.wait_stream(producer)
        if self._started:
            stream.wait_event(self._done)  # the copy before this one may still read what is gathered now
        chosen = wp.array(order, dtype=int, device=self._device)
        for key, source in rows.items():
            self._gather(source, chosen, key)
        for producer in producers:
            producer.wait_stream(stream)  # who overwrites the sources next
        stream.record_event(self._ready)
        self._stream.wait_event(self._ready)
        for key in rows:
            staging, pinned = self._staging[key], self._pinned[key]
            wp.copy(pinned.flatten(), staging.flatten(), count=len(order) * staging.shape[1], stream=self._stream)
        self._stream.record_event(self._done)
        self._started = True

    def wait(self) -> None:
        """Until the copies are there."""
        import warp as wp

        wp.synchronize_event(self._done)

    def _gather(self, source: Any, order: Any, key: BufferKey) -> None:
        import warp as wp

        from rollfilm.render.kernels.yuv import gather_rows
        from rollfilm.render.yuv import store_averages, store_yuv420

        buffer, target = self._buffers[key], self._staging[key]
        if buffer.converted:
            store_yuv420(source, order, buffer.size, target)
        elif buffer.factor > 1:
            store_averages(self._staging[BufferKey(key.camera, PLANES)], padded_size(*buffer.size), buffer.factor, target)
        else:
            wp.launch(gather_rows, dim=(len(order), source.shape[1]), inputs=[order, source, target], device=self._device)


@cache
def _copy_stream(device: str) -> Any:
    """The stream that copies from a device run on: one for all, for they come one after the other anyway."""
    import warp as wp

    return wp.Stream(device)


def _rows(array: Any, buffer: CameraBuffer, key: BufferKey) -> Any:
    """An array (B, ...) on the device as Warp's, (B, words): bytes, or 32 bits each."""
    import warp as wp

    kind = wp.uint8 if buffer.dtype == "uint8" else wp.int32
    if hasattr(array, "data_ptr"):
        import torch  # pyright: ignore[reportMissingImports]

        if array.element_size() == wp.types.type_size_in_bytes(kind):
            flat = array.detach().contiguous().reshape(len(array), -1)
            return wp.from_torch(flat.view(torch.uint8 if kind is wp.uint8 else torch.int32))
    elif wp.types.type_size_in_bytes(array.dtype) == wp.types.type_size_in_bytes(kind):
        return array.contiguous().reshape((len(array), -1)).view(kind)
    raise RecordingError(f"camera {key.camera!r}: {buffer.source} frames are {array.dtype}, {buffer.dtype} was announced")


def _torch_streams(arrays: Any) -> list[Any]:
    """The streams on which torch works at the arrays of its own."""
    import warp as wp

    devices = {array.device for array in arrays if hasattr(array, "data_ptr")}
    if not devices:
        return []
    import torch  # pyright: ignore[reportMissingImports]

    return [wp.stream_from_torch(torch.cuda.current_stream(device)) for device in devices]
