"""The shares of lights that reach what a view sees: of a chunk of a row on a CPU, of one pixel on a GPU."""

from functools import cache

import warp as wp

from rollfilm.render.kernels.features import Features
from rollfilm.render.kernels.shade import Eye, ray_at, sight
from rollfilm.render.kernels.shadow_lookup import beside_map, blocked, light_through, make_screen, point_on_map
from rollfilm.render.kernels.types import LightView, SceneData, WorldData

CHUNK = wp.constant(64)
ChunkOfFloats = wp.types.vector(length=64, dtype=wp.float32)
ChunkOfInts = wp.types.vector(length=64, dtype=wp.int32)
LightNumbers = wp.types.vector(length=20, dtype=wp.float32)


@wp.func
def map_row(world: WorldData, w: int, k: int):
    """The row of ``WorldData.shadow_map`` that holds the map of the k-th of the lights that cast shadows."""
    return (w % world.maps_at_once) * world.light_view.shape[1] + k


@wp.func
def error_at(eye: Eye, depth: float):
    """Metres that a surface at a depth may lie from the true one."""
    return eye.blur * depth


@wp.func
def flat_error(eye: Eye, depth: float):
    """The same for an orthographic camera."""
    return eye.blur


@cache
def shares_of(shadows: int):
    """The vector of what reaches one pixel of that many lights."""
    return wp.types.vector(length=shadows, dtype=wp.float32)


@cache
def chunk_shares(features: Features) -> wp.Function:
    """The function that looks up a chunk of pixels: (lights that cast shadows * 64) shares from 0 to 1, light by light."""
    shadows, planes = len(features.shadows), features.planes
    make_point = sight(features).make_point
    surface_error = flat_error if features.flat else error_at
    ChunkOfShares = wp.types.vector(length=64 * shadows, dtype=wp.float32)

    @wp.func
    def shares(
        scene: SceneData,
        world: WorldData,
        eye: Eye,
        depth: ChunkOfFloats,
        normal_x: ChunkOfFloats,
        normal_y: ChunkOfFloats,
        normal_z: ChunkOfFloats,
        place_x: ChunkOfFloats,
        place_y: ChunkOfFloats,
        count: int,
        straight: int,
    ):
        """``straight`` is 1 if the points lie on a line in their order, on the only plane, which does not shade itself."""
        share = ChunkOfShares()
        inside = ChunkOfInts()
        column = ChunkOfFloats()
        line = ChunkOfFloats()
        nearness = ChunkOfFloats()
        for k in range(shadows):
            view = world.light_view[eye.world, k]
            some = int(0)
            looked_up = count
            if straight == 1:
                normal = wp.vec3(normal_x[0], normal_y[0], normal_z[0])
                nothing = wp.vec3(0.0)
                point = make_point(eye, ray_at(eye, place_x[0], place_y[0]), depth[0], normal, nothing, nothing)
                begin = point_on_map(view, eye.position, point.position, point.normal, surface_error(eye, depth[0]))
                z = depth[count - 1]
                point = make_point(eye, ray_at(eye, place_x[count - 1], place_y[count - 1]), z, normal, nothing, nothing)
                if beside_map(view, begin, point_on_map(view, eye.position, point.position, point.normal, surface_error(eye, z))):
                    looked_up = 0
                    j = int(0)
                    while j < count:
                        share[k * CHUNK + j] = 1.0
                        j += 1
            j = int(0)
            while j < looked_up:
                normal = wp.vec3(normal_x[j], normal_y[j], normal_z[j])
                point = make_point(eye, ray_at(eye, place_x[j], place_y[j]), depth[j], normal, wp.vec3(0.0), wp.vec3(0.0))
                found = point_on_map(view, eye.position, point.position, point.normal, surface_error(eye, depth[j]))
                inside[j] = found.inside
                column[j] = found.column
                line[j] = found.row
                nearness[j] = found.nearness
                share[k * CHUNK + j] = 1.0
                some += found.inside
                j += 1
            if some > 0:
                j = int(0)
                while j < count:
                    # where the map has nothing to say its corner is looked up, which is always there
                    part = light_through(
                        world.shadow_map,
                        map_row(world, eye.world, k),
                        world.map_pitch,
                        wp.where(inside[j] == 1, column[j], 1.5),
                        wp.where(inside[j] == 1, line[j], 1.5),
                        nearness[j],
                    )
                    share[k * CHUNK + j] = wp.where(inside[j] == 1, part, 1.0)
                    j += 1
            if wp.static(planes > 0):
                for p in range(wp.where(straight == 1, 0, scene.plane.shape[0])):
                    screen = make_screen(scene, world, eye.world, scene.plane[p], eye.position)
                    j = int(0)
                    while j < count:
                        point = make_point(eye, ray_at(eye, place_x[j], place_y[j]), depth[j], wp.vec3(0.0), wp.vec3(0.0), wp.vec3(0.0))
                        hit = blocked(screen, view, eye.position, point.position)
                        share[k * CHUNK + j] = wp.where(hit == 1, 0.0, share[k * CHUNK + j])
                        j += 1
        return share

    return shares


