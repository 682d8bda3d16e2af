"""Where geoms, cameras and lights are in the world, from the poses of the bodies."""

import warp as wp

from rollfilm.cpu_flags import VECTOR_FLAGS
from rollfilm.render.kernels.types import SceneData, WorldData

wp.set_module_options({"cpu_compiler_flags": VECTOR_FLAGS})

FIXED = wp.constant(0)
TRACK = wp.constant(1)
TRACK_COM = wp.constant(2)
TARGET_BODY = wp.constant(3)
TARGET_BODY_COM = wp.constant(4)

# bits of ``Placements.moved``
OWN_POSITION = wp.constant(1)
OWN_ROTATION = wp.constant(2)
TURNED = wp.constant(4)  # by an offset and a rotation in its own axes
SHIFTED = wp.constant(8)  # by an offset in the world's axes


@wp.struct
class Poses:
    """The bodies of all worlds, as the engine gives them."""

    position: wp.array2d(dtype=wp.vec3)  # (B, bodies)
    quat_wxyz: wp.array2d(dtype=wp.vec4)  # (B, bodies)
    center_of_mass: wp.array(dtype=wp.vec4)  # (bodies,) in the body's frame, and the mass
    subtree_first: wp.array(dtype=int)  # (bodies + 1,) where the list of the bodies of a subtree begins
    subtree_body: wp.array(dtype=int)


@wp.struct
class Placements:
    """How cameras, then lights, hang on bodies (``rollfilm.scene.Placement``), and what worlds change in that.

    Changes are (B, cameras + lights). ``moved`` adds up what of them counts; where no world changes anything it has a stride of 0, and
    the others are empty.
    """

    body: wp.array(dtype=int)
    position: wp.array(dtype=wp.vec3)
    rotation: wp.array(dtype=wp.mat33)
    follow: wp.array(dtype=int)
    target: wp.array(dtype=int)
    moved: wp.array2d(dtype=int)
    own_position: wp.array2d(dtype=wp.vec3)  # in the world's frame
    own_rotation: wp.array2d(dtype=wp.mat33)
    offset: wp.array2d(dtype=wp.vec3)
    turn: wp.array2d(dtype=wp.mat33)
    filmed: wp.array(dtype=int)  # (cameras,) 1 if this call films the camera: others stay where their pictures saw them


@wp.func
def rotation_matrix(q: wp.vec4):
    """World from body, of a wxyz quaternion."""
    w = q[0]
    x = q[1]
    y = q[2]
    z = q[3]
    return wp.mat33(
        1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y),
        2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x),
        2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y),
    )  # fmt: skip


@wp.func
def subtree_center(poses: Poses, world: int, body: int):
    """Centre of mass of a body and all that hangs on it; that of the body alone where they weigh nothing."""
    total = float(0.0)
    weighted = wp.vec3(0.0)
    for k in range(poses.subtree_first[body], poses.subtree_first[body + 1]):
        i = poses.subtree_body[k]
        com = poses.center_of_mass[i]
        local = wp.vec3(com[0], com[1], com[2])
        weighted += com[3] * (rotation_matrix(poses.quat_wxyz[world, i]) * local + poses.position[world, i])
        total += com[3]
    if total <= 0.0:
        com = poses.center_of_mass[body]
        return rotation_matrix(poses.quat_wxyz[world, body]) * wp.vec3(com[0], com[1], com[2]) + poses.position[world, body]
    return weighted / total


@wp.func
def look_at(eye: wp.vec3, target: wp.vec3):
    """Camera axes at ``eye`` that look at ``target``, the world's z up."""
    backward = wp.normalize(eye - target)
    if wp.length(backward) < 0.5:
        backward = wp.vec3(0.0, 0.0, 1.0)
    right = wp.vec3(-backward[1], backward[0], 0.0)
    if wp.length(right) < 1.0e-6:
        right = wp.vec3(1.0, 0.0, 0.0)
    right = wp.normalize(right)
    up = wp.cross(backward, right)
    return wp.matrix_from_cols(right, up, backward)


