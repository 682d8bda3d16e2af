"""What the chunks of a CPU are computed with in C++: ``power`` for 16 lanes at a time, and gathers.

The vectors are clang's, which compiles them for every processor that Warp runs on. Each text begins a function's body.
"""

from rollfilm.render.kernels.power import FUSED

_VECTORS = """
#pragma clang fp contract(off)
    typedef float floats __attribute__((ext_vector_type(LANES)));
    typedef float loose __attribute__((ext_vector_type(LANES), aligned(4)));
    typedef int ints __attribute__((ext_vector_type(LANES)));
    typedef unsigned int words __attribute__((ext_vector_type(LANES)));
    typedef bool bits_of_lanes __attribute__((ext_vector_type(LANES)));
    struct Way { floats x, y, z; };
    const auto fused = [](floats a, floats b, floats c) { return ROLLFILM_FUSED_MANY(a, b, c); };
    const auto most = [](floats a, floats b) { return a > b ? a : b; };
    const auto least = [](floats a, floats b) { return a < b ? a : b; };
    const auto dot = [&](const Way& a, const Way& b) { return fused(a.z, b.z, fused(a.y, b.y, a.x * b.x)); };
    // volatile: else a compiler may read 16 numbers to get at one, and wait for all that was just stored there
    const auto every = [](const float& number) { return (floats)*(const volatile float*)&number; };
    const auto all = [&](const wp::vec3& v) { return Way {every(v.c[0]), every(v.c[1]), every(v.c[2])}; };
#if defined(__AVX512F__) && defined(__AVX512DQ__)
    // the same numbers by instructions that take floats apart and put them together, each for 16 lanes
    typedef float raw_floats __attribute__((vector_size(64)));
    const unsigned short every_lane = 0xFFFF;
    const auto by_parts = [](floats x, floats y, auto part) {
        raw_floats from[LANES / 16], other[LANES / 16];
        __builtin_memcpy(from, &x, sizeof(x));
        __builtin_memcpy(other, &y, sizeof(y));
        for (int i = 0; i < LANES / 16; ++i)
            from[i] = part(from[i], other[i]);
        floats done;
        __builtin_memcpy(&done, from, sizeof(x));
        return done;
    };
    const auto reciprocal_root = [&](floats x) {
        const floats r = by_parts(x, x, [](raw_floats a, raw_floats) { return __builtin_ia32_rsqrt14ps512_mask(a, a, every_lane); });
        return r * fused((-0.5f * x) * r, r, 1.5f);
    };
    const auto exponent_of = [&](floats x) {
        return by_parts(x, x, [](raw_floats a, raw_floats) { return __builtin_ia32_getexpps512_mask(a, a, every_lane, 4); });
    };
    const auto mantissa_of = [&](floats x) {
        return by_parts(x, x, [](raw_floats a, raw_floats) { return __builtin_ia32_getmantps512_mask(a, 0, a, every_lane, 4); });
    };
    const auto part_of_whole = [&](floats x) {
        return by_parts(x, x, [](raw_floats a, raw_floats) { return __builtin_ia32_reduceps512_mask(a, 9, a, every_lane, 4); });
    };
    const auto times_power_of_two = [&](floats x, floats y) {
        return by_parts(x, y, [](raw_floats a, raw_floats b) { return __builtin_ia32_scalefps512_mask(a, b, a, every_lane, 4); });
    };
#else
    const auto reciprocal_root = [&](floats x) {
        floats r = __builtin_bit_cast(floats, 0x5F375A86u - (__builtin_bit_cast(words, x) >> 1));
        const floats half = -0.5f * x;
        r = r * fused(half * r, r, 1.5f);
        r = r * fused(half * r, r, 1.5f);
        return r * fused(half * r, r, 1.5f);
    };
    const auto exponent_of = [&](floats x) {
        return __builtin_convertvector(__builtin_bit_cast(ints, __builtin_bit_cast(words, x) >> 23) - 127, floats);
    };
    const auto mantissa_of = [&](floats x) {
        return __builtin_bit_cast(floats, (__builtin_bit_cast(words, x) & 0x007FFFFFu) | 0x3F800000u);
    };
    const auto part_of_whole = [&](floats x) { return x - __builtin_elementwise_floor(x); };
    const auto times_power_of_two = [&](floats x, floats y) {
        return x * __builtin_bit_cast(floats, (__builtin_convertvector(__builtin_elementwise_floor(y), ints) + 127) << 23);
    };
#endif
    const auto log2_of = [&](floats x) {
        const floats m = mantissa_of(x) - 1.0f;
        floats p = fused(m, 0.02595216f, -0.09720294f);
        p = fused(m, p, 0.18362999f);
        p = fused(m, p, -0.27629676f);
        p = fused(m, p, 0.44262227f);
        p = fused(1.0f - m, p, 1.0f);
        return fused(m, p, exponent_of(x));
    };
    const auto exp2_of = [&](floats y) {
        const floats bounded = y < -30.0f ? (floats)-30.0f : y;
        const floats z = part_of_whole(bounded);
        floats q = fused(z, 0.00189706f, 0.01085792f);
        q = fused(z, q, 0.06668639f);
        q = fused(z, q, 0.30684977f);
        q = fused(z - 1.0f, q, 1.0f);
        return times_power_of_two(fused(z, q, 1.0f), bounded);
    };
"""

