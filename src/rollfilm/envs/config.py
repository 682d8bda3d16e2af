"""The options of an environment."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from numbers import Real
from typing import Any

from rollfilm.arguments import require_integer
from rollfilm.errors import InvalidArgumentError, NotFoundError
from rollfilm.render.options import DEFAULT_OPTIONS, RenderOptions
from rollfilm.render.randomize import LooksConfig
from rollfilm.render.request import CameraRequest

__all__ = ["OBS_MODES", "REWARD_MODES", "EnvConfig", "camera_requests", "config_from_options"]

OBS_MODES = ("state", "state_dict", "rgb")
REWARD_MODES = ("dense", "normalized_dense", "sparse", "none")

Cameras = Mapping[str, tuple[int, int]] | Sequence[CameraRequest]


@dataclass(frozen=True)
class EnvConfig:
    """How a task is run.

    Attributes:
        num_envs: B, the number of worlds.
        obs_mode: ``"state"`` (flat vector), ``"state_dict"`` (the same, named), ``"rgb"`` (pictures, and what a real robot knows).
        control_mode: one of the task's.
        reward_mode: ``"normalized_dense"`` (dense, at most 1), ``"dense"``, ``"sparse"`` (1 on success), ``"none"`` (0).
        cameras: a mapping from camera name to (height, width), or camera requests. None for the task's own choice: no cameras for
            state observations without a ``render_mode``, else all that are needed, at 128x128 (256x256 for ``render_mode``).
        render_mode: ``"rgb_array"`` so that ``render()`` gives pictures, or None.
        max_episode_steps: steps after which an episode is truncated; None for the task's own.
        control_frequency_hz: actions a second.
        physics_frequency_hz: steps of physics a second, a whole multiple of it.
        engine: the name of a physics engine.
        num_threads: threads of the engine; None for all cores.
        device: where pictures are rendered, ``"cpu"`` or ``"cuda:0"``.
        render: how they are drawn, as ``RenderOptions.mujoco_look()``.
        randomize: what looks different from episode to episode, drawn by lot from the episode's seed; True for the task's own choice.
        robot_path: where the robot's model is, if not where :func:`rollfilm.envs.robots.robot_folder` looks.
    """

    num_envs: int = 1
    obs_mode: str = "state"
    control_mode: str = "pd_joint_delta_pos"
    reward_mode: str = "normalized_dense"
    cameras: Cameras | None = None
    render_mode: str | None = None
    max_episode_steps: int | None = None
    control_frequency_hz: float = 20.0
    physics_frequency_hz: int = 500
    engine: str = "mujoco"
    num_threads: int | None = None
    device: str = "cpu"
    render: RenderOptions = DEFAULT_OPTIONS
    randomize: LooksConfig | bool = False
    robot_path: str | None = None

    def __post_init__(self) -> None:
        for name, allowed in (("obs_mode", OBS_MODES), ("reward_mode", REWARD_MODES), ("render_mode", (None, "rgb_array"))):
            if getattr(self, name) not in allowed:
                raise InvalidArgumentError(f"{name}={getattr(self, name)!r} was asked for; choose from {', '.join(map(repr, allowed))}")
        require_integer(self.num_envs, "num_envs", lowest=1)
        for name in ("max_episode_steps", "num_threads"):
            if getattr(self, name) is not None:
                require_integer(getattr(self, name), f"{name} (or None)", lowest=1)
        for name in ("control_frequency_hz", "physics_frequency_hz"):
            value = getattr(self, name)
            if not isinstance(value, Real) or not 0.0 < float(value) < math.inf:
                raise InvalidArgumentError(f"{name} is {value!r}; it must be a number above 0")
        for name in ("engine", "device", "control_mode"):
            if not isinstance(getattr(self, name), str):
                raise InvalidArgumentError(f"{name} is {getattr(self, name)!r}; it must be a name")
        if not isinstance(self.render, RenderOptions):
            raise InvalidArgumentError(f"render is {self.render!r}; give rollfilm.render.RenderOptions, as RenderOptions.mujoco_look()")
        if not isinstance(self.randomize, bool | LooksConfig):
            raise InvalidArgumentError(f"randomize is {self.randomize!r}; give True for the task's own choice, or a LooksConfig")

    @property
    def substeps(self) -> int:
        """Steps of physics a control step.

        Raises:
            InvalidArgumentError: the control period is no whole number of physics steps.
        """
        ratio = self.physics_frequency_hz / self.control_frequency_hz
        substeps = round(ratio)
        if substeps < 1 or abs(ratio - substeps) > 1e-6 * ratio:
            raise InvalidArgumentError(
                f"control at {self.control_frequency_hz} Hz over physics at {self.physics_frequency_hz} Hz makes {ratio:.6g} steps of "
                "physics a control step; choose frequencies with a whole ratio, for example 20 over 500"
            )
        return substeps


def config_from_options(options: Mapping[str, Any]) -> EnvConfig:
    """An :class:`EnvConfig` of keyword options.

    Raises:
        NotFoundError: an option is unknown; the message lists the known ones.
        InvalidArgumentError: an option has a value that is not allowed.
    """
    known = [field.name for field in fields(EnvConfig)]
    unknown = sorted(set(options) - set(known))
    if unknown:
        raise NotFoundError(f"unknown environment options {', '.join(map(repr, unknown))}; known: {', '.join(known)}")
    return EnvConfig(**options)


def _requests_of(cameras: Cameras) -> Iterator[CameraRequest]:
    if isinstance(cameras, Mapping):
        for name, size in cameras.items():
            if not isinstance(size, Sequence) or len(size) != 2:
                raise InvalidArgumentError(f"the size of camera {name!r} is {size!r}; give (height, width) in pixels")
            yield CameraRequest(name, *size)
    elif isinstance(cameras, Sequence) and all(isinstance(request, CameraRequest) for request in cameras):
        yield from cameras
    else:
        raise InvalidArgumentError(f"cameras is {cameras!r}; give {{'front': (256, 256)}}, or a sequence of CameraRequest")


def camera_requests(config: EnvConfig, model_cameras: Sequence[str]) -> tuple[CameraRequest, ...]:
    """The cameras that a configuration films.

    Raises:
        NotFoundError: a name is not among ``model_cameras``.
        InvalidArgumentError: a camera twice, a size out of range, or no camera where pictures are observed or are to look otherwise.
    """
    cameras = config.cameras
    if cameras is None and config.obs_mode == "rgb":
        cameras = dict.fromkeys(model_cameras, (128, 128))
    elif cameras is None:
        cameras = {model_cameras[0]: (256, 256)} if config.render_mode else {}
    requests = tuple(_requests_of(cameras))
    for request in requests:
        if isinstance(request.camera, str) and request.camera not in model_cameras:
            raise NotFoundError(f"no camera {request.camera!r} in this task; its cameras: {', '.join(model_cameras)}")
    names = [request.name for request in requests]
    if len(set(names)) != len(names):
        raise InvalidArgumentError(f"the cameras {names} hold a name twice; each camera may be asked for once")
    if config.obs_mode == "rgb" and not [request for request in requests if "rgb" in request.outputs]:
        raise InvalidArgumentError("obs_mode='rgb' needs a camera with the output 'rgb'; name one in cameras, or leave cameras out")
    for name in ("render", "randomize"):
        if getattr(config, name) not in (False, DEFAULT_OPTIONS) and not requests:
            raise InvalidArgumentError(f"{name} came, but this environment films no camera; make it with cameras={{'front': (256, 256)}}")
    return requests
