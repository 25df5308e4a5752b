"""Noise of the stated distribution, costs computed from certificates."""

import math
from fractions import Fraction

import numpy as np
import pytest

from error_rates import accepts_covariance, accepts_mean, accepts_sigma
from fixed import fixed
from partywise.core.errors import CertificationError
from partywise.core.randomness import stream
from partywise.methods.functional.bases import BSplineBasis
from partywise.privacy.accounting.calibration import classic_gaussian_sigma, gaussian_epsilon, mu_from_rho
from partywise.privacy.ledger.event import Event
from partywise.privacy.mechanisms import Gaussian, QuantileRadius, Release, SymmetricGaussian
from partywise.privacy.mechanisms.random import SecureRandom, require_secure
from partywise.privacy.statistics.bounded import Bounded, SensitivityCertificate
from partywise.privacy.statistics.moments import record_sum, second_moment
from partywise.privacy.statistics.records import clipped_coefficients
from partywise.privacy.statistics.whole import least_deviation

GRAM = BSplineBasis((0, 1), 15).gram


def constant(shape, sensitivity=2.0, **fields):
    certificate = {"norm": "l2", "unit": "features", "relation": "replace_one", "depends_on": {"features"}, **fields}
    return Bounded(np.zeros(shape), SensitivityCertificate(sensitivity, **certificate))


@pytest.mark.parametrize("sigma", [0.3, 40.0])
def test_noise_has_the_stated_deviation_and_one_percent_off_is_noticed(sigma):
    noise = Gaussian(sigma=sigma)(constant(1_000_000), stream(1, "noise"), owner="a").value
    assert accepts_sigma(noise, sigma) and accepts_mean(noise, 0.0, sigma)
    assert not accepts_sigma(noise, 1.01 * sigma) and not accepts_sigma(noise, 0.99 * sigma)
    assert not accepts_mean(noise, 0.02 * sigma, sigma)


def test_noise_has_the_stated_covariance_and_the_published_one_is_noticed():
    right, published = np.linalg.inv(GRAM), GRAM
    bounded = clipped_coefficients(np.zeros((100_000, 15)), fixed(GRAM), fixed(1.0))
    noise = Gaussian(covariance=fixed(right))(bounded, stream(1, "covariance"), owner="a").value
    assert accepts_covariance(noise, right)
    assert not accepts_covariance(noise, 1.02 * right)
    assert not accepts_covariance(noise, published)


def test_symmetric_noise_is_independent_on_the_upper_triangle_and_mirrored():
    n = 1500
    release = SymmetricGaussian(sigma=0.5)(constant((n, n)), stream(1, "symmetric"), owner="a")
    noise = release.value
    assert np.array_equal(noise, noise.T)
    assert accepts_sigma(noise[np.triu_indices(n)], 0.5) and not accepts_sigma(noise[np.triu_indices(n)], 0.505)
    assert accepts_sigma(np.diag(noise), 0.5) and not accepts_sigma(np.diag(noise), 0.5 * math.sqrt(2))
    assert release.event.mu == 2.0 / 0.5


def test_the_cost_of_independent_noise():
    event = Gaussian(sigma=0.5)(constant((10, 3)), stream(1, "a"), owner="p1").event
    assert (event.mu, event.sensitivity, event.norm) == (4.0, 2.0, "l2")
    assert (event.unit, event.relation, event.depends_on) == ("features", "replace_one", {"features"})
    assert (event.owner, event.audience, event.certified, event.sampler) == ("p1", ("*",), True, "simulation")


def test_the_right_geometry_costs_two_radii_and_the_published_one_three_hundred_times_more():
    s, radius = 0.5, 3.0
    bounded = clipped_coefficients(stream(1, "c").standard_normal((20, 15)), fixed(GRAM), fixed(radius))
    right = Gaussian(covariance=fixed(s**2 * np.linalg.inv(GRAM)))(bounded, stream(1, "a"), owner="p1").event
    published = Gaussian(covariance=fixed(s**2 * GRAM))(bounded, stream(1, "a"), owner="p1").event
    plain = Gaussian(sigma=s)(bounded, stream(1, "a"), owner="p1").event
    lowest = np.linalg.eigvalsh(GRAM)[0]
    assert right.mu == pytest.approx(2 * radius / s, rel=1e-10)
    assert published.mu == pytest.approx(2 * radius / s / lowest, rel=1e-10)
    assert plain.mu == pytest.approx(2 * radius / s / math.sqrt(lowest), rel=1e-10)
    assert published.mu / right.mu == pytest.approx(328, abs=0.5)


