import base64
import hashlib
import json
import os
import re
import tracemalloc

import pytest

from counting_env import CountingVectorEnv, counting_policy
from full_disk import files_of_at_most
from page_reader import Page
from recorded_files import lines
from rollfilm.errors import RecordingError, RecordingExistsError
from rollfilm.evaluate.rollout import run_episodes
from rollfilm.record import Recorder, RecorderOptions
from rollfilm.record.layout import Layout
from rollfilm.record.manifest import FORMAT
from rollfilm.record.page import write_page

NASTY = """</script><script>alert(1)</script> "quoted" 'it' & <b>bold</b> <!-- \u2028 ü"""


def record(folder, num_envs=3, episodes=9, sizes=None, env_options=None, **options):
    env = CountingVectorEnv(num_envs, sizes, **(env_options or {}))
    with Recorder.for_env(env, folder, RecorderOptions(seed=7, **options)) as recorder:
        run_episodes(env, counting_policy, num_episodes=episodes, seed=7, recorder=recorder)
    return Page(folder / "index.html")


def bare_recording(folder, episode_lines, **changes):
    """The two files that a page is made of."""
    manifest = {
        "format": FORMAT, "status": "complete", "error": None, "task": "t", "env_id": "T-v0", "engine": "e", "device": "cpu",
        "num_envs": 1, "obs_mode": "state", "control_mode": "c", "control_frequency_hz": 20, "seed": 0, "keep": "all", "fps": "20",
        "video": {"codec": "h264"}, "versions": {}, "run": {"started": "", "ended": None},
        "cameras": {"front": {"width": 8, "height": 8, "pad_right": 0, "pad_bottom": 0, "fov_y_rad": None}},
    }  # fmt: skip
    (folder / "recording.json").write_text(json.dumps(manifest | changes))
    with (folder / "episodes.jsonl").open("w") as file:
        file.writelines(json.dumps(line) + "\n" for line in episode_lines)
    return Layout(folder)


def episode_line(index, **changes):
    line = {"episode": index, "seed": index, "world": 0, "steps": 3, "ended": "terminated", "success": True, "success_once": True}
    return line | {"episode_return": 3.0, "kept": True, "error": None, "videos": {}} | changes


def test_the_page_says_what_the_lines_say(tmp_path):
    page = record(tmp_path, sizes={"front": (32, 32), "wrist": (16, 24)}, keep="success")
    assert page.recording["status"] == "complete"
    assert page.recording["fps"] == 20
    assert [(c["name"], c["width"], c["height"]) for c in page.recording["cameras"]] == [("front", 32, 32), ("wrist", 24, 16)]
    assert sorted(page.rows) == list(range(9))
    for line in lines(tmp_path):
        row = page.rows[line["episode"]]
        assert all(row[name] == line[name] for name in page.recording["columns"])
        for camera in ("front", "wrist"):
            assert row[camera] == (line["videos"][camera] if line["kept"] else None)
            assert row[camera] is None or (tmp_path / row[camera]).is_file()
    assert [index for index, row in page.rows.items() if row["front"] is None] == [3, 7]


