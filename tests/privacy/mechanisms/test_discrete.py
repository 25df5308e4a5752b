"""Releases on a grid: what they cost, and what floating-point noise gives away."""

import math
import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from error_rates import ALPHA, accepts_covariance, accepts_mean, accepts_sigma
from fixed import fixed
from partywise.core.errors import BudgetExceeded, CertificationError
from partywise.core.randomness import stream
from partywise.methods.functional.bases import BSplineBasis
from partywise.privacy.accounting.calibration import analytic_gaussian_sigma
from partywise.privacy.audit.pairs import audit_pair
from partywise.privacy.mechanisms import Gaussian, SymmetricGaussian
from partywise.privacy.mechanisms.discrete import DiscreteGaussian, _moved_entries, quotient_up
from partywise.privacy.mechanisms.random import SecureRandom, require_secure
from partywise.privacy.secure.fixed_point import default_grid, fixed_point_sum
from partywise.privacy.statistics.bounded import Bounded, SensitivityCertificate
from partywise.privacy.statistics.moments import record_sum, second_moment
from partywise.privacy.statistics.records import clipped_coefficients

GRAM = BSplineBasis((0, 1), 15).gram


def constant(value, sensitivity=2.0, **fields):
    certificate = {"norm": "l2", "unit": "features", "relation": "replace_one", "depends_on": {"features"}, **fields}
    return Bounded(value, SensitivityCertificate(sensitivity, **certificate))


@pytest.mark.parametrize("distribution", ["rounded", "discrete"])
@pytest.mark.parametrize("source", [SecureRandom, lambda: stream(1, "noise")], ids=["secure", "simulation"])
def test_the_noise_has_the_stated_deviation_on_the_grid(source, distribution):
    value = np.linspace(-3, 3, 1_000_000)
    release = DiscreteGaussian(sigma=2.5, grid=2.0**-8, distribution=distribution)(constant(value), source())
    steps = release.value * 2.0**8
    noise = steps - np.rint(value * 2.0**8)
    assert np.array_equal(steps, np.rint(steps))
    deviation = math.sqrt(640.0**2 + (1 / 12 if distribution == "rounded" else 0.0))
    assert accepts_sigma(noise, deviation) and accepts_mean(noise, 0.0, deviation)
    assert not accepts_sigma(noise, 1.01 * deviation) and not accepts_sigma(noise, 0.99 * deviation)


def test_the_cost_is_that_of_the_rounded_value():
    bounded, g = constant(np.zeros((3, 3))), 2.0**-6
    moved = 2.0 + 3 * g
    rounded = DiscreteGaussian(sigma=0.5, grid=g)(bounded, SecureRandom(), owner="p1").event
    discrete = DiscreteGaussian(sigma=0.5, grid=g, distribution="discrete")(bounded, SecureRandom()).event
    assert rounded.mu == pytest.approx(moved / 0.5, rel=1e-14) and rounded.mu >= moved / 0.5
    assert discrete.rho == pytest.approx(moved**2 / (2 * 0.5**2), rel=1e-14) and discrete.mu is None
    assert (rounded.mechanism, discrete.mechanism) == ("rounded_gaussian", "discrete_gaussian")
    assert (rounded.owner, rounded.sampler, rounded.delta_numeric, rounded.certified) == ("p1", "secure", 0.0, True)
    assert (rounded.unit, rounded.relation, rounded.sensitivity) == ("features", "replace_one", 2.0)


@pytest.mark.parametrize("distribution", ["rounded", "discrete"])
@pytest.mark.parametrize("mu", [0.25, 1.0, 30.0])
def test_a_wanted_mu_is_met_with_the_rounding_included(mu, distribution):
    n, g = 400_000, 2.0**-8
    release = DiscreteGaussian(mu=mu, grid=g, distribution=distribution)(constant(np.zeros(n)), stream(1, "a"))
    moved = 2.0 + math.sqrt(n) * g
    assert (
        (release.event.mu == mu)
        if distribution == "rounded"
        else (release.event.rho == pytest.approx(mu**2 / 2, rel=1e-15))
    )
    assert accepts_sigma(release.value, moved / mu) and not accepts_sigma(release.value, 2.0 / mu)


