"""Pictures of an environment show its state, always."""

import threading
import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import rollfilm.envs
from rollfilm.errors import InvalidArgumentError, NotFoundError
from rollfilm.render import CameraRange, HeadlightRange, LightRange, LooksConfig, RenderOptions, WorldLooks
from rollfilm.scene import light_names

pytestmark = pytest.mark.robots

SMALL = {"front": (36, 48), "wrist": (20, 24)}


def pictures(env, camera="front"):
    return np.array(env.frames()[camera].rgb)


def test_frames_show_a_masked_reset_at_once(make_env):
    env = make_env(num_envs=3, cameras=SMALL)
    env.reset(seed=0)
    start = pictures(env)
    for _ in range(5):
        env.step(np.ones((3, 8)))
    moved = pictures(env)
    assert (moved != start).any(axis=(1, 2, 3)).all()
    env.reset(options={"reset_mask": np.array([False, True, False]), "episode_index": np.array([0, 1, 2])})
    after = pictures(env)
    assert env.frames().state_count == env.state_count
    np.testing.assert_array_equal(after[[0, 2]], moved[[0, 2]])
    np.testing.assert_array_equal(after[1], start[1])


def test_frames_show_looks_at_once(make_env):
    env = make_env(num_envs=3, cameras=SMALL)
    env.reset(seed=0)
    before = pictures(env)
    dark = WorldLooks(headlight_on=np.zeros(3, bool), light_on={n: np.zeros(3, bool) for n in light_names(env.engine.scene)})
    env.set_looks(dark, worlds=np.array([False, True, False]))
    after = pictures(env)
    np.testing.assert_array_equal(after[[0, 2]], before[[0, 2]])
    assert (after[1] != before[1]).any()
    env.set_looks(WorldLooks())
    np.testing.assert_array_equal(pictures(env), before)


def only(world):
    return np.arange(3) == world


@pytest.mark.parametrize("randomize", [True, LooksConfig(headlight=HeadlightRange(diffuse=((0, 0, 0), (1, 1, 1))))], ids=["own", "mine"])
def test_an_episode_looks_the_same_wherever_it_runs(make_env, randomize):
    env = make_env(num_envs=3, cameras=SMALL, randomize=randomize)
    env.reset(seed=0)
    shown = pictures(env)
    assert (shown[0] != shown[1]).any(axis=-1).mean() > 0.5
    env.reset(seed=0, options={"episode_index": np.array([2, 1, 0])})
    np.testing.assert_array_equal(pictures(env), shown[::-1])
    env.reset(options={"episode_index": np.array([1, 1, 1]), "reset_mask": only(2)})
    np.testing.assert_array_equal(pictures(env), shown[[2, 1, 1]])
    env.reset(seed=1)
    assert (pictures(env) != shown).any(axis=-1).mean() > 0.5
    alone = make_env(num_envs=1, cameras=SMALL, randomize=randomize)
    alone.reset(seed=0, options={"episode_index": np.array([2])})
    np.testing.assert_array_equal(pictures(alone), shown[2:])


def test_a_reset_observes_the_new_looks(make_env):
    env = make_env(num_envs=3, obs_mode="rgb", cameras=SMALL, randomize=True)
    observation, _ = env.reset(seed=0)
    np.testing.assert_array_equal(observation["rgb"]["front"], pictures(env))
    assert (observation["rgb"]["front"][0] != observation["rgb"]["front"][1]).any(axis=-1).mean() > 0.5
    later, *_ = env.step(np.zeros((3, 8)))
    assert (later["rgb"]["front"] != observation["rgb"]["front"]).any(axis=-1).mean() < 0.5  # looks last as long as the episode
    plain = make_env(num_envs=3, cameras=SMALL)
    plain.reset(seed=0)
    np.testing.assert_array_equal(env.episode_seed, plain.episode_seed)
    np.testing.assert_array_equal(env.state_vector()[:, 26:29], plain.state_vector()[:, 26:29])  # the goal is where it would be


