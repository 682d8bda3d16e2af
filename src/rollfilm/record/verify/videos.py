"""Videos of episodes: T + 1 frames each, at their times, of the right size, and showing what was filmed."""

from collections.abc import Iterator
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rollfilm.errors import RecordingError
from rollfilm.record.fingerprint import read_fingerprints
from rollfilm.record.reading import Recording
from rollfilm.record.verify.decoding import DecodedVideo, decode
from rollfilm.record.verify.faults import Fault, Job, runs_of
from rollfilm.record.verify.matching import Shown, Tolerance, gap, what_is_shown

__all__ = ["check_videos", "faults_of_frames", "frame_rate", "time_faults", "tolerance_of"]


def check_videos(recording: Recording) -> Iterator[Job]:
    """A job for each video of an episode that was kept, and one for the overview."""
    others = _Others(recording)
    fps = frame_rate(recording.manifest)
    for line in recording.kept:
        for camera in line.get("videos", {}):
            frames = line["steps"] + 1
            yield Job(lambda line=line, camera=camera: _check(recording, line, camera, others), frames, float(frames / fps))
    if recording.layout.overview.is_file():
        yield Job(lambda: _check_overview(recording))


def frame_rate(manifest: dict[str, Any]) -> Fraction:
    """Frames a second when played."""
    try:
        return Fraction(manifest["fps"])
    except (LookupError, ValueError, TypeError, ZeroDivisionError) as error:
        raise RecordingError(f"recording.json is damaged: 'fps' is {manifest.get('fps')!r}") from error


def tolerance_of(manifest: dict[str, Any]) -> Tolerance:
    """What the codec that a recording was made with may make of a picture."""
    crf = (manifest.get("video") or {}).get("crf")
    return Tolerance.of_crf(crf if isinstance(crf, int | float) else None)


def _check(recording: Recording, line: dict[str, Any], camera: str, others: "_Others") -> Iterator[Fault]:
    index, path = line["episode"], recording.layout.root / line["videos"][camera]
    name = line["videos"][camera]
    if camera not in recording.manifest["cameras"]:
        yield Fault(name, f"there is no camera {camera!r}", index)
        return
    if not path.is_file():
        return  # said where the files are looked for
    described = recording.manifest["cameras"][camera]
    size = (described["height"], described["width"])
    video = decode(path, size)
    if video.error is not None:
        yield Fault(name, f"it cannot be decoded from here on: {video.error}", index, len(video.pts))
    if not video.codec:
        return
    yield from _shape_faults(name, index, video, described)
    yield from time_faults(name, index, video, frame_rate(recording.manifest))
    expected = line["steps"] + 1
    try:
        prints = read_fingerprints(recording.layout.fingerprint(index)).get(camera) if index in others.with_fingerprints else None
    except RecordingError as error:
        yield Fault(recording.layout.fingerprint(index).relative_to(recording.layout.root).as_posix(), str(error), index)
        prints = None
    if prints is not None and len(prints) == expected and prints.shape[1:] == video.luma.shape[1:]:
        limit = tolerance_of(recording.manifest)
        yield from faults_of_frames(name, index, video.luma, prints, limit, lambda: others.owner(camera, index, video.luma, limit))
    elif len(video.pts) != expected:
        yield Fault(name, f"{len(video.pts)} frames for {line['steps']} steps; {expected} are needed", index)