def test_the_default_grid_is_a_power_of_two_near_a_thousandth_of_sigma():
    for sigma in (1e-9, 0.5, 1.0, 1.0000001, 3.73, 4.0, 7e11):
        grid = default_grid(sigma)
        assert math.frexp(grid)[0] == 0.5 and 512 < sigma / grid <= 1024
    plain = DiscreteGaussian(sigma=3.73)(constant(0.3), stream(1, "a"))
    assert (plain.value / 2.0**-8).is_integer() and isinstance(plain.value, float)
    assert plain.event.mu == pytest.approx((2.0 + 2.0**-8) / 3.73, rel=1e-14)
    wanted = DiscreteGaussian(mu=0.5)(constant(0.3), stream(1, "a"))
    assert (wanted.value / default_grid(4.0)).is_integer()


def test_a_statistic_on_the_grid_is_charged_no_rounding():
    counts = constant(np.arange(9.0), 1.0, grid=1.0)
    assert DiscreteGaussian(sigma=4.0)(counts, stream(1, "a")).event.mu == 0.25
    assert DiscreteGaussian(sigma=4.0, grid=1.0)(counts, stream(1, "a")).event.mu == 0.25
    # On a coarser grid the counts are moved.
    assert DiscreteGaussian(sigma=4.0, grid=2.0)(counts, stream(1, "a")).event.mu == pytest.approx((1 + 3 * 2) / 4)
    thirds = constant(np.arange(9.0) * 3, 3.0, grid=3.0)
    assert DiscreteGaussian(sigma=6.0, grid=0.5)(thirds, stream(1, "a")).event.mu == 0.5
    assert DiscreteGaussian(sigma=6.0, grid=2.0)(thirds, stream(1, "a")).event.mu == pytest.approx((3 + 3 * 2) / 6)


def test_a_false_claim_to_lie_on_a_grid_is_noticed():
    with pytest.raises(CertificationError, match=r"states grid=1\.0, but the value is not a multiple"):
        DiscreteGaussian(sigma=4.0)(constant(np.array([1.0, 2.5]), grid=1.0), stream(1, "a"))


def test_a_covariance_whitens_rounds_and_turns_back():
    radius = 1.5
    covariance = 7.0 * np.linalg.inv(GRAM)
    bounded = clipped_coefficients(stream(1, "c").standard_normal((60_000, 15)), fixed(GRAM), fixed(radius))
    # One record of fifteen coefficients moves.
    d, g = 15, 2.0**-10
    release = DiscreteGaussian(covariance=fixed(covariance), grid=g)(bounded, stream(1, "b"))
    exact = Gaussian(covariance=fixed(covariance))(bounded, stream(1, "b")).event.mu
    rounding = math.sqrt(d) * g * (1 + 16 / 256)
    assert release.event.mu == pytest.approx(exact + rounding, rel=1e-8) and release.event.mu >= exact + rounding
    noise = release.value - bounded.value
    assert accepts_covariance(noise, covariance)
    assert not accepts_covariance(noise, 1.02 * covariance) and not accepts_covariance(noise, 7.0 * GRAM)
    white = release.value @ np.linalg.inv(np.linalg.cholesky(covariance)).T / g
    assert np.max(np.abs(white - np.rint(white))) < 1e-6


def test_noise_of_a_shape_can_be_scaled_to_a_wanted_mu():
    bounded = clipped_coefficients(np.zeros((20_000, 15)), fixed(GRAM), fixed(1.0))
    release = DiscreteGaussian(mu=2.0, grid=2.0**-6, covariance=fixed(np.linalg.inv(GRAM)))(bounded, stream(1, "b"))
    scale = (2.0 + math.sqrt(15) * 2.0**-6 * (1 + 16 / 256)) / 2.0
    assert release.event.mu == 2.0
    assert accepts_covariance(release.value, scale**2 * np.linalg.inv(GRAM))
    assert not accepts_covariance(release.value, np.linalg.inv(GRAM))


def test_plain_noise_on_a_mahalanobis_certificate_pays_for_the_flattest_direction():
    bounded = clipped_coefficients(np.zeros((1, 15)), fixed(GRAM), fixed(1.0))
    lowest = np.linalg.eigvalsh(GRAM)[0]
    event = DiscreteGaussian(sigma=2.0, grid=2.0**-9)(bounded, stream(1, "b")).event
    assert event.mu == pytest.approx((2 / math.sqrt(lowest) + math.sqrt(15) * 2.0**-9) / 2, rel=1e-8)


