"""The surfaces, materials and textures of MuJoCo models, held against MuJoCo's own rays and pictures."""

import math
import textwrap

import numpy as np
import pytest

from rollfilm import geometry
from rollfilm.errors import InvalidArgumentError, ModelError
from rollfilm.scene.closest import ClosestPoints
from rollfilm.scene.mujoco import load_model, load_scene

mujoco = pytest.importorskip("mujoco")

TETRAHEDRON = 'vertex="0 0 0  0.4 0 0  0 0.3 0  0 0 0.5"'

EVERYTHING = f"""
<mujoco>
  <asset>
    <mesh name="tetrahedron" {TETRAHEDRON}/>
    <mesh name="mirrored" {TETRAHEDRON} scale="-1 1 1.5"/>
    <hfield name="hills" nrow="3" ncol="4" elevation="0 .2 .3 0  .5 1 .4 .2  0 .1 0 .7" size=".4 .3 .25 .1"/>
  </asset>
  <worldbody>
    <geom name="box" type="box" size=".1 .2 .3" pos="0 0 1" euler="10 20 30"/>
    <geom name="sphere" type="sphere" size=".2" pos="1 0 1"/>
    <geom name="capsule" type="capsule" size=".1 .25" pos="2 0 1" euler="40 0 0"/>
    <geom name="cylinder" type="cylinder" size=".2 .1" pos="3 0 1" euler="40 50 0"/>
    <geom name="ellipsoid" type="ellipsoid" size=".1 .2 .3" pos="4 0 1" euler="0 60 0"/>
    <body pos="5 0 1" euler="0 0 45">
      <geom name="mesh" type="mesh" mesh="tetrahedron"/>
      <geom name="mirror" type="mesh" mesh="mirrored" pos="1 1 0"/>
    </body>
    <geom name="hills" type="hfield" hfield="hills" pos="7 -1 1" euler="15 0 0"/>
    <geom name="floor" type="plane" size="0 3 .1"/>
  </worldbody>
</mujoco>
"""


def world_triangles(scene, geom, model, data):
    level = scene.meshes[geom.mesh].levels[0]
    rotation = data.xmat[geom.body].reshape(3, 3)
    local = geometry.quat_rotate(np.array(geom.quat_wxyz), level.vertices.astype(float)) + np.array(geom.position)
    return local @ rotation.T + data.xpos[geom.body], level.triangles


@pytest.fixture(scope="module")
def everything():
    model = load_model(EVERYTHING)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    return model, data


def test_every_geom_is_there_in_its_order(everything):
    model, _ = everything
    scene = load_scene(model)
    assert [geom.name for geom in scene.geoms] == [model.geom(i).name for i in range(model.ngeom)]
    assert [geom.source_id for geom in scene.geoms] == list(range(model.ngeom))
    floor = next(geom for geom in scene.geoms if geom.name == "floor")
    assert (floor.mesh, floor.plane_half_size) == (-1, (0.0, 3.0))
    assert scene.warnings == ()


@pytest.mark.parametrize("name", ["box", "sphere", "capsule", "cylinder", "ellipsoid", "mesh", "mirror", "hills"])
def test_rays_hit_the_surface_where_mujoco_says(everything, name):
    model, data = everything
    scene = load_scene(model)
    geom = next(g for g in scene.geoms if g.name == name)
    vertices, triangles = world_triangles(scene, geom, model, data)
    middle = 0.5 * (vertices.min(axis=0) + vertices.max(axis=0))
    directions = np.random.default_rng(0).normal(size=(200, 3))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    hits = []
    for direction in directions:
        start = middle + 2 * direction
        hit = np.zeros(1, dtype=np.int32)
        if name == "hills":
            distance = mujoco.mj_rayHfield(model, data, geom.source_id, start, -direction)
        else:
            others = mujoco.mj_ray(model, data, start, -direction, None, 1, -1, hit)
            distance = others if hit[0] == geom.source_id else -1
        if distance > 0:
            hits.append(start - distance * direction)
    assert len(hits) > 50
    tolerance = scene.meshes[geom.mesh].levels[0].error_m + 1e-5
    assert ClosestPoints(vertices, triangles).nearest(np.array(hits))[0].max() < tolerance


