"""Reads what was recorded, with other code than that which wrote it."""

import json
from pathlib import Path

import av
import numpy as np


def decode(path: Path) -> np.ndarray:
    """All frames of a video, uint8 (frames, H, W, 3); checks that presentation times count frames."""
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        frames = list(container.decode(stream))
        assert [frame.pts for frame in frames] == list(range(len(frames)))
        assert stream.time_base * stream.average_rate == 1
        return np.stack([frame.to_ndarray(format="rgb24") for frame in frames])


def levels(path: Path) -> list[int]:
    """The mean brightness of each frame."""
    return [round(float(frame.mean())) for frame in decode(path)]


def lines(folder: Path) -> list[dict]:
    return [json.loads(line) for line in (folder / "episodes.jsonl").read_text().splitlines()]
