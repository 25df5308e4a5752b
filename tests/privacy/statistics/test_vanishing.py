"""A sensitivity of 0 means that nothing can move, never that a square vanished; what overflows is infinite."""

import math
import sys

import numpy as np
import pytest

from fixed import fixed
from partywise.core.errors import CertificationError
from partywise.core.randomness import stream
from partywise.methods.inverse_regression.bounded import (
    bounded_means,
    bounded_second,
    whole_second,
    whole_second_and_mean,
    whole_slices,
)
from partywise.methods.inverse_regression.moments import client_moments
from partywise.methods.inverse_regression.screening import whole_contrasts
from partywise.methods.inverse_regression.slices import public_slices
from partywise.privacy.accounting.gaussian_profile import pure_mu
from partywise.privacy.audit.pairs import audit_pair
from partywise.privacy.ledger import compose as accounting
from partywise.privacy.ledger.budget import PrivacyFilter
from partywise.privacy.ledger.event import Event
from partywise.privacy.ledger.ledger import Ledger
from partywise.privacy.mechanisms import DiscreteGaussian, Gaussian, ReportNoisyMax, SymmetricGaussian
from partywise.privacy.mechanisms.random import SecureRandom
from partywise.privacy.mechanisms.release import ratio
from partywise.privacy.secure.fixed_point import fixed_point_sum
from partywise.privacy.statistics.bounded import Bounded, SensitivityCertificate, clip_curves
from partywise.privacy.statistics.clips import BoxClip
from partywise.privacy.statistics.geometry import Ball, lengths, mahalanobis
from partywise.privacy.statistics.moments import covariance, cross_moment, record_sum, second_moment
from partywise.privacy.statistics.records import clipped_coefficients, label_dot_product
from partywise.privacy.statistics.slices import slice_means

DELTA = 1e-5
SCALES = (5e-324, 1e-310, 1e-300, 1e-200, 1e-165, 1e-150, 1e-145, 1.0, 1e150, 1e160, 1e300)
X = np.array([[1.0, 0.5], [-1.0, 0.25], [0.5, -1.0], [0.0, 1.0]])
Y = np.array([0, 1, 1, 0])
METRIC = np.array([[2.0, 0.5], [0.5, 1.0]])
STATISTICS = {
    "second_moment": lambda s: second_moment(s * X, fixed(s)),
    "covariance": lambda s: covariance(s * X, fixed(s)),
    "covariance about 0": lambda s: covariance(s * X, fixed(s), centered=False),
    "cross_moment": lambda s: cross_moment(s * X, X, fixed(s), fixed(1.0)),
    "cross_moment of both": lambda s: cross_moment(s * X, s * X, fixed(s), fixed(s)),
    "record_sum": lambda s: record_sum(s * X, fixed(s)),
    "fixed_point_sum": lambda s: fixed_point_sum(s * X, fixed(s), fixed(2.0 ** (math.frexp(s)[1] - 20))),
    "coefficients": lambda s: clipped_coefficients(s * X, None, fixed(s)),
    "coefficients of curves": lambda s: clipped_coefficients(s * X[:, None], None, fixed(np.array([s]))),
    "coefficients in a metric": lambda s: clipped_coefficients(s * X, fixed(METRIC), fixed(s)),
    "coefficients in a small metric": lambda s: clipped_coefficients(X, fixed(s * METRIC), fixed(1.0)),
    "label_dot_product": lambda s: label_dot_product(s * X, Y),
    "slice_means": lambda s: slice_means(s * X, Y, fixed([0.5]), radius=fixed(s)),
    "slice_means in a box": lambda s: slice_means(s * X, Y, fixed([0.5]), box=fixed(s)),
}
MECHANISMS = {
    "gaussian": lambda bounded: Gaussian(mu=1.0)(bounded, stream(1, "a")),
    "gaussian, sigma": lambda bounded: Gaussian(sigma=1.0)(bounded, stream(1, "a")),
    "gaussian, shaped": lambda bounded: Gaussian(mu=1.0, covariance=fixed(METRIC))(bounded, stream(1, "a")),
    "secure": lambda bounded: DiscreteGaussian(mu=1.0)(bounded, SecureRandom()),
    "secure, discrete": lambda bounded: DiscreteGaussian(mu=1.0, distribution="discrete")(bounded, SecureRandom()),
    "secure, sigma": lambda bounded: DiscreteGaussian(sigma=1.0)(bounded, SecureRandom()),
    "secure, shaped": lambda bounded: DiscreteGaussian(mu=1.0, covariance=fixed(METRIC))(bounded, SecureRandom()),
}
NAMED = (ValueError, CertificationError, OverflowError)


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("statistic", STATISTICS)
def test_no_scale_of_the_data_gets_a_release_for_nothing(statistic, mechanism):
    """At every scale the release costs something, or a named error says why there is none."""
    made = 0
    for scale in SCALES:
        try:
            with np.errstate(over="ignore", invalid="ignore"):
                release = MECHANISMS[mechanism](STATISTICS[statistic](scale))
        except NAMED as error:
            assert str(error).endswith(".") and "nan" not in str(error), (scale, error)
            assert scale != 1.0, error
            continue
        event, made = release.event, made + 1
        assert event.sensitivity > 0, scale
        if "sigma" not in mechanism:
            assert (event.mu, event.rho) in ((1.0, None), (None, math.nextafter(0.5, 1))), scale
        assert not event.profile.free and accounting.epsilon([event], 0.0) == math.inf, scale
        assert accounting.delta([event], 1.0) > 0
        unit = "label" if event.unit == "label" else "features" if event.unit == "features" else "row"
        assert Ledger([event]).total("server", unit, 0.0).epsilon_certified == math.inf
    assert made


