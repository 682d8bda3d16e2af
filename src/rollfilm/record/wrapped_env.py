"""What a recorder has to find out about an environment that someone else has written."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import Any, Literal, cast, get_args

import gymnasium
import numpy as np
from gymnasium.vector import VectorEnv
from numpy.typing import NDArray

from rollfilm.errors import InvalidArgumentError
from rollfilm.host import host_array
from rollfilm.record.manifest import EnvDescription, describe_env
from rollfilm.record.trees import first_leaf, plain
from rollfilm.render.request import CameraRequest
from rollfilm.scene import PoseSource

__all__ = ["AutoresetMode", "WrappedEnv"]

#: When worlds reset themselves: never, in the step after the one that ends an episode, or in the same. Gymnasium's names in small letters.
AutoresetMode = Literal["disabled", "next_step", "same_step"]

_OURS = ("frames", "state_count", "cameras", "env_states", "episode_index", "episode_seed", "config")
_FRAME_RATE_HZ = 30.0


class WrappedEnv:
    """An environment of any kind, as a batch of worlds: a Gymnasium vector environment, a batched one as ManiSkill's, or one world.

    Args:
        env: with ``reset`` and ``step``.
        autoreset_mode: when worlds reset themselves; None for what the environment says.

    Raises:
        InvalidArgumentError: a vector environment does not say when it resets, or the mode is unknown.

    Attributes:
        env: the environment.
        layers: it and what it wraps, outermost first.
        base: the innermost.
        num_envs: B.
        is_ours: whether the innermost one is of rollfilm's kind: it has frames, a counter of its state and episodes.
        is_maniskill: whether the innermost one is of ManiSkill's kind.
        autoreset_mode: when worlds reset themselves.
        batched: whether arrays have a world axis; None for a single world before its first reset.
    """

    def __init__(self, env: Any, autoreset_mode: AutoresetMode | Enum | None = None) -> None:
        self.env = env
        self.layers = list(_layers(env))
        self.base = self.layers[-1]
        self.num_envs = int(self.attribute("num_envs") or 1)
        self.is_ours = all(hasattr(self.base, name) for name in _OURS)
        self.is_maniskill = all(hasattr(self.base, name) for name in ("get_state_dict", "_episode_seed"))
        self.autoreset_mode = self._autoreset_mode(autoreset_mode)
        self.batched: bool | None = True if isinstance(env, VectorEnv) or self.num_envs > 1 else None
        if self.attribute("num_envs") is None:
            self.batched = False

    @property
    def ends_on_flags(self) -> bool:
        """Whether an episode is over once it is terminated or truncated. ManiSkill's goes on until the world is reset."""
        batched_only = self.batched is not False and not isinstance(self.env, VectorEnv)
        return self.autoreset_mode != "disabled" or self.is_ours or not (self.is_maniskill or batched_only)

    @property
    def parts(self) -> list[Any]:
        """The environments of one world each that a vector environment of Gymnasium steps in this process; else none."""
        parts = getattr(self.base, "envs", None)
        return parts if isinstance(parts, list) and len(parts) == self.num_envs else []

    def attribute(self, name: str) -> Any:
        """An attribute of the outermost layer that has it, or None."""
        return next((value for layer in self.layers if (value := getattr(layer, name, None)) is not None), None)

    def learn_from(self, observation: Any) -> None:
        """Find out from the first observation whether a single world's arrays have a world axis."""
        if self.batched is None:
            shape = np.shape(host_array(first_leaf(observation)))
            space = first_leaf_space(self.attribute("single_observation_space"))
            self.batched = shape == (1, *space.shape) if space is not None else shape[:1] == (1,)

    def rows(self, tree: Any, *, copy: bool = False) -> Any:
        """A tree of the environment as nested dictionaries of NumPy arrays (B, ...)."""
        return plain(tree, batched=self.batched is not False, copy=copy)

    def vector(self, values: Any, name: str) -> NDArray:
        """One value a world, (B,).

        Raises:
            InvalidArgumentError: there are more or fewer.
        """
        array = np.asarray(host_array(values)).reshape(-1)
        if array.shape != (self.num_envs,):
            raise InvalidArgumentError(f"step() gave {name} of shape {np.shape(host_array(values))} for {self.num_envs} worlds")
        return array

    def worlds_of(self, options: Mapping[str, Any] | None) -> list[int]:
        """The worlds that a reset with these options resets: Gymnasium's ``reset_mask``, ManiSkill's ``env_idx``, or all."""
        options = options or {}
        if (mask := options.get("reset_mask")) is not None:
            return np.flatnonzero(host_array(mask)).tolist()
        if (indices := options.get("env_idx")) is not None:
            return [int(world) for world in np.atleast_1d(host_array(indices))]
        return list(range(self.num_envs))

    def env_states(self) -> dict[str, Any]:
        """The current state in ManiSkill's layout, arrays (B, ...) on the host; empty where the environment has none."""
        if self.is_ours:
            return plain(self.base.env_states(), batched=True, copy=True)
        return plain(self.base.get_state_dict(), batched=True, copy=True) if self.is_maniskill else {}

    def seeds_of(self, seed: Any, worlds: Sequence[int]) -> dict[int, tuple[int | None, int | None]]:
        """The seed that made the episode of each world that has just been reset with ``seed``, and the run's seed it was derived from.

        None where nobody knows it: an episode after a reset without a seed has none that would make it again.
        """
        if self.is_ours:
            runs = getattr(self.base, "run_seeds", None)
            return {w: (int(self.base.episode_seed[w]), _integer(seed) if runs is None else int(runs[w])) for w in worlds}
        if self.is_maniskill and (seed is not None or getattr(self.base, "_enhanced_determinism", False)):
            return {w: (int(np.atleast_1d(host_array(self.base._episode_seed))[w]), None) for w in worlds}
        if seed is None:
            return dict.fromkeys(worlds, (None, None))
        if np.ndim(seed) > 0:
            return {w: (_integer(seed[w]), None) for w in worlds}
        if self.num_envs == 1:
            return dict.fromkeys(worlds, (_integer(seed), None))
        # Gymnasium's SyncVectorEnv and AsyncVectorEnv give world i the seed s + i; how others derive theirs is their own affair
        if self.attribute("env_fns") is not None:
            return {w: (int(seed) + w, None) for w in worlds}
        return dict.fromkeys(worlds, (None, _integer(seed)))

    def reset_kwargs_of(self, options: Mapping[str, Any] | None, world: int) -> dict[str, Any]:
        """What beside the seed a reset needs to make the episode of a world again, as JSON."""
        if self.is_ours:
            return {"options": {"episode_index": [int(self.base.episode_index[world])]}}
        kept = {name: value for name, value in (options or {}).items() if name not in ("reset_mask", "env_idx")}
        return {"options": as_json(kept)} if kept else {}

    def describe(
        self, cameras: Sequence[CameraRequest], poses: PoseSource | None = None, frame_rate_hz: float | None = None
    ) -> EnvDescription:
        """What the recorder has to know.

        Args:
            cameras: what is filmed.
            poses: what a renderer of ours films, if one does.
            frame_rate_hz: of videos, where nobody knows the control rate.
        """
        if self.is_ours:
            return _with_cameras(describe_env(self.base), cameras)
        spec = self.attribute("spec")
        metadata = self.attribute("metadata") or {}
        rate = self.attribute("control_freq") or self.attribute("control_frequency_hz") or metadata.get("render_fps")
        name = getattr(spec, "id", None) or type(self.base).__name__
        backend = getattr(getattr(self.base, "backend", None), "sim_backend", None) or type(self.base).__module__.split(".")[0]
        steps = self.attribute("max_episode_steps") or self.attribute("_max_episode_steps") or getattr(spec, "max_episode_steps", None)
        return EnvDescription(
            num_envs=self.num_envs,
            cameras=tuple(cameras),
            control_frequency_hz=float(rate or frame_rate_hz or _FRAME_RATE_HZ),
            task=name,
            env_id=name,
            env_kwargs=as_json(dict(getattr(spec, "kwargs", None) or {})),
            max_episode_steps=None if steps is None else int(steps),
            obs_mode=_word(self.attribute("obs_mode"), "state"),
            control_mode=_word(self.attribute("control_mode"), "none"),
            engine=_word(backend, "unknown"),
            device=str(self.attribute("device") or "cpu"),
            scene=None if poses is None else poses.scene,
        )

    def _autoreset_mode(self, asked: AutoresetMode | Enum | None) -> AutoresetMode:
        modes = get_args(AutoresetMode)
        if asked is not None:
            name = _mode_name(asked)
            if name not in modes:
                raise InvalidArgumentError(f"autoreset_mode={asked!r} was asked for; choose from {', '.join(modes)}")
            return cast(AutoresetMode, name)
        if not isinstance(self.env, VectorEnv):
            # the metadata of a single environment say nothing of it: ManiSkill's vector wrapper writes its own mode into them
            return "next_step" if any(isinstance(layer, gymnasium.wrappers.Autoreset) for layer in self.layers) else "disabled"
        if getattr(self.env, "auto_reset", True) is False:  # ManiSkill's vector wrapper says SAME_STEP all the same
            return "disabled"
        said = self.env.metadata.get("autoreset_mode")
        name = _mode_name(said)
        if name not in modes:
            raise InvalidArgumentError(
                f"the environment's metadata say autoreset_mode {said!r}, so nobody knows when its worlds are reset; "
                f"give autoreset_mode, one of {', '.join(modes)}"
            )
        return cast(AutoresetMode, name)


