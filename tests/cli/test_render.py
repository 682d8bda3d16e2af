"""``rollfilm render``, looked at from outside: what it writes, says and returns."""

import io
import math
import os
import subprocess
import sys
from pathlib import Path

import mujoco
import numpy as np
import pytest
from PIL import Image

from full_disk import files_of_at_most
from rollfilm.cli import main
from rollfilm.cli.free_camera import free_camera
from rollfilm.cli.png import write_png
from rollfilm.cli.render import poses_of
from rollfilm.engines.still import StillPoses
from rollfilm.geometry import quat_rotate
from rollfilm.render import BatchRenderer, CameraRequest, RenderOptions
from rollfilm.scene.mujoco import load_model, load_scene

TWO_CAMERAS = """
<mujoco>
  <visual><global azimuth="30" elevation="-20" fovy="50"/></visual>
  <worldbody>
    <light pos="0 0 3"/>
    <geom name="floor" type="plane" size="0 0 .1" rgba=".5 .6 .7 1"/>
    <body name="brick" pos="0 0 .5"><freejoint/><geom name="brick" type="box" size=".2 .2 .2" rgba="1 0 0 1"/></body>
    <camera name="side" pos="0 -2 .5" xyaxes="1 0 0 0 0 1"/>
    <camera name="arm/top" pos="0 0 3"/>
  </worldbody>
  <keyframe><key name="away" qpos="0 0 9 1 0 0 0"/></keyframe>
</mujoco>
"""
NO_CAMERA = "<mujoco><worldbody><light pos='0 0 3'/><geom type='sphere' size='.2' rgba='0 1 0 1'/></worldbody></mujoco>"


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "model.xml"
    path.write_text(TWO_CAMERAS)
    return path


def read(path: Path) -> np.ndarray:
    return np.asarray(Image.open(path))


def is_red(rgb: np.ndarray) -> np.ndarray:
    return rgb[..., 0].astype(int) > 60 + rgb[..., 1:].max(axis=-1)


def test_one_camera_writes_the_file_that_was_named(model, tmp_path, capsys):
    assert main(["render", str(model), "--camera", "side", "--size", "85x63", "--out", str(tmp_path / "deep" / "one.png")]) == 0
    rgb = read(tmp_path / "deep" / "one.png")
    assert rgb.shape == (63, 85, 3)
    assert is_red(rgb)[31, 42]
    assert not is_red(rgb)[2, 2]
    said = capsys.readouterr().out
    assert f"wrote {tmp_path / 'deep' / 'one.png'} (85x63, camera side)" in said
    assert "first frame after" in said


def test_no_name_films_every_camera(model, tmp_path):
    assert main(["render", str(model), "--size", "16", "--out", str(tmp_path / "all.png")]) == 0
    assert {path.name for path in tmp_path.glob("*.png")} == {"all-side.png", "all-arm_top.png"}


def test_a_model_without_cameras_is_framed(tmp_path):
    path = tmp_path / "bare.xml"
    path.write_text(NO_CAMERA)
    assert main(["render", str(path), "--size", "64", "--out", str(tmp_path / "bare.png")]) == 0
    green = read(tmp_path / "bare.png")[..., 1] > 60
    rows, columns = np.nonzero(green)
    assert abs(rows.mean() - 31.5) < 1
    assert abs(columns.mean() - 31.5) < 1
    assert not (green[0] | green[-1]).any()


def test_the_free_camera_can_be_asked_for(model, tmp_path):
    assert main(["render", str(model), "--camera", "free", "--size", "32", "--out", str(tmp_path / "free.png")]) == 0
    assert is_red(read(tmp_path / "free.png")).any()


@pytest.mark.parametrize(("azimuth", "elevation"), [(90, -45), (30, -20), (-120, 10), (0, -90)])
def test_the_free_camera_is_that_of_mujoco(azimuth, elevation):
    model = mujoco.MjModel.from_xml_string(TWO_CAMERAS)
    model.vis.global_.azimuth, model.vis.global_.elevation = azimuth, elevation
    theirs, view = mujoco.MjvCamera(), mujoco.MjvScene(model, maxgeom=10)
    mujoco.mjv_defaultFreeCamera(model, theirs)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    mujoco.mjv_updateCamera(model, data, theirs, view)
    ours = free_camera(load_scene(model), azimuth_deg=azimuth, elevation_deg=elevation, fov_y_rad=math.radians(50)).placement
    left, right = view.camera[0], view.camera[1]
    np.testing.assert_allclose(ours.position, 0.5 * (left.pos + right.pos), atol=1e-5)
    np.testing.assert_allclose(quat_rotate(ours.quat_wxyz, [0, 0, -1]), left.forward, atol=1e-5)
    np.testing.assert_allclose(quat_rotate(ours.quat_wxyz, [0, 1, 0]), left.up, atol=1e-5)


