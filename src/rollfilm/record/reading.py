"""A recording that is there: what it says of itself, its episodes' rows and their videos. Nothing is changed on the disk."""

from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from rollfilm.errors import ModelError, NotFoundError, RecordingError
from rollfilm.record.layout import Layout
from rollfilm.record.manifest import read_episodes, read_manifest
from rollfilm.record.states import EpisodeStates, read_states
from rollfilm.record.video_reader import VideoReader
from rollfilm.scene import Scene
from rollfilm.scene.stored import load_stored_scene

__all__ = ["EpisodeRows", "Recording", "read_rows"]


class EpisodeRows(Mapping[str, NDArray]):
    """The rows of one episode of T steps by the path of their dataset.

    ``obs`` (or ``obs/...``) and ``env_states/...`` have T + 1 rows: row k is what was seen, or was, after k actions. ``actions`` (or
    ``actions/...``), ``rewards``, ``terminated``, ``truncated`` and ``success`` have T; ``success`` is there only where the
    environment said so.

    Attributes:
        index: the episode's.
        steps: T.
    """

    def __init__(self, index: int, arrays: Mapping[str, NDArray]) -> None:
        self.index = index
        self._arrays = dict(arrays)
        self.steps = len(self._arrays["rewards"])

    def __getitem__(self, name: str) -> NDArray:
        return self._arrays[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._arrays)

    def __len__(self) -> int:
        return len(self._arrays)


class Recording:
    """A recording that is finished, or was interrupted, or is still running: what is finished in it can be read.

    Args:
        folder: of the recording.

    Raises:
        RecordingError: the folder holds no recording, or one that cannot be read.

    Attributes:
        layout: where its files are.
        manifest: what ``recording.json`` says.
        episodes: the lines of ``episodes.jsonl``, in the order of the episodes' indices.
    """

    def __init__(self, folder: str | Path) -> None:
        self.layout = Layout(Path(folder))
        self.manifest: dict[str, Any] = read_manifest(self.layout)
        self.episodes: list[dict[str, Any]] = read_episodes(self.layout)

    @property
    def kept(self) -> list[dict[str, Any]]:
        """The lines of the episodes whose files stayed, in the order of their indices."""
        return [line for line in self.episodes if line["kept"]]

    @property
    def cameras(self) -> tuple[str, ...]:
        """The names of the cameras."""
        return tuple(self.manifest["cameras"])

    @property
    def trajectory_file(self) -> Path:
        """ManiSkill's file of all episodes, whether it is there or not."""
        name = self.manifest.get("files", {}).get("trajectory")
        if isinstance(name, str):
            return self.layout.root / name
        return self.layout.trajectory(self.manifest["obs_mode"], self.manifest["control_mode"], self.manifest["engine"])

    def episode(self, index: int) -> dict[str, Any]:
        """The line of an episode.

        Raises:
            NotFoundError: no such episode has ended.
        """
        if index not in self._by_index:
            numbers = [line["episode"] for line in self.episodes]
            known = f"there are {len(numbers)}, from {numbers[0]} to {numbers[-1]}" if numbers else "none has ended"
            raise NotFoundError(f"{self.layout.root} holds no finished episode {index}: {known}")
        return self._by_index[index]

    def trajectory(self, index: int) -> EpisodeRows:
        """The rows of an episode, from the file of all episodes or from the episode's own.

        Raises:
            NotFoundError: no such episode has ended.
            RecordingError: it has no rows (not kept, cut, or recorded without the format ``"maniskill"``), or they cannot be read.
        """
        line = self.episode(index)
        for path in (self.trajectory_file, self.layout.segment(index)):
            if path.is_file() and (rows := read_rows(path, index)) is not None:
                return rows
        if not line["kept"]:
            reason = "it was not kept"
        elif "trajectory" not in line:
            reason = f"it ended as {line['ended']!r}" if line["ended"] in ("cut", "failed") else "the recording has no format 'maniskill'"
        else:
            reason = f"{self.trajectory_file.name} lacks it"
        raise RecordingError(f"{self.layout.root}: there are no rows of episode {index}: {reason}")

    def states(self, index: int) -> EpisodeStates:
        """The states of an episode, from which it can be filmed again.

        Raises:
            NotFoundError: no such episode has ended.
            RecordingError: they were not stored, or cannot be read.
        """
        line = self.episode(index)
        path = self.layout.state(index)
        if not path.is_file():
            kept = "it was not kept" if not line["kept"] else f"{path.relative_to(self.layout.root)} is not there"
            raise RecordingError(f"{self.layout.root}: there are no states of episode {index}: {kept}")
        return read_states(path)

    @cached_property
    def scene(self) -> Scene:
        """What can be seen.

        Raises:
            RecordingError: it was not stored, or cannot be read.
        """
        if not self.layout.scene.is_file():
            raise RecordingError(
                f"{self.layout.root} has no {self.layout.scene.name}: it was recorded without states, from which it could be filmed again"
            )
        try:
            return load_stored_scene(self.layout.scene)
        except ModelError as error:
            raise RecordingError(str(error)) from error

    def video_path(self, camera: str, index: int) -> Path:
        """The file of a camera's video of an episode, whether it is there or not.

        Raises:
            NotFoundError: there is no such camera, or no such episode has ended.
        """
        if camera not in self.manifest["cameras"]:
            raise NotFoundError(f"{self.layout.root} has no camera {camera!r}; choose from {', '.join(self.cameras)}")
        videos = self.episode(index).get("videos")
        path = videos.get(camera) if isinstance(videos, dict) else None
        return self.layout.root / path if isinstance(path, str) else self.layout.video(camera, index)

    def video(self, camera: str, index: int) -> VideoReader:
        """A camera's video of an episode. The caller closes it.

        Raises:
            NotFoundError: there is no such camera, or no such episode has ended.
            RecordingError: there is no video of it, or it cannot be read.
        """
        path = self.video_path(camera, index)
        if not path.is_file():
            kept = self.episode(index)["kept"]
            raise RecordingError(f"{path} is not there" + ("" if kept else f": episode {index} was not kept"))
        return VideoReader(path)

    @cached_property
    def _by_index(self) -> dict[int, dict[str, Any]]:
        return {line["episode"]: line for line in self.episodes}


def read_rows(path: Path, index: int) -> EpisodeRows | None:
    """The rows of an episode in a file of ManiSkill's format; None if it is not in there.

    Raises:
        RecordingError: the file cannot be read, or lacks what every episode has.
    """
    arrays: dict[str, NDArray] = {}
    try:
        with h5py.File(path, "r") as file:
            group = file.get(f"traj_{index}")
            if not isinstance(group, h5py.Group):
                return None
            _collect(group, "", arrays)
    except (OSError, RuntimeError, KeyError) as error:
        raise RecordingError(f"{path}, episode {index}: cannot be read: {error}") from error
    if "rewards" not in arrays:
        raise RecordingError(f"{path}, episode {index}: there are no rewards")
    return EpisodeRows(index, arrays)


def _collect(group: h5py.Group, prefix: str, arrays: dict[str, NDArray]) -> None:
    """The datasets below a group in the order in which they were written, which h5py's own walk does not keep."""
    for name, item in group.items():
        if isinstance(item, h5py.Group):
            _collect(item, f"{prefix}{name}/", arrays)
        elif isinstance(item, h5py.Dataset):
            arrays[prefix + name] = np.asarray(item[()])
