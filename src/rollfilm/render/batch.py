"""The views of one size: what is asked of them, and the arrays that their pictures land in."""

import math
from collections.abc import Container, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import warp as wp
from numpy.typing import NDArray

from rollfilm.render.composite import Composite, SceneSurfaces, composite_keys
from rollfilm.render.faces import LensPlan, plan_lens
from rollfilm.render.frames import CameraFrames
from rollfilm.render.kernels.features import Features
from rollfilm.render.kernels.types import Lens, Pictures, ViewBatch
from rollfilm.render.layout_stage import LayoutStage
from rollfilm.render.options import RenderOptions
from rollfilm.render.outputs import OUTPUTS, picture_format
from rollfilm.render.request import CameraRequest
from rollfilm.render.scene_data import PackedScene
from rollfilm.render.shadows import map_side
from rollfilm.scene import Camera

__all__ = ["KEY_BYTES", "CameraBatch", "CameraMember", "ViewSize", "exported", "group_cameras", "picture_bytes"]

#: Of what a visibility buffer holds of a pixel or sample.
KEY_BYTES = 8


def picture_bytes(requests: Sequence[CameraRequest], num_worlds: int) -> int:
    """Bytes of all pictures of one frame."""
    # two names of one output share an array
    widths = [sum({OUTPUTS[name].picture: OUTPUTS[name].pixel_bytes for name in r.outputs}.values()) for r in requests]
    shaded = sum(num_worlds * r.height * r.width * width for r, width in zip(requests, widths, strict=True))
    others = [picture_format(r, "rgb", num_worlds) for r in requests if r.rgb_layout != "nhwc_uint8"]
    return shaded + sum(math.prod(shape) * np.dtype(dtype).itemsize for shape, dtype in others)


@dataclass(frozen=True)
class CameraMember:
    """A camera of a renderer: its number, what was asked of it, what it is, and how its lens is drawn if that bends straight lines."""

    index: int
    request: CameraRequest
    camera: Camera
    plan: LensPlan | None = None


def group_cameras(requests: Sequence[CameraRequest], cameras: Sequence[Camera], alone: Container[str] = ()) -> list[list[CameraMember]]:
    """The cameras that share a size, outputs and a kind of lens and a rate, and so are rendered together.

    Those in ``alone`` share with nobody.
    """
    groups: dict[Hashable, list[CameraMember]] = {}
    for i, (request, camera) in enumerate(zip(requests, cameras, strict=True)):
        kind = (
            request.height,
            request.width,
            frozenset(request.outputs),
            camera.orthographic,
            request.every,
            request.rgb_layout,
            request.rgb_mean,
            request.rgb_std,
        )
        # faces are those of one camera
        key = request.name if request.name in alone or camera.bends else kind
        plan = plan_lens(camera, request.height, request.width) if camera.bends else None
        groups.setdefault(key, []).append(CameraMember(i, request, camera, plan))
    return list(groups.values())


@dataclass(frozen=True)
class ViewSize:
    """What the views of a batch take of buffers that they share.

    Attributes:
        num_views: cameras times worlds.
        height, width: of a picture, pixels.
        pixels: keys of one view in a visibility buffer: its own pixels, or those of its lens's faces.
        samples: keys that its colours take when they are made apart, 0 if they are not.
    """

    num_views: int
    height: int
    width: int
    pixels: int
    samples: int

    @classmethod
    def of(cls, members: Sequence[CameraMember], num_worlds: int, surfaces: SceneSurfaces, options: RenderOptions) -> "ViewSize":
        """That of cameras which are rendered together."""
        request, plan = members[0].request, members[0].plan
        pixels = request.height * request.width if plan is None else plan.num_faces * plan.height * plan.width
        samples = 0 if plan else composite_keys(request, surfaces, options)
        return cls(num_worlds * len(members), request.height, request.width, pixels, samples)

    @property
    def keys(self) -> int:
        """Of one view, where pixels and samples lie in one buffer after another."""
        return max(self.pixels, self.samples)


