"""Which edges of a mesh may collapse: the host side of the kernel that checks them, on the CPU."""

import numpy as np
from numpy.typing import NDArray

from rollfilm.scene.loading import load_kernels

__all__ = ["Rows", "settled"]

#: Lists of things: where each starts, with an end after the last, and the things, list after list.
Rows = tuple[NDArray[np.int32], NDArray[np.int32]]


def settled(
    mesh: tuple[NDArray, NDArray, NDArray], ends: NDArray, faces: Rows, watches: Rows, limit: float, place: NDArray, good: NDArray
) -> NDArray[np.int32]:
    """Check edges that do not touch each other's triangles.

    Args:
        mesh: vertices (V, 3), triangles (T, 3) and witnesses (W, 3), what must stay near the surface.
        ends: (E, 2), vertices of the edges.
        faces: the triangles at either end of each edge.
        watches: the witnesses that are nearest to these triangles.
        limit: how far witnesses and surface may lie apart.
        place: (E, 3) float64, the best place of each edge's one vertex; changed to the one that was taken, which may be an end.
        good: (E,), the edges to be tried; changed to those that may collapse.

    Returns:
        For each witness (W,) of an edge that may collapse the nearest of the triangles that will be left; of others, anything.
    """
    load_kernels()
    import warp as wp

    from rollfilm.scene.kernels.settle import Around, settle

    points, triangles, witness = mesh
    around, kept = Around(), []

    def shared(array: NDArray, dtype: type) -> wp.array:
        kept.append(np.ascontiguousarray(array))
        return wp.array(kept[-1], dtype=dtype, device="cpu", copy=False)

    around.points, around.witness = shared(points, wp.vec3d), shared(witness, wp.vec3d)
    around.triangles = shared(triangles.astype(np.int32), wp.int32)
    around.face_start, around.faces = (shared(part, wp.int32) for part in faces)
    around.watch_start, around.watches = (shared(part, wp.int32) for part in watches)
    found = np.zeros(len(witness), np.int32)
    wp.launch(
        settle,
        dim=len(ends),
        inputs=[around, shared(ends.astype(np.int32), wp.int32), float(limit) ** 2],
        outputs=[shared(place, wp.vec3d), shared(good, wp.bool), shared(found, wp.int32)],
        device="cpu",
    )
    return found
