"""Being told to stop: by Ctrl-C, by ``kill``, by a terminal that is closed."""

import signal
import threading
from types import FrameType, TracebackType
from typing import Any, Self

__all__ = ["EXIT_INTERRUPTED", "StopSignals"]

#: 128 and the number of the signal, as shells have it.
EXIT_INTERRUPTED = 128 + signal.SIGINT

_LIKE_CTRL_C = ("SIGTERM", "SIGHUP")


class StopSignals:
    """Inside the ``with`` block a signal to end or to hang up does what Ctrl-C does, so that files are closed.

    Signals that are ignored (``nohup``) or that someone else handles are left alone, and so is every thread but the main one.

    Attributes:
        exit_code: of the process after the last such signal; that of Ctrl-C if there was none.
    """

    def __init__(self) -> None:
        self.exit_code = EXIT_INTERRUPTED
        self._previous: dict[int, Any] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in (getattr(signal, name, None) for name in _LIKE_CTRL_C):
                if number is not None and signal.getsignal(number) is signal.SIG_DFL:
                    self._previous[number] = signal.signal(number, self._on_signal)
        return self

    def ignore_from_now_on(self) -> None:
        """Let no further signal to stop have any effect, also after the ``with`` block: for a process that is about to end."""
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, *self._previous):
                signal.signal(number, signal.SIG_IGN)
            self._previous = {}

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self.exit_code = 128 + number
        signal.raise_signal(signal.SIGINT)
