"""Batched visibility and shading: every camera of N worlds in one call."""

from typing import TYPE_CHECKING, Any

from rollfilm.render.frames import CameraFrames, CameraMatrices, Frames
from rollfilm.render.looks import NamedValues, WorldLooks
from rollfilm.render.options import RenderOptions
from rollfilm.render.randomize import CameraRange, GeomRange, HeadlightRange, LightRange, LooksConfig, randomize
from rollfilm.render.request import CameraRequest

if TYPE_CHECKING:
    from rollfilm.render.budget import MemoryPlan
    from rollfilm.render.renderer import BatchRenderer

__all__ = [
    "BatchRenderer",
    "CameraFrames",
    "CameraMatrices",
    "CameraRange",
    "CameraRequest",
    "Frames",
    "GeomRange",
    "HeadlightRange",
    "LightRange",
    "LooksConfig",
    "MemoryPlan",
    "NamedValues",
    "RenderOptions",
    "WorldLooks",
    "randomize",
]


def __getattr__(name: str) -> Any:
    # Warp takes most of a second to load: whoever only names cameras or reads a recording does without it.
    if name == "BatchRenderer":
        from rollfilm.render.renderer import BatchRenderer

        return BatchRenderer
    if name == "MemoryPlan":
        from rollfilm.render.budget import MemoryPlan

        return MemoryPlan
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
