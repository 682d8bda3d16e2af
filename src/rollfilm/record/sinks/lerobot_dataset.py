"""A LeRobot v3.0 dataset: parquet rows, joined videos, episodes, tasks, statistics. Opened with lerobot 0.6.1.

The format is that of ``lerobot.datasets``; ``docs/recording.md`` says what of a recording goes where. The dataset is written into a
folder of another name, which is renamed when all is whole.
"""

import json
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from rollfilm.cores import available_cores
from rollfilm.errors import RecordingError
from rollfilm.record.remux import JoinedVideo, VideoKind, video_kind
from rollfilm.record.sinks.lerobot_tables import DATA_BYTES, FILES_PER_CHUNK, DataFiles, EpisodeTable, FileIndex, write_tasks
from rollfilm.record.statistics import ColumnSpool, histogram_statistics, picture_histogram, sampled_frames, vector_statistics
from rollfilm.record.video import PARTIAL_SUFFIX
from rollfilm.record.whole import naming

__all__ = ["LeRobotEpisode", "LeRobotInfo", "write_lerobot"]

#: LeRobot's limit of a video file, in bytes; an episode is never split.
_VIDEO_BYTES = 200 << 20

#: Columns that LeRobot itself demands, with their types.
_BOOKKEEPING = {"timestamp": "float32", "frame_index": "int64", "episode_index": "int64", "index": "int64", "task_index": "int64"}

#: Columns of rollfilm's, in their order in the files.
_ORDER = ("observation.state", "action", "next.reward", "next.done", "next.success")

#: Episodes whose pictures are looked at meanwhile.
_BATCH = 16


@dataclass(frozen=True)
class LeRobotInfo:
    """What a dataset says of all episodes.

    Attributes:
        fps: rows and frames a second: the control rate, whatever the playback of the videos is.
        cameras: whose videos go into it, in their order.
        task: what is to be done, in words, where an episode does not say.
    """

    fps: Fraction
    cameras: tuple[str, ...]
    task: str

    @classmethod
    def of_manifest(cls, manifest: Mapping[str, Any], *, with_cameras: bool = True) -> Self:
        """What a recording's ``recording.json`` says of it; without cameras where no episode was filmed."""
        fps = Fraction(manifest["control_frequency_hz"]).limit_denominator(1001)
        return cls(fps, tuple(manifest["cameras"]) if with_cameras else (), manifest.get("instruction") or manifest["task"])


@dataclass(frozen=True, eq=False)
class LeRobotEpisode:
    """An episode on its way into a dataset.

    Attributes:
        index: in the recording that it comes from; in the dataset episodes are numbered without gaps.
        seed: that made it, None where there is none.
        task: what is to be done, in words; None for what the dataset says of all.
        columns: its rows by the name of the feature, each (T, D).
        names: what the components of a column are, None for no names.
        videos: the file of each camera, T + 1 frames.
    """

    index: int
    seed: int | None
    task: str | None
    columns: Mapping[str, NDArray]
    names: Mapping[str, list[str] | None]
    videos: Mapping[str, Path]

    @property
    def steps(self) -> int:
        """T."""
        return len(self.columns["action"])


def write_lerobot(folder: Path, info: LeRobotInfo, episodes: Iterable[LeRobotEpisode]) -> None:
    """Write a dataset, in the order in which the episodes come, in constant memory. An older one in its place is replaced at the end.

    Args:
        folder: of the dataset. Until all is whole, it has another name.
        info: what is said of all episodes.
        episodes: at least one.

    Raises:
        RecordingError: an episode has other columns than the first one, a video has not T + 1 frames, or a file cannot be read or
            written. Nothing is left behind.
    """
    partial = folder.with_name(folder.name + PARTIAL_SUFFIX)
    with naming(folder):
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        try:
            with _Writer(partial, info) as writer, ThreadPoolExecutor(available_cores()) as pool:
                for batch in _batches(episodes, _BATCH):
                    # pictures are decoded in threads while the rows and packets before them are written
                    seen = [_look_at(pool, info, episode) for episode in batch]
                    for episode, futures in zip(batch, seen, strict=True):
                        writer.add(episode, {camera: future.result() for camera, future in futures.items()})
                writer.finish()
            shutil.rmtree(folder, ignore_errors=True)
            os.replace(partial, folder)
        except BaseException:
            shutil.rmtree(partial, ignore_errors=True)
            raise


def _look_at(pool: ThreadPoolExecutor, info: LeRobotInfo, episode: LeRobotEpisode) -> "dict[str, Future[NDArray[np.int64]]]":
    frames = sampled_frames(episode.steps)
    return {camera: pool.submit(picture_histogram, _video(episode, camera), frames) for camera in info.cameras}


