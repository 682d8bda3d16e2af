"""Texture coordinates of boxes, spheres, cylinders and capsules, as MuJoCo 4.0 lays textures on them.

After the display lists of ``makeBuiltin`` in MuJoCo's render_context.c; there t counts from the image's first row, here v from its last.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rollfilm.scene.corners import index_corners
from rollfilm.scene.mesh import Mesh

__all__ = ["Mapping", "box_uvs", "capsule_uvs", "cylinder_uvs", "sphere_uvs", "with_uvs"]

#: From corners (T, 3, 3) in units of the shape's size, and their normals (T, 3, 3), to texture coordinates (T, 3, 2).
Mapping = Callable[[NDArray, NDArray], NDArray]


def with_uvs(mesh: Mesh, size: ArrayLike, mapping: Mapping) -> Mesh:
    """The mesh with texture coordinates on all its levels; ``size`` (3,) is what it is scaled by."""
    levels = []
    for level in mesh.levels:
        normals = level.normals[level.triangles]
        uvs = mapping(level.vertices[level.triangles] / np.asarray(size), normals)
        vertices, vertex_normals, triangles, vertex_uvs = index_corners(level.vertices, level.triangles, normals, uvs)
        levels.append(replace(level, vertices=vertices, normals=vertex_normals, triangles=triangles, uvs=vertex_uvs))
    return replace(mesh, levels=tuple(levels))


def box_uvs(corners: NDArray, normals: NDArray) -> NDArray:
    """Each face holds the whole image, along its two axes in the order x, y, z."""
    face = np.argmax(np.abs(normals[:, 0]), axis=1)
    axes = np.array([[1, 2], [0, 2], [0, 1]])[face]
    return 0.5 * (1.0 + np.take_along_axis(corners, np.repeat(axes[:, None], 3, axis=1), axis=2))


def sphere_uvs(corners: NDArray, normals: NDArray) -> NDArray:
    """Longitude and latitude; the seam is at +x."""
    return np.stack([_longitude(corners), 0.5 + _latitude(corners) / np.pi], axis=-1)


def cylinder_uvs(corners: NDArray, normals: NDArray) -> NDArray:
    """The image once around the side, and once on each cap, upside down."""
    side = np.stack([_longitude(corners), 0.5 + 0.5 * corners[..., 2]], axis=-1)
    cap = 0.5 + 0.5 * corners[..., :2] * np.array([1.0, -1.0])
    return np.where(np.abs(normals[:, :1, 2:]) > 0.5, cap, side)


def capsule_uvs(stretch: float) -> Mapping:
    """The image once around the side and once on each half sphere; ``stretch`` is half the length over the radius."""

    def mapping(corners: NDArray, normals: NDArray) -> NDArray:
        middle = corners[..., 2].mean(axis=1, keepdims=True)
        from_end = corners - np.sign(middle)[..., None] * np.array([0.0, 0.0, stretch])
        elevation = np.where(middle > 0, _latitude(from_end), 0.5 * np.pi + _latitude(from_end)) / (0.5 * np.pi)
        side = np.abs(middle) < stretch
        return np.stack([_longitude(corners), np.where(side, 0.5 + 0.5 * corners[..., 2] / stretch, elevation)], axis=-1)

    return mapping


def _latitude(corners: NDArray) -> NDArray:
    return np.arctan2(corners[..., 2], np.hypot(corners[..., 0], corners[..., 1]))


def _longitude(corners: NDArray) -> NDArray:
    """Turns around z, continuous within each triangle; a pole has the longitude of its triangle's middle."""
    middle = corners.mean(axis=1, keepdims=True)
    base = np.arctan2(middle[..., 1], middle[..., 0]) / (2.0 * np.pi) % 1.0
    turn = np.arctan2(corners[..., 1], corners[..., 0]) / (2.0 * np.pi)
    pole = np.hypot(corners[..., 0], corners[..., 1]) < 1e-6
    return base + np.where(pole, 0.0, (turn - base + 0.5) % 1.0 - 0.5)
