"""Where kernels put cameras, against the reference in NumPy."""

import numpy as np
import pytest

from rollfilm.render import BatchRenderer, CameraRequest
from rollfilm.scene import Bodies, BodyPoses, Camera, Follow, Placement, Scene, world_pose


@pytest.mark.parametrize("follow", list(Follow))
@pytest.mark.parametrize("mass", [1.0, 0.0], ids=["heavy", "massless"])
def test_cameras_are_where_the_reference_puts_them(follow, mass):
    from rollfilm.engines.still import StillPoses

    masses = mass * np.array([0, 2, 3, 5], np.float32)
    bodies = Bodies(("world", "arm", "hand", "cube"), np.array([0, 0, 1, 0], np.int32), masses, np.float32([[0] * 3, *np.eye(3)]))
    rng = np.random.default_rng(0)
    position, quat = rng.normal(size=(3, 4, 3)), rng.normal(size=(3, 4, 4))
    position[:, 0], quat[:, 0] = 0, [1, 0, 0, 0]
    quat /= np.linalg.norm(quat, axis=-1, keepdims=True)
    target = 3 if follow in (Follow.TARGET_BODY, Follow.TARGET_BODY_COM) else -1
    placement = Placement(1, (0.1, 0.2, 0.3), (0.5, 0.5, -0.5, 0.5), follow, target)
    scene = Scene(bodies, geoms=(), meshes=(), cameras=(Camera("eye", placement),))
    renderer = BatchRenderer(scene, 3, [CameraRequest("eye", 1, 1)])
    frames = renderer.render(StillPoses(scene, BodyPoses(position.astype(np.float32), quat.astype(np.float32))))
    assert not frames["eye"].rgb.any(), "a scene without geoms, lights and sky is black"
    eye, axes = renderer.camera_poses()["eye"]
    expected_eye, expected_axes = world_pose(placement, bodies, position, quat)
    np.testing.assert_allclose(eye, expected_eye, atol=1e-5)
    np.testing.assert_allclose(np.abs(np.sum(axes * expected_axes, axis=-1)), 1.0, atol=1e-5)
    renderer.close()
