"""Integers wider than a word: the stated distribution, and refusals."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import kstest

from error_rates import ALPHA, accepts_sigma
from partywise.privacy.secure.wide import draw_huge_integers, draw_wide_integers


def words_of(seed):
    rng = np.random.default_rng(seed)
    return lambda n: rng.integers(0, 1 << 64, n, dtype=np.uint64)


@pytest.mark.parametrize(("share", "fits"), [(1.0, True), (0.93, False)])
def test_integers_wider_than_a_word_have_the_stated_distribution(share, fits):
    sigma = 5.3 * 2.0**90
    drawn = draw_huge_integers(words_of(1), sigma, 12_000)
    scaled = np.array([float(one) for one in drawn]) / sigma
    assert accepts_sigma(scaled, share) == fits
    assert kstest(scaled, "norm").pvalue > ALPHA
    assert max(abs(one) for one in drawn) > 2**64
    # The lowest bits are those of a number that is spread evenly there.
    assert abs(np.mean([one % 2 for one in drawn]) - 0.5) < 6 * 0.5 / np.sqrt(len(drawn))


def test_the_same_words_give_the_draws_of_the_narrower_sampler():
    assert draw_huge_integers(words_of(2), 2.0**30, 300) == draw_wide_integers(words_of(2), 2.0**30, 300).tolist()


@pytest.mark.parametrize("sigma", [0.0, -1.0, np.inf, np.nan])
def test_a_deviation_out_of_range_is_refused(sigma):
    with pytest.raises(ValueError, match="sigma"):
        draw_huge_integers(words_of(1), sigma, 1)
