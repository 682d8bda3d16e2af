"""Recording: the recorder, its pool of video encoders, one file a format."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rollfilm.record.batch import FinalBatch, ResetBatch, StateBatch, StepBatch
    from rollfilm.record.manifest import EnvDescription
    from rollfilm.record.options import Keep, RecorderOptions
    from rollfilm.record.reading import EpisodeRows, Recording
    from rollfilm.record.recorder import Recorder
    from rollfilm.record.sink import Episode, Outcome, Receipt, Sink, StateRow, StepRow
    from rollfilm.record.video import VideoOptions, VideoWriter
    from rollfilm.record.video_reader import VideoReader

__all__ = [
    "EnvDescription",
    "Episode",
    "EpisodeRows",
    "FinalBatch",
    "Keep",
    "Outcome",
    "Receipt",
    "Recorder",
    "RecorderOptions",
    "Recording",
    "ResetBatch",
    "Sink",
    "StateBatch",
    "StateRow",
    "StepBatch",
    "StepRow",
    "VideoOptions",
    "VideoReader",
    "VideoWriter",
]

# PyAV and h5py take a while to load, and files of this folder are of use without them.
_HOME = {
    "batch": ("FinalBatch", "ResetBatch", "StateBatch", "StepBatch"),
    "manifest": ("EnvDescription",),
    "options": ("Keep", "RecorderOptions"),
    "reading": ("EpisodeRows", "Recording"),
    "recorder": ("Recorder",),
    "sink": ("Episode", "Outcome", "Receipt", "Sink", "StateRow", "StepRow"),
    "video": ("VideoOptions", "VideoWriter"),
    "video_reader": ("VideoReader",),
}


def __getattr__(name: str) -> Any:
    for module, names in _HOME.items():
        if name in names:
            return getattr(import_module(f"rollfilm.record.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
