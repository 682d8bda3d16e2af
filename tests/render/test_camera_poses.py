"""Cameras in all of MuJoCo's modes are where the reference says."""

import numpy as np

from render.scenes import SHAPE
from rollfilm import geometry
from rollfilm.engines.still import StillPoses
from rollfilm.render import BatchRenderer, CameraRequest
from rollfilm.scene import BodyPoses, world_pose
from rollfilm.scene.mujoco import load_scene

MODES = ("fixed", "track", "trackcom", "targetbody", "targetbodycom")
CAMERAS = "".join(f'<camera name="{mode}" mode="{mode}" target="elbow" pos=".1 -.4 .3" xyaxes="1 .1 0 0 .2 1"/>' for mode in MODES)
MODEL = f"""
<mujoco>
  <worldbody>
    <geom type="plane" size="0 0 .1"/>
    <camera name="still" pos="0 -2 1" xyaxes="1 0 0 0 .4 1"/>
    <body name="arm" pos="0 0 1"><freejoint/><geom size=".1" mass="2"/>{CAMERAS}
      <body name="elbow" pos=".3 0 0"><joint/><geom size=".05" pos="0 .1 0" mass="1"/>
        <body name="hand" pos=".2 0 .1"><joint/><geom size=".05" mass="3"/></body></body>
      <body name="tail" pos="-.3 0 0"><joint/><geom size=".05" mass="4"/></body>
    </body>
  </worldbody>
</mujoco>
"""


def test_cameras_of_all_modes():
    scene, num_worlds = load_scene(MODEL), 5
    random = np.random.default_rng(3)
    position = random.uniform(-1, 1, (num_worlds, 5, 3)).astype(np.float32)
    quat = random.normal(size=(num_worlds, 5, 4))
    quat = (quat / np.linalg.norm(quat, axis=-1, keepdims=True)).astype(np.float32)
    position[:, 0], quat[:, 0] = 0, (1, 0, 0, 0)
    renderer = BatchRenderer(scene, num_worlds, [CameraRequest(camera.name, 4, 4, SHAPE) for camera in scene.cameras])
    renderer.render(StillPoses(scene, BodyPoses(position, quat)))
    poses = renderer.camera_poses()
    renderer.close()
    assert set(poses) == {"still", *MODES}
    for camera in scene.cameras:
        where, turned = world_pose(camera.placement, scene.bodies, position, quat)
        got_where, got_turned = poses[camera.name]
        assert (got_where.shape, got_where.dtype, got_turned.shape) == ((num_worlds, 3), np.float32, (num_worlds, 4))
        np.testing.assert_allclose(got_where, where, atol=2e-6, err_msg=camera.name)
        rotations = (geometry.matrix_from_quat(q.astype(float)) for q in (got_turned, turned))
        np.testing.assert_allclose(*rotations, atol=5e-6, err_msg=camera.name)


def test_a_target_straight_below_gives_a_rotation():
    scene = load_scene(MODEL)
    position = np.zeros((1, 5, 3), np.float32)
    position[0, 1] = -0.1, 0.4, 0.7  # puts the camera, at (.1, -.4, .3) on its body, right above the elbow
    quat = np.tile(np.float32([1, 0, 0, 0]), (1, 5, 1))
    renderer = BatchRenderer(scene, 1, [CameraRequest("targetbody", 4, 4, SHAPE)])
    renderer.render(StillPoses(scene, BodyPoses(position, quat)))
    ((where, turned),) = renderer.camera_poses().values()
    renderer.close()
    np.testing.assert_allclose(where[0], [0, 0, 1], atol=1e-6)
    down = geometry.quat_rotate(turned[0].astype(float), np.array([0, 0, -1.0]))
    np.testing.assert_allclose(down, [0, 0, -1], atol=1e-6)
    assert np.linalg.norm(turned[0]) == np.float32(1)
