"""The outputs of a camera: what they are called, and what their arrays hold."""

from typing import NamedTuple

__all__ = ["OUTPUTS", "Output"]


class Output(NamedTuple):
    """An output.

    Attributes:
        picture: the field of ``kernels.types.Pictures`` that kernels write it to.
        feature: the field of ``kernels.features.Features`` that compiles it in.
        dtype: Warp's name for the type of the array that kernels write, (views, H * W * channels).
        channels: numbers of ``dtype`` for each pixel.
        pixel_bytes: bytes for each pixel.
    """

    picture: str
    feature: str
    dtype: str
    channels: int
    pixel_bytes: int


#: By name. ``geom_id`` is another name of ``segmentation``: asked for together, they are one array.
OUTPUTS: dict[str, Output] = {
    "rgb": Output("rgb", "rgb", "uint8", 3, 3),
    "depth_m": Output("depth", "depth", "float32", 1, 4),
    "segmentation": Output("segmentation", "segmentation", "int32", 1, 4),
    "geom_id": Output("segmentation", "segmentation", "int32", 1, 4),
    "body_id": Output("body", "bodies", "int32", 1, 4),
    "ray_distance_m": Output("distance", "distances", "float32", 1, 4),
    "normal_camera": Output("normal_camera", "camera_normals", "vec3", 1, 12),
    "normal_world": Output("normal_world", "world_normals", "vec3", 1, 12),
    "position_world_m": Output("position", "positions", "vec3", 1, 12),
}