def _video(episode: LeRobotEpisode, camera: str) -> Path:
    path = episode.videos.get(camera)
    if path is None or not path.is_file():
        raise RecordingError(f"episode {episode.index}: there is no video of camera {camera!r} ({path})")
    return path


def _batches(episodes: Iterable[LeRobotEpisode], size: int) -> Iterator[list[LeRobotEpisode]]:
    batch = []
    for episode in episodes:
        batch.append(episode)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch


class _VideoFiles:
    """The joined videos of one camera: a new file where one is full, or where an episode was encoded in another way."""

    def __init__(self, root: Path, key: str, fps: Fraction) -> None:
        self.kind: VideoKind | None = None
        self._root = root
        self._key = key
        self._fps = fps
        self._index = FileIndex()
        self._current: JoinedVideo | None = None

    def append(self, episode: LeRobotEpisode, path: Path) -> dict[str, Any]:
        """Append the first T frames of an episode; what the episode's row says of them."""
        kind = video_kind(path)
        if self.kind is not None and (kind.height, kind.width) != (self.kind.height, self.kind.width):
            before = f"{self.kind.width}x{self.kind.height}"
            raise RecordingError(f"{path} has {kind.width}x{kind.height} pixels, the episodes before it {before}")
        self.kind = self.kind or kind
        current = self._current
        if current is not None and (current.kind != kind or current.num_bytes + path.stat().st_size > _VIDEO_BYTES):
            self.close()
            self._index = self._index.next()
            current = None
        if current is None:
            file = self._root / "videos" / self._key / f"{self._index}.mp4"
            file.parent.mkdir(parents=True, exist_ok=True)
            current = self._current = JoinedVideo(file, kind, self._fps)
        first = current.frame_count
        if (frames := current.append(path, episode.steps)) != episode.steps + 1:
            raise RecordingError(f"{path} has {frames} frames for {episode.steps} steps; {episode.steps + 1} are needed")
        return {
            "chunk_index": self._index.chunk,
            "file_index": self._index.file,
            # from whole numbers of frames: sums of durations would drift
            "from_timestamp": float(first / self._fps),
            "to_timestamp": float(current.frame_count / self._fps),
        }

    def close(self) -> None:
        """Finish the file that is open."""
        if self._current is not None:
            current, self._current = self._current, None
            current.close()