def _mode_name(mode: Any) -> Any:
    """Gymnasium's ``AutoresetMode.NEXT_STEP`` and its value ``"NextStep"`` are ``"next_step"``."""
    names = {"Disabled": "disabled", "NextStep": "next_step", "SameStep": "same_step"}
    value = mode.value if isinstance(mode, Enum) else mode
    return names.get(value, value) if isinstance(value, str) else value


def _layers(env: Any) -> Iterator[Any]:
    seen: set[int] = set()
    while env is not None and id(env) not in seen:
        seen.add(id(env))
        yield env
        inner = (getattr(env, "__dict__", {}).get(name) for name in ("env", "_env", "vector"))
        env = next((one for one in inner if hasattr(one, "step") and hasattr(one, "reset")), None)


def first_leaf_space(space: Any) -> Any:
    """The first space with a shape in a nested one, None if there is none."""
    while isinstance(space, gymnasium.spaces.Dict | gymnasium.spaces.Tuple):
        parts = list(space.spaces.values()) if isinstance(space, gymnasium.spaces.Dict) else list(space.spaces)
        space = parts[0] if parts else None
    return space if getattr(space, "shape", None) is not None else None


def as_json(value: Any) -> Any:
    """The value as JSON can hold it: arrays as lists, what it has no word for as text."""
    if isinstance(value, Mapping):
        return {str(name): as_json(item) for name, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [as_json(item) for item in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Path | Enum):
        return str(value)
    if isinstance(value, np.generic | np.ndarray) or hasattr(value, "detach"):
        return np.asarray(host_array(value)).tolist()
    return repr(value)


def _with_cameras(described: EnvDescription, cameras: Sequence[CameraRequest]) -> EnvDescription:
    names = {camera.name for camera in cameras}
    return replace(described, cameras=tuple(cameras), fov_y_rad={n: v for n, v in described.fov_y_rad.items() if n in names})


def _integer(value: Any) -> int | None:
    return None if value is None or np.ndim(value) else int(value)


def _word(value: Any, otherwise: str) -> str:
    """A name that can be a part of a file's name."""
    return "".join(c if c.isalnum() or c in "_-+" else "_" for c in value) if isinstance(value, str) and value else otherwise
