"""``recording.json``, which says what was recorded and how, and ``episodes.jsonl``, a line for each finished episode."""

import hashlib
import io
import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, is_dataclass, replace
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from rollfilm.errors import RecordingError
from rollfilm.record.digest import files_sha256
from rollfilm.record.layout import Layout
from rollfilm.record.options import RecorderOptions
from rollfilm.record.schema import EPISODE_FIELDS, MANIFEST_FIELDS, check_fields
from rollfilm.record.sink import Episode, Outcome
from rollfilm.record.video import PARTIAL_SUFFIX, VideoOptions
from rollfilm.render.options import DEFAULT_OPTIONS, RenderOptions
from rollfilm.render.request import CameraRequest
from rollfilm.scene import Camera, Scene

__all__ = [
    "EnvDescription",
    "Manifest",
    "append_episode",
    "describe_env",
    "iterate_episodes",
    "manifest_checksum",
    "package_versions",
    "read_episodes",
    "read_manifest",
    "shared_digests",
    "write_manifest",
]

FORMAT = "rollfilm recording 1"


@dataclass(frozen=True)
class EnvDescription:
    """What a recorder has to know of the environment that it records.

    Attributes:
        num_envs: B, the number of worlds.
        cameras: what is filmed.
        control_frequency_hz: control steps a second of simulated time.
        task: a short name.
        env_id, env_kwargs, max_episode_steps: how Gymnasium makes it.
        obs_mode, control_mode: in ManiSkill's words.
        engine, device: who simulates, and where.
        fov_y_rad: vertical field of view of each camera, where it is known.
        scene: what can be seen, None where the frames come from another renderer; states are stored where it is there.
        render_options: how frames of ``scene`` are drawn.
        instruction: what is to be done, in words for a policy that reads them; the name of the task if left out.
    """

    num_envs: int
    cameras: tuple[CameraRequest, ...]
    control_frequency_hz: float
    task: str = ""
    env_id: str = ""
    env_kwargs: Mapping[str, Any] = field(default_factory=dict)
    max_episode_steps: int | None = None
    obs_mode: str = "state"
    control_mode: str = "none"
    engine: str = "unknown"
    device: str = "cpu"
    fov_y_rad: Mapping[str, float] = field(default_factory=dict)
    scene: Scene | None = None
    render_options: RenderOptions = DEFAULT_OPTIONS
    instruction: str = ""

    def filmed_scene(self) -> Scene | None:
        """The scene with the cameras that were asked for and are not its own."""
        if self.scene is None:
            return None
        added = [request.camera for request in self.cameras if isinstance(request.camera, Camera)]
        names = {camera.name for camera in added}
        return replace(self.scene, cameras=(*(camera for camera in self.scene.cameras if camera.name not in names), *added))


def package_versions(names: Sequence[str] = ("rollfilm", "numpy", "warp-lang", "mujoco", "gymnasium", "av", "h5py")) -> dict[str, str]:
    """The versions of the packages that are installed, by name."""
    from rollfilm import __version__

    versions = {"rollfilm": __version__}
    for name in names:
        try:
            versions.setdefault(name, metadata.version(name))
        except metadata.PackageNotFoundError:
            continue
    return versions