def test_a_sensitivity_has_a_full_float_or_is_zero():
    for value in (5e-324, 1e-310, 1e-291):
        with pytest.raises(ValueError, match="of a sensitivity is below 1e-290"):
            SensitivityCertificate(value, "l2", "row", "replace_one", frozenset({"label"}))
    for radius in (5e-324, 1e-300):
        with pytest.raises(ValueError, match=r"radius=.* must be positive, at least 1e-290\."):
            clip_curves(X, None, radius)
    for call in (second_moment, covariance, lambda x, radius: cross_moment(x, x, radius, radius)):
        with pytest.raises(ValueError, match="so small that the product 1e-165 x 1e-165 has no float; rescale"):
            call(1e-165 * X, fixed(1e-165))
        assert call(1e-139 * X, fixed(1e-139)).certificate.value > 0
        assert call(X, fixed(1e160)).certificate.value == math.inf


def test_lengths_at_every_scale():
    for exponent in (-1070, -800, -500, 0, 500, 1020):
        vectors = np.ldexp(np.array([[3.0, 4.0], [0.0, 0.0], [1.0, 0.0]]), exponent)
        assert lengths(vectors).tolist() == [math.ldexp(5.0, exponent), 0.0, math.ldexp(1.0, exponent)]
    vectors = np.random.default_rng(0).standard_normal((1000, 7))
    assert np.array_equal(lengths(vectors), np.linalg.norm(vectors, axis=1))
    assert lengths(np.full((1, 4), sys.float_info.max))[0] == math.inf


@pytest.mark.parametrize("scale", [1e-300, 1e-165, 1.0, 1e165, 1e300])
def test_a_difference_of_any_scale_has_its_length(scale):
    for differences in (Ball(scale), scale * np.eye(2), Ball(scale, np.eye(2))):
        assert mahalanobis(differences, np.eye(2)) == pytest.approx(scale, rel=1e-14)
    for variance in (1e-300, 1e-100, 1e100, 1e300):
        found = mahalanobis(scale * np.eye(2), variance * np.eye(2))
        assert found == pytest.approx(scale / math.sqrt(variance), rel=1e-13) and found > 0
        assert mahalanobis(Ball(scale), variance * np.eye(2)) == pytest.approx(scale / math.sqrt(variance), rel=1e-13)
    assert mahalanobis(np.zeros((1, 2)), np.eye(2)) == 0 == mahalanobis(Ball(0.0), np.eye(2))


def certified(value, norm="l2"):
    return SensitivityCertificate(value, norm, "row", "replace_one", frozenset({"features"}))


