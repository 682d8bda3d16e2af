"""Videos of all worlds in pieces, as ManiSkill's ``RecordEpisode`` cuts them."""

from collections.abc import Callable
from pathlib import Path

from rollfilm.errors import InvalidArgumentError
from rollfilm.record.recorder import Recorder
from rollfilm.render.frames import Frames

__all__ = ["Clips"]


class Clips:
    """Begins and ends videos of all worlds. Each shows consecutive steps: the state before the first one, and the state after each.

    Args:
        folder: where they go; made with the first one.
        trigger: whether the step with this number, from 0, is shown; None for every one.
        max_steps: after so many steps the next clip begins; None for no limit.
        enabled: whether there are any.
    """

    def __init__(self, folder: Path, trigger: Callable[[int], bool] | None, max_steps: int | None, *, enabled: bool = True) -> None:
        if max_steps is not None and max_steps < 1:
            raise InvalidArgumentError(f"max_steps_per_video={max_steps} was asked for; it is at least 1, or None for no limit")
        self._folder = folder
        self._enabled = enabled
        self._trigger = trigger
        self._max_steps = max_steps
        self._steps = 0
        self._number = 0
        # one overview that the recorder began is the recorder's to end, until somebody asks for what there is of it
        self._resumes = False
        self._taken: set[Path] = set()

    @property
    def cut(self) -> bool:
        """Whether there are clips in the place of one overview."""
        return self._trigger is not None or self._max_steps is not None

    def wants(self, step: int) -> bool:
        """Whether a step is shown."""
        return self._trigger is None or bool(self._trigger(step))

    def before_step(self, recorder: Recorder, frames: Callable[[], Frames], step: int) -> None:
        """Begin or end a clip, as the step is to be shown or not."""
        if not self._enabled or not (self.cut or self._resumes):
            return
        wanted = self.wants(step)
        if wanted and not recorder.has_clip:
            self._steps = 0
            recorder.begin_clip(frames())
        elif not wanted:
            self.finish(recorder)

    def after_step(self, recorder: Recorder) -> None:
        """Count the step, and end the clip if that was its last."""
        self._steps += recorder.has_clip
        if self._max_steps is not None and self._steps >= self._max_steps:
            self.finish(recorder)

    def finish(self, recorder: Recorder, name: str | None = None, suffix: str = "", *, save: bool = True) -> Path | None:
        """End the clip that is in the making, if there is one with a step.

        Args:
            recorder: who makes it.
            name: of the file; None for the next number.
            suffix: what follows the number.
            save: whether it stays.

        Returns:
            The path of the file that will be there, None if there is none.

        Raises:
            InvalidArgumentError: a name that is no name of a file, or is taken.
        """
        if recorder.clip_frames < 2:
            return None
        path = self._path(name, suffix) if save else None
        recorder.end_clip(path)
        self._steps, self._resumes = 0, True
        return path

    def _path(self, name: str | None, suffix: str) -> Path:
        if name is None:
            name, self._number = f"{self._number:06d}" + (f"_{suffix}" if suffix else ""), self._number + 1
        name = name.replace(" ", "_").replace("\n", "_").removesuffix(".mp4")
        path = self._folder / f"{name}.mp4"
        if not name or path.parent != self._folder or path.name != f"{name}.mp4":
            raise InvalidArgumentError(f"{name!r} cannot be the name of a video; give one without a folder")
        if path.exists() or path in self._taken:
            raise InvalidArgumentError(f"there is a video {path} already; give another name")
        self._taken.add(path)
        self._folder.mkdir(exist_ok=True)
        return path