@pytest.mark.parametrize(
    ("q", "length", "real"),
    [(7, 1, 581), (10, 1, 1096), (15, 1, 2581), (20, 1, 4869), (30, 1, 11830), (15, 24, 15.4), (15, 365, 0.67)],
)
def test_the_published_noise_at_a_claimed_epsilon_of_one(q, length, real):
    gram = BSplineBasis((0, length), q).gram
    bounded = clipped_coefficients(np.zeros((1, q)), fixed(gram), fixed(1.0))
    s = classic_gaussian_sigma(1, 1e-5, 2.0, allow_uncertified=True)
    event = Gaussian(covariance=fixed(s**2 * gram))(bounded, stream(1, "a"), owner="p1", epsilon_claimed=1.0).event
    assert event.epsilon_claimed == 1.0 and event.certified
    assert gaussian_epsilon(event.mu, 1e-5) == pytest.approx(real, rel=5e-3)


@pytest.mark.parametrize("mu", [0.25, 1.0, 90.0])
def test_noise_can_be_scaled_to_a_wanted_mu(mu):
    bounded = clipped_coefficients(np.zeros((30_000, 15)), fixed(GRAM), fixed(1.5))
    plain = Gaussian(mu=mu)(constant(400_000), stream(1, "a"), owner="p1")
    assert plain.event.mu == mu and accepts_sigma(plain.value, 2.0 / mu)
    shaped = Gaussian(mu=mu, covariance=fixed(7.0 * np.linalg.inv(GRAM)))(bounded, stream(1, "b"), owner="p1")
    covariance = (3.0 / mu) ** 2 * np.linalg.inv(GRAM)
    assert shaped.event.mu == mu and accepts_covariance(shaped.value, covariance)
    again = Gaussian(covariance=fixed(covariance))(bounded, stream(1, "b"), owner="p1")
    assert again.event.mu == pytest.approx(mu, rel=1e-10)
    np.testing.assert_allclose(again.value, shaped.value, rtol=1e-9, atol=1e-9)


def test_one_generator_at_two_noise_levels_gives_one_draw_rescaled():
    bounded = clipped_coefficients(stream(1, "c").standard_normal((50, 15)), fixed(GRAM), fixed(1.0))
    base = np.linalg.inv(GRAM)
    one, ten = (
        Gaussian(covariance=fixed(s**2 * base))(bounded, stream(3, "e"), owner="a").value - bounded.value
        for s in (1, 10)
    )
    np.testing.assert_allclose(ten, 10 * one, rtol=1e-9, atol=1e-9)
    small, large = (Gaussian(sigma=s)(bounded, stream(3, "e"), owner="a").value - bounded.value for s in (1, 8))
    np.testing.assert_allclose(large, 8 * small, rtol=1e-9, atol=1e-9)
    generators = [stream(3, "e"), stream(3, "e")]
    for sigma, generator in zip((0.0, 5.0), generators, strict=True):
        Gaussian(sigma=sigma)(bounded, generator, owner="a")
    assert generators[0].random() == generators[1].random()


def test_no_noise_returns_the_value_and_costs_infinity():
    bounded = record_sum(np.ones((5, 2)), fixed(3.0))
    for mechanism in (Gaussian(sigma=0.0), Gaussian(mu=math.inf), Gaussian(covariance=fixed(np.zeros((2, 2))))):
        release = mechanism(bounded, stream(1, "a"), owner="a")
        assert np.array_equal(release.value, bounded.value) and release.event.mu == math.inf
    moment = second_moment(np.ones((5, 2)), fixed(3.0))
    assert SymmetricGaussian(0.0)(moment, stream(1, "a"), owner="a").event.mu == math.inf
    unclipped = clipped_coefficients(np.ones((2, 15)), fixed(GRAM), fixed(math.inf))
    assert Gaussian(sigma=1.0)(unclipped, stream(1, "a"), owner="a").event.mu == math.inf


