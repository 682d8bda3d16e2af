"""Recordings of the filmed environment, and what its renderer said of each state meanwhile."""

import numpy as np

from counting_env import counting_policy
from filmed_env import FilmedVectorEnv
from rollfilm.evaluate.rollout import run_episodes
from rollfilm.record import Receipt, Recorder, RecorderOptions, ResetBatch, StepBatch
from rollfilm.record.manifest import describe_env

CAMERAS = {"front": (36, 48), "wrist": (31, 45), "eye": (20, 20), "own": (24, 30)}


class Watched:
    """An extra sink that keeps what the renderer said of each state that was recorded."""

    def __init__(self, env):
        self._env = env
        self.rows: dict[int, list[dict]] = {}

    def on_reset(self, episode, first):
        self.rows[episode.index] = []
        self._add(episode, first)

    def on_step(self, episode, row):
        self._add(episode, row.after)

    def on_episode_end(self, episode, outcome, *, keep):
        return Receipt()

    def close(self):
        pass

    def _add(self, episode, state):
        world, env = episode.world, self._env
        matrices = {name: [part[world].copy() for part in parts] for name, parts in env.renderer.camera_matrices().items()}
        poses = env.engine.body_poses()
        self.rows[episode.index].append(
            {
                "position": poses.position[world].copy(),
                "quat_wxyz": poses.quat_wxyz[world].copy(),
                "engine_state": env.engine.get_state()[world],
                "state_count": env.state_count,
                "matrices": matrices,
                "pictures": {name: picture.rgb.copy() for name, picture in state.pictures.items()},
            }
        )


def record(folder, num_envs=3, episodes=7, env_options=None, **options):
    env = FilmedVectorEnv(num_envs, CAMERAS, **(env_options or {}))
    watched = Watched(env)
    with Recorder(folder, describe_env(env), RecorderOptions(**options), extra_sinks=[watched]) as recorder:
        run_episodes(env, counting_policy, num_episodes=episodes, seed=7, recorder=recorder)
    return watched.rows


def record_with_looks(folder, looks_of, num_steps=4, watch=True):
    """One world; ``looks_of(frame)`` are set before the frame is taken where they are not None."""
    env = FilmedVectorEnv(1, CAMERAS, lengths=(num_steps,))
    watched = Watched(env)
    with Recorder(folder, describe_env(env), extra_sinks=[watched] if watch else []) as recorder:
        observation, _ = env.reset(seed=1)
        for frame in range(num_steps + 1):
            if frame:
                result = env.step(np.zeros((1, 2), np.float32))
            if (looks := looks_of(frame)) is not None:
                env.set_looks(looks)
            if frame:
                recorder.on_step(StepBatch.of_env(env, np.zeros((1, 2), np.float32), result))
            else:
                recorder.on_reset(ResetBatch.of_env(env, observation, [0], 1))
    return watched.rows.get(0)