class _Writer:
    """Appends episodes to a dataset in the making."""

    def __init__(self, root: Path, info: LeRobotInfo) -> None:
        self._root = root
        self._info = info
        self._stack = ExitStack()
        self._data = self._stack.enter_context(DataFiles(root))
        self._table = self._stack.enter_context(EpisodeTable(root))
        self._videos = {camera: _VideoFiles(root, _video_key(camera), info.fps) for camera in info.cameras}
        self._tasks: dict[str, int] = {}
        self._spools: dict[str, ColumnSpool] = {}
        self._histograms = {camera: np.zeros((3, 256), np.int64) for camera in info.cameras}
        self._looked_at = 0
        self._num_episodes = 0
        self._num_frames = 0
        self._names: Mapping[str, list[str] | None] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        for spool in self._spools.values():
            spool.close()
        with suppress(RecordingError):
            for video in self._videos.values():
                video.close()
        self._stack.close()

    def add(self, episode: LeRobotEpisode, histograms: Mapping[str, NDArray[np.int64]]) -> None:
        """Append an episode, ``histograms`` being those of its sampled pictures."""
        task = episode.task or self._info.task
        own = {name: episode.columns[name] for name in _ORDER if name in episode.columns}
        columns = {**own, **self._bookkeeping(episode, self._tasks.setdefault(task, len(self._tasks)))}
        self._check(episode, columns)
        videos = {camera: files.append(episode, _video(episode, camera)) for camera, files in self._videos.items()}
        file = self._data.append(columns)
        statistics = {name: vector_statistics(column) for name, column in columns.items()}
        looked_at = len(sampled_frames(episode.steps))
        for camera, counts in histograms.items():
            self._histograms[camera] += counts
            statistics[_video_key(camera)] = histogram_statistics(counts, looked_at)
        self._looked_at += looked_at
        for name, column in columns.items():
            self._spools[name].append(column)
        row = {
            "episode_index": self._num_episodes,
            "tasks": [task],
            "length": episode.steps,
            "data/chunk_index": file.chunk,
            "data/file_index": file.file,
            "dataset_from_index": self._num_frames,
            "dataset_to_index": self._num_frames + episode.steps,
            **{f"videos/{_video_key(camera)}/{name}": value for camera, where in videos.items() for name, value in where.items()},
            "rollfilm/episode": episode.index,
            "rollfilm/seed": -1 if episode.seed is None else episode.seed,
        }
        self._table.append(row, statistics)
        self._num_episodes += 1
        self._num_frames += episode.steps

    def finish(self) -> None:
        """Write what can only be said at the end."""
        if not self._num_episodes:
            raise RecordingError("a LeRobot dataset needs at least one episode; none was kept")
        for video in self._videos.values():
            video.close()
        statistics = {name: spool.statistics() for name, spool in self._spools.items()}
        statistics |= {_video_key(camera): histogram_statistics(counts, self._looked_at) for camera, counts in self._histograms.items()}
        plain = {name: {key: value.tolist() for key, value in numbers.items()} for name, numbers in statistics.items()}
        _write_json(self._root / "meta" / "stats.json", plain)
        write_tasks(self._root, list(self._tasks))
        _write_json(self._root / "meta" / "info.json", self._info_json())

    def _bookkeeping(self, episode: LeRobotEpisode, task: int) -> dict[str, NDArray]:
        frame = np.arange(episode.steps)
        values = {
            "timestamp": frame * self._info.fps.denominator / self._info.fps.numerator,
            "frame_index": frame,
            "episode_index": np.full(episode.steps, self._num_episodes),
            "index": self._num_frames + frame,
            "task_index": np.full(episode.steps, task),
        }
        return {name: value.astype(_BOOKKEEPING[name])[:, None] for name, value in values.items()}

    def _check(self, episode: LeRobotEpisode, columns: Mapping[str, NDArray]) -> None:
        """Make sure that the episode has the columns of the first one, each with T rows."""
        if not self._spools:
            self._names = episode.names
            self._shapes = {name: column.shape[1] for name, column in columns.items()}
            self._spools = {name: ColumnSpool(self._root, column.dtype) for name, column in columns.items()}
            self._dtypes = {name: str(column.dtype) for name, column in columns.items()}
        shapes = {name: column.shape[1] for name, column in columns.items()}
        if shapes != self._shapes:
            raise RecordingError(f"episode {episode.index} has the columns {shapes}, the episodes before it {self._shapes}")
        if short := [name for name, column in columns.items() if len(column) != episode.steps]:
            raise RecordingError(f"episode {episode.index}: {len(columns[short[0]])} rows of {short[0]!r} for {episode.steps} steps")

    def _info_json(self) -> dict[str, Any]:
        fps = self._info.fps.numerator if self._info.fps.denominator == 1 else float(self._info.fps)
        features: dict[str, Any] = {
            name: {"dtype": self._dtypes[name], "shape": [size], "names": self._names.get(name)} for name, size in self._shapes.items()
        }
        features |= {_video_key(camera): _video_feature(files.kind, fps) for camera, files in self._videos.items() if files.kind}
        return {
            "codebase_version": "v3.0",
            "robot_type": None,
            "total_episodes": self._num_episodes,
            "total_frames": self._num_frames,
            "total_tasks": len(self._tasks),
            "chunks_size": FILES_PER_CHUNK,
            "data_files_size_in_mb": DATA_BYTES >> 20,
            "video_files_size_in_mb": _VIDEO_BYTES >> 20,
            "fps": fps,
            "splits": {"train": f"0:{self._num_episodes}"},
            "data_path": "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet",
            "video_path": "videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4" if self._videos else None,
            "features": features,
        }


def _video_key(camera: str) -> str:
    # LeRobot allows no "/" in the name of a feature
    return f"observation.images.{camera.replace('/', '_')}"


def _video_feature(kind: VideoKind, fps: float) -> dict[str, Any]:
    picture = kind.picture
    return {
        "dtype": "video",
        "shape": [kind.height, kind.width, 3],
        "names": ["height", "width", "channels"],
        "info": {
            "video.height": kind.height,
            "video.width": kind.width,
            "video.codec": kind.codec,
            "video.pix_fmt": kind.pixel_format,
            "video.fps": fps,
            "video.channels": 3,
            "has_audio": False,
            "video.is_depth_map": False,
            "is_depth_map": False,
            # the part of the frames that the encoder had to add, for those who cut it off
            "rollfilm.pad_right": picture.get("pad_right", 0),
            "rollfilm.pad_bottom": picture.get("pad_bottom", 0),
        },
    }


def _write_json(path: Path, content: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=4) + "\n")
