"""Recording: the recorder, its pool of video encoders, one file a format."""

from rollfilm.record.batch import ResetBatch, StateBatch, StepBatch
from rollfilm.record.manifest import EnvDescription
from rollfilm.record.options import Keep, RecorderOptions
from rollfilm.record.recorder import Recorder
from rollfilm.record.sink import Episode, Outcome, Receipt, Sink, StateRow, StepRow
from rollfilm.record.video import VideoOptions, VideoWriter

__all__ = [
    "EnvDescription",
    "Episode",
    "Keep",
    "Outcome",
    "Receipt",
    "Recorder",
    "RecorderOptions",
    "ResetBatch",
    "Sink",
    "StateBatch",
    "StateRow",
    "StepBatch",
    "StepRow",
    "VideoOptions",
    "VideoWriter",
]