class Manifest:
    """Writes ``recording.json``.

    Dates and the command stand under ``"run"``; all else depends on nothing but what was asked for.

    Args:
        layout: where it goes.
        env: what is recorded.
        options: how.
    """

    def __init__(self, layout: Layout, env: EnvDescription, options: RecorderOptions) -> None:
        self._layout = layout
        self._started = _now()
        self._options = options
        trajectory = layout.trajectory(env.obs_mode, env.control_mode, env.engine, options.trajectory_name).name
        self._content = {
            "task": env.task,
            "env_id": env.env_id,
            "env_kwargs": dict(env.env_kwargs),
            "engine": env.engine,
            "device": env.device,
            "num_envs": env.num_envs,
            "obs_mode": env.obs_mode,
            "control_mode": env.control_mode,
            "control_frequency_hz": env.control_frequency_hz,
            "max_episode_steps": env.max_episode_steps,
            "seed": options.seed,
            "keep": getattr(options.keep, "__qualname__", options.keep),
            "fps": str(options.frame_rate(env.control_frequency_hz)),
            "video": asdict(options.video),
            "cameras": {camera.name: _describe_camera(camera, env.fov_y_rad.get(camera.name), options.video) for camera in env.cameras},
            "files": {
                "episodes": layout.episodes.name,
                "videos": "videos/<camera>/episode_<episode>.mp4",
                "overview": layout.overview.name if options.has_overview else None,
                "trajectory": trajectory if "maniskill" in options.formats else None,
                "lerobot": layout.lerobot.name if "lerobot" in options.formats else None,
                "robomimic": layout.robomimic.name if "robomimic" in options.formats else None,
                "page": layout.page.name if options.page else None,
                "posters": "posters/<camera>/episode_<episode>.jpg" if options.page else None,
                "scene": layout.scene.name if options.stores_states(env.scene) else None,
                "states": "states/episode_<episode>.h5" if options.stores_states(env.scene) else None,
            },
            "formats": list(options.formats),
            "record_rewards": options.record_rewards,
            "instruction": env.instruction,
            "source_type": options.source_type,
            "source_desc": options.source_desc,
            "renderer": describe_renderer(env) if env.scene is not None else None,
            "versions": package_versions(),
        }
        self._digests: dict[str, str] = {}

    def digest_files(self) -> None:
        """Take the digests of the files that all episodes share, for :meth:`write` to note. Call it once they are whole.

        Raises:
            RecordingError: one of them cannot be read.
        """
        self._digests = shared_digests(self._layout)

    @property
    def content(self) -> Mapping[str, Any]:
        """What it says whatever becomes of the recording."""
        return self._content

    def write(self, status: str, error: str | None = None) -> None:
        """Write the file in one piece.

        Args:
            status: ``"recording"``, ``"complete"``, ``"interrupted"`` or ``"failed"``.
            error: what went wrong.

        Raises:
            RecordingError: it cannot be written.
        """
        run = {"started": self._started, "ended": None if status == "recording" else _now(), "command": self._options.command}
        head = {"format": FORMAT, "status": status, "error": error}
        write_manifest(self._layout, {**head, **self._content, "sha256": self._digests, "run": run})


def shared_digests(layout: Layout) -> dict[str, str]:
    """The digests of the files of a recording that all episodes share, but for ``recording.json`` and the page, by their path.

    Raises:
        RecordingError: one of them cannot be read.
    """
    own = {path for _, path in layout.files_of_episodes()} | {layout.manifest, layout.page}
    shared = [path for path in layout.recorded_files() if path not in own and not path.name.endswith(PARTIAL_SUFFIX)]
    return files_sha256(layout.root, shared)


def write_manifest(layout: Layout, content: Mapping[str, Any]) -> None:
    """Write ``recording.json`` in one piece, with a digest of its own.

    Raises:
        RecordingError: it cannot be written.
    """
    run = {**content["run"], "checksum": manifest_checksum(content)}
    partial = layout.manifest.with_name(layout.manifest.name + PARTIAL_SUFFIX)
    try:
        partial.write_text(json.dumps({**content, "run": run}, indent=2) + "\n")
        os.replace(partial, layout.manifest)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise RecordingError(f"cannot write {layout.manifest}: {error.strerror or error}") from error


def manifest_checksum(content: Mapping[str, Any]) -> str:
    """The SHA-256 of what ``recording.json`` says, in its order and without the checksum itself."""
    run = {name: value for name, value in content["run"].items() if name != "checksum"}
    return hashlib.sha256(json.dumps({**content, "run": run}).encode()).hexdigest()


def describe_renderer(env: EnvDescription) -> dict[str, Any]:
    """Who draws the frames, as JSON."""
    return {"name": "rollfilm", "device": env.device, "options": asdict(env.render_options)}


def _describe_camera(camera: CameraRequest, fov_y_rad: float | None, video: VideoOptions) -> dict[str, Any]:
    height, width = video.file_size(camera.height, camera.width)
    return {
        "width": camera.width,
        "height": camera.height,
        "pad_right": width - camera.width,
        "pad_bottom": height - camera.height,
        "fov_y_rad": _fov_y_rad(camera.camera, camera.height, camera.width) if isinstance(camera.camera, Camera) else fov_y_rad,
        "outputs": list(camera.outputs),
    }


