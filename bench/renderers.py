"""The renderers that the benchmark compares, each behind the same few methods."""

from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Protocol

import mujoco
import numpy as np

from scenes import WorldPoses, place

#: MuJoCo's renderer goes world by world; it cycles through this many poses, which is plenty to defeat any cache.
MUJOCO_POSES = 64


@dataclass(frozen=True, eq=False)
class Job:
    """One case: what every renderer films. Pictures are uint8 (B, H, W, 3), B = ``poses`` rows, for each of the cameras."""

    model: mujoco.MjModel
    poses: WorldPoses
    cameras: tuple[str, ...]
    width: int
    height: int
    device: str
    shadows: bool = False
    samples: int = 1
    lod_pixels: float | None = None

    @property
    def num_worlds(self) -> int:
        """B."""
        return len(self.poses.qpos)


class Contender(Protocol):
    """A renderer, ready to film one job."""

    def render(self) -> None:
        """Film all worlds with all cameras, and wait until it is done."""
        ...

    def picture(self, camera: str, world: int) -> np.ndarray:
        """uint8 (H, W, 3) of the last render, on the host."""
        ...


class Rollfilm:
    """BatchRenderer, called as a user would."""

    def __init__(self, job: Job) -> None:
        import warp as wp

        from rollfilm.engines.still import StillPoses
        from rollfilm.render import BatchRenderer, CameraRequest
        from rollfilm.scene import BodyPoses
        from rollfilm.scene.mujoco import load_scene

        def here(array: np.ndarray):
            return array if job.device == "cpu" else wp.array(array, dtype=float, device=job.device)

        self.device = job.device
        scene = load_scene(job.model)
        poses = BodyPoses(here(job.poses.body_position), here(job.poses.body_quat_wxyz))
        self.source = StillPoses(scene, poses, job.device)
        requests = [CameraRequest(name, job.height, job.width) for name in job.cameras]
        self.renderer = BatchRenderer(scene, job.num_worlds, requests, device=job.device, options=_options(job))
        self.synchronize: Callable[[], None] = lambda: wp.synchronize_device(job.device)

    def render(self) -> None:
        self.frames = self.renderer.render(self.source)
        self.synchronize()

    def picture(self, camera: str, world: int) -> np.ndarray:
        return to_numpy(self.frames[camera].rgb)[world]


def _options(job: Job):
    """What rollfilm draws for a job."""
    from rollfilm.render import RenderOptions

    wanted: dict = {"shadows": True} if job.shadows else {}
    if job.lod_pixels is not None:
        wanted["lod_pixels"] = job.lod_pixels
    if job.samples > 1:
        if "samples" not in {field.name for field in fields(RenderOptions)}:
            raise NotImplementedError("this rollfilm has no anti-aliasing")
        wanted["samples"] = job.samples
    return RenderOptions(**wanted)


class RollfilmGraph(Rollfilm):
    """The same launches, captured once in a CUDA graph and replayed."""

    def __init__(self, job: Job) -> None:
        if job.device == "cpu":
            raise NotImplementedError("CUDA graphs need a CUDA device")
        import warp as wp

        super().__init__(job)
        super().render()
        with wp.ScopedCapture(device=job.device) as capture:
            self.frames = self.renderer.render(self.source)
        self.replay: Callable[[], None] = lambda: wp.capture_launch(capture.graph)

    def render(self) -> None:
        self.replay()
        self.synchronize()