def test_looks_that_cannot_be_are_refused_at_once():
    wrist = LooksConfig(cameras=(CameraRange(("wrist",), turn_rad=0.1),))
    for randomize, error, message in (
        (wrist, NotFoundError, "camera 'wrist', which is not filmed; filmed are: front"),
        (LooksConfig(lights=(LightRange(("sun",), off=0.5),)), NotFoundError, "sun"),
        (3, InvalidArgumentError, "randomize is 3; give True"),
    ):
        with pytest.raises(error, match=message):
            rollfilm.make("pick-cube", cameras={"front": (8, 8)}, randomize=randomize)
    for options in ({"randomize": True}, {"render": RenderOptions(samples=4)}):
        with pytest.raises(InvalidArgumentError, match="films no camera"):
            rollfilm.make("pick-cube", **options)
    with pytest.raises(InvalidArgumentError, match="render is 'mujoco'; give"):
        rollfilm.make("pick-cube", cameras={"front": (8, 8)}, render="mujoco")


def test_pictures_are_drawn_as_asked_for(make_env):
    plain, smooth = make_env(num_envs=1, cameras=SMALL), make_env(num_envs=1, cameras=SMALL, render=RenderOptions(samples=4))
    for env in (plain, smooth):
        env.reset(seed=0)
    assert smooth.render_options == RenderOptions(samples=4)
    assert (pictures(plain) != pictures(smooth)).any(axis=-1).mean() > 0.05


def test_an_environment_without_cameras_has_no_looks(make_env):
    with pytest.raises(InvalidArgumentError, match="films no camera"):
        make_env(num_envs=1).set_looks(WorldLooks())


def test_frames_show_a_state_that_was_set(make_env):
    env = make_env(num_envs=3, cameras=SMALL)
    env.reset(seed=0)
    saved, start = env.engine.get_state(), pictures(env, "wrist")
    for _ in range(5):
        env.step(np.ones((3, 8)))
    env.frames()
    env.engine.set_state(saved[::-1].copy())
    np.testing.assert_array_equal(pictures(env, "wrist"), start[::-1])


def test_a_state_is_rendered_once(make_env, monkeypatch):
    env = make_env(num_envs=3, cameras=SMALL)
    env.reset(seed=0)
    env.frames()
    calls = []
    render = env.renderer.render
    monkeypatch.setattr(env.renderer, "render", lambda source, **options: calls.append(1) or render(source, **options))
    for _ in range(2):
        env.step(np.zeros((3, 8)))
        spent = env.timings["render"]
        env.frames()
        env.render()
        assert env.timings["render"] > spent
        env.frames()
        env.observe()
    assert len(calls) == 2


def test_pictures_have_the_size_asked_for(make_env):
    env = make_env(num_envs=3, cameras=SMALL)
    env.reset(seed=0)
    assert env.frames()["front"].rgb.shape == (3, 36, 48, 3)
    assert env.frames()["wrist"].rgb.shape == (3, 20, 24, 3)


def test_the_cube_and_the_goal_are_seen(make_env):
    env = make_env(num_envs=16, cameras={"front": (128, 128)})
    env.reset(seed=0)
    seen = pictures(env).astype(int)
    red, green, blue = seen[..., 0], seen[..., 1], seen[..., 2]
    assert ((red > 2 * green) & (red > 2 * blue) & (red > 80)).sum(axis=(1, 2)).min() >= 4
    # A goal may hide behind the hand, but not in most worlds.
    assert (((green > 2 * red) & (green > 1.5 * blue) & (green > 80)).sum(axis=(1, 2)) >= 4).mean() > 0.8


