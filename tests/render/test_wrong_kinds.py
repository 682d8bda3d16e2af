"""Arguments of another type than the one that is asked for end in rollfilm's own errors, and never inside a kernel."""

import math
from dataclasses import replace

import numpy as np
import pytest
import warp as wp

from render.looks_scene import looks_scene
from render.scenes import still
from rollfilm.errors import InvalidArgumentError, NotFoundError
from rollfilm.render import BatchRenderer, CameraRange, CameraRequest, GeomRange, LooksConfig, RenderOptions, WorldLooks, randomize
from rollfilm.scene import Camera, Placement, all_geom_names, geom_names, light_names
from rollfilm.scene.extend import mesh_from_triangles, texture_from_image, with_meshes, with_textures
from rollfilm.scene.mujoco import load_scene

FRONT = CameraRequest("front", 8, 8)
LOOKS = WorldLooks(geom_rgba={"box": np.ones((2, 4))})
CORNERS = np.eye(3)
HALF = GeomRange(("box",), hidden=0.5)


def renderer_of(cameras=(FRONT,), scene=None, **options):
    return BatchRenderer(scene or looks_scene(), 2, cameras, num_threads=1, **options)


def scene_with(things, **fields):
    scene = looks_scene()
    first, *others = getattr(scene, things)
    return replace(scene, **{things: (replace(first, **fields), *others)})


@pytest.fixture(scope="module")
def renderer():
    renderer = renderer_of()
    yield renderer
    renderer.close()


