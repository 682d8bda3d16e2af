"""Logarithm and power by polynomials: the same on every device, and cheaper than the C library's.

The polynomials were fitted with NumPy by least squares with both ends held exact; their errors are the largest found on a fine grid.
"""

import warp as wp


@wp.func
def log2_of(x: float):
    """Base-2 logarithm of a positive number, to 5e-6."""
    bits = wp.cast(x, wp.uint32)
    exponent = float(int(bits >> wp.uint32(23)) - 127)
    m = wp.cast((bits & wp.uint32(0x007FFFFF)) | wp.uint32(0x3F800000), wp.float32) - 1.0
    p = 0.44262227 + m * (-0.27629676 + m * (0.18362999 + m * (-0.09720294 + m * 0.02595216)))
    return exponent + m * (1.0 + (1.0 - m) * p)


@wp.func
def exp2_of(y: float):
    """Two to the power of ``y`` for y below 127, to a part in 4 millions; below -126 the smallest normal number."""
    bounded = wp.max(y, -126.0)
    whole = wp.floor(bounded)
    z = bounded - whole
    q = 0.30684977 + z * (0.06668639 + z * (0.01085792 + z * 0.00189706))
    power_of_two = wp.cast(wp.uint32(int(whole) + 127) << wp.uint32(23), wp.float32)
    return power_of_two * (1.0 + z * (1.0 + (z - 1.0) * q))


@wp.func
def power(x: float, exponent: float):
    """``x ** exponent`` for positive x; the relative error is 4e-6 times the exponent."""
    return exp2_of(exponent * log2_of(x))