# reading texels at 16 places: instructions where the machine has them
_GATHERS = """
#if defined(__AVX512F__)
    typedef int raw_ints __attribute__((vector_size(64)));
    typedef int raw_halves __attribute__((vector_size(32)));
    typedef long long raw_longs __attribute__((vector_size(64)));
    const auto gathered = [](const wp::uint32* from, ints at) {
        raw_ints part[LANES / 16];
        __builtin_memcpy(part, &at, sizeof(at));
        for (int i = 0; i < LANES / 16; ++i)
            part[i] = (raw_ints)__builtin_ia32_gathersiv16si(raw_ints {}, from, part[i], (unsigned short)0xFFFF, 4);
        ints found;
        __builtin_memcpy(&found, part, sizeof(at));
        return found;
    };
    // of each place the texel there and the next: half as many reads as one by one
    const auto two_texels = [](const wp::uint32* from, ints at, words& one, words& next) {
        raw_halves part[LANES / 8];
        __builtin_memcpy(part, &at, sizeof(at));
        typedef unsigned int pairs __attribute__((ext_vector_type(2 * LANES)));
        raw_longs found[LANES / 8];
        for (int i = 0; i < LANES / 8; ++i)
            found[i] = __builtin_ia32_gathersiv8di(raw_longs {}, from, part[i], (unsigned char)0xFF, 4);
        pairs both;
        __builtin_memcpy(&both, found, sizeof(both));
        one = both.even;
        next = both.odd;
    };
#else
    const auto gathered = [](const wp::uint32* from, ints at) {
        ints found;
        for (int i = 0; i < LANES; ++i)
            found[i] = (int)from[at[i]];
        return found;
    };
    const auto two_texels = [](const wp::uint32* from, ints at, words& one, words& next) {
        for (int i = 0; i < LANES; ++i) {
            one[i] = from[at[i]];
            next[i] = from[at[i] + 1];
        }
    };
#endif
"""

# reading the corners of triangle ``t + j`` of a mesh and of the fifteen after it, where ``rotation`` and ``position`` put them
CORNERS = """
    struct Corner { loose x, y, z; };
    const auto corners_at = [&](int number, int j) {
        loose v[3];
        for (int k = 0; k < 3; ++k) {
            const float* from = (const float*)((const char*)corner.data + (3 * number + k) * (size_t)corner.strides[0]) + t + j;
            // what lies beyond the last triangle is of other meshes, but for the last of all
            if (t + j + 16 <= corner.shape[1])
                v[k] = *(const loose*)from;
            else
                for (int i = 0; i < 16; ++i)
                    v[k][i] = t + j + i < corner.shape[1] ? from[i] : 0.0f;
        }
        const auto in_row = [&](int r) {
            return rotation.data[r][0] * v[0] + rotation.data[r][1] * v[1] + rotation.data[r][2] * v[2] + position[r];
        };
        return Corner {in_row(0), in_row(1), in_row(2)};
    };
"""


# A vector of several registers is one instruction after the other: where one waits for the last, that of another register fills the time.
# AVX-512 has room for four in its 32 registers of 16 lanes.
WIDE = """
#if defined(__AVX512F__)
#define ROLLFILM_WIDE 64
#else
#define ROLLFILM_WIDE 16
#endif
"""


def vectors(lanes: int | str) -> str:
    """``power`` for that many lanes, and the types; ``"ROLLFILM_WIDE"`` lanes are as many as go fastest."""
    return FUSED + WIDE + _VECTORS.replace("LANES", str(lanes))


def gathers(lanes: int | str) -> str:
    """Reading texels at that many places."""
    return _GATHERS.replace("LANES", str(lanes))


VECTORS, GATHERS = vectors(16), gathers(16)