def faults_of_frames(
    name: str, index: int, luma: NDArray[np.uint8], prints: NDArray[np.uint8], limit: Tolerance, owner: Any = lambda: None
) -> Iterator[Fault]:
    """Compare decoded frames with fingerprints.

    Args:
        name: of the file.
        index: of the episode.
        luma: uint8 (frames, h, w), decoded.
        prints: uint8 (T + 1, h, w), what they should be.
        limit: of the codec's error.
        owner: says whose video it is if it is not this episode's, in words.
    """
    count, expected = len(luma), len(prints)
    if count != expected and count:
        first, length = gap(luma, prints), abs(expected - count)
        which = f"frame {first} is" if length == 1 else f"frames {first} to {first + length - 1} are"
        what = "missing" if count < expected else "too many"
        yield Fault(name, f"{count} frames, {expected} are needed: {which} {what}", index, first)
        prints, luma = _without_gap(prints, luma, first, length)
    elif count != expected:
        yield Fault(name, f"no frame, {expected} are needed", index)
    wrong = what_is_shown(luma, prints, limit)
    if len(wrong) > len(luma) / 2 and (whose := owner()) is not None:
        yield Fault(name, f"this is {whose}", index, wrong[0].frame)
        return
    for first, last, instead in _runs(wrong):
        frames = f"frame {first}" if first == last else f"frames {first} to {last}"
        verb = "shows" if first == last else "show"
        if instead is None:
            text = f"{frames} {verb} something else"
        else:
            others = f"frame {instead}" if first == last else f"frames {instead} to {instead + last - first}"
            text = f"{frames} {verb} what {others} should show"
        yield Fault(name, text, index, first)


def _without_gap(prints: NDArray, luma: NDArray, first: int, length: int) -> tuple[NDArray, NDArray]:
    rest = np.s_[first : first + length]
    return (np.delete(prints, rest, 0), luma) if len(luma) < len(prints) else (prints, np.delete(luma, rest, 0))


def _runs(wrong: list[Shown]) -> Iterator[tuple[int, int, int | None]]:
    """Runs of frames that are wrong in the same way: first, last, and what the first one shows."""
    by_shift: dict[int | None, list[int]] = {}
    for item in wrong:
        by_shift.setdefault(None if item.instead is None else item.instead - item.frame, []).append(item.frame)
    runs = [
        (first, last, None if shift is None else first + shift) for shift, places in by_shift.items() for first, last in runs_of(places)
    ]
    yield from sorted(runs, key=lambda run: run[0])


def time_faults(name: str, index: int | None, video: DecodedVideo, fps: Fraction) -> Iterator[Fault]:
    """Frame k has the presentation time k, in units of 1/fps."""
    for frame, pts in enumerate(video.pts):
        if pts != frame:
            yield Fault(name, f"presentation time {pts}; {frame} is needed", index, frame)
            return
    if video.pts and video.time_base * fps != 1:
        yield Fault(name, f"times are in units of {video.time_base} s; {1 / fps} s are needed for {fps} frames/s", index)


def _shape_faults(name: str, index: int, video: DecodedVideo, described: dict[str, Any]) -> Iterator[Fault]:
    height, width = described["height"], described["width"]
    right, bottom = described["pad_right"], described["pad_bottom"]
    if video.size != (height + bottom, width + right):
        size = f"{video.size[1]}x{video.size[0]}"
        yield Fault(name, f"frames of {size}; {width}x{height} and {right} and {bottom} pixels of padding are needed", index)
    if video.picture != {"width": width, "height": height, "pad_right": right, "pad_bottom": bottom}:
        yield Fault(name, f"the tag 'comment' declares the picture {video.picture or 'not at all'}, not {width}x{height}", index)


def _check_overview(recording: Recording) -> Iterator[Fault]:
    path = recording.layout.overview
    video = decode(path)
    if video.error is not None:
        yield Fault(path.name, f"it cannot be decoded from here on: {video.error}", frame=len(video.pts))
    if video.codec:
        yield from time_faults(path.name, None, video, frame_rate(recording.manifest))


class _Others:
    """Whose video a file holds that is not its own episode's."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording

    @cached_property
    def with_fingerprints(self) -> set[int]:
        """The episodes that have fingerprints."""
        layout = self._recording.layout
        return {line["episode"] for line in self._recording.kept if layout.fingerprint(line["episode"]).is_file()}

    def owner(self, camera: str, index: int, luma: NDArray[np.uint8], limit: Tolerance) -> str | None:
        """The episode and camera whose video ``luma`` (frames, h, w) is, in words; None if it is nobody's."""
        for other in sorted(self.with_fingerprints):
            try:
                prints = read_fingerprints(self._recording.layout.fingerprint(other))
            except RecordingError:
                continue
            for name, expected in prints.items():
                if (other, name) != (index, camera) and expected.shape == luma.shape and not what_is_shown(luma, expected, limit):
                    return f"the video of episode {other}, camera {name!r}"
        return None