def test_a_singular_covariance_adds_its_noise_and_costs_infinity():
    sigma = np.array([[1.0, 1.0], [1.0, 1.0]])
    release = Gaussian(covariance=fixed(sigma))(constant((100_000, 2)), stream(1, "a"), owner="a")
    assert release.event.mu == math.inf
    np.testing.assert_allclose(release.value[:, 0], release.value[:, 1], atol=1e-12)
    assert accepts_sigma(release.value[:, 0], 1.0)
    with pytest.raises(CertificationError, match="reaches mu=1"):
        Gaussian(mu=1.0, covariance=fixed(sigma))(constant((3, 2)), stream(1, "a"), owner="a")


def test_what_never_changes_costs_nothing():
    assert Gaussian(sigma=1.0)(constant(3, 0.0), stream(1, "a"), owner="a").event.mu == 0
    assert Gaussian(sigma=0.0)(constant(3, 0.0), stream(1, "a"), owner="a").event.mu == 0
    assert Gaussian(mu=1.0)(constant(3, 0.0), stream(1, "a"), owner="a").event.mu == 0


def test_scalars_stay_scalars():
    release = Gaussian(sigma=1.0)(constant(()), stream(1, "a"), owner="a")
    assert type(release.value) is float


def test_releases_name_themselves_by_their_value():
    bounded = constant(5)
    first = Gaussian(sigma=1.0)(bounded, stream(1, "a"), owner="a").event
    same = Gaussian(sigma=1.0)(bounded, stream(1, "a"), owner="a").event
    redrawn = Gaussian(sigma=1.0)(bounded, stream(1, "b"), owner="a").event
    named = Gaussian(sigma=1.0)(bounded, stream(1, "a"), owner="a", release_id="curves/3").event
    assert first == same and first.release_id != redrawn.release_id
    assert named.release_id == "curves/3" and named.noise_digest == first.noise_digest


def test_post_processing_costs_nothing_more_and_values_are_read_only():
    release = Gaussian(sigma=1.0)(constant(5), stream(1, "a"), owner="a")
    total = release.post_process(np.sum)
    assert total.event is release.event and total.value == release.value.sum()
    with pytest.raises(ValueError, match="read-only"):
        release.value[0] = 1


def test_terms_are_written_to_the_event():
    radius = QuantileRadius(0.1)(np.ones(50), stream(1, "r"), owner="p1", release_id="radius/1")
    event = Gaussian(sigma=1.0)(
        constant(3),
        stream(1, "a"),
        owner="p1",
        audience=("active", "server"),
        data_dependent_parameters=(radius, "edges/1"),
        trust_model="central",
    ).event
    assert event.audience == ("active", "server") and event.trust_model == "central"
    assert event.data_dependent_parameters == ("radius/1", "edges/1")
    one = Gaussian(sigma=1.0)(constant(3), stream(1, "a"), owner="p1", audience="active").event
    assert one.audience == ("active",)
    with pytest.raises(TypeError, match="data_dependent_parameters='radius'"):
        Gaussian(sigma=1.0)(constant(3), stream(1, "a"), owner="p1", data_dependent_parameters="radius")


