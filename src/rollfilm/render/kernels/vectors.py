"""What the chunks of a CPU are computed with in C++: ``power`` for 16 lanes at a time, and gathers.

The vectors are clang's, which compiles them for every processor that Warp runs on. Each text begins a function's body.
"""

from rollfilm.render.kernels.power import FUSED

# ``power`` for 16 lanes
VECTORS = (
    FUSED
    + """
#pragma clang fp contract(off)
    typedef float floats __attribute__((ext_vector_type(16)));
    typedef float loose __attribute__((ext_vector_type(16), aligned(4)));
    typedef int ints __attribute__((ext_vector_type(16)));
    typedef unsigned int words __attribute__((ext_vector_type(16)));
    typedef bool bits_of_lanes __attribute__((ext_vector_type(16)));
    struct Way { floats x, y, z; };
    const auto fused = [](floats a, floats b, floats c) { return ROLLFILM_FUSED_MANY(a, b, c); };
    const auto most = [](floats a, floats b) { return a > b ? a : b; };
    const auto least = [](floats a, floats b) { return a < b ? a : b; };
    const auto dot = [&](const Way& a, const Way& b) { return fused(a.z, b.z, fused(a.y, b.y, a.x * b.x)); };
    // volatile: else a compiler may read 16 numbers to get at one, and wait for all that was just stored there
    const auto every = [](const float& number) { return (floats)*(const volatile float*)&number; };
    const auto all = [&](const wp::vec3& v) { return Way {every(v.c[0]), every(v.c[1]), every(v.c[2])}; };
    const auto reciprocal_root = [&](floats x) {
        floats r = __builtin_bit_cast(floats, 0x5F375A86u - (__builtin_bit_cast(words, x) >> 1));
        const floats half = -0.5f * x;
        r = r * fused(half * r, r, 1.5f);
        r = r * fused(half * r, r, 1.5f);
        return r * fused(half * r, r, 1.5f);
    };
    const auto log2_of = [&](floats x) {
        const words bits = __builtin_bit_cast(words, x);
        const floats exponent = __builtin_convertvector(__builtin_bit_cast(ints, bits >> 23) - 127, floats);
        const floats m = __builtin_bit_cast(floats, (bits & 0x007FFFFFu) | 0x3F800000u) - 1.0f;
        floats p = fused(m, 0.02595216f, -0.09720294f);
        p = fused(m, p, 0.18362999f);
        p = fused(m, p, -0.27629676f);
        p = fused(m, p, 0.44262227f);
        p = fused(1.0f - m, p, 1.0f);
        return fused(m, p, exponent);
    };
    const auto exp2_of = [&](floats y) {
        const floats bounded = y < -30.0f ? (floats)-30.0f : y;
        const floats whole = __builtin_elementwise_floor(bounded);
        const floats z = bounded - whole;
        floats q = fused(z, 0.00189706f, 0.01085792f);
        q = fused(z, q, 0.06668639f);
        q = fused(z, q, 0.30684977f);
        q = fused(z - 1.0f, q, 1.0f);
        const floats power_of_two = __builtin_bit_cast(floats, (__builtin_convertvector(whole, ints) + 127) << 23);
        return power_of_two * fused(z, q, 1.0f);
    };
"""
)

# reading texels at 16 places: instructions where the machine has them
GATHERS = """
#if defined(__AVX512F__)
    typedef int halves __attribute__((ext_vector_type(8)));
    typedef int raw_ints __attribute__((vector_size(64)));
    typedef int raw_halves __attribute__((vector_size(32)));
    typedef long long raw_longs __attribute__((vector_size(64)));
    const auto gathered = [](const wp::uint32* from, ints at) {
        return (ints)__builtin_ia32_gathersiv16si((raw_ints)(ints)0, from, (raw_ints)at, (unsigned short)0xFFFF, 4);
    };
    // of each place the texel there and the next: half as many reads as one by one
    const auto two_texels = [](const wp::uint32* from, ints at, words& one, words& next) {
        const halves low = __builtin_shufflevector(at, at, 0, 1, 2, 3, 4, 5, 6, 7);
        const halves high = __builtin_shufflevector(at, at, 8, 9, 10, 11, 12, 13, 14, 15);
        const words a = (words)__builtin_ia32_gathersiv8di((raw_longs)(ints)0, from, (raw_halves)low, (unsigned char)0xFF, 4);
        const words b = (words)__builtin_ia32_gathersiv8di((raw_longs)(ints)0, from, (raw_halves)high, (unsigned char)0xFF, 4);
        one = __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
        next = __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
    };
#else
    const auto gathered = [](const wp::uint32* from, ints at) {
        ints found;
        for (int i = 0; i < 16; ++i)
            found[i] = (int)from[at[i]];
        return found;
    };
    const auto two_texels = [](const wp::uint32* from, ints at, words& one, words& next) {
        for (int i = 0; i < 16; ++i) {
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