REFUSED = [
    (lambda: renderer_of(None), "cameras must be a sequence of CameraRequest"),
    (lambda: renderer_of(3), "cameras must be a sequence of CameraRequest"),
    (lambda: renderer_of(iter([FRONT])), "cameras must be a sequence of CameraRequest"),
    (lambda: renderer_of(out=[1]), "out must name arrays by camera and output"),
    (lambda: renderer_of(out={"front": None}), "out must name arrays by camera and output"),
    (lambda: renderer_of(out=np.zeros(3)), "out must name arrays by camera and output"),
    (lambda: CameraRequest("front", 8, 8, 3), "outputs 3 were asked for"),
    (lambda: CameraRequest("front", 8, 8, (["rgb"],)), "outputs .* were asked for"),
    (lambda: CameraRequest("front", 8, 8, rgb_layout=[]), r"rgb_layout \[\] is unknown"),
    (lambda: CameraRequest("front", 8, 8, rgb_layout="nchw_float32", rgb_mean="abc"), "rgb_mean is 'abc'; give three finite numbers"),
    (lambda: CameraRequest("front", 8, 8, rgb_layout="nchw_float32", rgb_mean=0.5), "rgb_mean is 0.5; give three finite numbers"),
    (lambda: CameraRequest("front", 8, 8, rgb_layout="nchw_float32", rgb_std=(None, 1, 1)), "rgb_std is .*; give three finite numbers"),
    (lambda: RenderOptions(shadow=True), "RenderOptions has no 'shadow'; there are: lod_pixels, shadows"),
    (lambda: RenderOptions.mujoco_look(sample=4), "RenderOptions has no 'sample'; there are: lod_pixels"),
    (lambda: WorldLooks(geom_color={}, light_off={}), "WorldLooks has no 'geom_color', 'light_off'; there are: geom_rgba"),
    (lambda: geom_names(None), "scene is NoneType; give a rollfilm.scene.Scene"),
    (lambda: all_geom_names("scene"), "scene is str; give a rollfilm.scene.Scene"),
    (lambda: light_names(3), "scene is int; give a rollfilm.scene.Scene"),
    (lambda: RenderOptions(lod_pixels="a"), "lod_pixels is 'a'; it must be 0 or more"),
    (lambda: RenderOptions(lod_pixels=None), "lod_pixels is None"),
    (lambda: RenderOptions(samples=4.0), "samples is 4.0; choose from 1, 4, 16"),
    (lambda: Camera(3), "the name of a camera is a str; 3 came"),
    (lambda: Camera("eye", placement=None), "placement is NoneType; give rollfilm.scene.Placement"),
    (lambda: Camera("eye", fov_y_rad="1"), "fov_y_rad is 1; it lies between"),
    (lambda: Camera("eye", fx="1"), "fx is 1; a focal length is a positive number"),
    (lambda: Camera("eye", fx=np.array([1.0, 2.0])), "fx is .*; a focal length is a positive number"),
    (lambda: Camera("eye", fx=1.0, cx="1"), "cx is 1; a principal point is a finite number"),
    (lambda: Camera("eye", fx=4, distortion=3), "distortion is 3; it is 5 finite numbers"),
    (lambda: Camera("eye", fx=4, fisheye="abcd"), "fisheye is abcd; it is 4 finite numbers"),
    (lambda: Camera("eye", extent_y_m="1"), "extent_y_m is 1; it is a positive number"),
    (lambda: Placement(position=(math.nan, 0, 0)), "position of a placement is .*finite numbers"),
    (lambda: Placement(quat_wxyz=(0, 0, 0, 0)), "quat_wxyz of a placement is .* of length 1"),
    (lambda: Placement(follow="track"), "follow of a placement is 'track'; choose from Follow.FIXED"),
    (lambda: Placement(body=-1), "body of a placement is -1; it must be at least 0"),
    (lambda: renderer_of([CameraRequest(Camera("own", Placement(body=77)), 8, 8)]), "body of camera 'own' is 77; the scene has"),
    (lambda: renderer_of(scene=scene_with("geoms", body=77)), "body of geom .* is 77; the scene has"),
    (lambda: renderer_of(scene=scene_with("geoms", mesh=77)), "mesh of geom .* is 77; the scene has"),
    (lambda: renderer_of(scene=scene_with("geoms", position=(math.nan, 0, 0))), "a number of geom .* is not finite"),
    (lambda: renderer_of(scene=scene_with("geoms", uv_scale=(1e30, 1.0))), r"a texture coordinate of geom .* or beyond 1e\+26"),
    (lambda: renderer_of(scene=scene_with("lights", kind="lamp")), "is of kind 'lamp'; choose from directional, spot, point"),
    (lambda: renderer_of(scene=scene_with("lights", placement=Placement(body=77))), "body of light .* is 77"),
    (lambda: renderer_of(scene=replace(looks_scene(), skybox=77)), "skybox is 77; the scene has"),
    (lambda: texture_from_image("noise", [[1], [1, 2]]), "are no array: their rows are of different lengths"),
    (lambda: mesh_from_triangles("gem", "abc", [[0, 1, 2]]), "vertices of mesh 'gem' came as"),
    (lambda: mesh_from_triangles("gem", [[0, 1], [1]], [[0, 1, 2]]), "vertices of mesh 'gem' are no array"),
    (lambda: mesh_from_triangles("gem", np.zeros((0, 3)), np.zeros((0, 3), int)), "mesh 'gem' has no triangle"),
    (lambda: mesh_from_triangles("gem", CORNERS, [[0, 1, -1]]), "names vertex -1; there are 3"),
    (lambda: mesh_from_triangles("gem", CORNERS, [[0, 1, 2]], uvs="x"), "uvs of mesh 'gem' came as"),
    (lambda: with_textures(looks_scene(), "noise"), "a Texture was expected and str came; make it with texture_from_image"),
    (lambda: with_meshes(looks_scene(), None), "a Mesh was expected and NoneType came; make it with mesh_from_triangles"),
    (lambda: with_meshes(None), "scene is NoneType; give a rollfilm.scene.Scene"),
    (lambda: load_scene("<mujoco/>", geom_groups=3), "geom_groups=3 were asked for; give a sequence of groups"),
    (lambda: LOOKS.worlds([5]), r"worlds came as \[5\]; give at least one of the worlds 0 to 1"),
    (lambda: LOOKS.worlds([-1]), "give at least one of the worlds 0 to 1"),
    (lambda: LOOKS.worlds("x"), "worlds came as 'x'"),
    (lambda: LOOKS.worlds([]), "give at least one of the worlds"),
    (lambda: WorldLooks.joined(3), "parts must be a sequence of WorldLooks"),
    (lambda: WorldLooks.joined([3]), "parts must be a sequence of WorldLooks"),
    (lambda: WorldLooks.from_dict(3), "stored looks are int; give the mapping that to_dict made"),
    (lambda: WorldLooks.from_dict({"geom_rgba": {"names": 3, "values": 3}}), "must have a list of 'names'; it is 3"),
    (lambda: WorldLooks(may_be_unseen="a"), "may_be_unseen is 'a'"),
    (lambda: GeomRange(("box",), hidden="a"), "hidden is 'a'; a probability"),
    (lambda: CameraRange(("front",), turn_rad="x"), "turn_rad is 'x'; give an angle"),
    (lambda: LooksConfig(geoms=3), "geoms is 3; give a tuple of rollfilm.render.GeomRange"),
    (lambda: LooksConfig(geoms=(3,)), "geoms is .*; give a tuple of rollfilm.render.GeomRange"),
    (lambda: LooksConfig(headlight=3), "headlight is 3; give rollfilm.render.HeadlightRange"),
    (lambda: randomize(None, looks_scene(), [1]), "config is NoneType; give rollfilm.render.LooksConfig"),
    (lambda: randomize(LooksConfig((HALF,)), None, [1]), "scene is NoneType; give a rollfilm.scene.Scene"),
    (lambda: randomize(LooksConfig((HALF,)), looks_scene(), 3), "seeds is 3; give a sequence of integers"),
]


