"""Texture lookups: bilinear, trilinear over mip levels, cube maps."""

import warp as wp

from rollfilm.render.kernels.types import SceneData


@wp.func
def unpack(texel: wp.uint32):
    """Red, green and blue, 0 to 255, of 0x00BBGGRR."""
    return wp.vec3(
        float(texel & wp.uint32(255)),
        float((texel >> wp.uint32(8)) & wp.uint32(255)),
        float((texel >> wp.uint32(16)) & wp.uint32(255)),
    )


@wp.func
def wrap(i: int, n: int):
    """``i`` modulo ``n``, never negative."""
    r = i % n
    if r < 0:
        r += n
    return r


@wp.func
def bilinear(scene: SceneData, level: int, u: float, v: float):
    """A repeating image at (u, v), v up from its last row; 0 to 255."""
    size = scene.texture_size[level]
    first = scene.texture_first[level]
    x = (u - wp.floor(u)) * float(size[0]) - 0.5
    y = (1.0 - (v - wp.floor(v))) * float(size[1]) - 0.5
    fx = wp.floor(x)
    fy = wp.floor(y)
    tx = x - fx
    ty = y - fy
    x0 = wrap(int(fx), size[0])
    x1 = wrap(int(fx) + 1, size[0])
    y0 = first + wrap(int(fy), size[1]) * size[0]
    y1 = first + wrap(int(fy) + 1, size[1]) * size[0]
    top = unpack(scene.texel[y0 + x0]) * (1.0 - tx) + unpack(scene.texel[y0 + x1]) * tx
    bottom = unpack(scene.texel[y1 + x0]) * (1.0 - tx) + unpack(scene.texel[y1 + x1]) * tx
    return top * (1.0 - ty) + bottom * ty


@wp.func
def trilinear(scene: SceneData, texture: int, uv: wp.vec2, uv_dx: wp.vec2, uv_dy: wp.vec2):
    """A repeating image, filtered for a pixel over which ``uv`` changes by ``uv_dx`` and ``uv_dy``; 0 to 1.

    The level is that of OpenGL: the logarithm of the longer side of the pixel in texels.
    """
    first = scene.texture_level[texture]
    last = scene.texture_level[texture + 1] - 1
    size = scene.texture_size[first]
    w = float(size[0])
    h = float(size[1])
    dx = uv_dx[0] * uv_dx[0] * w * w + uv_dx[1] * uv_dx[1] * h * h
    dy = uv_dy[0] * uv_dy[0] * w * w + uv_dy[1] * uv_dy[1] * h * h
    lod = 0.5 * wp.log2(wp.max(wp.max(dx, dy), 1.0e-12))
    if lod <= 0.0 or first == last:
        return bilinear(scene, first, uv[0], uv[1]) / 255.0
    lod = wp.min(lod, float(last - first))
    whole = wp.min(int(lod), last - first - 1)
    part = lod - float(whole)
    near = bilinear(scene, first + whole, uv[0], uv[1])
    far = bilinear(scene, first + whole + 1, uv[0], uv[1])
    return (near * (1.0 - part) + far * part) / 255.0


@wp.func
def cube_map(scene: SceneData, texture: int, direction: wp.vec3):
    """Six faces (+x, -x, +y, -y, +z, -z, one below the other) seen along ``direction``; 0 to 1. OpenGL 2.1, table 3.19."""
    x = wp.abs(direction[0])
    y = wp.abs(direction[1])
    z = wp.abs(direction[2])
    face = int(0)
    major = wp.max(x, wp.max(y, z))
    s = float(0.0)
    t = float(0.0)
    if x >= y and x >= z:
        t = -direction[1]
        if direction[0] >= 0.0:
            s = -direction[2]
        else:
            face = 1
            s = direction[2]
    elif y >= z:
        s = direction[0]
        if direction[1] >= 0.0:
            face = 2
            t = direction[2]
        else:
            face = 3
            t = -direction[2]
    else:
        t = -direction[1]
        if direction[2] >= 0.0:
            face = 4
            s = direction[0]
        else:
            face = 5
            s = -direction[0]
    level = scene.texture_level[texture]
    n = scene.texture_size[level][0]
    first = scene.texture_first[level] + face * n * n
    px = wp.clamp((0.5 * s / major + 0.5) * float(n) - 0.5, 0.0, float(n - 1))
    py = wp.clamp((0.5 * t / major + 0.5) * float(n) - 0.5, 0.0, float(n - 1))
    x0 = int(px)
    y0 = int(py)
    x1 = wp.min(x0 + 1, n - 1)
    y1 = wp.min(y0 + 1, n - 1)
    tx = px - float(x0)
    ty = py - float(y0)
    top = unpack(scene.texel[first + y0 * n + x0]) * (1.0 - tx) + unpack(scene.texel[first + y0 * n + x1]) * tx
    bottom = unpack(scene.texel[first + y1 * n + x0]) * (1.0 - tx) + unpack(scene.texel[first + y1 * n + x1]) * tx
    return (top * (1.0 - ty) + bottom * ty) / 255.0