@wp.func
def place_one(poses: Poses, placements: Placements, world: int, i: int):
    """Position and rotation of one camera or light."""
    body = placements.body[i]
    follow = placements.follow[i]
    position = placements.position[i]
    rotation = placements.rotation[i]
    if follow == TRACK:
        position = poses.position[world, body] + position
    elif follow == TRACK_COM:
        position = subtree_center(poses, world, body) + position
    else:
        body_rotation = rotation_matrix(poses.quat_wxyz[world, body])
        position = body_rotation * position + poses.position[world, body]
        rotation = body_rotation * rotation
        if follow == TARGET_BODY:
            rotation = look_at(position, poses.position[world, placements.target[i]])
        elif follow == TARGET_BODY_COM:
            rotation = look_at(position, subtree_center(poses, world, placements.target[i]))
    return position, rotation


@wp.func
def move(placements: Placements, world: int, i: int, position: wp.vec3, rotation: wp.mat33):
    """Where a camera or light is after what its world changes."""
    moved = placements.moved[world, i]
    here = position
    axes = rotation
    if moved != 0:
        if (moved & OWN_POSITION) != 0:
            here = placements.own_position[world, i]
        if (moved & OWN_ROTATION) != 0:
            axes = placements.own_rotation[world, i]
        if (moved & TURNED) != 0:
            here += axes * placements.offset[world, i]
            axes = axes * placements.turn[world, i]
        if (moved & SHIFTED) != 0:
            here += placements.offset[world, i]
    return here, axes


@wp.func
def scaled_columns(m: wp.mat33, s: wp.vec3):
    """A matrix after a scaling of the axes that it is applied to."""
    return wp.mat33(
        m[0, 0] * s[0], m[0, 1] * s[1], m[0, 2] * s[2],
        m[1, 0] * s[0], m[1, 1] * s[1], m[1, 2] * s[2],
        m[2, 0] * s[0], m[2, 1] * s[1], m[2, 2] * s[2],
    )  # fmt: skip


@wp.func
def caster_sphere(scene: SceneData, w: int, geom: int, rotation: wp.mat33, position: wp.vec3):
    """Centre and radius of a sphere around a geom; the radius is -1 if it is not drawn into shadow maps."""
    mesh = scene.geom_mesh[w, geom]
    if mesh < 0:
        return wp.vec4(0.0, 0.0, 0.0, -1.0)
    center = rotation * scene.mesh_center[mesh] + position
    return wp.vec4(center[0], center[1], center[2], scene.geom_stretch[w, geom] * scene.mesh_radius[mesh])


@wp.kernel(enable_backward=False)
def place(first_world: int, num_geoms: int, num_cameras: int, poses: Poses, placements: Placements, scene: SceneData, world: WorldData):
    """One thread a world and thing: geoms first, then cameras, then lights."""
    w, i = wp.tid()
    w += first_world
    if world.active[w] == 0:
        return
    if i < num_geoms:
        body = scene.geom_body[i]
        rotation = rotation_matrix(poses.quat_wxyz[w, body])
        axes = rotation * scene.geom_rotation[i]
        scale = scene.geom_scale[w, i]
        # one array stands for both where no geom has a size of its own
        world.geom_normal[w, i] = scaled_columns(axes, wp.vec3(1.0 / scale[0], 1.0 / scale[1], 1.0 / scale[2]))
        world.geom_rotation[w, i] = scaled_columns(axes, scale)
        position = rotation * scene.geom_position[i] + poses.position[w, body]
        world.geom_position[w, i] = position
        if world.caster.shape[0] > 0:
            world.caster[w, i] = caster_sphere(scene, w, i, scaled_columns(axes, scale), position)
    else:
        k = i - num_geoms
        if k < num_cameras and placements.filmed[wp.min(k, num_cameras - 1)] == 0:
            return
        position, rotation = place_one(poses, placements, w, k)
        position, rotation = move(placements, w, k, position, rotation)
        if k < num_cameras:
            world.camera_position[w, k] = position
            world.camera_rotation[w, k] = rotation
        else:
            world.light_position[w, k - num_cameras] = position
            world.light_direction[w, k - num_cameras] = rotation * wp.vec3(0.0, 0.0, -1.0)