def test_rgb_observations(make_env):
    env = make_env(num_envs=2, obs_mode="rgb", cameras=SMALL)
    observation, _ = env.reset(seed=0)
    assert observation in env.observation_space
    assert list(observation["rgb"]) == ["front", "wrist"]
    assert observation["state"].shape == (2, 29)
    kept = observation["rgb"]["front"].copy()
    following, *_ = env.step(np.ones((2, 8)))
    assert following in env.observation_space
    np.testing.assert_array_equal(observation["rgb"]["front"], kept, err_msg="an observation is the caller's own")
    assert (following["rgb"]["front"] != kept).any()


def test_a_camera_changes_nothing_but_pictures(make_env):
    plain, filmed = make_env(num_envs=3), make_env(num_envs=3, cameras=SMALL)
    for env in (plain, filmed):
        env.reset(seed=1)
    for _ in range(3):
        filmed.frames()
        for mine, other in zip(plain.step(np.ones((3, 8)))[:4], filmed.step(np.ones((3, 8)))[:4], strict=True):
            np.testing.assert_array_equal(mine, other)


def test_render_gives_a_picture_a_world():
    env = gymnasium.make_vec("rollfilm/PickCube-v0", num_envs=2, render_mode="rgb_array", cameras={"front": (32, 40)})
    env.reset(seed=0)
    frames = env.render()
    assert isinstance(frames, tuple)
    assert [frame.shape for frame in frames] == [(32, 40, 3)] * 2
    env.close()


def test_no_camera_no_frames(make_env):
    env = make_env(num_envs=2)
    env.reset(seed=0)
    assert env.render() is None
    with pytest.raises(InvalidArgumentError, match="cameras="):
        env.frames()


def test_gymnasiums_checker_passes_with_pictures():
    env = gymnasium.make("rollfilm/PickCube-v0", render_mode="rgb_array", obs_mode="rgb", cameras={"front": (24, 24)})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=".*Box observation space.*infinity.*")
        check_env(env.unwrapped)
    env.close()


def test_closing_ends_every_thread():
    before = set(threading.enumerate())
    env = rollfilm.make("pick-cube", num_envs=2, cameras={"front": (8, 8)}, num_threads=2)
    env.reset(seed=0)
    picture = env.frames()["front"].rgb
    started = {thread.name.rsplit("_", 1)[0] for thread in set(threading.enumerate()) - before}
    assert started == {"rollfilm-mujoco", "rollfilm-render"}
    shown = picture.copy()
    env.close()
    assert set(threading.enumerate()) <= before
    np.testing.assert_array_equal(picture, shown, err_msg="pictures that were handed out must outlive the environment")


def test_environments_are_registered_by_the_import():
    assert "rollfilm/PickCube-v0" in gymnasium.registry
    assert rollfilm.envs.task_names() == ("pick-cube",)


def test_only_worlds_that_changed_are_filmed(make_env, monkeypatch):
    env = make_env(num_envs=3, cameras={"front": (16, 16)})
    env.reset(seed=0)
    env.frames()
    asked = []
    render = env.renderer.render

    def spied(source, *, worlds=None):
        asked.append(None if worlds is None else worlds.tolist())
        return render(source, worlds=worlds)

    def fresh():
        """All worlds, whatever changed."""
        picture = env.frames()["front"].rgb.copy()
        np.testing.assert_array_equal(render(env.engine)["front"].rgb, picture)
        return picture

    monkeypatch.setattr(env.renderer, "render", spied)
    before = fresh()
    env.reset(options={"reset_mask": np.array([False, True, False])})
    after = fresh()
    assert asked == [[False, True, False]]
    assert (after[1] != before[1]).any()
    assert env.frames().state_count == env.state_count
    env.step(np.zeros(env.action_space.shape))
    fresh()
    # what changes the state from outside is seen too, also before what the environment does next
    env.engine.set_state(env.engine.get_state()[::-1].copy())
    fresh()
    env.engine.set_state(env.engine.get_state()[::-1].copy())
    env.reset(options={"reset_mask": np.array([False, True, False])})
    fresh()
    assert asked == [[False, True, False], None, None, None]
