"""Devices by name, resolved once; no global default is read or changed."""

from typing import Any

import warp as wp

from rollfilm.errors import DeviceError

__all__ = ["resolve_device"]


def resolve_device(name: Any) -> wp.Device:
    """The Warp device called ``name``: ``"cpu"``, ``"cuda"`` (the first GPU) or ``"cuda:N"``.

    Raises:
        DeviceError: the machine has no such device; the message lists those it has.
    """
    name = str(name)  # also a device of Warp's or of torch's
    if name == "cuda":
        name = "cuda:0"
    known = {device.alias: device for device in wp.get_devices()}
    if name not in known:
        raise DeviceError(f"device {name!r} was asked for; this machine has {', '.join(sorted(known))}; take one of those")
    return known[name]