@dataclass(frozen=True, eq=False)
class CameraBatch:
    """Cameras of one size and their pictures in all worlds: view ``v`` is camera ``v // B`` in world ``v % B``.

    Attributes:
        members: the cameras.
        views: the structure that kernels take.
        pictures: the arrays that kernels write.
        features: what the shading kernel is specialised for, None if there is nothing for it to do.
        composite: how colours are made where it does not make them.
        size: what its views take of buffers that batches share.
        layout: what lays out the colours after shading, None where they stay as they are.
        faces: of a bent lens (then there is one camera), the views that its triangles are rasterised to: view ``v`` is face ``v // B`` in
            world ``v % B``. None for others, which are rasterised as they are.
        num_faces: how many faces there are, 0 for others.
        asked: the features of all its outputs.
        map_side: texels along a side of the shadow maps that its colours look up, if they do.
    """

    members: tuple[CameraMember, ...]
    views: ViewBatch  # pyright: ignore[reportInvalidTypeForm]
    pictures: Pictures  # pyright: ignore[reportInvalidTypeForm]
    features: Features | None
    composite: Composite | None
    size: ViewSize
    layout: LayoutStage | None
    faces: "ViewBatch | None"  # pyright: ignore[reportInvalidTypeForm]
    num_faces: int
    asked: Features
    map_side: int
    _outputs: dict[str, wp.array]

    @classmethod
    def build(
        cls,
        members: Sequence[CameraMember],
        packed: PackedScene,
        num_worlds: int,
        options: RenderOptions,
        device: wp.Device,
        bound: Mapping[str, wp.array] | None = None,
    ) -> "CameraBatch":
        """Allocate the pictures of cameras that share a size and outputs, but for those that the caller gives (of one camera)."""
        request = members[0].request
        height, width, asked = request.height, request.width, request.outputs
        data = packed.data
        views = ViewBatch()
        views.camera = wp.array(np.array([m.index for m in members], np.int32), dtype=int, device=device)
        views.lens = _pack_lenses(members, device)
        views.num_worlds, views.num_geoms = num_worlds, data.geom_body.shape[0]
        views.height, views.width, views.scale, views.lod_pixels = height, width, 1.0, options.lod_pixels
        size = ViewSize.of(members, num_worlds, packed.surfaces, options)
        pictures, switches = _allocate_pictures(request, size.num_views, bound or {}, device)
        features = Features(
            **switches,
            textures=packed.has_textures,
            skybox=data.skybox >= 0,
            planes=data.plane.shape[0],
            lights=packed.spots,
            dull=not any(data.head_specular),
            cubes=packed.has_cubes,
            flat=members[0].camera.orthographic,
            shadows=packed.casting if options.shadows and "rgb" in asked else (),
            # an orthographic camera sees no horizon
            haze=data.haze_plane >= 0 and data.skybox >= 0 and not members[0].camera.orthographic,
            fog=options.fog,
        )
        plain, composite = _passes(members[0], views, features, packed.surfaces, options)
        stage = None
        outputs = {name: getattr(pictures, OUTPUTS[name].picture) for name in asked}
        if request.rgb_layout != "nhwc_uint8":
            stage = LayoutStage.build(request, num_worlds, pictures.rgb, (bound or {}).get("rgb"))
            outputs["rgb"] = stage.array
        plan = members[0].plan
        faces = None if plan is None else _pack_faces(plan, views, device)
        num_faces = plan.num_faces if plan else 0
        side = map_side(options, height, width)
        return cls(tuple(members), views, pictures, plain, composite, size, stage, faces, num_faces, features, side, outputs)

    def lenses(self) -> dict[str, tuple[NDArray[np.float32], ...]]:
        """fx, fy, cx and cy of each camera by name, each (B,), or (1,) where all worlds have the same; on the host."""
        lens = self.views.lens.numpy()
        return {
            name: tuple(lens[k][part] for part in ("fx", "fy", "cx", "cy")) for k, name in enumerate(m.request.name for m in self.members)
        }

    def with_own(self, groups: frozenset[str], surfaces: SceneSurfaces, options: RenderOptions) -> "CameraBatch":
        """The same, its kernels specialised for what worlds have of their own (``LookBuffers.groups``)."""
        textures = self.asked.textures or "texture" in groups
        asked = replace(self.asked, textures=textures, sizes="size" in groups, headlights="head" in groups)
        if "alpha" in groups:
            surfaces = replace(surfaces, translucent=True)
        plain, composite = _passes(self.members[0], self.views, asked, surfaces, options)
        size = ViewSize.of(self.members, self.views.num_worlds, surfaces, options)
        return replace(self, features=plain, composite=composite, size=size)

    @property
    def shadowed(self) -> bool:
        """Whether shadow maps are looked up for its colours."""
        return any(part is not None and bool(part.shadows) for part in (self.features, self.composite and self.composite.features))

    @property
    def num_views(self) -> int:
        """Cameras times worlds."""
        return self.size.num_views

    def frames(self) -> dict[str, CameraFrames]:
        """The pictures by camera, as views of the arrays that kernels write."""
        num_worlds = self.views.num_worlds
        frames = {}
        for k, member in enumerate(self.members):
            arrays = {}
            for output, array in self._outputs.items():
                shape, _ = picture_format(member.request, output, num_worlds)
                # an array of vectors has a dimension less
                shape = shape[:3] if array.dtype is wp.vec3 else shape
                arrays[output] = exported(array[k * num_worlds : (k + 1) * num_worlds].reshape(shape))
            frames[member.request.name] = CameraFrames(**arrays)
        return frames


