"""Skins, flexes and tendons: vertices held to MuJoCo's, pictures and ids to MuJoCo's renderer, and the promises of every picture."""

import dataclasses
import itertools

import numpy as np
import pytest
import warp as wp

from render.scenes import look
from render.soft import soft_model, states
from rollfilm import geometry
from rollfilm.engines.mujoco import MujocoEngine
from rollfilm.engines.still import StillPoses
from rollfilm.errors import InvalidArgumentError
from rollfilm.render import BatchRenderer, CameraRequest, WorldLooks, cuda
from rollfilm.scene import BodyPoses
from rollfilm.scene.deforming import deformed
from rollfilm.scene.mujoco import load_scene
from rollfilm.scene.mujoco_paths import path_points, path_slots

mujoco = pytest.importorskip("mujoco")

ALL = ("rgb", "depth_m", "segmentation")
NUM_WORLDS = 6
HEIGHT, WIDTH = 180, 240


@pytest.fixture(scope="module")
def scene():
    return load_scene(soft_model())


@pytest.fixture(scope="module")
def poses():
    """Of random states, with the paths of tendons."""
    engine = MujocoEngine(soft_model(), NUM_WORLDS, num_threads=1)
    engine.reset(qpos=states(NUM_WORLDS))
    given = engine.body_poses()
    engine.close()
    return given


def some(scene, poses, which) -> StillPoses:
    """A source of some of the worlds."""
    which = list(which)
    return StillPoses(scene, BodyPoses(poses.position[which].copy(), poses.quat_wxyz[which].copy(), poses.path[which].copy()))


def pictures(source, cameras=(("front", HEIGHT, WIDTH), ("side", 90, 64)), **options):
    renderer = BatchRenderer(source.scene, source.num_worlds, [CameraRequest(*camera, ALL) for camera in cameras], **options)
    frames = renderer.render(source)
    copies = {(name, output): getattr(frames[name], output).copy() for name in frames for output in ALL}
    renderer.close()
    return copies


@pytest.fixture(scope="module")
def reference(scene, poses):
    """All worlds, one thread."""
    return pictures(some(scene, poses, range(NUM_WORLDS)), num_threads=1)


def state_of(world: int):
    data = mujoco.MjData(soft_model())
    data.qpos[:] = states(NUM_WORLDS)[world]
    mujoco.mj_forward(soft_model(), data)
    return data


def mujocos_scene(data):
    """What MuJoCo would draw, before it does."""
    drawn = mujoco.MjvScene(soft_model(), 1000)
    mujoco.mjv_updateScene(
        soft_model(), data, mujoco.MjvOption(), mujoco.MjvPerturb(), mujoco.MjvCamera(), mujoco.mjtCatBit.mjCAT_ALL, drawn
    )
    return drawn


def surface_of(scene, name: str, data):
    """Corners (T, 3, 3) of a thing and the normals (T, 3, 3) there."""
    geom = next(g for g in scene.geoms if g.name == name)
    mesh = next(m for m in scene.deforming if m.mesh == geom.mesh)
    triangles = scene.meshes[geom.mesh].levels[0].triangles
    rotation = data.xmat.reshape(-1, 3, 3)
    vertices, normals = deformed(mesh, triangles, data.xpos, rotation, path_points(soft_model(), data))
    return vertices[triangles], normals[triangles]


@pytest.mark.parametrize("name", ["cloth", "facets", "soft", "round", "solid"])
def test_flexes_have_mujocos_faces_and_normals(scene, name):
    data = state_of(0)
    drawn = mujocos_scene(data)
    flex = mujoco.mj_name2id(soft_model(), mujoco.mjtObj.mjOBJ_FLEX, name)
    part = slice(int(drawn.flexfaceadr[flex]), int(drawn.flexfaceadr[flex] + drawn.flexfaceused[flex]))
    want, want_normals = drawn.flexface.reshape(-1, 3, 3)[part], drawn.flexnormal.reshape(-1, 3, 3)[part]
    if soft_model().flex_dim[flex] == 2:
        # MuJoCo lists the two sides of an element one after the other
        elements, rim = 2 * int(soft_model().flex_elemnum[flex]), 2 * int(soft_model().flex_shellnum[flex])
        order = [
            *range(0, elements, 2),
            *range(1, elements, 2),
            *range(elements, elements + rim, 2),
            *range(elements + 1, elements + rim, 2),
        ]
        want, want_normals = want[order], want_normals[order]
    got, got_normals = surface_of(scene, name, data)
    np.testing.assert_allclose(got, want, atol=2e-6)
    # MuJoCo's flat normals are those of the surface without its thickness
    flat = soft_model().flex_flatskin[flex] or soft_model().flex_dim[flex] == 2
    assert np.sum(got_normals * want_normals, axis=-1).min() > (0.95 if flat else 1 - 1e-5)


