"""Opens a dataset with LeRobot's own code. Run it in an environment with lerobot 0.6.1 and h5py: check_lerobot.py DATASET [RECORDING]."""

import json
import os
import sys
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"


def check(folder: Path, recording: Path | None = None) -> str:
    """Load every item of a dataset with lerobot, and compare it with the recording that it was made from; what was loaded, in a sentence.

    Raises:
        AssertionError: something is missing, or is not what was recorded.
    """
    import numpy as np
    from lerobot.datasets.lerobot_dataset import LeRobotDataset

    dataset = LeRobotDataset("local/check", root=folder, video_backend="pyav")
    info = json.loads((folder / "meta/info.json").read_text())
    assert len(dataset) == info["total_frames"] > 0
    cameras = [name for name, feature in info["features"].items() if feature["dtype"] == "video"]
    items = [dataset[k] for k in range(len(dataset))]
    assert [int(item["index"]) for item in items] == list(range(len(items)))
    assert not any(item["task"].isdigit() for item in items), "the task is a number: its text was lost"
    rows = np.stack([item["action"].numpy() for item in items])
    np.testing.assert_allclose(dataset.meta.stats["action"]["mean"], rows.mean(0), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(
        dataset.meta.stats["action"]["q99"], np.quantile(rows.astype(np.float64), 0.99, axis=0), rtol=1e-5, atol=1e-6
    )
    for camera in cameras:
        pictures = np.stack([item[camera].numpy() for item in items])
        assert pictures.shape[2:] == tuple(info["features"][camera]["shape"][:2])
        stats = dataset.meta.stats[camera]
        assert stats["mean"].shape == (3, 1, 1)
        np.testing.assert_allclose(stats["mean"][:, 0, 0], pictures.mean((0, 2, 3)), atol=0.02)
    _check_windows(folder, cameras, items)
    if recording is not None:
        _compare(dataset, items, cameras, recording)
    tasks = sorted({item["task"] for item in items})
    return f"{dataset.num_episodes} episodes, {len(items)} frames, {len(cameras)} cameras, tasks {tasks}: {folder.name} opens in lerobot"


def _check_windows(folder: Path, cameras: list[str], items: list) -> None:
    """Ask for the frame before and the actions after each one; at the ends of episodes they repeat and are marked."""
    import torch
    from lerobot.datasets.lerobot_dataset import LeRobotDataset

    fps = LeRobotDataset("local/check", root=folder, video_backend="pyav").fps
    windows = {camera: [-1 / fps, 0.0] for camera in cameras} | {"action": [0.0, 1 / fps, 2 / fps]}
    dataset = LeRobotDataset("local/check", root=folder, delta_timestamps=windows, video_backend="pyav")
    for k, item in enumerate(items):
        window = dataset[k]
        first = int(item["frame_index"]) == 0
        for camera in cameras:
            assert torch.equal(window[camera][1], item[camera])
            assert torch.equal(window[camera][0], items[k if first else k - 1][camera])
            assert window[f"{camera}_is_pad"].tolist() == [first, False]
        assert torch.equal(window["action"][0], item["action"])


def _compare(dataset, items: list, cameras: list[str], recording: Path) -> None:
    """Compare rows and pictures with the trajectory file and the videos of the recording."""
    import av
    import h5py
    import numpy as np

    lines = [json.loads(line) for line in (recording / "episodes.jsonl").read_text().splitlines()]
    kept = sorted((line for line in lines if line["kept"] and line.get("lerobot")), key=lambda line: line["episode"])
    assert len(kept) == dataset.num_episodes
    manifest = json.loads((recording / "recording.json").read_text())
    said = manifest["instruction"] or manifest["task"]
    position = 0
    with h5py.File(next(recording.glob("trajectory.*.h5"))) as file:
        for episode, line in enumerate(kept):
            part = items[position : position + line["steps"]]
            position += line["steps"]
            assert {int(item["episode_index"]) for item in part} == {episode}
            assert {item["task"] for item in part} == {line.get("instruction") or said}
            group = file[line["trajectory"]]
            np.testing.assert_array_equal(np.stack([item["action"].numpy() for item in part]), group["actions"][:])
            if isinstance(group["obs"], h5py.Dataset):
                np.testing.assert_array_equal(np.stack([item["observation.state"].numpy() for item in part]), group["obs"][:-1])
            np.testing.assert_array_equal([float(item["next.reward"]) for item in part], group["rewards"][:])
            assert [bool(item["next.done"]) for item in part] == [False] * (line["steps"] - 1) + [True]
            for camera, path in line["videos"].items():
                with av.open(str(recording / path)) as container:
                    shown = [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]
                assert len(shown) == line["steps"] + 1
                for item, picture in zip(part, shown, strict=False):
                    loaded = (item[f"observation.images.{camera}"].numpy() * 255).round().astype(np.uint8).transpose(1, 2, 0)
                    np.testing.assert_array_equal(loaded, picture)
    assert position == len(items)


if __name__ == "__main__":
    print(check(*map(Path, sys.argv[1:])))
