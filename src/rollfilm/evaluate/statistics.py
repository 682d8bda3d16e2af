"""Statistics of success."""

import math

from rollfilm.errors import InvalidArgumentError

__all__ = ["wilson_interval"]

#: Of the normal distribution, for 95 %.
_Z95 = 1.959963984540054


def wilson_interval(successes: int, trials: int, z: float = _Z95) -> tuple[float, float]:
    """Lower and upper bound of a success rate (0 to 1): Wilson's score interval, 95 % unless ``z`` says otherwise.

    Formula (4) of E. B. Wilson, "Probable inference, the law of succession, and statistical inference", JASA 22 (1927).

    Raises:
        InvalidArgumentError: no trial, or more successes than trials.
    """
    if trials < 1 or not 0 <= successes <= trials:
        raise InvalidArgumentError(f"{successes} successes of {trials} trials were given; there is at least one trial")
    rate, weight = successes / trials, z * z / trials
    center = (rate + weight / 2) / (1 + weight)
    half = z / (1 + weight) * math.sqrt(rate * (1 - rate) / trials + weight / (4 * trials))
    return max(0.0, center - half), min(1.0, center + half)
