"""The recorder: takes the frames and rows of a batch of worlds and keeps each world's episodes apart."""

from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from rollfilm.errors import InvalidArgumentError, RecordingError, StaleFramesError
from rollfilm.interrupt import DeferredInterrupt
from rollfilm.memory import require_memory
from rollfilm.record.batch import ResetBatch, StateBatch, StepBatch
from rollfilm.record.budget import recording_bytes
from rollfilm.record.buffers import BufferKey, CameraBuffer, camera_buffers, stored_outputs
from rollfilm.record.clock import timed
from rollfilm.record.deferred import Camerawork, DeferredEpisodes
from rollfilm.record.digest import EpisodeDigester
from rollfilm.record.formats import make_sink, takes_colours
from rollfilm.record.layout import Layout
from rollfilm.record.manifest import EnvDescription, Manifest, append_episode, describe_env, describe_renderer, package_versions
from rollfilm.record.options import RecorderOptions
from rollfilm.record.overview import OverviewGrid, OverviewVideo
from rollfilm.record.page import write_page
from rollfilm.record.pool import EncoderPool
from rollfilm.record.ring import FrameRing, FrameSlot, Picture
from rollfilm.record.sink import Ended, Episode, Sink
from rollfilm.record.sinks.fingerprints import FingerprintSink
from rollfilm.record.sinks.lossless import LosslessSink
from rollfilm.record.sinks.states import StatesSink
from rollfilm.record.sinks.video import VideoSink
from rollfilm.record.state_renderer import StateRenderer
from rollfilm.record.track import EndedEpisode, Track
from rollfilm.record.video import require_codec
from rollfilm.render.frames import Frames

__all__ = ["Recorder"]

#: With ``video_when="auto"`` more episodes than these must have been thrown away before others are filmed after they have ended.
_FEWEST_THROWN_AWAY = 8


