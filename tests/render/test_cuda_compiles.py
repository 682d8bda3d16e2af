"""The kernels of a GPU compile, also where there is none: NVIDIA's compiler comes with Warp."""

import dataclasses

import pytest
import warp as wp

from rollfilm.render.kernels import active, batch, deform, place, shadow_batch, yuv
from rollfilm.render.kernels.composite_column import composite_kernel
from rollfilm.render.kernels.features import Features
from rollfilm.render.kernels.kept_batch import kept_stages
from rollfilm.render.kernels.layout import layout_kernel
from rollfilm.render.kernels.lens import lens_kernel
from rollfilm.render.kernels.outlook import outlook_kernel
from rollfilm.render.kernels.shade_ground import ground_kernel
from rollfilm.render.kernels.shade_meshes import mesh_kernel

EVERYTHING = Features(
    rgb=True,
    depth=True,
    segmentation=True,
    textures=True,
    skybox=True,
    planes=2,
    lights=(False, True),
    cubes=True,
    sizes=True,
    headlights=True,
)
NOTHING = Features(rgb=False, depth=True, segmentation=False, textures=False, skybox=False, planes=0, lights=())

MEASURED = {"bodies": True, "distances": True, "camera_normals": True, "world_normals": True, "positions": True}
FLAT = dataclasses.replace(EVERYTHING, flat=True, **MEASURED)
SHADOWS = dataclasses.replace(EVERYTHING, shadows=(0, 1), haze=True, fog=True)


@pytest.mark.parametrize(
    "module",
    [
        lambda: batch.cull.module,
        lambda: shadow_batch.cull_casters.module,
        lambda: place.place.module,
        lambda: deform.bound.module,
        lambda: ground_kernel(EVERYTHING).module,
        lambda: ground_kernel(NOTHING).module,
        lambda: mesh_kernel(FLAT).module,
        lambda: ground_kernel(SHADOWS).module,
        lambda: mesh_kernel(SHADOWS).module,
        lambda: outlook_kernel(EVERYTHING).module,
        lambda: lens_kernel(dataclasses.replace(SHADOWS, **MEASURED), hardware=True).module,
        lambda: layout_kernel("float16", normalised=True, yuv=False).module,
        lambda: layout_kernel("uint8", normalised=False, yuv=True).module,
        lambda: yuv.rgb_to_yuv420.module,
        lambda: active.stamp.module,
        lambda: composite_kernel(dataclasses.replace(SHADOWS, samples=4)).module,
        lambda: composite_kernel(dataclasses.replace(SHADOWS, samples=16, translucent=True, blend_twice=True, mirror=True)).module,
        lambda: kept_stages(layered=True, mirrored=True, translucent=True, flat=False).triangles.module,
    ],
    ids=[
        "stages",
        "shadow maps",
        "place",
        "deform",
        "shade everything",
        "shade depth",
        "shade flat",
        "shade shadows",
        "shade shadows on meshes",
        "what a view's pixels share",
        "shade bent",
        "planes",
        "yuv",
        "yuv for encoders",
        "active",
        "4 samples",
        "layers and mirror",
        "stages of layers",
    ],
)
def test_kernels_compile_for_a_gpu(module, tmp_path):
    if wp.get_cuda_toolkit_version() is None:
        pytest.skip("this build of Warp has no compiler for NVIDIA GPUs")
    wp.compile_aot_module(module(), arch=90, module_dir=tmp_path, use_ptx=True)
    assert list(tmp_path.glob("**/*.ptx"))
