"""Integer Gaussian noise: one distribution from a seed and from the operating system, exact for every neighbour."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats
from scipy.special import ndtr

from partywise.core.errors import CertificationError
from partywise.privacy.ledger.ledger import Ledger
from partywise.privacy.mechanisms.integer import NARROWEST, IntegerGaussian, draw_rounded, finer_bits
from partywise.privacy.mechanisms.random import SecureRandom, require_secure
from partywise.privacy.statistics.whole import whole

ALPHA = 1e-9


def statistic(size=1, squares=4 << 20, step=2.0**-10, **more):
    return whole(np.zeros(size), squares, step, "test", **more)


def chi_square(drawn, deviation):
    """p-value of rounded Gaussian noise, in forty cells of equal probability."""
    cuts = np.rint(deviation * stats.norm.ppf(np.arange(1, 40) / 40)).astype(float)
    cuts = np.unique(cuts) + 0.5
    expected = np.diff([0.0, *ndtr(cuts / deviation), 1.0]) * len(drawn)
    counts = np.bincount(np.searchsorted(cuts, drawn), minlength=len(cuts) + 1)
    return stats.chisquare(counts, expected).pvalue


@pytest.mark.parametrize("deviation", [16.0, 700.0, 1024.0, 2.0**34])
@pytest.mark.parametrize("source", [lambda: np.random.default_rng(1), SecureRandom], ids=["seeded", "secure"])
def test_both_sources_draw_the_stated_distribution(source, deviation):
    drawn = draw_rounded(source(), deviation, 100_000)
    assert chi_square(drawn, deviation) > ALPHA
    # A deviation that is off by 3 % is seen.
    assert chi_square(drawn, deviation * 1.03) < ALPHA


def test_noise_beyond_64_bits_is_drawn():
    drawn = draw_rounded(np.random.default_rng(2), 2.0**70, 2000)
    assert drawn.dtype == object
    assert 0.94 < float(np.std(drawn.astype(float))) / 2.0**70 < 1.06


@pytest.mark.parametrize("mu", [0.3, 1.0, 20.0, 5000.0])
def test_the_noise_is_that_of_mu_in_exact_arithmetic(mu):
    given = statistic(weights=np.array([1]))
    deviations = IntegerGaussian(mu=mu).deviations(given)
    assert Fraction(deviations[1]) ** 2 * Fraction(mu) ** 2 >= given.squares
    release = IntegerGaussian(mu=mu)(given, np.random.default_rng(3), owner="north")
    assert release.event.mu == mu and release.event.exact and release.event.mechanism == "rounded_gaussian"
    fine = given.finer(finer_bits(deviations.values()))
    assert deviations[1] * 2**fine.bits >= NARROWEST
    assert release.value[0] / fine.step == round(release.value[0] / fine.step)


def test_weights_have_noise_of_their_own_width():
    weights = np.repeat([1, 2], 20_000)
    given = whole(np.zeros(40_000), 2 << 40, 2.0**-20, "test", weights=weights)
    value = IntegerGaussian(mu=1.0)(given, np.random.default_rng(4), owner="north").value
    # In the units of the statistic the noise is the same for all: sqrt(2) steps are worth a diagonal one.
    sd = math.sqrt(2)
    for part in (value[:20_000], value[20_000:]):
        assert abs(np.std(part) / sd - 1) < 6.2 / math.sqrt(2 * len(part))


def test_the_same_words_at_two_budgets_are_one_draw_rescaled():
    given = statistic(50)
    one, other = (IntegerGaussian(mu=mu)(given, np.random.default_rng(5), owner="n").value for mu in (0.5, 0.0625))
    assert np.allclose(one * 8, other, rtol=0, atol=2.0**-8)


def test_a_given_deviation_states_its_own_mu():
    given = statistic(3)
    event = IntegerGaussian(sigma=4.0)(given, np.random.default_rng(6), owner="n").event
    assert event.mu == pytest.approx(2 * 2**10 * 2.0**-10 / 4.0, rel=1e-15)
    silent = IntegerGaussian(sigma=0.0)(given, np.random.default_rng(6), owner="n")
    assert silent.event.mu == math.inf and np.array_equal(silent.value, given.value)


def test_a_secure_source_is_not_asked_for_no_noise():
    for mechanism in (IntegerGaussian(mu=math.inf), IntegerGaussian(sigma=0.0)):
        with pytest.raises(CertificationError, match="adds no noise"):
            mechanism(statistic(), SecureRandom(), owner="n")
        with pytest.raises(CertificationError, match="adds no noise"):
            mechanism.draw(statistic(), SecureRandom())
    release = IntegerGaussian(mu=1.0)(statistic(), SecureRandom(), owner="n")
    require_secure(release)
    with pytest.raises(CertificationError, match="simulation"):
        require_secure(IntegerGaussian(mu=1.0)(statistic(), np.random.default_rng(7), owner="n"))


def test_only_whole_statistics_are_taken():
    with pytest.raises(CertificationError, match="takes a Whole"):
        IntegerGaussian(mu=1.0)(np.zeros(3), np.random.default_rng(8))
    for bad in ({}, {"mu": 1.0, "sigma": 1.0}, {"mu": 0.0}, {"sigma": -1.0}, {"sigma": math.inf}):
        with pytest.raises(ValueError):
            IntegerGaussian(**bad)


def test_the_ledger_certifies_the_noise():
    release = IntegerGaussian(mu=0.5)(statistic(4), np.random.default_rng(9), owner="north")
    ledger = Ledger([release.event])
    total = ledger.total("public", "row", 1e-5)
    assert total.mu_total == 0.5 and total.certified
    assert Ledger.from_rows(ledger.to_rows()).rows[0].exact