@pytest.mark.parametrize(("make", "message"), REFUSED, ids=[message for _, message in REFUSED])
def test_refused(make, message):
    with pytest.raises((InvalidArgumentError, NotFoundError), match=message):
        make()


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda r: r.render(None), "source is NoneType; give an engine, or rollfilm.engines.still.StillPoses"),
        (lambda r: r.render(still(looks_scene(), 2).body_poses()), "source is BodyPoses; give an engine"),
        (lambda r: r.render(still(looks_scene(), 2), worlds=[[0], [1, 2]]), "worlds came in rows of different lengths"),
        (lambda r: r.set_looks(WorldLooks(), [[1], [1, 2]]), "worlds came as object"),
    ],
)
def test_a_renderer_refuses(renderer, ask, message):
    with pytest.raises(InvalidArgumentError, match=message):
        ask(renderer)


def test_values_that_looks_do_not_have():
    with pytest.raises(NotFoundError, match="no values of 'moon' among these looks; there are: box"):
        LOOKS.geom_rgba["moon"]


def test_numbers_of_numpy_are_numbers():
    options = RenderOptions(samples=np.int64(4), shadow_map_size=np.int32(128), lod_pixels=np.float32(0.5))
    assert options == RenderOptions(samples=4, shadow_map_size=128, lod_pixels=0.5)
    assert repr(options.samples) == "4"  # kernels are named by it
    means = [
        CameraRequest("front", 8, 8, rgb_layout="nchw_float32", rgb_mean=m) for m in ([0, 0.5, 1], np.array([0, 0.5, 1]), (0.0, 0.5, 1.0))
    ]
    assert len(set(means)) == 1  # cameras of one layout are rendered together
    assert Camera("eye", fx=4, distortion=np.zeros(5)) == Camera("eye", fx=4, distortion=(0.0,) * 5)
    assert LooksConfig([GeomRange(("box",), rgba=np.array([[0, 0, 0], [1, 1, 1]]))]) == LooksConfig(
        (GeomRange(("box",), rgba=((0, 0, 0), (1, 1, 1))),)
    )


def test_a_device_may_be_one_of_warps():
    renderer = renderer_of(device=wp.get_device("cpu"))
    assert renderer.device == "cpu"
    renderer.close()
