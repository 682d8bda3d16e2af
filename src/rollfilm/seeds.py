"""Seeds that follow from seeds: which episode gets which, and random numbers that depend on a seed and a name alone."""

import hashlib
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

__all__ = ["Lots", "episode_seed"]


def episode_seed(run_seed: int, episode_index: int) -> int:
    """The seed of episode ``episode_index`` of the run ``run_seed``: 53 bits, so that JSON readers in any language keep it exact."""
    sequence = np.random.SeedSequence(entropy=run_seed, spawn_key=(episode_index,))
    return int(sequence.generate_state(1, np.uint64)[0]) >> 11


class Lots:
    """Random numbers of B seeds. Each is a function of its seed, of ``purpose`` and of a label, and of nothing else: not of the other
    seeds, of their order, or of what else was drawn.

    Numbers are counted through the mixer of SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014),
    whose two keys a seed come from NumPy's SeedSequence.

    Args:
        seeds: B integers of 0 or more.
        purpose: what the numbers are for, so that other draws from the same seeds are independent.
    """

    def __init__(self, seeds: Iterable[int], purpose: str) -> None:
        spawn_key = (_number(purpose) >> 32,)
        states = [np.random.SeedSequence(entropy=int(seed), spawn_key=spawn_key).generate_state(2, np.uint64) for seed in seeds]
        self._keys = np.array(states, np.uint64).reshape(-1, 2)

    def __len__(self) -> int:
        return len(self._keys)

    def uniform(self, label: str, count: int) -> NDArray:
        """Numbers float64 (B, count) from 0 to below 1, multiples of 2^-53."""
        steps = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        start = _mixed(self._keys[:, :1] ^ np.uint64(_number(label)))
        return (_mixed(_mixed(start + steps) ^ self._keys[:, 1:]) >> np.uint64(11)) * 2.0**-53


def _number(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little")


def _mixed(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))