def test_surfaces_wind_outward_also_when_mirrored(everything):
    model, _ = everything
    for mesh in load_scene(model).meshes:
        for level in mesh.levels:
            a, b, c = (level.vertices[level.triangles[:, k]].astype(float) for k in range(3))
            assert np.sum(a * np.cross(b, c)) > 0, mesh.name
            facing = np.sum(np.cross(b - a, c - a) * level.normals[level.triangles[:, 0]], axis=1)
            assert facing.min() > 0


def test_geoms_share_meshes():
    scene = load_scene(
        "<mujoco><worldbody>" + "".join(f'<geom size=".1" pos="{i} 0 0"/>' for i in range(3)) + '<geom size=".2"/></worldbody></mujoco>'
    )
    assert [geom.mesh for geom in scene.geoms] == [0, 0, 0, 1]


def test_groups_and_alpha_decide_what_is_visible():
    xml = """<mujoco><worldbody>
      <geom name="a" size=".1" group="0"/> <geom name="b" size=".1" group="2"/> <geom name="c" size=".1" group="3"/>
      <geom name="d" size=".1" rgba="1 0 0 0"/> <geom name="e" size=".1" rgba="1 0 0 .5"/>
    </worldbody></mujoco>"""
    scene = load_scene(xml)
    assert [geom.name for geom in scene.geoms] == ["a", "b", "e"]
    assert scene.geoms[2].material.rgba == (1, 0, 0, 0.5)
    assert scene.warnings == ()
    assert scene.blend_twice
    assert [geom.name for geom in load_scene(xml, geom_groups=(3,)).geoms] == ["c"]
    with pytest.raises(InvalidArgumentError, match="0 to 5"):
        load_scene(xml, geom_groups=(0, 6))


def test_what_is_not_drawn_is_named_in_one_line():
    """A spatial tendon has a shape, unless its width is 0; a fixed one only couples joints."""
    xml = """<mujoco><worldbody>
        <site name="w"/> <body name="b"><joint name="j"/><geom name="g" size=".1"/><site name="s"/></body>
      </worldbody><tendon>
        <fixed><joint joint="j" coef="1"/></fixed> <spatial name="t"><site site="w"/><site site="s"/></spatial>
      </tendon></mujoco>"""
    model = load_model(xml)
    assert [geom.kind for geom in load_scene(model).geoms] == ["geom", "tendon"]
    model.tendon_width[1] = 0
    model.geom_size[:] = 0
    assert load_scene(model).warnings == ("not drawn: geom 'g', tendon 't' (no surface); 2 sites (site_groups asks for them)",)
    assert load_scene(model, site_groups=(0,)).geoms[0].kind == "site"


def test_a_geom_whose_size_was_set_to_zero_is_left_out():
    model = load_model('<mujoco><worldbody><geom name="a" size=".1"/><geom type="box" size=".1 .1 .1"/></worldbody></mujoco>')
    model.geom_size[:, 0] = 0
    scene = load_scene(model)
    assert scene.geoms == ()
    assert scene.warnings == ("not drawn: geom 'a', geom 1 (no surface)",)


AMBIENT = '<visual><headlight ambient="1 1 1" diffuse="0 0 0" specular="0 0 0"/></visual>'

COLOURS = f"""<mujoco>{AMBIENT}
  <asset>
    <material name="red" rgba=".8 .1 .1 1"/>
    <material name="shiny" rgba=".2 .6 .3 1" specular=".9" shininess=".7" emission=".25" reflectance=".3"/>
  </asset>
  <worldbody>
    <geom type="box" size=".4 .4 .1" pos="0 0 0"/>
    <geom type="box" size=".4 .4 .1" pos="1 0 0" rgba=".1 .2 .9 1"/>
    <geom type="box" size=".4 .4 .1" pos="2 0 0" material="red"/>
    <geom type="box" size=".4 .4 .1" pos="3 0 0" material="red" rgba=".1 .2 .9 1"/>
    <geom type="box" size=".4 .4 .1" pos="4 0 0" material="red" rgba=".5 .5 .5 1"/>
    <geom type="box" size=".4 .4 .1" pos="5 0 0" material="shiny"/>
    <camera name="above" pos="2.5 0 5" fovy="60"/>
  </worldbody></mujoco>"""


