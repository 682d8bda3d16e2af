"""Conformance checks that every pose source and every engine must pass, ours and those of other packages.

Each raises an AssertionError that says which promise is broken. They change the state of what they check.
"""

from typing import Any

import numpy as np

from rollfilm.engines.protocol import Engine
from rollfilm.errors import InvalidArgumentError
from rollfilm.host import host_array
from rollfilm.scene.poses import PoseSource

__all__ = ["check_engine", "check_pose_source"]


def check_pose_source(source: PoseSource, *, with_scene: bool = True) -> None:
    """Check what a renderer relies on: shapes, types, unit quaternions, a device and a counter.

    Args:
        source: what is checked.
        with_scene: also build its scene and hold the poses to the scene's bodies.

    Raises:
        AssertionError: a promise is broken.
    """
    assert isinstance(source.num_worlds, int), f"num_worlds is {type(source.num_worlds).__name__}, not int"
    assert source.num_worlds >= 1, f"num_worlds is {source.num_worlds}, not 1 or more"
    assert source.device == "cpu" or source.device.startswith("cuda:"), f"device is {source.device!r}, neither 'cpu' nor 'cuda:N'"
    assert isinstance(source.state_count, int), f"state_count is {type(source.state_count).__name__}, not int"
    poses = source.body_poses()
    position, quat = host_array(poses.position), host_array(poses.quat_wxyz)
    assert position.dtype == np.float32, f"body positions are {position.dtype}, not float32"
    assert quat.dtype == np.float32, f"body rotations are {quat.dtype}, not float32"
    assert position.ndim == 3, f"body positions have shape {position.shape}, not (B, bodies, 3)"
    assert position.shape == (source.num_worlds, position.shape[1], 3), f"body positions have shape {position.shape}, not (B, bodies, 3)"
    assert quat.shape == (*position.shape[:2], 4), f"body rotations have shape {quat.shape}, not (B, bodies, 4)"
    assert np.isfinite(position).all(), "a body position is not finite"
    norms = np.linalg.norm(quat, axis=-1)
    assert np.abs(norms - 1.0).max() < 1e-4, f"body rotations are not unit quaternions: lengths {norms.min():.6f} to {norms.max():.6f}"
    assert not np.any(position[:, 0]), "body 0, the world, is not at the origin"
    assert np.allclose(quat[:, 0], [1, 0, 0, 0]), "body 0, the world, is turned"
    if with_scene:
        bodies = len(source.scene.bodies.names)
        assert bodies == position.shape[1], f"the scene has {bodies} bodies, the poses {position.shape[1]}"


def check_engine(engine: Engine, *, steps: int = 5, repeats_bytes: bool = True, with_scene: bool = True) -> None:
    """Check what an environment relies on, with random controls; the engine needs two worlds or more.

    Args:
        engine: what is checked.
        steps: control steps a trial.
        repeats_bytes: whether the engine promises that a restored state repeats the same bytes; else only closeness is asked.
        with_scene: see :func:`check_pose_source`.

    Raises:
        AssertionError: a promise is broken.
    """
    assert engine.num_worlds >= 2, "check_engine needs an engine with two worlds or more"
    engine.reset()
    check_pose_source(engine, with_scene=with_scene)
    same = np.array_equal if repeats_bytes else lambda a, b: np.allclose(a, b, atol=1e-4)
    control = np.random.default_rng(0).uniform(-0.1, 0.1, (steps, engine.num_worlds, engine.control_size))
    _check_count_and_copies(engine, control)
    _check_restore(engine, control, same)
    _check_slots(engine, control, same)
    _check_masks(engine, control)
    _check_refusals(engine, control)


