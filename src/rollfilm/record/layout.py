"""What lies where in the folder of a recording.

``recording.json``, ``episodes.jsonl``, ``overview.mp4``, ``videos/<camera>/episode_000012.mp4``,
``trajectory.<obs mode>.<control mode>.<engine>.h5`` and ``.json``, ``lerobot/``, ``robomimic.hdf5``, ``fingerprints/episode_000012.bin``;
``scene.npz`` and ``states/episode_000012.h5``; ``lossless/<camera>/episode_000012.h5``; ``index.html`` and
``posters/<camera>/episode_000012.jpg``, to look at; while a recording runs also ``segments/traj_000012.h5`` and the like, one file a
format and episode.
"""

import glob
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rollfilm.errors import RecordingError, RecordingExistsError
from rollfilm.record.lock import FolderLock
from rollfilm.record.video import PARTIAL_SUFFIX

__all__ = ["PAGE_MARK", "Layout"]

#: In the first bytes of every page of ours: an ``index.html`` without it is somebody else's.
PAGE_MARK = b'<meta name="generator" content="rollfilm'

#: The files that belong to one episode alone; the ``*.`` stands for its number.
_EPISODE_FILES = (
    "videos/*/episode_*.mp4",
    "lossless/*/episode_*.h5",
    "fingerprints/episode_*.bin",
    "states/episode_*.h5",
    "segments/traj_*.h5",
    "segments/lerobot_*.h5",
    "segments/robomimic_*.h5",
    "posters/*/episode_*.jpg",
)
_EPISODE_NUMBER = re.compile(r"[a-z]+_(\d{6,})\.\w+")

_SEGMENT = re.compile(r"[a-z]+_(\d{6,})\.h5")
_LEROBOT_FILES = ("meta/*.json", "meta/tasks.parquet", "meta/episodes/*/*.parquet", "data/*/*.parquet", "videos/*/*/*.mp4")


