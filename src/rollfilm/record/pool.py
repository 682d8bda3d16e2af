"""A pool of threads that encode many videos at once."""

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from fractions import Fraction
from pathlib import Path
from typing import Any, Protocol

from rollfilm.cores import available_cores
from rollfilm.errors import RecordingError, RollfilmError
from rollfilm.record.ring import FrameSlot
from rollfilm.record.video import VideoOptions, VideoWriter

__all__ = ["EncoderPool", "FrameWriter", "PooledVideo"]


class FrameWriter(Protocol):
    """Writes one file, frame by frame.

    Attributes:
        path: of the finished file; it may be changed until then.
    """

    path: Path

    def write(self, pixels: Any, /, *, last: bool) -> None:
        """Append a frame; the last one, as far as is known."""
        ...

    def close(self) -> None:
        """Finish the file; where that fails, nothing is left of it."""
        ...

    def abort(self) -> None:
        """Throw away what was written. Raises nothing."""
        ...


class PooledVideo:
    """One file in the making, a video or another one: all of its work is done by one thread of the pool, in order."""

    def __init__(self, worker: "_Worker", open_writer: Callable[[], FrameWriter], num_pixels: int) -> None:
        self.frames_submitted = 0
        self._worker = worker
        self._open_writer = open_writer
        self._num_pixels = num_pixels
        self._writer: FrameWriter | None = None
        self._error: RollfilmError | None = None
        worker.open_pixels += num_pixels

    def write(self, slot: FrameSlot, picture: Callable[[], Any], *, last: bool = False) -> None:
        """Encode one picture, made by ``picture`` in the thread: pixels for a video. The slot is retained until that is done.

        Args:
            slot: what the picture lies in.
            picture: makes it.
            last: as far as is known, none follows.
        """
        slot.retain()
        self.frames_submitted += 1
        self._worker.tasks.put(lambda: self._encode(slot, picture, last))

    def finish(self, path: Path | None = None) -> Future[None]:
        """No picture follows: the file gets its name, or that of ``path``. The future tells when, or what went wrong."""
        return self._end(lambda: self._finish(path))

    def discard(self) -> Future[None]:
        """Throw the video away."""
        return self._end(self._discard)

    def _end(self, work: Callable[[], None]) -> Future[None]:
        future: Future[None] = Future()

        def run() -> None:
            try:
                work()
            except Exception as error:
                future.set_exception(error)
            else:
                future.set_result(None)

        self._worker.open_pixels -= self._num_pixels
        self._worker.tasks.put(run)
        return future

    def _encode(self, slot: FrameSlot, picture: Callable[[], Any], last: bool) -> None:
        try:
            if self._error is None:
                if self._writer is None:
                    self._writer = self._open_writer()
                self._writer.write(picture(), last=last)
        except Exception as error:
            self._error = error if isinstance(error, RollfilmError) else RecordingError(f"an encoder failed: {error!r}")
            self._worker.errors.put(self._error)
            self._discard()
        finally:
            slot.release()

    def _finish(self, path: Path | None) -> None:
        if self._error is not None:
            raise self._error
        if self._writer is not None:
            self._writer.path = path or self._writer.path
            try:
                self._writer.close()
            except RollfilmError as error:
                self._worker.errors.put(error)
                raise

    def _discard(self) -> None:
        if self._writer is not None:
            self._writer.abort()
            self._writer = None


class _Worker(threading.Thread):
    """One thread. Its queue is bounded by the ring of frames, whose buffers every task but the ends of videos holds."""

    def __init__(self, name: str, errors: "queue.SimpleQueue[RollfilmError]") -> None:
        super().__init__(name=name, daemon=True)
        self.tasks: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self.errors = errors
        self.open_pixels = 0

    def run(self) -> None:
        while (task := self.tasks.get()) is not None:
            task()


class EncoderPool:
    """Threads that encode videos; PyAV releases the interpreter lock while it encodes.

    An error ends the video that it hit and no other. It comes out of :meth:`raise_error` in the loop.

    Args:
        num_threads: None for one a core that this process may use.
    """

    def __init__(self, num_threads: int | None = None) -> None:
        self._errors: queue.SimpleQueue[RollfilmError] = queue.SimpleQueue()
        count = num_threads or available_cores()
        self._workers = [_Worker(f"rollfilm-encoder-{index}", self._errors) for index in range(count)]
        for worker in self._workers:
            worker.start()

    def open(self, path: Path, size: tuple[int, int], fps: Fraction, options: VideoOptions, *, poster: Path | None = None) -> PooledVideo:
        """Begin a video of pictures of size (H, W), in the thread that has the fewest pixels to encode."""
        return self.open_with(lambda: VideoWriter(path, *size, fps, options, poster=poster), size[0] * size[1])

    def open_with(self, open_writer: Callable[[], FrameWriter], num_pixels: int) -> PooledVideo:
        """Begin a file of pictures of ``num_pixels`` each, in the thread that has the fewest to encode; there it is opened, too."""
        worker = min(self._workers, key=lambda candidate: candidate.open_pixels)
        return PooledVideo(worker, open_writer, num_pixels)

    def raise_error(self) -> None:
        """Raise what went wrong in a thread, each error once.

        Raises:
            RecordingError: a video cannot be written; the message names its file.
        """
        if not self._errors.empty():
            raise self._errors.get()

    def close(self) -> None:
        """Wait for all that is under way and end the threads."""
        for worker in self._workers:
            worker.tasks.put(None)
        for worker in self._workers:
            worker.join()
