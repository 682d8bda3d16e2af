"""The texture of a plane on a CPU, for the points of ``light_chunk``: C++ that lays it over their colours.

What ``shade.surface_spot``, ``shade.texture_coordinates`` and ``texture.mip_level`` compute for any surface is simpler here, as all that is
the same on a plane is drawn out of the loops. Texels are read and blended as ``texture.bilinear`` does, to the bit.
"""

# BRIGHTEST is where colours are cut before
PLANE_TEXTURE = """
    if (surface.textured == 1) {
        // as shade.surface_spot and texture_coordinates, where all that is the same on a plane is drawn out of the loop
        const Way u = all(surface.u), v = all(surface.v);
        const auto scalar = [](const wp::vec3& a, const wp::vec3& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; };
        const float share = scalar(surface.facet, plane.inverse_depth) / wp::max(scalar(surface.facet, surface.facet), 1.0e-20f);
        const float turn_x = -share * scalar(surface.facet, eye.step_x), turn_y = -share * scalar(surface.facet, eye.step_y);
        const float u_x = scalar(surface.u, eye.step_x), v_x = scalar(surface.v, eye.step_x);
        const float u_y = scalar(surface.u, eye.step_y), v_y = scalar(surface.v, eye.step_y);
        const float wide = surface.texture_size[0] * surface.texture_size[0], high = surface.texture_size[1] * surface.texture_size[1];
        const floats levels = (floats)(float)(surface.last_image - surface.image);
        floats place_u[4], place_v[4], longer[4], paint_r[4], paint_g[4], paint_b[4];
        ints fine[4];
        for (int k = 0; k < vectors; ++k) {
            const floats along_u = dot(u, position[k]), along_v = dot(v, position[k]);
            const floats u1 = along_u + surface.uv_offset[0], v1 = along_v + surface.uv_offset[1];
            place_u[k] = u1 - __builtin_elementwise_floor(u1);
            place_v[k] = v1 - __builtin_elementwise_floor(v1);
            const floats a = fused(along_u, turn_x, u_x), b = fused(along_v, turn_x, v_x);
            const floats c = fused(along_u, turn_y, u_y), d = fused(along_v, turn_y, v_y);
            longer[k] = depths[k] * depths[k] * most(fused(a * a, wide, b * b * high), fused(c * c, wide, d * d * high));
        }
        ints between = 0;
        int lowest = 0x7FFFFFFF, highest = 0;
        for (int k = 0; k < vectors; ++k) {
            const floats level = most(0.5f * log2_of(most(longer[k], 1.0e-12f)), 0.0f);
            fine[k] = __builtin_convertvector(least(level, levels) * 256.0f, ints);
            between |= fine[k] & 255;
        }
        for (int k = 0; k < vectors; ++k) {
            lowest = wp::min(lowest, __builtin_reduce_min(fine[k]));
            highest = wp::max(highest, __builtin_reduce_max(fine[k]));
        }
        const wp::uint32* const images = (const wp::uint32*)(scene.texture_image.data + surface.image);
        const wp::uint32* const texels = scene.texel.data;
        for (int finer = 1; finer >= (__builtin_reduce_or(between) > 0 ? 0 : 1); --finer) {
            const bool alike = lowest >> 8 == highest >> 8;
            for (int k = 0; k < vectors; ++k) {
                ints first, width, height;
                const int last = surface.last_image - surface.image;
                if (alike) {
                    const int number = wp::min((lowest >> 8) + 1 - finer, last);
                    first = (ints)(int)images[2 * number];
                    width = (ints)(int)(images[2 * number + 1] & 0xFFFFu);
                    height = (ints)(int)(images[2 * number + 1] >> 16);
                } else {
                    ints number = (fine[k] >> 8) + (1 - finer);
                    number = number < last ? number : (ints)last;
                    first = gathered(images, 2 * number);
                    const words size = __builtin_bit_cast(words, gathered(images, 2 * number + 1));
                    width = __builtin_bit_cast(ints, size & 0xFFFFu);
                    height = __builtin_bit_cast(ints, size >> 16);
                }
                // texture.bilinear
                const ints x = __builtin_convertvector(place_u[k] * __builtin_convertvector(width << 8, floats), ints) - 128;
                const ints y = __builtin_convertvector((1.0f - place_v[k]) * __builtin_convertvector(height << 8, floats), ints) - 128;
                const ints column = (x >> 8) + (x < 0 ? width : (ints)0), line = (y >> 8) + (y < 0 ? height : (ints)0);
                const ints at = first + line * (width + 1) + column;
                words t[4];
                two_texels(texels, at, t[0], t[1]);
                two_texels(texels, at + width + 1, t[2], t[3]);
                const floats right = __builtin_convertvector(x & 255, floats) * (1.0f / 256.0f);
                const floats down = __builtin_convertvector(y & 255, floats) * (1.0f / 256.0f);
                floats paint[3];
                for (int c = 0; c < 3; ++c) {
                    // a byte in the low end of 2^23 is that many more
                    const auto number = [&](words texel) { return __builtin_bit_cast(floats, ((texel >> (8 * c)) & 255u) | 0x4B000000u); };
                    const floats top = fused(number(t[1]) - number(t[0]), right, number(t[0]) - 8388608.0f);
                    const floats bottom = fused(number(t[3]) - number(t[2]), right, number(t[2]) - 8388608.0f);
                    paint[c] = fused(bottom - top, down, top) * (1.0f / 255.0f);
                }
                if (finer) {
                    paint_r[k] = paint[0];
                    paint_g[k] = paint[1];
                    paint_b[k] = paint[2];
                } else {
                    const floats part = __builtin_convertvector(fine[k] & 255, floats) * (1.0f / 256.0f);
                    paint_r[k] = fused(paint[0] - paint_r[k], part, paint_r[k]);
                    paint_g[k] = fused(paint[1] - paint_g[k], part, paint_g[k]);
                    paint_b[k] = fused(paint[2] - paint_b[k], part, paint_b[k]);
                }
            }
        }
        for (int k = 0; k < vectors; ++k)
            total[k] = Way {
                least(total[k].x, BRIGHTEST) * paint_r[k],
                least(total[k].y, BRIGHTEST) * paint_g[k],
                least(total[k].z, BRIGHTEST) * paint_b[k],
            };
    }
"""
