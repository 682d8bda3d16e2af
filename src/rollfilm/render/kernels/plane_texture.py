"""The texture of a plane on a CPU, for the points of ``light_chunk``: C++ that lays it over their colours.

What ``shade.surface_spot``, ``shade.texture_coordinates`` and ``texture.mip_level`` compute for any surface is simpler here, as all that is
the same on a plane is drawn out of the loops. Texels are read and blended as ``texture.bilinear`` does, by whole numbers: a product of
two pairs of bytes and weights at a time, without rounding.
"""

# Blending of four texels by whole numbers.
BLENDING = """
#if defined(__AVX512BW__)
    typedef short raw_shorts __attribute__((vector_size(64)));
    // of each lane the upper and the lower half times those of another, signed, and both added
    const auto of_halves = [](words a, words b) {
        raw_shorts from[4], other[4];
        __builtin_memcpy(from, &a, sizeof(a));
        __builtin_memcpy(other, &b, sizeof(b));
        raw_ints times[4];
        for (int i = 0; i < 4; ++i)
            times[i] = __builtin_ia32_pmaddwd512(from[i], other[i]);
        ints done;
        __builtin_memcpy(&done, times, sizeof(done));
        return done;
    };
#else
    const auto of_halves = [](words a, words b) {
        const ints lower = (__builtin_bit_cast(ints, a << 16) >> 16) * (__builtin_bit_cast(ints, b << 16) >> 16);
        return lower + (__builtin_bit_cast(ints, a) >> 16) * (__builtin_bit_cast(ints, b) >> 16);
    };
#endif
    // red, green and blue of four texels by the 256ths of x and y: 65536 times the bytes, less 2^23
    const auto blended = [&](const words* t, ints x, ints y) {
        const auto weights = [](ints place) {
            const words part = __builtin_bit_cast(words, place & 255);
            return (part << 16) + (256u - part);
        };
        const words across = weights(x), down = weights(y);
        const words red_and_green[2] = {(t[0] & 0xFFFFu) | t[1] << 16, (t[2] & 0xFFFFu) | t[3] << 16};
        const words blue[2] = {t[0] >> 16 | (t[1] & 0xFFFF0000u), t[2] >> 16 | (t[3] & 0xFFFF0000u)};
        const auto one_color = [&](words top, words bottom) {
            const ints upper = of_halves(top, across), lower = of_halves(bottom, across);
            // halves are signed
            return __builtin_convertvector(of_halves(__builtin_bit_cast(words, upper | lower << 16) ^ 0x80008000u, down), floats);
        };
        const words low = 0x00FF00FFu;
        return Way {
            one_color(red_and_green[0] & low, red_and_green[1] & low),
            one_color(red_and_green[0] >> 8 & low, red_and_green[1] >> 8 & low),
            one_color(blue[0] & low, blue[1] & low),
        };
    };
"""

# BRIGHTEST is where colours are cut before
PLANE_TEXTURE = (
    BLENDING
    + """
    if (surface.textured == 1) {
        // as shade.surface_spot and texture_coordinates, where all that is the same on a plane is drawn out
        const Way to_u = three(u_x), to_v = three(v_x);
        const floats along_u = fused(to_u.x, px, to_u.y * py), along_v = fused(to_v.x, px, to_v.y * py);
        const floats place_u = part_of_whole(along_u + to_u.z), place_v = 1.0f - part_of_whole(fused(along_v, one(narrow), to_v.z));
        const floats a = fused(along_u, one(turn_x), one(right_u)), b = fused(along_v, one(turn_x), one(right_v));
        const floats c = fused(along_u, one(turn_y), one(down_u)), d = fused(along_v, one(turn_y), one(down_v));
        const floats longer = depth * depth * most(fused(a, a, b * b), fused(c, c, d * d));
        const floats level = fused(128.0f, log2_of(most(longer, 1.0e-30f)), one(wide));
        const floats levels = (float)((surface.last_image - surface.image) << 8);
        const ints fine = __builtin_convertvector(least(most(level, 0.0f), levels), ints);
        const int first_level = __builtin_reduce_min(fine) >> 8, last_level = __builtin_reduce_max(fine) >> 8;

        const wp::uint32* const images = (const wp::uint32*)(scene.texture_image.data + surface.image);
        const int last = surface.last_image - surface.image;
        // texture.bilinear
        const auto texels_of = [&](ints first, words size) {
            const words width = size & 0xFFFFu, height = size >> 16;
            const ints x = __builtin_convertvector(place_u * __builtin_convertvector(width << 8, floats), ints) - 128;
            const ints y = __builtin_convertvector(place_v * __builtin_convertvector(height << 8, floats), ints) - 128;
            // half a texel before the first is the last
            const words column = __builtin_elementwise_min(__builtin_bit_cast(words, x >> 8), width - 1);
            const words line = __builtin_elementwise_min(__builtin_bit_cast(words, y >> 8), height - 1);
            const ints at = first + __builtin_bit_cast(ints, line * (width + 1) + column);
            words t[4];
            two_texels(scene.texel.data, at, t[0], t[1]);
            two_texels(scene.texel.data, at + __builtin_bit_cast(ints, width + 1), t[2], t[3]);
            return blended(t, x, y);
        };
        const auto image_of = [&](int coarser) {
            ints first, number = (fine >> 8) + coarser;
            words size;
            if (first_level == last_level) {
                const int of_all = wp::min(first_level + coarser, last);
                first = (int)images[2 * of_all];
                size = images[2 * of_all + 1];
            } else {
                number = number < last ? number : (ints)last;
                first = gathered(images, 2 * number);
                size = __builtin_bit_cast(words, gathered(images, 2 * number + 1));
            }
            return texels_of(first, size);
        };
        Way paint = image_of(0);
        // close to a texture its finest image is all
        if (__builtin_reduce_or(fine & 255) > 0) {
            const Way rough = image_of(1);
            const floats part = __builtin_convertvector(fine & 255, floats) * (1.0f / 256.0f);
            paint.x = fused(rough.x - paint.x, part, paint.x);
            paint.y = fused(rough.y - paint.y, part, paint.y);
            paint.z = fused(rough.z - paint.z, part, paint.z);
        }
        total.x = least(total.x, BRIGHTEST) * fused(paint.x, BLENDED_ONE, BLENDED_MIDDLE);
        total.y = least(total.y, BRIGHTEST) * fused(paint.y, BLENDED_ONE, BLENDED_MIDDLE);
        total.z = least(total.z, BRIGHTEST) * fused(paint.z, BLENDED_ONE, BLENDED_MIDDLE);
    }
"""
)
PLANE_TEXTURE = PLANE_TEXTURE.replace("BLENDED_ONE", f"{1 / (255 * 65536)!r}f").replace("BLENDED_MIDDLE", f"{128 / 255!r}f")
