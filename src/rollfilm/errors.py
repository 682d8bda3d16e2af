"""Every error that rollfilm raises on purpose: each is a :class:`RollfilmError` and the builtin that fits it.

A message says what came, what is allowed and what to do. The command line prints it in one line and exits with 2.
"""

__all__ = [
    "DeviceError",
    "InvalidArgumentError",
    "MemoryBudgetError",
    "MissingExtraError",
    "ModelError",
    "NotFoundError",
    "RecordingError",
    "RecordingExistsError",
    "RobotNotFoundError",
    "RollfilmError",
    "StaleFramesError",
]


class RollfilmError(Exception):
    """The base of all errors that rollfilm raises on purpose."""


class InvalidArgumentError(RollfilmError, ValueError):
    """An argument has a wrong value, shape, dtype or device."""


class NotFoundError(RollfilmError, LookupError):
    """A name (camera, task, geom, option) is unknown. The message lists the known ones."""


class ModelError(RollfilmError, ValueError):
    """A model is missing, is not what it claims to be, or does not compile."""


class RobotNotFoundError(ModelError, FileNotFoundError):
    """No folder, package or variable leads to the model of a robot."""


class MissingExtraError(RollfilmError, ImportError):
    """An optional package is not installed. The message names the extra to install."""


class DeviceError(RollfilmError, RuntimeError):
    """A device was asked for that this machine does not have."""


class MemoryBudgetError(RollfilmError, MemoryError):
    """More memory was asked for than there is. The message says how much was asked for and how much there is."""


class StaleFramesError(RollfilmError, RuntimeError):
    """Frames were handed on that show another state than the one they were said to show."""


class RecordingError(RollfilmError, OSError):
    """A recording cannot be written or read."""


class RecordingExistsError(RecordingError, FileExistsError):
    """The output folder already holds a recording."""
