"""The views of one size: what is asked of them, and the arrays that their pictures land in."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import warp as wp
from numpy.typing import NDArray

from rollfilm.render.frames import CameraFrames
from rollfilm.render.kernels.features import Features
from rollfilm.render.kernels.types import Lens, Pictures, ViewBatch
from rollfilm.render.options import RenderOptions
from rollfilm.render.outputs import OUTPUTS
from rollfilm.render.request import CameraRequest
from rollfilm.render.scene_data import PackedScene
from rollfilm.scene import Camera

__all__ = ["CameraBatch", "CameraMember", "group_cameras", "picture_bytes"]


def picture_bytes(requests: Sequence[CameraRequest], num_worlds: int) -> int:
    """Bytes of all pictures of one frame."""
    # two names of one output share an array
    widths = [sum({OUTPUTS[name].picture: OUTPUTS[name].pixel_bytes for name in r.outputs}.values()) for r in requests]
    return sum(num_worlds * r.height * r.width * width for r, width in zip(requests, widths, strict=True))


@dataclass(frozen=True)
class CameraMember:
    """A camera of a renderer: its number, what was asked of it, and what it is."""

    index: int
    request: CameraRequest
    camera: Camera


def group_cameras(requests: Sequence[CameraRequest], cameras: Sequence[Camera]) -> list[list[CameraMember]]:
    """The cameras that share a size, outputs and a kind of lens, and so are rendered together."""
    groups: dict[tuple[int, int, frozenset[str], bool], list[CameraMember]] = {}
    for i, (request, camera) in enumerate(zip(requests, cameras, strict=True)):
        key = (request.height, request.width, frozenset(request.outputs), camera.orthographic)
        groups.setdefault(key, []).append(CameraMember(i, request, camera))
    return list(groups.values())


@dataclass(frozen=True, eq=False)
class CameraBatch:
    """Cameras of one size and their pictures in all worlds: view ``v`` is camera ``v // B`` in world ``v % B``.

    Attributes:
        names: of the cameras.
        views: the structure that kernels take.
        pictures: the arrays that kernels write.
        features: what the shading kernel is specialised for.
        num_views: cameras times worlds.
    """

    names: tuple[str, ...]
    views: ViewBatch  # pyright: ignore[reportInvalidTypeForm]
    pictures: Pictures  # pyright: ignore[reportInvalidTypeForm]
    features: Features
    num_views: int
    _outputs: dict[str, wp.array]

    @classmethod
    def build(
        cls, members: Sequence[CameraMember], packed: PackedScene, num_worlds: int, options: RenderOptions, device: wp.Device
    ) -> "CameraBatch":
        """Allocate the pictures of cameras that share a size and outputs."""
        request = members[0].request
        height, width, asked = request.height, request.width, request.outputs
        data = packed.data
        views = ViewBatch()
        views.camera = wp.array(np.array([m.index for m in members], np.int32), dtype=int, device=device)
        views.lens = _pack_lenses(members, device)
        views.num_worlds, views.num_geoms = num_worlds, data.geom_body.shape[0]
        views.height, views.width, views.lod_pixels = height, width, options.lod_pixels
        num_views, pixels = num_worlds * len(members), height * width
        pictures, switches = Pictures(), dict.fromkeys((output.feature for output in OUTPUTS.values()), False)
        for name, output in OUTPUTS.items():
            wanted = name in asked
            if wanted and not switches[output.feature]:
                setattr(
                    pictures,
                    output.picture,
                    wp.zeros((num_views, pixels * output.channels), dtype=getattr(wp, output.dtype), device=device),
                )
            switches[output.feature] |= wanted
        features = Features(
            **switches,
            textures=packed.has_textures,
            skybox=data.skybox >= 0,
            planes=data.plane.shape[0],
            lights=packed.spots,
            dull=not any(data.head_specular),
            cubes=packed.has_cubes,
            flat=members[0].camera.orthographic,
        )
        names = tuple(m.request.name for m in members)
        return cls(names, views, pictures, features, num_views, {name: getattr(pictures, OUTPUTS[name].picture) for name in asked})

    def lenses(self) -> dict[str, tuple[NDArray[np.float32], ...]]:
        """fx, fy, cx and cy of each camera by name, each (B,), or (1,) where all worlds have the same; on the host."""
        lens = self.views.lens.numpy()
        return {name: tuple(lens[k][part] for part in ("fx", "fy", "cx", "cy")) for k, name in enumerate(self.names)}

    def with_own(self, groups: frozenset[str]) -> "CameraBatch":
        """The same, its kernels specialised for what worlds have of their own (``LookBuffers.groups``)."""
        return replace(
            self,
            features=replace(
                self.features,
                textures=self.features.textures or "texture" in groups,
                sizes="size" in groups,
                headlights="head" in groups,
            ),
        )

    def frames(self) -> dict[str, CameraFrames]:
        """The pictures by camera, as views of the arrays that kernels write."""
        height, width, num_worlds = self.views.height, self.views.width, self.views.num_worlds
        frames = {}
        for k, name in enumerate(self.names):
            arrays = {}
            for output, array in self._outputs.items():
                shape = (num_worlds, height, width, 3) if output == "rgb" else (num_worlds, height, width)
                arrays[output] = _exported(array[k * num_worlds : (k + 1) * num_worlds].reshape(shape))
            frames[name] = CameraFrames(**arrays)
        return frames


def _pack_lenses(members: Sequence[CameraMember], device: wp.Device) -> wp.array:
    """The lenses of cameras, the same in all worlds."""
    lenses = np.zeros((len(members), 1), dtype=Lens.numpy_dtype())
    for row, member in zip(lenses, members, strict=True):
        row[0] = (*member.camera.intrinsics(member.request.height, member.request.width), member.camera.orthographic)
    return wp.array(lenses, dtype=Lens, device=device)


def _exported(array: wp.array):
    """NumPy on the CPU, torch on CUDA where it is installed, else the Warp array; all without a copy."""
    if not array.device.is_cuda:
        return array.numpy()
    try:
        import torch  # noqa: F401  # pyright: ignore[reportMissingImports]
    except ImportError:
        return array
    return wp.to_torch(array)