def test_a_skin_has_mujocos_vertices_and_normals(scene):
    data = state_of(1)
    drawn = mujocos_scene(data)
    faces = soft_model().skin_face[: soft_model().skin_facenum[0]]
    got, normals = surface_of(scene, "skin", data)
    np.testing.assert_allclose(got, drawn.skinvert.reshape(-1, 3)[faces], atol=2e-6)
    np.testing.assert_allclose(normals, drawn.skinnormal.reshape(-1, 3)[faces], atol=2e-5)
    assert np.abs(got - soft_model().skin_vert[faces]).max() > 0.1


def segments_of(name: str, data):
    """Both ends and the radius of the capsules that MuJoCo draws."""
    if name == "rope":
        flex = mujoco.mj_name2id(soft_model(), mujoco.mjtObj.mjOBJ_FLEX, name)
        start, first = int(soft_model().flex_edgeadr[flex]), int(soft_model().flex_vertadr[flex])
        edges = first + soft_model().flex_edge[start : start + int(soft_model().flex_edgenum[flex])]
        return [(*data.flexvert_xpos[edge], 0.02) for edge in edges]
    drawn = mujocos_scene(data)
    tendon = mujoco.mj_name2id(soft_model(), mujoco.mjtObj.mjOBJ_TENDON, name)
    own = [g for g in drawn.geoms[: drawn.ngeom] if (g.objtype, g.objid) == (mujoco.mjtObj.mjOBJ_TENDON, tendon)]
    return [(g.pos - g.size[2] * g.mat[:, 2], g.pos + g.size[2] * g.mat[:, 2], float(g.size[0])) for g in own]


def away_from(points, a, b):
    """Distances of points (N, 3) from a segment."""
    along = np.clip((points - a) @ (b - a) / max(np.dot(b - a, b - a), 1e-20), 0, 1)
    return np.linalg.norm(points - a - along[:, None] * (b - a), axis=1)


@pytest.mark.parametrize("name", ["straight", "parted", "rope"])
def test_tubes_are_mujocos_capsules(scene, name):
    data = state_of(2)
    segments = segments_of(name, data)
    triangles, _ = surface_of(scene, name, data)
    points = triangles.reshape(len(segments), -1, 3)
    for tube, (a, b, radius) in zip(points, segments, strict=True):
        np.testing.assert_allclose(away_from(tube, a, b), radius, atol=1e-5)
        for end in (a, b):
            assert np.isclose(np.linalg.norm(tube - end, axis=1), radius, atol=1e-5).sum() > 20


@pytest.mark.parametrize("world", range(4))
@pytest.mark.parametrize("name", ["around", "over"])
def test_tendons_run_around_geoms_where_mujocos_do(name, world):
    data = state_of(world)
    segments = segments_of(name, data)
    tendon = mujoco.mj_name2id(soft_model(), mujoco.mjtObj.mjOBJ_TENDON, name)
    path = path_points(soft_model(), data)[path_slots(soft_model())[tendon]]
    points = path[: 1 + np.count_nonzero(path[:, 3]), :3].astype(float)
    # both are polygons in the same arc, with other corners
    assert np.min([away_from(points, a, b) for a, b, _ in segments], axis=0).max() < 1e-3
    corners = np.array([segments[0][0], *(b for _, b, _ in segments)])
    assert np.min([away_from(corners, a, b) for a, b in itertools.pairwise(points)], axis=0).max() < 1e-3
    np.testing.assert_allclose(points[[0, -1]], corners[[0, -1]], atol=1e-6)
    bent = len(segments) > 2
    assert bent == (len(points) > 2)