class Recorder:
    """Records the episodes of a batch of worlds: each begins and ends on its own.

    Call :meth:`on_reset` after each reset and :meth:`on_step` after each step. An episode of T steps gets T rows of actions and
    T + 1 states and frames, the reset's first and the terminal one last. Frames are encoded while the episode runs; when the
    encoders fall behind, the calls wait. Memory depends neither on the length of the episodes nor on their number. Use it in a
    ``with`` statement: however the block ends, every file is closed, and episodes in flight are marked as cut or failed.

    Args:
        output_dir: made if it is not there.
        env: what is recorded.
        options: what can be chosen.
        extra_sinks: more writers of files.

    Raises:
        RecordingExistsError: the folder holds a recording and ``overwrite`` is not set.
        RecordingError: the folder cannot be written to.
        MemoryBudgetError: buffers and encoders would not fit into memory.
        InvalidArgumentError: there is no camera, or one without ``"rgb"`` among its outputs; an output cannot be stored; or the codec does
            not encode pictures of a camera's size on this machine.

    Attributes:
        timings: seconds so far, ``"encode"`` (copying frames and waiting for encoders), ``"write"`` (all other files) and, where episodes
            are filmed after they have ended, ``"film"`` (all of that).
        has_begun: whether there was an episode.
        num_pictures: pictures recorded so far, kept or not.
        num_kept: episodes that stay, of those whose files are whole.
        num_ended: episodes that have ended, kept or not.
    """

    def __init__(
        self, output_dir: str | Path, env: EnvDescription, options: RecorderOptions | None = None, *, extra_sinks: Sequence[Sink] = ()
    ) -> None:
        self._env = env
        self._options = options or RecorderOptions()
        self._layout = Layout(Path(output_dir))
        self._cameras = tuple(env.cameras) if self._options.pictures else ()
        self._sizes = {camera.name: (camera.height, camera.width) for camera in self._cameras}
        self._tracks: dict[int, Track] = {}
        self._ended: deque[EndedEpisode] = deque()
        self._last_ended: dict[int, EndedEpisode] = {}
        self._clips: list[Future[None]] = []
        self._closed = False
        self.timings = {"encode": 0.0, "write": 0.0}
        self.num_pictures = 0
        self.num_kept = 0
        self.num_ended = 0
        self._check_cameras()
        self._may_defer = self._options.may_defer(env.scene)  # says what is wrong before anything is made
        self._camerawork: Camerawork | None = None
        self._decided = [0, 0]  # complete episodes that were thrown away, and kept
        self.has_begun = False
        self._stored = stored_outputs(self._cameras, self._options.outputs)
        self._check_memory()
        for height, width in set(self._sizes.values()):
            require_codec(self._options.video, height, width)
        self._root_was_there = self._layout.root.exists()
        self._lock = self._layout.prepare(overwrite=self._options.overwrite, page=self._options.page)
        try:
            self._manifest = Manifest(self._layout, env, self._options)
            self._manifest.write("recording")
            # the buffers first: where they do not fit into memory, no thread has been started
            self._exact = bool(extra_sinks) or takes_colours(self._options.formats)
            buffers = self._buffers(overview=self._options.has_overview) if self._is_online else {}
            self._ring = FrameRing(buffers, env.num_envs, self._options.buffered_steps)
            self._digester = EpisodeDigester(self._layout)
            self._pool = EncoderPool(self._options.encoder_threads)
            self._deferred = DeferredEpisodes(self._layout.root, env.num_envs)
            self._overview = self._open_overview(self._layout.overview) if self._options.has_overview else None
            self._sinks = [*self._make_sinks(), *extra_sinks]
        except BaseException:
            self._undo()
            raise

    @classmethod
    def for_env(cls, env: Any, output_dir: str | Path, options: RecorderOptions | None = None) -> Self:
        """A recorder for one of our environments."""
        return cls(output_dir, describe_env(env), options)

    @property
    def layout(self) -> Layout:
        """Where the files are."""
        return self._layout

    @property
    def frame_rate(self) -> Fraction:
        """Frames a second when played."""
        return self._options.frame_rate(self._env.control_frequency_hz)

    def on_reset(self, batch: ResetBatch) -> None:
        """Begin episodes. One that is still in flight in such a world is cut.

        Raises:
            StaleFramesError: the frames show another state than the environment's.
            RecordingError: a file cannot be written.
        """
        worlds = [int(world) for world in batch.worlds]
        deferred = batch.filmed and self._defers_next
        self._check_state(batch.state, needed=batch.filmed and not deferred)
        for world in worlds:
            if world in self._tracks:
                self._end(world, self._tracks[world].flagged or "cut")
        self.has_begun = True
        if deferred:
            self._begin_deferred(batch, worlds)
            return
        for_overview = self._overview is not None and self._overview.num_frames == 0
        filmed = worlds if batch.filmed and self._sizes else []
        with timed(self.timings, "encode"):
            slot = self._ring.take(batch.state.frames, None if for_overview else filmed) if for_overview or filmed else None
        try:
            if for_overview and self._overview is not None and slot is not None:
                self._overview.add(slot)
            state = batch.state.on_host()
            with timed(self.timings, "write"):
                for world in worlds:
                    track = self._tracks[world] = Track(batch.episode(world))
                    row = state.row(world, self._pictures(track, slot))
                    for sink in self._sinks:
                        sink.on_reset(track.episode, row)
            self.num_pictures += len(filmed) * len(self._sizes)
        finally:
            if slot is not None:
                slot.release()
        self._settle()

    def on_step(self, batch: StepBatch) -> None:
        """Append one step to every episode in flight, and end those that the environment ended.

        Raises:
            StaleFramesError: the frames show another state than the environment's.
            RecordingError: a step was left out, or a file cannot be written.
            InvalidArgumentError: ``keep="success"`` and the environment does not say what succeeded.
        """
        self._check_state(batch.state, needed=self.needs_pictures)
        batch = batch.on_host()
        worlds = list(self._tracks)
        filmed = [world for world, track in self._tracks.items() if self._is_filmed(track)]
        with timed(self.timings, "write"):
            self._deferred.append([world for world, track in self._tracks.items() if track.deferred], batch)
        with timed(self.timings, "encode"):
            slot = self._take(batch, None if self._overview is not None else filmed) if self.needs_pictures else None
        try:
            if self._overview is not None and slot is not None:
                self._overview.add(slot, [world for world in range(self._env.num_envs) if batch.success_of(world)])
            with timed(self.timings, "write"):
                ended = [world for world in worlds if self._append(world, batch, slot)]
            self.num_pictures += len(filmed) * len(self._sizes)
        finally:
            if slot is not None:
                slot.release()
        for world in ended:
            self._end(world, self._tracks[world].flagged or "stopped")
        self._settle()

    @property
    def needs_pictures(self) -> bool:
        """Whether a step needs frames: an episode in flight is filmed, or all worlds are."""
        return self._overview is not None or any(map(self._is_filmed, self._tracks.values()))

    @property
    def wants_frames(self) -> bool:
        """Whether the next reset or step needs frames (``StateBatch.of_env(..., pictures=recorder.wants_frames)``)."""
        return self.needs_pictures or not self._defers_next

    @property
    def _defers_next(self) -> bool:
        """Whether an episode that begins now is filmed after it has ended."""
        thrown_away, kept = self._decided
        return self._may_defer and (self._options.video_when == "after" or thrown_away > max(kept, _FEWEST_THROWN_AWAY))

    @property
    def _is_online(self) -> bool:
        """Whether cameras may film while episodes run."""
        return self._options.video_when != "after"

    def _is_filmed(self, track: Track) -> bool:
        return bool(self._sizes) and track.episode.filmed and not track.deferred

    def _begin_deferred(self, batch: ResetBatch, worlds: Sequence[int]) -> None:
        if self._options.overview:
            self.end_clip(self._layout.overview)  # it shows every state: it cannot go on without pictures
        with timed(self.timings, "write"):
            self._deferred.begin(worlds, batch.state.on_host())
        for world in worlds:
            self._tracks[world] = Track(batch.episode(world), deferred=True)
        self._settle()

    def in_flight(self, world: int) -> int | None:
        """How many steps the episode in a world has had so far; None if none is in flight there."""
        track = self._tracks.get(world)
        return None if track is None else track.steps

    def end(self, worlds: Sequence[int]) -> None:
        """End the episodes in flight in some worlds as they are: they count as complete, and are kept as others are.

        One that the environment ended with its last step is ``terminated`` or ``truncated``, any other ``stopped``.

        Raises:
            RecordingError: a file cannot be written.
        """
        for world in worlds:
            if (track := self._tracks.get(int(world))) is not None:
                self._end(int(world), track.flagged or "stopped")
        self._settle()

    def discard(self, world: int) -> bool:
        """Throw away the episode that the last step of a world belonged to, also if that step ended it.

        Its files are deleted and its line in ``episodes.jsonl`` says so. A line that stands there already is followed by another one,
        which counts. Further steps of the world are not recorded before its next reset.

        Returns:
            Whether there was such an episode.

        Raises:
            RecordingError: a file cannot be written or deleted.
        """
        track = self._tracks.get(world)
        if track is not None and track.steps:
            self._end(world, track.flagged or "cut", keep=False)
        elif world not in self._last_ended:
            return False
        ended = self._last_ended.pop(world)
        ended.notes["discarded"] = True
        if ended.written:
            self.num_kept -= ended.keep
            ended.keep = False
            self._write_line(ended)
        ended.keep = False
        self._settle()
        return True

    def begin_clip(self, frames: Frames) -> None:
        """Begin a video of all worlds with the pictures of the current state; steps follow until :meth:`end_clip`.

        Raises:
            InvalidArgumentError: nothing is filmed while episodes run.
        """
        if self._sizes and not self._is_online:
            raise InvalidArgumentError("a video of all worlds needs pictures of every state, and video_when='after' renders none")
        if self._overview is None and self._sizes:
            self._overview = self._open_overview(self._new_clip())
            with timed(self.timings, "encode"):
                slot = self._ring.take(frames)
            self._overview.add(slot)
            slot.release()

    def end_clip(self, path: Path | None) -> None:
        """Finish the video of all worlds that is in the making, the overview too, under the name ``path``; None throws it away."""
        if self._overview is not None:
            self._clips.append(self._overview.discard() if path is None else self._overview.finish(path))
            self._overview = None

    @property
    def has_clip(self) -> bool:
        """Whether a video of all worlds is in the making."""
        return self._overview is not None

    @property
    def clip_frames(self) -> int:
        """Frames of the video of all worlds that is in the making, 0 if there is none."""
        return 0 if self._overview is None else self._overview.num_frames

    def close(self, error: BaseException | None = None) -> None:
        """Close every file. Episodes in flight are cut, or failed if an ``error`` is given that is not Ctrl-C.

        An error before the first episode leaves nothing behind, so that the same command can be given again. A Ctrl-C meanwhile waits
        until all is closed; a second one does not.

        Raises:
            RecordingError: something could not be written (only if no ``error`` is given). What a ``keep`` function or a sink of
                one's own raises comes out too, once everything is closed.
        """
        if self._closed:
            return
        self._closed = True
        with DeferredInterrupt():
            self._close(error)

    def _close(self, error: BaseException | None) -> None:
        interrupted = isinstance(error, KeyboardInterrupt)
        failed = error is not None and not interrupted
        problems: list[Exception] = []
        for world in list(self._tracks):
            with _collect(problems):
                flagged = self._tracks[world].flagged
                ended = flagged if flagged is not None else "failed" if failed else "cut"
                self._end(world, ended, f"{type(error).__name__}: {error}" if ended == "failed" else None)
            if world in self._tracks:  # nobody could say whether it stays
                with _collect(problems):
                    self._end(world, "failed", f"{type(problems[-1]).__name__}: {problems[-1]}")
        with timed(self.timings, "encode"):
            self.end_clip(self._layout.overview)
            self._pool.close()
        while self._ended:  # an error ends one line's writing and no other's
            with _collect(problems):
                self._settle(everything=True)
        with _collect(problems):
            self._pool.raise_error()
        self._digester.close()
        for clip in self._clips:
            with _collect(problems):
                clip.result()
        with timed(self.timings, "write"):
            for sink in self._sinks:
                with _collect(problems):
                    sink.close()
            with _collect(problems):
                self._manifest.digest_files()
            with _collect(problems):
                status = "failed" if failed or problems else "interrupted" if interrupted else "complete"
                self._manifest.write(status, str(error if failed else problems[0]) if status == "failed" else None)
            with _collect(problems):
                if self._options.page:
                    write_page(self._layout)
        self._deferred.close()
        if self._camerawork is not None:
            self._camerawork.renderer.close()
        if error is not None and not self.has_begun:
            self._undo()
        self._lock.release()
        if problems and error is None:
            raise problems[0]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self.close(error)

    def _undo(self) -> None:
        self._layout.remove()
        self._lock.release()
        if not self._root_was_there:
            with suppress(OSError):
                self._layout.root.rmdir()

    def _check_cameras(self) -> None:
        if not self._options.pictures:
            return
        without = [camera.name for camera in self._env.cameras if "rgb" not in camera.outputs]
        if without or not self._env.cameras:
            what = f"camera {without[0]!r} has no rgb output" if without else "the environment has no camera"
            raise InvalidArgumentError(f"{what}; a recording films at least one camera, each with 'rgb' among its outputs")
        names: dict[Path, str] = {}
        for camera in self._env.cameras:
            other = names.setdefault(self._layout.video(camera.name, 0), camera.name)
            if other != camera.name:
                raise InvalidArgumentError(f"cameras {other!r} and {camera.name!r} would share a folder of videos; rename one")

    def _check_memory(self) -> None:
        cameras = self._cameras if self._is_online else ()
        num_bytes = recording_bytes(cameras, self._env.num_envs, self._options)
        shapes = ", ".join(f"{camera.name} {camera.width}x{camera.height}" for camera in cameras)
        require_memory(num_bytes, f"frame buffers and encoders for {self._env.num_envs} worlds ({shapes})")

    def _check_state(self, state: StateBatch, *, needed: bool) -> None:
        if self._closed:
            raise RecordingError(f"the recording in {self._layout.root} is closed; make a new recorder")
        if not state.frames and not needed:
            return
        if state.frames.state_count != state.state_count:
            raise StaleFramesError(
                f"the frames show state {state.frames.state_count}, the environment is in state {state.state_count}; "
                "render after the reset or step that is recorded"
            )
        missing = [name for name in self._sizes if name not in state.frames]
        if missing:
            raise RecordingError(f"frames came without camera {missing[0]!r}; there are {', '.join(state.frames)}")

    def _new_clip(self) -> Path:
        """A name for a clip while it is made: several may be."""
        try:
            self._layout.clips.mkdir(exist_ok=True)
        except OSError as error:
            raise RecordingError(f"cannot make the folder {self._layout.clips}: {error.strerror or error}") from error
        return self._layout.clips / f"clip_{len(self._clips):06d}.mp4"

    def _buffers(self, *, overview: bool) -> dict[BufferKey, CameraBuffer]:
        factor = self._grid.factor if overview else 0
        return camera_buffers(self._cameras, self._options.video, exact=self._exact, overview=factor, outputs=self._stored)

    @property
    def _grid(self) -> OverviewGrid:
        return OverviewGrid(self._env.num_envs, *next(iter(self._sizes.values())))

    def _open_overview(self, path: Path) -> OverviewVideo:
        camera = next(iter(self._sizes))
        return OverviewVideo(path, self._pool, camera, self._grid, self.frame_rate, self._options.video)

    def _take(self, batch: StepBatch, worlds: Sequence[int] | None) -> FrameSlot:
        slot = self._ring.take(batch.state.frames, worlds)
        if batch.final is not None:
            slot.replace(batch.final.state.frames, batch.final.worlds)
        return slot

    def _pictures(self, track: Track, slot: FrameSlot | None) -> dict[str, Picture]:
        if slot is None or not self._is_filmed(track):
            return {}
        return {camera: slot.picture(camera, track.episode.world) for camera in self._sizes}

    def _make_sinks(self) -> Iterator[Sink]:
        yield VideoSink(self._layout, self._pool, self._sizes, self.frame_rate, self._options.video, posters=self._options.page)
        if self._stored:
            yield LosslessSink(self._layout, self._pool, self._cameras, self._stored)
        yield FingerprintSink(self._layout, self._pool, tuple(self._sizes))
        env = self._env
        if self._options.stores_states(env.scene):
            yield self._states_sink()
        for name in self._options.formats:
            if (sink := make_sink(name, self._layout, self._manifest.content)) is not None:
                yield sink

    def _states_sink(self) -> StatesSink:
        env, scene = self._env, self._env.filmed_scene()
        assert scene is not None
        provenance = {
            "env_id": env.env_id,
            "engine": env.engine,
            "renderer": describe_renderer(env),
            "cameras": {camera.name: {"height": camera.height, "width": camera.width} for camera in env.cameras},
            "versions": package_versions(),
        }
        sizes = {camera.name: (camera.height, camera.width) for camera in env.cameras}
        return StatesSink(self._layout, scene, sizes, provenance, required=bool(self._options.keep_states))

    def _append(self, world: int, batch: StepBatch, slot: FrameSlot | None) -> bool:
        """Append a step; whether the episode ends with it."""
        track = self._tracks[world]
        track.count(batch)
        track.missing_at_end = batch.missing_of(world)
        if batch.elapsed_steps is not None and int(batch.elapsed_steps[world]) != track.steps:
            raise RecordingError(
                f"world {world}: the environment counts {int(batch.elapsed_steps[world])} steps in episode {track.episode.index}, "
                f"the recorder was given {track.steps}; call on_step after every step"
            )
        if not track.deferred:
            row = batch.row(world, self._pictures(track, slot))
            for sink in self._sinks:
                sink.on_step(track.episode, row)
        return track.flagged is not None if batch.ends is None else bool(batch.ends[world])

    def _end(self, world: int, ended: Ended, error: str | None = None, *, keep: bool = True) -> None:
        track = self._tracks[world]
        outcome = track.outcome(ended, error)
        if keep and outcome.complete and outcome.success is None and self._options.keep == "success":
            raise InvalidArgumentError(
                'keep="success" needs to know what succeeded, and infos["success"] does not say; give keep="all" or a function'
            )
        keep = keep and ended != "failed" and self._options.keeps(track.episode, outcome)
        del self._tracks[world]
        self.num_ended += 1
        notes = {"missing_at_end": list(track.missing_at_end)} if track.missing_at_end else {}
        ended_episode = self._last_ended[world] = EndedEpisode(track.episode, outcome, keep, [], notes)
        if outcome.complete:
            self._decided[keep] += 1
        problems: list[Exception] = []
        if track.deferred and keep:
            with _collect(problems):
                self._film(world, track.episode)
        for sink in self._sinks if keep or not track.deferred else ():
            with _collect(problems), timed(self.timings, "write"):
                ended_episode.receipts.append(sink.on_episode_end(track.episode, outcome, keep=keep and not problems))
        if track.deferred:
            self._deferred.drop(world)
        if problems:
            ended_episode.outcome, ended_episode.keep = replace(outcome, ended="failed", error=str(problems[0])), False
        self._ended.append(ended_episode)
        if problems:
            raise problems[0]

    def _film(self, world: int, episode: Episode) -> None:
        """Give the sinks what they would have been given while the episode ran."""
        if self._camerawork is None:
            env, scene = self._env, self._env.filmed_scene()
            assert scene is not None
            at_once = Camerawork.states_at_once(self._sizes)
            num_bytes = recording_bytes(self._cameras, at_once, self._options)
            require_memory(num_bytes, "buffers and encoders for episodes that are filmed after they have ended")
            cameras = [replace(camera, every=1) for camera in env.cameras]
            renderer = StateRenderer(scene, cameras, batch_size=at_once, device=env.device, options=env.render_options)
            ring = FrameRing(self._buffers(overview=False), at_once, self._options.buffered_steps)
            self._camerawork = Camerawork(renderer, ring)
        self.timings.setdefault("film", 0.0)
        with timed(self.timings, "film"):
            self.num_pictures += len(self._sizes) * self._deferred.film(world, episode, self._sinks, self._camerawork)

    def _settle(self, *, everything: bool = False) -> None:
        """Write the lines of the ended episodes whose files are whole, in the order in which they ended."""
        with timed(self.timings, "write"):
            for ended in self._ended:
                if ended.digests is None and ended.settled:
                    stays = ended.keep and ended.error is None
                    ended.digests = self._digester.submit(ended.episode.index) if stays else _nothing_to_read()
            while self._ended and (ended := self._ended[0]).digests is not None and (everything or ended.digests.done()):
                self._write_line(self._ended.popleft())
        self._pool.raise_error()

    def _write_line(self, ended: EndedEpisode) -> None:
        assert ended.digests is not None
        error = ended.error or ended.digests.exception()
        if error is not None:
            ended.outcome, ended.keep = replace(ended.outcome, ended="failed", error=str(error)), False
        if not ended.keep and ended.receipts:  # without them nobody has begun a file
            self._layout.remove_episode(ended.episode.index)
        files: dict[str, Any] = {}
        if ended.keep:
            files = {name: value for receipt in ended.receipts for name, value in receipt.entry.items()} | ended.digests.result()
        try:
            append_episode(self._layout, ended.episode, ended.outcome, kept=ended.keep, files=files | ended.notes)
        except RecordingError:
            self._layout.remove_episode(ended.episode.index)
            raise
        ended.written = True
        self.num_kept += ended.keep


def _nothing_to_read() -> Future[dict[str, Any]]:
    nothing: Future[dict[str, Any]] = Future()
    nothing.set_result({})
    return nothing


@contextmanager
def _collect(problems: list[Exception]) -> Iterator[None]:
    """Remember what goes wrong in the block and go on, so that everything else is still closed."""
    try:
        yield
    except Exception as error:
        problems.append(error)
