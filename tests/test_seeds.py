"""Numbers that follow from seeds and names alone."""

import numpy as np

from rollfilm.seeds import Lots, episode_seed

SEEDS = [episode_seed(7, k) for k in range(4000)]


def test_a_number_depends_on_its_seed_and_label_alone():
    many = Lots(SEEDS[:50], "looks")
    first = many.uniform("colour", 3)
    many.uniform("light", 5)
    order = np.random.default_rng(0).permutation(50)
    again = Lots([SEEDS[i] for i in order], "looks")
    again.uniform("light", 1)
    np.testing.assert_array_equal(again.uniform("colour", 3), first[order])
    np.testing.assert_array_equal(Lots(SEEDS[20:21], "looks").uniform("colour", 3), first[20:21])
    # more of them begin with the same
    np.testing.assert_array_equal(many.uniform("colour", 9)[:, :3], first)


def test_the_numbers_of_a_seed_stay_what_they_are():
    """Recordings are drawn again from their seeds: this must never change."""
    assert (Lots([0, 1], "looks").uniform("colour", 2) * 2**53).astype(np.int64).tolist() == [
        [3098440424771191, 533050427980348],
        [7565334206295324, 2475564112775425],
    ]


def test_numbers_are_spread_evenly_and_independent():
    lots = Lots(SEEDS, "looks")
    columns = [*lots.uniform("a", 3).T, *lots.uniform("b", 2).T, *Lots(SEEDS, "other").uniform("a", 2).T]
    columns += [np.roll(columns[0], 1)]
    bound = 4.5 / np.sqrt(len(SEEDS))  # more than four standard deviations of each figure
    for i, one in enumerate(columns):
        assert one.min() >= 0
        assert one.max() < 1
        # Kolmogorov's distance from even, whose 0.0001 quantile is about 2.2 / sqrt(n)
        assert np.abs(np.sort(one) - np.arange(len(one)) / len(one)).max() < 2.2 / np.sqrt(len(one))
        for other in columns[:i]:
            assert abs(np.corrcoef(one, other)[0, 1]) < bound


def test_seeds_side_by_side_are_not_alike():
    near = Lots(range(4000), "looks").uniform("a", 1)[:, 0]
    assert abs(np.corrcoef(near[:-1], near[1:])[0, 1]) < 4.5 / np.sqrt(4000)


def test_large_seeds_are_seeds():
    large = Lots([2**200, 2**200 + 1], "looks").uniform("a", 1)
    assert large[0] != large[1]
