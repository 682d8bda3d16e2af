"""Colours in every layout: held to the same picture pixel by pixel, and to the encoder's own conversion."""

import av
import numpy as np
import pytest
from av.video.reformatter import ColorRange, Colorspace

from render.moving import moving_scene, random_poses, worlds
from rollfilm.errors import InvalidArgumentError
from rollfilm.render import BatchRenderer, CameraRequest
from rollfilm.render.yuv import yuv420_of, yuv_weights

NUM_WORLDS = 3
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def filmed(size=(24, 30), num_threads=2, chosen=None, **layout):
    """Pictures (B, ...) of camera front, and of rider."""
    requests = [CameraRequest(name, *size, **layout) for name in ("front", "rider")]
    renderer = BatchRenderer(moving_scene(), NUM_WORLDS, requests, num_threads=num_threads)
    frames = renderer.render(worlds(random_poses(NUM_WORLDS, 2), np.arange(NUM_WORLDS)), worlds=chosen)
    pictures = {name: frames[name].rgb.copy() for name in frames}
    renderer.close()
    return pictures


@pytest.mark.parametrize("size", [(24, 30), (25, 31), (1, 1)])
def test_planes_hold_the_same_numbers(size):
    plain = filmed(size)
    for name, pictures in filmed(size, rgb_layout="nchw_uint8").items():
        assert pictures.dtype == np.uint8
        np.testing.assert_array_equal(pictures, plain[name].transpose(0, 3, 1, 2))


@pytest.mark.parametrize(("layout", "error"), [("nchw_float32", 1e-6), ("nchw_float16", 2e-3)])
@pytest.mark.parametrize("moments", [{}, {"rgb_mean": MEAN}, {"rgb_mean": MEAN, "rgb_std": STD}], ids=str)
def test_normalised_layouts(layout, error, moments):
    plain = filmed()
    mean, std = np.array(moments.get("rgb_mean", (0, 0, 0))), np.array(moments.get("rgb_std", (1, 1, 1)))
    for name, pictures in filmed(rgb_layout=layout, **moments).items():
        want = ((plain[name] / 255 - mean) / std).transpose(0, 3, 1, 2)
        assert pictures.dtype == np.dtype(layout.removeprefix("nchw_"))
        np.testing.assert_allclose(pictures.astype(float), want, atol=error)


