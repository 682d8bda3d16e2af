"""The outputs of a camera: what they are called, and what their arrays hold."""

from typing import TYPE_CHECKING, NamedTuple

from rollfilm.render.layouts import LAYOUTS, layout_shape

if TYPE_CHECKING:
    from rollfilm.render.request import CameraRequest

__all__ = ["OUTPUTS", "Output", "picture_format"]


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


def picture_format(request: "CameraRequest", name: str, num_worlds: int) -> tuple[tuple[int, ...], str]:
    """The shape, (B, H, W), (B, H, W, 3) or that of a layout of colours, and NumPy's name of the type of an output's array."""
    output = OUTPUTS[name]
    if name == "rgb":
        return layout_shape(request.rgb_layout, num_worlds, request.height, request.width), LAYOUTS[request.rgb_layout].dtype
    shape = (num_worlds, request.height, request.width)
    if output.dtype == "vec3":
        return (*shape, 3), "float32"
    return (*shape, output.channels) if output.channels > 1 else shape, output.dtype
