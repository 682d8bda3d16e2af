"""Where the pictures of a recorded environment come from: its own frames, a renderer of ours, or its ``render`` method."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from rollfilm.errors import InvalidArgumentError, NotFoundError
from rollfilm.host import host_array
from rollfilm.record.wrapped_env import WrappedEnv
from rollfilm.render.frames import CameraFrames, Frames
from rollfilm.render.request import CameraRequest
from rollfilm.scene import PoseSource

__all__ = ["RENDER_CAMERA", "Cameras", "PictureSource", "picture_source"]

#: Which cameras are recorded: names of those that the environment films, or sizes (H, W) by name, or requests.
Cameras = Sequence[str] | Sequence[CameraRequest] | Mapping[str, tuple[int, int]]

#: The name of what ``env.render()`` shows.
RENDER_CAMERA = "render"


class PictureSource(Protocol):
    """Pictures of the current state of all worlds."""

    @property
    def known(self) -> bool:
        """Whether the cameras are known before the first reset."""
        ...

    def requests(self) -> tuple[CameraRequest, ...]:
        """The cameras and their sizes. May take a picture."""
        ...

    def state_count(self) -> int:
        """The counter of the environment's state."""
        ...

    def frames(self) -> Frames:
        """The pictures of the current state."""
        ...

    def frames_of(self, worlds: Sequence[int]) -> Frames:
        """The same for some worlds; pictures of the others mean nothing."""
        ...


def picture_source(
    env: WrappedEnv, cameras: Cameras | None, pose_source: PoseSource | None, frames: Callable[[], Any] | None
) -> PictureSource:
    """Where the pictures of an environment come from.

    Args:
        env: the environment.
        cameras: see :data:`Cameras`; None for all that there are.
        pose_source: what a renderer of ours shall film.
        frames: gives the pictures, in the place of ``env.render``.

    Raises:
        InvalidArgumentError: cameras were asked for that nobody can film.
        NotFoundError: a camera is unknown.
    """
    if frames is not None:
        return RenderedPictures(env, frames, cameras)
    sized = isinstance(cameras, Mapping) or (cameras is not None and any(isinstance(one, CameraRequest) for one in cameras))
    if pose_source is not None or (sized and env.is_ours):
        if cameras is None or not sized:
            raise InvalidArgumentError("pose_source was given without sizes of cameras; give cameras={'front': (256, 256)}, for example")
        return ScenePictures(env, pose_source or env.base.engine, cameras)
    if sized:
        raise InvalidArgumentError(
            "cameras with sizes were asked for of an environment that rollfilm cannot film; give pose_source, or frames, or none to record "
            "what env.render() shows"
        )
    return EnvPictures(env, cameras) if env.is_ours else RenderedPictures(env, env.env.render, cameras)


class EnvPictures:
    """Those that an environment of ours films."""

    known = True

    def __init__(self, env: WrappedEnv, names: Any) -> None:
        self._base = env.base
        there = {camera.name: camera for camera in env.base.cameras if "rgb" in camera.outputs}
        if not there:
            raise InvalidArgumentError(
                "the environment films no camera with 'rgb' among its outputs; make it with cameras={'front': (256, 256)}, for example, "
                "or record without videos (save_video=False)"
            )
        self._requests = tuple(there.values() if names is None else (_known(name, there) for name in names))

    def requests(self) -> tuple[CameraRequest, ...]:
        """The cameras that were chosen."""
        return self._requests

    def state_count(self) -> int:
        """The environment's."""
        return self._base.state_count

    def frames(self) -> Frames:
        """The environment's own; rendered at most once per state."""
        return self._base.frames()

    def frames_of(self, worlds: Sequence[int]) -> Frames:
        """All of them: the environment renders only what has changed."""
        return self.frames()


