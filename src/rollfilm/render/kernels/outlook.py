"""What all pixels of a view share, worked out once by one thread: a GPU's threads read it instead of each finding out for itself."""

from functools import cache

import warp as wp

from rollfilm.render.kernels.features import Features
from rollfilm.render.kernels.ground import Ground, ground_making
from rollfilm.render.kernels.lamps import LAMP, store_lamps
from rollfilm.render.kernels.shade import Eye, Plane, Surface, make_eye, shading, sight
from rollfilm.render.kernels.types import SceneData, ViewBatch, WorldData, surface_key
from rollfilm.render.kernels.veil import Horizon, make_horizon


@wp.struct
class Outlook:
    """What all pixels of a view share."""

    eye: Eye
    plane: Plane
    floor: Surface  # of the plane
    ground: Ground  # the same for pixels of a perspective camera
    horizon: Horizon
    colored: int  # 0 if it sees a plane from behind: then another kernel colours it (``composite_column``)


@cache
def outlook_kernel(features: Features):
    """The kernel that works out what all pixels of a view share, for these features."""
    load_surface, _ = shading(features, hardware=True)
    make_plane = sight(features).make_plane
    make_ground = ground_making(features)

    @wp.kernel(enable_backward=False, module="unique", module_options={"fast_math": True})
    def look(
        first_view: int,
        scene: SceneData,
        world: WorldData,
        batch: ViewBatch,
        outlooks: wp.array(dtype=Outlook),
        lamps: wp.array2d(dtype=float),
    ):
        """One thread a view."""
        row = wp.tid()
        v = row + first_view
        if world.active[v % batch.num_worlds] == 0:
            return
        outlook = Outlook()
        outlook.eye = make_eye(world, batch, v)
        outlook.colored = 1
        if wp.static(features.haze or features.fog):
            outlook.horizon = make_horizon(scene, world, outlook.eye)
        lights = scene.light_spot.shape[0]
        if wp.static(features.planes > 0):
            outlook.plane = make_plane(scene, world, outlook.eye, scene.plane[0])
            if wp.static(features.rgb):
                outlook.floor = load_surface(scene, world, outlook.eye, surface_key(outlook.plane.geom, 0))
                if wp.static(not features.flat):
                    if outlook.plane.seen == 1:
                        outlook.ground = make_ground(
                            scene, world, outlook.eye, outlook.plane, outlook.floor, outlook.horizon, lamps, row, wp.static(LAMP) * lights
                        )
            for p in range(scene.plane.shape[0]):
                seen = make_plane(scene, world, outlook.eye, scene.plane[p])
                if seen.seen == -1:
                    outlook.colored = 0
        outlooks[row] = outlook
        if wp.static(features.rgb):
            store_lamps(scene, world, outlook.eye.world, outlook.eye.position, lamps, row)

    return look