def test_both_sources_give_one_distribution_and_one_release_never_mixes_them(monkeypatch):
    bounded = constant(np.zeros(1000), grid=2.0**-10)

    def refuse(*arguments):
        raise AssertionError("a simulated release asked the operating system for randomness")

    with monkeypatch.context() as patch:
        patch.setattr(os, "urandom", refuse)
        simulated = DiscreteGaussian(sigma=1.0)(bounded, stream(1, "a"))
        again = DiscreteGaussian(sigma=1.0)(bounded, stream(1, "a"))
    assert simulated.event.sampler == "simulation" and simulated.event == again.event

    class Counting(SecureRandom):
        def __init__(self):
            self.words = 0

        def _words(self, n):
            self.words += n
            return super()._words(n)

    source = Counting()
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    secure = DiscreteGaussian(sigma=1.0)(bounded, source)
    assert secure.event.sampler == "secure" and source.words == 1000
    assert np.array_equal(np.random.get_state()[1], state)  # noqa: NPY002
    require_secure(secure)
    with pytest.raises(CertificationError, match="sampler='simulation'"):
        require_secure(simulated)
    assert not np.array_equal(secure.value, DiscreteGaussian(sigma=1.0)(bounded, source).value)


@pytest.mark.parametrize("mechanism", [Gaussian(sigma=1.0), Gaussian(mu=1.0), SymmetricGaussian(1.0)])
def test_floating_point_noise_refuses_the_secure_source(mechanism):
    with pytest.raises(TypeError, match="DiscreteGaussian"):
        mechanism(second_moment(np.eye(3), fixed(1.0)), SecureRandom())


def test_a_budget_is_charged_before_noise_is_drawn():
    class Empty:
        def spend(self, event):
            raise BudgetExceeded(f"{event.mu} is too much")

    class Refusing(SecureRandom):
        def _words(self, n):
            raise AssertionError("noise was drawn")

    with pytest.raises(BudgetExceeded, match=r"0\.5"):
        DiscreteGaussian(mu=0.5)(constant(np.zeros(3)), Refusing(), budget=Empty())


def test_what_never_changes_costs_nothing():
    for mechanism in (DiscreteGaussian(mu=1.0), DiscreteGaussian(sigma=1.0)):
        event = mechanism(constant(np.full(3, 0.3), 0.0), stream(1, "a")).event
        assert event.mu == 0
    with pytest.raises(CertificationError, match="reaches mu=1"):
        DiscreteGaussian(mu=1.0)(constant(np.zeros(3), math.inf), stream(1, "a"))
    assert DiscreteGaussian(sigma=1.0)(constant(np.zeros(3), math.inf), stream(1, "a")).event.mu == math.inf


@pytest.mark.parametrize("value", [2.0**42, -(2.0**42), 1e300])
def test_entries_beyond_the_integers_are_refused_before_anything_is_drawn(value):
    with pytest.raises(OverflowError, match=r"grid=0\.0009765625.*coarser grid"):
        DiscreteGaussian(sigma=1.0)(constant(np.array([0.0, value])), stream(1, "a"))
    with pytest.raises(OverflowError, match="coarser grid"):
        DiscreteGaussian(covariance=fixed(np.eye(2)))(constant(np.array([0.0, value])), stream(1, "a"))
    largest = DiscreteGaussian(sigma=1.0)(constant(np.array([2.0**41])), stream(1, "a")).value
    assert np.array_equal(largest * 2.0**10, np.rint(largest * 2.0**10)) and abs(largest[0] - 2.0**41) < 10


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: DiscreteGaussian(), "DiscreteGaussian got"),
        (lambda: DiscreteGaussian(sigma=1.0, mu=1.0), "DiscreteGaussian got"),
        (lambda: DiscreteGaussian(sigma=0.0), r"sigma=0\.0"),
        (lambda: DiscreteGaussian(mu=math.inf), "mu=inf"),
        (lambda: DiscreteGaussian(mu=math.nan), "mu=nan"),
        (lambda: DiscreteGaussian(sigma=1.0, grid=0.1), r"grid=0\.1 must be a power of two"),
        (lambda: DiscreteGaussian(sigma=1.0, grid=-0.5), r"grid=-0\.5"),
        (lambda: DiscreteGaussian(sigma=1.0, distribution="float"), "distribution='float'"),
        (lambda: DiscreteGaussian(sigma=1.0, grid=4.0)(constant(0.0), stream(1, "a")), "sigma=0.25 grid units"),
        (
            lambda: DiscreteGaussian(covariance=fixed(np.ones((2, 2))))(constant(np.zeros(2)), stream(1, "a")),
            "definite",
        ),
        (
            lambda: DiscreteGaussian(covariance=fixed(np.eye(3)))(constant(np.zeros(2)), stream(1, "a")),
            "covariance has shape",
        ),
        (lambda: constant(0.0, grid=0.0), r"grid=0\.0"),
    ],
)
def test_bad_noise_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_only_certified_statistics_are_released():
    with pytest.raises(CertificationError, match="takes a Bounded statistic, got ndarray"):
        DiscreteGaussian(sigma=1.0)(np.zeros(3), SecureRandom())
    with pytest.raises(CertificationError, match="'l1'"):
        DiscreteGaussian(sigma=1.0)(constant(np.zeros(3), norm="l1"), SecureRandom())
    with pytest.raises(TypeError, match="not a random source"):
        DiscreteGaussian(sigma=1.0)(constant(np.zeros(3)), 7)


