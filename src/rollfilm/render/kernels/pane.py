"""A view whose pixels show more than one surface each: what must be known of it, and its planes."""

from functools import cache

import warp as wp

from rollfilm.render.kernels.features import Features
from rollfilm.render.kernels.kept import sections
from rollfilm.render.kernels.mirror import Mirror, find_mirror, mirroring
from rollfilm.render.kernels.plane_row import lay_plane_row
from rollfilm.render.kernels.samples import affine_depth
from rollfilm.render.kernels.shade import Eye, pixel_ray, sight
from rollfilm.render.kernels.types import EMPTY_KEY, SceneData, ViewBatch, WorldData


@wp.struct
class Pane:
    """A view and its samples."""

    eye: Eye
    fine: Eye  # the same camera, its pixels the samples
    back: Eye  # the camera in the mirror
    fine_back: Eye
    mirror: Mirror
    width: int  # samples in a row of the picture
    size: int  # samples of the picture: keys of a section of the visibility buffer
    layered: int  # 1 if planes are layers: translucent, or seen from behind


@cache
def panes(features: Features, *, many: bool):
    """The functions that set up a view, and that put its planes into the visibility buffer, for these features.

    ``many`` is for a CPU, where planes are put into many samples at once.
    """
    make_plane, plane_key, _, _ = sight(features)
    affine = affine_depth(flat=features.flat)
    reflected_eye, mirror_slope, _, beyond = mirroring(flat=features.flat)
    first_mirrored = sections(translucent=features.translucent, mirror=False)

    @wp.func
    def make_pane(scene: SceneData, world: WorldData, eye: Eye, fine: Eye, batch: ViewBatch):
        """The view of a camera; ``batch`` are the views of samples."""
        pane = Pane()
        pane.eye = eye
        pane.fine = fine
        pane.width = batch.width
        pane.size = batch.width * batch.height
        pane.mirror.geom = -1
        if wp.static(features.mirror):
            pane.mirror = find_mirror(scene, world, eye)
            if pane.mirror.geom >= 0:
                pane.back = reflected_eye(pane.mirror, eye)
                pane.fine_back = reflected_eye(pane.mirror, fine)
        if wp.static(features.planes > 0):
            for p in range(scene.plane.shape[0]):
                plane = make_plane(scene, world, eye, scene.plane[p])
                if plane.seen == -1 or (plane.seen == 1 and scene.geom_alpha[eye.world, plane.geom] < 1.0):
                    pane.layered = 1
        return pane

    @wp.func
    def lay_planes(scene: SceneData, world: WorldData, pane: Pane, vis: wp.array2d(dtype=wp.uint64), row: int, x0: int, y: int, count: int):
        """Opaque planes into ``count`` samples from column ``x0`` of row ``y`` on, and into those of the mirror."""
        at = y * pane.width + x0
        for p in range(scene.plane.shape[0]):
            geom = scene.plane[p]
            plane = make_plane(scene, world, pane.fine, geom)
            if plane.seen == 1 and scene.geom_alpha[pane.fine.world, geom] == 1.0:
                if wp.static(many and not features.flat):
                    lay_plane_row(vis, row, at, pane.fine, plane, scene.near, scene.far, x0, y, count)
                else:
                    j = int(0)
                    while j < count:
                        vis[row, at + j] = wp.min(vis[row, at + j], plane_key(scene, plane, pixel_ray(pane.fine, x0 + j, y)))
                        j += 1
                if wp.static(features.mirror):
                    image = make_plane(scene, world, pane.fine_back, geom)
                    if pane.mirror.geom >= 0 and geom != pane.mirror.geom and image.seen == 1:
                        slope = mirror_slope(pane.mirror, pane.fine)
                        first = wp.static(first_mirrored) * pane.size + at
                        j = int(0)
                        while j < count:
                            ray = pixel_ray(pane.fine_back, x0 + j, y)
                            limit = wp.dot(slope, pixel_ray(pane.fine, x0 + j, y))
                            key = plane_key(scene, image, ray)
                            key = wp.where(beyond(affine(wp.dot(image.inverse_depth, ray)), limit), key, EMPTY_KEY)
                            vis[row, first + j] = wp.min(vis[row, first + j], key)
                            j += 1

    return make_pane, lay_planes
