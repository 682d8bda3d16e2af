"""The MuJoCo engine: states, poses, masks, slots, threads, divergence."""

import mujoco
import numpy as np
import pytest

from rollfilm.engines import Engine, engine_class, engine_names
from rollfilm.engines.mujoco import MujocoEngine
from rollfilm.errors import InvalidArgumentError, ModelError, NotFoundError
from rollfilm.testing import check_engine, check_pose_source

# An arm that pushes a box, contacts with friction, a mocap body that gets in the way, activations, a sensor.
PUSHER = """
<mujoco>
  <option timestep="0.002" cone="elliptic"/>
  <worldbody>
    <geom type="plane" size="2 2 .1"/>
    <body name="arm" pos="0 0 .1">
      <joint name="swing" axis="0 0 1" damping=".5"/><geom type="capsule" fromto="0 0 0 .4 0 0" size=".03"/></body>
    <body name="box" pos=".3 .15 .051"><freejoint/><geom name="box" type="box" size=".05 .05 .05"/></body>
    <body name="block" mocap="true" pos="-.3 0 .05"><geom name="block" type="box" size=".05 .05 .05"/></body>
  </worldbody>
  <actuator>
    <position joint="swing" kp="20" kv="2"/>
    <general joint="swing" dyntype="filter" dynprm=".05" gainprm="1"/>
  </actuator>
  <sensor><framelinvel objtype="body" objname="box"/></sensor>
</mujoco>
"""


def pushed(engine: MujocoEngine, steps: int = 40) -> MujocoEngine:
    control = np.linspace(0.2, 1.0, engine.num_worlds)[:, None] * np.array([1.5, 0.3])
    for _ in range(steps):
        engine.step(control, 5)
    return engine


@pytest.mark.parametrize("threads", [1, 2])
def test_conforms(threads):
    engine = MujocoEngine(PUSHER, 3, num_threads=threads)
    assert isinstance(engine, Engine)
    check_engine(engine)


def test_initial_state_is_the_models():
    engine = MujocoEngine(PUSHER, 2)
    data = mujoco.MjData(engine.model)
    mujoco.mj_forward(engine.model, data)
    state = engine.read_state()
    np.testing.assert_array_equal(state.qpos, np.tile(data.qpos, (2, 1)))
    np.testing.assert_array_equal(state.body_position[1], data.xpos.astype(np.float32))


def test_steps_as_mujoco_does():
    engine = MujocoEngine(PUSHER, 2)
    model, data = engine.model, mujoco.MjData(engine.model)
    data.ctrl[:] = [1.2, 0.1]
    for _ in range(60):
        engine.step(np.tile(data.ctrl, (2, 1)), 5)
        mujoco.mj_step(model, data, 5)
    state = engine.read_state()
    np.testing.assert_array_equal(state.qpos[1], data.qpos)
    assert state.time[0] == data.time
    mujoco.mj_forward(model, data)
    np.testing.assert_array_equal(state.body_position[1], data.xpos.astype(np.float32))
    np.testing.assert_array_equal(state.sensors[1], data.sensordata)
    assert np.linalg.norm(state.qpos[0, 1:3] - [0.3, 0.15]) > 0.02, "the arm must have pushed the box"


def test_same_bytes_whatever_the_batch_slot_and_threads():
    reference = pushed(MujocoEngine(PUSHER, 6, num_threads=1))
    saved = reference.get_state()
    follow = pushed(reference).get_state()
    for threads in (1, 2, 3):
        for slots in ([0, 1, 2, 3, 4, 5], [5, 2, 0], [3], [4, 4, 4, 4, 4, 4, 4]):
            engine = MujocoEngine(PUSHER, len(slots), num_threads=threads)
            engine.set_state(saved[slots])
            control = (np.linspace(0.2, 1.0, 6)[:, None] * np.array([1.5, 0.3]))[slots]
            for _ in range(40):
                engine.step(control, 5)
            np.testing.assert_array_equal(engine.get_state(), follow[slots], err_msg=f"{threads} threads, slots {slots}")


def test_state_holds_warmstart_control_and_mocap():
    engine = pushed(MujocoEngine(PUSHER, 2))
    engine.set_mocap(position=np.tile([[0.1, 0.2, 0.3]], (2, 1, 1)), quat_wxyz=np.tile([[0.0, 1.0, 0.0, 0.0]], (2, 1, 1)))
    saved = engine.get_state()
    other = MujocoEngine(PUSHER, 2)
    other.set_state(saved)
    data = other.world_data(1)
    np.testing.assert_array_equal(data.mocap_pos[0], [0.1, 0.2, 0.3])
    np.testing.assert_allclose(data.ctrl, [1.5, 0.3])
    assert data.qacc_warmstart.any()


