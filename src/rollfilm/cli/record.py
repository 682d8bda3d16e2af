"""``rollfilm record``: films episodes of a task."""

import shlex
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import tyro
from rich.console import Console
from rich.table import Table
from rich.text import Text

from rollfilm.cli.cameras import parse_cameras
from rollfilm.cli.formats import parse_formats
from rollfilm.cli.progress import RolloutProgress
from rollfilm.cli.quiet import announcing_compilation, quiet_mujoco, quiet_warp
from rollfilm.cli.stop_signals import EXIT_INTERRUPTED
from rollfilm.errors import InvalidArgumentError, RecordingError
from rollfilm.interrupt import DeferredInterrupt
from rollfilm.memory import format_bytes, peak_memory_bytes, require_memory
from rollfilm.render.request import CameraRequest

if TYPE_CHECKING:
    from rollfilm.evaluate.rollout import Rollout
    from rollfilm.record import Recorder, RecorderOptions

__all__ = ["Record"]


@dataclass
class Record:
    """Film episodes of a task with its scripted expert.

    Writes a video for each episode and camera, an overview of all worlds, and ManiSkill's trajectory file. Episodes 0 to N-1 of the
    seed are run, each to its end, whichever world they run in. Ctrl-C cuts the episodes in flight and closes every file.
    """

    task: tyro.conf.Positional[str]
    """name of the task, as pick-cube"""
    out: Path
    """folder to write to"""
    num_envs: int = 16
    """worlds that are simulated at once"""
    episodes: int = 32
    """episodes to run"""
    cameras: str = "front:256x256,wrist:128x128"
    """NAME:WIDTHxHEIGHT in pixels, with commas between them"""
    keep: Literal["success", "all"] = "all"
    """which episodes' files stay: those that end in success, or all"""
    seed: int = 0
    """seed of the run: episode k begins in the same state for the same seed"""
    engine: str = "mujoco"
    """physics"""
    device: str = "cpu"
    """cpu or cuda:0"""
    control_mode: str = "pd_joint_delta_pos"
    """what the actions mean, in ManiSkill's names"""
    randomize: tyro.conf.FlagCreatePairsOff[bool] = False
    """let episodes look different: colours, lights and cameras, drawn by lot from the seed of each"""
    video_when: Literal["auto", "online", "after"] = "auto"
    """when episodes are filmed: while they run, or those that are kept after they have ended; auto does the second once most of them are
    thrown away"""
    overwrite: tyro.conf.FlagCreatePairsOff[bool] = False
    """delete the recording that is in the folder"""
    formats: str = "maniskill"
    """what the rows are written as, beside videos and episodes.jsonl: maniskill, lerobot, robomimic, with commas between them; none"""
    fps: float | None = None
    """frames a second when played; the control rate if left out, so that videos play in real time"""
    depth: tyro.conf.FlagCreatePairsOff[bool] = False
    """also film depth, and store it as it is"""
    segmentation: tyro.conf.FlagCreatePairsOff[bool] = False
    """also film geom ids, and store them as they are"""
    codec: str = "h264"
    """of the videos: h264, hevc, av1, ffv1 (loses nothing), or h264_nvenc, hevc_nvenc, av1_nvenc on a card that has them"""
    preset: str | None = None
    """the encoder's, between speed and small files: for h264 ultrafast to veryslow, veryfast if left out"""
    crf: int | None = None
    """quality of the videos: lower is better and larger; for h264 0 (lossless) to 51, 20 if left out"""

    def run(self) -> int:
        """Film, and print a summary."""
        outputs = ("rgb", *(["depth_m"] if self.depth else []), *(["segmentation"] if self.segmentation else []))
        cameras = [CameraRequest(name, height, width, outputs) for name, (height, width) in parse_cameras(self.cameras).items()]
        options = self._options(cameras)
        started = time.perf_counter()
        import rollfilm

        quiet_mujoco()
        quiet_warp()
        env = rollfilm.make(
            self.task,
            num_envs=self.num_envs,
            cameras=cameras,
            control_mode=self.control_mode,
            randomize=self.randomize,
            engine=self.engine,
            device=self.device,
        )
        try:
            return self._film(env, options, started)
        finally:
            env.close()

    def _options(self, cameras: list[CameraRequest]) -> "RecorderOptions":
        """Check all that can be checked before anything is loaded."""
        from rollfilm import __version__
        from rollfilm.record import RecorderOptions, VideoOptions
        from rollfilm.record.budget import recording_bytes
        from rollfilm.record.layout import Layout

        for name, value, lowest in (("--num-envs", self.num_envs, 1), ("--episodes", self.episodes, 1), ("--seed", self.seed, 0)):
            if value < lowest:
                raise InvalidArgumentError(f"{name} {value}: give an integer of at least {lowest}")
        options = RecorderOptions(
            keep=self.keep,
            overwrite=self.overwrite,
            video_when=self.video_when,
            formats=parse_formats(self.formats),
            fps=self.fps,
            video=VideoOptions(codec=self.codec, preset=self.preset, crf=self.crf),
            seed=self.seed,
            command=shlex.join(["rollfilm", *sys.argv[1:]]),
            source_type="scripted",
            source_desc=f"scripted expert of rollfilm {__version__}",
        )
        if not self.overwrite:
            Layout(self.out).refuse_existing()
        Layout(self.out).refuse_foreign_page()
        require_memory(
            recording_bytes(cameras, self.num_envs, options),
            f"frame buffers and encoders for {self.num_envs} worlds (--cameras {self.cameras})",
        )
        return options

    def _film(self, env: Any, options: "RecorderOptions", started: float) -> int:
        from rollfilm.envs import expert_for
        from rollfilm.evaluate.rollout import Rollout, run_episodes
        from rollfilm.record import Recorder

        rollout, interrupted = Rollout(self.episodes), False
        policy = expert_for(env)

        def show(current: Rollout) -> None:
            nonlocal rollout
            rollout = current
            progress(current)

        # A frame before the folder is made: what the renderer refuses, and a Ctrl-C while it compiles, leave nothing behind.
        with announcing_compilation():
            if self.randomize:
                env.reset(seed=self.seed)  # looks take kernels of their own
            env.frames()
        recorder = Recorder.for_env(env, self.out, options)
        setup_seconds = time.perf_counter() - started
        try:
            with RolloutProgress(self.episodes) as progress, recorder:
                run_episodes(env, policy, num_episodes=self.episodes, seed=self.seed, recorder=recorder, progress=show)
        except KeyboardInterrupt:
            interrupted = True
            if not recorder.has_begun:
                return EXIT_INTERRUPTED
        except RecordingError as error:
            raise RecordingError(f"{error}. Finished episodes that were kept: {recorder.num_kept}, in {self.out}") from error
        rollout.wall_seconds = time.perf_counter() - started - setup_seconds
        rollout.timings |= recorder.timings
        rollout.pictures = recorder.num_pictures
        with DeferredInterrupt():
            print_summary(rollout, recorder, setup_seconds=setup_seconds, interrupted=interrupted)
        return EXIT_INTERRUPTED if interrupted else 0