def formula(picture, luma):
    """ITU-R BT.709 or BT.601 in 8 bits of limited range; chroma from the mean of four pixels."""
    even = np.pad(picture, [(0, picture.shape[0] % 2), (0, picture.shape[1] % 2), (0, 0)], mode="edge").astype(float)
    y = 16 + 219 / 255 * even @ luma
    mean = even.reshape(even.shape[0] // 2, 2, even.shape[1] // 2, 2, 3).mean(axis=(1, 3))
    u = 128 + 112 / 255 * (mean[..., 2] - mean @ luma) / (1 - luma[2])
    v = 128 + 112 / 255 * (mean[..., 0] - mean @ luma) / (1 - luma[0])
    return np.concatenate([y.ravel(), u.ravel(), v.ravel()]).reshape(even.shape[0] * 3 // 2, even.shape[1])


@pytest.mark.parametrize("size", [(24, 30), (25, 31), (26, 31), (1, 1)])
@pytest.mark.parametrize(("layout", "luma"), [("yuv420", (0.2126, 0.7152, 0.0722)), ("yuv420_bt601", (0.299, 0.587, 0.114))])
def test_yuv_is_the_formula(size, layout, luma):
    plain = filmed(size)
    for name, pictures in filmed(size, rgb_layout=layout).items():
        for w in range(NUM_WORLDS):
            assert np.abs(pictures[w] - formula(plain[name][w], np.array(luma))).max() <= 0.5 + 1e-3


@pytest.mark.parametrize("size", [(48, 60), (25, 31)])
def test_yuv_is_what_the_encoder_takes(size):
    plain, yuv = filmed(size)["front"], filmed(size, rgb_layout="yuv420")["front"]
    for rgb, planes in zip(plain, yuv, strict=True):
        frame = av.VideoFrame.from_ndarray(planes, format="yuv420p")
        assert (frame.height, frame.width) == (size[0] + size[0] % 2, size[1] + size[1] % 2)
        padded = np.pad(rgb, [(0, size[0] % 2), (0, size[1] % 2), (0, 0)], mode="edge")
        own = av.VideoFrame.from_ndarray(padded, format="rgb24").reformat(
            format="yuv420p", dst_colorspace=Colorspace.ITU709, dst_color_range=ColorRange.MPEG
        )
        difference = np.abs(own.to_ndarray().astype(int) - planes)
        rows = frame.height
        assert difference[:rows].max() <= 2
        assert difference[rows:].mean() < 2


def test_worlds_that_are_not_filmed_keep_their_pictures():
    whole, some = (filmed(rgb_layout="yuv420", chosen=chosen)["front"] for chosen in (None, [1]))
    np.testing.assert_array_equal(some[1], whole[1])
    assert not some[[0, 2]].any()


def test_threads_change_nothing_and_arrays_may_be_the_callers():
    one = filmed(rgb_layout="nchw_float16", num_threads=1)["front"]
    np.testing.assert_array_equal(filmed(rgb_layout="nchw_float16", num_threads=3)["front"], one)
    out = np.zeros((NUM_WORLDS, 3, 24, 30), np.float16)
    request = CameraRequest("front", 24, 30, rgb_layout="nchw_float16")
    renderer = BatchRenderer(moving_scene(), NUM_WORLDS, [request], out={"front": {"rgb": out}})
    renderer.render(worlds(random_poses(NUM_WORLDS, 2), np.arange(NUM_WORLDS)))
    np.testing.assert_array_equal(out, one)
    renderer.close()
    with pytest.raises(InvalidArgumentError, match=r"came as uint8 \(3, 24, 30, 3\); it must be float16 \(3, 3, 24, 30\)"):
        BatchRenderer(moving_scene(), NUM_WORLDS, [request], out={"front": {"rgb": np.zeros((3, 24, 30, 3), np.uint8)}})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"rgb_layout": "hwc"}, "rgb_layout 'hwc' is unknown; choose from nhwc_uint8, nchw_uint8"),
        ({"rgb_layout": "yuv420", "outputs": ("depth_m",)}, "rgb_layout 'yuv420' has no effect without the output 'rgb'"),
        ({"rgb_mean": MEAN}, "rgb_mean has no effect on nhwc_uint8"),
        ({"rgb_layout": "nchw_uint8", "rgb_std": STD}, "rgb_std has no effect on nchw_uint8"),
        ({"rgb_layout": "nchw_float32", "rgb_mean": (0.5, 0.5)}, "rgb_mean is .*give three finite numbers"),
        ({"rgb_layout": "nchw_float32", "rgb_mean": (0.5, float("nan"), 0.5)}, "rgb_mean is .*give three finite numbers"),
        ({"rgb_layout": "nchw_float32", "rgb_std": (0.5, 0.0, 0.5)}, "rgb_std is .*deviations above 0"),
        ({"rgb_layout": "nchw_float16", "rgb_std": (0.5, 1e-5, 0.5)}, r"with this .* numbers up to 1e\+05, which nchw_float16 cannot hold"),
        ({"rgb_layout": "nchw_float16", "rgb_mean": (0, 0, -7e4)}, r"with this .* numbers up to 7e\+04, which nchw_float16 cannot hold"),
        ({"rgb_layout": "nchw_float32", "rgb_std": (1, 1, 1e-39)}, "with this .* which nchw_float32 cannot hold"),
    ],
)
def test_layouts_that_are_none_are_refused(arguments, message):
    with pytest.raises(InvalidArgumentError, match=f"camera 'front': {message}"):
        CameraRequest("front", **arguments)


@pytest.mark.parametrize("size", [(24, 30), (25, 31), (1, 1), (2, 1), (1, 2), (63, 85)])
def test_planes_made_later_are_the_same_bytes(size):
    plain, planes = filmed(size), filmed(size, rgb_layout="yuv420")
    for name in plain:
        np.testing.assert_array_equal(yuv420_of(plain[name]), planes[name])


@pytest.mark.parametrize("size", [(6, 8), (5, 7)])
def test_yuv_is_the_same_on_every_machine(size):
    # whole numbers, as the kernel computes them
    rgb = np.random.default_rng(0).integers(0, 256, (2, *size, 3), np.uint8)
    even = np.pad(rgb, [(0, 0), (0, size[0] % 2), (0, size[1] % 2), (0, 0)], mode="edge").astype(int)
    y, u, v = yuv_weights((0.2126, 0.7152, 0.0722))
    sums = even.reshape(2, even.shape[1] // 2, 2, even.shape[2] // 2, 2, 3).sum(axis=(2, 4))
    parts = [16 + ((even @ y + (1 << 19)) >> 20), *(128 + ((sums @ part + (1 << 21)) >> 22) for part in (u, v))]
    want = np.concatenate([part.reshape(2, -1) for part in parts], axis=1)
    np.testing.assert_array_equal(yuv420_of(rgb).reshape(2, -1), want)


def test_grey_has_no_colour():
    grey = np.repeat(np.arange(256, dtype=np.uint8), 4 * 3).reshape(256, 2, 2, 3)
    planes = yuv420_of(grey).reshape(256, 6)
    assert (planes[:, 4:] == 128).all()
    assert planes[0, 0] == 16
    assert planes[255, 0] == 235
