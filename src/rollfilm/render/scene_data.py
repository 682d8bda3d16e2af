"""A scene's description as arrays on a device."""

from dataclasses import dataclass

import numpy as np
import warp as wp
from numpy.typing import NDArray

from rollfilm.errors import InvalidArgumentError
from rollfilm.geometry import matrix_from_quat
from rollfilm.render.composite import SceneSurfaces
from rollfilm.render.deform import Deformation
from rollfilm.render.kernels.place import FIXED, TARGET_BODY, TARGET_BODY_COM, TRACK, TRACK_COM, Placements
from rollfilm.render.kernels.types import CLUSTER_SIZE, MAX_GEOMS, MAX_TRIANGLES, SceneData
from rollfilm.scene import Follow, Mesh, Placement, Scene, Texture

__all__ = ["PackedScene", "pack_placements", "pack_scene", "pack_subtrees", "worst_clusters"]

_FOLLOW = {
    Follow.FIXED: FIXED,
    Follow.TRACK: TRACK,
    Follow.TRACK_COM: TRACK_COM,
    Follow.TARGET_BODY: TARGET_BODY,
    Follow.TARGET_BODY_COM: TARGET_BODY_COM,
}


@dataclass(frozen=True, eq=False)
class PackedScene:
    """A scene on a device.

    Attributes:
        data: the structure that kernels take.
        has_textures: some geom has a texture.
        has_cubes: some geom's texture is a cube.
        surfaces: what makes pixels show more than one surface.
        spots: for every light whether it is a spot.
        casting: the lights that cast shadows.
        units: on CUDA the images that ``data`` has handles of; they live as long as this.
        deformation: what puts deforming meshes where the bodies are, None where the scene has none.
        worst_clusters: see the function.
    """

    data: SceneData  # pyright: ignore[reportInvalidTypeForm]
    has_textures: bool
    has_cubes: bool
    surfaces: SceneSurfaces
    spots: tuple[bool, ...]
    casting: tuple[int, ...]
    units: tuple[wp.Texture2D, ...]
    deformation: Deformation | None
    worst_clusters: int


def _array(values: object, dtype: object, device: wp.Device, width: int = 0) -> wp.array:
    """A device array of scalars, or of vectors of ``width``."""
    kind = np.int32 if dtype in (int, wp.vec3i, wp.vec2i) else np.float32
    host = np.ascontiguousarray(values, dtype=kind)
    shape = {0: (-1,), 9: (-1, 3, 3)}.get(width, (-1, width))
    return wp.array(host.reshape(shape), dtype=dtype, device=device)


def _by_world(values: object, dtype: object, device: wp.Device, width: int, num_worlds: int) -> wp.array:
    """What is (n,) in every world as (B, n) with a stride of 0 over the worlds: they all read the same row."""
    row = _array(values, dtype, device, width)
    shared = wp.array(ptr=row.ptr, dtype=dtype, shape=(num_worlds, row.shape[0]), strides=(0, row.strides[0]), device=device, copy=False)
    shared._keep_alive = row
    return shared


def _from_shortest_side(vertices: NDArray, triangles: NDArray[np.int32]) -> NDArray[np.int32]:
    """Triangles (T, 3), each turned until its shortest side comes first: what follows from the two sides at its first corner, as the slope
    of its depth, then has most digits if it is a sliver."""
    corners = vertices[triangles]
    sides = corners[:, [1, 2, 0]] - corners
    first = np.argmin(np.einsum("tki,tki->tk", sides, sides), axis=1)
    return np.take_along_axis(triangles, (first[:, None] + np.arange(3)) % 3, axis=1)