def print_summary(rollout: "Rollout", recorder: "Recorder", *, setup_seconds: float, interrupted: bool) -> None:
    """Print what was recorded, how fast, where the time went, and what to open first."""
    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    finished = len(rollout.episodes)
    cut = ", interrupted: those in flight were cut" if interrupted and finished < rollout.num_episodes else ""
    table.add_row("episodes", f"{finished} of {rollout.num_episodes}{cut}")
    for name, text in success_rows(rollout):
        table.add_row(name, text)
    table.add_row("kept", str(recorder.num_kept))
    rate = rollout.pictures / max(rollout.wall_seconds, 1e-9)
    table.add_row("images", f"{rollout.pictures:,} in {rollout.wall_seconds:.1f} s: {rate:,.0f} images/s")
    parts = [f"{phase} {seconds:.1f} s" for phase, seconds in rollout.timings.items() if phase != "other"]
    rest = max(0.0, rollout.wall_seconds - sum(seconds for phase, seconds in rollout.timings.items() if phase != "other"))
    table.add_row("time", ", ".join([*parts, f"other {rest:.1f} s"]) + f" (before that {setup_seconds:.1f} s to load)")
    table.add_row("peak memory", format_bytes(peak_memory_bytes()))
    table.add_row("open first", str(recorder.layout.page))
    console = Console(highlight=False, markup=False, width=None if sys.stdout.isatty() else 200)
    console.print(table)
    if finished and not recorder.num_kept:
        console.print(Text.assemble(("No episode was kept:", "bold red"), " none ended in success. Use --keep all to see what happens."))


def success_rows(rollout: "Rollout") -> list[tuple[str, str]]:
    """The rows on success: at the end, and at any step."""
    from rollfilm.evaluate.statistics import wilson_interval

    rows = []
    at_end = [result.success_at_end for result in rollout.episodes if result.success_at_end is not None]
    once = [result.success_once for result in rollout.episodes if result.success_once is not None]
    for name, known in (("success at the end", at_end), ("success once", once)):
        if known:
            low, high = wilson_interval(sum(known), len(known))
            interval = f"95 % interval {100 * low:.1f} to {100 * high:.1f} %"
            rows.append((name, f"{sum(known)}/{len(known)}, {100 * sum(known) / len(known):.1f} % ({interval})"))
    return rows or [("success", "the environment does not say" if rollout.episodes else "no episode ended")]
