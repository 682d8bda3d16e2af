"""How a slack string hangs between its ends: along a catenary."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["hung"]

#: Ends right above one another are taken for as far apart as this part of the string's length: then it is a narrow loop.
_LEAST_SPAN = 1e-6


def hung(ends: ArrayLike, down: ArrayLike, length: float, count: int) -> NDArray[np.float64]:
    """Points along a string, evenly spaced; the reference for the kernel ``hang_points``.

    The string lies on ``y = a cosh(x / a)``; its ends are ``s = sqrt(length^2 - drop^2)`` apart in ``2 a sinh(span / 2 a) = s``, and its
    lowest point follows from their difference in height (E. H. Lockwood, A Book of Curves, chapter 13).

    Args:
        ends: (2, 3), metres.
        down: (3,), where gravity pulls, of length 1.
        length: metres; a string that is no longer than its ends are apart is straight.
        count: how many points, the ends among them.

    Returns:
        (count, 3)
    """
    first, last = np.asarray(ends, np.float64)
    down = np.asarray(down, np.float64)
    share = np.linspace(0.0, 1.0, count)[:, None]
    between = last - first
    if length <= np.linalg.norm(between):
        return first + share * between
    drop = float(between @ down)
    level = between - drop * down
    span = max(float(np.linalg.norm(level)), _LEAST_SPAN * length)
    reach = np.sqrt(length**2 - drop**2)
    u = _half_span(reach / span)
    a = 0.5 * span / u
    before = u + np.arcsinh(drop / reach)  # from the first end to the lowest point, in units of a
    along = share * length / a - np.sinh(before)
    x, fall = a * (np.arcsinh(along) + before), a * (np.cosh(before) - np.sqrt(1.0 + along**2))
    points = first + x / span * level + fall * down
    points[[0, -1]] = first, last
    return points


def _half_span(ratio: float) -> float:
    """Where ``sinh(u) / u`` is ``ratio``, above 1: Newton's steps on the logarithm of that, from a guess that is right at both ends."""
    u = np.sqrt(6.0 * (ratio - 1.0)) if ratio < 3.0 else np.log(2.0 * ratio) + np.log(np.log(2.0 * ratio))
    for _ in range(8):
        slope = 1.0 / np.tanh(u) - 1.0 / u
        u -= (np.log(np.sinh(u) / u) - np.log(ratio)) / max(slope, 1e-12)
    return float(u)
