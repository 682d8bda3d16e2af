"""Colours, materials and textures of MuJoCo models."""

# MuJoCo ships no types for what its binding exports.
# pyright: reportAttributeAccessIssue=false

from collections.abc import Sequence
from typing import Literal

import mujoco
import numpy as np
from numpy.typing import NDArray

from rollfilm.errors import ModelError
from rollfilm.scene.material import Material, Texture
from rollfilm.scene.mujoco_things import Thing
from rollfilm.scene.mujoco_values import vector3, vector4
from rollfilm.scene.scene import Geom

__all__ = ["cube_mapping", "material_of", "model_textures", "require_readable", "texture_mapping", "thing_material"]

#: What MuJoCo's compiler writes where a geom has no colour of its own.
_NO_COLOUR = (0.5, 0.5, 0.5, 1.0)

#: The role of the texture that is multiplied with the colour; MuJoCo's renderer ignores the other roles.
_BASE_COLOUR = int(mujoco.mjtTextureRole.mjTEXROLE_RGB)

_KINDS: dict[int, Literal["2d", "cube", "skybox"]] = {
    int(mujoco.mjtTexture.mjTEXTURE_2D): "2d",
    int(mujoco.mjtTexture.mjTEXTURE_CUBE): "cube",
    int(mujoco.mjtTexture.mjTEXTURE_SKYBOX): "skybox",
}


def thing_material(model: mujoco.MjModel, thing: Thing) -> Material:
    """What a geom or site is made of.

    Its own colour counts if it has no material or if that colour is not the compiler's default, else the material's
    (``setMaterial`` in MuJoCo's engine_vis_visualize.c). Without a material the finish is that of ``mjv_initGeom``.
    """
    return material_of(model, thing.material, thing.rgba)


def material_of(model: mujoco.MjModel, material: int, own: tuple[float, float, float, float]) -> Material:
    """The same for a material, -1 for none, and a colour (4,)."""
    if material < 0:
        return Material(rgba=own)
    return Material(
        rgba=own if own != _NO_COLOUR else vector4(model.mat_rgba[material]),
        specular=float(model.mat_specular[material]),
        shininess=float(model.mat_shininess[material]),
        emission=float(model.mat_emission[material]),
        reflectance=float(model.mat_reflectance[material]),
        texture=int(model.mat_texid[material, _BASE_COLOUR]),
        name=model.mat(material).name,
    )


def texture_mapping(model: mujoco.MjModel, thing: Thing, *, own_uvs: bool) -> tuple[tuple[float, float], tuple[float, float]]:
    """Scale and offset from a geom's own texture coordinates, or where it has none from the x and y of a point in its frame, to places in
    its texture, v up from the image's last row.

    As MuJoCo 4.0 draws, with t from the image's first row: coordinates of meshes, primitives and planes are multiplied with ``texrepeat``,
    and with ``texuniform`` also with the geom's size (where it is finite). Those of a plane are (x + size) / (2 size) and
    (size - y) / (2 size), or x / 2 and -y / 2 along infinite sides; half an image is taken off both if one side is infinite. Meshes and
    height fields without coordinates have s = r x / 2 - 1/2 and t = -r y / 2 - 1/2 with ``texrepeat`` r over the size, or r itself with
    ``texuniform`` (``settexture`` in render_gl3.c).
    """
    material, kind = thing.material, thing.type
    if material < 0:
        return (1.0, 1.0), (0.0, 0.0)
    size = list(thing.size[:2])
    if kind in (mujoco.mjtGeom.mjGEOM_SPHERE, mujoco.mjtGeom.mjGEOM_CAPSULE, mujoco.mjtGeom.mjGEOM_CYLINDER):
        size[1] = size[0]
    repeat = [float(x) for x in model.mat_texrepeat[material]]
    uniform = bool(model.mat_texuniform[material])
    times = [r * s if uniform and s > 0 else r for r, s in zip(repeat, size, strict=True)]
    if own_uvs:
        return (times[0], times[1]), (0.0, 1.0 - times[1])
    scale = [0.5 * t / s if s > 0 else 0.5 * t for t, s in zip(times, size, strict=True)]
    if kind != mujoco.mjtGeom.mjGEOM_PLANE:
        return (scale[0], scale[1]), (0.5, 0.5)
    shift = 0.5 if min(size) <= 0 else 0.0
    left = 0.5 * times[0] if size[0] > 0 else 0.0
    top = 0.5 * times[1] if size[1] > 0 else 0.0
    return (scale[0], scale[1]), (left - shift, 1.0 - top + shift)