@pytest.mark.parametrize("world", range(3))
@pytest.mark.parametrize("camera", ["front", "side"])
def test_pictures_look_as_mujocos(mujoco_picture, scene, poses, reference, world, camera):
    if camera == "front":
        got, ids, height, width = reference["front", "rgb"][world], reference["front", "segmentation"][world], HEIGHT, WIDTH
    else:
        pair = pictures(some(scene, poses, [world]), [("side", HEIGHT, WIDTH)])
        got, ids, height, width = pair["side", "rgb"][0], pair["side", "segmentation"][0], HEIGHT, WIDTH
    options = {"qpos": states(NUM_WORLDS)[world].tolist(), "sites": False}
    want = mujoco_picture(soft_model(), camera, height, width, **options)
    assert (np.abs(got.astype(int) - want).max(axis=-1) > 8).mean() < 0.015
    seen = mujoco_picture(soft_model(), camera, height, width, segmentation=True, **options)
    first = {"geom": 0, "tendon": 15, "flex": 20, "skin": 26}
    want_ids = np.full(ids.shape, -1)
    for kind, start in first.items():
        own = seen[..., 1] == getattr(mujoco.mjtObj, f"mjOBJ_{kind.upper()}")
        want_ids[own] = start + seen[..., 0][own]
    inside = np.ones_like(ids, bool)  # away from edges
    for axis in (0, 1):
        for step in (1, -1):
            inside &= np.roll(want_ids, step, axis=axis) == want_ids
    assert (ids == want_ids)[inside].mean() > 0.998
    assert len(np.unique(ids[inside])) >= 10


@pytest.mark.parametrize(("which", "num_threads"), [([4], 1), ([5, 0], 2), ([3, 1, 2], 3)])
def test_batch_size_slot_and_threads_change_nothing(scene, poses, reference, which, num_threads):
    for key, picture in pictures(some(scene, poses, which), num_threads=num_threads).items():
        np.testing.assert_array_equal(picture, reference[key][which], err_msg=str(key))
    assert (reference["front", "rgb"][0] != reference["front", "rgb"][1]).mean() > 0.02


def test_the_stages_of_a_gpu_give_the_same_bytes(scene, poses, monkeypatch):
    device = wp.get_device("cpu")
    monkeypatch.setattr(device, "sm_count", 1)
    plain = tuple(dataclasses.replace(g, material=dataclasses.replace(g.material, texture=-1)) for g in scene.geoms)
    source = some(dataclasses.replace(scene, geoms=plain), poses, range(3))
    renderer = BatchRenderer(source.scene, 3, [CameraRequest("front", 60, 80, ALL)])
    want = {output: getattr(renderer.render(source)["front"], output).copy() for output in ALL}
    packed, batches = renderer._packed, renderer._batches
    packed.data.corner[:, -1000:].zero_()  # nothing is left of the frame before
    for batch in batches:
        batch.pictures.segmentation.fill_(7)
    stages = cuda.CudaPipeline(packed.data, renderer._world, batches, packed.worst_clusters, device, renderer._options, packed.deformation)
    stages._launch(renderer._bodies, renderer._placements, [True])
    got = {output: getattr(renderer._frames["front"], output) for output in ALL}
    np.testing.assert_array_equal(got["segmentation"], want["segmentation"])
    np.testing.assert_array_equal(got["depth_m"], want["depth_m"])
    renderer.close()


