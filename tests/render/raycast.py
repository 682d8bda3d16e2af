"""A ray caster that tries every triangle for every pixel, in float64: slow and simple, what rasterised pictures are held to."""

from dataclasses import dataclass

import numpy as np

from rollfilm import geometry

#: Pixels by which rays are moved to find those near an edge.
HAIR = 1e-3


@dataclass(frozen=True, eq=False)
class Cast:
    """What rays meet: arrays (H, W).

    Attributes:
        segmentation: ids, -1 for nothing.
        depth_m: along the optical axis, 0 for nothing.
        edge: whether a ray a hair beside sees another geom, or two geoms lie at the same depth.
        spread: the largest difference of depth to a ray a hair beside.
    """

    segmentation: np.ndarray
    depth_m: np.ndarray
    edge: np.ndarray
    spread: np.ndarray


def camera_axes(camera) -> tuple[np.ndarray, np.ndarray]:
    """Position (3,) and rotation (3, 3) of a camera that is fixed in the world."""
    return np.array(camera.placement.position), geometry.matrix_from_quat(np.array(camera.placement.quat_wxyz))


def pixel_rays(camera, height: int, width: int, right: float = 0.0, down: float = 0.0) -> np.ndarray:
    """Rays (H * W, 3) through pixel centres moved by a part of a pixel, in world axes, one metre along the optical axis."""
    x, y = sensor_points(camera, height, width, right, down)
    if camera.orthographic:
        x, y = np.zeros_like(x), np.zeros_like(y)
    return np.stack([x, y, -np.ones_like(x)], axis=-1).reshape(-1, 3) @ camera_axes(camera)[1].T


def pixel_origins(camera, height: int, width: int, right: float = 0.0, down: float = 0.0) -> np.ndarray:
    """Where the rays (H * W, 3) begin, in world axes from the camera: all at 0 but for an orthographic camera."""
    x, y = sensor_points(camera, height, width, right, down)
    if not camera.orthographic:
        x, y = np.zeros_like(x), np.zeros_like(y)
    return np.stack([x, y, np.zeros_like(x)], axis=-1).reshape(-1, 3) @ camera_axes(camera)[1].T


def sensor_points(camera, height: int, width: int, right: float, down: float) -> tuple[np.ndarray, np.ndarray]:
    """x and y (H, W) of pixel centres at one metre of depth, upwards."""
    rows, columns = np.mgrid[0:height, 0:width]
    if camera.orthographic:
        fx = fy = height / camera.extent_y_m
        cx, cy = width / 2, height / 2
    elif camera.fx is None:
        fx = fy = 0.5 * height / np.tan(0.5 * camera.fov_y_rad)
        cx, cy = width / 2, height / 2
    else:
        across, along = width / (camera.width or width), height / (camera.height or height)
        fx, fy, cx, cy = camera.fx * across, camera.fy * along, camera.cx * across, camera.cy * along
    return (columns + 0.5 + right - cx) / fx, -(rows + 0.5 + down - cy) / fy


def rays_inside_sphere(camera, height, width, radius):
    """Pixels (H, W) whose rays pass through a sphere around the origin."""
    rays = pixel_rays(camera, height, width)
    rays /= np.linalg.norm(rays, axis=1, keepdims=True)
    eye = camera_axes(camera)[0]
    return (np.linalg.norm(np.cross(rays, eye), axis=1) < radius).reshape(height, width)


def mesh_depths(corners: np.ndarray, rays: np.ndarray, origins: np.ndarray, near: float) -> np.ndarray:
    """Depth (rays,) of the nearest front face among triangles (T, 3, 3) seen from the camera; infinite where there is none."""
    a, b, c = corners[:, 0], corners[:, 1], corners[:, 2]
    normal = np.cross(b - a, c - a)
    # height of each ray's origin under each triangle's plane; (p - o) x (q - o) = p x q - o x (q - p)
    height = np.einsum("ti,ti->t", normal, a) - origins @ normal.T
    turned = np.cross(rays, origins)
    weights = [rays @ np.cross(p, q).T - turned @ (q - p).T for p, q in ((b, c), (c, a), (a, b))]
    inside = np.all([weight <= 0 for weight in weights], axis=0) & (rays @ normal.T < 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        depth = height / (rays @ normal.T)
    return np.where(inside & (depth >= near), depth, np.inf).min(axis=1, initial=np.inf)


def plane_depths(geom, position, rotation, rays, origins, near: float, far: float) -> np.ndarray:
    """Depth (rays,) of a plane, infinite where it is not there."""
    height = (position - origins) @ rotation[:, 2]
    with np.errstate(divide="ignore", invalid="ignore"):
        depth = height / (rays @ rotation[:, 2])
        local = (rays * depth[:, None] + origins - position) @ rotation
    there = (depth >= near) & (depth <= far)
    for axis, half in enumerate(geom.plane_half_size):
        if half > 0:
            there &= np.abs(local[:, axis]) <= half
    return np.where(there, depth, np.inf)


def geom_depths(scene, camera, rays: np.ndarray, origins: np.ndarray | float = 0.0) -> np.ndarray:
    """Depth (geoms, rays) of each geom; all bodies are at the origin."""
    eye, _ = camera_axes(camera)
    origins = np.broadcast_to(origins, rays.shape)
    depths = []
    for geom in scene.geoms:
        rotation = geometry.matrix_from_quat(np.array(geom.quat_wxyz, float))
        position = np.array(geom.position) - eye
        if geom.mesh < 0:
            depths.append(plane_depths(geom, position, rotation, rays, origins, scene.near_m, scene.far_m))
        else:
            level = scene.meshes[geom.mesh].levels[0]
            corners = (level.vertices.astype(float) @ rotation.T + position)[level.triangles]
            depths.append(mesh_depths(corners, rays, origins, scene.near_m))
    return np.stack(depths)


def cast(scene, camera, height: int, width: int, hair: float = HAIR) -> Cast:
    """What a camera fixed in the world sees of the finest levels of a scene whose bodies are all at the origin."""
    ids = np.array([geom.source_id for geom in scene.geoms])

    def look(right, down):
        rays = pixel_rays(camera, height, width, right, down)
        depths = geom_depths(scene, camera, rays, pixel_origins(camera, height, width, right, down))
        nearest = np.sort(np.concatenate([depths, np.full_like(depths[:1], np.inf)]), axis=0)
        depth = nearest[0]
        seen = np.where(np.isfinite(depth), ids[depths.argmin(axis=0)], -1)
        tie = np.isfinite(nearest[1]) & (nearest[1] < (1 + 1e-4) * depth)
        return seen, np.where(np.isfinite(depth), depth, 0.0), tie

    seen, depth, edge = look(0, 0)
    spread = np.zeros_like(depth)
    for right, down in ((-hair, -hair), (-hair, hair), (hair, -hair), (hair, hair)):
        other, other_depth, tie = look(right, down)
        edge |= tie | (other != seen)
        spread = np.maximum(spread, np.abs(other_depth - depth))
    return Cast(*(array.reshape(height, width) for array in (seen, depth, edge, spread)))
