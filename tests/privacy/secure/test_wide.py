"""Integer noise wider than a table: the stated distribution, decided exactly where floating point cannot decide."""

from __future__ import annotations

from fractions import Fraction
from math import factorial

import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import chi2, kstest

from error_rates import ALPHA, accepts_sigma
from partywise.privacy.mechanisms.random import SecureRandom, integer_noise
from partywise.privacy.secure import wide
from partywise.privacy.secure.wide import WIDEST, draw_wide_integers

SIGMA = 13.96 * 2.0**32


def words_of(seed):
    rng = np.random.default_rng(seed)
    return lambda n: rng.integers(0, 1 << 64, n, dtype=np.uint64)


def frequencies_fit(drawn, sigma):
    """P-value of the chi-squared test of a rounded distribution, cells of the tails joined."""
    reach = int(2.5 * sigma) + 1
    cuts = np.arange(-reach, reach) + 0.5
    expected = np.diff(np.concatenate(([0.0], ndtr(cuts / sigma), [1.0]))) * drawn.size
    counts = np.bincount(np.searchsorted(cuts, drawn), minlength=expected.size)
    return float(chi2.sf(np.sum((counts - expected) ** 2 / expected), expected.size - 1))


@pytest.mark.parametrize(("sigma", "stated", "fits"), [(1.7, 1.7, True), (1.7, 1.75, False), (0.6, 0.6, True)])
def test_the_distribution_is_the_rounded_one(sigma, stated, fits):
    assert (frequencies_fit(draw_wide_integers(words_of(1), sigma, 100_000), stated) > ALPHA) == fits


@pytest.mark.parametrize(("share", "fits"), [(1.0, True), (0.97, False)])
def test_wide_noise_has_the_stated_deviation(share, fits):
    drawn = draw_wide_integers(words_of(2), SIGMA, 60_000)
    assert accepts_sigma(drawn, share * SIGMA) == fits


def test_wide_noise_is_normal_inside_its_cells_too():
    drawn = draw_wide_integers(words_of(3), SIGMA, 60_000)
    assert kstest(drawn / SIGMA, "norm").pvalue > ALPHA
    # Seen at 2^-10 deviations, the width of a cell, it is spread evenly; so are even and odd numbers.
    assert kstest((drawn / SIGMA * 2.0**10) % 1, "uniform").pvalue > ALPHA
    assert abs(np.mean(drawn % 2) - 0.5) < 6 * 0.5 / np.sqrt(drawn.size)


def test_one_draw_rescaled():
    small, large = (draw_wide_integers(words_of(4), sigma, 500) for sigma in (2.0**20, 2.0**40))
    assert np.all(np.abs(large / 2.0**20 - small) <= 0.5)


def test_a_deviation_for_each_draw():
    """Those of one deviation are what a draw with that one alone gives, from the same words."""
    sigmas = np.where(np.arange(400) % 3 == 0, SIGMA, 2.0**20)
    both = draw_wide_integers(words_of(4), sigmas, 400)
    for sigma in (SIGMA, 2.0**20):
        alone = draw_wide_integers(words_of(4), sigma, 400)
        assert np.array_equal(both[sigmas == sigma], alone[sigmas == sigma])
    with pytest.raises(ValueError, match="coarser grid"):
        draw_wide_integers(words_of(4), np.where(sigmas == SIGMA, 0.0, sigmas), 400)


def test_every_doubt_is_settled_as_floats_settle_it(monkeypatch):
    plain = draw_wide_integers(words_of(5), SIGMA, 400)
    monkeypatch.setattr(wide, "DOUBT", 2.0)
    settled = draw_wide_integers(words_of(5), SIGMA, 400)
    np.testing.assert_array_equal(settled, plain)


def exact(cell, place, test):
    """Bounds of 1 - test - exp(-E) by a series of the exponential, in whole numbers."""
    one = 1 << 64
    inward = one - place if cell < 0 else place
    E = Fraction(inward * ((2 * abs(cell) - 1) * one + inward), one * one << 21)
    series = sum((-E) ** k / factorial(k) for k in range(12))
    return 1 - Fraction(test, one) - series, E**12


@pytest.mark.parametrize("cell", [900, -900, 3500])
@pytest.mark.parametrize("side", [-1, 1])
def test_the_boundary_is_where_the_exponential_is(cell, side):
    place, one = 3 << 62, 1 << 64
    gap, _ = exact(cell, place, 0)
    boundary = int(gap * one)
    test = boundary + side * (1 << 40)
    kept, found, bits = wide._settle(words_of(0), cell, place, test)
    margin, error = exact(cell, place, test)
    assert abs(margin) > error
    assert (kept, found, bits) == (margin < 0, place, 64)
    # On the boundary itself 64 bits do not decide, and further ones are drawn.
    assert wide._settle(words_of(0), cell, place, boundary)[2] > 64


@pytest.mark.parametrize(("further", "rounded"), [(2, 0), (3, 1)])
def test_a_place_that_straddles_two_integers_is_looked_at_closer(further, rounded):
    asked = []

    def words(n):
        asked.append(n)
        return np.array([further << 62] * n, dtype=np.uint64)

    # Three times the number, -1/2 + place / 2^64, passes 1/2 where the place is 2/3 of 2^64: between two whole ones.
    ratio = (3 << 10, 1)
    assert wide._round(words, 0, (2 << 64) // 3 - 1, 64, ratio) == 0
    assert wide._round(words, 0, (2 << 64) // 3 + 1, 64, ratio) == 1
    assert not asked
    assert wide._round(words, 0, (2 << 64) // 3, 64, ratio) == rounded
    assert asked == [1]


def test_secure_words_give_wide_noise_too():
    drawn = integer_noise(SecureRandom(), SIGMA, 2000, "rounded")
    assert drawn.dtype == np.int64
    assert 0.8 < np.std(drawn / SIGMA) < 1.2


@pytest.mark.parametrize("sigma", [0.0, -1.0, 2 * WIDEST, float("nan")])
def test_deviations_out_of_range_are_refused(sigma):
    with pytest.raises(ValueError, match="coarser grid"):
        draw_wide_integers(words_of(0), sigma, 3)


@pytest.mark.parametrize("sigma", [0.7, 2.0**15 + 0.1, SIGMA, 2.0**49])
def test_floating_point_rounds_as_integers_do(sigma, monkeypatch):
    quick = draw_wide_integers(words_of(6), sigma, 3000)
    nearest = wide._nearest

    def never_sure(cells, places, deviation):
        found, unsure = nearest(cells, places, deviation)
        assert (unsure.size < 0.01 * cells.size) == (sigma < 2.0**40)
        return found, np.arange(cells.size)

    monkeypatch.setattr(wide, "_nearest", never_sure)
    np.testing.assert_array_equal(draw_wide_integers(words_of(6), sigma, 3000), quick)