def _check_count_and_copies(engine: Engine, control: Any) -> None:
    for name, change in (
        ("reset", engine.reset),
        ("step", lambda: engine.step(control[0])),
        ("set_state", lambda: engine.set_state(engine.get_state())),
    ):
        before = engine.state_count
        change()
        assert engine.state_count > before, f"state_count did not grow with {name}()"
    state, saved = engine.read_state(), engine.get_state()
    kept = [np.array(value) for value in (state.qpos, state.body_position, saved)]
    engine.step(control[0], 3)
    for name, value, copy in zip(
        ("read_state().qpos", "read_state().body_position", "get_state()"), (state.qpos, state.body_position, saved), kept, strict=True
    ):
        assert np.array_equal(value, copy), f"{name} was overwritten by the next step; it must be the caller's own"


def _check_restore(engine: Engine, control: Any, same: Any) -> None:
    engine.reset()
    for one in control:
        engine.step(one, 2)
    saved, shown = engine.get_state(), np.array(host_array(engine.body_poses().position))
    first = _run(engine, control)
    engine.reset()
    engine.set_state(saved)
    assert same(host_array(engine.body_poses().position), shown), "the poses after set_state() are not those of the state that was set"
    assert np.array_equal(engine.get_state(), saved), "get_state() after set_state() gives another state"
    assert same(_run(engine, control), first), "a restored state does not repeat what followed it"


def _check_slots(engine: Engine, control: Any, same: Any) -> None:
    engine.reset()
    for one in control:
        engine.step(one)
    saved = engine.get_state()
    forward = _run(engine, control)
    engine.set_state(saved[::-1].copy())
    backward = _run(engine, control[:, ::-1])
    assert same(forward, backward[:, ::-1]), "a world depends on the slot that it is in"


def _check_masks(engine: Engine, control: Any) -> None:
    mask = np.arange(engine.num_worlds) % 2 == 0
    engine.reset()
    fresh = engine.get_state()
    for one in control:
        engine.step(one, 2)
    moved = engine.get_state()
    actions = {
        "reset": (lambda: engine.reset(mask), fresh),
        "set_state": (lambda: engine.set_state(fresh, mask), fresh),
        "step": (lambda: engine.step(control[0], world_mask=mask), None),
    }
    for name, (act, expected) in actions.items():
        engine.set_state(moved)
        poses = np.array(host_array(engine.body_poses().position))
        act()
        after = engine.get_state()
        assert np.array_equal(after[~mask], moved[~mask]), f"{name}() with a mask changed a world outside it"
        assert np.array_equal(host_array(engine.body_poses().position)[~mask], poses[~mask]), (
            f"{name}() with a mask moved a body outside it"
        )
        if expected is not None:
            assert np.array_equal(after[mask], expected[mask]), f"{name}() with a mask did not change the worlds in it"
        else:
            assert not np.array_equal(after[mask], moved[mask]), f"{name}() with a mask did not change the worlds in it"


def _check_refusals(engine: Engine, control: Any) -> None:
    nan = control[0].copy()
    nan[1] = np.nan
    short = np.ones(engine.num_worlds + 1, dtype=np.bool_)
    cases = {
        "a control with one world too many": lambda: engine.step(np.zeros((engine.num_worlds + 1, engine.control_size))),
        "a mask with one world too many": lambda: engine.reset(short),
        "a mask of integers": lambda: engine.reset(np.ones(engine.num_worlds, dtype=np.int64)),  # pyright: ignore[reportArgumentType]
        "a state of another size": lambda: engine.set_state(np.zeros((engine.num_worlds, 1))),
        "substeps=0": lambda: engine.step(control[0], 0),
    }
    if engine.control_size:
        cases["a control of NaN"] = lambda: engine.step(nan)
    for what, act in cases.items():
        before = engine.get_state()
        try:
            act()
        except InvalidArgumentError:
            assert np.array_equal(engine.get_state(), before), f"{what} was refused, but the state changed"
        else:
            raise AssertionError(f"{what} was accepted; it must raise InvalidArgumentError")


def _run(engine: Engine, control: Any) -> Any:
    """The states (steps, B, S) that follow."""
    states = []
    for one in control:
        engine.step(one, 2)
        states.append(engine.get_state())
    return np.stack(states)