def test_quotients_are_rounded_up():
    rng = stream(9, "quotients")
    for top, bottom in zip(rng.uniform(1e-3, 1e3, 2000), rng.uniform(1e-3, 1e3, 2000), strict=True):
        a, b = quotient_up(top, bottom).as_integer_ratio()
        (c, d), (e, f) = bottom.as_integer_ratio(), top.as_integer_ratio()
        assert a * c * f >= e * b * d
        assert quotient_up(top, bottom) <= math.nextafter(top / bottom, math.inf)
    assert quotient_up(1.0, 4.0) == 0.25 and quotient_up(1.0, 3.0) > 1 / 3


# Fixed-point sums


finite = st.floats(-1e6, 1e6, allow_nan=False, width=64)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(finite, finite, finite), min_size=2, max_size=6), st.tuples(finite, finite, finite))
def test_a_replaced_record_moves_a_fixed_point_sum_by_at_most_two_radii(records, other):
    for radius, g in ((1.0, 2.0**-4), (0.3, 0.25), (1e3, 2.0**-20)):
        first, second = np.array(records), np.array([*records[:-1], other])
        one, two = (fixed_point_sum(x, fixed(radius), fixed(g)) for x in (first, second))
        steps = [int(x) for x in (one.value - two.value) / g]
        # In integers, so that the comparison itself is exact.
        top, bottom = radius.as_integer_ratio()
        scale_top, scale_bottom = g.as_integer_ratio()
        length = sum(step * step for step in steps) * (scale_top * bottom) ** 2
        assert length <= (2 * top * scale_bottom) ** 2
        assert one.certificate.value == 2 * radius and one.certificate.grid == g


def test_opposite_records_reach_the_bound():
    x = np.array([[3.0, 4.0]])
    one, two = (fixed_point_sum(sign * 10 * x, fixed(5.0), fixed(2.0**-20)).value for sign in (1, -1))
    assert 1 - 1e-6 < np.linalg.norm(one - two) / 10.0 <= 1


def test_the_order_of_records_moves_a_float_sum_and_no_fixed_point_sum():
    rng = stream(5, "order")
    records = rng.standard_normal((5000, 4)) * 10.0 ** rng.integers(-6, 6, (5000, 1))
    permuted = records[rng.permutation(5000)]
    assert np.array_equal(
        fixed_point_sum(records, fixed(1e5), fixed(2.0**-16)).value,
        fixed_point_sum(permuted, fixed(1e5), fixed(2.0**-16)).value,
    )
    assert not np.array_equal(record_sum(records, fixed(1e5)).value, record_sum(permuted, fixed(1e5)).value)


