"""What can be chosen about a recording."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Literal

from rollfilm.errors import InvalidArgumentError
from rollfilm.record.formats import checked_formats
from rollfilm.record.sink import Episode, Outcome
from rollfilm.record.video import VideoOptions
from rollfilm.scene import Scene

__all__ = ["Keep", "RecorderOptions"]

#: Which finished episodes stay: those that end in success, all, or those for which a function says so.
Keep = Literal["success", "all"] | Callable[[Episode, Outcome], bool]


@dataclass(frozen=True)
class RecorderOptions:
    """What can be chosen about a recording.

    Attributes:
        keep: ``"all"``, also episodes that were cut; ``"success"``, complete episodes that end in success; or a function.
        overwrite: delete a recording that is in the folder.
        fps: of playback; None for the control rate, so that videos play in real time.
        video: how videos are encoded.
        pictures: film; if not, the environment needs no camera and there are no videos.
        overview: write a video of all worlds, as long as episodes are filmed while they run.
        outputs: outputs of the cameras that are stored as they are, ``"depth_m"``, ``"segmentation"``, ``"geom_id"``, ``"body_id"`` or
            ``"ray_distance_m"``; None for those among them that are filmed.
        page: write ``index.html``, and the last frame of each video as its poster.
        keep_states: store what a renderer needs to film the episodes again; None for wherever the environment has a scene.
        video_when: when episodes are filmed. ``"online"``: while they run, and thrown away if they are not kept. ``"after"``: an episode
            that is kept is filmed from its states once it has ended; until then nothing is rendered. ``"auto"``: the first once, and
            afterwards as long as more of the episodes that ended so far are thrown away than kept, if states are stored.
        formats: what the episodes' rows are written as, of :data:`rollfilm.record.formats.FORMATS`; videos and ``episodes.jsonl`` are
            always there.
        encoder_threads: None for one a core.
        buffered_steps: how many control steps of frames may wait for the encoders before the loop does.
        seed: of the run, for the record.
        command: what was typed, for the record.
        trajectory_name: of ManiSkill's files, in the place of ``trajectory.<obs mode>.<control mode>.<engine>``.
        record_rewards: whether they hold rewards.
        source_type, source_desc: where the actions come from, for ManiSkill's json.

    Raises:
        InvalidArgumentError: a value that is not allowed.
    """

    keep: Keep = "all"
    overwrite: bool = False
    fps: float | None = None
    video: VideoOptions = field(default_factory=VideoOptions)
    pictures: bool = True
    overview: bool = True
    outputs: tuple[str, ...] | None = None
    page: bool = True
    keep_states: bool | None = None
    video_when: Literal["auto", "online", "after"] = "auto"
    formats: tuple[str, ...] = ("maniskill",)
    encoder_threads: int | None = None
    buffered_steps: int = 3
    seed: int | None = None
    command: str | None = None
    trajectory_name: str | None = None
    record_rewards: bool = True
    source_type: str | None = None
    source_desc: str | None = None

    def __post_init__(self) -> None:
        if not callable(self.keep) and self.keep not in ("success", "all"):
            raise InvalidArgumentError(f"keep={self.keep!r} was asked for; give 'success', 'all' or a function of (episode, outcome)")
        if self.fps is not None and not (math.isfinite(self.fps) and 0.001 <= self.fps <= 1000):
            raise InvalidArgumentError(f"fps {self.fps} was asked for; give a number from 0.001 to 1000")
        if self.video_when not in ("auto", "online", "after"):
            raise InvalidArgumentError(f"video_when={self.video_when!r} was asked for; give 'auto', 'online' or 'after'")
        if self.video_when == "after" and not self.pictures:
            raise InvalidArgumentError("video_when='after' came with pictures=False, so that nothing would be filmed; give one of them")
        if self.buffered_steps < 1 or (self.encoder_threads is not None and self.encoder_threads < 1):
            raise InvalidArgumentError(
                f"buffered_steps {self.buffered_steps} and encoder_threads {self.encoder_threads} were asked for; both are at least 1"
            )
        name = self.trajectory_name
        if name is not None and (not name or Path(name).name != name):
            raise InvalidArgumentError(f"trajectory_name={name!r} was asked for; give the name of a file, without a folder")
        object.__setattr__(self, "formats", checked_formats(self.formats))

    def frame_rate(self, control_frequency_hz: float) -> Fraction:
        """Frames a second as an exact fraction."""
        return Fraction(self.fps or control_frequency_hz).limit_denominator(1001)

    def stores_states(self, scene: Scene | None) -> bool:
        """Whether states are stored of an environment that shows ``scene``.

        Raises:
            InvalidArgumentError: they were asked for, and there is no scene.
        """
        if self.keep_states and scene is None:
            raise InvalidArgumentError("keep_states=True needs to know what can be seen; give EnvDescription a scene, or leave it out")
        return self.keep_states is not False and scene is not None

    @property
    def has_overview(self) -> bool:
        """Whether a video of all worlds is written."""
        return self.overview and self.pictures and self.video_when != "after"

    def may_defer(self, scene: Scene | None) -> bool:
        """Whether episodes may be filmed after they have ended.

        Raises:
            InvalidArgumentError: they shall be, and no states are stored.
        """
        stored = self.pictures and self.stores_states(scene)
        if self.video_when == "after" and not stored:
            raise InvalidArgumentError(
                "video_when='after' films stored states, and none are stored: give EnvDescription a scene and leave keep_states out"
            )
        return stored and (self.video_when == "after" or (self.video_when == "auto" and self.keep != "all"))

    def keeps(self, episode: Episode, outcome: Outcome) -> bool:
        """Whether a finished episode stays."""
        if callable(self.keep):
            return bool(self.keep(episode, outcome))
        return self.keep == "all" or (outcome.complete and outcome.success is True)
