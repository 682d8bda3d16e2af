"""The colours of views whose pixels show more than one surface each: how a GPU shades them, one thread for a few pixels of a column."""

from functools import cache

import warp as wp

from rollfilm.render.kernels.composite_pixel import pixel_composing
from rollfilm.render.kernels.features import Features
from rollfilm.render.kernels.kept import sections
from rollfilm.render.kernels.pane import panes
from rollfilm.render.kernels.samples import grid_side
from rollfilm.render.kernels.shade import Surface, make_eye, store_color
from rollfilm.render.kernels.shade_pixel import BLOCK
from rollfilm.render.kernels.types import EMPTY_KEY, Pictures, SceneData, ViewBatch, WorldData


@cache
def composite_kernel(features: Features):
    """The kernel for these features."""
    side = grid_side(features.samples)
    num_sections = sections(translucent=features.translucent, mirror=features.mirror)
    make_pane, lay_planes = panes(features, many=False)
    compose_pixel = pixel_composing(features, hardware=True)

    @wp.kernel(enable_backward=False, module="unique", module_options={"fast_math": True}, launch_bounds=(BLOCK, 4))
    def composite(
        first_view: int,
        rows: int,
        scene: SceneData,
        world: WorldData,
        batch: ViewBatch,
        fine: ViewBatch,
        vis: wp.array2d(dtype=wp.uint64),
        pictures: Pictures,
    ):
        """One thread for ``rows`` pixels of a column; ``fine`` are the views of samples. Leaves the visibility buffer empty.

        Where it colours the rare view it leaves the buffer as it was, for the kernel that measures.
        """
        row, chunk, x = wp.tid()
        v = row + first_view
        if world.active[v % batch.num_worlds] == 0:
            return
        eye = make_eye(world, batch, v)
        pane = make_pane(scene, world, eye, make_eye(world, fine, v), fine)
        if wp.static(features.rare):
            if pane.layered == 0:
                return
        surface = Surface()
        known = EMPTY_KEY
        for y in range(rows * chunk, wp.min(rows * (chunk + 1), batch.height)):
            if wp.static(features.planes > 0):
                for sub in range(wp.static(side)):
                    lay_planes(scene, world, pane, vis, row, wp.static(side) * x, wp.static(side) * y + sub, wp.static(side))
            color, surface, known = compose_pixel(scene, world, pane, vis, row, x, y, surface, known)
            if wp.static(not features.rare):
                for section in range(wp.static(num_sections)):
                    for sub_y in range(wp.static(side)):
                        at = section * pane.size + (wp.static(side) * y + sub_y) * pane.width + wp.static(side) * x
                        for sub_x in range(wp.static(side)):
                            vis[row, at + sub_x] = EMPTY_KEY
            store_color(pictures, v, y * batch.width + x, color)

    return composite
