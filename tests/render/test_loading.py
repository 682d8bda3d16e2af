"""What a user waits for before the first picture."""

import os
import subprocess
import sys
import threading

import pytest
import warp as wp

from render.moving import moving_scene
from rollfilm.cpu_flags import VECTOR_FLAGS
from rollfilm.render import BatchRenderer, CameraRequest
from rollfilm.render.kernels.active import stamp
from rollfilm.render.kernels.composite_view import composite_view_kernel
from rollfilm.render.kernels.deform import place_points
from rollfilm.render.kernels.features import Features
from rollfilm.render.kernels.layout import layout_kernel
from rollfilm.render.kernels.lens import lens_kernel, raster_faces
from rollfilm.render.kernels.place import place
from rollfilm.render.kernels.shadow_map import draw_maps
from rollfilm.render.kernels.whole_view import whole_view_kernel
from rollfilm.scene.kernels.ring import ring_distance
from rollfilm.scene.kernels.settle import settle

LOADING = """
from render.moving import moving_scene, random_poses, worlds
from rollfilm.render import BatchRenderer, CameraRequest, RenderOptions

renderer = BatchRenderer(moving_scene(), 2, [CameraRequest("front", 20, 30)], options=RenderOptions(shadows=True, samples=4))
print("made", flush=True)
renderer.render(worlds(random_poses(2), [0, 1]))
print("drawn", flush=True)
"""


def test_kernels_are_loaded_before_the_first_frame():
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    ran = subprocess.run([sys.executable, "-c", LOADING], env=environment, capture_output=True, text=True, check=True)
    before, after = ran.stdout.split("made")
    assert before.count("Module ") >= 3
    assert "Module " not in after


def test_all_kernels_of_a_cpu_are_compiled_with_the_same_flags():
    # with others Warp's headers would be read again, for two seconds
    features = Features(rgb=True, depth=False, segmentation=False, textures=False, skybox=False, planes=0, lights=())
    kernels = [settle, ring_distance, place, stamp, place_points, raster_faces, draw_maps]
    kernels += [whole_view_kernel(features), composite_view_kernel(features), lens_kernel(features, hardware=False)]
    kernels += [layout_kernel("uint8", normalised=False, yuv=True)]
    assert {kernel.key: kernel.module.options["cpu_compiler_flags"] for kernel in kernels} == {k.key: VECTOR_FLAGS for k in kernels}


def test_the_thread_that_made_the_scene_compiles_the_slowest_kernel(monkeypatch):
    load, compiled = wp.load_module, {}

    def observed(module, **options):
        compiled[module.name] = threading.current_thread()
        load(module, **options)

    monkeypatch.setattr(wp, "load_module", observed)
    monkeypatch.setattr("rollfilm.render.cpu.available_cores", lambda: 4)
    BatchRenderer(moving_scene(), 2, [CameraRequest("front", 20, 30)]).close()
    assert {name: thread for name, thread in compiled.items() if "film_view" in name}.popitem()[1] is threading.current_thread()
    assert place.module.name in compiled


@pytest.mark.parametrize("cores", [1, 3])
def test_a_kernel_that_does_not_compile_is_heard_of(monkeypatch, cores):
    load = wp.load_module

    def failing(module, **options):
        if module is place.module:
            raise RuntimeError("CPU kernel build failed")
        load(module, **options)

    monkeypatch.setattr(wp, "load_module", failing)
    monkeypatch.setattr("rollfilm.render.cpu.available_cores", lambda: cores)
    with pytest.raises(RuntimeError, match="CPU kernel build failed"):
        BatchRenderer(moving_scene(), 2, [CameraRequest("front", 20, 30)])
    assert not any(thread.name.startswith("rollfilm-compile") for thread in threading.enumerate())
