"""Noise in shares: the stated distribution from either source, and a release that costs what it states."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import kstest

from error_rates import ALPHA, accepts_sigma
from partywise.errors import CertificationError
from partywise.privacy.ledger.ledger import Ledger
from partywise.privacy.mechanisms.random import SecureRandom, require_secure
from partywise.privacy.mechanisms.shared_gaussian import SharedGaussian, SharedSum
from partywise.privacy.secure.wide import draw_huge_integers, draw_wide_integers
from partywise.privacy.statistics.bounded import sum_certificate
from partywise.randomness import stream

UNIT = 2.0**-72
BOUND = sum_certificate(3.0, "a test", "row", ("label", "features"))


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


@pytest.mark.parametrize("source", [SecureRandom(), stream(1, "noise")], ids=["secure", "simulation"])
@pytest.mark.parametrize(("share", "fits"), [(1.0, True), (0.9, False)])
def test_noise_is_that_of_its_parameter_in_every_unit(source, share, fits):
    units = np.repeat([UNIT, np.sqrt(2) * UNIT, 1.7e-8], 2_000)
    noise = SharedGaussian(0.6).noise(BOUND, units, source, "noise")
    assert all(isinstance(one, int) for one in noise)
    assert accepts_sigma(noise.astype(float) * units, share * 3.0 / 0.6) == fits


def test_one_draw_rescaled_at_every_epsilon():
    small, large = (SharedGaussian(mu).noise(BOUND, np.full(5, UNIT), stream(1, "a"), "x") for mu in (2.0, 0.5))
    np.testing.assert_allclose(large.astype(float), 4 * small.astype(float), rtol=1e-12)


def test_a_release_costs_its_parameter_to_every_view():
    total = np.array([2**80, -5], dtype=object)
    release = SharedGaussian(0.25)(
        SharedSum(total, "sums"), BOUND, np.array([UNIT, 1.0]), "secure", trust_model="distributed"
    )
    np.testing.assert_array_equal(release.value, [2.0**8, -5.0])
    require_secure(release)
    ledger = Ledger()
    ledger.append(release.event)
    assert [ledger.total(view, "row", 1e-5).mu_total for view in ((), ("dealer",), ("a", "b"))] == [0.25] * 3
    assert release.event.release_id == "sums" and release.event.trust_model == "distributed"


def test_no_noise_costs_infinity():
    shared, exact = SharedSum(np.array([3], dtype=object), "sum"), SharedGaussian(np.inf)
    assert exact.noise(BOUND, np.ones(1), stream(1, "a"), "sum").tolist() == [0]
    release = exact(shared, BOUND, np.ones(1), "simulation")
    assert release.event.mu == np.inf and release.value.tolist() == [3.0]


def test_what_has_no_finite_certificate_gets_no_noise():
    with pytest.raises(CertificationError, match="infinite"):
        SharedGaussian(1.0).deviation(sum_certificate(np.inf, "none", "row", ("label",)))
    with pytest.raises(CertificationError, match="norm"):
        SharedGaussian(1.0).deviation(sum_certificate(1.0, "none", "row", ("label",), norm="l1"))
    with pytest.raises(ValueError, match="mu"):
        SharedGaussian(0.0)