@dataclass(frozen=True)
class Layout:
    """The paths of a recording in the folder ``root``."""

    root: Path

    @property
    def manifest(self) -> Path:
        """What was recorded, and how."""
        return self.root / "recording.json"

    @property
    def episodes(self) -> Path:
        """One line for each finished episode."""
        return self.root / "episodes.jsonl"

    @property
    def overview(self) -> Path:
        """The video of all worlds."""
        return self.root / "overview.mp4"

    @property
    def videos(self) -> Path:
        """The folder of the episodes' videos."""
        return self.root / "videos"

    @property
    def depth_and_ids(self) -> Path:
        """The folder of what is stored of cameras as it is."""
        return self.root / "lossless"

    @property
    def scene(self) -> Path:
        """What can be seen, once for all episodes."""
        return self.root / "scene.npz"

    @property
    def states(self) -> Path:
        """The folder of the episodes' states, from which they can be filmed again."""
        return self.root / "states"

    @property
    def clips(self) -> Path:
        """The folder of videos of all worlds that were cut into pieces."""
        return self.root / "clips"

    @property
    def segments(self) -> Path:
        """The folder of finished trajectories that have not been put together yet."""
        return self.root / "segments"

    @property
    def page(self) -> Path:
        """The recording to look at in a browser."""
        return self.root / "index.html"

    @property
    def posters(self) -> Path:
        """The folder of the pictures that the page shows of each episode."""
        return self.root / "posters"

    def video(self, camera: str, episode: int) -> Path:
        """The video of one camera and episode."""
        return self.videos / camera.replace("/", "_") / f"episode_{episode:06d}.mp4"

    def poster(self, camera: str, episode: int) -> Path:
        """The last frame of one camera's video of an episode, as a small JPEG."""
        return self.posters / camera.replace("/", "_") / f"episode_{episode:06d}.jpg"

    def state(self, episode: int) -> Path:
        """The states of one episode."""
        return self.states / f"episode_{episode:06d}.h5"

    def lossless(self, camera: str, episode: int) -> Path:
        """The depth and ids of one camera and episode."""
        return self.depth_and_ids / camera.replace("/", "_") / f"episode_{episode:06d}.h5"

    def segment(self, episode: int, kind: str = "traj") -> Path:
        """The rows of one finished episode, for the format whose segments are of this kind."""
        return self.segments / f"{kind}_{episode:06d}.h5"

    def segments_of(self, kind: str) -> dict[int, Path]:
        """The segments of a kind that are whole, by episode, in numeric order."""
        found = {int(match[1]): path for path in self.segments.glob(f"{kind}_*.h5") if (match := _SEGMENT.fullmatch(path.name))}
        return dict(sorted(found.items()))

    @property
    def lerobot(self) -> Path:
        """The folder of the LeRobot dataset."""
        return self.root / "lerobot"

    @property
    def robomimic(self) -> Path:
        """The episodes in robomimic's format."""
        return self.root / "robomimic.hdf5"

    @property
    def fingerprints(self) -> Path:
        """The folder of what verifying compares videos with."""
        return self.root / "fingerprints"

    def fingerprint(self, episode: int) -> Path:
        """A few pixels of every frame of an episode, as they were before they were encoded."""
        return self.fingerprints / f"episode_{episode:06d}.bin"

    def trajectory(self, obs_mode: str, control_mode: str, backend: str, name: str | None = None) -> Path:
        """The trajectories of all episodes, under a ``name`` if one was chosen; the json lies beside it."""
        return self.root / f"{name or f'trajectory.{obs_mode}.{control_mode}.{backend}'}.h5"

    def recorded_files(self) -> Iterator[Path]:
        """The files of a recording that are there, whole or not."""
        once = (self.manifest, self.episodes, self.overview, self.scene)
        for path in (*once, *map(self._partial, once)):
            if path.is_file():
                yield path
        if self.page.is_file() and not self.has_foreign_page():
            yield self.page
        for pattern in (
            *self._named_trajectory(),
            "trajectory.*.h5",
            "trajectory.*.json",
            "trajectory.*" + PARTIAL_SUFFIX,
            "clips/*.mp4",
            "clips/*.mp4" + PARTIAL_SUFFIX,
            "index.html" + PARTIAL_SUFFIX,
            *_EPISODE_FILES,
            *(pattern + PARTIAL_SUFFIX for pattern in _EPISODE_FILES),
            "robomimic.hdf5",
            "robomimic.hdf5" + PARTIAL_SUFFIX,
            *(f"lerobot{suffix}/{pattern}" for suffix in ("", PARTIAL_SUFFIX) for pattern in _LEROBOT_FILES),
        ):
            yield from sorted(self.root.glob(pattern))

    def has_foreign_page(self) -> bool:
        """Whether there is an ``index.html`` that no recording wrote."""
        try:
            with self.page.open("rb") as file:
                return PAGE_MARK not in file.read(1024)
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError:
            return True

    def refuse_existing(self) -> None:
        """Make sure that the folder holds no recording.

        Raises:
            RecordingExistsError: it does.
        """
        if found := next(self.recorded_files(), None):
            raise RecordingExistsError(
                f"{self.root} already holds a recording ({found.relative_to(self.root)}); take another folder, or allow it "
                "to be overwritten (--overwrite; overwrite=True in Python)"
            )

    def refuse_foreign_page(self) -> None:
        """Make sure that a page can be written without overwriting somebody else's.

        Raises:
            RecordingError: it cannot.
        """
        if self.has_foreign_page():
            raise RecordingError(f"{self.page} is not the page of a recording and is left alone; take another folder, or move it away")

    def prepare(self, *, overwrite: bool, page: bool = True) -> FolderLock:
        """Make the folder ready for a new recording. Files that belong to no recording are left alone.

        Args:
            overwrite: delete the recording that is there.
            page: an ``index.html`` will be written.

        Returns:
            The lock of the folder, to be released when the recording is closed.

        Raises:
            RecordingExistsError: the folder holds a recording and ``overwrite`` is not set.
            RecordingError: the folder cannot be written to, is being recorded to, or holds an ``index.html`` of somebody else.
        """
        lock: FolderLock | None = None
        try:
            if not overwrite:
                self.refuse_existing()
            if page:
                self.refuse_foreign_page()
            self.root.mkdir(parents=True, exist_ok=True)
            lock = FolderLock(self.root)
            self.remove()
            # opened for exclusive creation: of two recordings that start at once in one folder, the second one fails here
            self.manifest.open("x").close()
            return lock
        except RecordingError:
            raise
        except FileExistsError as error:
            if lock is not None:
                lock.release()
            what = "another recording has just begun there" if self.root.is_dir() else "it is a file"
            raise RecordingError(f"cannot record to {self.root}: {what}; take another folder") from error
        except OSError as error:
            if lock is not None:
                lock.release()
            reason = error.strerror or error
            raise RecordingError(f"cannot record to {self.root}: {reason}; take a folder that can be written to") from error

    def remove(self) -> None:
        """Delete the files of a recording and the folders that this leaves empty, but not the folder itself."""
        for path in list(self.recorded_files()):
            path.unlink(missing_ok=True)
        lerobot = [folder for root in (self.lerobot, self._partial(self.lerobot)) for folder in (root, *root.glob("**/"))]
        deepest_first = sorted(lerobot, key=lambda folder: len(folder.parts), reverse=True)
        of_cameras = (*self.videos.glob("*/"), *self.posters.glob("*/"), *self.depth_and_ids.glob("*/"))
        once = (self.videos, self.posters, self.depth_and_ids, self.segments, self.fingerprints, self.states, self.clips)
        for folder in (*of_cameras, *once, *deepest_first):
            if folder.is_dir() and not any(folder.iterdir()):
                folder.rmdir()

    def episode_files(self, episode: int) -> list[Path]:
        """The files that belong to one episode alone and are there, in their order."""
        return sorted(path for pattern in _EPISODE_FILES for path in self.root.glob(pattern.replace("*.", f"{episode:06d}.")))

    def files_of_episodes(self) -> Iterator[tuple[int, Path]]:
        """All files that belong to one episode alone, with the episode's index."""
        for pattern in _EPISODE_FILES:
            for path in sorted(self.root.glob(pattern)):
                if match := _EPISODE_NUMBER.fullmatch(path.name):
                    yield int(match[1]), path

    def remove_segments(self, kind: str) -> None:
        """Delete the segments of a kind, and their folder once no format's are left in it."""
        for path in self.segments_of(kind).values():
            path.unlink(missing_ok=True)
        if self.segments.is_dir() and not any(self.segments.iterdir()):
            self.segments.rmdir()

    def remove_episode(self, episode: int) -> None:
        """Delete the files of one episode."""
        for path in self.episode_files(episode):
            path.unlink(missing_ok=True)

    def _named_trajectory(self) -> list[str]:
        """The files of trajectories that were given a name, which stands in the manifest alone."""
        try:
            name = json.loads(self.manifest.read_text())["files"]["trajectory"]
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return []
        if not isinstance(name, str) or name.startswith("trajectory.") or Path(name).name != name:
            return []
        names = (name, str(Path(name).with_suffix(".json")))
        return [glob.escape(one) + suffix for one in names for suffix in ("", PARTIAL_SUFFIX)]

    @staticmethod
    def _partial(path: Path) -> Path:
        return path.with_name(path.name + PARTIAL_SUFFIX)