def test_mechanisms_refuse_what_has_no_fitting_certificate():
    with pytest.raises(CertificationError, match="takes a Bounded statistic, got ndarray"):
        Gaussian(sigma=1.0)(np.zeros(3), stream(1, "a"), owner="a")
    for norm in ("l1", "distance"):
        with pytest.raises(CertificationError, match=f"'{norm}'"):
            Gaussian(sigma=1.0)(constant(3, norm=norm), stream(1, "a"), owner="a")
    with pytest.raises(CertificationError, match="'mahalanobis'"):
        SymmetricGaussian(1.0)(clipped_coefficients(np.eye(15), fixed(GRAM), fixed(1.0)), stream(1, "a"), owner="a")
    with pytest.raises(TypeError, match="must be an Event"):
        Release(np.zeros(3), None)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Gaussian(), "Gaussian got"),
        (lambda: Gaussian(sigma=1.0, covariance=np.eye(2)), "Gaussian got"),
        (lambda: Gaussian(mu=1.0, sigma=1.0), "Gaussian got"),
        (lambda: Gaussian(mu=0.0), "mu=0.0"),
        (lambda: Gaussian(sigma=-1.0), "sigma=-1.0"),
        (lambda: Gaussian(sigma=math.inf), "sigma=inf"),
        (lambda: SymmetricGaussian(math.nan), "sigma=nan"),
        (lambda: QuantileRadius(0.0), "rho=0.0"),
        (lambda: QuantileRadius(0.1, share=1.0), "share=1.0"),
        (lambda: QuantileRadius(0.1, smallest=fixed(0.0)), "smallest=0.0"),
        (lambda: Gaussian(covariance=fixed(np.eye(3)))(constant((5, 2)), stream(1, "a"), owner="a"), "last axis"),
        (
            lambda: Gaussian(covariance=fixed(np.diag([1.0, -1.0])))(constant(2), stream(1, "a"), owner="a"),
            "lambda_min = -1",
        ),
        (lambda: SymmetricGaussian(1.0)(constant((2, 3)), stream(1, "a"), owner="a"), "not a symmetric matrix"),
    ],
)
def test_bad_noise_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def private_radii(n, rho, repeats=400):
    norms = [np.sqrt(stream(5, "norms", n, k).chisquare(15, n)) for k in range(repeats)]
    return np.array([QuantileRadius(rho)(x, stream(5, "radius", n, k), owner="a").value for k, x in enumerate(norms)])


def test_private_radii_of_eight_hundred_records():
    low, median, high = np.quantile(private_radii(800, 0.01), [0.05, 0.5, 0.95])
    assert (round(low, 2), round(median, 2), round(high, 2)) == (5.19, 5.19, 5.66)


def test_private_radii_of_four_hundred_records_are_often_too_large():
    radii = private_radii(400, 0.01)
    assert round(np.quantile(radii, 0.05), 2) == 4.76
    # The first count is wrong if noise of sd sqrt(300) takes the 400 records below 380: probability 0.124.
    assert 0.05 < np.mean(radii >= 16) < 0.22


def test_a_private_radius_with_a_large_charge_is_the_next_grid_point():
    norms = np.linspace(0, 10, 1001)
    mechanism = QuantileRadius(1e12)
    release = mechanism(norms, stream(1, "r"), owner="a")
    assert release.value == mechanism.grid[np.searchsorted(mechanism.grid, 9.5)]
    assert QuantileRadius(1e12)(norms * 1e6, stream(1, "r"), owner="a").value == mechanism.grid[-1]
    assert QuantileRadius(1e12)(norms * 1e-6, stream(1, "r"), owner="a").value == mechanism.grid[0]
    assert QuantileRadius(1e12, share=0.5)(norms, stream(1, "r"), owner="a").value == pytest.approx(5.19, abs=0.01)


def test_the_charge_of_a_private_radius_is_what_its_six_counts_cost():
    release = QuantileRadius(0.01)(np.ones(100), stream(1, "r"), owner="p1", release_id="radius/1")
    event = release.event
    assert isinstance(event, Event) and event.mechanism == "quantile_radius" and event.release_id == "radius/1"
    assert event.mu == pytest.approx(math.sqrt(0.02), rel=1e-14)
    sigma = math.sqrt(6 / (2 * 0.01))
    assert 6 * (1 / sigma) ** 2 == pytest.approx(event.mu**2, rel=1e-12)
    assert (event.unit, event.relation, event.owner) == ("features", "replace_one", "p1")


@pytest.mark.parametrize("rho", [0.01, 0.5, 1e6])
def test_a_private_radius_from_the_operating_system_may_be_published_and_costs_what_it_says(rho):
    """Six counts of deviation s steps each: 6 / s^2 <= mu^2 in exact arithmetic, and no smaller float does."""
    release = QuantileRadius(rho)(np.full(50, 3.0), SecureRandom(), owner="p1")
    require_secure(release)
    assert release.event.exact and release.event.mu == mu_from_rho(rho)
    s = least_deviation(Fraction(6), release.event.mu)
    mu = Fraction(release.event.mu)
    assert 6 / Fraction(s) ** 2 <= mu**2 < 6 / Fraction(np.nextafter(s, 0.0)) ** 2
    # Records that all have one length: at a large rho the radius is the grid's next one.
    assert release.value in QuantileRadius(rho).grid and (rho < 1e6 or 3.0 <= release.value < 3.0 * 2**0.125)
