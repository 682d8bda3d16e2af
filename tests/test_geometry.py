import numpy as np
import pytest

from rollfilm import geometry


@pytest.fixture
def quats():
    quats = np.random.default_rng(0).normal(size=(50, 4))
    return quats / np.linalg.norm(quats, axis=1, keepdims=True)


@pytest.fixture
def vectors():
    return np.random.default_rng(1).normal(size=(50, 3))


def test_orders_of_quaternions(quats):
    assert geometry.quat_xyzw_from_wxyz([1.0, 2.0, 3.0, 4.0]).tolist() == [2, 3, 4, 1]
    assert np.array_equal(geometry.quat_wxyz_from_xyzw(geometry.quat_xyzw_from_wxyz(quats)), quats)


def test_a_quarter_turn_about_z_takes_x_to_y():
    turn = np.array([np.sqrt(0.5), 0, 0, np.sqrt(0.5)])
    assert np.allclose(geometry.quat_rotate(turn, [1, 0, 0]), [0, 1, 0])
    assert np.allclose(geometry.matrix_from_quat(turn) @ [1, 0, 0], [0, 1, 0])


def test_matrices_and_quaternions_are_the_same_rotations(quats, vectors):
    matrices = geometry.matrix_from_quat(quats)
    assert np.allclose(matrices @ np.swapaxes(matrices, -1, -2), np.eye(3))
    assert np.allclose(np.linalg.det(matrices), 1)
    assert np.allclose(np.einsum("nij,nj->ni", matrices, vectors), geometry.quat_rotate(quats, vectors))
    back = geometry.quat_from_matrix(matrices)
    assert (back[:, 0] >= 0).all()
    assert np.allclose(back, quats * np.sign(quats[:, :1]))


@pytest.mark.parametrize("axis", [*np.eye(3).tolist(), [0.6, 0.8, 0]])
def test_half_turns_survive_the_way_through_matrices(axis):
    quat = np.array([0, *axis])
    assert np.allclose(
        geometry.matrix_from_quat(geometry.quat_from_matrix(geometry.matrix_from_quat(quat))), geometry.matrix_from_quat(quat)
    )


def test_products_and_inverses(quats, vectors):
    other = quats[::-1]
    both = geometry.quat_multiply(quats, other)
    assert np.allclose(geometry.quat_rotate(both, vectors), geometry.quat_rotate(quats, geometry.quat_rotate(other, vectors)))
    assert np.allclose(geometry.quat_multiply(quats, geometry.quat_conjugate(quats)), [1, 0, 0, 0])


def test_leading_shapes_are_kept(quats, vectors):
    shaped = quats.reshape(5, 10, 4)
    assert geometry.matrix_from_quat(shaped).shape == (5, 10, 3, 3)
    assert geometry.quat_from_matrix(geometry.matrix_from_quat(shaped)).shape == (5, 10, 4)
    assert geometry.quat_rotate(shaped, vectors.reshape(5, 10, 3)).shape == (5, 10, 3)
    assert geometry.world_from_camera_gl(vectors.reshape(5, 10, 3), shaped).shape == (5, 10, 4, 4)
    assert geometry.extrinsic_cv(vectors.reshape(5, 10, 3), shaped).shape == (5, 10, 3, 4)
    assert geometry.intrinsic_cv(np.ones((5, 10)), 2, 3).shape == (5, 10, 3, 3)


def test_a_camera_looks_along_its_minus_z_with_up_up(vectors):
    eye, target = vectors[:25], vectors[25:]
    quat = geometry.look_at_quat_wxyz(eye, target)
    forward = (target - eye) / np.linalg.norm(target - eye, axis=1, keepdims=True)
    assert np.allclose(geometry.quat_rotate(quat, np.array([0, 0, -1.0])), forward)
    assert np.allclose(geometry.quat_rotate(quat, np.array([1.0, 0, 0]))[:, 2], 0)
    assert (geometry.quat_rotate(quat, np.array([0, 1.0, 0]))[:, 2] > 0).all()


@pytest.mark.parametrize(("target", "up"), [((0, 0, -3), (0, 0, 1)), ((0, 0, 3), (0, 0, 1)), ((2, 0, 0), (1, 0, 0))])
def test_looking_along_up_is_a_rotation_too(target, up):
    matrix = geometry.matrix_from_quat(geometry.look_at_quat_wxyz((0, 0, 0), target, up))
    assert np.allclose(-matrix[:, 2], np.array(target) / np.linalg.norm(target))
    assert np.allclose(matrix @ matrix.T, np.eye(3))
    assert np.linalg.det(matrix) == pytest.approx(1)


def test_the_opencv_extrinsic_is_the_inverse_of_the_opengl_pose_with_y_and_z_flipped(quats, vectors):
    world_from_camera = geometry.world_from_camera_gl(vectors, quats)
    expected = np.diag([1.0, -1.0, -1.0, 1.0]) @ np.linalg.inv(world_from_camera)
    assert np.allclose(geometry.extrinsic_cv(vectors, quats), expected[:, :3])


def test_a_point_falls_on_the_pixel_it_should():
    # a camera at the origin that looks along the world's y, z up: a point right of and above the line of sight
    quat = geometry.look_at_quat_wxyz((0, 0, 0), (0, 1, 0))
    point = geometry.extrinsic_cv(np.zeros(3), quat) @ [0.5, 2.0, 0.25, 1.0]
    assert np.allclose(point, [0.5, -0.25, 2.0])
    pixel = geometry.intrinsic_cv(np.pi / 2, 100, 200) @ point
    assert np.allclose(pixel[:2] / pixel[2], [100 + 50 * 0.25, 50 - 50 * 0.125])
