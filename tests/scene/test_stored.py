"""A scene from a file is the scene that was written."""

import dataclasses
import io
import json

import mujoco
import numpy as np
import pytest

from rollfilm.errors import ModelError
from rollfilm.scene import Camera, Fog, Follow, Placement
from rollfilm.scene.mujoco import load_scene
from rollfilm.scene.stored import FORMAT, load_stored_scene, store_scene

# all that a scene can hold: textures of each kind, mirrors, lights of each kind, haze, a soft body, tendons, cameras that follow
XML = """
<mujoco>
  <visual><map haze="0.2" fogstart="1" fogend="5"/><rgba haze="0.3 0.4 0.5 1" fog="0.1 0.2 0.3 1"/></visual>
  <asset>
    <texture name="sky" type="skybox" builtin="gradient" rgb1="0.2 0.3 0.9" rgb2="0 0 0" width="16" height="96"/>
    <texture name="check" type="2d" builtin="checker" rgb1="1 0 0" rgb2="0 1 0" width="16" height="16"/>
    <texture name="die" type="cube" builtin="flat" rgb1="0.1 0.5 0.7" mark="edge" markrgb="1 1 1" width="8" height="48"/>
    <material name="floor" texture="check" texrepeat="3 3" reflectance="0.3"/>
    <material name="die" texture="die" rgba="1 1 1 0.7"/>
  </asset>
  <worldbody>
    <light name="sun" directional="true" pos="0 0 3" dir="0.1 0 -1"/>
    <light name="lamp" pos="1 0 2" dir="-0.5 0 -1" cutoff="40" attenuation="1 0.1 0.02"/>
    <camera name="front" pos="1.5 0 0.8" xyaxes="0 1 0 -0.5 0 1" fovy="50"/>
    <geom name="ground" type="plane" size="0 0 1" material="floor"/>
    <body name="box" pos="0 0 0.4"><freejoint/><geom name="box" type="box" size="0.1 0.12 0.15" material="die"/>
      <camera name="wrist" pos="0 0 0.4" focal="0.02 0.02" sensorsize="0.03 0.02" resolution="48 32"/></body>
    <body name="arm" pos="0.4 0 0.4"><joint axis="0 1 0"/><geom type="capsule" size="0.04 0.15" rgba="0.2 0.6 0.3 1"/>
      <site name="tip" pos="0 0 0.2"/></body>
    <camera name="eye" mode="targetbody" target="box" pos="-1 0.5 1"/>
    <camera name="chase" mode="trackcom" pos="0 -1 0.5"/>
    <site name="hook" pos="0.4 0.3 0.9"/>
    <flexcomp name="cloth" type="grid" count="4 4 1" spacing="0.08 0.08 0.08" dim="2" pos="-0.4 0 0.6" radius="0.01"/>
  </worldbody>
  <tendon><spatial width="0.01"><site site="tip"/><site site="hook"/></spatial></tendon>
</mujoco>
"""


@pytest.fixture(scope="module")
def scene():
    scene = load_scene(mujoco.MjModel.from_xml_string(XML))
    bent = Camera("bent", Placement(1, follow=Follow.TRACK), fx=30.0, height=32, width=48, distortion=(0.1, 0.0, 0.0, 0.0, 0.0))
    return dataclasses.replace(scene, cameras=(*scene.cameras, bent), fog=Fog((0.1, 0.2, 0.3), 1.0, 5.0))


def there_and_back(scene):
    file = io.BytesIO()
    store_scene(scene, file)
    file.seek(0)
    return load_stored_scene(file)


def same(one, other, path="scene"):
    """Both are the same to the last bit, type by type."""
    assert type(one) is type(other), path
    if isinstance(one, np.ndarray):
        assert one.dtype == other.dtype, path
        assert one.shape == other.shape, path
        assert one.tobytes() == other.tobytes(), path
    elif dataclasses.is_dataclass(one):
        for field in dataclasses.fields(one):
            same(getattr(one, field.name), getattr(other, field.name), f"{path}.{field.name}")
    elif isinstance(one, tuple):
        assert len(one) == len(other), path
        for index, (a, b) in enumerate(zip(one, other, strict=True)):
            same(a, b, f"{path}[{index}]")
    else:
        assert one == other, path


def test_every_field_comes_back_to_the_last_bit(scene):
    assert scene.deforming
    assert scene.haze is not None
    assert {texture.kind for texture in scene.textures} == {"2d", "cube", "skybox"}
    same(scene, there_and_back(scene))


def test_numbers_that_json_rounds_or_does_not_know_come_back(scene):
    odd = dataclasses.replace(scene, near_m=np.float32(0.1), far_m=float("inf"), extent_m=0.1 + 0.2, headlight=None, haze=None)
    back = there_and_back(odd)
    same(odd, back)
    assert isinstance(back.near_m, np.float32)


def test_the_same_scene_gives_the_same_bytes(scene, tmp_path):
    for name in ("a", "b"):
        store_scene(scene, tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_arrays_in_any_order_of_memory_are_stored(scene):
    mesh = scene.meshes[0]
    level = dataclasses.replace(mesh.levels[0], vertices=np.asfortranarray(mesh.levels[0].vertices))
    turned = dataclasses.replace(scene, meshes=(dataclasses.replace(mesh, levels=(level, *mesh.levels[1:])), *scene.meshes[1:]))
    assert np.array_equal(there_and_back(turned).meshes[0].levels[0].vertices, mesh.levels[0].vertices)


def rewritten(path, change):
    """The stored file with another tree."""
    with np.load(path) as archive:
        entries = {name: archive[name] for name in archive.files}
    document = json.loads(entries["tree"].tobytes())
    change(document)
    entries["tree"] = np.frombuffer(json.dumps(document).encode(), np.uint8)
    with path.open("wb") as file:
        np.savez(file, **entries)


def test_fields_with_a_default_may_be_missing(scene, tmp_path):
    path = tmp_path / "scene.npz"
    store_scene(scene, path)
    rewritten(path, lambda document: document["scene"].pop("blend_twice"))
    assert load_stored_scene(path).blend_twice is False


def test_what_is_no_scene_is_one_clear_error(scene, tmp_path):
    path = tmp_path / "scene.npz"
    with pytest.raises(ModelError, match="is not there"):
        load_stored_scene(path)
    path.write_bytes(b"nothing of the kind")
    with pytest.raises(ModelError, match=r"scene\.npz is no stored scene"):
        load_stored_scene(path)
    store_scene(scene, path)
    whole = path.read_bytes()
    for end in range(0, len(whole), len(whole) // 7):
        path.write_bytes(whole[:end])
        with pytest.raises(ModelError, match=r"scene\.npz"):
            load_stored_scene(path)
    for change, words in (
        (lambda d: d.update(format="rollfilm scene 99"), FORMAT),
        (lambda d: d["scene"].pop("bodies"), "damaged"),
        (lambda d: d["scene"].update(is_new=1), "damaged"),
        (lambda d: d["scene"].update({"is": "os"}), "damaged"),
        (lambda d: d.update(scene={"is": "Fog"}), "Fog where a scene"),
        (lambda d: d["scene"]["bodies"]["mass"]["array"].__setitem__(1, 10**9), "damaged"),
    ):
        path.write_bytes(whole)
        rewritten(path, change)
        with pytest.raises(ModelError, match=words):
            load_stored_scene(path)
