"""``rollfilm render``: pictures of any MuJoCo model."""

import math
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import tyro

from rollfilm.cli.free_camera import free_camera
from rollfilm.cli.png import write_png
from rollfilm.cli.quiet import announcing_compilation, quiet_mujoco, quiet_warp
from rollfilm.cli.values import parse_integers, parse_size
from rollfilm.engines.still import StillPoses
from rollfilm.errors import InvalidArgumentError, NotFoundError, RecordingError
from rollfilm.host import host_array
from rollfilm.record.whole_file import whole_file
from rollfilm.render.frames import CameraFrames
from rollfilm.render.options import RenderOptions
from rollfilm.render.request import CameraRequest
from rollfilm.scene import BodyPoses, Camera, Scene

if TYPE_CHECKING:
    import mujoco

__all__ = ["Render"]

#: Millimetres that a 16-bit picture can hold: 65.535 m, and everything beyond.
MAX_MILLIMETRES = 65535


@dataclass
class Render:
    """Take a picture of any MuJoCo model, with each of its cameras.

    The picture looks as mujoco.Renderer's: with shadows, 4 samples a pixel and reflections, unless told otherwise. A model without
    cameras is seen from a free camera that frames it, as in MuJoCo's viewer. One camera writes the file that --out names; several
    write one file each, with the name of the camera before the suffix. --depth adds NAME-depth.npy (float32 metres along the optical
    axis, 0 where nothing was hit) and NAME-depth.png (16-bit millimetres); --segmentation adds NAME-segmentation.npy (int32 geom
    ids, -1 where nothing was hit) and a NAME-segmentation.png in colours.
    """

    model: tyro.conf.Positional[Path]
    """MJCF file (.xml)"""
    camera: Annotated[list[str], tyro.conf.UseAppendAction] = field(default_factory=list)
    """name of a camera, or 'free'; all cameras of the model if left out"""
    size: str = "512x512"
    """WIDTHxHEIGHT in pixels, from 1x1 to 16384x16384"""
    out: Path = Path("frame.png")
    """file to write"""
    depth: tyro.conf.FlagCreatePairsOff[bool] = False
    """also write depth"""
    segmentation: tyro.conf.FlagCreatePairsOff[bool] = False
    """also write geom ids"""
    device: str = "cpu"
    """cpu or cuda:0"""
    keyframe: str = ""
    """name or index of a keyframe of the model; its initial state if left out"""
    geom_groups: str = "0,1,2"
    """groups of geoms to show"""
    site_groups: str = ""
    """groups of sites to show; none if left out"""
    frames: str = ""
    """whose axes to show: world, body, geom or site"""
    shadows: bool = True
    """draw shadows"""
    samples: int = 4
    """samples of a pixel's colour: 1, 4 or 16"""
    reflections: bool = True
    """show what the first reflecting plane or box mirrors"""
    memory_plan: tyro.conf.FlagCreatePairsOff[bool] = False
    """print what memory the renderer takes, part by part"""

    def run(self) -> int:
        """Render and write, and say what was written."""
        started = time.perf_counter()
        width, height = parse_size(self.size)
        groups = parse_integers(self.geom_groups, option="--geom-groups", lowest=0, highest=5)
        sites = parse_integers(self.site_groups, option="--site-groups", lowest=0, highest=5) if self.site_groups else ()
        if self.out.suffix.lower() != ".png":
            raise InvalidArgumentError(f"--out {self.out}: pictures are PNG files; give a name that ends in .png")
        options = RenderOptions.mujoco_look(shadows=self.shadows, samples=self.samples, reflections=self.reflections)
        from rollfilm.scene.mujoco import load_model, load_scene

        quiet_mujoco()
        quiet_warp()
        model = load_model(self.model)
        scene = load_scene(model, geom_groups=groups, site_groups=sites, frames=self.frames or None)
        outputs = ("rgb", *(["depth_m"] if self.depth else []), *(["segmentation"] if self.segmentation else []))
        requests = [CameraRequest(camera, height, width, outputs) for camera in choose_cameras(scene, model, self.camera)]
        outs = {request.name: self.out if len(requests) == 1 else _with_name(self.out, request.name) for request in requests}
        _refuse_doubles(outs)
        _refuse_file_as_folder(self.out.parent)
        poses = StillPoses(scene, poses_of(model, self.keyframe))
        loaded = time.perf_counter()

        from rollfilm.render import BatchRenderer

        with announcing_compilation():
            renderer = BatchRenderer(scene, 1, requests, device=self.device, options=options)
        frames = renderer.render(poses)
        pictures = {request.name: _on_host(frames[request.name]) for request in requests}
        rendered = time.perf_counter()
        _make_folder(self.out.parent)
        for name, picture in pictures.items():
            for path in write_pictures(outs[name], picture):
                print(f"wrote {path} ({width}x{height}, camera {name})")
        print(
            f"first frame after {rendered - started:.2f} s: model and scene {loaded - started:.2f}, "
            f"renderer and picture {rendered - loaded:.2f} ({self.device})"
        )
        if self.memory_plan:
            print(renderer.memory_plan)
        if scene.warnings:
            # scenes name the argument of a function
            print(f"warning: {'; '.join(scene.warnings).replace('site_groups', '--site-groups')}")
        return 0


