"""Fused products, reciprocal root, logarithm and power.

On the CPU they are polynomials, and loops over them become vector instructions; on CUDA they are the GPU's own units. The polynomials were
fitted with NumPy by least squares with both ends held exact; their errors are the largest found on a fine grid.
"""

import warp as wp

# one instruction where the machine has it, and then always: never left to the compiler, who may choose anew for every copy of a loop
FUSED = """
#if defined(__CUDA_ARCH__)
#define ROLLFILM_FUSED(a, b, c) fmaf(a, b, c)
#elif defined(__FMA__) || defined(__aarch64__)
#define ROLLFILM_FUSED(a, b, c) __builtin_fmaf(a, b, c)
#define ROLLFILM_FUSED_MANY(a, b, c) __builtin_elementwise_fma(a, b, c)
#else
#define ROLLFILM_FUSED(a, b, c) ((a) * (b) + (c))
#define ROLLFILM_FUSED_MANY(a, b, c) ((a) * (b) + (c))
#endif
"""


@wp.func_native(FUSED + "    return ROLLFILM_FUSED(a, b, c);")
def fused(a: float, b: float, c: float) -> float:
    """``a * b + c``, rounded once where the machine can."""


@wp.func
def fused_dot(a: wp.vec3, b: wp.vec3):
    """The scalar product, of fused products."""
    return fused(a[2], b[2], fused(a[1], b[1], a[0] * b[0]))


@wp.func
def fused_sum(point: wp.vec3, way: wp.vec3, length: float):
    """``point + length * way``, of fused products."""
    return wp.vec3(fused(way[0], length, point[0]), fused(way[1], length, point[1]), fused(way[2], length, point[2]))


@wp.func_native(
    FUSED
    + """
#if defined(__CUDA_ARCH__)
    return rsqrtf(x);
#else
    // Newton's steps from a guess by the exponent: processors divide and take roots at a tenth of the speed at which they multiply
    float r = wp::cast<float>(0x5F375A86u - (wp::cast<wp::uint32>(x) >> 1));
    const float half = -0.5f * x;
    r = r * ROLLFILM_FUSED(half * r, r, 1.5f);
    r = r * ROLLFILM_FUSED(half * r, r, 1.5f);
    return r * ROLLFILM_FUSED(half * r, r, 1.5f);
#endif
"""
)
def reciprocal_root(x: float) -> float:
    """One over the square root of a positive number, to 2e-7 of it."""


@wp.func_native(
    FUSED
    + """
#if defined(__CUDA_ARCH__)
    return __log2f(x);
#else
    const wp::uint32 bits = wp::cast<wp::uint32>(x);
    const float exponent = (float)((int)(bits >> 23) - 127);
    const float m = wp::cast<float>((bits & 0x007FFFFFu) | 0x3F800000u) - 1.0f;
    float p = ROLLFILM_FUSED(m, 0.02595216f, -0.09720294f);
    p = ROLLFILM_FUSED(m, p, 0.18362999f);
    p = ROLLFILM_FUSED(m, p, -0.27629676f);
    p = ROLLFILM_FUSED(m, p, 0.44262227f);
    p = ROLLFILM_FUSED(1.0f - m, p, 1.0f);
    return ROLLFILM_FUSED(m, p, exponent);
#endif
"""
)
def log2_of(x: float) -> float:
    """Base-2 logarithm of a positive number, to 5e-6."""


@wp.func_native(
    FUSED
    + """
#if defined(__CUDA_ARCH__)
    return exp2f(y);
#else
    // far above the smallest floats: what is multiplied further must not become one that processors are slow with
    const float bounded = y < -30.0f ? -30.0f : y;
    const float whole = wp::floor(bounded);
    const float z = bounded - whole;
    float q = ROLLFILM_FUSED(z, 0.00189706f, 0.01085792f);
    q = ROLLFILM_FUSED(z, q, 0.06668639f);
    q = ROLLFILM_FUSED(z, q, 0.30684977f);
    q = ROLLFILM_FUSED(z - 1.0f, q, 1.0f);
    const float power_of_two = wp::cast<float>((wp::uint32)((int)whole + 127) << 23);
    return power_of_two * ROLLFILM_FUSED(z, q, 1.0f);
#endif
"""
)
def exp2_of(y: float) -> float:
    """Two to the power of ``y`` for y below 127, to a part in 4 millions; below -30 a billionth."""


@wp.func
def power(x: float, exponent: float):
    """``x ** exponent`` for positive x; the relative error is 4e-6 times the exponent."""
    return exp2_of(exponent * log2_of(x))
