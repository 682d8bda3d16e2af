"""Logarithm and power: polynomials on the CPU, where loops over them become vector instructions; the GPU's own units on CUDA.

The polynomials were fitted with NumPy by least squares with both ends held exact; their errors are the largest found on a fine grid.
"""

import warp as wp


@wp.func_native("""
#if defined(__CUDA_ARCH__)
    return __log2f(x);
#else
    const wp::uint32 bits = wp::cast<wp::uint32>(x);
    const float exponent = (float)((int)(bits >> 23) - 127);
    const float m = wp::cast<float>((bits & 0x007FFFFFu) | 0x3F800000u) - 1.0f;
    const float p = 0.44262227f + m * (-0.27629676f + m * (0.18362999f + m * (-0.09720294f + m * 0.02595216f)));
    return exponent + m * (1.0f + (1.0f - m) * p);
#endif
""")
def log2_of(x: float) -> float:
    """Base-2 logarithm of a positive number, to 5e-6."""


@wp.func_native("""
#if defined(__CUDA_ARCH__)
    return exp2f(y);
#else
    const float bounded = y < -126.0f ? -126.0f : y;
    const float whole = wp::floor(bounded);
    const float z = bounded - whole;
    const float q = 0.30684977f + z * (0.06668639f + z * (0.01085792f + z * 0.00189706f));
    const float power_of_two = wp::cast<float>((wp::uint32)((int)whole + 127) << 23);
    return power_of_two * (1.0f + z * (1.0f + (z - 1.0f) * q));
#endif
""")
def exp2_of(y: float) -> float:
    """Two to the power of ``y`` for y below 127, to a part in 4 millions; 0 or nearly 0 below -126."""


@wp.func
def power(x: float, exponent: float):
    """``x ** exponent`` for positive x; the relative error is 4e-6 times the exponent."""
    return exp2_of(exponent * log2_of(x))
