"""Which episode gets which seed."""

import numpy as np
import pytest

from rollfilm.envs.seeds import EpisodeSeeds, episode_seed
from rollfilm.errors import InvalidArgumentError

ALL = np.ones(3, dtype=np.bool_)


def test_indices_go_out_in_slot_order():
    seeds = EpisodeSeeds(3)
    seeds.start_run(7)
    assert seeds.take(ALL, None)[0].tolist() == [0, 1, 2]
    mask = np.array([True, False, True])
    indices, given = seeds.take(mask, None)
    assert indices[mask].tolist() == [3, 4]
    assert given[mask].tolist() == [episode_seed(7, 3), episode_seed(7, 4)]


def test_chosen_indices_are_kept_and_never_given_out_again():
    seeds = EpisodeSeeds(3)
    seeds.start_run(0)
    seeds.take(ALL, np.array([10, 2, 5]))
    assert seeds.take(ALL, None)[0].tolist() == [11, 12, 13]


def test_a_seed_each_world_makes_a_run_each_world():
    seeds = EpisodeSeeds(3)
    seeds.start_run([5, 6, 5])
    first = seeds.take(ALL, None)
    assert first[0].tolist() == [0, 0, 0]
    assert first[1].tolist() == [episode_seed(5, 0), episode_seed(6, 0), episode_seed(5, 0)]
    assert seeds.take(np.array([False, True, False]), None)[0][1] == 1


def test_seeds_differ_and_fit_53_bits():
    values = {episode_seed(run, index) for run in range(20) for index in range(200)}
    assert len(values) == 4000
    assert max(values) < 2**53


def test_an_unseeded_run_has_a_seed_of_its_own():
    given = []
    for _ in range(2):
        seeds = EpisodeSeeds(3)
        given.append(seeds.take(ALL, None)[1].tolist())
    assert given[0] != given[1]


@pytest.mark.parametrize("seed", [-1, 1.5, "x", [1, 2], [1, 2, -3]])
def test_bad_seeds(seed):
    with pytest.raises(InvalidArgumentError):
        EpisodeSeeds(3).start_run(seed)