class Mujoco:
    """mujoco.Renderer on EGL, one world and camera after the other, without reflections; how many samples a pixel has is in the model."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.renderer = mujoco.Renderer(job.model, job.height, job.width)
        self.renderer.scene.flags[mujoco.mjtRndFlag.mjRND_REFLECTION] = False
        self.renderer.scene.flags[mujoco.mjtRndFlag.mjRND_SHADOW] = job.shadows
        self.option = mujoco.MjvOption()
        self.option.sitegroup[:] = 0
        self.worlds = [mujoco.MjData(job.model) for _ in range(min(job.num_worlds, MUJOCO_POSES))]
        for data, qpos in zip(self.worlds, job.poses.qpos, strict=False):
            place(job.model, data, qpos)
        self.out = np.empty((job.height, job.width, 3), np.uint8)

    def render(self) -> None:
        for world in range(self.job.num_worlds):
            for camera in self.job.cameras:
                self._render(camera, self.worlds[world % len(self.worlds)])

    def _render(self, camera: str, data: mujoco.MjData) -> None:
        self.renderer.update_scene(data, camera, self.option)
        self.renderer.render(out=self.out)

    def picture(self, camera: str, world: int) -> np.ndarray:
        data = mujoco.MjData(self.job.model)
        place(self.job.model, data, self.job.poses.qpos[world])
        self._render(camera, data)
        return self.out.copy()


class MujocoWarp:
    """mujoco_warp's ``refit_bvh`` and ``render``, textures and skybox on; its packed pixels are not unpacked."""

    def __init__(self, job: Job) -> None:
        import mujoco_warp as mjw
        import warp as wp

        if job.samples > 1:
            raise NotImplementedError("mujoco_warp has no anti-aliasing")
        self.job, self.wp, self.mjw = job, wp, mjw
        with wp.ScopedDevice(job.device):
            data = mujoco.MjData(job.model)
            place(job.model, data, job.poses.qpos[0])
            self.m = mjw.put_model(job.model)
            self.d = mjw.put_data(job.model, data, nworld=job.num_worlds)
            for name in ("geom_xpos", "geom_xmat", "cam_xpos", "cam_xmat", "light_xpos", "light_xdir"):
                array = getattr(self.d, name)
                array.assign(getattr(job.poses, name).reshape(array.numpy().shape))
            self.context = mjw.create_render_context(
                job.model,
                job.num_worlds,
                cam_res=(job.width, job.height),
                render_rgb=True,
                render_depth=False,
                render_seg=False,
                use_textures=True,
                use_shadows=job.shadows,
                enabled_geom_groups=[0, 1, 2],
                cam_active=list(job.cameras),
                render_skybox=True,
            )

    def launch(self) -> None:
        """Queue the work."""
        with self.wp.ScopedDevice(self.job.device):
            self.mjw.refit_bvh(self.m, self.d, self.context)
            self.mjw.render(self.m, self.d, self.context)

    def render(self) -> None:
        self.launch()
        self.wp.synchronize_device(self.job.device)

    def picture(self, camera: str, world: int) -> np.ndarray:
        first = int(self.context.rgb_adr.numpy()[self.job.cameras.index(camera)])
        packed = self.context.rgb_data.numpy()[world, first : first + self.job.width * self.job.height]
        return np.stack([packed >> 16, packed >> 8, packed], -1).astype(np.uint8).reshape(self.job.height, self.job.width, 3)


class MujocoWarpGraph(MujocoWarp):
    """The same, captured once in a CUDA graph and replayed, as mujoco_warp advises."""

    def __init__(self, job: Job) -> None:
        if job.device == "cpu":
            raise NotImplementedError("CUDA graphs need a CUDA device")
        super().__init__(job)
        super().render()
        with self.wp.ScopedCapture(device=job.device) as capture:
            self.launch()
        self.graph = capture.graph

    def render(self) -> None:
        self.wp.capture_launch(self.graph)
        self.wp.synchronize_device(self.job.device)


CONTENDERS: dict[str, Callable[[Job], Contender]] = {
    "rollfilm": Rollfilm,
    "rollfilm graph": RollfilmGraph,
    "mujoco": Mujoco,
    "mujoco_warp": MujocoWarp,
    "mujoco_warp graph": MujocoWarpGraph,
}


def contender_names(device: str) -> list[str]:
    """Those that make sense on ``device``."""
    return [name for name in CONTENDERS if device != "cpu" or not name.endswith("graph")]


def to_numpy(array) -> np.ndarray:
    """A picture on the host, whoever made it."""
    if isinstance(array, np.ndarray):
        return array
    return array.cpu().numpy() if hasattr(array, "cpu") else array.numpy()


def cpu_model() -> str:
    """The processor's name."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "unknown")
