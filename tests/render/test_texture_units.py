"""Images for the texture units of a GPU: their mip levels are ours, also where a size is odd."""

import numpy as np
import warp as wp

from rollfilm.render.scene_data import _images, _TextureUnit
from rollfilm.scene import Texture

LEVELS = 3


@wp.kernel
def look(unit: wp.Texture2D, level: int, out: wp.array2d(dtype=wp.vec4)):
    y, x = wp.tid()
    u = (float(x) + 0.5) / float(out.shape[1])
    v = (float(y) + 0.5) / float(out.shape[0])
    out[y, x] = wp.texture_sample(unit, wp.vec2(u, v), dtype=wp.vec4, lod=float(level))


def test_levels_are_those_that_we_made():
    pixels = np.random.default_rng(0).integers(0, 256, (1, 11, 7, 3), np.uint8)
    levels = _images(Texture("noise", "2d", pixels[0]), True)
    assert [image.shape[:2] for image in levels[:LEVELS]] == [(11, 7), (5, 3), (2, 1)]
    unit = _TextureUnit(levels, True, wp.get_device("cpu"))
    for level, image in enumerate(levels):
        out = wp.zeros(image.shape[:2], dtype=wp.vec4, device="cpu")
        wp.launch(look, dim=out.shape, inputs=[unit, level], outputs=[out], device="cpu")
        np.testing.assert_allclose(255 * out.numpy()[..., :3], image, atol=0.51)
