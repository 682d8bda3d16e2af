"""A scene with everything that deforms, and states of it."""

import functools

import numpy as np

from rollfilm.scene.mujoco import load_model


def skin_xml() -> str:
    """A bent strip, three by seven vertices, on two bones; both sides have faces."""
    rows, columns = 7, 3
    vertices = [(0.1 * (j - 1), 0.0, 0.1 * i) for i in range(rows) for j in range(columns)]
    at = lambda i, j: i * columns + j  # noqa: E731
    faces = []
    for i in range(rows - 1):
        for j in range(columns - 1):
            a, b, c, d = at(i, j), at(i, j + 1), at(i + 1, j + 1), at(i + 1, j)
            faces += [(a, b, c), (a, c, d)]
    texcoord = " ".join(f"{j / (columns - 1)} {i / (rows - 1)}" for i in range(rows) for j in range(columns))
    share = np.clip((np.arange(rows) - 1) / (rows - 3), 0, 1)
    bones = ""
    for name, weights, z in (("lower", 1 - share, 0.0), ("upper", share, 0.3)):
        used = [i for i in range(rows) if weights[i] > 0]
        ids = " ".join(str(at(i, j)) for i in used for j in range(columns))
        values = " ".join(f"{weights[i]:.6f}" for i in used for _ in range(columns))
        bones += f'<bone body="{name}" bindpos="0 0 {z}" bindquat="1 0 0 0" vertid="{ids}" vertweight="{values}"/>'
    flat = " ".join(f"{x} {y} {z}" for x, y, z in vertices)
    listed = " ".join(f"{a} {b} {c}" for a, b, c in faces)
    return (
        f'<skin name="skin" material="paper" inflate=".01" vertex="{flat}" face="{listed}" texcoord="{texcoord}">{bones}</skin>'
        f'<skin name="hidden" group="4" vertex="{flat}" face="{listed}">{bones}</skin>'
    )


MODEL = f"""<mujoco>
  <visual><headlight ambient=".3 .3 .3" diffuse=".5 .5 .5" specular=".2 .2 .2"/>
    <quality offsamples="0" numslices="40" numstacks="20"/></visual>
  <statistic center="0 0 .5" extent="2"/>
  <asset><texture name="t" type="2d" builtin="checker" rgb1=".9 .3 .2" rgb2=".2 .3 .9" width="64" height="64"/>
    <material name="paper" texture="t" texrepeat="3 2" rgba=".9 .9 .8 1"/></asset>
  <worldbody>
    <light pos="0 0 3" dir=".2 .3 -1" directional="true" diffuse=".3 .3 .3"/>
    <geom name="floor" type="plane" size="3 3 .1" rgba=".4 .5 .4 1"/>
    <flexcomp name="cloth" type="grid" count="7 5 1" spacing=".1 .1 .1" radius=".01" dim="2" pos="-.8 -.5 .8" mass="1" material="paper">
      <edge equality="true"/></flexcomp>
    <flexcomp name="facets" type="grid" count="5 5 1" spacing=".1 .1 .1" radius=".02" dim="2" pos=".1 -.5 .8" mass="1" rgba=".9 .6 .2 1"
      flatskin="true"><edge equality="true"/></flexcomp>
    <flexcomp name="soft" type="grid" count="4 4 4" spacing=".1 .1 .1" radius=".01" dim="3" pos="-.8 .6 .6" mass="1" dof="trilinear"
      rgba=".3 .8 .9 1"><elasticity young="100"/></flexcomp>
    <flexcomp name="round" type="grid" count="4 4 4" spacing=".1 .1 .1" radius=".02" dim="3" pos="0 .6 .6" mass="1" dof="quadratic"
      rgba=".3 .9 .3 1" flatskin="false"><elasticity young="100"/></flexcomp>
    <flexcomp name="rope" type="grid" count="7 1 1" spacing=".1 .1 .1" radius=".02" dim="1" pos=".9 .2 .6" mass="1" rgba=".9 .3 .8 1">
      <edge equality="true"/></flexcomp>
    <flexcomp name="solid" type="grid" count="3 3 3" spacing=".1 .1 .1" radius="0" dim="3" pos=".8 .7 .6" mass="1" rgba=".7 .7 .7 1">
      <elasticity young="100"/><pin id="0 1 2"/></flexcomp>
    <body name="a" pos="-.7 -1 .4"><freejoint/><geom name="a" size=".08" rgba=".8 .8 .2 1"/><site name="a" pos="0 0 .1"/></body>
    <body name="b" pos=".3 -1 .5"><freejoint/><geom name="b" size=".08" rgba=".2 .8 .8 1"/><site name="b" pos="0 0 .1"/></body>
    <geom name="post" type="cylinder" size=".1 .4" pos=".9 -1 .4" rgba=".5 .5 .8 1"/>
    <geom name="ball" size=".12" pos="-.6 -.9 .7" rgba=".6 .5 .8 1"/>
    <site name="high" pos="-.2 -1.2 1"/><site name="low" pos="1.4 -.9 .5"/><site name="side" pos=".9 -1.2 .4"/>
    <site name="left" pos="-1.3 -.8 1"/><site name="right" pos="-1 -.8 1"/>
    <body name="lower" pos="1.4 -.2 .3"><freejoint/><geom name="lower" size=".03" group="4"/>
      <body name="upper" pos="0 0 .3"><joint type="ball"/><geom name="upper" size=".03" group="4"/></body></body>
    <camera name="front" pos=".1 -3.6 2.2" xyaxes="1 .03 0 0 .45 1"/>
    <camera name="side" pos="3 .2 1.4" xyaxes="0 1 0 -.3 0 1"/>
  </worldbody>
  <deformable>{skin_xml()}</deformable>
  <tendon>
    <spatial name="straight" width=".02" rgba=".9 .1 .1 1"><site site="a"/><site site="high"/><site site="b"/></spatial>
    <spatial name="around" width=".02" rgba=".1 .9 .1 1"><site site="b"/><geom geom="post" sidesite="side"/><site site="low"/></spatial>
    <spatial name="over" width=".01" rgba=".1 .1 .9 1"><site site="left"/><geom geom="ball"/><site site="b"/></spatial>
    <spatial name="parted" width=".015" rgba=".9 .9 .9 1"><site site="a"/><site site="left"/>
      <pulley divisor="2"/><site site="a"/><site site="right"/></spatial>
    <fixed name="fixed"><joint joint="hinge" coef="1"/></fixed>
  </tendon>
</mujoco>""".replace('<camera name="front"', '<body pos="0 0 9"><joint name="hinge"/><geom size=".01"/></body><camera name="front"')


@functools.cache
def soft_model():
    """The model, compiled once."""
    return load_model(MODEL)


def states(num_worlds: int, seed: int = 0) -> np.ndarray:
    """Positions (B, nq) near the initial ones, everything bent and moved a little."""
    model = soft_model()
    random = np.random.default_rng(seed)
    qpos = np.tile(model.qpos0, (num_worlds, 1))
    for joint in range(model.njnt):
        start = model.jnt_qposadr[joint]
        kind = int(model.jnt_type[joint])
        if kind in (0, 1):  # free and ball joints
            turn = slice(start + 3, start + 7) if kind == 0 else slice(start, start + 4)
            quat = qpos[:, turn] + 0.3 * random.normal(size=(num_worlds, 4))
            qpos[:, turn] = quat / np.linalg.norm(quat, axis=1, keepdims=True)
        if kind != 1:
            count = 3 if kind == 0 else 1
            qpos[:, start : start + count] += (0.08 if kind == 0 else 0.015) * random.normal(size=(num_worlds, count))
    return qpos
