import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import h5py
import pytest

from counting_env import CountingVectorEnv, counting_policy
from page_reader import Page
from recorded_files import decode, lines
from rollfilm.cli import main
from rollfilm.errors import RecordingError
from rollfilm.evaluate.rollout import run_episodes
from rollfilm.record import Recorder
from rollfilm.record.layout import Layout
from rollfilm.record.lock import FolderLock
from rollfilm.record.manifest import manifest_checksum
from rollfilm.record.reading import Recording
from rollfilm.record.recover import recover


def kill_at(folder, steps):
    """Record in a process of its own that is killed after so many control steps."""
    script = f"""
import os, signal, sys
sys.path.insert(0, {str(Path(__file__).parents[1])!r})
from counting_env import CountingVectorEnv, counting_policy
from rollfilm.evaluate.rollout import run_episodes
from rollfilm.record import Recorder
env = CountingVectorEnv(3)
with Recorder.for_env(env, {str(folder)!r}) as recorder:
    def kill(rollout):
        if rollout.control_steps == {steps}:
            os.kill(os.getpid(), signal.SIGKILL)
    run_episodes(env, counting_policy, num_episodes=100, seed=0, recorder=recorder, progress=kill)
"""
    done = subprocess.run([sys.executable, "-c", script], env=os.environ, capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL, done.stderr


@pytest.fixture(scope="module")
def killed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("killed") / "recording"
    kill_at(folder, 40)
    return folder


@pytest.fixture
def interrupted(killed, tmp_path):
    subprocess.run(["cp", "-r", str(killed), str(tmp_path / "recording")], check=True)
    return tmp_path / "recording"


def test_what_had_ended_is_whole_and_what_was_lost_is_said(interrupted, capsys):
    finished = {line["episode"]: line for line in lines(interrupted)}
    assert len(finished) > 20
    assert main(["recover", str(interrupted)]) == 0
    said = capsys.readouterr().out
    assert "lost: overview.mp4 was not finished" in said
    assert f"is whole: {len(finished)} episodes have ended, {len(finished)} of them are kept" in said
    recording = Recording(interrupted)
    assert {line["episode"]: line for line in recording.episodes} == finished
    assert recording.manifest["status"] == "recovered"
    assert recording.manifest["lost"][0] == "overview.mp4 was not finished"
    assert recording.manifest["run"]["checksum"] == manifest_checksum(recording.manifest)
    assert f"{recording.trajectory_file.name}" in recording.manifest["sha256"]
    with h5py.File(recording.trajectory_file) as file:
        assert {int(name[5:]) for name in file} == set(finished)
    for index, line in finished.items():
        assert len(decode(recording.video_path("front", index))) == line["steps"] + 1 == len(recording.trajectory(index)["obs"])
    kept = {path.stem[-6:] for path in interrupted.glob("videos/front/*")}
    assert kept == {f"{index:06d}" for index in finished} == {path.stem[-6:] for path in interrupted.glob("fingerprints/*")}
    assert not list(interrupted.rglob("*.part"))
    assert not (interrupted / "segments").exists()
    assert main(["info", str(interrupted)]) == 0
    assert "recovered after its process was killed; lost: overview.mp4" in capsys.readouterr().out


def test_the_recovered_recording_has_its_page_with_every_poster(interrupted):
    gone = sorted(interrupted.glob("posters/front/*"))[3]
    gone.unlink()
    lost = recover(interrupted).lost
    page = Page(interrupted / "index.html")
    assert (page.recording["status"], page.recording["lost"]) == ("recovered", lost)
    kept = {f"posters/front/episode_{line['episode']:06d}.jpg" for line in lines(interrupted)}
    assert {path.relative_to(interrupted).as_posix() for path in interrupted.rglob("*.jpg")} == kept


def test_a_second_recovery_has_nothing_to_do(interrupted, capsys):
    recover(interrupted)
    before = {path: path.read_bytes() for path in interrupted.rglob("*") if path.is_file()}
    assert main(["recover", str(interrupted)]) == 0
    assert "nothing to recover" in capsys.readouterr().out
    assert {path: path.read_bytes() for path in interrupted.rglob("*") if path.is_file()} == before


def test_files_of_an_episode_without_a_line_are_lost(interrupted):
    path = interrupted / "episodes.jsonl"
    *whole, last = path.read_text().splitlines()
    path.write_text("\n".join(whole) + "\n" + last[:30])
    episode = json.loads(last)["episode"]
    recovery = recover(interrupted)
    assert recovery.lost[:2] == ["the last line of episodes.jsonl was half written", "overview.mp4 was not finished"]
    assert str(episode) in recovery.lost[2]
    assert recovery.lost[2].endswith("in flight")
    assert not Layout(interrupted).episode_files(episode)
    assert len(lines(interrupted)) == len(whole)
    with h5py.File(Recording(interrupted).trajectory_file) as file:
        assert f"traj_{episode}" not in file


@pytest.mark.parametrize("damage", ["shorter", "gone", "other bytes", "segment"])
def test_an_episode_that_was_damaged_meanwhile_is_lost_alone(interrupted, damage):
    layout = Layout(interrupted)
    path = layout.segment(7) if damage == "segment" else layout.video("front", 7)
    if damage == "gone":
        path.unlink()
    elif damage == "segment":
        with h5py.File(path, "r+") as file:
            file["traj_7/rewards"][1] = 5
    else:
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 1
        path.write_bytes(content[:-10] if damage == "shorter" else content)
    before = len(lines(interrupted))
    recovery = recover(interrupted)
    assert recovery.kept == recovery.episodes - 1 == before - 1
    assert recovery.lost[0].startswith("episode 7: ")
    assert path.name in recovery.lost[0]
    line = Recording(interrupted).episode(7)
    assert (line["kept"], line["ended"], "videos" in line) == (False, "failed", False)
    assert path.name in line["error"]
    assert not layout.episode_files(7)


@pytest.mark.parametrize("left", ["trajectory", "trajectory and json", "half of the segments"])
def test_a_kill_while_rows_are_put_together(interrupted, left):
    layout, recording = Layout(interrupted), Recording(interrupted)
    copy = interrupted.parent / "copy"
    subprocess.run(["cp", "-r", str(interrupted), str(copy)], check=True)
    recover(copy)
    name = recording.trajectory_file.name
    whole = (copy / name).read_bytes()
    if left == "trajectory":
        (interrupted / name).write_bytes(whole)
    else:
        for path in (copy / name, (copy / name).with_suffix(".json")):
            (interrupted / path.name).write_bytes(path.read_bytes())
    if left == "half of the segments":
        for path in sorted(layout.segments.iterdir())[::2]:
            path.unlink()
    assert recover(interrupted).needed
    assert (interrupted / name).read_bytes() == whole
    assert (interrupted / name).with_suffix(".json").read_bytes() == (copy / name).with_suffix(".json").read_bytes()
    assert not layout.segments.exists()


def test_a_process_that_was_killed_before_it_began(tmp_path, capsys):
    (tmp_path / "recording.json").touch()
    (tmp_path / "notes.txt").touch()
    assert main(["recover", str(tmp_path)]) == 0
    assert "killed before the first episode began" in capsys.readouterr().out
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_a_recording_that_was_closed_is_left_alone(tmp_path):
    env = CountingVectorEnv(2)
    with Recorder.for_env(env, tmp_path) as recorder:
        run_episodes(env, counting_policy, num_episodes=3, seed=0, recorder=recorder)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    recovery = recover(tmp_path)
    assert (recovery.needed, recovery.kept, recovery.lost) == (False, 3, [])
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_a_recording_that_is_running_is_refused(interrupted):
    before = sorted(interrupted.rglob("*"))
    with FolderLock(interrupted), pytest.raises(RecordingError, match="is being recorded to"):
        recover(interrupted)
    assert sorted(interrupted.rglob("*")) == before


@pytest.mark.parametrize("kind", ["missing", "empty", "file"])
def test_what_is_no_recording_is_one_line_and_exit_code_2(tmp_path, capsys, kind):
    folder = tmp_path / "x"
    if kind == "file":
        folder.write_text("")
    elif kind == "empty":
        folder.mkdir()
    assert main(["recover", str(folder)]) == 2
    shown = capsys.readouterr()
    assert (shown.out, shown.err.count("\n")) == ("", 1)
    assert str(folder) in shown.err
