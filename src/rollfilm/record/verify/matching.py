"""Which frame is which: decoded pictures against what they should be.

Pictures are rows of the same pixels. A codec's error is small and without direction, the difference of two frames is not: where it is
clear, the decoded pixels are near one of the two. Frames that hardly differ cannot be told apart, and are not.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Shown", "Tolerance", "gap", "what_is_shown"]

#: How much of a clear difference must be there: twenty times the square of the least one.
_LEAST_PROOF = 20.0
#: From here on, from 0 for its own frame to 1 for the other one, a decoded picture is taken for the other one.
_NEARER = 0.75

#: What a codec makes of pictures full of noise, in parts of their standard deviation.
_ERROR_OF_NOISE, _BIAS_OF_NOISE = 0.25, 0.06

_BLOCK = 1024


@dataclass(frozen=True)
class Tolerance:
    """What a codec may make of a picture.

    Attributes:
        least_clear: differences of luma below this are taken for the codec's.
        most_error: root of the mean square error of luma, at most.
        most_bias: of the mean error of luma, which a codec leaves near zero, at most.
    """

    least_clear: float
    most_error: float
    most_bias: float

    @classmethod
    def of_crf(cls, crf: float | None) -> "Tolerance":
        """For a quality from 0 to 51, x264's; None for one that is not known.

        Measured with pick-cube at 256x256 and 128x128, ultrafast and veryfast: from crf 20 to 51 no frame is taken for another one.
        """
        quality = 30.0 if crf is None else float(crf)
        coarse = max(0.0, quality - 20.0)
        return cls(max(6.0, 2.0 * (quality - 17.0)), 8.0 + 0.6 * coarse, 3.0 + 0.2 * coarse)


@dataclass(frozen=True)
class Shown:
    """A frame that does not show what it should.

    Attributes:
        frame: which one.
        instead: the frame that it shows; None for none of them.
    """

    frame: int
    instead: int | None


def what_is_shown(decoded: NDArray[np.uint8], expected: NDArray[np.uint8], tolerance: Tolerance) -> list[Shown]:
    """The frames that do not show what they should.

    Args:
        decoded: (N, ...), as many frames as are ``expected``.
        expected: (N, ...), what they should show.
        tolerance: of the codec.
    """
    seen, should = _rows(decoded), _rows(expected)
    if not len(seen):
        return []
    contrast = should.std(1)
    misfit = np.square(seen - should).mean(1) > np.maximum(tolerance.most_error, _ERROR_OF_NOISE * contrast) ** 2
    misfit |= np.abs((seen - should).mean(1)) > np.maximum(tolerance.most_bias, _BIAS_OF_NOISE * contrast)
    best = _nearest(seen, should)
    noise = float(np.sqrt(np.median(np.square(seen - should[best]).mean(1))))
    least = max(tolerance.least_clear, 4 * min(noise, 8.0))
    wrong = []
    for frame in range(len(seen)):
        other = int(best[frame])
        if other != frame and _is_nearer(seen[frame], should[frame], should[other], least):
            fits = np.square(seen[frame] - should[other]).mean() <= tolerance.most_error**2
            wrong.append(Shown(frame, other if fits else None))
        elif misfit[frame]:
            wrong.append(Shown(frame, None))
    return wrong


def gap(decoded: NDArray[np.uint8], expected: NDArray[np.uint8]) -> int:
    """Where frames are missing (fewer are ``decoded`` than ``expected``) or too many: the first of them."""
    seen, should = _rows(decoded), _rows(expected)
    shorter, longer = sorted((seen, should), key=len)
    before = np.square(shorter - longer[: len(shorter)]).sum(1)
    after = np.square(shorter - longer[len(longer) - len(shorter) :]).sum(1)
    costs = np.concatenate([[0.0], np.cumsum(before)]) + np.concatenate([np.cumsum(after[::-1])[::-1], [0.0]])
    return int(np.argmin(costs))


def _rows(pictures: NDArray[np.uint8]) -> NDArray[np.float32]:
    return pictures.reshape(len(pictures), -1).astype(np.float32)


def _nearest(seen: NDArray[np.float32], should: NDArray[np.float32]) -> NDArray[np.int64]:
    """For each row the nearest of the others, and of those as near the one of its own place."""
    squares = np.square(should).sum(1)
    best = np.empty(len(seen), np.int64)
    for start in range(0, len(seen), _BLOCK):
        block = seen[start : start + _BLOCK]
        distance = squares - 2 * block @ should.T
        places = np.arange(start, start + len(block))
        nearest = distance.argmin(1)
        rows = np.arange(len(block))
        best[places] = np.where(distance[rows, nearest] < distance[rows, places], nearest, places)
    return best


def _is_nearer(seen: NDArray[np.float32], own: NDArray[np.float32], other: NDArray[np.float32], least: float) -> bool:
    difference = other - own
    clear = np.abs(difference) >= least
    proof = float(np.square(difference[clear]).sum())
    if proof < _LEAST_PROOF * least**2:
        return False
    return float((seen - own)[clear] @ difference[clear]) / proof > _NEARER
