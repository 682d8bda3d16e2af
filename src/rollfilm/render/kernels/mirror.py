"""The mirror of a view: the first plane, or flat face of a mesh, that reflects (MuJoCo allows one).

What a mirror shows is the scene reflected at it, seen by the same camera, as far as it then lies behind the mirror. Geoms are reflected
to be drawn; to be shaded the camera is reflected instead, so that everything is lit where it is.
"""

from functools import cache

import warp as wp

from rollfilm.render.kernels.cull import view_geom
from rollfilm.render.kernels.shade import Eye
from rollfilm.render.kernels.types import SceneData, WorldData, key_geom, key_triangle


@wp.struct
class Mirror:
    """What reflects in a view."""

    geom: int  # -1 for nothing
    share: float  # reflectance
    height: float  # of the face, in the geom's frame
    point: wp.vec3  # of the face, in the world
    normal: wp.vec3  # unit


@wp.func
def find_mirror(scene: SceneData, world: WorldData, eye: Eye):
    """The mirror of a view. A plane that is seen from behind is none; a mesh whose face is seen from behind leaves no other one."""
    mirror = Mirror()
    mirror.geom = -1
    searching = bool(True)
    for k in range(scene.mirror.shape[0]):
        geom = scene.mirror[k]
        mesh = scene.geom_mesh[eye.world, geom]
        if searching and mesh >= -1 and scene.geom_alpha[eye.world, geom] == 1.0:
            rotation = world.geom_rotation[eye.world, geom]
            normal = wp.normalize(wp.vec3(rotation[0, 2], rotation[1, 2], rotation[2, 2]))
            height = scene.mirror_height[k]
            point = world.geom_position[eye.world, geom] + rotation * wp.vec3(0.0, 0.0, height)
            front = wp.dot(normal, eye.position - point) > 1.0e-6 * scene.near
            if front or mesh >= 0:
                searching = False
            if front:
                mirror.geom = geom
                mirror.share = scene.mirror_share[k]
                mirror.height = height
                mirror.point = point
                mirror.normal = normal
    return mirror


@wp.func
def reflected_way(mirror: Mirror, way: wp.vec3):
    """A direction in the mirror."""
    return way - (2.0 * wp.dot(mirror.normal, way)) * mirror.normal


@wp.func
def reflected_geom(mirror: Mirror, world: WorldData, w: int, camera: int, geom: int):
    """Rotation and position, in the camera's frame, of a geom in the mirror. Triangles turn round."""
    camera_from_world = wp.transpose(world.camera_rotation[w, camera])
    rotation, _position = view_geom(world, w, camera, geom)
    place = world.geom_position[w, geom]
    place -= (2.0 * wp.dot(mirror.normal, place - mirror.point)) * mirror.normal
    normal = camera_from_world * mirror.normal
    rotation -= wp.outer(2.0 * normal, wp.transpose(rotation) * normal)
    return rotation, camera_from_world * (place - world.camera_position[w, camera])


@wp.func
def shows_mirror(scene: SceneData, eye: Eye, mirror: Mirror, key: wp.uint64):
    """Whether what a key shows is the face that reflects."""
    if key_geom(key) != mirror.geom:
        return False
    mesh = scene.geom_mesh[eye.world, mirror.geom]
    if mesh < 0:
        return True
    t = scene.triangle[scene.mesh_triangle[mesh] + key_triangle(key)]
    lowest = wp.min(scene.vertex[t[0]][2], wp.min(scene.vertex[t[1]][2], scene.vertex[t[2]][2]))
    return lowest >= mirror.height - 1.0e-5 * wp.abs(mirror.height)


@cache
def mirroring(*, flat: bool):
    """The functions that reflect a camera and say where its mirror is on the screen, for pinhole or orthographic cameras."""

    @wp.func
    def reflected_eye(mirror: Mirror, eye: Eye):
        """The camera in the mirror; its rays are numbered as the camera's. A pinhole's headlight stays the camera's, as in MuJoCo."""
        seen = eye
        seen.position = eye.position - (2.0 * wp.dot(mirror.normal, eye.position - mirror.point)) * mirror.normal
        seen.corner = reflected_way(mirror, eye.corner)
        seen.step_x = reflected_way(mirror, eye.step_x)
        seen.step_y = reflected_way(mirror, eye.step_y)
        if wp.static(flat):
            seen.forward = reflected_way(mirror, eye.forward)
        return seen

    @wp.func
    def mirror_slope(mirror: Mirror, eye: Eye):
        """Reciprocal depth of the mirror's plane from a ray; the depth itself for an orthographic camera."""
        height = wp.dot(mirror.normal, mirror.point - eye.position)
        if wp.static(flat):
            along = wp.dot(mirror.normal, eye.forward)
            return ((height + along) * eye.forward - mirror.normal) / along
        return mirror.normal / height

    @wp.func
    def mirror_clip(mirror: Mirror, eye: Eye):
        """The same from a point of the picture: its value in the corner, and its change to the next column and row."""
        slope = mirror_slope(mirror, eye)
        return wp.vec3(wp.dot(slope, eye.corner), wp.dot(slope, eye.step_x), wp.dot(slope, eye.step_y))

    @wp.func
    def beyond(inverse_depth: float, limit: float):
        """Whether something lies behind a mirror whose value (``mirror_slope``) is ``limit`` there."""
        if wp.static(flat):
            return inverse_depth * limit < 1.0
        return inverse_depth < limit

    return reflected_eye, mirror_slope, mirror_clip, beyond