def _allocate_pictures(
    request: CameraRequest, num_views: int, bound: Mapping[str, wp.array], device: wp.Device
) -> tuple[Pictures, dict[str, bool]]:  # pyright: ignore[reportInvalidTypeForm]
    """The arrays that kernels write, and the features that compile them in."""
    pictures, switches = Pictures(), dict.fromkeys((output.feature for output in OUTPUTS.values()), False)
    # of two names of one output that which the caller has an array for comes first
    for name in sorted(request.outputs, key=lambda name: name not in bound):
        output = OUTPUTS[name]
        dtype = getattr(wp, output.dtype)
        if not switches[output.feature]:
            if name in bound and (name != "rgb" or request.rgb_layout == "nhwc_uint8"):
                array = bound[name]
                if dtype is wp.vec3:
                    array = array.reshape((array.shape[0], -1, 3)).view(dtype)
            else:
                array = wp.zeros((num_views, request.height * request.width * output.channels), dtype=dtype, device=device)
            setattr(pictures, output.picture, array)
        switches[output.feature] = True
    return pictures, switches


def _pack_faces(plan: LensPlan, views: ViewBatch, device: wp.Device) -> ViewBatch:  # pyright: ignore[reportInvalidTypeForm]
    """The views that a bent lens is rasterised to; what its own ``views`` look up there is added to them."""
    views.ray = wp.array(plan.ray[None], dtype=wp.vec4, device=device)
    views.face_pixel = wp.array(plan.pixel[None], dtype=int, device=device)
    views.face_size = plan.height * plan.width
    faces = ViewBatch()
    faces.camera = wp.array(np.repeat(views.camera.numpy(), plan.num_faces), dtype=int, device=device)
    lenses = np.zeros((plan.num_faces, 1), dtype=Lens.numpy_dtype())
    lenses[:] = (*plan.intrinsics, 0)
    faces.lens = wp.array(lenses, dtype=Lens, device=device)
    faces.turn = wp.array(plan.face_from_camera.astype(np.float32), dtype=wp.mat33, device=device)
    faces.num_worlds, faces.num_geoms, faces.lod_pixels = views.num_worlds, views.num_geoms, views.lod_pixels
    faces.height, faces.width, faces.scale = plan.height, plan.width, 1.0
    return faces


def _passes(
    member: CameraMember,
    views: ViewBatch,  # pyright: ignore[reportInvalidTypeForm]
    asked: Features,
    surfaces: SceneSurfaces,
    options: RenderOptions,
) -> tuple[Features | None, Composite | None]:
    """What shades all outputs at once, and what makes the colours where that does not: nothing for a bent lens."""
    composite = None if member.plan is not None else Composite.build(member.request, views, asked, surfaces, options)
    if composite is None or composite.features.rare:
        return asked, composite
    return replace(asked, rgb=False, shadows=()) if set(member.request.outputs) != {"rgb"} else None, composite


def _pack_lenses(members: Sequence[CameraMember], device: wp.Device) -> wp.array:
    """The lenses of cameras, the same in all worlds."""
    lenses = np.zeros((len(members), 1), dtype=Lens.numpy_dtype())
    for row, member in zip(lenses, members, strict=True):
        row[0] = (*member.camera.intrinsics(member.request.height, member.request.width), member.camera.orthographic)
    return wp.array(lenses, dtype=Lens, device=device)


def exported(array: wp.array):
    """NumPy on the CPU, torch on CUDA where it is installed, else the Warp array; all without a copy."""
    if not array.device.is_cuda:
        return array.numpy()
    try:
        import torch  # noqa: F401  # pyright: ignore[reportMissingImports]
    except ImportError:
        return array
    return wp.to_torch(array)
