"""A recording is damaged in one way at a time, and verifying names the file, the episode and the frame."""

import json
import shutil
from fractions import Fraction

import h5py
import numpy as np
import pytest

from counting_env import CountingVectorEnv, counting_policy
from recorded_files import decode, lines
from rollfilm.cli import main
from rollfilm.evaluate.rollout import run_episodes
from rollfilm.record import Recorder, RecorderOptions, VideoWriter
from rollfilm.record.digest import episode_digests
from rollfilm.record.layout import Layout
from rollfilm.record.manifest import read_manifest, shared_digests, write_manifest
from rollfilm.record.reading import Recording
from rollfilm.record.verify import verify
from rollfilm.record.verify.matching import Tolerance, what_is_shown

FRONT = "videos/front/episode_000004.mp4"
LINES = "episodes.jsonl"


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole") / "recording"
    env = CountingVectorEnv(4, {"front": (64, 84), "arm/wrist": (63, 85)}, lengths=(5, 6, 7), contrast=20)
    with Recorder.for_env(env, folder, RecorderOptions(seed=5)) as recorder:
        run_episodes(env, counting_policy, num_episodes=9, seed=5, recorder=recorder)
    return folder


@pytest.fixture
def recording(whole, tmp_path):
    return shutil.copytree(whole, tmp_path / "recording")


def faults(folder):
    return [(fault.file, fault.episode, fault.frame, fault.text) for fault in verify(folder).faults]


def sign_again(folder):
    """Give everything the digests of what is there now, as a recorder that had made the fault itself would have."""
    layout = Layout(folder)
    changed = [{**line, **episode_digests(layout, line["episode"])} if line["kept"] else line for line in lines(folder)]
    layout.episodes.write_text("".join(json.dumps(line) + "\n" for line in changed))
    write_manifest(layout, {**read_manifest(layout), "sha256": shared_digests(layout)})


def write_video(path, pictures, fps=20, **options):
    writer = VideoWriter(path, *pictures[0].shape[:2], Fraction(fps), **options)
    for picture in pictures:
        writer.write(picture)
    writer.close()


def rewrite_line(folder, episode, **changes):
    path = folder / LINES
    changed = [{**line, **changes} if line["episode"] == episode else line for line in lines(folder)]
    path.write_text("".join(json.dumps(line) + "\n" for line in changed))


def test_a_whole_recording_has_no_fault(whole, capsys):
    assert faults(whole) == []
    assert main(["verify", str(whole)]) == 0
    assert "is as it should be: 9 episodes, 126 frames in" in capsys.readouterr().out


