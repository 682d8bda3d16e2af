"""Records ManiSkill's PickCube with its own ``RecordEpisode`` and with ours, and compares. Run it in an environment with mani_skill 3.0.1
and rollfilm: check_record_episode.py DIR. Neither a GPU nor Vulkan is needed.
"""

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import gymnasium
import h5py
import numpy as np
import sapien
import torch

import rollfilm
from rollfilm.record import Recording


class _Stand:
    """In the place of a material or texture, which SAPIEN makes only where there is a device to render with."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.__dict__.update(kwargs)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("set_"):
            return lambda value: setattr(self, name[4:], value)
        raise AttributeError(name)


def make(**options: Any) -> gymnasium.Env:
    """PickCube without a renderer; episodes of 6 steps."""
    for module in (sapien.render, sapien.pysapien.render):
        module.RenderMaterial = module.RenderTexture2D = _Stand
    import mani_skill.envs  # noqa: F401  registers the tasks

    return gymnasium.make(
        "PickCube-v1", num_envs=1, obs_mode="state", sim_backend="physx_cpu", render_backend="none", max_episode_steps=6, **options
    )


def pictures(env: gymnasium.Env) -> Any:
    """A function that gives a picture as bright as 40 times the step of the episode."""
    return lambda: torch.full((1, 32, 32, 3), int(env.unwrapped.elapsed_steps[0]) * 40, dtype=torch.uint8)


def drive(env: Any, steps: int, *, vector: bool) -> None:
    """The same actions for everyone; the first reset has a seed, the others have none."""
    random = np.random.default_rng(0)
    torch.manual_seed(0)  # what ManiSkill draws the second episode with
    env.reset(seed=3)
    for _ in range(steps):
        *_, terminated, truncated, _ = env.step(random.uniform(-1, 1, (1, 8)).astype(np.float32))
        if not vector and bool(torch.as_tensor(terminated | truncated).any()):
            env.reset()
    env.close()


def compare(ours: Path, theirs: Path, episodes: int) -> None:
    """Every array of theirs is in ours, with the same type and the same values."""
    with h5py.File(ours) as mine, h5py.File(theirs) as reference:
        for episode in range(episodes):
            a, b = mine[f"traj_{episode}"], reference[f"traj_{episode}"]
            names: list[str] = []
            b.visititems(lambda name, item, names=names: names.append(name) if isinstance(item, h5py.Dataset) else None)
            assert len(names) >= 8
            for name in names:
                assert a[name].dtype == b[name].dtype, (name, a[name].dtype, b[name].dtype)
                np.testing.assert_array_equal(a[name][()], b[name][()], err_msg=f"{episode}/{name}")


def check(folder: Path) -> str:
    """What was compared, in a sentence.

    Raises:
        AssertionError: something differs.
    """
    from mani_skill.utils.wrappers.record import RecordEpisode as Original
    from mani_skill.vector.wrappers.gymnasium import ManiSkillVectorEnv

    drive(Original(make(), str(folder / "original"), save_video=False, trajectory_name="it"), 15, vector=False)
    env = make()
    ours = rollfilm.RecordEpisode(env, str(folder / "ours"), trajectory_name="it", frames=pictures(env))
    assert isinstance(ours, gymnasium.Wrapper)
    drive(ours, 15, vector=False)
    compare(folder / "ours/it.h5", folder / "original/it.h5", 2)

    inside = make()
    wrapped = rollfilm.RecordEpisode(inside, folder / "inside", trajectory_name="it", frames=pictures(inside))
    drive(ManiSkillVectorEnv(wrapped, auto_reset=True), 15, vector=True)
    compare(folder / "inside/it.h5", folder / "original/it.h5", 2)

    base = make()
    outside = rollfilm.RecordEpisode(
        ManiSkillVectorEnv(base, auto_reset=True), folder / "outside", trajectory_name="it", frames=pictures(base)
    )
    drive(outside, 15, vector=True)
    compare(folder / "outside/it.h5", folder / "original/it.h5", 2)

    for name in ("ours", "inside", "outside"):
        recording = Recording(folder / name)
        found = [SimpleNamespace(**line) for line in recording.episodes]
        assert [(line.seed, line.steps, line.ended) for line in found] == [(3, 6, "truncated"), (None, 6, "truncated"), (None, 3, "cut")]
        assert not any("missing_at_end" in line for line in recording.episodes)
        for line in found:
            shown = [float(picture.mean()) for picture in recording.video("render", line.episode)]
            assert np.abs(np.array(shown) - 40 * np.arange(line.steps + 1)).max() <= 3, (name, line.episode, shown)
    return "3 recordings hold what ManiSkill's own RecordEpisode writes of the same episodes, and their frames"


if __name__ == "__main__":
    print(check(Path(sys.argv[1])))