def test_kernels_compute_the_reference(scene, poses):
    """Vertices and normals of every world, and spheres that hold them."""
    renderer = BatchRenderer(scene, 3, [CameraRequest("front", 4, 4)])
    renderer.render(some(scene, poses, range(3)))
    packed = renderer._packed
    vertices, normals, meshes = (getattr(packed.data, name).numpy() for name in ("vertex", "normal", "geom_mesh"))
    center, radius = packed.data.mesh_center.numpy(), packed.data.mesh_radius.numpy()
    start = sum(len(level.vertices) for mesh in scene.meshes for level in mesh.levels)
    for world in range(3):
        rotation = geometry.matrix_from_quat(poses.quat_wxyz[world].astype(float))
        for mesh in scene.deforming:
            level = scene.meshes[mesh.mesh].levels[0]
            want = deformed(mesh, level.triangles, poses.position[world].astype(float), rotation, poses.path[world])
            part = slice(start, start + len(level.vertices))
            np.testing.assert_allclose(vertices[part], want[0], atol=2e-5)
            used = np.linalg.norm(want[1], axis=1) > 0.5
            assert np.sum(normals[part] * want[1], axis=1)[used].min() > 1 - 1e-4
            geom = next(i for i, geom in enumerate(scene.geoms) if geom.mesh == mesh.mesh)
            own = meshes[world, geom]
            assert np.linalg.norm(vertices[part] - center[own], axis=1).max() <= radius[own]
            start += len(level.vertices)
    renderer.close()


def test_frames_follow_the_state_and_forget_the_one_before(scene, poses, reference):
    renderer = BatchRenderer(scene, 1, [CameraRequest("front", HEIGHT, WIDTH, ALL)])
    for world in (0, 1, 0):
        frame = renderer.render(some(scene, poses, [world]))["front"]
        np.testing.assert_array_equal(frame.rgb[0], reference["front", "rgb"][world])
    renderer.close()


def test_without_their_paths_tendons_around_geoms_are_left_out_with_a_warning(scene, poses, reference):
    renderer = BatchRenderer(scene, 1, [CameraRequest("front", HEIGHT, WIDTH, ("segmentation",))])
    source = StillPoses(scene, BodyPoses(poses.position[:1].copy(), poses.quat_wxyz[:1].copy()))
    with pytest.warns(RuntimeWarning, match="tendons around geoms"):
        ids = renderer.render(source)["front"].segmentation[0].copy()
    whole = reference["front", "segmentation"][0]
    assert np.isin(whole, (16, 17)).any()
    np.testing.assert_array_equal(ids[~np.isin(whole, (16, 17))], whole[~np.isin(whole, (16, 17))])
    assert not np.isin(ids, (16, 17)).any()
    wrong = BodyPoses(source.poses.position, source.poses.quat_wxyz, np.zeros((1, 5, 4), np.float32))
    with pytest.raises(InvalidArgumentError, match="path"):
        renderer.render(StillPoses(scene, wrong))
    renderer.close()


def test_what_deforms_may_be_hidden_and_painted_by_world(scene, poses, reference):
    renderer = BatchRenderer(scene, 2, [CameraRequest("front", HEIGHT, WIDTH, ALL)])
    renderer.set_looks(WorldLooks(geom_visible={"facets": np.array([True, False])}, geom_rgba={"rope": np.ones((2, 4))}))
    frame = renderer.render(some(scene, poses, [3, 4]))["front"]
    for slot, world in enumerate((3, 4)):
        ids = reference["front", "segmentation"][world]
        assert (ids == 21).any()
        kept = ids != 21 if slot else np.ones_like(ids, bool)
        np.testing.assert_array_equal(frame.segmentation[slot][kept], ids[kept])
        same = kept & (ids != 24)
        np.testing.assert_array_equal(frame.rgb[slot][same], reference["front", "rgb"][world][same])
        assert (frame.rgb[slot][ids == 24] != reference["front", "rgb"][world][ids == 24]).any()
    assert not (frame.segmentation[1] == 21).any()
    for looks in ({"geom_scale": {"rope": np.ones((2, 3))}}, {"geom_mesh": {"rope": ["cloth"] * 2}}, {"geom_mesh": {"post": ["rope"] * 2}}):
        with pytest.raises(InvalidArgumentError, match="deforms"):
            renderer.set_looks(WorldLooks(**looks))
    renderer.close()


def test_a_scene_where_nothing_deforms_has_nothing_of_it():
    scene = load_scene("<mujoco><worldbody><geom size='.1'/></worldbody></mujoco>")
    assert scene.deforming == ()
    renderer = BatchRenderer(scene, 2, [CameraRequest(look((0, -1, 0), (0, 0, 0)), 4, 4)])
    assert renderer._packed.deformation is None
    assert renderer._packed.data.mesh_radius.shape == (1,)
    renderer.close()
