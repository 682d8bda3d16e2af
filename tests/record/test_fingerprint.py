import numpy as np
import pytest

from counting_env import CountingVectorEnv, counting_policy
from full_disk import files_of_at_most
from rollfilm.errors import RecordingError
from rollfilm.evaluate.rollout import run_episodes
from rollfilm.record import Recorder, RecorderOptions
from rollfilm.record.fingerprint import FingerprintSpool, luma_of, read_fingerprints, sample
from rollfilm.record.layout import Layout


@pytest.mark.parametrize("size", [(1, 1), (2, 5), (16, 16), (17, 15), (64, 84), (63, 85), (720, 1280)])
def test_a_fingerprint_is_a_few_pixels_of_all_over_the_picture(size):
    rows, columns = np.indices(size)
    taken = sample(np.stack([rows, columns], axis=2))
    assert all(min(side, 8) <= length <= 16 for side, length in zip(size, taken.shape[:2], strict=True))
    for axis, side in enumerate(size):
        places = np.unique(taken[..., axis])
        step = -(-side // 16)
        assert places[0] < step
        assert places[-1] >= side - step
        assert set(np.diff(places)) <= {step}


def test_luma_is_what_the_video_stores():
    assert luma_of(np.array([[0, 0, 0], [255, 255, 255], [255, 0, 0], [0, 255, 0], [0, 0, 255]], np.uint8)).tolist() == [
        16,
        235,
        63,
        173,
        32,
    ]


def test_long_episodes_come_back_as_they_were(tmp_path):
    noise = np.random.default_rng(0)
    front, wrist = noise.integers(0, 256, (500, 20, 30, 3), np.uint8), noise.integers(0, 256, (500, 4, 4, 3), np.uint8)
    spool = FingerprintSpool(tmp_path)
    for pictures in zip(front, wrist, strict=True):
        spool.append(("front", "arm/wrist"), [luma_of(sample(picture)) for picture in pictures])
    spool.write(tmp_path / "x.bin")
    prints = read_fingerprints(tmp_path / "x.bin")
    assert list(prints) == ["front", "arm/wrist"]
    assert np.array_equal(prints["front"], luma_of(front[:, 1::2, 1::2]))
    assert np.array_equal(prints["arm/wrist"], luma_of(wrist))


def test_every_kept_episode_has_its_fingerprints(tmp_path):
    env = CountingVectorEnv(3, {"front": (32, 32), "wrist": (8, 8)}, contrast=20)
    with Recorder.for_env(env, tmp_path, RecorderOptions(keep="success")) as recorder:
        run_episodes(env, counting_policy, num_episodes=5, seed=0, recorder=recorder)
    layout = Layout(tmp_path)
    assert [path.name for path in sorted(layout.fingerprints.iterdir())] == [f"episode_{k:06d}.bin" for k in (0, 1, 2, 4)]
    prints = read_fingerprints(layout.fingerprint(1))
    assert prints["front"].shape == (5, 16, 16)
    assert prints["wrist"].shape == (5, 8, 8)
    assert prints["front"][:, 0, 0].tolist() == luma_of(np.repeat(10 + 20 * np.arange(5)[:, None], 3, 1).astype(np.uint8)).tolist()


@pytest.mark.parametrize("damage", [b"", b"{}", b"\xff\n", b'{"frames": 3, "cameras": {"front": [2, 2]}}\nxyz', None])
def test_what_is_no_file_of_fingerprints_is_one_error(tmp_path, damage):
    path = tmp_path / "x.bin"
    if damage is not None:
        path.write_bytes(damage)
    with pytest.raises(RecordingError, match=r"x\.bin cannot be read"):
        read_fingerprints(path)


def test_fingerprints_on_a_full_disk(tmp_path):
    spool = FingerprintSpool(tmp_path)
    noise = np.random.default_rng(0)

    def fill():
        for _ in range(9000):
            spool.append(("front",), [noise.integers(0, 256, (16, 16), np.uint8)])

    with files_of_at_most(10_000), pytest.raises(RecordingError, match="cannot keep the fingerprints of an episode"):
        fill()
