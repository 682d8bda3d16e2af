"""A video for each episode and camera."""

from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rollfilm.record.layout import Layout
from rollfilm.record.pool import EncoderPool, PooledVideo
from rollfilm.record.ring import Picture
from rollfilm.record.sinks.per_camera import PerCameraSink, make_folder
from rollfilm.record.video import VideoOptions

__all__ = ["VideoSink"]


class VideoSink(PerCameraSink):
    """Writes ``videos/<camera>/episode_<index>.mp4``: the frame of the reset first, the terminal one last, T + 1 in all.

    Args:
        layout: where the files go.
        pool: who encodes.
        sizes: (H, W) of each camera.
        fps: frames a second when played.
        options: how to encode.
        posters: write the last frame of each video that stays as a small JPEG.
    """

    def __init__(
        self,
        layout: Layout,
        pool: EncoderPool,
        sizes: Mapping[str, tuple[int, int]],
        fps: Fraction,
        options: VideoOptions,
        *,
        posters: bool = True,
    ) -> None:
        super().__init__(layout, sizes, "videos")
        self._posters = posters
        for camera in sizes if posters else ():
            make_folder(layout.poster(camera, 0).parent)
        self._pool = pool
        self._sizes = sizes
        self._fps = fps
        self._options = options
        self._lossless = options.encoder.lossless

    def _path(self, camera: str, episode: int) -> Path:
        return self._layout.video(camera, episode)

    def _begin(self, camera: str, episode: int) -> PooledVideo:
        poster = self._layout.poster(camera, episode) if self._posters else None
        return self._pool.open(self._path(camera, episode), self._sizes[camera], self._fps, self._options, poster=poster)

    def _content(self, camera: str, picture: Picture) -> NDArray[np.uint8]:
        return picture.rgb if self._lossless else picture.pixels