def test_mocap_moves_in_the_masked_worlds_at_once():
    engine = MujocoEngine(PUSHER, 3)
    block = engine.model.body("block").id
    before = engine.body_poses().position[:, block].copy()
    count = engine.state_count
    engine.set_mocap(np.array([False, True, False]), position=np.full((3, 1, 3), 0.7))
    after = engine.body_poses().position[:, block]
    np.testing.assert_allclose(after[1], 0.7)
    np.testing.assert_array_equal(after[[0, 2]], before[[0, 2]])
    assert engine.state_count > count


def test_reset_takes_positions_and_velocities():
    engine = pushed(MujocoEngine(PUSHER, 2))
    qpos, qvel = engine.read_state().qpos, np.zeros((2, engine.model.nv))
    qpos[:, 1:4], qvel[:, 0] = [[1, 0, 1], [0, 1, 2]], 3.0
    engine.reset(np.array([True, False]), qpos=qpos, qvel=qvel)
    state = engine.read_state()
    np.testing.assert_allclose(state.body_position[0, engine.model.body("box").id], [1, 0, 1], rtol=1e-6)
    assert state.qvel[0, 0] == 3.0
    assert state.time[0] == 0.0
    assert state.time[1] > 0.0


def test_a_world_that_diverges_is_flagged_keeps_its_state_and_harms_no_other(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # MuJoCo writes its own log file where it runs.
    engine, healthy = MujocoEngine(PUSHER, 3), MujocoEngine(PUSHER, 3)
    qvel = np.zeros((3, engine.model.nv))
    qvel[1, 0] = 1e9
    engine.reset(qvel=qvel)
    for one in (engine, healthy):
        for _ in range(3):
            one.step(np.full((3, 2), 0.3), 5)
    assert engine.diverged.tolist() == [False, True, False]
    assert np.isfinite(engine.get_state()).all()
    assert np.isfinite(engine.body_poses().position).all()
    np.testing.assert_array_equal(engine.get_state()[[0, 2]], healthy.get_state()[[0, 2]])
    assert engine.read_state().time[1] < engine.read_state().time[0], "a diverged world stands still"
    engine.reset(np.array([False, True, False]))
    assert not engine.diverged.any()
    engine.step(np.zeros((3, 2)))
    assert engine.read_state().time[1] == pytest.approx(0.002)


def test_names_the_world_with_a_bad_control():
    engine = MujocoEngine(PUSHER, 4)
    control = np.zeros((4, 2))
    control[2, 1] = np.nan
    with pytest.raises(InvalidArgumentError, match=r"\[2\]"):
        engine.step(control)


@pytest.mark.parametrize(
    ("source", "message"),
    [("nowhere.xml", "no model file"), ("<mujoco><oops/></mujoco>", "cannot compile"), (__file__, "not XML"), (".", "is a folder")],
)
def test_bad_models(source, message):
    with pytest.raises(ModelError, match=message):
        MujocoEngine(source, 1)


@pytest.mark.parametrize("arguments", [{"num_worlds": 0}, {"num_worlds": 2, "num_threads": 0}])
def test_bad_sizes(arguments):
    with pytest.raises(InvalidArgumentError):
        MujocoEngine(PUSHER, **arguments)


def test_registry():
    assert "mujoco" in engine_names()
    assert engine_class("mujoco") is MujocoEngine
    with pytest.raises(NotFoundError, match="mujoco"):
        engine_class("phlogiston")


def test_checks_find_broken_engines():
    class Stale(MujocoEngine):
        def set_state(self, state, world_mask=None):
            self._state[self._mask(world_mask)] = np.asarray(state)[self._mask(world_mask)]
            self.state_count += 1

    class Silent(MujocoEngine):
        def _changed(self, mask):
            super()._changed(mask)
            self.state_count -= 1

    class Shared(MujocoEngine):
        def get_state(self):
            return self._state

    class Leaky(MujocoEngine):
        def reset(self, world_mask=None, *, qpos=None, qvel=None):
            super().reset(None, qpos=qpos, qvel=qvel)

    for broken, message in ((Stale, "poses after set_state"), (Silent, "state_count"), (Shared, "caller's own"), (Leaky, "outside it")):
        with pytest.raises(AssertionError, match=message):
            check_engine(broken(PUSHER, 3), with_scene=False)
    check_pose_source(MujocoEngine(PUSHER, 1))