def test_posters_lie_where_the_page_looks_for_them(tmp_path):
    page = record(tmp_path, sizes={"a/b #1": (32, 32), "wrist": (16, 24)}, keep="success")
    expected = {
        f"{camera['posters']}episode_{index:06d}.jpg"
        for camera in page.recording["cameras"]
        for index, row in page.rows.items()
        if row[camera["name"]]
    }
    assert len(expected) == 14
    assert {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.jpg")} == expected


def test_the_page_needs_nothing_but_itself(tmp_path):
    page = record(tmp_path)
    assert "://" not in page.source.replace("http://www.w3.org/2000/svg", ""), "an address of the network"
    references = [value for _, attributes in page.tags for name, value in attributes.items() if name in ("src", "href")]
    assert references == ["#episodes", "videos/"]
    assert "link" not in {tag for tag, _ in page.tags}


def test_no_other_script_and_no_other_style_is_allowed(tmp_path):
    page = record(tmp_path)
    policy = next(a["content"] for tag, a in page.tags if tag == "meta" and a.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none'; ")
    for directive, text in (("script-src", page.texts["script"]), ("style-src", page.texts["style"])):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{directive} 'sha256-{digest}'" in policy
    assert not [a for _, a in page.tags if any(name.startswith("on") or name == "style" for name in a)]


def test_names_and_errors_cannot_leave_their_place(tmp_path):
    lines = [episode_line(0, ended="failed", error=NASTY, kept=False, success=None), episode_line(1, videos={NASTY: "videos/a<b>.mp4"})]
    camera = {"width": 8, "height": 8, "pad_right": 0, "pad_bottom": 0, "fov_y_rad": None}
    layout = bare_recording(tmp_path, lines, task=NASTY, status="failed", error=NASTY, cameras={NASTY: camera}, keep=NASTY)
    write_page(layout)
    page = Page(layout.page)
    assert [tag for tag, _ in page.tags].count("script") == 2
    assert "b" not in {tag for tag, _ in page.tags}
    assert page.texts["title"] == page.texts["title"].replace("\n", "")
    assert NASTY in page.texts["title"]
    assert page.recording["task"] == page.recording["error"] == page.rows[0]["error"] == NASTY
    assert page.rows[1][NASTY] == "videos/a<b>.mp4"
    assert page.source.count("</script") == 2
    assert page.source.count("alert(1)") == page.source.count("alert(1)\\u003c") + page.source.count("alert(1)&lt;")


def test_what_a_browser_would_round_or_refuse_and_what_is_not_known_stays_what_it_is(tmp_path):
    lines = [
        episode_line(0, seed=2**63 + 1, episode_return=float("nan")),
        episode_line(1, seed=2**53 - 1, episode_return=float("-inf")),
        episode_line(2, success=None, success_once=None, seed=None, kept=False, videos={"front": "videos/front/gone.mp4"}),
    ]
    layout = bare_recording(tmp_path, lines)
    write_page(layout)
    rows = Page(layout.page).rows
    assert (rows[0]["seed"], rows[0]["episode_return"]) == ("9223372036854775809", "NaN")
    assert (rows[1]["seed"], rows[1]["episode_return"]) == (2**53 - 1, "-Infinity")
    assert (rows[2]["seed"], rows[2]["success"], rows[2]["success_once"], rows[2]["front"]) == (None, None, None, None)


def test_of_several_lines_of_an_episode_the_page_has_all_in_their_order(tmp_path):
    layout = bare_recording(tmp_path, [episode_line(1), episode_line(0), episode_line(1, kept=False)])
    write_page(layout)
    assert [(row[0], row[8]) for row in Page(layout.page).data["episodes"]] == [(1, True), (0, True), (1, False)]


def test_an_interrupted_recording_has_its_page(tmp_path):
    env = CountingVectorEnv(2)
    recorder = Recorder.for_env(env, tmp_path)
    run_episodes(env, counting_policy, num_episodes=2, seed=0, recorder=recorder)
    with pytest.raises(KeyboardInterrupt), recorder:
        run_episodes(env, _interrupting(), num_episodes=2, seed=1, recorder=recorder)
    page = Page(tmp_path / "index.html")
    assert page.recording["status"] == "interrupted"
    assert [line["ended"] for line in lines(tmp_path)] == ["terminated", "terminated", "cut", "cut"]
    assert len(page.data["episodes"]) == 4


def _interrupting():
    def policy(observation):
        if observation[0, 1] >= 2:
            raise KeyboardInterrupt
        return counting_policy(observation)

    return policy


def test_a_failed_recording_has_its_page_and_the_error_in_it(tmp_path):
    env = CountingVectorEnv(2)
    recorder = Recorder.for_env(env, tmp_path)
    run_episodes(env, counting_policy, num_episodes=2, seed=0, recorder=recorder)
    with pytest.raises(ZeroDivisionError), recorder:
        raise ZeroDivisionError("<i>nothing</i>")
    page = Page(tmp_path / "index.html")
    assert (page.recording["status"], page.recording["error"]) == ("failed", "<i>nothing</i>")
    assert sorted(page.rows) == [0, 1]


def test_without_a_page_there_is_neither_page_nor_poster(tmp_path):
    env = CountingVectorEnv(2)
    with Recorder.for_env(env, tmp_path, RecorderOptions(page=False)) as recorder:
        run_episodes(env, counting_policy, num_episodes=2, seed=0, recorder=recorder)
    assert not (tmp_path / "index.html").exists()
    assert not (tmp_path / "posters").exists()
    assert json.loads((tmp_path / "recording.json").read_text())["files"]["page"] is None


def test_the_page_is_the_same_on_every_day(tmp_path):
    pages = [record(tmp_path / name, num_envs, episodes=3).source for name, num_envs in (("a", 3), ("b", 3))]
    assert pages[0] == pages[1]
    assert not re.search(r"20\d\d-\d\d-\d\d", pages[0])


def test_pages_of_others_are_neither_overwritten_nor_deleted(tmp_path):
    (tmp_path / "index.html").write_text("<title>mine</title>")
    env = CountingVectorEnv(1)
    for overwrite in (False, True):
        with pytest.raises(RecordingError, match=r"index\.html is not the page of a recording") as caught:
            Recorder.for_env(env, tmp_path, RecorderOptions(overwrite=overwrite))
        assert not isinstance(caught.value, RecordingExistsError)
    assert os.listdir(tmp_path) == ["index.html"]
    Recorder.for_env(env, tmp_path, RecorderOptions(page=False)).close()
    Layout(tmp_path).remove()
    assert (tmp_path / "index.html").read_text() == "<title>mine</title>"


def test_overwriting_replaces_page_and_posters(tmp_path):
    record(tmp_path, episodes=9)
    page = record(tmp_path, episodes=2, overwrite=True)
    assert sorted(page.rows) == [0, 1]
    assert len(list(tmp_path.rglob("*.jpg"))) == 2
    Layout(tmp_path).remove()
    assert os.listdir(tmp_path) == []


def test_a_page_that_does_not_fit_on_the_disk_leaves_the_older_one(tmp_path):
    layout = bare_recording(tmp_path, [episode_line(0)])
    write_page(layout)
    before = layout.page.read_bytes()
    bare_recording(tmp_path, [episode_line(index) for index in range(2000)])
    with files_of_at_most(len(before) + 1000), pytest.raises(RecordingError, match=r"cannot write .*index\.html"):
        write_page(layout)
    assert layout.page.read_bytes() == before
    assert not list(tmp_path.glob("*.part"))


def test_memory_does_not_grow_with_the_number_of_episodes(tmp_path):
    peaks = []
    for count in (100, 10_000):
        layout = bare_recording(tmp_path, [episode_line(index) for index in range(count)])
        tracemalloc.start()
        write_page(layout)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert layout.page.stat().st_size > 500_000
    assert peaks[1] < peaks[0] + 50_000, peaks
