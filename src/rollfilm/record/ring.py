"""The frames under way from the renderer to the encoders: a fixed number of buffers, used again and again."""

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rollfilm.errors import RecordingError
from rollfilm.host import host_array
from rollfilm.render.frames import Frames

__all__ = ["FrameRing", "FrameSlot", "Picture"]


class FrameSlot:
    """One buffer of the ring: the pictures of all cameras at one state. Free again when nobody retains it."""

    def __init__(self, arrays: dict[str, NDArray[np.uint8]], freed: threading.Condition) -> None:
        self.arrays = arrays
        self._freed = freed
        self._users = 0
        self._rows: dict[int, int] = {}

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

    def fill(self, frames: Frames, worlds: Sequence[int] | None, num_worlds: int) -> None:
        """Copy the pictures of ``worlds``, or of all, one batched copy a camera."""
        everyone = worlds is None or len(worlds) == num_worlds
        order = range(num_worlds) if everyone or worlds is None else worlds
        self._rows = {world: row for row, world in enumerate(order)}
        for name, target in self.arrays.items():
            source = frames[name].rgb
            if source is None or tuple(source.shape) != target.shape:
                shape = None if source is None else tuple(source.shape)
                raise RecordingError(f"camera {name!r}: rgb frames of shape {shape} came, {target.shape} were announced")
            if everyone:
                target[...] = host_array(source)
            else:
                np.take(host_array(source), list(order), axis=0, out=target[: len(self._rows)], mode="clip")

    def replace(self, frames: Frames, worlds: Sequence[int]) -> None:
        """Put other pictures of ``worlds`` in the place of theirs, where it holds them."""
        for name, target in self.arrays.items():
            source = host_array(frames[name].rgb)
            for world in worlds:
                if world in self._rows:
                    target[self._rows[world]] = source[world]

    def picture(self, camera: str, world: int) -> "Picture":
        """The picture of one camera in one world."""
        return Picture(self, camera, self._rows[world])


@dataclass(frozen=True, eq=False)
class Picture:
    """The picture of one camera in one world, in a buffer of the ring: retain the slot to use it later."""

    slot: FrameSlot
    camera: str
    row: int

    @property
    def rgb(self) -> NDArray[np.uint8]:
        """The pixels, uint8 (H, W, 3), a view."""
        return self.slot.arrays[self.camera][self.row]


class FrameRing:
    """A fixed number of buffers for the frames that encoders have not taken yet.

    :meth:`take` blocks while all of them are in use. So a slow encoder slows the loop down, memory stays constant and no frame
    is ever dropped.

    Args:
        sizes: (H, W) of each camera.
        num_worlds: B.
        num_slots: how many states can be under way at once.
    """

    def __init__(self, sizes: Mapping[str, tuple[int, int]], num_worlds: int, num_slots: int) -> None:
        self._num_worlds = num_worlds
        self._freed = threading.Condition()
        self._slots = [
            FrameSlot({name: np.empty((num_worlds, *size, 3), np.uint8) for name, size in sizes.items()}, self._freed)
            for _ in range(num_slots)
        ]

    @staticmethod
    def size_bytes(sizes: Mapping[str, tuple[int, int]], num_worlds: int, num_slots: int) -> int:
        """Bytes that such a ring takes."""
        return num_slots * num_worlds * sum(height * width * 3 for height, width in sizes.values())

    def take(self, frames: Frames, worlds: Sequence[int] | None = None) -> FrameSlot:
        """Wait for a free buffer and copy ``frames`` into it, those of ``worlds`` or of all. The caller releases it."""
        with self._freed:
            self._freed.wait_for(lambda: any(slot.is_free for slot in self._slots))
            slot = next(slot for slot in self._slots if slot.is_free)
            slot.retain()
        try:
            slot.fill(frames, worlds, self._num_worlds)
        except BaseException:
            slot.release()
            raise
        return slot