def test_verifying_changes_nothing(recording):
    before = {path: path.read_bytes() for path in recording.rglob("*") if path.is_file()}
    verify(recording)
    assert {path: path.read_bytes() for path in recording.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("frame", [0, 3, 6])
def test_a_frame_that_was_dropped(recording, frame):
    pictures = list(decode(recording / FRONT))
    del pictures[frame]
    write_video(recording / FRONT, pictures)
    assert faults(recording) == [
        (FRONT, 4, None, "it was changed after it was written"),
        (FRONT, 4, frame, f"6 frames, 7 are needed: frame {frame} is missing"),
    ]
    sign_again(recording)
    assert faults(recording) == [(FRONT, 4, frame, f"6 frames, 7 are needed: frame {frame} is missing")]


def test_a_frame_that_was_doubled(recording):
    pictures = list(decode(recording / FRONT))
    write_video(recording / FRONT, [*pictures[:3], *pictures[2:]])
    sign_again(recording)
    ((file, episode, frame, text),) = faults(recording)
    assert (file, episode) == (FRONT, 4)
    assert frame in (2, 3)
    assert text == f"8 frames, 7 are needed: frame {frame} is too many"


def test_a_frame_that_took_the_place_of_the_next_one(recording):
    pictures = list(decode(recording / FRONT))
    write_video(recording / FRONT, [*pictures[:3], pictures[2], *pictures[4:]])
    sign_again(recording)
    assert faults(recording) == [(FRONT, 4, 3, "frame 3 shows what frame 2 should show")]


def test_a_frame_that_was_dropped_and_another_one_doubled(recording):
    pictures = list(decode(recording / FRONT))
    write_video(recording / FRONT, [*pictures[:2], *pictures[3:], pictures[-1]])
    sign_again(recording)
    assert faults(recording) == [(FRONT, 4, 2, "frames 2 to 5 show what frames 3 to 6 should show")]


def test_two_frames_that_were_swapped(recording):
    pictures = list(decode(recording / FRONT))
    pictures[1], pictures[2] = pictures[2], pictures[1]
    write_video(recording / FRONT, pictures)
    sign_again(recording)
    assert faults(recording) == [
        (FRONT, 4, 1, "frame 1 shows what frame 2 should show"),
        (FRONT, 4, 2, "frame 2 shows what frame 1 should show"),
    ]


def test_a_frame_of_something_else(recording):
    pictures = list(decode(recording / FRONT))
    pictures[5] = np.random.default_rng(0).integers(0, 256, pictures[5].shape, np.uint8)
    write_video(recording / FRONT, pictures)
    sign_again(recording)
    assert faults(recording) == [(FRONT, 4, 5, "frame 5 shows something else")]


@pytest.mark.parametrize("signed", [False, True])
def test_videos_of_two_episodes_that_were_swapped(recording, signed):
    # of the same length, in different worlds
    first, second = (recording / f"videos/front/episode_{index:06d}.mp4" for index in (1, 4))
    assert len({line["world"] for line in lines(recording) if line["episode"] in (1, 4)}) == 2
    content = first.read_bytes()
    first.write_bytes(second.read_bytes())
    second.write_bytes(content)
    if signed:
        sign_again(recording)
    found = faults(recording)
    assert {(file, episode) for file, episode, _, _ in found} == {("videos/front/episode_000001.mp4", 1), (FRONT, 4)}
    texts = [text for file, _, _, text in found if file == FRONT]
    assert "this is the video of episode 1, camera 'front'" in texts
    assert signed or "it was changed after it was written: it is videos/front/episode_000001.mp4" in texts


def test_videos_of_two_cameras_that_were_swapped(recording):
    front, wrist = recording / FRONT, recording / "videos/arm_wrist/episode_000004.mp4"
    pictures = decode(front), decode(wrist)[:, :63, :84]
    write_video(front, np.pad(pictures[1], [(0, 0), (0, 1), (0, 0), (0, 0)]))
    wide = np.pad(pictures[0][:, :63], [(0, 0), (0, 0), (0, 1), (0, 0)], mode="edge")
    write_video(wrist, wide)
    sign_again(recording)
    found = faults(recording)
    assert {(file, episode) for file, episode, _, _ in found} == {(FRONT, 4), ("videos/arm_wrist/episode_000004.mp4", 4)}
    assert {frame for _, _, frame, _ in found} == {0}


def test_a_video_of_another_camera_has_another_size(recording):
    shutil.copy(recording / "videos/arm_wrist/episode_000004.mp4", recording / FRONT)
    found = {text for file, _, _, text in faults(recording) if file == FRONT}
    assert "it was changed after it was written: it is videos/arm_wrist/episode_000004.mp4" in found
    assert "frames of 86x64; 84x64 and 0 and 0 pixels of padding are needed" in found


@pytest.mark.parametrize("name", [FRONT, "overview.mp4", "fingerprints/episode_000004.bin", "trajectory"])
def test_a_file_that_was_cut_short(recording, name):
    path = Recording(recording).trajectory_file if name == "trajectory" else recording / name
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    found = faults(recording)
    assert found
    assert {file for file, *_ in found} == {path.relative_to(recording).as_posix()}


def test_a_byte_that_changed_in_any_file_is_found(recording):
    chance = np.random.default_rng(0)
    can_be_made_again = ("posters", "index.html")
    files = [path for path in sorted(recording.rglob("*")) if path.is_file()]
    checked = [path for path in files if path.relative_to(recording).parts[0] not in can_be_made_again]
    assert len(checked) == 2 * 9 + 9 + 5
    for path in checked:
        content = path.read_bytes()
        place = int(chance.integers(len(content)))
        path.write_bytes(content[:place] + bytes([content[place] ^ 1 << int(chance.integers(8))]) + content[place + 1 :])
        code = main(["verify", str(recording)])
        assert code in ((1, 2) if path.suffix in (".json", ".jsonl") else (1,)), (path, place)
        path.write_bytes(content)
    assert faults(recording) == []


def test_a_byte_of_a_row_that_changed(recording):
    path = Recording(recording).trajectory_file
    with h5py.File(path, "r+") as file:
        file["traj_4/env_states/actors/cube"][2, 3] += 1
    assert faults(recording) == [
        (path.name, None, None, "it was changed after it was written"),
        (path.name, 4, None, "its rows were changed after they were written"),
    ]


def test_rows_of_another_length(recording):
    path = Recording(recording).trajectory_file
    with h5py.File(path, "r+") as file:
        actions = file["traj_4/actions"][:-1]
        del file["traj_4/actions"]
        file["traj_4/actions"] = actions
    assert (path.name, 4, 5, "5 rows of actions for 6 steps; 6 are needed") in faults(recording)


def test_an_episode_that_is_not_among_the_rows(recording):
    path = Recording(recording).trajectory_file
    with h5py.File(path, "r+") as file:
        file.move("traj_4", "traj_44")
    found = faults(recording)
    assert (path.name, 4, None, "its rows are not there") in found
    assert (path.name, 44, None, "no line says that it has rows") in found


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("episode_seed", 0, "'episode_seed' is 0; 5004 is needed"),
        ("elapsed_steps", 7, "'elapsed_steps' is 7; 6 is needed"),
        ("success", False, "'success' is False; True is needed"),
        ("reset_kwargs", {}, "'reset_kwargs' is {}; {'options': {'episode_index': [4]}} is needed"),
    ],
)
def test_what_the_json_says_of_an_episode(recording, name, value, text):
    path = next(recording.glob("trajectory.*.json"))
    document = json.loads(path.read_text())
    document["episodes"][4][name] = value
    path.write_text(json.dumps(document))
    sign_again(recording)
    assert faults(recording) == [(path.name, 4, None, text)]