def test_depth_and_ids_are_exact_and_to_be_looked_at(model, tmp_path):
    out = tmp_path / "frame.png"
    assert main(["render", str(model), "--camera", "side", "--size", "33", "--depth", "--segmentation", "--out", str(out)]) == 0
    depth, ids = np.load(tmp_path / "frame-depth.npy"), np.load(tmp_path / "frame-segmentation.npy")
    assert (depth.dtype, depth.shape, ids.dtype, ids.shape) == (np.float32, (33, 33), np.int32, (33, 33))
    assert depth[16, 16] == pytest.approx(1.8, abs=1e-4)
    assert ids[16, 16] == 1
    assert depth[0, 0] == 0
    assert ids[0, 0] == -1
    assert read(tmp_path / "frame-depth.png")[16, 16] == 1800
    shown = read(tmp_path / "frame-segmentation.png")
    assert (shown[0, 0] == 0).all()
    assert (shown[16, 16] != shown[32, 16]).any()


@pytest.mark.parametrize("keyframe", ["away", "0"])
def test_a_keyframe_moves_the_bodies(model, tmp_path, keyframe):
    assert main(["render", str(model), "--camera", "side", "--size", "33", "--keyframe", keyframe, "--out", str(tmp_path / "a.png")]) == 0
    assert not is_red(read(tmp_path / "a.png")).any()


def test_groups_are_shown_as_asked(model, tmp_path):
    assert main(["render", str(model), "--camera", "side", "--size", "33", "--geom-groups", "3", "--out", str(tmp_path / "a.png")]) == 0
    assert not is_red(read(tmp_path / "a.png")).any()


@pytest.mark.parametrize(
    ("words", "changes"),
    [
        ([], {}),
        (["--shadows", "--reflections"], {}),
        (["--no-shadows", "--samples", "1", "--no-reflections"], {"shadows": False, "samples": 1, "reflections": False}),
    ],
)
def test_pictures_look_as_mujocos_unless_told_otherwise(model, tmp_path, words, changes):
    assert main(["render", str(model), "--camera", "side", "--size", "33x21", "--out", str(tmp_path / "a.png"), *words]) == 0
    scene = load_scene(str(model))
    options = RenderOptions.mujoco_look(**changes)
    renderer = BatchRenderer(scene, 1, [CameraRequest("side", 21, 33)], options=options)
    rgb = renderer.render(StillPoses(scene, poses_of(load_model(model), "")))["side"].rgb[0]
    renderer.close()
    np.testing.assert_array_equal(read(tmp_path / "a.png"), rgb)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["MODEL", "--camera", "top"], "no camera 'top' in this model; choose from free, side, arm/top"),
        (["MODEL", "--size", "0"], "from 1 to 16384"),
        (["MODEL", "--size", "100000"], "from 1 to 16384"),
        (["MODEL", "--size", "wide"], "WIDTHxHEIGHT"),
        (["MODEL", "--samples", "3"], "choose from 1, 4, 16"),
        (["MODEL", "--keyframe", "gone"], "choose from away"),
        (["MODEL", "--keyframe", "1"], "choose from away"),
        (["MODEL", "--geom-groups", "6"], "from 0 to 5"),
        (["MODEL", "--out", "picture.jpg"], ".png"),
        (["MODEL", "--out", "FILE/picture.png"], "--out"),
        (["MODEL", "--device", "cuda:99"], "cuda:99"),
        (["FOLDER"], "is a folder"),
        (["missing.xml"], "no model file"),
        (["FILE"], "not XML"),
        (["BROKEN"], "cannot compile"),
        (["NOWHERE"], "pos of body 'lost': nan 0 0"),
        (["DOUBLE"], "cameras 'a/b' and 'a_b' would both write"),
        (["x" * 300 + ".xml"], "name too long"),
        (["bad\udcffletter.xml"], "UTF-8"),
        (["MODEL", "--out", "/proc/nowhere/a.png"], "cannot create the folder /proc/nowhere"),
        (["MODEL", "--out", "x" * 300 + ".png"], "name too long"),
    ],
)
def test_bad_input_is_one_line_and_exits_2(model, tmp_path, monkeypatch, capfd, words, said):
    monkeypatch.chdir(tmp_path)  # another test may have made MuJoCo leave its log where this one looks
    (tmp_path / "file").write_text("no model")
    (tmp_path / "broken.xml").write_text("<mujoco><worldbody><geom type='box'/></worldbody></mujoco>")
    (tmp_path / "nan.xml").write_text("<mujoco><worldbody><body name='lost' pos='nan 0 0'><geom size='1'/></body></worldbody></mujoco>")
    cameras = "<mujoco><worldbody><camera name='a/b'/><camera name='a_b'/><geom size='1'/></worldbody></mujoco>"
    (tmp_path / "double.xml").write_text(cameras)
    places = {"NOWHERE": tmp_path / "nan.xml", "DOUBLE": tmp_path / "double.xml"}
    places |= {"MODEL": model, "FOLDER": tmp_path, "FILE": tmp_path / "file", "BROKEN": tmp_path / "broken.xml"}
    for name, path in places.items():
        words = [word.replace(name, str(path)) for word in words]
    assert main(["render", *words]) == 2
    err = capfd.readouterr().err
    assert said.lower() in err.lower()
    assert err.count("\n") == 1
    assert not Path("MUJOCO_LOG.TXT").exists()


