"""What is seen, and how far away: held to a ray caster that tries every triangle for every pixel."""

from dataclasses import replace

import numpy as np
import pytest

from render.raycast import cast
from render.scenes import coarse, film, look, scene_of, shot, thing
from rollfilm.scene import Geom, Material, Mesh
from rollfilm.scene.mujoco import load_scene
from rollfilm.scene.primitives import box, sphere

KINDS = ("box", "sphere", "capsule", "cylinder", "ellipsoid", "mesh")


def soup(seed: int, count: int = 12, most: int = 350):
    """Geoms of all kinds in a heap, through each other, over a plane, and a finite plane among them."""
    random = np.random.default_rng(seed)
    geoms = ['<geom type="plane" size="0 0 .1" pos="0 0 -.45"/>', '<geom type="plane" size=".3 .2 .1" pos=".1 .2 .1" euler="30 20 10"/>']
    for i in range(count):
        kind = KINDS[i % len(KINDS)]
        size = " ".join(f"{x:.3f}" for x in random.uniform(0.05, 0.3, 3))
        where = " ".join(f"{x:.3f}" for x in random.uniform(-0.5, 0.5, 3))
        turned = " ".join(f"{x:.3f}" for x in random.normal(size=4))
        shape = 'mesh="wedge"' if kind == "mesh" else f'size="{size}"'
        geoms.append(f'<geom type="{kind}" {shape} pos="{where}" quat="{turned}"/>')
    asset = '<asset><mesh name="wedge" vertex="0 0 0 .4 0 0 0 .3 0 0 0 .5"/></asset>'
    return coarse(load_scene(f"<mujoco>{asset}<worldbody>{''.join(geoms)}</worldbody></mujoco>"), most)


def random_cameras(seed: int, count: int):
    """Cameras around and inside the heap."""
    random = np.random.default_rng(seed)
    eyes, targets = random.normal(size=(count, 3)) * random.uniform(0.2, 1.0, (count, 1)), random.uniform(-0.4, 0.4, (count, 3))
    fov = random.uniform(0.5, 1.9, count)
    return [look(eye, target, f"eye{i}", f) for i, (eye, target, f) in enumerate(zip(eyes, targets, fov, strict=True))]


def hold_to_rays(scene, camera, pictures, *, most_edges=0.05):
    height, width = pictures["segmentation"].shape
    truth = cast(scene, camera, height, width)
    assert truth.edge.mean() <= most_edges
    clear = ~truth.edge
    np.testing.assert_array_equal(pictures["segmentation"][clear], truth.segmentation[clear])
    wrong = np.abs(pictures["depth_m"] - truth.depth_m)[clear]
    allowed = (1e-5 * truth.depth_m + truth.spread)[clear]
    assert (wrong <= allowed).all(), f"depth is wrong by up to {(wrong - allowed).max():.2g} m"
    # nothing there and depth 0 are one
    np.testing.assert_array_equal(pictures["segmentation"] == -1, pictures["depth_m"] == 0)
    return truth


@pytest.mark.parametrize("near_m", [0.005, 0.2])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_heaps_of_geoms_are_seen_as_rays_see_them(seed, near_m):
    scene = replace(soup(seed), near_m=near_m)
    cameras = random_cameras(seed + 10, 6)
    pictures = film(scene, cameras, 18, 24, lod_pixels=0)
    ids = set()
    for camera in cameras:
        truth = hold_to_rays(scene, camera, {name: picture[0] for name, picture in pictures[camera.name].items()})
        ids |= set(truth.segmentation.flat)
    assert len(ids) >= 10  # the cameras do see the heap


@pytest.mark.parametrize(("height", "width"), [(1, 1), (63, 85), (200, 3), (3, 200)])
def test_any_size_is_seen_as_rays_see_it(height, width):
    scene = soup(3, 6, 100)
    for camera in random_cameras(1, 2):
        # a single row of a wide picture spans half the world: it may hold many edges
        hold_to_rays(scene, camera, shot(scene, camera, height, width, lod_pixels=0), most_edges=0.2)


def test_a_camera_inside_a_box_sees_what_is_beyond_it():
    around, beyond = box((0.2, 0.2, 0.2)), box((0.5, 0.5, 0.1))
    scene = scene_of([around, beyond], [thing(0, 7), thing(1, 8, (0, 0, -1))])
    seen = shot(scene, look((0.05, 0, 0.1), (0.05, 0, -1)), 12, 16)["segmentation"]
    assert set(seen.flat) <= {8, -1}
    assert seen[6, 8] == 8


def test_triangles_that_reach_behind_the_camera_are_cut_at_the_near_plane():
    # a floor of two triangles of a hundred metres, the camera a hand's breadth above it
    mesh = box((100.0, 100.0, 1.0))
    scene = scene_of([mesh], [thing(0, 3, (0, 0, -1))], near_m=0.05)
    for eye, target in (((0, 0, 0.1), (1, 0.2, 0.1)), ((0.3, 1, 0.1), (0.3, 1.1, 0.01)), ((0, 0, 0.02), (0, 1, 0.03))):
        camera = look(eye, target, fov_y_rad=1.5)
        truth = hold_to_rays(scene, camera, shot(scene, camera, 24, 32), most_edges=0.1)
        assert (truth.segmentation == 3).any()
        assert truth.depth_m[truth.depth_m > 0].min() >= 0.05
    # the third is nearer to the floor than the near plane: some of it is cut away right before the camera
    assert (truth.segmentation[-1] == -1).any()


