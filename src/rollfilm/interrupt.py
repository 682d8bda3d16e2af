"""Ctrl-C between two steps instead of in the middle of one."""

import signal
import threading
import time
from types import FrameType, TracebackType
from typing import Any, Self

__all__ = ["DeferredInterrupt"]

#: Launchers such as make hand one press of Ctrl-C on, so that it comes twice.
_ONE_PRESS_SECONDS = 0.5


class DeferredInterrupt:
    """Inside the ``with`` block the first Ctrl-C waits for :meth:`check` or the end; another one a moment later interrupts at once.

    So an episode that is cut has as many frames as states. Outside of the main thread, or where another handler is installed, nothing
    changes.
    """

    def __init__(self) -> None:
        self._requested_at: float | None = None
        self._previous: Any = None

    def check(self) -> None:
        """Raise the KeyboardInterrupt that waits, if there is one."""
        if self._requested_at is not None:
            self._requested_at = None
            raise KeyboardInterrupt

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            self._previous = signal.signal(signal.SIGINT, self._on_signal)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        if self._previous is not None:
            signal.signal(signal.SIGINT, self._previous)
            if error is None:
                self.check()

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        now = time.monotonic()
        if self._requested_at is None:
            self._requested_at = now
        elif now - self._requested_at >= _ONE_PRESS_SECONDS:
            raise KeyboardInterrupt
