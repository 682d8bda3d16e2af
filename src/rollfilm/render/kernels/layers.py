"""Translucent surfaces of a sample, from the nearest on, and how much of a sample's colour each of them makes up."""

from functools import cache

import warp as wp

from rollfilm.render.kernels.features import Features
from rollfilm.render.kernels.kept import LAYERS, sections
from rollfilm.render.kernels.mirror import shows_mirror
from rollfilm.render.kernels.pane import Pane
from rollfilm.render.kernels.shade import pixel_ray, sight
from rollfilm.render.kernels.types import EMPTY_KEY, SceneData, WorldData, key_geom, key_inverse_depth

#: Part of its opacity that a plane keeps when it is seen from behind (``renderGeom`` in MuJoCo's render_gl3.c).
UNDERSIDE = wp.constant(0.3)

#: Two surfaces of one geom that differ in depth by less than this part are one that was met twice, at an edge.
SAME_DEPTH = wp.constant(1.0e-5)


def sheets(features: Features) -> int:
    """Surfaces of a sample that are shown at most, one behind the other: an opaque one and those before it."""
    planes = min(features.planes, LAYERS)
    return 1 + (LAYERS + 1 if features.translucent else planes)


@wp.func
def further(key: wp.uint64, before: wp.uint64):
    """Whether a surface lies behind another, and is not the same that was met twice."""
    if key <= before:
        return False
    if before == wp.uint64(0) or key_geom(key) != key_geom(before):
        return True
    return key_inverse_depth(key) < (1.0 - SAME_DEPTH) * key_inverse_depth(before)


@cache
def seeing(features: Features):
    """The function that says what a sample shows, for these features."""
    make_plane, plane_key, _, _ = sight(features)
    first_mirrored = sections(translucent=features.translucent, mirror=False)
    count = sheets(features)

    @wp.func
    def next_layer(
        scene: SceneData,
        world: WorldData,
        pane: Pane,
        vis: wp.array2d(dtype=wp.uint64),
        row: int,
        at: int,
        ray: wp.vec3,
        planes: bool,
        opaque: wp.uint64,
        before: wp.uint64,
    ):
        """The nearest translucent surface behind ``before`` and before ``opaque``, and its opacity."""
        nearest = opaque
        opacity = float(0.0)
        if wp.static(features.translucent):
            for k in range(wp.static(LAYERS)):
                key = vis[row, at + (k + 1) * pane.size]
                if key < nearest and further(key, before):
                    nearest = key
                    opacity = scene.geom_alpha[pane.fine.world, key_geom(key)]
        if wp.static(features.planes > 0):
            if planes:
                for p in range(scene.plane.shape[0]):
                    plane = make_plane(scene, world, pane.fine, scene.plane[p])
                    alpha = scene.geom_alpha[pane.fine.world, plane.geom] * wp.where(plane.seen == -1, UNDERSIDE, 1.0)
                    if plane.seen != 0 and alpha < 1.0:
                        key = plane_key(scene, plane, ray)
                        if key < nearest and further(key, before):
                            nearest = key
                            opacity = alpha
        return wp.where(opacity > 0.0, nearest, EMPTY_KEY), opacity

    @wp.func
    def look_through(
        scene: SceneData,
        world: WorldData,
        pane: Pane,
        vis: wp.array2d(dtype=wp.uint64),
        row: int,
        at: int,
        ray: wp.vec3,
        planes: bool,
        opaque: wp.uint64,
        sheet: int,
    ):
        """The surface of a sheet and its weight, from all layers that begin at ``at``."""
        wanted = opaque
        own = float(0.0)
        passed = float(1.0)  # what the layers up to here let through
        before = float(1.0)  # what those before the wanted one do
        behind = float(1.0)  # and those behind it
        key, opacity = next_layer(scene, world, pane, vis, row, at, ray, planes, opaque, wp.uint64(0))
        k = int(1)
        while key != EMPTY_KEY and k < wp.static(count):
            if k == sheet:
                wanted = key
                own = opacity
                before = passed
            elif k > sheet:
                behind *= 1.0 - opacity
            passed *= 1.0 - opacity
            key, opacity = next_layer(scene, world, pane, vis, row, at, ray, planes, opaque, key)
            k += 1
        again = wp.static(1.0 if features.blend_twice else 0.0)
        if sheet > 0:
            return wp.where(own > 0.0, wanted, EMPTY_KEY), own * (before + again * passed * behind)
        if wp.static(features.blend_twice):
            passed *= passed
        return opaque, passed

    @wp.func
    def see_sample(
        scene: SceneData,
        world: WorldData,
        pane: Pane,
        vis: wp.array2d(dtype=wp.uint64),
        row: int,
        x: int,
        y: int,
        sheet: int,
        mirrored: bool,
    ):
        """What sample (x, y) shows on a sheet, and how much of its colour that is: 0 is the opaque surface, 1 the nearest layer.

        Layers cover what is behind them. As MuJoCo draws (``features.blend_twice``) all of them are laid over the picture a first
        time before, the nearest first.
        """
        at = y * pane.width + x
        opaque = vis[row, at]
        share = float(1.0)
        if mirrored:
            if not shows_mirror(scene, pane.eye, pane.mirror, opaque):
                return EMPTY_KEY, 0.0
        ray = pixel_ray(pane.fine, x, y)
        planes = pane.layered == 1
        if mirrored:
            # as much as is left of the mirror itself
            _mirror, share = look_through(scene, world, pane, vis, row, at, ray, planes, opaque, 0)
            at += wp.static(first_mirrored) * pane.size
            opaque = vis[row, at]
            planes = False
        key, weight = look_through(scene, world, pane, vis, row, at, ray, planes, opaque, sheet)
        return key, share * weight

    return see_sample