def _pack_meshes(data: SceneData, meshes: tuple[Mesh, ...], device: wp.Device) -> None:  # pyright: ignore[reportInvalidTypeForm]
    vertices, normals, uvs, triangles = [], [], [], []
    error, first, count, mesh_triangle, mesh_level = [], [], [], [], []
    num_vertices = num_triangles = 0
    for mesh in meshes:
        mesh_triangle.append(num_triangles)
        mesh_level.append(len(error))
        for level in mesh.levels:
            first.append(num_triangles - mesh_triangle[-1])
            count.append(len(level.triangles))
            error.append(level.error_m)
            vertices.append(level.vertices)
            normals.append(level.normals)
            uvs.append(np.zeros((len(level.vertices), 2)) if level.uvs is None else level.uvs)
            triangles.append(level.triangles + num_vertices)
            num_vertices += len(level.vertices)
            num_triangles += len(level.triangles)
        if num_triangles - mesh_triangle[-1] > MAX_TRIANGLES:
            raise InvalidArgumentError(
                f"mesh {mesh.name!r} has {num_triangles - mesh_triangle[-1]} triangles in all its levels of detail; "
                f"at most {MAX_TRIANGLES} can be drawn: simplify it"
            )

    def joined(parts: list[NDArray], width: int) -> NDArray:
        return np.concatenate(parts) if parts else np.zeros((0, width))

    data.vertex = _array(joined(vertices, 3), wp.vec3, device, 3)
    data.normal = _array(joined(normals, 3), wp.vec3, device, 3)
    data.uv = _array(joined(uvs, 2), wp.vec2, device, 2)
    order = _from_shortest_side(joined(vertices, 3), joined(triangles, 3).astype(np.int32))
    data.triangle = _array(order, wp.vec3i, device, 3)
    corners = joined(vertices, 3)[order].reshape(-1, 9)
    data.corner = wp.array(np.ascontiguousarray(corners.T, np.float32), dtype=float, device=device)
    data.level_error = _array(error, float, device)
    data.level_first = _array(first, int, device)
    data.level_count = _array(count, int, device)
    data.mesh_triangle = _array(mesh_triangle, int, device)
    data.mesh_level = _array(mesh_level, int, device)
    data.mesh_levels = _array([len(mesh.levels) for mesh in meshes], int, device)
    data.mesh_center = _array([mesh.center for mesh in meshes], wp.vec3, device, 3)
    data.mesh_radius = _array([mesh.radius for mesh in meshes], float, device)


def _pack_geoms(data: SceneData, scene: Scene, device: wp.Device, num_worlds: int) -> None:  # pyright: ignore[reportInvalidTypeForm]
    geoms = scene.geoms
    if len(geoms) > MAX_GEOMS:
        raise InvalidArgumentError(f"the scene has {len(geoms)} visible geoms; at most {MAX_GEOMS} can be drawn")
    data.geom_body = _array([g.body for g in geoms], int, device)
    data.geom_position = _array([g.position for g in geoms], wp.vec3, device, 3)
    rotations = matrix_from_quat(np.array([g.quat_wxyz for g in geoms]).reshape(-1, 4))
    data.geom_rotation = _array(rotations, wp.mat33, device, 9)
    data.geom_mesh = _by_world([g.mesh for g in geoms], int, device, 0, num_worlds)
    data.geom_scale = _by_world(np.ones((len(geoms), 3)), wp.vec3, device, 3, num_worlds)
    data.geom_stretch = _by_world(np.ones(len(geoms)), float, device, 0, num_worlds)
    data.geom_id = _array([g.source_id for g in geoms], int, device)
    data.geom_half_size = _array([g.plane_half_size for g in geoms], wp.vec2, device, 2)
    data.geom_color = _by_world([g.material.rgba[:3] for g in geoms], wp.vec3, device, 3, num_worlds)
    finish = [(g.material.emission, g.material.specular, 128.0 * g.material.shininess) for g in geoms]
    data.geom_finish = _array(finish, wp.vec3, device, 3)
    data.geom_uv = _array([(*g.uv_scale, *g.uv_offset) for g in geoms], wp.vec4, device, 4)
    local = [g.mesh < 0 or scene.meshes[g.mesh].levels[0].uvs is None for g in geoms]
    data.geom_uv_local = _array(local, int, device)
    data.geom_texture = _by_world([g.material.texture for g in geoms], int, device, 0, num_worlds)
    data.geom_cube = _array([g.cube_scale for g in geoms], wp.vec3, device, 3)
    data.geom_cube_cap = _array([g.cube_cap for g in geoms], wp.vec2, device, 2)
    surfaces = SceneSurfaces.of(scene)
    data.geom_alpha = _by_world(surfaces.alphas, float, device, 0, num_worlds)
    data.mirror = _array([geom for geom, _, _ in surfaces.mirrors], int, device)
    data.mirror_height = _array([height for _, height, _ in surfaces.mirrors], float, device)
    data.mirror_share = _array([share for _, _, share in surfaces.mirrors], float, device)
    data.plane = _array([i for i, g in enumerate(geoms) if g.mesh < 0], int, device)


