"""``rollfilm rerender``: films a recording again."""

import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tyro

from rollfilm.cli.cameras import parse_cameras
from rollfilm.cli.progress import CountProgress
from rollfilm.cli.quiet import announcing_compilation, quiet_warp
from rollfilm.cli.values import parse_integers, parse_size
from rollfilm.errors import InvalidArgumentError, NotFoundError

if TYPE_CHECKING:
    from rollfilm.record.reading import Recording
    from rollfilm.render import LooksConfig

__all__ = ["Rerender", "chosen_cameras"]


@dataclass
class Rerender:
    """Film a recording again from its stored states: other cameras, sizes, looks, or a better codec.

    Makes a new recording with the same episodes, rows and states. With the cameras of the old one and no other looks the pictures are the
    same bytes as online.
    """

    folder: tyro.conf.Positional[Path]
    """folder of the recording"""
    out: Path
    """folder to write to"""
    cameras: str = ""
    """NAME or NAME:WIDTHxHEIGHT with commas between them; those of the recording if left out"""
    size: str = ""
    """WIDTHxHEIGHT in pixels, for the cameras that have none in --cameras; as recorded if left out"""
    randomize: int | None = None
    """seed: draw by lot how each episode looks, in place of how it did"""
    episodes: str = ""
    """indices with commas between them; all if left out"""
    device: str = ""
    """cpu or cuda:0; that of the recording if left out, which gives the same bytes"""
    codec: str = ""
    """of the videos; as recorded if left out"""
    preset: str = ""
    """x264's preset; as recorded if left out"""
    crf: int | None = None
    """quality of the videos; as recorded if left out"""
    overwrite: tyro.conf.FlagCreatePairsOff[bool] = False
    """delete the recording that is in the folder --out"""

    def run(self) -> int:
        """Film, and say what there is now."""
        from rollfilm.record.layout import Layout
        from rollfilm.record.reading import Recording
        from rollfilm.record.refilm import refilm
        from rollfilm.record.rerender import RerenderOptions, looks_by_lot, requests_of
        from rollfilm.record.video import VideoOptions

        if self.randomize is not None and self.randomize < 0:
            raise InvalidArgumentError(f"--randomize {self.randomize}: give a seed, an integer of at least 0")
        episodes = parse_integers(self.episodes, option="--episodes", lowest=0, highest=10**9) if self.episodes else None
        if self.folder.resolve() == self.out.resolve():
            raise InvalidArgumentError(f"--out {self.out} is the recording itself; give another folder")
        recording = Recording(self.folder)
        cameras = chosen_cameras(recording, self.cameras, self.size)
        if not self.overwrite:
            Layout(self.out).refuse_existing()
        given = {"codec": self.codec or None, "preset": self.preset or None, "crf": self.crf}
        video = VideoOptions(**{**recording.manifest["video"], **{name: value for name, value in given.items() if value is not None}})
        quiet_warp()
        looks_of = None
        if self.randomize is not None:
            filmed = requests_of(recording, cameras)
            looks_of = looks_by_lot(_config(recording, [camera.name for camera in filmed]), recording.scene, self.randomize, filmed)
        changes: dict[str, Any] = {"video": video, "overwrite": self.overwrite, "command": shlex.join(["rollfilm", *sys.argv[1:]])}
        options = RerenderOptions(cameras=cameras, looks_of=looks_of, device=self.device or None)
        with announcing_compilation(), CountProgress("episodes") as progress:
            made = refilm(recording, self.out, episodes, options, changes=changes, progress=progress)
        print(f"{self.out}: {made.episodes} episodes, filmed by {', '.join(f'{n} {w}x{h}' for n, (h, w) in cameras.items())}")
        if made.left_out:
            print(f"left out: episodes {', '.join(map(str, made.left_out))}, which were cut and have no rows")
        print(f"open first: {made.layout.page}")
        return 0


def chosen_cameras(recording: "Recording", names: str, size: str) -> dict[str, tuple[int, int]]:
    """Height and width by camera: of those named, or of those that the recording was filmed with.

    Raises:
        NotFoundError: the scene has no such camera.
        InvalidArgumentError: a size that is none, or none where one is needed.
    """
    recorded = {name: (camera["height"], camera["width"]) for name, camera in recording.manifest["cameras"].items()}
    default = None
    if size:
        width, height = parse_size(size)
        default = (height, width)
    chosen: dict[str, tuple[int, int]] = {}
    for part in names.split(",") if names else recorded:
        if ":" in part:
            chosen |= parse_cameras(part)
            continue
        name = part.strip()
        recording.scene.camera(name)
        if default is None and name not in recorded:
            raise InvalidArgumentError(f"--cameras {names}: camera {name!r} was not recorded; say its size, as in {name}:256x256")
        chosen[name] = default or recorded[name]
    for name in chosen:
        recording.scene.camera(name)
    if size and names and all(":" in part for part in names.split(",")):
        raise InvalidArgumentError(f"--size {size} has no effect: each camera in --cameras has a size of its own")
    return chosen


def _config(recording: "Recording", filmed: list[str]) -> "LooksConfig":
    """What the recording's task lets look different, or else colours and lights."""
    from rollfilm.envs.catalog import task_looks
    from rollfilm.render.scene_looks import scene_looks

    try:
        return task_looks(recording.manifest["task"], filmed)
    except NotFoundError:
        return scene_looks(recording.scene)
