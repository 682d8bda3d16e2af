"""Which worlds and cameras a call of the renderer films."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import warp as wp

from rollfilm.errors import InvalidArgumentError
from rollfilm.render.kernels.active import stamp, take_indices, take_mask

__all__ = ["Schedule"]


class Schedule:
    """Chooses what is filmed, and knows of which state every picture is.

    Args:
        num_worlds: B.
        every: for each camera, on which calls it is filmed: every n-th, the first among them.
        device: where the renderer renders.
    """

    def __init__(self, num_worlds: int, every: Sequence[int], device: wp.Device) -> None:
        self._every = tuple(every)
        self._device = device
        self._calls = 0
        self._all = True
        self._flags: dict[tuple[bool, ...], wp.array] = {}
        #: For each world whether it is filmed, int32 (B,).
        self.active = wp.full(num_worlds, 1, dtype=int, device=device)
        #: The state that each camera's picture of each world shows, int64 (cameras, B), -1 before the first.
        self.states = wp.full((len(self._every), num_worlds), -1, dtype=wp.int64, device=device)
        #: The state in which each camera was filmed last, -1 before.
        self.last_state = [-1] * len(self._every)

    def next_cameras(self) -> tuple[bool, ...]:
        """Which cameras the next call films."""
        return tuple(self._calls % every == 0 for every in self._every)

    def flags(self, cameras: tuple[bool, ...]) -> wp.array:
        """The same on the device, int32 (cameras,)."""
        if cameras not in self._flags:
            self._flags[cameras] = wp.array(np.array(cameras, np.int32), dtype=int, device=self._device)
        return self._flags[cameras]

    def choose_worlds(self, worlds: Any) -> None:
        """Film these worlds in the next call.

        Args:
            worlds: None for all; bool (B,), or integer indices (n,), in NumPy, a list, or an array of the renderer's device.

        Raises:
            InvalidArgumentError: another shape or type, or on the host an index that is no world.
        """
        if worlds is None:
            if not self._all:
                self.active.fill_(1)
            self._all = True
            return
        if isinstance(worlds, wp.array) or (self._device.is_cuda and hasattr(worlds, "__dlpack__") and not isinstance(worlds, np.ndarray)):
            self._choose_on_device(worlds if isinstance(worlds, wp.array) else wp.from_dlpack(_as_bytes(worlds)))
        else:
            self.active.assign(self._host_mask(worlds))
        self._all = False

    def note(self, cameras: tuple[bool, ...], state_count: int) -> None:
        """What was chosen has been filmed in this state."""
        wp.launch(
            stamp,
            dim=self.states.shape,
            inputs=[self.active, self.flags(cameras), state_count, self.states],
            device=self._device,
        )
        self.last_state = [state_count if filmed else last for filmed, last in zip(cameras, self.last_state, strict=True)]
        self._calls += 1

    def _host_mask(self, worlds: Any) -> np.ndarray:
        num_worlds = self.active.shape[0]
        try:
            chosen = np.asarray(worlds)
        except ValueError:
            raise InvalidArgumentError(
                f"worlds came in rows of different lengths; give a bool mask ({num_worlds},), or indices of worlds in one dimension"
            ) from None
        if chosen.dtype == np.bool_ and chosen.shape == (num_worlds,):
            return chosen.astype(np.int32)
        if chosen.ndim != 1 or (chosen.dtype.kind not in "iu" and chosen.size > 0):
            raise InvalidArgumentError(
                f"worlds came as {chosen.dtype} {chosen.shape}; give a bool mask ({num_worlds},), or indices of worlds in one dimension"
            )
        indices = chosen.astype(np.int64)
        if ((indices < 0) | (indices >= num_worlds)).any():
            wrong = indices[(indices < 0) | (indices >= num_worlds)][0]
            raise InvalidArgumentError(f"worlds holds {wrong}; there are worlds 0 to {num_worlds - 1}")
        mask = np.zeros(num_worlds, np.int32)
        mask[indices] = 1
        return mask

    def _choose_on_device(self, chosen: wp.array) -> None:
        if chosen.device != self._device:
            raise InvalidArgumentError(f"worlds is on {chosen.device}, the renderer on {self._device}; give it on that device, or as NumPy")
        if chosen.dtype in (wp.bool, wp.uint8) and chosen.shape == self.active.shape:
            mask = chosen if chosen.dtype is wp.uint8 else chosen.view(wp.uint8)
            wp.launch(take_mask, dim=self.active.shape, inputs=[mask, self.active], device=self._device)
        elif chosen.dtype is wp.int64 and chosen.ndim == 1:
            self.active.zero_()
            if chosen.shape[0]:
                wp.launch(take_indices, dim=chosen.shape, inputs=[chosen, self.active], device=self._device)
        else:
            raise InvalidArgumentError(
                f"worlds came as {chosen.dtype.__name__} {chosen.shape}; on a device give a bool mask {self.active.shape}, or int64 indices"
            )


def _as_bytes(worlds: Any) -> Any:
    """A mask of torch's as bytes, which every DLPack knows."""
    return worlds.byte() if str(getattr(worlds, "dtype", "")) == "torch.bool" else worlds
