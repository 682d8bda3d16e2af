"""Opens a recording with ManiSkill's own code. Run it in an environment with mani_skill 3.0.1: check_maniskill.py DIR."""

import sys
from pathlib import Path


def check(folder: Path) -> str:
    """Load every trajectory of a recording with mani_skill's dataset class and its utilities; what was loaded, in a sentence.

    Raises:
        AssertionError: something is missing or has another length than the format says.
    """
    import h5py
    import numpy as np
    from mani_skill.trajectory import utils
    from mani_skill.trajectory.dataset import ManiSkillTrajectoryDataset
    from mani_skill.trajectory.replay_trajectory import sanity_check_and_format_seed

    path = next(folder.glob("trajectory.*.h5"))
    dataset = ManiSkillTrajectoryDataset(str(path))
    episodes = dataset.episodes
    steps = sum(episode["elapsed_steps"] for episode in episodes)
    assert len(dataset) == steps > 0
    assert [episode["episode_id"] for episode in episodes] == sorted(episode["episode_id"] for episode in episodes)
    item = dataset[steps - 1]
    assert set(item) >= {"obs", "action", "terminated", "truncated", "reward"}
    tools_read_name = path.stem.split(".")
    assert len(tools_read_name) == 4, "the tools read obs mode, control mode and backend from the file's name"
    with h5py.File(path) as file:
        for episode in episodes:
            sanity_check_and_format_seed(episode)
            group = file[f"traj_{episode['episode_id']}"]
            states = utils.dict_to_list_of_dicts(group["env_states"])
            assert len(states) == episode["elapsed_steps"] + 1
            assert len(group["obs"]) == episode["elapsed_steps"] + 1
            for kind in ("actors", "articulations"):
                for state in states[0][kind].values():
                    assert state.dtype == np.float32
                    assert len(state) >= 13
    only_good = ManiSkillTrajectoryDataset(str(path), success_only=True) if "success" in episodes[0] else dataset
    return f"{len(episodes)} episodes, {steps} steps, {len(only_good)} of them in successful episodes: {path.name} opens in mani_skill"


if __name__ == "__main__":
    print(check(Path(sys.argv[1])))
