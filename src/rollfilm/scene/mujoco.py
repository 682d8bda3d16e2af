"""MuJoCo models as scenes."""

# MuJoCo ships no types for what its binding exports.
# pyright: reportAttributeAccessIssue=false

from collections.abc import Callable, Collection, Sequence
from pathlib import Path

import mujoco
import numpy as np

from rollfilm.errors import InvalidArgumentError, ModelError
from rollfilm.scene.atmosphere import Fog, Haze
from rollfilm.scene.mujoco_checks import check_numbers
from rollfilm.scene.mujoco_deforming import model_deforming
from rollfilm.scene.mujoco_lights import model_cameras, model_headlight, model_lights
from rollfilm.scene.mujoco_materials import model_textures, require_readable
from rollfilm.scene.mujoco_missing import Missing
from rollfilm.scene.mujoco_paths import num_path_points
from rollfilm.scene.mujoco_surfaces import model_geoms
from rollfilm.scene.mujoco_things import FRAMES, frame_axes, model_things
from rollfilm.scene.mujoco_values import vector3
from rollfilm.scene.scene import Bodies, Scene

__all__ = ["load_model", "load_scene"]

#: The geom groups that MuJoCo's own viewers show unless asked otherwise.
VISIBLE_GROUPS = (0, 1, 2)


def load_model(source: "str | Path | mujoco.MjModel") -> mujoco.MjModel:
    """Compile a model.

    Args:
        source: the path of an MJCF, URDF or MJB file, an XML text (its first character other than space is ``<``), or a model, which
            is given back as it is.

    Raises:
        ModelError: there is no such file, it is not XML, or MuJoCo cannot compile it; the line holds MuJoCo's own reason.
    """
    if isinstance(source, mujoco.MjModel):
        return source
    if not isinstance(source, str | Path):
        raise ModelError(f"a model is a path, an XML text or an MjModel; got {type(source).__name__}")
    if isinstance(source, str) and source.lstrip().startswith("<"):
        return _compiled(mujoco.MjModel.from_xml_string, source, "the XML text")
    path = Path(source).expanduser()
    try:
        return _loaded(path)
    except OSError as error:
        raise ModelError(f"{path} cannot be read: {error.strerror or error}") from error
    except ValueError as error:
        if isinstance(error, ModelError):
            raise
        raise ModelError(f"{str(path)!r} is no name of a file that MuJoCo takes ({error}); use characters of UTF-8") from error


def _loaded(path: Path) -> mujoco.MjModel:
    str(path).encode()
    if path.is_dir():
        models = ", ".join(sorted(p.name for p in path.glob("*.xml"))[:8]) or "no .xml file"
        raise ModelError(f"{path} is a folder; give one of the model files in it ({models})")
    if not path.is_file():
        raise ModelError(
            f"no model file {path}; give the path of an MJCF file" + (f" (working folder: {Path.cwd()})" * (not path.is_absolute()))
        )
    if path.suffix.lower() == ".mjb":
        return _compiled(mujoco.MjModel.from_binary_path, str(path), str(path))
    with path.open("rb") as file:
        head = file.read(4096)
    if not head.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"<"):
        raise ModelError(f"{path} is not XML (it does not start with '<'); give an MJCF file")
    return _compiled(mujoco.MjModel.from_xml_path, str(path), str(path))


def load_scene(
    source: "str | Path | mujoco.MjModel",
    *,
    geom_groups: Sequence[int] = VISIBLE_GROUPS,
    site_groups: Sequence[int] = (),
    frames: str | None = None,
) -> Scene:
    """What can be seen of a model.

    Args:
        source: as for :func:`load_model`.
        geom_groups: the groups whose geoms are visible, 0 to 5.
        site_groups: the groups whose sites are visible; MuJoCo's viewers show 0, 1 and 2, here sites are shown on request.
        frames: whose axes are drawn: ``"world"``, ``"body"`` (all but the world's), ``"geom"`` or ``"site"`` (those that are visible).

    Raises:
        ModelError: see :func:`load_model`; or a number that places or shapes something is not finite, or beyond 1e10; or the texture of a
            geom is no image.
        InvalidArgumentError: a group outside 0 to 5, or frames of something else; no frames to be drawn.
    """
    for name, groups in (("geom_groups", geom_groups), ("site_groups", site_groups)):
        if not isinstance(groups, Collection) or not all(group in range(mujoco.mjNGROUP) for group in groups):
            raise InvalidArgumentError(f"{name}={groups!r} were asked for; give a sequence of groups, from 0 to {mujoco.mjNGROUP - 1}")
    if frames is not None and frames not in FRAMES:
        raise InvalidArgumentError(f"frames={frames!r} were asked for; there are frames of {', '.join(FRAMES)}, or None")
    model = load_model(source)
    check_numbers(model)
    missing = Missing()
    warnings: list[str] = []
    textures, skybox = model_textures(model)
    things = model_things(model, "geom", frozenset(geom_groups)) + model_things(model, "site", frozenset(site_groups))
    axes = [] if frames is None else list(frame_axes(model, frames, things))
    if frames is not None and not axes:
        raise InvalidArgumentError(f"frames={frames!r} were asked for, but the scene shows nothing that has such a frame; leave it out")
    rigid, rigid_meshes = model_geoms(model, [*things, *axes], missing)
    soft, soft_meshes, deforming = model_deforming(model, len(rigid_meshes), missing)
    geoms = rigid + soft
    require_readable(model, geoms)
    cameras = model_cameras(model)
    lights = model_lights(model, warnings, missing)
    extent = float(model.stat.extent)
    if model.nsite and not site_groups:
        missing.add(f"{model.nsite} sites", "site_groups asks for them")
    return Scene(
        bodies=_bodies(model),
        geoms=geoms,
        meshes=rigid_meshes + soft_meshes,
        textures=textures,
        lights=lights,
        headlight=model_headlight(model, lights),
        cameras=cameras,
        skybox=skybox,
        blend_twice=True,
        near_m=float(model.vis.map.znear) * extent,
        far_m=float(model.vis.map.zfar) * extent,
        center=vector3(model.stat.center),
        extent_m=extent,
        warnings=(*missing.warnings(), *warnings),
        deforming=deforming,
        num_path_points=num_path_points(model) if deforming else 0,
        haze=Haze(vector3(model.vis.rgba.haze[:3]), float(model.vis.map.haze)),
        fog=Fog(vector3(model.vis.rgba.fog[:3]), float(model.vis.map.fogstart) * extent, float(model.vis.map.fogend) * extent),
    )


def _compiled(compiler: Callable[[str], mujoco.MjModel], argument: str, what: str) -> mujoco.MjModel:
    try:
        return compiler(argument)
    except (ValueError, RuntimeError, mujoco.FatalError, mujoco.UnexpectedError) as error:
        reason = "; ".join(line.strip() for line in str(error).splitlines() if line.strip())
        raise ModelError(f"MuJoCo cannot compile {what}: {reason}") from error


def _bodies(model: mujoco.MjModel) -> Bodies:
    return Bodies(
        names=tuple(model.body(i).name or f"body_{i}" for i in range(model.nbody)),
        parent=np.array(model.body_parentid, dtype=np.int32),
        mass=np.array(model.body_mass, dtype=np.float32),
        center_of_mass=np.array(model.body_ipos, dtype=np.float32),
    )
