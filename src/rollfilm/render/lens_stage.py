"""Views of bent lenses on the CPU: their faces rasterised, then every pixel shaded."""

from dataclasses import dataclass

import numpy as np
import warp as wp

from rollfilm.render.batch import CameraBatch
from rollfilm.render.kernels.lens import lens_kernel, raster_faces
from rollfilm.render.kernels.raster_many import STEP, WAITING
from rollfilm.render.kernels.shade_row import ROW_CHUNK
from rollfilm.render.kernels.types import EMPTY_KEY, SceneData, WorldData

__all__ = ["LensStage"]


@dataclass(frozen=True, eq=False)
class LensStage:
    """What one thread needs to film views of a bent lens."""

    visibility: wp.array
    touched: wp.array
    triangles: wp.array
    raster: wp.Launch
    shade: wp.Launch

    @classmethod
    def build(cls, batch: CameraBatch, scene: SceneData, world: WorldData) -> "LensStage":  # pyright: ignore[reportInvalidTypeForm]
        """Allocate the faces' visibility buffer, and record both launches."""
        faces = batch.faces
        assert faces is not None
        empty = np.full((batch.num_faces, faces.height * faces.width + STEP), int(EMPTY_KEY), np.uint64)
        visibility = wp.array(empty, dtype=wp.uint64, device="cpu", copy=False)
        touched = wp.zeros(faces.height * -(-faces.width // int(ROW_CHUNK)), dtype=wp.uint8, device="cpu")
        triangles = wp.zeros(WAITING, dtype=float, device="cpu")
        inputs = [0, batch.num_faces, scene, world, faces, visibility, touched, triangles]
        raster = wp.launch(raster_faces, dim=1, inputs=inputs, device="cpu", record_cmd=True)
        shade = wp.launch(
            lens_kernel(batch.features, hardware=False),
            dim=(1, batch.views.height * batch.views.width),
            inputs=[0, 1, scene, world, batch.views, visibility, batch.pictures],
            device="cpu",
            record_cmd=True,
        )
        return cls(visibility, touched, triangles, raster, shade)

    def film(self, view: int) -> None:
        """Film one view; the visibility buffer comes and goes empty."""
        for launch in (self.raster, self.shade):
            launch.set_param_at_index(0, view)
            launch.launch()
        self.visibility.numpy().fill(int(EMPTY_KEY))
