"""Batched visibility and shading: every camera of N worlds in one call."""

from rollfilm.render.frames import CameraFrames, Frames
from rollfilm.render.renderer import BatchRenderer
from rollfilm.render.request import CameraRequest

__all__ = ["BatchRenderer", "CameraFrames", "CameraRequest", "Frames"]