def _fov_y_rad(camera: Camera, height: int, width: int) -> float | None:
    """The vertical field of view of a picture; an orthographic camera has none."""
    lens = camera.intrinsics(height, width)
    return None if camera.orthographic else math.atan2(lens.cy, lens.fy) + math.atan2(height - lens.cy, lens.fy)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def read_manifest(layout: Layout) -> dict[str, Any]:
    """What ``recording.json`` says.

    Raises:
        RecordingError: the folder holds no recording, or one that this version cannot read.
    """
    if not layout.root.is_dir():
        raise RecordingError(f"{layout.root} is {'not a folder' if layout.root.exists() else 'not there'}; give the folder of a recording")
    try:
        content = json.loads(layout.manifest.read_text())
    except FileNotFoundError:
        raise RecordingError(f"{layout.root} holds no recording: it has no {layout.manifest.name}") from None
    except (OSError, ValueError, RecursionError) as error:
        raise RecordingError(f"{layout.manifest} cannot be read: {error}") from error
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise RecordingError(f"{layout.manifest} is not of the format {FORMAT!r} that this version of rollfilm reads")
    check_fields(content, MANIFEST_FIELDS, str(layout.manifest))
    return content


def append_episode(layout: Layout, episode: Episode, outcome: Outcome, *, kept: bool, files: Mapping[str, Any]) -> None:
    """Append the line of a finished episode, in one write.

    Raises:
        RecordingError: it cannot be written.
    """
    head = {
        "episode": episode.index,
        "seed": episode.seed,
        "run_seed": episode.run_seed,
        "reset_kwargs": dict(episode.reset_kwargs),
        "world": episode.world,
    }
    if episode.instruction is not None:
        head["instruction"] = episode.instruction
    line = json.dumps({**head, **asdict(outcome), "kept": kept, **files}) + "\n"
    try:
        with layout.episodes.open("ab", buffering=0) as file:
            end = file.seek(0, os.SEEK_END)
            try:
                _write_all(file, line.encode())
            except OSError:
                file.truncate(end)  # half a line would be in the way of the next one
                raise
    except OSError as error:
        raise RecordingError(f"cannot write {layout.episodes}: {error.strerror or error}") from error


def _write_all(file: io.FileIO, data: bytes) -> None:
    rest = memoryview(data)
    while len(rest):
        rest = rest[file.write(rest) :]


def read_episodes(layout: Layout) -> list[dict[str, Any]]:
    """The finished episodes in the order of their index; of several lines the last one counts, as after a discard.

    A last line that a killed process left half written is not one.

    Raises:
        RecordingError: a line in the middle cannot be read, or lacks a field.
    """
    lines = {line["episode"]: line for line in iterate_episodes(layout)}
    return sorted(lines.values(), key=lambda line: line["episode"])


def iterate_episodes(layout: Layout) -> Iterator[dict[str, Any]]:
    """The lines as they stand in the file, one at a time, however many there are: of several of an episode the last one counts.

    Raises:
        RecordingError: as :func:`read_episodes`.
    """
    path = layout.episodes
    for number, line in enumerate(_whole_lines(path), start=1):
        try:
            content = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise RecordingError(f"{path}, line {number} cannot be read: {error}") from error
        check_fields(content, EPISODE_FIELDS, f"{path}, line {number},")
        yield content


def _whole_lines(path: Path) -> Iterator[bytes]:
    try:
        with path.open("rb") as file:
            yield from (line for line in file if line.endswith(b"\n"))
    except FileNotFoundError:
        return
    except OSError as error:
        raise RecordingError(f"{path} cannot be read: {error.strerror or error}") from error


def describe_env(env: Any) -> EnvDescription:
    """What a recorder has to know of one of our environments."""
    config = env.config
    scene = getattr(getattr(env, "engine", None), "scene", None)
    return EnvDescription(
        num_envs=env.num_envs,
        cameras=tuple(env.cameras),
        control_frequency_hz=env.control_frequency_hz,
        task=env.task_name,
        env_id=env.env_id,
        env_kwargs=_env_kwargs(env),
        max_episode_steps=env.max_episode_steps,
        obs_mode=env.obs_mode,
        control_mode=env.control_mode,
        engine=config.engine,
        device=config.device,
        fov_y_rad={} if scene is None else {c.name: c.fov_y_rad for c in scene.cameras if not c.orthographic},
        scene=scene,
        render_options=getattr(env, "render_options", DEFAULT_OPTIONS),
        instruction=getattr(env, "instruction", ""),
    )


def _env_kwargs(env: Any) -> dict[str, Any]:
    """The options that the environment was made with and that change what happens in it, as JSON."""
    places_and_speed = ("num_envs", "num_threads", "device", "robot_path", "cameras")
    options = {item.name: getattr(env.config, item.name) for item in fields(env.config) if item.name not in places_and_speed}
    cameras = {camera.name: [camera.height, camera.width] for camera in env.cameras}
    plain = {name: asdict(value) if is_dataclass(value) and not isinstance(value, type) else value for name, value in options.items()}
    return {name: value for name, value in plain.items() if value is not None} | {"cameras": cameras}