def cube_mapping(model: mujoco.MjModel, thing: Thing) -> tuple[tuple[float, float, float], tuple[float, float]]:
    """From a point in a geom's frame to a direction in its cube texture (``Geom.cube_scale`` and ``Geom.cube_cap``).

    MuJoCo takes the point in the coordinates of the display list, which for primitives is a shape of size 1, and with ``texuniform``
    multiplies it with the size (``settexture`` and ``renderGeom`` in render_gl3.c). Each half sphere of a capsule is a list of its own.
    """
    kind, (x, y, z) = thing.type, thing.size
    if kind in (mujoco.mjtGeom.mjGEOM_SPHERE, mujoco.mjtGeom.mjGEOM_CAPSULE, mujoco.mjtGeom.mjGEOM_CYLINDER):
        x, y, z = x, x, x if kind == mujoco.mjtGeom.mjGEOM_SPHERE else y
    of_list = kind in (mujoco.mjtGeom.mjGEOM_PLANE, mujoco.mjtGeom.mjGEOM_HFIELD, mujoco.mjtGeom.mjGEOM_MESH, mujoco.mjtGeom.mjGEOM_SDF)
    uniform = thing.material >= 0 and bool(model.mat_texuniform[thing.material])
    scale = tuple((s if uniform else 1.0) / (1.0 if of_list else s or 1.0) for s in (x, y, z))
    cap = (z, z / x) if kind == mujoco.mjtGeom.mjGEOM_CAPSULE and x > 0 else (0.0, 0.0)
    return vector3(scale), cap


#: How a file begins that MuJoCo hands on as it is, to renderers that decode it.
_ENCODED = {b"\xabKTX": "KTX"}


def require_readable(model: mujoco.MjModel, geoms: Sequence[Geom]) -> None:
    """Make sure that the textures of ``geoms`` are images.

    Raises:
        ModelError: one is a file that MuJoCo did not decode; the message names it and a geom that has it.
    """
    for geom in geoms:
        if geom.material.texture >= 0 and (form := _encoding(model, geom.material.texture)):
            name = model.texture(geom.material.texture).name or geom.material.texture
            of = f"{geom.kind} {geom.name!r}" if geom.name else f"{geom.kind} {geom.source_id}"
            raise ModelError(f"texture {name!r} of {of} cannot be read: it is a {form} file; give it as PNG")


def _encoding(model: mujoco.MjModel, texture: int) -> str | None:
    start = int(model.tex_adr[texture])
    return _ENCODED.get(model.tex_data[start : start + 4].tobytes()) if model.tex_nchannel[texture] == 1 else None


def model_textures(model: mujoco.MjModel) -> tuple[tuple[Texture, ...], int]:
    """All textures of a model under their own ids, and the id of the skybox, -1 if there is none.

    What is no image is one white texel (see :func:`require_readable`).
    """
    textures = tuple(_texture(model, i) for i in range(model.ntex))
    skyboxes = [i for i, texture in enumerate(textures) if texture.kind == "skybox"]
    return textures, skyboxes[0] if skyboxes else -1


def _texture(model: mujoco.MjModel, texture: int) -> Texture:
    if _encoding(model, texture):
        return Texture(name=model.texture(texture).name or f"texture_{texture}", kind="2d", pixels=np.full((1, 1, 3), 255, np.uint8))
    height, width, channels = (int(x[texture]) for x in (model.tex_height, model.tex_width, model.tex_nchannel))
    start = int(model.tex_adr[texture])
    pixels = np.array(model.tex_data[start : start + height * width * channels], dtype=np.uint8).reshape(height, width, channels)
    pixels = np.repeat(pixels[..., :1], 3, axis=-1) if channels < 3 else pixels[..., :3]
    if model.tex_colorspace[texture] == mujoco.mjtColorSpace.mjCOLORSPACE_SRGB:
        pixels = _as_opengl_reads_srgb(pixels)
    kind = _KINDS[int(model.tex_type[texture])]
    if kind != "2d":
        # one square image stands for all six sides
        pixels = pixels.reshape(-1, width, width, 3) if height == 6 * width else np.broadcast_to(pixels, (6, width, width, 3))
    return Texture(name=model.texture(texture).name or f"texture_{texture}", kind=kind, pixels=np.ascontiguousarray(pixels))


def _as_opengl_reads_srgb(pixels: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Decode bytes marked as sRGB (IEC 61966-2-1): OpenGL does when it samples them, and MuJoCo never encodes them again."""
    value = np.arange(256) / 255.0
    linear = np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4)
    return np.rint(255.0 * linear).astype(np.uint8)[pixels]