def test_colours_follow_mujocos_rule(mujoco_picture):
    model = load_model(COLOURS)
    scene = load_scene(model)
    picture = mujoco_picture(model, "above", 240, 320)
    focal = 120 / math.tan(math.radians(30))
    for i, geom in enumerate(scene.geoms):
        column = round(160 + focal * (i - 2.5) / 4.9)
        expected = 255 * np.array(geom.material.rgba[:3]) * (1 + geom.material.emission)
        assert np.abs(picture[120, column] - np.minimum(expected, 255)).max() <= 1.01, i


def test_finish_of_materials_and_without_one():
    geoms = load_scene(COLOURS).geoms
    assert (geoms[0].material.specular, geoms[0].material.shininess) == (0.5, 0.5)
    assert (geoms[0].material.emission, geoms[0].material.reflectance) == (0, 0)
    shiny = geoms[5].material
    assert (shiny.specular, shiny.shininess, shiny.emission, shiny.reflectance) == pytest.approx((0.9, 0.7, 0.25, 0.3))


def sample(texture, uv):
    """Bilinear, repeating; v up from the last row."""
    height, width, _ = texture.pixels.shape
    x, y = uv[..., 0] * width - 0.5, (1 - uv[..., 1]) * height - 0.5
    left, top = np.floor(x).astype(int), np.floor(y).astype(int)
    result = 0
    for column, share_x in ((left, 1 - x + left), (left + 1, x - left)):
        for row, share_y in ((top, 1 - y + top), (top + 1, y - top)):
            result = result + texture.pixels[row % height, column % width] * (share_x * share_y)[..., None]
    return result


@pytest.fixture
def picture_file(tmp_path):
    """A smooth picture without any symmetry, 64 rows and 96 columns, as PNG."""
    image = pytest.importorskip("PIL.Image")
    y, x = np.mgrid[0:64, 0:96]
    pixels = np.stack([40 + 2 * x, 30 + 3 * y, 128 + 60 * np.sin(x / 9) * np.cos(y / 11)], axis=-1).astype(np.uint8)
    image.fromarray(pixels).save(tmp_path / "picture.png")
    return tmp_path / "picture.png", pixels


def test_pixels_are_those_of_the_file(picture_file):
    path, pixels = picture_file
    scene = load_scene(f'<mujoco><asset><texture name="t" type="2d" file="{path}"/></asset></mujoco>')
    assert scene.textures[0].name == "t"
    assert np.array_equal(scene.textures[0].pixels, pixels)


TEXTURED = {
    "plane": '<geom type="plane" size=".7 .5 .1" material="m"/>',
    "infinite plane": '<geom type="plane" size="0 0 .1" material="m"/>',
    "half infinite plane": '<geom type="plane" size="0 .6 .1" material="m"/>',
    "box": '<geom type="box" size=".3 .2 .25" euler="30 40 50" material="m"/>',
    "other faces of the box": '<geom type="box" size=".3 .2 .25" euler="210 40 50" material="m"/>',
    "sphere": '<geom type="sphere" size=".35" euler="30 0 70" material="m"/>',
    "ellipsoid": '<geom type="ellipsoid" size=".35 .3 .2" euler="70 0 70" material="m"/>',
    "capsule": '<geom type="capsule" size=".2 .2" euler="70 0 70" material="m"/>',
    "end of a capsule": '<geom type="capsule" size=".3 .05" euler="-160 0 0" material="m"/>',
    "cylinder": '<geom type="cylinder" size=".25 .2" euler="60 0 70" material="m"/>',
    "bottom of a cylinder": '<geom type="cylinder" size=".3 .1" euler="170 0 0" material="m"/>',
    "mesh without coordinates": '<geom type="mesh" mesh="plain" material="m" euler="20 10 0"/>',
    "mesh with coordinates": '<geom type="mesh" mesh="mapped" material="m" euler="20 10 0"/>',
    "height field": '<geom type="hfield" hfield="hills" material="m" pos="0 0 -.2"/>',
}

PLATE = 'vertex="-.3 -.2 -.1  .3 -.2 -.1  .3 .2 -.1  -.3 .2 -.1  -.3 -.2 0  .3 -.2 0  .3 .2 0  -.3 .2 0"'
PLATE_FACES = "4 5 6 4 6 7 0 2 1 0 3 2 0 1 5 0 5 4 1 2 6 1 6 5 2 3 7 2 7 6 3 0 4 3 4 7"


