"""The texture of a plane on a CPU, for the points of ``light_chunk``: C++ that lays it over their colours.

What ``shade.surface_spot``, ``shade.texture_coordinates`` and ``texture.mip_level`` compute for any surface is simpler here, as all that is
the same on a plane is drawn out. Texels are filtered by ``filter_chunk``.
"""

# BRIGHTEST is where colours are cut before
PLANE_TEXTURE = """
    if (surface.textured == 1) {
        // as shade.surface_spot and texture_coordinates, where all that is the same on a plane is drawn out
        const Way to_u = three(u_x), to_v = three(v_x);
        const floats along_u = fused(to_u.x, px, to_u.y * py), along_v = fused(to_v.x, px, to_v.y * py);
        // v runs up from the last row
        const words place_u = fixed_place(part_of_whole(along_u + to_u.z));
        const words place_v = fixed_place(part_of_whole(fused(along_v, -one(narrow), 1.0f - to_v.z)));
        const floats a = fused(along_u, one(turn_x), one(right_u)), b = fused(along_v, one(turn_x), one(right_v));
        const floats c = fused(along_u, one(turn_y), one(down_u)), d = fused(along_v, one(turn_y), one(down_v));
        const floats longer = depth * depth * most(fused(a, a, b * b), fused(c, c, d * d));
        const floats level = fused(128.0f, log2_of(most(longer, 1.0e-30f)), one(wide));
        const floats levels = (float)((surface.last_image - surface.image) << 8);
        const ints fine = __builtin_convertvector(least(most(level, 0.0f), levels), ints);
        const int first_level = __builtin_reduce_min(fine) >> 8, last_level = __builtin_reduce_max(fine) >> 8;

        const wp::uint32* const images = (const wp::uint32*)(scene.texture_image.data + surface.image);
        const int last = surface.last_image - surface.image;
        const auto texels_of = [&](ints first, words size, words weight) {
            const words width = size & 0xFFFFu, height = size >> 16;
            const ints x = texel_place(place_u, width), y = texel_place(place_v, height);
            // half a texel before the first is the last
            const words column = __builtin_elementwise_min(__builtin_bit_cast(words, x >> 8), width - 1);
            const words line = __builtin_elementwise_min(__builtin_bit_cast(words, y >> 8), height - 1);
            const ints at = first + __builtin_bit_cast(ints, line * (width + 1) + column);
            words t[4];
            two_texels(scene.texel.data, at, t[0], t[1]);
            two_texels(scene.texel.data, at + __builtin_bit_cast(ints, width + 1), t[2], t[3]);
            return weighed(t, x, y, weight);
        };
        const words part = __builtin_bit_cast(words, fine & 255);
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
            return texels_of(first, size, coarser ? part : 256u - part);
        };
        Sums paint = image_of(0);
        // close to a texture its finest image is all
        if (__builtin_reduce_or(part) > 0) {
            const Sums rough = image_of(1);
            paint = Sums {paint.r + rough.r, paint.g + rough.g, paint.b + rough.b};
        }
        total.x = least(total.x, BRIGHTEST) * filtered(paint.r);
        total.y = least(total.y, BRIGHTEST) * filtered(paint.g);
        total.z = least(total.z, BRIGHTEST) * filtered(paint.b);
    }
"""
