"""How worlds look in an episode, drawn by lot from its seed."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rollfilm.errors import NotFoundError
from rollfilm.render.looks import WorldLooks
from rollfilm.render.randomize import LooksConfig, randomize
from rollfilm.render.request import CameraRequest
from rollfilm.scene import Camera, Scene

__all__ = ["EpisodeLooks"]


class EpisodeLooks:
    """Draws looks: those of an episode are a function of its seed alone, in whatever world it runs.

    Args:
        config: what is drawn.
        scene: whose looks they are.
        cameras: what is filmed.

    Raises:
        NotFoundError: ``config`` names what the scene does not have, or a camera that is not filmed.
        InvalidArgumentError: something is drawn twice, or would have no effect.
    """

    def __init__(self, config: LooksConfig, scene: Scene, cameras: Sequence[CameraRequest]) -> None:
        self._config, self._scene = config, scene
        self._cameras = [request.camera for request in cameras if isinstance(request.camera, Camera)]
        filmed = [request.name for request in cameras]
        for name in (name for part in config.cameras for name in part.cameras):
            if name not in filmed:
                raise NotFoundError(f"randomize draws for camera {name!r}, which is not filmed; filmed are: {', '.join(filmed)}")
        self._randomized([0])  # what is wrong is said before the first episode

    def draw(self, seeds: NDArray[np.int64], worlds: NDArray[np.bool_]) -> WorldLooks:
        """Looks of B worlds, those of the masked ones drawn from ``seeds`` (B,); rows of the others mean nothing."""
        place = np.zeros(len(seeds), np.int64)
        place[worlds] = np.arange(np.count_nonzero(worlds))
        return self._randomized(seeds[worlds].tolist()).worlds(place)

    def _randomized(self, seeds: Sequence[int]) -> WorldLooks:
        return randomize(self._config, self._scene, seeds, cameras=self._cameras)
