"""Filtering of texels as the texture units of NVIDIA's GPUs do it, to the bit, many places at a time: how a CPU goes fastest.

What is computed is what ``texture`` computes for one place, and says there.
"""

_FILTER = """
#if defined(__AVX512BW__) || defined(__AVX2__)
#if defined(__AVX512BW__)
    typedef short raw_shorts __attribute__((vector_size(64)));
    const auto pairs_of = [](raw_shorts a, raw_shorts b) { return __builtin_ia32_pmaddwd512(a, b); };
#else
    typedef short raw_shorts __attribute__((vector_size(32)));
    const auto pairs_of = [](raw_shorts a, raw_shorts b) { return __builtin_ia32_pmaddwd256(a, b); };
#endif
    // of each lane the upper and the lower half times those of another, signed, and both added
    const auto of_halves = [&](words a, words b) {
        const int parts = sizeof(words) / sizeof(raw_shorts);
        raw_shorts from[parts], other[parts];
        __builtin_memcpy(from, &a, sizeof(a));
        __builtin_memcpy(other, &b, sizeof(b));
        words done;
        for (int i = 0; i < parts; ++i) {
            const auto times = pairs_of(from[i], other[i]);
            __builtin_memcpy((char*)&done + i * sizeof(times), &times, sizeof(times));
        }
        return done;
    };
#else
    const auto of_halves = [](words a, words b) {
        const ints lower = (__builtin_bit_cast(ints, a << 16) >> 16) * (__builtin_bit_cast(ints, b << 16) >> 16);
        return __builtin_bit_cast(words, lower + (__builtin_bit_cast(ints, a) >> 16) * (__builtin_bit_cast(ints, b) >> 16));
    };
#endif
    // a place from 0 to 1, and the same in 256ths of a texel from the middle of the first of so many
    const auto fixed_place = [](floats place) { return __builtin_convertvector(place * 2097152.0f, words); };
    const auto texel_place = [](words place, words size) {
        return __builtin_bit_cast(ints, ((place >> 8) * size + (((place & 255u) * size + 4096u) >> 8)) >> 5) - 128;
    };
    struct Sums { words r, g, b; };
    // four texels (the next column's come second, the next row's last) times their shares of a weight
    const auto weighed = [&](const words* t, ints x, ints y, words weight) {
        const words right = __builtin_bit_cast(words, x & 255), down = __builtin_bit_cast(words, y & 255);
        const words next = (of_halves(right, weight) + 128u) >> 8, here = weight - next;
        const words next_below = (of_halves(next, down) + 128u) >> 8, below = (of_halves(here, down) + 127u) >> 8;
        const words upper = (here - below) | (next - next_below) << 16, lower = below | next_below << 16;
        const words low = 0x00FF00FFu;
        const words red_and_green[2] = {(t[0] & 0xFFFFu) | t[1] << 16, (t[2] & 0xFFFFu) | t[3] << 16};
        const words blue[2] = {t[0] >> 16 | (t[1] & 0xFFFF0000u), t[2] >> 16 | (t[3] & 0xFFFF0000u)};
        return Sums {
            of_halves(red_and_green[0] & low, upper) + of_halves(red_and_green[1] & low, lower),
            of_halves(red_and_green[0] >> 8 & low, upper) + of_halves(red_and_green[1] >> 8 & low, lower),
            of_halves(blue[0] & low, upper) + of_halves(blue[1] & low, lower),
        };
    };
    const auto filtered = [](words sum) {
        return __builtin_convertvector(__builtin_bit_cast(ints, sum + ((sum + 128u) >> 8)), floats) * (1.0f / 65535.0f);
    };
"""


def filtering(lanes: int | str) -> str:
    """The text that filters texels at that many places, after ``vectors`` and ``gathers``."""
    return _FILTER.replace("LANES", str(lanes))
