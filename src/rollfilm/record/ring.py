"""The frames under way from the renderer to the encoders: a fixed number of buffers, used again and again."""

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rollfilm.errors import RecordingError
from rollfilm.host import host_array
from rollfilm.record.buffers import CELLS, PLANES, RGB, BufferKey, CameraBuffer
from rollfilm.record.device_copy import DeviceCopy, is_on_cuda
from rollfilm.record.planes import rgb_of_planes
from rollfilm.render.frames import Frames

__all__ = ["FrameRing", "FrameSlot", "Picture"]

_FIRST = np.zeros(1, np.int32)


class FrameSlot:
    """One buffer of the ring: the pictures of all cameras at one state. Free again when nobody retains it.

    Colours are converted to what encoders take on their way into it, where they are: on a GPU before they are copied. The copy from a
    GPU goes on after :meth:`fill` has returned; who looks at a picture waits for it.
    """

    def __init__(self, buffers: Mapping[BufferKey, CameraBuffer], num_worlds: int, freed: threading.Condition) -> None:
        self._buffers = buffers
        self._num_worlds = num_worlds
        self._arrays = {key: np.empty((num_worlds, *buffer.shape), buffer.dtype) for key, buffer in buffers.items()}
        self._freed = freed
        self._users = 0
        self._rows: dict[int, int] = {}
        self._copy: DeviceCopy | None = None
        self._arriving = threading.Lock()
        self._arrived = True

    @property
    def cameras(self) -> tuple[str, ...]:
        """Names of the cameras whose pictures it holds."""
        return tuple(dict.fromkeys(key.camera for key in self._buffers))

    @property
    def is_free(self) -> bool:
        """Whether nobody retains it. Ask with the ring's lock held."""
        return self._users == 0

    def retain(self) -> None:
        """Keep the pictures unchanged until :meth:`release`."""
        with self._freed:
            self._users += 1

    def release(self) -> None:
        """Let go of what was retained."""
        with self._freed:
            self._users -= 1
            if self._users == 0:
                self._freed.notify()

    def fill(self, frames: Frames, worlds: Sequence[int] | None) -> None:
        """Take over the pictures of ``worlds``, or of all, one batched copy a camera.

        Raises:
            RecordingError: pictures of another shape or type came than were announced.
        """
        order = np.arange(self._num_worlds, dtype=np.int32) if worlds is None else np.asarray(worlds, np.int32)
        self._rows = {world: row for row, world in enumerate(order.tolist())}
        sources = {key: self._checked(key, getattr(frames[key.camera], buffer.source)) for key, buffer in self._buffers.items()}
        on_device = {key: source for key, source in sources.items() if is_on_cuda(source)}
        for key, source in sources.items():
            if key not in on_device:
                self._take(key, host_array(source), order)
        if on_device:
            if self._copy is None:
                self._copy = DeviceCopy({key: self._buffers[key] for key in on_device}, self._num_worlds, next(iter(on_device.values())))
                self._arrays |= self._copy.arrays
            self._arrived = False
            self._copy.start(on_device, order)

    def replace(self, frames: Frames, worlds: Sequence[int]) -> None:
        """Put other pictures of ``worlds`` in the place of theirs, where it holds them."""
        for world in worlds:
            if (row := self._rows.get(world)) is None:
                continue
            for key, buffer in self._buffers.items():
                self.array(key.camera, key.what)  # not before the copy is there
                source = self._checked(key, getattr(frames[key.camera], buffer.source))
                self._take(key, host_array(source[world : world + 1]), _FIRST, row)

    def picture(self, camera: str, world: int) -> "Picture":
        """The picture of one camera in one world."""
        return Picture(self, camera, self._rows[world])

    def has(self, camera: str, what: str) -> bool:
        """Whether there is such a buffer."""
        return BufferKey(camera, what) in self._arrays

    def picture_size(self, camera: str) -> tuple[int, int]:
        """H and W of a camera's pictures."""
        return next(buffer.size for key, buffer in self._buffers.items() if key.camera == camera)

    def array(self, camera: str, what: str) -> NDArray[Any]:
        """A buffer (B, ...): rows of worlds in the order that :meth:`fill` was given, what lies behind them is of no use."""
        if not self._arrived:
            with self._arriving:
                if not self._arrived and self._copy is not None:
                    self._copy.wait()
                self._arrived = True
        return self._arrays[BufferKey(camera, what)]

    def cells(self, camera: str, factor: int) -> NDArray[np.uint8]:
        """The planes of all worlds, scaled down by ``factor``; for a slot that holds all of them."""
        if self.has(camera, CELLS):
            return self.array(camera, CELLS)
        from rollfilm.render.yuv import averaged_on_host, yuv420_of

        planes = self.array(camera, PLANES) if self.has(camera, PLANES) else yuv420_of(self.array(camera, RGB))
        return planes if factor == 1 else averaged_on_host(planes, factor)

    def _checked(self, key: BufferKey, source: Any) -> Any:
        shape = None if source is None else tuple(source.shape)
        expected = (self._num_worlds, *self._buffers[key].source_shape)
        if shape != expected:
            name = self._buffers[key].source
            raise RecordingError(f"camera {key.camera!r}: {name} frames of shape {shape} came, {expected} were announced")
        return source

    def _take(self, key: BufferKey, source: NDArray[Any], order: NDArray[np.int32], row: int = 0) -> None:
        """Copy the pictures ``order`` of ``source`` to row ``row`` and those behind it."""
        buffer, rows = self._buffers[key], slice(row, row + len(order))
        target = self._arrays[key][rows]
        if source.dtype != buffer.dtype:
            raise RecordingError(f"camera {key.camera!r}: {buffer.source} frames are {source.dtype}, {buffer.dtype} was announced")
        if buffer.converted:
            from rollfilm.render.yuv import store_yuv420_on_host

            store_yuv420_on_host(source, order, target)
        elif buffer.factor > 1:
            from rollfilm.render.yuv import store_averages_on_host

            store_averages_on_host(self._arrays[BufferKey(key.camera, PLANES)][rows], buffer.factor, target)
        else:
            np.take(source, order, axis=0, out=target, mode="clip")


