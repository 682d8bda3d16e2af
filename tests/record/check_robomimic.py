"""Opens a file with robomimic's own code. Run it in an environment with robomimic 0.3.0: check_robomimic.py FILE."""

import sys
from pathlib import Path


def check(path: Path) -> str:
    """Load every sequence of a file with robomimic's dataset class and its utilities; what was loaded, in a sentence.

    Raises:
        AssertionError: something is missing or has another length than the format says.
    """
    import h5py
    import numpy as np
    import robomimic.utils.env_utils as env_utils
    import robomimic.utils.file_utils as file_utils
    import robomimic.utils.obs_utils as obs_utils
    from robomimic.utils.dataset import SequenceDataset

    env_meta = file_utils.get_env_metadata_from_dataset(str(path))
    env_type = env_utils.get_env_type(env_meta=env_meta)
    with h5py.File(path) as file:
        demos = sorted(file["data"], key=lambda name: int(name[5:]))
        names = list(file["data"][demos[0]]["obs"])
        total = int(file["data"].attrs["total"])
        num_success = len(file["mask/success"]) if "mask/success" in file else 0
    images = [name for name in names if name.endswith("_image")]
    vectors = [name for name in names if name not in images]
    obs_utils.initialize_obs_utils_with_obs_specs({"obs": {"low_dim": vectors, "rgb": images}})
    shapes = file_utils.get_shape_metadata_from_dataset(str(path), all_obs_keys=names)
    assert shapes["use_images"] == bool(images)
    keys = ("actions", "rewards", "dones", "states")
    dataset = SequenceDataset(str(path), obs_keys=vectors, dataset_keys=keys, seq_length=1, frame_stack=1)
    assert dataset.demos == demos
    items = [dataset[k] for k in range(len(dataset))]
    assert len(items) == total
    dataset.close_and_delete_hdf5_handle()
    with h5py.File(path) as file:
        k = 0
        for demo in demos:
            group = file["data"][demo]
            steps = int(group.attrs["num_samples"])
            part = items[k : k + steps]
            k += steps
            for name in keys:
                np.testing.assert_array_equal(np.concatenate([item[name] for item in part]), group[name][:])
            assert [int(item["dones"][0]) for item in part] == [0] * (steps - 1) + [1]
            for name in vectors:
                shown = np.concatenate([item["obs"][name] for item in part])
                after = np.concatenate([item["next_obs"][name] for item in part])
                np.testing.assert_array_equal(shown, group["obs"][name][:])
                np.testing.assert_array_equal(after[:-1], shown[1:], "the observation after a step is the one before the next")
            for name in images:
                assert group["obs"][name].shape[0] == steps
                assert group["obs"][name].dtype == np.uint8
    pictures = SequenceDataset(str(path), obs_keys=names, dataset_keys=keys, load_next_obs=False)
    for name in images:
        assert pictures[total - 1]["obs"][name].shape[-1] == 3
    pictures.close_and_delete_hdf5_handle()
    if num_success:
        assert SequenceDataset(str(path), obs_keys=vectors, dataset_keys=keys, filter_by_attribute="success").n_demos == num_success
    counts = f"{len(demos)} demos, {total} samples, {num_success} successful"
    return f"{counts}, env type {env_type}, observations {names}: {path.name} opens in robomimic"


if __name__ == "__main__":
    print(check(Path(sys.argv[1])))
