"""Codecs other than h264, and what is stored beside colours."""

from dataclasses import replace

import h5py
import numpy as np
import pytest

from counting_env import CountingVectorEnv, counting_policy
from recorded_files import levels, lines
from rollfilm.errors import InvalidArgumentError, RollfilmError
from rollfilm.evaluate.rollout import run_episodes
from rollfilm.record import Recorder, RecorderOptions, VideoOptions
from rollfilm.record.reading import Recording

SIZES = [(64, 64), (84, 84), (90, 90), (63, 85)]
LENGTHS = (3, 4, 5)


def record(folder, env, num_episodes=4, **options):
    with Recorder.for_env(env, folder, RecorderOptions(**options)) as recorder:
        run_episodes(env, counting_policy, num_episodes=num_episodes, seed=0, recorder=recorder)
    return Recording(folder)


@pytest.mark.parametrize("codec", ["h264", "hevc", "av1", "ffv1"])
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_every_codec_holds_every_state_in_the_size_that_was_asked_for(tmp_path, codec, size):
    env = CountingVectorEnv(3, {"front": size}, contrast=20)
    recording = record(tmp_path, env, video=VideoOptions(codec=codec))
    for line in recording.episodes:
        video = recording.video("front", line["episode"])
        pictures = np.stack([video[k] for k in range(len(video))])
        assert pictures.shape == (line["steps"] + 1, *size, 3)
        expected = 10 * line["world"] + 20 * np.arange(line["steps"] + 1)
        assert np.abs(pictures.mean(axis=(1, 2, 3)) - expected).max() <= (0 if codec == "ffv1" else 3)
        assert list(video.pts) == list(range(line["steps"] + 1))


def test_ffv1_gives_back_every_byte(tmp_path):
    env = CountingVectorEnv(2, {"front": (63, 85)})
    noise = np.random.default_rng(0)
    plain, shown = env.frames, {}

    def noisy():
        frames = plain()
        frames["front"].rgb[:] = noise.integers(0, 256, frames["front"].rgb.shape)
        for world in range(2):
            shown[int(env.episode_index[world]), int(env.elapsed_steps[world])] = frames["front"].rgb[world].copy()
        return frames

    env.frames = noisy
    recording = record(tmp_path, env, num_episodes=2, video=VideoOptions(codec="ffv1"))
    for line in recording.episodes:
        video = recording.video("front", line["episode"])
        for k in range(line["steps"] + 1):
            np.testing.assert_array_equal(video[k], shown[line["episode"], k])


def test_an_encoder_that_this_machine_lacks_is_one_clear_error_before_the_first_step(tmp_path):
    import av

    try:
        av.codec.Codec("h264_nvenc", "w").create().open()
    except Exception:
        pass
    else:
        pytest.skip("there is a card that encodes")
    with pytest.raises(RollfilmError, match="h264_nvenc") as caught:
        record(tmp_path / "out", CountingVectorEnv(1), video=VideoOptions(codec="h264_nvenc"))
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("wrong", [{"codec": "h265"}, {"codec": "av1", "preset": "veryfast"}, {"codec": "ffv1", "crf": 20}])
def test_what_a_codec_does_not_know_is_refused(wrong):
    with pytest.raises(InvalidArgumentError):
        VideoOptions(**wrong)


def env_with_outputs(num_envs):
    env = CountingVectorEnv(num_envs, {"front": (63, 85), "wrist": (16, 16)}, contrast=20)
    front, wrist = env.cameras
    env.cameras = (replace(front, outputs=("rgb", "depth_m", "segmentation")), wrist)
    return env


def test_depth_and_ids_are_stored_as_they_are(tmp_path):
    record(tmp_path, env_with_outputs(3), num_episodes=7, keep=lambda episode, outcome: episode.index != 2)
    kept = [line for line in lines(tmp_path) if line["kept"]]
    assert len(kept) == 6
    pixels = np.arange(63 * 85).reshape(63, 85)
    for line in kept:
        with h5py.File(tmp_path / f"lossless/front/episode_{line['episode']:06d}.h5") as file:
            depth, ids = file["depth_m"], file["segmentation"]
            assert (depth.dtype, ids.dtype) == (np.float32, np.int32)
            assert depth.shape == ids.shape == (line["steps"] + 1, 63, 85)
            for k in range(line["steps"] + 1):
                value = pixels + 10 * line["world"] + 20 * k
                np.testing.assert_array_equal(depth[k], value.astype(np.float32) / 1000)
                np.testing.assert_array_equal(ids[k], -value)
    assert sorted(path.name for path in tmp_path.glob("lossless/*/*")) == sorted(f"episode_{line['episode']:06d}.h5" for line in kept)
    assert not list(tmp_path.rglob("*.part"))


def test_storing_depth_changes_no_video(tmp_path):
    record(tmp_path / "with", env_with_outputs(2))
    record(tmp_path / "without", CountingVectorEnv(2, {"front": (63, 85), "wrist": (16, 16)}, contrast=20))
    videos = sorted(path.relative_to(tmp_path / "with") for path in (tmp_path / "with").glob("videos/*/*.mp4"))
    assert len(videos) == 8
    for video in videos:
        assert (tmp_path / "with" / video).read_bytes() == (tmp_path / "without" / video).read_bytes()


def test_what_is_not_stored_on_request_leaves_no_file(tmp_path):
    record(tmp_path, env_with_outputs(2), outputs=("segmentation",))
    with h5py.File(next(tmp_path.glob("lossless/front/*.h5"))) as file:
        assert list(file) == ["segmentation"]
    assert levels(next(tmp_path.glob("videos/front/*.mp4"))), "videos are there all the same"
