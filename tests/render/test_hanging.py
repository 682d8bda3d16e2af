"""Strings hang where MuJoCo's do: held to its own segments, and the kernel to the reference."""

import numpy as np
import pytest

from render.scenes import look
from rollfilm.engines.mujoco import MujocoEngine
from rollfilm.render import BatchRenderer, CameraRequest
from rollfilm.scene.deforming import deformed
from rollfilm.scene.hanging import hung
from rollfilm.scene.mujoco import load_scene

mujoco = pytest.importorskip("mujoco")

MODEL = """
<mujoco>
  <option gravity="1 0 -9"/>
  <worldbody>
    <light pos="0 -2 3"/>
    <site name="a" pos="0 0 1"/><site name="below" pos="0 0 .6"/>
    <body name="ball" pos=".5 0 1"><joint name="x" type="slide" axis="1 0 0"/><joint name="z" type="slide" axis="0 0 1"/>
      <geom size=".05"/><site name="b" pos="0 0 .05"/></body>
  </worldbody>
  <tendon>
    <spatial name="limited" limited="true" range="0 1" width=".01"><site site="a"/><site site="b"/></spatial>
    <spatial name="springy" springlength="0 .8" stiffness="1" width=".01"><site site="b"/><site site="below"/></spatial>
    <spatial name="stiff" width=".01" springlength=".1 .8" stiffness="1"><site site="b"/><site site="below"/></spatial>
  </tendon>
</mujoco>
"""
STATES = np.array([[0.0, 0.0], [-0.499, 0.1], [0.3, -0.4], [0.45, 0.3], [0.49, 0.0], [0.9, 0.9], [-0.5, -0.05]])


@pytest.fixture(scope="module")
def scene():
    return load_scene(MODEL)


def segments_of(name, state):
    """The places that MuJoCo's capsules of a tendon run through, (K, 3)."""
    model = mujoco.MjModel.from_xml_string(MODEL)
    data = mujoco.MjData(model)
    data.qpos[:] = state
    mujoco.mj_forward(model, data)
    drawn = mujoco.MjvScene(model, 1000)
    mujoco.mjv_updateScene(model, data, mujoco.MjvOption(), mujoco.MjvPerturb(), mujoco.MjvCamera(), mujoco.mjtCatBit.mjCAT_ALL, drawn)
    own = [g for g in drawn.geoms[: drawn.ngeom] if (g.objtype, g.objid) == (mujoco.mjtObj.mjOBJ_TENDON, model.tendon(name).id)]
    ends = [g.pos + side * g.size[2] * g.mat[:, 2] for g in own for side in (-1, 1)]
    return np.array(ends, np.float64), data


def away(points, line):
    """The largest distance of points from a line through places (K, 3)."""
    a, b = line[:-1, None], line[1:, None]
    along = np.clip(((points - a) * (b - a)).sum(-1) / np.maximum(((b - a) ** 2).sum(-1), 1e-20), 0, 1)
    return np.linalg.norm(points - a - along[..., None] * (b - a), axis=-1).min(axis=0).max()


@pytest.mark.parametrize("state", STATES, ids=str)
@pytest.mark.parametrize("name", ["limited", "springy", "stiff"])
def test_strings_hang_where_mujocos_do(scene, name, state):
    want, data = segments_of(name, state)
    geom = next(geom for geom in scene.geoms if geom.name == name)
    mesh = next(mesh for mesh in scene.deforming if mesh.mesh == geom.mesh)
    assert (mesh.hangs is None) == (name == "stiff")
    triangles = scene.meshes[mesh.mesh].levels[0].triangles
    vertices, _ = deformed(mesh, triangles, data.xpos, data.xmat.reshape(-1, 3, 3))
    middle = vertices.reshape(-1, 50, 3)[:, :24].reshape(-1, 2, 12, 3)[:, 0].mean(axis=1)  # of each piece's first ring
    middle = np.concatenate([middle, want[-1:] if np.linalg.norm(middle[0] - want[0]) < 1e-3 else want[:1]])
    longest = 0.5 * np.linalg.norm(np.diff(middle, axis=0), axis=1).max()
    # both are polygons along the same curve, with other corners; in a fold as narrow as a piece of one they may differ more
    assert away(middle, want) < 2e-3 or state[0] <= -0.499
    assert away(middle, want) < longest
    assert away(want, middle) < longest


def test_the_kernel_computes_the_reference(scene):
    engine = MujocoEngine(MODEL, len(STATES), num_threads=1)
    engine.reset(qpos=STATES)
    renderer = BatchRenderer(scene, len(STATES), [CameraRequest(look((0, -3, 1), (0, 0, 1)), 4, 4)])
    renderer.render(engine)
    points = renderer._packed.deformation._deforming.point.numpy()
    for state, (world, own) in zip(STATES, enumerate(points), strict=True):
        ball, first = np.array([0.5 + state[0], 0.0, 1.05 + state[1]]), 0
        for mesh, ends in zip(scene.deforming, (((0, 0, 1), ball), (ball, (0, 0, 0.6))), strict=False):
            want = hung(ends, mesh.hangs[:3], mesh.hangs[3], 29)
            # where the ends lie right below one another single precision says which way the fold goes
            np.testing.assert_allclose(own[first : first + 29, :3], want, atol=2e-4 if world == 6 else 2e-5, err_msg=str(world))
            first += 29
    renderer.close()
    engine.close()


@pytest.mark.parametrize("ends", [((0, 0, 0), (1, 0, 0)), ((0, 0, 0), (0.2, 0.5, 0.7)), ((1, 2, 0), (1, 2, -0.3)), ((0, 0, 0), (0, 0, 0))])
@pytest.mark.parametrize("length", [1.0001, 1.5, 30.0])
def test_a_string_is_as_long_as_it_is(ends, length):
    points = hung(ends, (0, 0, -1), length, 20001)
    np.testing.assert_allclose(points[[0, -1]], ends, atol=1e-9)
    pieces = np.linalg.norm(np.diff(points, axis=0), axis=1)
    np.testing.assert_allclose(pieces.sum(), length, rtol=1e-4)
    # but for the one around the tip of a narrow fold
    np.testing.assert_allclose(np.percentile(pieces, [0.1, 99.9]), pieces.mean(), rtol=2e-2)
    assert np.isfinite(points).all()
    # a chain at rest: what pulls sideways is the same all along
    way = np.diff(points, axis=0)
    tension = np.abs(way[:, 2] / np.maximum(np.linalg.norm(way[:, :2], axis=1), 1e-30))
    assert tension.argmin() > 0 or length < 1.1