def test_the_order_of_episodes_in_the_json(recording):
    path = next(recording.glob("trajectory.*.json"))
    document = json.loads(path.read_text())
    document["episodes"].reverse()
    path.write_text(json.dumps(document))
    assert any("in this order" in text for file, _, _, text in faults(recording) if file == path.name)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"steps": 5}, "7 frames, 6 are needed"),
        ({"success": False}, "success is True in the last row and False in episodes.jsonl"),
        ({"episode_return": 7.0}, "the rewards add up to 6; episodes.jsonl says 7"),
        ({"ended": "truncated"}, "it ended as 'truncated', which the last row does not say"),
        ({"ended": "lost"}, "'ended' is 'lost'"),
        ({"kept": False}, "no line says that this episode was kept"),
        ({"videos": {"front": "videos/front/episode_000001.mp4"}}, "is said to be videos/front/episode_000001.mp4"),
        ({"videos": {"front": FRONT}}, "there is no video of camera 'arm/wrist'"),
        ({"error": "boom"}, "with the error 'boom'"),
    ],
)
def test_a_line_that_says_something_else(recording, changes, text):
    rewrite_line(recording, 4, **changes)
    found = faults(recording)
    assert any(episode == 4 and text in said for _, episode, _, said in found) or (text.startswith("7 frames") and found), found


def test_times_that_do_not_count_frames(recording):
    pictures = list(decode(recording / FRONT))
    writer = VideoWriter(recording / FRONT, *pictures[0].shape[:2], Fraction(20))
    for number, picture in enumerate(pictures):
        writer.frame_count = number + (number >= 4)
        writer.write(picture)
    writer.close()
    sign_again(recording)
    assert faults(recording) == [(FRONT, 4, 4, "presentation time 5; 4 is needed")]


def test_another_rate(recording):
    write_video(recording / FRONT, list(decode(recording / FRONT)), fps=25)
    sign_again(recording)
    assert faults(recording) == [(FRONT, 4, None, "times are in units of 1/25 s; 1/20 s are needed for 20 frames/s")]


@pytest.mark.parametrize("name", [FRONT, "overview.mp4", "fingerprints/episode_000004.bin", "trajectory", LINES])
def test_a_file_that_is_gone(recording, name):
    path = Recording(recording).trajectory_file if name == "trajectory" else recording / name
    path.unlink()
    assert any("not there" in text for *_, text in faults(recording))


def test_files_that_belong_to_nobody(recording):
    shutil.copy(recording / FRONT, recording / "videos/front/episode_000017.mp4")
    (recording / "videos/front/episode_000018.mp4.part").touch()
    assert faults(recording) == [
        ("videos/front/episode_000017.mp4", 17, None, "no line says that this episode was kept"),
        ("videos/front/episode_000018.mp4.part", None, None, "it was not finished; rollfilm recover deletes it"),
    ]


def test_the_command_names_each_fault_and_exits_with_1(recording, capsys):
    write_video(recording / FRONT, list(decode(recording / FRONT))[:-1])
    assert main(["verify", str(recording)]) == 1
    said = capsys.readouterr().out.splitlines()
    assert said[0] == f"{FRONT}, episode 4: it was changed after it was written"
    assert said[1] == f"{FRONT}, episode 4, frame 6: 6 frames, 7 are needed: frame 6 is missing"
    assert said[2].startswith("2 faults in ")


def test_a_folder_without_a_recording_is_one_line_and_exit_code_2(tmp_path, capsys):
    assert main(["verify", str(tmp_path)]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_a_codec_is_not_taken_for_a_fault():
    chance = np.random.default_rng(0)
    expected = np.cumsum(chance.normal(0, 12, (60, 16, 16)), 0) % 200 + 20
    tolerance = Tolerance.of_crf(28)
    decoded = np.clip(expected + chance.normal(0, 6, expected.shape), 0, 255).astype(np.uint8)
    assert what_is_shown(decoded, expected.astype(np.uint8), tolerance) == []
    still = np.full((30, 16, 16), 90, np.uint8)
    assert what_is_shown(still[::-1], still, tolerance) == [], "frames that do not differ cannot be told apart"
