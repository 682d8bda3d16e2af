"""Loading the kernels that make levels of detail, on the CPU. Warp is imported no sooner: a scene from the cache needs none of it."""

import threading
from collections.abc import Callable
from typing import TypeVar

__all__ = ["compile_beside", "load_kernels"]

#: Meshes are simplified in threads: one compiles the kernels, the others wait.
_loading = threading.Lock()

_Started = TypeVar("_Started")


def load_kernels() -> None:
    """Load the kernels, and compile them if need be; threads that come meanwhile wait for that."""
    with _loading:
        _load()


def compile_beside(start: Callable[[], _Started]) -> _Started:
    """Set other threads to work, and load the kernels in this one meanwhile: they wait for them where they need them.

    The thread that compiles them is one that will compile others: it has read Warp's headers then (``rollfilm.cpu_flags``).
    """
    with _loading:
        started = start()
        _load()
    return started


def _load() -> None:
    import warp as wp

    from rollfilm.scene.kernels.ring import ring_distance
    from rollfilm.scene.kernels.settle import settle

    for kernel in (settle, ring_distance):
        wp.load_module(kernel.module, device="cpu")