class ScenePictures:
    """Those of a batch renderer of ours, of whatever gives poses."""

    known = True

    def __init__(self, env: WrappedEnv, source: PoseSource, cameras: Any) -> None:
        from rollfilm.render import BatchRenderer

        sizes = cameras.items() if isinstance(cameras, Mapping) else ()
        requests = [CameraRequest(name, *size) for name, size in sizes] if isinstance(cameras, Mapping) else list(cameras)
        device = env.base.config.device if env.is_ours else str(source.device)
        self._source = source
        self._num_worlds = env.num_envs
        self._requests = tuple(requests)
        self._renderer = BatchRenderer(source.scene, env.num_envs, requests, device=device)

    def requests(self) -> tuple[CameraRequest, ...]:
        """The cameras that were asked for."""
        return self._requests

    def state_count(self) -> int:
        """That of what is filmed."""
        return self._source.state_count

    def frames(self) -> Frames:
        """Films."""
        return self._renderer.render(self._source)

    def frames_of(self, worlds: Sequence[int]) -> Frames:
        """Films some worlds."""
        mask = np.zeros(self._num_worlds, bool)
        mask[list(worlds)] = True
        return self._renderer.render(self._source, worlds=mask)


class RenderedPictures:
    """Those that a function gives, ``env.render`` among them: for each camera or for one, a picture a world or one batch."""

    known = False

    def __init__(self, env: WrappedEnv, call: Callable[[], Any], names: Any) -> None:
        self._env = env
        self._call = call
        self._names = None if names is None else tuple(names)
        self._count = 0

    def requests(self) -> tuple[CameraRequest, ...]:
        """Takes a picture to see how large it is."""
        return tuple(CameraRequest(name, *camera.rgb.shape[1:3]) for name, camera in self.frames().items())

    def state_count(self) -> int:
        """Nobody counts the states of such an environment: every picture is taken as that of the current one."""
        return self._count

    def frames(self) -> Frames:
        """Calls the function."""
        self._count += 1
        given = self._call()
        by_name = given if isinstance(given, Mapping) else {RENDER_CAMERA: given}
        names = list(by_name) if self._names is None else self._names
        pictures = {name: _known(name, by_name) for name in names}
        return Frames({name: CameraFrames(rgb=self._batch(name, images)) for name, images in pictures.items()}, self._count)

    def frames_of(self, worlds: Sequence[int]) -> Frames:
        """Asks environments of one world each for theirs, where there are such; else for all."""
        parts = self._env.parts
        if not parts or self._call != self._env.env.render:
            return self.frames()
        shown = {world: parts[world].render() for world in worlds}
        some = shown[worlds[0]]
        batch = [shown.get(world, some) for world in range(self._env.num_envs)]
        name = RENDER_CAMERA if self._names is None else self._names[0]
        return Frames({name: CameraFrames(rgb=self._batch(name, batch))}, self._count)

    def _batch(self, name: str, images: Any) -> Any:
        what = f"camera {name!r}"
        if images is None:
            raise InvalidArgumentError(f"{what}: env.render() gave no picture; make the environment with render_mode='rgb_array'")
        if isinstance(images, list | tuple):
            images = stack_pictures(images, what, self._env.num_envs)
        if len(images.shape) == 3 and self._env.num_envs == 1:
            images = images[None]
        shape = tuple(images.shape)
        if len(shape) != 4 or shape[0] != self._env.num_envs or shape[3] not in (3, 4) or not str(images.dtype).endswith("uint8"):
            raise InvalidArgumentError(
                f"{what}: pictures of {images.dtype} {shape} came for {self._env.num_envs} worlds; one uint8 (H, W, 3) a world is needed. "
                "Give frames=, a function that gives them, or record without videos (save_video=False)"
            )
        return images[..., :3]


def stack_pictures(images: Sequence[Any], what: str, num_worlds: int) -> np.ndarray:
    """One batch (B, H, W, C) of a picture a world."""
    if len(images) != num_worlds or any(image is None for image in images):
        given = f"{len(images)} pictures" if len(images) != num_worlds else "no picture of some worlds"
        raise InvalidArgumentError(
            f"{what}: env.render() gave {given} for {num_worlds} worlds; make the environment with render_mode='rgb_array', or give frames="
        )
    arrays = [host_array(image) for image in images]
    if len({array.shape for array in arrays}) > 1:
        raise InvalidArgumentError(f"{what}: the worlds' pictures differ in size: {sorted({array.shape for array in arrays})}")
    return np.stack(arrays)


def _known(name: str, there: Mapping[str, Any]) -> Any:
    if name not in there:
        raise NotFoundError(f"there is no camera {name!r}; choose from {', '.join(map(repr, there))}")
    return there[name]