@dataclass(frozen=True, eq=False)
class Picture:
    """The picture of one camera in one world, in a buffer of the ring: retain the slot to use it later."""

    slot: FrameSlot
    camera: str
    row: int

    @property
    def size(self) -> tuple[int, int]:
        """H and W."""
        return self.slot.picture_size(self.camera)

    @property
    def pixels(self) -> NDArray[np.uint8]:
        """The planes of 4:2:0 that an encoder takes (``VideoWriter.write``), a view; the colours where there are no planes."""
        return self.slot.array(self.camera, PLANES if self.slot.has(self.camera, PLANES) else RGB)[self.row]

    @property
    def rgb(self) -> NDArray[np.uint8]:
        """The colours, uint8 (H, W, 3): a view, where the recorder was told that someone wants them; else made of the planes."""
        if self.slot.has(self.camera, RGB):
            return self.slot.array(self.camera, RGB)[self.row]
        return rgb_of_planes(self.slot.array(self.camera, PLANES)[self.row], self.size)

    def output(self, name: str) -> NDArray[Any]:
        """Another output of the camera that is stored as it is, (H, W), a view."""
        return self.slot.array(self.camera, name)[self.row]


class FrameRing:
    """A fixed number of buffers for the frames that encoders have not taken yet.

    :meth:`take` blocks while all of them are in use. So a slow encoder slows the loop down, memory stays constant and no frame
    is ever dropped.

    Args:
        buffers: what is buffered.
        num_worlds: B.
        num_slots: how many states can be under way at once.
    """

    def __init__(self, buffers: Mapping[BufferKey, CameraBuffer], num_worlds: int, num_slots: int) -> None:
        self._num_worlds = num_worlds
        self._freed = threading.Condition()
        self._slots = [FrameSlot(buffers, num_worlds, self._freed) for _ in range(num_slots)]

    @staticmethod
    def size_bytes(buffers: Mapping[BufferKey, CameraBuffer], num_worlds: int, num_slots: int) -> int:
        """Bytes that such a ring takes."""
        return num_slots * num_worlds * sum(buffer.picture_bytes for buffer in buffers.values())

    def take(self, frames: Frames, worlds: Sequence[int] | None = None) -> FrameSlot:
        """Wait for a free buffer and copy ``frames`` into it, those of ``worlds`` or of all. The caller releases it."""
        with self._freed:
            self._freed.wait_for(lambda: any(slot.is_free for slot in self._slots))
            slot = next(slot for slot in self._slots if slot.is_free)
            slot.retain()
        try:
            slot.fill(frames, worlds)
        except BaseException:
            slot.release()
            raise
        return slot
