"""What lies where in the folder of a recording.

``recording.json``, ``episodes.jsonl``, ``overview.mp4``, ``videos/<camera>/episode_000012.mp4``,
``trajectory.<obs mode>.<control mode>.<engine>.h5`` and ``.json``; ``index.html`` and ``posters/<camera>/episode_000012.jpg``, to look
at; while a recording runs also ``segments/traj_000012.h5``.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rollfilm.errors import RecordingError, RecordingExistsError
from rollfilm.record.video import PARTIAL_SUFFIX

__all__ = ["PAGE_MARK", "Layout"]

#: In the first bytes of every page of ours: an ``index.html`` without it is somebody else's.
PAGE_MARK = b'<meta name="generator" content="rollfilm'


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

    def segment(self, episode: int) -> Path:
        """The trajectory of one episode."""
        return self.segments / f"traj_{episode:06d}.h5"

    def trajectory(self, obs_mode: str, control_mode: str, backend: str) -> Path:
        """The trajectories of all episodes; the json lies beside it."""
        return self.root / f"trajectory.{obs_mode}.{control_mode}.{backend}.h5"

    def recorded_files(self) -> Iterator[Path]:
        """The files of a recording that are there, whole or not."""
        for path in (self.manifest, self.episodes, self.overview, self._partial(self.overview), self._partial(self.manifest)):
            if path.is_file():
                yield path
        if self.page.is_file() and not self.has_foreign_page():
            yield self.page
        for pattern in (
            "trajectory.*.h5",
            "trajectory.*.json",
            "trajectory.*" + PARTIAL_SUFFIX,
            "videos/*/episode_*.mp4",
            "videos/*/episode_*.mp4" + PARTIAL_SUFFIX,
            "posters/*/episode_*.jpg",
            "posters/*/episode_*.jpg" + PARTIAL_SUFFIX,
            "index.html" + PARTIAL_SUFFIX,
            "segments/traj_*.h5",
            "segments/traj_*.h5" + PARTIAL_SUFFIX,
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

    def prepare(self, *, overwrite: bool, page: bool = True) -> None:
        """Make the folder ready for a new recording. Files that belong to no recording are left alone.

        Args:
            overwrite: delete the recording that is there.
            page: an ``index.html`` will be written.

        Raises:
            RecordingExistsError: the folder holds a recording and ``overwrite`` is not set.
            RecordingError: the folder cannot be written to, or holds an ``index.html`` of somebody else.
        """
        try:
            if not overwrite:
                self.refuse_existing()
            if page:
                self.refuse_foreign_page()
            self.remove()
            self.root.mkdir(parents=True, exist_ok=True)
            # opened for exclusive creation: of two recordings that start at once in one folder, the second one fails here
            self.manifest.open("x").close()
        except RecordingError:
            raise
        except FileExistsError as error:
            what = "another recording has just begun there" if self.root.is_dir() else "it is a file"
            raise RecordingError(f"cannot record to {self.root}: {what}; take another folder") from error
        except OSError as error:
            reason = error.strerror or error
            raise RecordingError(f"cannot record to {self.root}: {reason}; take a folder that can be written to") from error

    def remove(self) -> None:
        """Delete the files of a recording and the folders that this leaves empty, but not the folder itself."""
        for path in list(self.recorded_files()):
            path.unlink(missing_ok=True)
        for folder in (*self.videos.glob("*/"), self.videos, *self.posters.glob("*/"), self.posters, self.segments):
            if folder.is_dir() and not any(folder.iterdir()):
                folder.rmdir()

    def remove_episode(self, episode: int) -> None:
        """Delete the files of one episode."""
        name = f"episode_{episode:06d}"
        for path in (*self.videos.glob(f"*/{name}.mp4"), *self.posters.glob(f"*/{name}.jpg"), self.segment(episode)):
            path.unlink(missing_ok=True)

    @staticmethod
    def _partial(path: Path) -> Path:
        return path.with_name(path.name + PARTIAL_SUFFIX)