# A struct of Warp is read number by number.
@wp.func_native("""
    const char* const from = (const char*)views.data + w * (size_t)views.strides[0] + k * (size_t)views.strides[1];
    wp::vec_t<20, float> all;
#if defined(__CUDA_ARCH__)
    for (int i = 0; i < 5; ++i) {
        const float4 part = ((const float4*)from)[i];
        all[4 * i] = part.x;
        all[4 * i + 1] = part.y;
        all[4 * i + 2] = part.z;
        all[4 * i + 3] = part.w;
    }
#else
    for (int i = 0; i < 20; ++i)
        all[i] = ((const float*)from)[i];
#endif
    return all;
""")
def light_numbers(views: wp.array2d(dtype=LightView), w: int, k: int) -> LightNumbers:
    """All numbers of a light's view, integers as bits."""


@wp.func
def light_view_at(views: wp.array2d(dtype=LightView), w: int, k: int):
    """How a light sees its map, read sixteen bytes at a time."""
    n = light_numbers(views, w, k)
    view = LightView()
    view.from_world = wp.mat33(n[0], n[1], n[2], n[3], n[4], n[5], n[6], n[7], n[8])
    view.origin = wp.vec3(n[9], n[10], n[11])
    view.perspective = wp.cast(n[12], wp.int32)
    view.reach = n[13]
    view.scale = n[14]
    view.center = wp.vec2(n[15], n[16])
    view.width = wp.cast(n[17], wp.int32)
    view.height = wp.cast(n[18], wp.int32)
    view.ambient = wp.cast(n[19], wp.int32)
    return view


@cache
def point_shares(features: Features, *, on_plane: bool = False) -> wp.Function:
    """The function that looks up one pixel: a share from 0 to 1 of each light that casts shadows.

    ``on_plane`` is for points of the only plane, which does not shade itself.
    """
    shadows = len(features.shadows)
    screens = features.planes > (1 if on_plane else 0)
    make_point = sight(features).make_point
    surface_error = flat_error if features.flat else error_at
    Shares = shares_of(shadows)

    @wp.func
    def shares(scene: SceneData, world: WorldData, eye: Eye, depth: float, normal: wp.vec3, ray: wp.vec3):
        share = Shares()
        point = make_point(eye, ray, depth, normal, wp.vec3(0.0), wp.vec3(0.0))
        for k in range(shadows):
            view = light_view_at(world.light_view, eye.world, k)
            found = point_on_map(view, eye.position, point.position, point.normal, surface_error(eye, depth))
            part = float(1.0)
            if found.inside == 1:
                row = map_row(world, eye.world, k)
                part = light_through(world.shadow_map, row, world.map_pitch, found.column, found.row, found.nearness)
            share[k] = part
        if wp.static(screens):
            for p in range(scene.plane.shape[0]):
                screen = make_screen(scene, world, eye.world, scene.plane[p], eye.position)
                for k in range(shadows):
                    if blocked(screen, light_view_at(world.light_view, eye.world, k), eye.position, point.position) == 1:
                        share[k] = 0.0
        return share

    return shares
