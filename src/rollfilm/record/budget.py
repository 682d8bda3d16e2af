"""How much memory a recording takes."""

from collections.abc import Sequence

from rollfilm.record.buffers import camera_buffers, stored_outputs
from rollfilm.record.options import RecorderOptions
from rollfilm.record.ring import FrameRing
from rollfilm.render.request import CameraRequest

__all__ = ["recording_bytes"]


def recording_bytes(cameras: Sequence[CameraRequest], num_worlds: int, options: RecorderOptions) -> int:
    """About how much memory a recording takes: buffers of frames and encoders.

    Raises:
        InvalidArgumentError: the cameras cannot be recorded so.
    """
    buffers = camera_buffers(cameras, options.video, outputs=stored_outputs(cameras, options.outputs))
    for_itself, for_a_pixel = options.video.encoder.memory
    encoders = num_worlds * sum(for_itself + for_a_pixel * camera.height * camera.width for camera in cameras)
    return FrameRing.size_bytes(buffers, num_worlds, options.buffered_steps) + encoders
