"""Replays a recording of pick-cube with ManiSkill's own tool, in an environment with mani_skill 3.0.1: check_maniskill_replay.py DIR."""

import sys
from pathlib import Path
from typing import Any


class _Material:
    """In the place of SAPIEN's, which cannot be made without a Vulkan device; nothing is rendered here."""

    def __init__(self, *_: Any, **values: Any) -> None:
        self.__dict__.update(values)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("set_"):
            return lambda *_, **__: None
        raise AttributeError(name)


class _Texture:
    def __init__(self, filename: str | None = None, *_: Any, **__: Any) -> None:
        self.filename = filename


def check(folder: Path) -> str:
    """Replay every episode by its stored states in ManiSkill's PickCube-v1, and read each state back; what was replayed, in a sentence.

    Raises:
        AssertionError: a state that was read back is another one than was stored.
    """
    import sapien.pysapien.render
    import sapien.render

    for module in (sapien.render, sapien.pysapien.render):
        module.RenderMaterial, module.RenderTexture2D = _Material, _Texture
    import gymnasium
    import h5py
    import mani_skill.envs  # noqa: F401
    import numpy as np
    from mani_skill.trajectory import utils
    from mani_skill.trajectory.replay_trajectory import Args, replay_cpu_sim
    from mani_skill.utils import io_utils
    from mani_skill.utils.wrappers.record import RecordEpisode

    path = next(folder.glob("trajectory.*.h5"))
    episodes = io_utils.load_json(str(path.with_suffix(".json")))["episodes"]
    env = gymnasium.make(
        "PickCube-v1", obs_mode="state", control_mode=episodes[0]["control_mode"], sim_backend="physx_cpu", render_backend="none"
    )
    seen: list[dict] = []
    base = env.unwrapped
    set_state = base.set_state_dict
    base.set_state_dict = lambda state: (set_state(state), seen.append(base.get_state_dict()))
    recorder = RecordEpisode(env, output_dir=str(folder), save_trajectory=False, save_video=False)
    worst = 0.0
    with h5py.File(path) as file:
        for episode in episodes:
            seen.clear()
            # NumPy's old generator, which ManiSkill seeds, takes 32 bits; the states do not depend on it
            episode["episode_seed"] %= 2**32
            args = Args(traj_path=str(path), use_env_states=True, allow_failure=True)
            assert replay_cpu_sim(args, recorder, None, None, [episode], file).successful_replays == 1
            stored = utils.dict_to_list_of_dicts(file[f"traj_{episode['episode_id']}"]["env_states"])
            assert len(seen) == len(stored) == episode["elapsed_steps"] + 1
            for state, expected in zip(seen, stored, strict=True):
                for kind, members in expected.items():
                    for name, values in members.items():
                        worst = max(worst, float(np.abs(np.asarray(state[kind][name])[0] - values).max()))
    assert worst < 1e-4, f"a state that was set came back {worst} away"
    return f"{len(episodes)} episodes replayed in mani_skill, states within {worst:.1e}"


if __name__ == "__main__":
    print(check(Path(sys.argv[1])))
