"""Triangle meshes with their levels of detail."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Mesh", "MeshLevel"]


@dataclass(frozen=True, eq=False)
class MeshLevel:
    """One level of detail of a mesh, in the mesh's own frame, metres. Triangles wind counter-clockwise seen from outside.

    Attributes:
        vertices: float32 (V, 3).
        normals: float32 (V, 3), unit length; vertices on a crease are there once for each side of it.
        triangles: int32 (T, 3), in an order that keeps neighbours together, so that runs of 64 make compact clusters.
        error_m: how far the surface lies from the original one, as measured; 0 where it is the original itself. The original of a
            curved primitive is its exact shape.
        uvs: float32 (V, 2) texture coordinates, v up from the image's last row, or None.
    """

    vertices: NDArray[np.float32]
    normals: NDArray[np.float32]
    triangles: NDArray[np.int32]
    error_m: float
    uvs: NDArray[np.float32] | None = None


@dataclass(frozen=True, eq=False)
class Mesh:
    """A mesh as its levels of detail, the finest first, errors growing strictly.

    Attributes:
        name: for messages.
        levels: at least one.
        center: float32 (3,), the centre of a sphere around every level.
        radius: of that sphere, metres.
    """

    name: str
    levels: tuple[MeshLevel, ...]
    center: NDArray[np.float32]
    radius: float
