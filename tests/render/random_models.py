"""Random MJCF models, as odd as MuJoCo lets them be: every kind of geom, mirrored and flattened meshes, triangles without area, sizes
from a tenth of a millimetre to a kilometre, cameras inside of things, hundreds of geoms.

All of them have one plane, a sky, a flat texture, a sun and a spot, so that they share one compiled kernel.
"""

import numpy as np

from rollfilm.scene import BodyPoses

__all__ = ["CAMERAS", "random_model", "random_poses"]

CAMERAS = ("free", "inside", "rider")

HEAD = """
  <asset>
    <texture name="sky" type="skybox" builtin="gradient" rgb1=".3 .5 .7" rgb2=".1 .1 .2" width="32" height="192"/>
    <texture name="squares" type="2d" builtin="checker" rgb1=".2 .3 .4" rgb2=".8 .7 .6" width="64" height="64"/>
    <material name="squares" texture="squares" texrepeat="{repeat:.3g} 2" texuniform="{uniform}" shininess="{shine:.3g}"/>
    {assets}
  </asset>"""

TETRAHEDRON = "0 0 0 1 0 0 0 1 0 0 0 1"


def random_model(seed: int) -> str:
    """The XML of a model; every seed gives another."""
    random = np.random.default_rng(seed)
    scale = 10.0 ** random.uniform(-1.5, 1.5)
    crowd = random.random() < 0.05
    count = 300 if crowd else int(random.integers(1, 25))
    assets = "".join(_mesh(random, k) for k in range(4)) + _height_field(random)
    bodies = "".join(_body(random, k, scale) for k in range(count))
    near, far = (1e-4, 1e4) if random.random() < 0.3 else (0.01, 10.0 ** random.uniform(0.3, 2.0))
    plane = f"{'0 0' if random.random() < 0.7 else _numbers(random.uniform(0.5, 3, 2) * scale)} .1"
    head = HEAD.format(repeat=random.uniform(0.1, 9), uniform=str(random.random() < 0.5).lower(), shine=random.random(), assets=assets)
    eye = random.normal(size=3) * scale * 2
    cone = f'cutoff="{random.uniform(1, 89):.3g}" exponent="{random.uniform(0, 30):.3g}"'
    return f"""<mujoco>
  <compiler autolimits="true" inertiafromgeom="false"/>
  <statistic extent="{scale:.4g}" center="0 0 0"/>
  <visual><map znear="{near:.4g}" zfar="{far:.4g}"/><headlight ambient=".2 .2 .2" diffuse=".4 .4 .4" specular=".3 .3 .3"/></visual>{head}
  <worldbody>
    <light directional="true" dir="{_numbers(random.normal(size=3))}"/>
    <light pos="{_numbers(random.normal(size=3) * scale)}" dir="0 .1 -1" {cone}/>
    <geom type="plane" size="{plane}" material="squares" pos="0 0 {random.normal() * scale:.4g}" quat="{_numbers(random.normal(size=4))}"/>
    {bodies}
    <camera name="free" pos="{_numbers(eye)}" xyaxes="{_axes(random)}" fovy="{random.uniform(5, 150):.3g}"/>
  </worldbody>
</mujoco>"""


def random_poses(num_bodies: int, num_worlds: int, seed: int) -> BodyPoses:
    """Every body somewhere in every world, the world's body at rest."""
    random = np.random.default_rng((seed, 1))
    scale = 10.0 ** np.random.default_rng(seed).uniform(-1.5, 1.5)
    position = (random.normal(size=(num_worlds, num_bodies, 3)) * scale).astype(np.float32)
    far_off = random.random((num_worlds, num_bodies)) < 0.03
    position[far_off] *= np.float32(10.0 ** random.uniform(2, 5))
    quat = random.normal(size=(num_worlds, num_bodies, 4))
    quat = (quat / np.linalg.norm(quat, axis=-1, keepdims=True)).astype(np.float32)
    position[:, 0], quat[:, 0] = 0, (1, 0, 0, 0)
    return BodyPoses(position, quat)


def _numbers(values) -> str:
    return " ".join(f"{value:.5g}" for value in np.asarray(values).ravel())


def _axes(random: np.random.Generator) -> str:
    x = random.normal(size=3)
    return _numbers(np.concatenate([x, np.cross(x, random.normal(size=3))]))


def _mesh(random: np.random.Generator, k: int) -> str:
    """A mesh asset: a tetrahedron or a cloud's hull, mirrored, flattened or shrunk to nothing by its scale; or faces with twins and
    triangles without area."""
    scale = random.choice([-1.0, 1.0], 3) * 10.0 ** random.uniform(-2, 0, 3)
    kind = random.integers(4)
    if kind == 0:
        scale *= random.choice([0.0, 1.0, 1e-6], 3)
    points = TETRAHEDRON if kind < 2 else _numbers(random.normal(size=(int(random.integers(5, 40)), 3)))
    faces = ""
    if kind == 3:
        number = len(points.split()) // 3
        triangles = random.integers(number, size=(int(random.integers(4, 60)), 3))
        triangles[0] = triangles[1] = triangles[2][::-1]
        faces = f' face="{" ".join(str(i) for i in triangles.ravel())}"'
    return f'<mesh name="mesh{k}" vertex="{points}"{faces} scale="{_numbers(scale)}" inertia="shell"/>\n'


def _height_field(random: np.random.Generator) -> str:
    rows, columns = random.integers(2, 12, 2)
    elevation = random.random(rows * columns) * random.integers(0, 2)
    size = 10.0 ** random.uniform(-2, 1, 4)
    return f'<hfield name="hills" nrow="{rows}" ncol="{columns}" elevation="{_numbers(elevation)}" size="{_numbers(size)}"/>'


def _body(random: np.random.Generator, k: int, scale: float) -> str:
    kind = random.choice(["sphere", "capsule", "cylinder", "ellipsoid", "box", "mesh", "hfield"], p=[0.15] * 6 + [0.1])
    size = scale * 10.0 ** random.uniform(-1.5, 0.3, 3)
    if random.random() < 0.05:
        size *= 10.0 ** random.uniform(-4, 3)
    shape = {"mesh": f'mesh="mesh{random.integers(4)}"', "hfield": 'hfield="hills"'}.get(kind, f'size="{_numbers(size)}"')
    paint = 'material="squares"' if random.random() < 0.4 else f'rgba="{_numbers(random.random(3))} {random.choice([0.0, 0.5, 1.0, 1.0])}"'
    camera = ""
    if k == 0:
        camera = '<camera name="inside" fovy="70"/>' + f'<camera name="rider" pos="{_numbers(random.normal(size=3) * scale)}"/>'
    group = random.choice([0, 0, 0, 3])
    mass = '<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>'
    return f'<body name="b{k}">{mass}<freejoint/><geom type="{kind}" {shape} {paint} group="{group}"/>{camera}</body>\n'
