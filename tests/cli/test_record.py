import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import rollfilm
from recorded_files import decode, lines
from rollfilm.cli import main
from rollfilm.cli.cameras import parse_cameras
from rollfilm.errors import InvalidArgumentError

DRIVER = [sys.executable, str(Path(__file__).with_name("counting_cli.py"))]
TESTS = str(Path(__file__).parents[1])


def start(seconds_per_step, *words):
    path = os.pathsep.join(filter(None, [TESTS, os.environ.get("PYTHONPATH")]))
    command = [*DRIVER, str(seconds_per_step), *map(str, words)]
    return subprocess.Popen(command, env={**os.environ, "PYTHONPATH": path}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def record(*words, task="counting"):
    process = start(0.0, "record", task, *words)
    out, err = process.communicate(timeout=60)
    return process.returncode, out, err


def test_the_command_writes_everything_and_says_what_to_open(tmp_path):
    words = ["--num-envs", 3, "--episodes", 5, "--cameras", "front:32x16,wrist:5x7", "--keep", "success", "--seed", 4]
    code, out, err = record(*words, "--out", tmp_path / "demo")
    assert code == 0, err
    assert re.search(r"episodes +5 of 5", out)
    assert re.search(r"success at the end +4/5, 80.0 % \(95 % interval 37.6 to 96.4 %\)", out)
    assert re.search(r"kept +4", out)
    assert re.search(r"images +\d+ in .* images/s", out)
    assert all(phase in out for phase in ("policy", "physics", "render", "encode", "write", "peak memory"))
    assert re.search(rf"open first +{re.escape(str(tmp_path / 'demo' / 'index.html'))}", out)
    manifest = json.loads((tmp_path / "demo" / "recording.json").read_text())
    assert manifest["status"] == "complete"
    assert manifest["run"]["command"].startswith("rollfilm record counting --num-envs 3")
    assert (manifest["cameras"]["front"]["width"], manifest["cameras"]["front"]["height"]) == (32, 16)
    assert decode(tmp_path / "demo" / "videos" / "front" / "episode_000000.mp4").shape == (4, 16, 32, 3)


def test_the_environment_is_asked_for_as_the_command_says(monkeypatch, tmp_path, capsys):
    asked = []

    def refuse(task, **options):
        asked.append(options)
        raise InvalidArgumentError("enough")

    monkeypatch.setattr(rollfilm, "make", refuse)
    for words in ([], ["--randomize"]):
        assert main(["record", "pick-cube", "--out", str(tmp_path / "demo"), *words]) == 2
    assert [options["randomize"] for options in asked] == [False, True]


def test_zero_kept_episodes_are_said(tmp_path):
    words = ["--num-envs", 2, "--episodes", 2, "--keep", "success", "--out", tmp_path]
    code, out, err = record(*words, task="hopeless")
    assert code == 0, err
    assert re.search(r"success at the end +0/2", out)
    assert "No episode was kept" in out
    assert not list(tmp_path.glob("videos/*/*"))


@pytest.mark.parametrize(
    ("signals", "code"),
    [((signal.SIGINT,), 130), ((signal.SIGINT, signal.SIGINT, signal.SIGINT), 130), ((signal.SIGTERM,), 143), ((signal.SIGHUP,), 129)],
)
def test_a_signal_to_stop_cuts_episodes_and_closes_every_file(tmp_path, signals, code):
    process = start(0.05, "record", "counting", "--num-envs", 3, "--episodes", 300, "--out", tmp_path / "demo")
    deadline = time.monotonic() + 30
    while not (tmp_path / "demo" / "episodes.jsonl").is_file() and time.monotonic() < deadline:
        time.sleep(0.02)
    for number in signals:
        process.send_signal(number)
        time.sleep(0.03)
    out, err = process.communicate(timeout=30)
    assert process.returncode == code, err
    assert "Traceback" not in err
    assert "interrupted" in out
    folder = tmp_path / "demo"
    assert json.loads((folder / "recording.json").read_text())["status"] == "interrupted"
    ended = [line["ended"] for line in lines(folder)]
    assert ended.count("cut") >= 1
    assert set(ended) <= {"terminated", "truncated", "cut"}
    for line in lines(folder):
        assert len(decode(folder / line["videos"]["front"])) == line["steps"] + 1
    assert not list(folder.rglob("*.part"))
    assert not (folder / "segments").exists()
    info = start(0, "info", folder)
    shown, _ = info.communicate(timeout=30)
    assert info.returncode == 0
    assert "interrupted (Ctrl-C)" in shown


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize(("words", "code"), [(["--version"], 0), (["info", "nothing-here"], 2)])
def test_a_signal_while_the_process_ends_does_not_change_its_exit_code(number, words, code):
    script = (
        "import atexit, sys, time; from rollfilm.cli import run; "
        "atexit.register(lambda: (print('ending', flush=True), time.sleep(0.5))); sys.exit(run())"
    )
    process = subprocess.Popen([sys.executable, "-c", script, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    while "ending" not in process.stdout.readline():
        assert process.poll() is None
    process.send_signal(number)
    _, err = process.communicate(timeout=30)
    assert process.returncode == code, err
    assert "Traceback" not in err


def test_a_full_disk_keeps_what_is_finished(tmp_path):
    script = (
        "import resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); "
        "resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, resource.RLIM_INFINITY)); sys.argv.pop(0); exec(open(sys.argv[0]).read())"
    )
    words = ["0", "record", "counting", "--num-envs", "3", "--episodes", "40", "--cameras", "front:64x64", "--out", str(tmp_path)]
    path = os.pathsep.join(filter(None, [TESTS, os.environ.get("PYTHONPATH")]))
    answer = subprocess.run(
        [sys.executable, "-c", script, DRIVER[1], *words], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path}
    )
    assert answer.returncode == 2, answer.stderr
    assert re.fullmatch(
        r"rollfilm: error: cannot write \S+: File too large. Finished episodes that were kept: \d+, in \S+\n", answer.stderr
    )
    assert json.loads((tmp_path / "recording.json").read_text())["status"] == "failed"
    for line in lines(tmp_path):
        assert all((tmp_path / video).is_file() for video in line.get("videos", {}).values())
    assert not list(tmp_path.rglob("*.part"))


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams_are_no_error(tmp_path, closed):
    words = ["--num-envs", "1", "--episodes", "1", "--cameras", "front:8x8", "--out", str(tmp_path)]
    path = os.pathsep.join(filter(None, [TESTS, os.environ.get("PYTHONPATH")]))
    command = shlex.join([*DRIVER, "0", "record", "counting", *words])
    answer = subprocess.run(f"{command} {closed}", shell=True, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path})
    assert (answer.returncode, answer.stderr) == (0, "")
    assert json.loads((tmp_path / "recording.json").read_text())["status"] == "complete"


def test_a_folder_with_a_recording_is_refused_unless_told(tmp_path):
    words = ["--num-envs", 1, "--episodes", 1, "--cameras", "front:8x8", "--out", tmp_path]
    assert record(*words)[0] == 0
    code, out, err = record(*words)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert "already holds a recording" in err
    assert "--overwrite" in err
    assert record(*words, "--overwrite")[0] == 0


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--cameras", "front:0x64"], "from 1 to"),
        (["--cameras", "front:100000x64"], "from 1 to"),
        (["--cameras", "front:abc"], "'front:abc' is not NAME:WIDTHxHEIGHT"),
        (["--cameras", "front"], "'front' is not NAME:WIDTHxHEIGHT"),
        (["--cameras", "front:8x8,front:9x9"], "front is there twice"),
        (["--num-envs", "0"], "--num-envs 0"),
        (["--episodes", "0"], "--episodes 0"),
        (["--num-envs", "many"], "many"),
        (["--seed", "-1"], "--seed -1"),
        (["--keep", "best"], "best"),
        (["--fps", "0"], "fps 0"),
        (["--codec", "gif"], "'gif' is unknown"),
        (["--crf", "99"], "crf 99"),
        (["--num-envs", "1000000"], "of memory are needed"),
        (["--speed", "3"], "--speed"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(tmp_path, capsys, words, says):
    assert main(["record", "pick-cube", "--out", str(tmp_path / "out"), *words]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.count("\n") == 1
    assert says in shown.err
    assert not (tmp_path / "out").exists()


def test_cameras_are_width_by_height():
    assert parse_cameras("front:320x200, arm/wrist:8x9") == {"front": (200, 320), "arm/wrist": (9, 8)}
    with pytest.raises(InvalidArgumentError, match="NAME:WIDTHxHEIGHT"):
        parse_cameras("")