def test_noise_over_sensitivity_never_becomes_zero():
    assert ratio(0.0, 1.0) == 0 == ratio(1.0, math.inf) and ratio(1.0, 0.0) == math.inf
    assert ratio(1e-290, 1e200) > 0 and ratio(1e200, 1e-290) == math.inf
    small = Bounded(np.ones(2), certified(1e-290))
    for release in (
        Gaussian(sigma=1e200)(small, stream(1, "a")),
        SymmetricGaussian(sigma=1e200)(Bounded(np.eye(2), certified(1e-290)), stream(1, "a")),
        Gaussian(covariance=fixed(1e300 * np.eye(2)))(small, stream(1, "a")),
        DiscreteGaussian(sigma=1e140, grid=2.0**455)(small, SecureRandom()),
    ):
        assert release.event.mu > 0 and not release.event.profile.free
    with pytest.raises(CertificationError, match=r"mu=1e-300 .* a scale that no float holds"):
        Gaussian(mu=1e-300)(Bounded(np.ones(1), certified(1e20)), stream(1, "a"))
    scores = Bounded(np.zeros(3), certified(1e-290, "linf"))
    assert ReportNoisyMax(1e200)(scores, stream(1, "a")).event.epsilon == 1e200


def test_a_budget_is_not_spent_by_vanishing_costs():
    def event(number, **distribution):
        return Event(f"r{number}", "p1", "noise", "row", frozenset({"features"}), **distribution)

    for distribution in ({"mu": 1e-200}, {"epsilon": 1e-200}, {"mu": 5e-324}, {"epsilon": 5e-324}, {"rho": 5e-324}):
        for rule in ("gdp", "zcdp"):
            if "rho" in distribution and rule == "gdp":
                continue
            budget = PrivacyFilter(1.0, DELTA, rule=rule)
            budget.spend(event(0, **distribution))
            assert budget.amount_spent > 0
    nothing = PrivacyFilter(0.0, 0.0)
    assert not nothing.would_fit(event(0, mu=5e-324)) and nothing.would_fit(event(0, mu=0.0))
    largest = PrivacyFilter(sys.float_info.max, DELTA)
    assert math.isfinite(largest.budget) and largest.budget > 1e308
    assert largest.would_fit(event(0, mu=1e150)) and not largest.would_fit(event(0, mu=1e160))
    largest.spend(event(0, mu=1e154))
    assert not largest.would_fit(event(1, mu=1.3e154))


@pytest.mark.parametrize("epsilon", [5e-324, 1e-300, 1e-17, 1e-12, 1e-8, 1e-4, 9.99e-4, 1.001e-3, 0.1])
def test_the_mu_of_a_small_pure_epsilon_has_its_digits(epsilon):
    # 2 Phi^-1((1 + t) / 2) with t = tanh(epsilon / 2): sqrt(2 pi) t (1 + pi t^2 / 12) to the fourth order.
    t = math.tanh(epsilon / 2)
    assert pure_mu(epsilon) == pytest.approx(
        math.sqrt(2 * math.pi) * t * (1 + math.pi * t * t / 12), rel=3e-6 if t > 1e-3 else 1e-9, abs=1e-323
    )
    assert pure_mu(epsilon) > 0


def test_scores_of_any_scale_can_be_audited():
    rng = np.random.default_rng(1)
    first, second = rng.standard_normal(400), rng.standard_normal(400) + 3
    usual = audit_pair(first, second, DELTA)
    for exponent in (-1000, 1000, 1020):
        assert audit_pair(np.ldexp(first, exponent), np.ldexp(second, exponent), DELTA) == usual


@pytest.mark.parametrize("scale", [1e-300, 1e-165, 1e-150, 1.0, 1e160])
def test_statistics_of_the_studies_do_not_lose_their_sensitivity(scale):
    """Those that state a certificate of their own: moments of sliced inverse regression, and its contrasts."""
    with np.errstate(over="ignore", invalid="ignore"):
        moments = client_moments(scale * X, Y.astype(float), public_slices(fixed([0.5])), clip=BoxClip(fixed(scale)))
    for made in (
        bounded_means,
        bounded_second,
        whole_slices,
        whole_second,
        whole_second_and_mean,
        lambda _: whole_contrasts(np.ones((2, 3)), np.full(2, 2), fixed(scale * np.eye(2)), 4),
    ):
        try:
            with np.errstate(over="ignore", invalid="ignore"):
                sensitivity = made(moments).certificate.value
        except ValueError as error:
            assert scale < 1e-140 or "finite" in str(error), error
            continue
        assert sensitivity >= 1e-290


def test_features_of_few_digits_have_a_bound_of_all_digits():
    """Features are public, so that their bound may be raised where a radius would have to be chosen anew."""
    x = np.full((5, 3), 5e-324)
    for y in (np.zeros(5), np.ones(5)):
        assert label_dot_product(x, y).certificate.value == 1e-290
    assert label_dot_product(np.zeros((5, 3)), np.zeros(5)).certificate.value == 0
