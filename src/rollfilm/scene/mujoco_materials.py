"""Colours, materials and textures of MuJoCo models."""

# MuJoCo ships no types for what its binding exports.
# pyright: reportAttributeAccessIssue=false

from typing import Literal

import mujoco
import numpy as np
from numpy.typing import NDArray

from rollfilm.scene.material import Material, Texture
from rollfilm.scene.mujoco_values import vector4

__all__ = ["geom_material", "model_textures", "texture_mapping"]

#: What MuJoCo's compiler writes where a geom has no colour of its own.
_NO_COLOUR = (0.5, 0.5, 0.5, 1.0)

#: The role of the texture that is multiplied with the colour; MuJoCo's renderer ignores the other roles.
_BASE_COLOUR = int(mujoco.mjtTextureRole.mjTEXROLE_RGB)

_KINDS: dict[int, Literal["2d", "cube", "skybox"]] = {
    int(mujoco.mjtTexture.mjTEXTURE_2D): "2d",
    int(mujoco.mjtTexture.mjTEXTURE_CUBE): "cube",
    int(mujoco.mjtTexture.mjTEXTURE_SKYBOX): "skybox",
}


def geom_material(model: mujoco.MjModel, geom: int) -> Material:
    """What a geom is made of.

    The geom's own colour counts if it has no material or if that colour is not the compiler's default, else the material's
    (``setMaterial`` in MuJoCo's engine_vis_visualize.c). Without a material the finish is that of ``mjv_initGeom``.
    """
    own = vector4(model.geom_rgba[geom])
    material = int(model.geom_matid[geom])
    if material < 0:
        return Material(rgba=own)
    return Material(
        rgba=own if own != _NO_COLOUR else vector4(model.mat_rgba[material]),
        specular=float(model.mat_specular[material]),
        shininess=float(model.mat_shininess[material]),
        emission=float(model.mat_emission[material]),
        reflectance=float(model.mat_reflectance[material]),
        texture=int(model.mat_texid[material, _BASE_COLOUR]),
    )


def texture_mapping(model: mujoco.MjModel, geom: int) -> tuple[tuple[float, float], tuple[float, float]]:
    """Scale and offset from the x and y of a point in a geom's frame to texture coordinates, v up from the image's last row.

    After ``settexture`` in MuJoCo's render_gl3.c: s = k x / 2 - 1/2 and t = -k y / 2 - 1/2 from the image's first row, where k is the
    material's ``texrepeat`` over the geom's half size, or with ``texuniform``, or along an infinite side, ``texrepeat`` itself.
    """
    material = int(model.geom_matid[geom])
    if material < 0:
        return (1.0, 1.0), (0.0, 0.0)
    size = model.geom_size[geom].copy()
    if model.geom_type[geom] in (mujoco.mjtGeom.mjGEOM_SPHERE, mujoco.mjtGeom.mjGEOM_CAPSULE, mujoco.mjtGeom.mjGEOM_CYLINDER):
        size[1] = size[0]
    repeat = model.mat_texrepeat[material]
    uniform = bool(model.mat_texuniform[material])
    scale = [0.5 * float(repeat[k]) / (1.0 if uniform or size[k] <= 0 else float(size[k])) for k in range(2)]
    return (scale[0], scale[1]), (0.5, 0.5)


def model_textures(model: mujoco.MjModel) -> tuple[tuple[Texture, ...], int]:
    """All textures of a model under their own ids, and the id of the skybox, -1 if there is none."""
    textures = tuple(_texture(model, i) for i in range(model.ntex))
    skyboxes = [i for i, texture in enumerate(textures) if texture.kind == "skybox"]
    return textures, skyboxes[0] if skyboxes else -1


def _texture(model: mujoco.MjModel, texture: int) -> Texture:
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