def choose_cameras(scene: Scene, model: "mujoco.MjModel", names: list[str]) -> list[Camera]:
    """The cameras called ``names``, each once; all cameras of the scene if there are no names, a free one if it has none.

    Raises:
        NotFoundError: the scene has no such camera; the message lists those there are.
    """
    wide = free_camera(
        scene,
        azimuth_deg=model.vis.global_.azimuth,
        elevation_deg=model.vis.global_.elevation,
        fov_y_rad=math.radians(model.vis.global_.fovy),
    )
    if not names:
        return list(scene.cameras) or [wide]
    known = {wide.name: wide} | {camera.name: camera for camera in scene.cameras}
    for name in names:
        if name not in known:
            raise NotFoundError(f"no camera {name!r} in this model; choose from {', '.join(known)}")
    return [known[name] for name in dict.fromkeys(names)]


def poses_of(model: "mujoco.MjModel", keyframe: str) -> BodyPoses:
    """Where the bodies are (B = 1) in a keyframe, given by name or index, or in the initial state if ``keyframe`` is empty.

    Raises:
        NotFoundError: the model has no such keyframe; the message lists those there are.
    """
    import mujoco

    from rollfilm.scene.mujoco_paths import path_points

    data = mujoco.MjData(model)
    if keyframe:
        names = [model.key(k).name or str(k) for k in range(model.nkey)]
        if keyframe in names:
            index = names.index(keyframe)
        elif keyframe.isdecimal() and int(keyframe) < model.nkey:
            index = int(keyframe)
        else:
            raise NotFoundError(f"no keyframe {keyframe!r} in this model; choose from {', '.join(names) or 'none: it has no keyframes'}")
        mujoco.mj_resetDataKeyframe(model, data, index)
    mujoco.mj_fwdPosition(model, data)  # the paths of tendons follow from it
    return BodyPoses(data.xpos.astype(np.float32)[None], data.xquat.astype(np.float32)[None], path_points(model, data)[None])


def write_pictures(path: Path, picture: CameraFrames) -> list[Path]:
    """Write one camera's rgb to ``path`` and what else there is beside it; give the files back.

    Raises:
        RecordingError: a file cannot be written.
    """
    written = [path]
    try:
        write_png(path, picture.rgb)
        if picture.depth_m is not None:
            millimetres = np.clip(np.rint(picture.depth_m * 1000.0), 0, MAX_MILLIMETRES).astype(np.uint16)
            written += _write_both(path, "depth", picture.depth_m, millimetres)
        if picture.segmentation is not None:
            written += _write_both(path, "segmentation", picture.segmentation, _colors_of(picture.segmentation))
    except OSError as error:
        raise RecordingError(f"cannot write {error.filename or path}: {error.strerror or error}; give another --out") from None
    return written


def _write_both(path: Path, kind: str, exact: np.ndarray, shown: np.ndarray) -> list[Path]:
    array, image = path.with_name(f"{path.stem}-{kind}.npy"), path.with_name(f"{path.stem}-{kind}.png")
    with whole_file(array) as file:
        np.save(file, exact)
    write_png(image, shown)
    return [array, image]


def _colors_of(ids: np.ndarray) -> np.ndarray:
    """A colour for each id (H, W), black for -1: hues a golden ratio apart, so that neighbouring ids differ."""
    hue = (np.arange(ids.max() + 1) * 0.618034)[:, None] + np.array([0.0, 1 / 3, 2 / 3])
    palette = (127.5 + 100.0 * np.cos(2 * np.pi * hue)).astype(np.uint8)
    return np.concatenate([palette, np.zeros((1, 3), np.uint8)])[ids]


def _with_name(out: Path, name: str) -> Path:
    """``frame.png`` and camera ``arm/wrist`` give ``frame-arm_wrist.png``."""
    return out.with_name(f"{out.stem}-{name.replace('/', '_')}{out.suffix}")


def _refuse_doubles(outs: dict[str, Path]) -> None:
    names: dict[Path, str] = {}
    for name, path in outs.items():
        if path in names:
            raise InvalidArgumentError(f"cameras {names[path]!r} and {name!r} would both write {path}; take them one by one with --camera")
        names[path] = name


def _refuse_file_as_folder(folder: Path) -> None:
    """Say before anything is compiled that a folder cannot be made; nothing is made yet."""
    existing = next((path for path in (folder, *folder.parents) if path.exists()), None)
    if existing is not None and not existing.is_dir():
        raise RecordingError(f"cannot create the folder {folder}: {existing} is a file; give another --out")


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RecordingError(f"cannot create the folder {folder}: {error.strerror}; give another --out") from None


def _on_host(picture: CameraFrames) -> CameraFrames:
    """The only world's arrays, (H, W, ...), as NumPy arrays."""

    def fetch(array: Any) -> Any:
        return None if array is None else host_array(array)[0]

    return CameraFrames(fetch(picture.rgb), fetch(picture.depth_m), fetch(picture.segmentation))
