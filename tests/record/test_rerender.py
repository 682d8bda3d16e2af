"""Frames that are filmed again from stored states are those that were seen online."""

import tracemalloc

import numpy as np
import pytest

from filmed_env import small_scene
from record_filmed import CAMERAS, record, record_with_looks
from rollfilm.engines.still import StillPoses
from rollfilm.errors import InvalidArgumentError, NotFoundError, RecordingError
from rollfilm.record.reading import Recording
from rollfilm.record.rerender import RerenderOptions, film_frames, looks_by_lot, rerender_episodes
from rollfilm.record.state_renderer import StateRenderer
from rollfilm.render import BatchRenderer, CameraRequest, GeomRange, HeadlightRange, LooksConfig, RenderOptions, WorldLooks, randomize
from rollfilm.scene import BodyPoses
from rollfilm.seeds import episode_seed

CONFIG = LooksConfig(
    geoms=(GeomRange(geoms=("box",), rgba=((0, 0, 0), (1, 1, 1))),), headlight=HeadlightRange(ambient=((0, 0, 0), (1, 1, 1)))
)


def all_frames(recording, **options):
    """Pictures (T + 1, H, W, 3) by episode and camera."""
    found: dict = {}
    for block in rerender_episodes(recording, options=RerenderOptions(**options)):
        for name, frames in block.cameras.items():
            parts = found.setdefault(block.episode, {}).setdefault(name, [])
            assert block.first == sum(map(len, parts))
            parts.append(np.array(frames.rgb))
    return {episode: {name: np.concatenate(parts) for name, parts in cameras.items()} for episode, cameras in found.items()}


def seen(rows, camera):
    return np.stack([row["pictures"][camera] for row in rows])


@pytest.mark.parametrize("batch_size", [1, 3, 32])
def test_with_the_same_cameras_the_bytes_are_those_seen_online(tmp_path, batch_size):
    rows = record(tmp_path)
    again = all_frames(Recording(tmp_path), batch_size=batch_size)
    assert sorted(again) == sorted(rows)
    for episode, cameras in again.items():
        assert set(cameras) == set(CAMERAS)
        for name, pictures in cameras.items():
            assert np.array_equal(pictures, seen(rows[episode], name)), (episode, name)
    assert len({pictures["front"].tobytes() for pictures in again.values()}) == len(again), "episodes differ"


def test_how_frames_were_drawn_is_remembered(tmp_path):
    plain = record(tmp_path / "plain", episodes=1)
    rows = record(tmp_path / "soft", episodes=1, env_options={"render_options": RenderOptions(samples=4, shadows=True)})
    assert not np.array_equal(seen(rows[0], "front"), seen(plain[0], "front"))
    assert np.array_equal(all_frames(Recording(tmp_path / "soft"))[0]["front"], seen(rows[0], "front"))
    assert np.array_equal(all_frames(Recording(tmp_path / "soft"), render=RenderOptions())[0]["front"], seen(plain[0], "front"))


@pytest.mark.parametrize("batch_size", [2, 32])
def test_looks_that_changed_within_an_episode_are_shown_again(tmp_path, batch_size):
    red = WorldLooks(geom_rgba={"box": [[1, 0, 0, 1]]})
    blue = WorldLooks(geom_rgba={"box": [[0, 0, 1, 1]]}, camera_offset={"wrist": [[0.02, 0, 0]]})
    rows = record_with_looks(tmp_path, {1: red, 3: blue, 4: WorldLooks()}.get)
    again = all_frames(Recording(tmp_path), batch_size=batch_size)[0]
    for name in CAMERAS:
        assert np.array_equal(again[name], seen(rows, name)), name
    assert not np.array_equal(again["front"][0], again["front"][1])


def test_other_cameras_and_sizes(tmp_path):
    rows = record(tmp_path, episodes=2)
    again = all_frames(Recording(tmp_path), cameras={"eye": (50, 61), "front": (36, 48)})
    assert again[1]["eye"].shape == (len(rows[1]), 50, 61, 3)
    assert np.array_equal(again[1]["front"], seen(rows[1], "front"))
    with pytest.raises(NotFoundError, match=r"no camera 'nowhere'.*own"):
        all_frames(Recording(tmp_path), cameras={"nowhere": (8, 8)})
    with pytest.raises(InvalidArgumentError, match="0x8"):
        all_frames(Recording(tmp_path), cameras={"front": (8, 0)})


def test_looks_by_lot_depend_on_seed_and_episode_alone(tmp_path):
    record(tmp_path, episodes=4)
    recording = Recording(tmp_path)
    looks = looks_by_lot(CONFIG, recording.scene, 5)
    again = all_frames(recording, looks_of=looks)
    for episode in (0, 3):
        poses = recording.states(episode).poses([1])
        renderer = BatchRenderer(small_scene(), 1, [CameraRequest("front", 36, 48)], num_threads=1)
        renderer.set_looks(randomize(CONFIG, small_scene(), [episode_seed(5, episode)]))
        expected = renderer.render(StillPoses(small_scene(), poses))["front"].rgb[0]
        assert np.array_equal(again[episode]["front"][1], expected)
    other = all_frames(recording, looks_of=looks_by_lot(CONFIG, recording.scene, 6))
    assert not np.array_equal(other[0]["front"], again[0]["front"])


def test_single_frames_in_any_order(tmp_path):
    rows = record(tmp_path)
    picks = [(2, 5), (0, 0), (6, 1), (0, 3), (6, 0), (1, 4), (2, 0)]
    found = []
    for episode, frame, pictures in film_frames(Recording(tmp_path), picks, RerenderOptions(batch_size=3)):
        found.append((episode, frame))
        for name, picture in pictures.items():
            assert np.array_equal(picture, rows[episode][frame]["pictures"][name])
    assert found == picks
    with pytest.raises(RecordingError, match="episode 0 has 4 states; there is no frame 4"):
        list(film_frames(Recording(tmp_path), [(0, 4)]))


def test_without_states_the_error_says_so(tmp_path):
    record(tmp_path, episodes=1, keep_states=False)
    with pytest.raises(RecordingError, match="without states"):
        list(rerender_episodes(Recording(tmp_path)))


def test_states_of_another_scene_are_refused(tmp_path):
    with (
        StateRenderer(small_scene(), [CameraRequest("front", 8, 8)], batch_size=2) as renderer,
        pytest.raises(RecordingError, match="states of 5 bodies came for a scene of 2"),
    ):
        renderer.film(BodyPoses(np.zeros((1, 5, 3), np.float32), np.zeros((1, 5, 4), np.float32)))


def test_memory_does_not_grow_with_the_episode(tmp_path):
    """Blocks are filmed one after the other: no array holds the episode."""
    peaks = {}
    for steps in (40, 800):
        record_with_looks(tmp_path / str(steps), lambda frame: None, num_steps=steps, watch=False)
        recording = Recording(tmp_path / str(steps))
        for _ in rerender_episodes(recording, options=RerenderOptions(batch_size=8)):
            pass
        tracemalloc.start()
        count = sum(block.count for block in rerender_episodes(recording, options=RerenderOptions(batch_size=8)))
        peaks[steps] = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert count == steps + 1
    assert peaks[800] < peaks[40] + 200_000, peaks