def _half(images: NDArray[np.float32], axis: int) -> NDArray[np.float32]:
    """Images with half as many rows or columns, rounded down, each from the two nearest to its middle.

    Sizes are OpenGL's, which leaves open how an odd number of rows becomes one less than half. Mesa, with which MuJoCo draws where there
    is no GPU, interpolates, so that a line in the middle of an image stays as bright as it is.
    """
    size = images.shape[axis]
    if size == 1:
        return images
    middle = (np.arange(size // 2) + 0.5) * (size / (size // 2)) - 0.5
    first = np.floor(middle).astype(int)
    shape = [1] * images.ndim
    shape[axis] = -1
    share = (middle - first).astype(np.float32).reshape(shape)
    return np.take(images, first, axis) * (1 - share) + np.take(images, np.minimum(first + 1, size - 1), axis) * share


def _images(texture: Texture, on_geoms: bool) -> list[NDArray[np.uint8]]:
    """The images of a texture, (H, W, 3): all mip levels from the finest on, six faces a level if it is a cube.

    Of a sky that no geom has only the finest level is looked at.
    """
    image = texture.pixels.reshape(-1, *texture.pixels.shape[-3:])  # (1 or 6, H, W, 3)
    levels = [*image]
    image = image.astype(np.float32)
    while max(image.shape[1:3]) > 1 and (on_geoms or texture.kind != "skybox"):
        image = _half(_half(image, 1), 2)
        levels += [*np.rint(image).astype(np.uint8)]
    return levels


def _texels(image: NDArray[np.uint8], repeats: bool) -> NDArray[np.uint32]:
    """Pack the colors of an image, with one more column and row of what comes beyond its edge (``kernels/texture.py``)."""
    wide = np.pad(image.astype(np.uint32), ((0, 1), (0, 1), (0, 0)), mode="wrap" if repeats else "edge")
    packed = wide[..., 0] | (wide[..., 1] << 8) | (wide[..., 2] << 16)
    return packed.reshape(-1).astype(np.uint32)


class _TextureUnit(wp.Texture2D):
    """An image for the texture units of a GPU, with mip levels of our own: Warp's differ where a size is odd."""

    def __init__(self, levels: list[NDArray[np.uint8]], repeats: bool, device: wp.Device) -> None:
        self._given = [np.concatenate([level, np.full((*level.shape[:2], 1), 255, np.uint8)], axis=2) for level in levels]
        super().__init__(
            self._given[0],
            filter_mode=wp.TextureFilterMode.LINEAR,
            address_mode=wp.TextureAddressMode.WRAP if repeats else wp.TextureAddressMode.CLAMP,
            num_mip_levels=len(levels),
            mip_filter_mode=wp.TextureFilterMode.LINEAR,
            device=device,
        )

    def _generate_mipmap_chain(self, data_np: NDArray[np.uint8]) -> list[NDArray[np.uint8]]:
        return self._given


def _pack_textures(data: SceneData, scene: Scene, device: wp.Device) -> tuple[wp.Texture2D, ...]:  # pyright: ignore[reportInvalidTypeForm]
    texels, level, first, size, units = [np.zeros(0, np.uint32)], [0], [], [], {}
    on_geoms = {geom.material.texture for geom in scene.geoms}
    for i, texture in enumerate(scene.textures):
        repeats = texture.kind == "2d"
        images = _images(texture, i in on_geoms)
        if device.is_cuda:
            faces = 1 if repeats else 6
            units |= {level[-1] + face: _TextureUnit(images[face::faces], repeats, device) for face in range(faces)}
        for image in images:
            size.append((image.shape[1], image.shape[0]))
            if not device.is_cuda:
                first.append(sum(len(part) for part in texels))
                texels.append(_texels(image, repeats))
        level.append(len(size))
    data.texel = wp.array(np.concatenate(texels), dtype=wp.uint32, device=device)
    handles = np.zeros(len(size) if units else 0, np.uint64)
    for image, unit in units.items():
        handles[image] = unit.id
    data.texture_unit = wp.array(handles, dtype=wp.uint64, device=device)
    data.texture_level = _array(level, int, device)
    data.texture_cube = _array([texture.kind != "2d" for texture in scene.textures], int, device)
    first += [0] * (len(size) - len(first))  # texture units know where their images are
    words = [at | (width << 32) | (height << 48) for at, (width, height) in zip(first, size, strict=True)]
    data.texture_image = wp.array(np.array(words, np.uint64), dtype=wp.uint64, device=device)
    data.skybox = scene.skybox
    return tuple(units.values())


def _pack_lights(data: SceneData, scene: Scene, device: wp.Device, num_worlds: int) -> None:  # pyright: ignore[reportInvalidTypeForm]
    lights = scene.lights
    data.light_ambient = _by_world([light.ambient for light in lights], wp.vec3, device, 3, num_worlds)
    data.light_diffuse = _by_world([light.diffuse for light in lights], wp.vec3, device, 3, num_worlds)
    data.light_specular = _by_world([light.specular for light in lights], wp.vec3, device, 3, num_worlds)
    data.light_attenuation = _array([light.attenuation for light in lights], wp.vec3, device, 3)
    # a cone of 180 degrees is none: below every cosine that rounding can give
    cone = [(-2.0, 0.0) if light.kind == "point" else (np.cos(light.cutoff_rad), light.exponent) for light in lights]
    cone = [(-2.0, e) if light.cutoff_rad > np.pi - 1e-6 else (c, e) for (c, e), light in zip(cone, lights, strict=True)]
    data.light_cone = _array(cone, wp.vec2, device, 2)
    data.light_spot = _array([light.kind != "directional" for light in lights], int, device)
    data.shadow_light = _array([i for i, light in enumerate(lights) if light.cast_shadow], int, device)
    head = scene.headlight
    data.head_ambient = wp.vec3(*head.ambient) if head else wp.vec3(0.0 if lights else 0.3)
    data.head_diffuse = wp.vec3(*head.diffuse) if head else wp.vec3(0.0)
    data.head_specular = wp.vec3(*head.specular) if head else wp.vec3(0.0)


def _pack_atmosphere(data: SceneData, scene: Scene) -> None:  # pyright: ignore[reportInvalidTypeForm]
    infinite = [i for i, geom in enumerate(scene.geoms) if geom.mesh < 0 and geom.plane_half_size == (0.0, 0.0)]
    data.haze_plane = infinite[0] if infinite and scene.haze else -1
    if scene.haze:
        data.haze_width, data.haze_color = scene.haze.width, wp.vec3(*scene.haze.rgb)
    if scene.fog:
        data.fog_start, data.fog_end, data.fog_color = scene.fog.start_m, scene.fog.end_m, wp.vec3(*scene.fog.rgb)


def pack_scene(scene: Scene, device: wp.Device, num_worlds: int = 1) -> PackedScene:
    """Put ``scene`` on ``device`` for ``num_worlds`` worlds that all look alike.

    Raises:
        InvalidArgumentError: more geoms or triangles than a visibility key has room for.
    """
    data = SceneData()
    _pack_meshes(data, scene.meshes, device)
    _pack_geoms(data, scene, device, num_worlds)
    units = _pack_textures(data, scene, device)
    used = [scene.textures[geom.material.texture].kind for geom in scene.geoms if geom.material.texture >= 0]
    _pack_lights(data, scene, device, num_worlds)
    data.near, data.far = scene.near_m, scene.far_m
    data.extent = scene.extent_m
    _pack_atmosphere(data, scene)
    return PackedScene(
        data=data,
        has_textures=bool(used),
        has_cubes=any(kind != "2d" for kind in used),
        surfaces=SceneSurfaces.of(scene),
        spots=tuple(light.kind != "directional" for light in scene.lights),
        casting=tuple(i for i, light in enumerate(scene.lights) if light.cast_shadow),
        units=units,
        deformation=Deformation(data, scene, num_worlds, device) if scene.deforming else None,
        worst_clusters=worst_clusters(scene),
    )


def worst_clusters(scene: Scene) -> int:
    """Clusters that one view draws if it sees every mesh at its finest level."""
    clusters = [-(-len(mesh.levels[0].triangles) // CLUSTER_SIZE) for mesh in scene.meshes]
    return sum(clusters[geom.mesh] for geom in scene.geoms if geom.mesh >= 0)


def pack_placements(placements: list[Placement], device: wp.Device, num_worlds: int) -> Placements:  # pyright: ignore[reportInvalidTypeForm]
    """How things hang on bodies, as kernels take it."""
    data = Placements()
    data.body = _array([p.body for p in placements], int, device)
    data.position = _array([p.position for p in placements], wp.vec3, device, 3)
    data.rotation = _array(matrix_from_quat(np.array([p.quat_wxyz for p in placements]).reshape(-1, 4)), wp.mat33, device, 9)
    data.follow = _array([int(_FOLLOW[p.follow]) for p in placements], int, device)
    data.target = _array([p.target for p in placements], int, device)
    data.moved = _by_world(np.zeros(len(placements)), int, device, 0, num_worlds)
    return data


def pack_subtrees(parent: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """For every body the bodies of its subtree, itself first: where each list begins, int32 (bodies + 1,), and all lists in a row."""
    lists: list[list[int]] = [[i] for i in range(len(parent))]
    for i in range(1, len(parent)):
        ancestor = int(parent[i])
        while True:
            lists[ancestor].append(i)
            if ancestor == 0:
                break
            ancestor = int(parent[ancestor])
    first = np.cumsum([0] + [len(members) for members in lists])
    return first.astype(np.int32), np.concatenate([np.array(members) for members in lists]).astype(np.int32)
