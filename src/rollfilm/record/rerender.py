"""New pictures of stored states: with the cameras of the recording the same bytes as online, or with others, in other sizes and looks."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rollfilm.errors import InvalidArgumentError, RecordingError
from rollfilm.host import host_array
from rollfilm.record.reading import Recording
from rollfilm.record.state_renderer import StateRenderer
from rollfilm.record.states import EpisodeStates
from rollfilm.render.frames import CameraFrames
from rollfilm.render.looks import WorldLooks
from rollfilm.render.options import RenderOptions
from rollfilm.render.randomize import LooksConfig, randomize
from rollfilm.render.request import CameraRequest
from rollfilm.scene import BodyPoses, Scene
from rollfilm.seeds import episode_seed

__all__ = [
    "FilmedBlock",
    "RerenderOptions",
    "film_frames",
    "looks_by_lot",
    "recorded_cameras",
    "recorded_options",
    "requests_of",
    "rerender_episodes",
]

#: How an episode shall look, by its index; looks of one world, None for what the scene says.
LooksOf = Callable[[int], WorldLooks | None]


@dataclass(frozen=True)
class RerenderOptions:
    """How stored states are filmed.

    Attributes:
        cameras: sizes (H, W) by name of cameras of the stored scene, or requests with cameras of your own; None for those of the recording.
        looks_of: how an episode shall look, in place of how it did; None for as it did.
        device: ``"cpu"`` or ``"cuda:N"``; None for that of the recording, which gives the same bytes.
        render: how to draw; None for as it was recorded.
        batch_size: states that are filmed at once.
        num_threads: host threads on the CPU; None for all cores.
    """

    cameras: Mapping[str, tuple[int, int]] | Sequence[CameraRequest] | None = None
    looks_of: LooksOf | None = None
    device: str | None = None
    render: RenderOptions | None = None
    batch_size: int = 32
    num_threads: int | None = None


@dataclass(frozen=True, eq=False)
class FilmedBlock:
    """Successive frames of an episode.

    Attributes:
        episode: its index.
        first: the frame of the first row; frame k shows the state after k actions.
        count: n, how many frames.
        cameras: by name, arrays (n, H, W, ...), NumPy on the CPU and on the device otherwise. The next block overwrites them.
    """

    episode: int
    first: int
    count: int
    cameras: Mapping[str, CameraFrames]


def recorded_cameras(recording: Recording) -> tuple[CameraRequest, ...]:
    """The cameras that a recording was filmed with, at their sizes."""
    return tuple(CameraRequest(name, camera["height"], camera["width"]) for name, camera in recording.manifest["cameras"].items())


def recorded_options(recording: Recording) -> RenderOptions:
    """How the frames of a recording were drawn.

    Raises:
        RecordingError: it does not say, or in a way that this version does not know.
    """
    renderer = recording.manifest.get("renderer")
    try:
        return RenderOptions(**renderer["options"])  # type: ignore[index]
    except (TypeError, KeyError, InvalidArgumentError) as error:
        raise RecordingError(f"{recording.layout.manifest} does not say how its frames were drawn: {error}") from error


def looks_by_lot(config: LooksConfig, scene: Scene, seed: int, cameras: Sequence[CameraRequest] = ()) -> LooksOf:
    """Looks of each episode, drawn from ``seed`` and the episode's index alone.

    Args:
        config: what is drawn.
        scene: whose looks they are.
        seed: an integer of 0 or more.
        cameras: what is filmed, for cameras that the scene does not have.

    Raises:
        NotFoundError, InvalidArgumentError: see :func:`rollfilm.render.randomize`.
    """
    own = [request.camera for request in cameras if not isinstance(request.camera, str)]
    randomize(config, scene, [0], cameras=own)  # what is wrong is said before the first episode
    return lambda episode: randomize(config, scene, [episode_seed(seed, episode)], cameras=own)


def rerender_episodes(
    recording: Recording, episodes: Iterable[int] | None = None, options: RerenderOptions | None = None
) -> Iterator[FilmedBlock]:
    """Film stored states again, in blocks of successive frames: memory does not grow with the length of an episode.

    Args:
        recording: with states.
        episodes: indices, in the order in which they are filmed; None for all that were kept and have states.
        options: how.

    Raises:
        NotFoundError: no such episode has ended, or no such camera.
        RecordingError: there are no states, or they cannot be read.
        InvalidArgumentError, DeviceError, MemoryBudgetError: see :class:`rollfilm.render.BatchRenderer`.
    """
    options = options or RerenderOptions()
    indices = [line["episode"] for line in recording.kept if line.get("states")] if episodes is None else list(episodes)
    with _renderer_of(recording, options) as renderer:
        for index in indices:
            states = recording.states(index)
            own = None if options.looks_of is None else options.looks_of(index)
            for first in range(0, len(states), renderer.batch_size):
                rows = slice(first, min(first + renderer.batch_size, len(states)))
                looks = [states.looks_at(row) if options.looks_of is None else own for row in range(rows.start, rows.stop)]
                frames = renderer.film(states.poses(rows), looks)
                count = rows.stop - rows.start
                yield FilmedBlock(index, first, count, {name: _first(pictures, count) for name, pictures in frames.items()})


def film_frames(
    recording: Recording, picks: Iterable[tuple[int, int]], options: RerenderOptions | None = None
) -> Iterator[tuple[int, int, dict[str, NDArray[np.uint8]]]]:
    """Film single frames again, in batches.

    Args:
        recording: with states.
        picks: (episode, frame), in any order; those of an episode beside each other read its states once.
        options: how.

    Yields:
        Episode, frame and its pictures by camera, uint8 (H, W, 3), which the next batch overwrites; in the order of ``picks``.

    Raises:
        RecordingError: also where an episode has no such frame. Otherwise see :func:`rerender_episodes`.
    """
    options = options or RerenderOptions()
    with _renderer_of(recording, options) as renderer:
        batch: list[tuple[int, int, EpisodeStates]] = []
        for episode, frame in picks:
            states = batch[-1][2] if batch and batch[-1][0] == episode else recording.states(episode)
            if not 0 <= frame < len(states):
                raise RecordingError(f"{recording.layout.root}: episode {episode} has {len(states)} states; there is no frame {frame}")
            batch.append((episode, frame, states))
            if len(batch) == renderer.batch_size:
                yield from _film_batch(renderer, batch, options.looks_of)
                batch = []
        if batch:
            yield from _film_batch(renderer, batch, options.looks_of)


def _film_batch(
    renderer: StateRenderer, batch: Sequence[tuple[int, int, EpisodeStates]], looks_of: LooksOf | None
) -> Iterator[tuple[int, int, dict[str, NDArray[np.uint8]]]]:
    poses = [states.poses(frame) for _, frame, states in batch]
    path = None if poses[0].path is None else np.stack([one.path for one in poses])
    stacked = BodyPoses(np.stack([one.position for one in poses]), np.stack([one.quat_wxyz for one in poses]), path)
    drawn = {} if looks_of is None else {episode: looks_of(episode) for episode in {episode for episode, _, _ in batch}}
    looks = [states.looks_at(frame) if looks_of is None else drawn[episode] for episode, frame, states in batch]
    pictures = {name: host_array(frames.rgb) for name, frames in renderer.film(stacked, looks).items()}
    for place, (episode, frame, _) in enumerate(batch):
        yield episode, frame, {name: picture[place] for name, picture in pictures.items()}


def requests_of(recording: Recording, cameras: Any) -> tuple[CameraRequest, ...]:
    """What ``RerenderOptions.cameras`` ask for.

    Raises:
        NotFoundError: a name is unknown.
        InvalidArgumentError: a size out of its range.
    """
    if cameras is None:
        return recorded_cameras(recording)
    if isinstance(cameras, Mapping):
        for name in cameras:
            recording.scene.camera(name)
        return tuple(CameraRequest(name, *size) for name, size in cameras.items())
    return tuple(cameras)


def _renderer_of(recording: Recording, options: RerenderOptions) -> StateRenderer:
    return StateRenderer(
        recording.scene,
        requests_of(recording, options.cameras),
        batch_size=options.batch_size,
        device=options.device or recording.manifest["renderer"]["device"],
        num_threads=options.num_threads,
        options=options.render or recorded_options(recording),
    )


def _first(frames: CameraFrames, count: int) -> CameraFrames:
    """The first ``count`` pictures of a camera, views."""
    arrays = [
        field.name for field in fields(frames) if field.name not in ("state_count", "age") and getattr(frames, field.name) is not None
    ]
    return replace(frames, **{name: getattr(frames, name)[:count] for name in arrays})
