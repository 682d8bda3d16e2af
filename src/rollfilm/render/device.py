"""Devices by name, resolved once; no global default is read or changed."""

import os

import warp as wp

from rollfilm.errors import DeviceError

__all__ = ["cpu_threads", "resolve_device"]


def resolve_device(name: str) -> wp.Device:
    """The Warp device called ``name``: ``"cpu"``, ``"cuda"`` (the first GPU) or ``"cuda:N"``.

    Raises:
        DeviceError: the machine has no such device; the message lists those it has.
    """
    if name == "cuda":
        name = "cuda:0"
    known = {device.alias: device for device in wp.get_devices()}
    if name not in known:
        raise DeviceError(f"device {name!r} was asked for; this machine has {', '.join(sorted(known))}; take one of those")
    return known[name]


def cpu_threads() -> int:
    """How many threads render on the CPU: the cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
