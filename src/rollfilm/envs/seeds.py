"""Which episode gets which seed."""

import operator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rollfilm.errors import InvalidArgumentError
from rollfilm.seeds import episode_seed

__all__ = ["EpisodeSeeds", "episode_seed"]


class EpisodeSeeds:
    """Hands out episodes to worlds: each reset of a world begins an episode with an index and a seed of its own.

    All worlds share one run, whose indices are given out in slot order, unless each world was seeded by itself: then each has a run
    of its own.
    """

    def __init__(self, num_worlds: int):
        self._num_worlds = num_worlds
        self._run: list[int] = [0] * num_worlds
        self._shared_next: int | None = 0
        self._own_next = np.zeros(num_worlds, dtype=np.int64)
        self._started = False

    @property
    def runs(self) -> tuple[int, ...]:
        """The seed of the run that each world is in (B,)."""
        return tuple(self._run)

    def start_run(self, seed: Any) -> None:
        """Begin a run with the seed (an int), or with one each world (a sequence of B; None leaves that world its own).

        Raises:
            InvalidArgumentError: a negative seed, no integer, or a sequence of another length.
        """
        if np.ndim(seed) == 0:
            self._run = [_checked_seed(seed)] * self._num_worlds
            self._shared_next = 0
        else:
            seeds = list(seed)
            if len(seeds) != self._num_worlds:
                raise InvalidArgumentError(f"{len(seeds)} seeds were given for {self._num_worlds} worlds; give one seed, or one each world")
            checked = [None if one is None else _checked_seed(one) for one in seeds]
            self.ensure_run()
            for world, one in enumerate(checked):
                if one is not None:
                    self._run[world], self._own_next[world] = one, 0
                elif self._shared_next is not None:
                    self._own_next[world] = self._shared_next + world
            self._shared_next = None
        self._started = True

    def ensure_run(self) -> None:
        """Begin a run with a seed of the operating system's randomness, if none was begun."""
        if not self._started:
            entropy = np.random.SeedSequence().entropy
            assert isinstance(entropy, int)
            self.start_run(entropy >> 75)

    def take(self, mask: NDArray[np.bool_], chosen: NDArray[np.int64] | None) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Indices and seeds, int64 (B,), of the episodes that the masked worlds begin: the ``chosen`` ones (B,), or the next ones."""
        self.ensure_run()
        worlds = np.flatnonzero(mask)
        indices = np.zeros(self._num_worlds, dtype=np.int64)
        if chosen is not None:
            indices[worlds] = chosen[worlds]
        elif self._shared_next is not None:
            indices[worlds] = self._shared_next + np.arange(len(worlds))
        else:
            indices[worlds] = self._own_next[worlds]
        if self._shared_next is not None:
            self._shared_next = max(self._shared_next, int(indices[worlds].max(initial=-1)) + 1)
        else:
            self._own_next[worlds] = np.maximum(self._own_next[worlds], indices[worlds] + 1)
        seeds = np.zeros(self._num_worlds, dtype=np.int64)
        seeds[worlds] = [episode_seed(self._run[world], int(indices[world])) for world in worlds]
        return indices, seeds


def _checked_seed(seed: Any) -> int:
    try:
        value = operator.index(seed)
    except TypeError:
        raise InvalidArgumentError(f"the seed {seed!r} is no integer; give an integer of 0 or more") from None
    if value < 0:
        raise InvalidArgumentError(f"the seed {value} is negative; give an integer of 0 or more")
    return value