def surface_coordinates(scene, geom, start, directions):
    """The texture coordinates where rays (N, 3) hit the only geom, (N, 2), nan where they miss: every ray against every triangle."""
    inverse = geometry.quat_conjugate(np.array(geom.quat_wxyz))
    start = geometry.quat_rotate(inverse, start - np.array(geom.position))
    directions = geometry.quat_rotate(inverse, directions)
    if geom.mesh < 0:
        base = (start - directions * (start[2] / directions[:, 2:]))[:, :2]
        half = np.array([s or np.inf for s in geom.plane_half_size])
        base[(np.abs(base) > half).any(axis=1)] = np.nan
        return np.array(geom.uv_scale) * base + np.array(geom.uv_offset)
    level = scene.meshes[geom.mesh].levels[0]
    a, b, c = (level.vertices[level.triangles[:, k]].astype(float) for k in range(3))
    base = np.full((len(directions), 2), np.nan)
    for i, direction in enumerate(directions):
        normal = np.cross(b - a, c - a)
        facing = -normal @ direction
        to_a = start - a
        turn = np.cross(to_a, direction)
        with np.errstate(divide="ignore", invalid="ignore"):
            v, w = np.sum(turn * -(c - a), axis=1) / -facing, np.sum(turn * (b - a), axis=1) / -facing
            distance = np.sum(to_a * normal, axis=1) / facing
        hit = np.flatnonzero((facing > 0) & (v >= 0) & (w >= 0) & (v + w <= 1))
        if len(hit):
            t = hit[np.argmin(distance[hit])]
            if level.uvs is None:
                base[i] = (start + distance[t] * direction)[:2]
            else:
                base[i] = np.array([1 - v[t] - w[t], v[t], w[t]]) @ level.uvs[level.triangles[t]]
    return np.array(geom.uv_scale) * base + np.array(geom.uv_offset)


@pytest.mark.parametrize("uniform", ["false", "true"])
@pytest.mark.parametrize("kind", TEXTURED)
def test_textures_lie_as_in_mujoco(mujoco_picture, picture_file, kind, uniform):
    path, _ = picture_file
    coordinates = " ".join(f"{0.1 + 0.6 * i} {0.2 + 0.5 * j}" for _ in range(2) for i, j in ((0, 0), (1, 0), (1, 1), (0, 1)))
    model = load_model(f"""<mujoco>{AMBIENT}<statistic center="0 0 0" extent="1"/>
      <visual><quality offsamples="0" numslices="100" numstacks="50"/></visual>
      <asset><texture name="t" type="2d" file="{path}"/>
        <material name="m" texture="t" texrepeat="1.5 2" texuniform="{uniform}"/>
        <hfield name="hills" nrow="3" ncol="4" elevation="0 .2 .3 0  .5 1 .4 .2  0 .1 0 .7" size=".4 .3 .1 .1"/>
        <mesh name="plain" {PLATE} face="{PLATE_FACES}"/>
        <mesh name="mapped" {PLATE} face="{PLATE_FACES}" texcoord="{coordinates}"/></asset>
      <worldbody>{TEXTURED[kind]}<camera pos=".03 .02 1.2" fovy="40"/></worldbody></mujoco>""")
    size = 160
    picture = mujoco_picture(model, 0, size, size).astype(float)
    scene = load_scene(model)
    pixels = slice(3, size, 7)
    at = (np.arange(size)[pixels] + 0.5 - size / 2) / (size / 2) * math.tan(math.radians(20))
    x, y = np.meshgrid(at, -at)
    directions = np.stack([x, y, np.full_like(x, -1.0)], axis=-1).reshape(-1, 3)
    uv = surface_coordinates(scene, scene.geoms[0], np.array([0.03, 0.02, 1.2]), directions)
    seen = np.isfinite(uv).all(axis=1)
    assert seen.sum() > 100
    difference = np.abs(picture[pixels, pixels].reshape(-1, 3)[seen] - sample(scene.textures[0], uv[seen])).max(axis=1)
    # the picture jumps where it repeats, and is blurred where a surface is seen at a flat angle
    assert np.median(difference) < 3
    assert np.mean(difference < 12) > 0.8


