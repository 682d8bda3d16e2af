"""Checking recordings: each format has a file of its own, and all of them name the file, the episode and the frame of a fault."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rollfilm.record.verify.faults import Fault
    from rollfilm.record.verify.run import Verdict, VerifyOptions, verify

__all__ = ["Fault", "Verdict", "VerifyOptions", "verify"]

_HOME = {"faults": ("Fault",), "run": ("Verdict", "VerifyOptions", "verify")}


def __getattr__(name: str) -> Any:
    for module, names in _HOME.items():
        if name in names:
            return getattr(import_module(f"rollfilm.record.verify.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
