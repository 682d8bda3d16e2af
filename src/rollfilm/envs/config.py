"""The options of an environment."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from rollfilm.errors import InvalidArgumentError, NotFoundError
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
    robot_path: str | None = None

    def __post_init__(self) -> None:
        for name, allowed in (("obs_mode", OBS_MODES), ("reward_mode", REWARD_MODES), ("render_mode", (None, "rgb_array"))):
            if getattr(self, name) not in allowed:
                raise InvalidArgumentError(f"{name}={getattr(self, name)!r} was asked for; choose from {', '.join(map(repr, allowed))}")
        if self.num_envs < 1:
            raise InvalidArgumentError(f"num_envs={self.num_envs} was asked for; 1 or more is allowed")
        if self.max_episode_steps is not None and self.max_episode_steps < 1:
            raise InvalidArgumentError(f"max_episode_steps={self.max_episode_steps} was asked for; 1 or more is allowed, or None")
        if self.control_frequency_hz <= 0 or self.physics_frequency_hz <= 0:
            raise InvalidArgumentError("control_frequency_hz and physics_frequency_hz must be above 0")

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


def camera_requests(config: EnvConfig, model_cameras: Sequence[str]) -> tuple[CameraRequest, ...]:
    """The cameras that a configuration films.

    Raises:
        NotFoundError: a name is not among ``model_cameras``.
        InvalidArgumentError: a camera twice, a size out of range, or no camera where pictures are observed.
    """
    cameras = config.cameras
    if cameras is None and config.obs_mode == "rgb":
        cameras = dict.fromkeys(model_cameras, (128, 128))
    elif cameras is None:
        cameras = {model_cameras[0]: (256, 256)} if config.render_mode else {}
    if isinstance(cameras, Mapping):
        requests = tuple(CameraRequest(name, int(size[0]), int(size[1])) for name, size in cameras.items())
    else:
        requests = tuple(cameras)
    for request in requests:
        if isinstance(request.camera, str) and request.camera not in model_cameras:
            raise NotFoundError(f"no camera {request.camera!r} in this task; its cameras: {', '.join(model_cameras)}")
    names = [request.name for request in requests]
    if len(set(names)) != len(names):
        raise InvalidArgumentError(f"the cameras {names} hold a name twice; each camera may be asked for once")
    if config.obs_mode == "rgb" and not [request for request in requests if "rgb" in request.outputs]:
        raise InvalidArgumentError("obs_mode='rgb' needs a camera with the output 'rgb'; name one in cameras, or leave cameras out")
    return requests
