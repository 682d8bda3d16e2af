"""How many threads are worth starting."""

import os

__all__ = ["available_cores"]


def available_cores() -> int:
    """The cores that this process may use: those of its CPU affinity where the system knows one (sched_getaffinity(2)), else all."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
