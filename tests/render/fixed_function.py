"""OpenGL's fixed-function lighting in NumPy (OpenGL 2.1, section 2.14.1), with MuJoCo's settings: local viewer, white light for texels."""

import numpy as np

from rollfilm import geometry
from rollfilm.scene import Headlight, Light, Material


def _unit(vectors):
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


def _one_light(material, colors, normal, to_eye, to_light, strength):
    ambient, diffuse, specular = (np.array(color) for color in colors)
    cosine = np.maximum(np.einsum("...i,...i", normal, to_light), 0.0)
    half = _unit(to_light + to_eye)
    highlight = np.maximum(np.einsum("...i,...i", normal, half), 0.0) ** (128.0 * material.shininess)
    highlight = np.where(cosine > 0, highlight, 0.0)
    base = np.array(material.rgba[:3])
    lit = ambient * base + cosine[..., None] * diffuse * base + highlight[..., None] * specular * material.specular
    return strength[..., None] * lit


def lit(material: Material, point, normal, camera, headlight: Headlight | None, lights: list[Light]) -> np.ndarray:
    """Colors (..., 3), uint8, of points (..., 3) with unit normals; the lights hang on the world."""
    eye = np.array(camera.placement.position)
    to_eye = _unit(eye - point)
    whole = np.ones(point.shape[:-1])
    color = material.emission * np.array(material.rgba[:3]) * whole[..., None]
    if headlight:
        backward = geometry.quat_rotate(np.array(camera.placement.quat_wxyz), np.array([0, 0, 1.0]))
        colors = headlight.ambient, headlight.diffuse, headlight.specular
        color = color + _one_light(material, colors, normal, to_eye, np.broadcast_to(backward, point.shape), whole)
    for light in lights:
        direction = geometry.quat_rotate(np.array(light.placement.quat_wxyz), np.array([0, 0, -1.0]))
        colors = light.ambient, light.diffuse, light.specular
        if light.kind == "directional":
            color = color + _one_light(material, colors, normal, to_eye, np.broadcast_to(-direction, point.shape), whole)
            continue
        offset = np.array(light.placement.position) - point
        distance = np.linalg.norm(offset, axis=-1)
        to_light = offset / distance[..., None]
        cosine = -to_light @ direction
        constant, linear, quadratic = light.attenuation
        strength = 1.0 / (constant + linear * distance + quadratic * distance**2)
        strength = strength * np.where(cosine >= np.cos(light.cutoff_rad), np.maximum(cosine, 0.0) ** light.exponent, 0.0)
        if light.cutoff_rad >= np.pi:  # a point light has no cone, and no exponent that counts behind it
            strength = 1.0 / (constant + linear * distance + quadratic * distance**2)
        color = color + _one_light(material, colors, normal, to_eye, to_light, strength)
    return np.rint(255 * np.clip(color, 0, 1)).astype(np.uint8)
