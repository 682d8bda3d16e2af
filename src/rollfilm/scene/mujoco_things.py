"""What of a MuJoCo model is drawn as a rigid shape on a body: geoms, and on request sites and the axes of frames."""

# MuJoCo ships no types for what its binding exports.
# pyright: reportAttributeAccessIssue=false

from collections.abc import Iterator
from dataclasses import dataclass

import mujoco
import numpy as np

from rollfilm import geometry
from rollfilm.scene.mujoco_values import vector3, vector4
from rollfilm.scene.scene import GeomKind

__all__ = ["FRAMES", "Thing", "first_ids", "frame_axes", "model_things"]

#: What MuJoCo can draw the axes of, and that hangs on a body.
FRAMES = ("world", "body", "geom", "site")


@dataclass(frozen=True)
class Thing:
    """A rigid shape of a model.

    Attributes:
        kind, id: what it is, and its number among those of its kind in the model; a frame has the number of what it is the frame of.
        name: may be empty.
        body: that it hangs on.
        position, quat_wxyz: its frame in the body's frame.
        type: ``mjtGeom``.
        size: (3,), as MuJoCo counts it for the type.
        data: its mesh or height field, -1 for none.
        material: -1 for none.
        rgba: its own colour.
    """

    kind: GeomKind
    id: int
    name: str
    body: int
    position: tuple[float, float, float]
    quat_wxyz: tuple[float, float, float, float]
    type: int
    size: tuple[float, float, float]
    data: int
    material: int
    rgba: tuple[float, float, float, float]

    def __str__(self) -> str:
        """For messages."""
        return f"{self.kind} {self.name!r}" if self.name else f"{self.kind} {self.id}"


def first_ids(model: mujoco.MjModel) -> dict[GeomKind, int]:
    """Where in a segmentation image the numbers of each kind begin: geoms have their own, the others follow without gaps."""
    counts: dict[GeomKind, int] = {
        "geom": model.ngeom,
        "site": model.nsite,
        "tendon": model.ntendon,
        "flex": model.nflex,
        "skin": model.nskin,
        "frame": max(model.nbody, model.ngeom, model.nsite),
    }
    starts = np.cumsum([0, *counts.values()])
    return {kind: int(start) for kind, start in zip(counts, starts, strict=False)}


def model_things(model: mujoco.MjModel, kind: GeomKind, groups: frozenset[int]) -> list[Thing]:
    """The geoms (``"geom"``) or sites (``"site"``) of these groups, in the order of their ids.

    A group beyond 0 to 5 counts as the nearest of them.
    """
    fields = ("bodyid", "pos", "quat", "type", "size", "dataid", "matid", "rgba", "group")
    arrays = {field: getattr(model, f"{kind}_{field}") for field in fields}
    found = []
    for i, group in enumerate(arrays["group"]):
        if min(max(int(group), 0), mujoco.mjNGROUP - 1) in groups:
            found.append(
                Thing(
                    kind=kind,
                    id=i,
                    name=getattr(model, kind)(i).name,
                    body=int(arrays["bodyid"][i]),
                    position=vector3(arrays["pos"][i]),
                    quat_wxyz=vector4(arrays["quat"][i]),
                    type=int(arrays["type"][i]),
                    size=vector3(arrays["size"][i]),
                    data=int(arrays["dataid"][i]),
                    material=int(arrays["matid"][i]),
                    rgba=vector4(arrays["rgba"][i]),
                )
            )
    return found


def frame_axes(model: mujoco.MjModel, frames: str, shown: list[Thing]) -> Iterator[Thing]:
    """Three cylinders for each frame: red along x, green along y, blue along z, as ``mjv_addGeoms`` in engine_vis_visualize.c adds them.

    Args:
        model: whose scale counts.
        frames: one of :data:`FRAMES`.
        shown: the geoms and sites that are drawn.
    """
    length, width = (float(s) * model.stat.meansize for s in (model.vis.scale.framelength, model.vis.scale.framewidth))
    here = ((0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0))
    if frames == "world":
        # twice as long and wide as others
        length, width = 2.0 * length, 2.0 * width
        places = [(0, "world", 0, *here)]
    elif frames == "body":
        places = [(i, model.body(i).name, i, *here) for i in range(1, model.nbody)]
    else:
        places = [(thing.id, thing.name, thing.body, thing.position, thing.quat_wxyz) for thing in shown if thing.kind == frames]
    half = np.sqrt(0.5)
    turns = [(half, 0.0, half, 0.0), (half, -half, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0)]  # take z to x, y and z
    for i, name, body, position, quat in places:
        for axis, turn in enumerate(turns):
            middle = geometry.quat_rotate(np.array(quat), 0.5 * length * np.eye(3)[axis])
            yield Thing(
                kind="frame",
                id=i,
                name=name,
                body=body,
                position=vector3(np.array(position) + middle),
                quat_wxyz=vector4(geometry.quat_multiply(np.array(quat), np.array(turn))),
                type=int(mujoco.mjtGeom.mjGEOM_CYLINDER),
                size=(width, 0.5 * length, 0.0),
                data=-1,
                material=-1,
                rgba=vector4(np.append(0.9 * np.eye(3)[axis], 1.0)),
            )