def test_a_camera_just_above_a_plane_sees_half_of_the_picture():
    scene = scene_of([], [thing(-1, 4)], near_m=0.001, far_m=1e6)
    seen = shot(scene, look((0, 0, 0.002), (1, 0, 0.002)), 40, 30)
    assert (seen["segmentation"][:20] == -1).all()
    assert (seen["segmentation"][20:] == 4).all()
    below = shot(scene, look((0, 0, -0.002), (1, 0, -0.002)), 40, 30)
    assert (below["segmentation"][:20] == 4).all()  # from behind, as in MuJoCo
    assert (below["segmentation"][20:] == -1).all()


def test_a_mesh_far_away_is_seen():
    mesh = sphere(30.0)
    scene = coarse(scene_of([mesh], [thing(0, 5, (900, 50, 20))]))
    hold_to_rays(scene, look((0, 0, 0), (900, 0, 0), fov_y_rad=0.3), shot(scene, look((0, 0, 0), (900, 0, 0), fov_y_rad=0.3), 48, 64))


def test_what_is_beyond_far_or_nearer_than_near_is_not_seen():
    mesh = box((0.1, 0.1, 0.1))
    scene = scene_of([mesh], [thing(0, 5, (0, 4, 0)), thing(-1, 6, (0, 0, -0.5))], near_m=0.5, far_m=3.0)
    seen = shot(scene, look((0, 0, 0), (0, 1, 0)), 60, 80)
    assert 5 not in seen["segmentation"]
    assert 6 in seen["segmentation"]
    assert seen["depth_m"].max() <= 3.0
    # rows at whose bottom the plane is nearer than half a metre are not there: 0.5 m below, seen 45 degrees down
    steep = shot(scene, look((0, 0, 0), (0, 0.1, -1)), 60, 80)
    assert steep["depth_m"][steep["depth_m"] > 0].min() >= 0.5


def two_levels():
    """A mesh whose coarse level says that it is a centimetre off, and is half as large: pictures tell which level was drawn."""
    fine, half = box((0.1, 0.1, 0.1)), box((0.05, 0.05, 0.05))
    return Mesh("two", (fine.levels[0], replace(half.levels[0], error_m=0.01)), fine.center, fine.radius)


@pytest.mark.parametrize("lod_pixels", [0.0, 0.5, 2.0])
def test_the_coarsest_level_whose_error_does_not_show_is_drawn(lod_pixels):
    mesh, height, fov = two_levels(), 95, 0.4
    focal = 0.5 * height / np.tan(0.5 * fov)
    for distance in (0.8, 1.2, 1.6, 3.0, 4.5, 5.5, 8.0):
        camera = look((0, 0, 0), (0, 1, 0), fov_y_rad=fov)
        seen = shot(scene_of([mesh], [thing(0, 1, (0, distance, 0))]), camera, height, height, lod_pixels=lod_pixels)
        half = 0.05 if 0.01 * focal / (distance - mesh.radius) < lod_pixels else 0.1
        side = min(height, 2 * half * focal / (distance - half))
        assert 0.6 < (seen["segmentation"] == 1).sum() / side**2 < 1.6, distance


def test_levels_of_detail_move_no_edge_by_a_pixel():
    scene = load_scene('<mujoco><worldbody><geom type="plane" size="0 0 .1" pos="0 0 -2"/><geom size=".5"/></worldbody></mujoco>')
    for distance in (1.5, 4.0, 12.0):
        camera = look((0, -distance, 0.2), (0, 0, 0))
        sketched, full = (shot(scene, camera, 64, 64, lod_pixels=lod)["segmentation"] for lod in (0.5, 0.0))
        padded = np.pad(full, 1, mode="edge")
        around = [padded[1 + dy : 65 + dy, 1 + dx : 65 + dx] for dy in (-1, 0, 1) for dx in (-1, 0, 1)]
        assert np.any([other == sketched for other in around], axis=0).all()


def test_things_at_the_border_of_the_picture_are_not_culled():
    mesh = box((0.1, 0.1, 0.1))
    focal = 0.5 * 20 / np.tan(0.4)
    for x, z in ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, -1)):
        # its nearer edge reaches 0.6 pixels into the picture
        reach = (10 - 0.6) / focal * 1.9 + 0.1
        camera = look((0, 0, 0), (0, 1, 0))
        seen = shot(scene_of([mesh], [thing(0, 2, (reach * x, 2, reach * z))]), camera, 20, 20)["segmentation"]
        assert (seen == 2).any(), (x, z)


def test_ids_are_those_of_the_engine():
    scene = scene_of([box((0.1, 0.1, 0.1))], [Geom("odd", 123456, 0, (0, 1, 0), (1, 0, 0, 0), 0, Material())])
    assert shot(scene, look((0, 0, 0), (0, 1, 0)), 9, 9)["segmentation"][4, 4] == 123456
