"""How colours are made where a pixel shows more than one opaque surface: apart from depth and ids, which do not change with that."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rollfilm.errors import InvalidArgumentError
from rollfilm.render.kernels.features import Features
from rollfilm.render.kernels.kept import sections
from rollfilm.render.kernels.samples import grid_side
from rollfilm.render.kernels.types import ViewBatch
from rollfilm.render.options import RenderOptions
from rollfilm.render.outputs import OUTPUTS
from rollfilm.render.request import CameraRequest
from rollfilm.scene import Camera, Scene

__all__ = ["Composite", "SceneSurfaces", "composite_keys", "opacities", "require_samples"]

#: Rows or columns of samples that a picture may have at most.
MAX_SIDE = 32768
#: Keys of one view, which 32-bit numbers count.
MAX_KEYS = (1 << 31) - 1
#: From this alpha on a geom counts as opaque, as in MuJoCo (``mjr_render`` in render_gl3.c).
OPAQUE = 0.995


def opacities(alphas: ArrayLike) -> NDArray[np.float32]:
    """Alphas as they count, of any shape: 1 for what is opaque."""
    given = np.asarray(alphas, np.float32)
    return np.where(given >= OPAQUE, np.float32(1.0), np.maximum(given, 0.0))


@dataclass(frozen=True)
class SceneSurfaces:
    """What of a scene makes pixels show more than one surface.

    Attributes:
        alphas: of all geoms, 1 for what is opaque.
        mirrors: geoms that may reflect, in order: number, height of the face in the geom's frame, reflectance.
        blend_twice: ``Scene.blend_twice``.
        translucent: some geom is, in some world.
    """

    alphas: tuple[float, ...]
    mirrors: tuple[tuple[int, float, float], ...]
    blend_twice: bool
    translucent: bool

    @classmethod
    def of(cls, scene: Scene) -> "SceneSurfaces":
        """Those of ``scene``."""
        alphas = tuple(opacities([g.material.rgba[3] for g in scene.geoms]).tolist())
        heights = [0.0 if g.mesh < 0 else g.mirror_z for g in scene.geoms]
        mirrors = tuple(
            (i, height, g.material.reflectance)
            for i, (g, height) in enumerate(zip(scene.geoms, heights, strict=True))
            if g.material.reflectance > 0 and alphas[i] == 1.0 and height is not None
        )
        return cls(alphas, mirrors, scene.blend_twice, any(alpha < 1.0 for alpha in alphas))


def composite_keys(request: CameraRequest, surfaces: SceneSurfaces, options: RenderOptions) -> int:
    """Keys that the colours of a view take in a visibility buffer of their own, 0 if they take none."""
    mirror = options.reflections and bool(surfaces.mirrors)
    if "rgb" not in request.outputs or (options.samples == 1 and not surfaces.translucent and not mirror):
        return 0
    return request.height * request.width * options.samples * sections(translucent=surfaces.translucent, mirror=mirror)


def require_samples(request: CameraRequest, surfaces: SceneSurfaces, options: RenderOptions) -> None:
    """Make sure that the samples of a picture can be counted.

    Raises:
        InvalidArgumentError: they cannot.
    """
    side, keys = grid_side(options.samples), composite_keys(request, surfaces, options)
    if keys > MAX_KEYS or (keys and side * max(request.height, request.width) > MAX_SIDE):
        raise InvalidArgumentError(
            f"camera {request.name!r}: {request.width}x{request.height} with {options.samples} samples a pixel were asked for; "
            f"sides of at most {MAX_SIDE // side} pixels can have that many, and {MAX_KEYS // (keys // (request.height * request.width))} "
            "pixels in all"
        )


def require_pinhole(camera: Camera, options: RenderOptions) -> None:
    """Make sure that a camera shows what is asked for: bent lenses take one sample a pixel, and no mirror images.

    Raises:
        InvalidArgumentError: it does not.
    """
    asked = [name for name, on in ((f"samples={options.samples}", options.samples > 1), ("reflections", options.reflections)) if on]
    if camera.bends and asked:
        raise InvalidArgumentError(
            f"camera {camera.name!r}: {' and '.join(asked)} came with a lens that bends straight lines; "
            "film it by a renderer of its own with samples=1 and no reflections"
        )


@dataclass(frozen=True, eq=False)
class Composite:
    """The colours of a batch of views.

    Attributes:
        features: what their kernel is specialised for.
        fine: the views of samples.
        keys: what a view takes in a visibility buffer; those of its pixels where it is rare (``Features.rare``).
    """

    features: Features
    fine: ViewBatch  # pyright: ignore[reportInvalidTypeForm]
    keys: int

    @classmethod
    def build(
        cls,
        request: CameraRequest,
        views: ViewBatch,  # pyright: ignore[reportInvalidTypeForm]
        features: Features,
        surfaces: SceneSurfaces,
        options: RenderOptions,
    ) -> "Composite | None":
        """What ``options`` and the scene ask for, None if a pixel's colour is always that of the surface that its centre shows."""
        keys = composite_keys(request, surfaces, options)
        if not features.rgb or (keys == 0 and features.planes == 0):
            return None
        colors_only = {output.feature: name == "rgb" for name, output in OUTPUTS.items()}
        features = replace(
            features,
            samples=options.samples,
            translucent=surfaces.translucent,
            blend_twice=surfaces.blend_twice,
            mirror=options.reflections and bool(surfaces.mirrors),
            rare=keys == 0,
            **colors_only,
        )
        return cls(features, _finer(views, grid_side(options.samples)), keys or request.height * request.width)


def _finer(views: ViewBatch, side: int) -> ViewBatch:  # pyright: ignore[reportInvalidTypeForm]
    """The same views with ``side`` times as many rows and columns, at the same levels of detail, without what is translucent."""
    fine = ViewBatch()
    for name in ViewBatch.vars:
        setattr(fine, name, getattr(views, name))
    for name in ("height", "width", "scale", "lod_pixels"):
        setattr(fine, name, side * getattr(views, name))
    fine.opaque_only = 1
    return fine