def test_fixed_point_sums_are_the_sums_and_know_their_grid():
    records = stream(5, "sum").standard_normal((400, 3))
    exact = record_sum(records, fixed(2.0))
    whole = fixed_point_sum(records, fixed(2.0), fixed(2.0**-20), unit="row", stratum="clients/p1")
    assert np.max(np.abs(exact.value - whole.value)) < 400 * 2.0**-20
    assert (
        whole.clip_share == exact.clip_share > 0 and whole.stratum == "clients/p1" and whole.certificate.unit == "row"
    )
    assert DiscreteGaussian(mu=1.0)(whole, SecureRandom()).event.mu == 1.0
    same = DiscreteGaussian(sigma=8.0, grid=2.0**-6)
    assert same(fixed_point_sum(records, fixed(2.0), fixed(2.0**-6)), SecureRandom()).event.mu == 0.5
    assert same(whole, SecureRandom()).event.mu == pytest.approx((4 + math.sqrt(3) * 2.0**-6) / 8)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((np.ones((4, 2)), fixed(1.0), fixed(0.3)), ValueError, r"grid=0\.3"),
        ((np.ones((4, 2)), fixed(math.inf), fixed(0.5)), ValueError, "radius=inf"),
        ((np.ones((4, 2)), fixed(0.0), fixed(0.5)), ValueError, r"radius=0\.0"),
        ((np.full((4, 2), np.nan), fixed(1.0), fixed(0.5)), ValueError, "not finite"),
        ((np.ones(4), fixed(1.0), fixed(0.5)), ValueError, "one record a row"),
        (
            (np.ones((1024, 2)), fixed(1.0), fixed(2.0**-42)),
            OverflowError,
            r"1024 records of radius=1\.0.*coarser grid",
        ),
    ],
)
def test_impossible_fixed_point_sums_are_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        fixed_point_sum(*arguments)


# What the low bits of floating-point noise show

DRAWS = 1_000_000
SIGMA = 3.73


def off_the_float_grid(y):
    """The event: y is not a multiple of 2^-53. No sum 1 + noise is; a small noise alone mostly is."""
    return np.ldexp(y, 53) != np.rint(np.ldexp(y, 53))


def worlds(mechanism, rng):
    """Outputs for a record at 0 and for its neighbour at 1; every entry is one audit run."""
    return [mechanism(constant(np.full(DRAWS, x), 1.0, grid=1.0), rng).value for x in (0.0, 1.0)]


def test_low_bits_of_float_noise_break_the_claim_and_the_audit_says_so():
    assert analytic_gaussian_sigma(1, 1e-5, 1.0) == pytest.approx(SIGMA, abs=1e-3)
    zero, one = (off_the_float_grid(y) for y in worlds(Gaussian(sigma=SIGMA), stream(11, "low bits")))
    assert not one.any()
    low, high = binom.interval(1 - ALPHA, DRAWS, 0.0709)
    # The published probability is rounded to four digits.
    assert low - 0.00005 * DRAWS < zero.sum() < high + 0.00005 * DRAWS
    audit = audit_pair(zero.astype(float), one.astype(float), 1e-5, gaussian=False)
    assert audit.eps_lower > 8 and audit.at_sample_limit


@pytest.mark.parametrize("source", [SecureRandom, lambda: stream(11, "grid")], ids=["secure", "simulation"])
def test_a_release_on_a_grid_shows_nothing_in_its_low_bits(source):
    for y in worlds(DiscreteGaussian(sigma=SIGMA), source()):
        assert not off_the_float_grid(y).any()


def test_the_audit_of_a_release_on_a_grid_finds_its_mu():
    rng, mechanism = stream(11, "audit"), DiscreteGaussian(sigma=SIGMA)
    mu = mechanism(constant(0.0, 1.0, grid=1.0), rng).event.mu
    assert mu == pytest.approx(1 / SIGMA, rel=1e-15)
    zero, one = worlds(mechanism, rng)
    assert 0.95 <= audit_pair(one, zero, 1e-5).mu_lower / mu <= 1
    # Noise of nine tenths of the stated deviation is caught.
    zero, one = worlds(DiscreteGaussian(sigma=0.9 * SIGMA), rng)
    assert audit_pair(one, zero, 1e-5).mu_lower / mu > 1


def test_a_unit_moves_its_records_in_all_their_columns():
    """At most as many records as there are; all entries where nobody says how many are its own."""
    assert [_moved_entries(n, (3, 2, 5)) for n in (1, 2, 9, None)] == [10, 20, 30, 30]
    assert _moved_entries(4, (7,)) == 4 and _moved_entries(4, ()) == 1