def test_a_texture_that_is_no_image_is_refused_where_it_is_seen():
    files = {"a.ktx": b"\xabKTX 11\xbb\r\n\x1a\n" + bytes(100)}
    xml = """<mujoco><asset><texture name="sealed" type="2d" file="a.ktx"/><material name="m" texture="sealed"/></asset>
      <worldbody><geom name="ball" size=".1" {material}/></worldbody></mujoco>"""
    unused = mujoco.MjModel.from_xml_string(xml.format(material=""), files)
    assert load_scene(unused).textures[0].pixels.shape == (1, 1, 3)
    with pytest.raises(ModelError, match="'sealed' of geom 'ball' cannot be read: it is a KTX file; give it as PNG"):
        load_scene(mujoco.MjModel.from_xml_string(xml.format(material='material="m"'), files))


def test_colour_space_and_channels(tmp_path):
    image = pytest.importorskip("PIL.Image")
    gray = np.arange(64, dtype=np.uint8).reshape(8, 8) * 4
    image.fromarray(gray).save(tmp_path / "gray.png")
    image.fromarray(np.dstack([gray, gray.T, 255 - gray, gray])).save(tmp_path / "rgba.png")
    scene = load_scene(f"""<mujoco><asset>
      <texture name="rgba" type="2d" file="{tmp_path}/rgba.png" nchannel="4"/>
      <texture name="srgb" type="2d" file="{tmp_path}/rgba.png" colorspace="sRGB"/>
      <texture name="sky" type="skybox" builtin="gradient" rgb1="1 0 0" rgb2="0 0 1" width="16" height="96"/>
      <texture name="cube" type="cube" builtin="flat" rgb1="1 0 0" width="16" height="16"/></asset></mujoco>""")
    rgba, srgb, sky, cube = scene.textures
    expected = np.dstack([gray, gray.T, 255 - gray])
    assert np.array_equal(rgba.pixels, expected)
    value = expected / 255
    assert np.abs(srgb.pixels / 255 - np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4)).max() < 0.003
    assert (sky.kind, sky.pixels.shape, scene.skybox) == ("skybox", (6, 16, 16, 3), 2)
    assert (cube.kind, cube.pixels.shape) == ("cube", (6, 16, 16, 3))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, ["no model file"]),
        ("hello", ["not XML"]),
        ("<mujoco><worldbody>", ["cannot compile", "XML"]),
        ("<mujoco><worldbody><geom/></worldbody></mujoco>", ["cannot compile", "size"]),
        ('<mujoco><asset><mesh file="missing.stl"/></asset></mujoco>', ["cannot compile", "missing.stl"]),
    ],
)
def test_files_that_are_no_models(tmp_path, content, words):
    path = tmp_path / "model.xml"
    if content is not None:
        path.write_text(content)
    with pytest.raises(ModelError) as caught:
        load_scene(path)
    message = str(caught.value)
    assert "\n" not in message
    for word in [str(path), *words]:
        assert word in message
    assert isinstance(caught.value, ValueError)


def test_other_things_that_are_no_models(tmp_path):
    (tmp_path / "scene.xml").write_text("<mujoco/>")
    with pytest.raises(ModelError, match=r"is a folder.*scene\.xml"):
        load_model(str(tmp_path))
    with pytest.raises(ModelError, match="got int"):
        load_model(3)  # type: ignore[arg-type]
    with pytest.raises(ModelError, match="the XML text"):
        load_model("<mujoco><nonsense/></mujoco>")
    (tmp_path / "broken.mjb").write_bytes(b"123")
    with pytest.raises(ModelError, match=r"broken\.mjb"):
        load_model(tmp_path / "broken.mjb")


def test_paths_texts_and_models_are_models(tmp_path):
    text = textwrap.dedent("""
        <mujoco><worldbody><body name="b" pos="0 0 1"><geom size=".1" mass="2" pos="0 0 .5"/></body></worldbody></mujoco>""")
    (tmp_path / "m.xml").write_text(text)
    model = load_model(text)
    mujoco.mj_saveModel(model, str(tmp_path / "m.mjb"), None)
    for source in (text, str(tmp_path / "m.xml"), tmp_path / "m.xml", tmp_path / "m.mjb", model):
        scene = load_scene(source)
        assert scene.bodies.names == ("world", "b")
        assert scene.bodies.mass[1] == 2
        assert scene.bodies.center_of_mass[1].tolist() == [0, 0, 0.5]
    assert load_model(model) is model
    assert scene.near_m == pytest.approx(model.vis.map.znear * model.stat.extent)
    assert scene.far_m == pytest.approx(model.vis.map.zfar * model.stat.extent)
    assert scene.extent_m == model.stat.extent
    assert scene.center == tuple(model.stat.center)
