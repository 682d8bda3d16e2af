"""What is seen within a pixel: its samples, grouped by the surface that they show.

Samples lie on a grid, and have a visibility buffer of that grid's size. Each surface of a pixel is shaded once, in the middle of the
samples that show it: that point lies on the surface, also where the pixel's centre does not.
"""

import warp as wp

from rollfilm.render.kernels.shade import SURFACE
from rollfilm.render.kernels.types import EMPTY_KEY, depth_key


@wp.struct
class Part:
    """The samples of a pixel that show one surface, or nothing."""

    key: wp.uint64  # the surface, as deep as the middle of the samples
    x: float  # that middle, pixels from the left edge of the picture
    y: float  # and from the upper one
    weight: float  # their part of the pixel's colour
    left: int  # samples that no part has taken yet, a bit each


def grid_side(samples: int) -> int:
    """Rows and columns of the grid of a pixel's samples."""
    return round(samples**0.5)


@wp.func
def same_surface(a: wp.uint64, b: wp.uint64):
    """Whether two keys show one surface, or both nothing. No surface has the low bits of the empty key (``MAX_TRIANGLES``)."""
    return ((a ^ b) & SURFACE) == wp.uint64(0)


@wp.func
def at_depth(key: wp.uint64, inverse_depth: float):
    """The surface of a key at another depth; nothing stays nothing."""
    return wp.where(key == EMPTY_KEY, EMPTY_KEY, depth_key(inverse_depth) | (key & SURFACE))


@wp.func
def reciprocal_depth(inverse_depth: float):
    """What is affine on the screen of a pinhole camera."""
    return inverse_depth


@wp.func
def plain_depth(inverse_depth: float):
    """What is affine on the screen of an orthographic camera."""
    return 1.0 / inverse_depth


def affine_depth(*, flat: bool):
    """The function from reciprocal depth to what is affine on the screen, and back: its mean is that of the middle."""
    return plain_depth if flat else reciprocal_depth