def run_apart(words, tmp_path, **variables):
    command = [sys.executable, "-m", "rollfilm", *map(str, words)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path), **variables}
    return subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment)


def test_a_refused_device_leaves_no_folder(model, tmp_path):
    assert main(["render", str(model), "--device", "cuda:99", "--out", str(tmp_path / "new" / "a.png")]) == 2
    assert not (tmp_path / "new").exists()


def test_kernels_that_cannot_be_kept_are_compiled_for_the_run(model, tmp_path):
    (tmp_path / "file").write_text("no folder")
    words = ["render", model, "--camera", "side", "--size", "8", "--out", tmp_path / "a.png"]
    answer = run_apart(words, tmp_path, WARP_CACHE_PATH=str(tmp_path / "file" / "kernels"))
    assert answer.returncode == 0
    assert "set WARP_CACHE_PATH to a folder that can be written to" in answer.stderr.splitlines()[0]
    assert all(line.startswith("rollfilm: compiling render kernels") for line in answer.stderr.splitlines()[1:])


def test_an_empty_cache_variable_puts_no_folder_here(model, tmp_path):
    words = ["render", model, "--camera", "side", "--size", "8", "--out", tmp_path / "a.png"]
    answer = run_apart(words, tmp_path, XDG_CACHE_HOME="")
    assert answer.returncode == 0, answer.stderr
    assert not (tmp_path / "warp").exists()


def test_nothing_else_is_said(model, tmp_path):
    command = [sys.executable, "-m", "rollfilm", "render", str(model), "--camera", "side", "--size", "8", "--out", str(tmp_path / "a.png")]
    subprocess.run(command, capture_output=True, check=True)  # says that it compiles kernels, if it does
    answer = subprocess.run(command, capture_output=True, text=True, check=True)
    assert answer.stderr == ""
    assert len(answer.stdout.splitlines()) == 2


def test_the_warning_names_the_options_of_the_command(tmp_path, capsys):
    path = tmp_path / "sites.xml"
    path.write_text(NO_CAMERA.replace("<geom", "<site/><geom"))
    for words, warned in (([], True), (["--site-groups", "0"], False)):
        assert main(["render", str(path), "--size", "8x8", "--out", str(tmp_path / "frame.png"), *words]) == 0
        assert ("not drawn: 1 sites (--site-groups asks for them)" in capsys.readouterr().out) == warned


@pytest.mark.parametrize(
    "pixels",
    [
        np.random.default_rng(0).integers(0, 256, (5, 7, 3), np.uint8),
        np.random.default_rng(1).integers(0, 256, (1, 1), np.uint8),
        np.random.default_rng(2).integers(0, 65536, (6, 4), np.uint16),
    ],
    ids=["colour", "grey", "sixteen bits"],
)
def test_png_files_read_back_as_written(pixels, tmp_path):
    write_png(tmp_path / "a.png", pixels)
    with Image.open(io.BytesIO((tmp_path / "a.png").read_bytes())) as image:
        image.load()
        np.testing.assert_array_equal(np.asarray(image), pixels)


def test_a_full_disk_leaves_the_older_picture(tmp_path):
    out = tmp_path / "a.png"
    out.write_bytes(b"older")
    with files_of_at_most(100), pytest.raises(OSError, match="File too large"):
        write_png(out, np.random.default_rng(0).integers(0, 256, (64, 64, 3), np.uint8))
    assert [path.name for path in tmp_path.iterdir()] == ["a.png"]
    assert out.read_bytes() == b"older"


def test_the_memory_plan_is_printed_when_asked_for(model, tmp_path, capsys):
    words = ["render", str(model), "--camera", "side", "--size", "33x21", "--out", str(tmp_path / "a.png")]
    assert main(words) == 0
    assert "memory of" not in capsys.readouterr().out
    assert main([*words, "--memory-plan"]) == 0
    assert "memory of 1 worlds on cpu: " in capsys.readouterr().out
