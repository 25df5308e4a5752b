"""Every number of privacy/ at the edges of the doubles: a sound value or a named error, never NaN, never a hang."""

import math
import signal
from contextlib import contextmanager

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fixed import fixed
from partywise.core.errors import BudgetExceeded, CertificationError
from partywise.privacy.accounting import calibration
from partywise.privacy.accounting.compose import compose
from partywise.privacy.accounting.gaussian_profile import pure_mu
from partywise.privacy.accounting.privacy_profile import PrivacyProfile
from partywise.privacy.audit.one_run import audit_one_run
from partywise.privacy.audit.pairs import audit_pair, clopper_pearson
from partywise.privacy.ledger import compose as accounting
from partywise.privacy.ledger.budget import PrivacyFilter
from partywise.privacy.ledger.event import Event
from partywise.privacy.ledger.ledger import Ledger
from partywise.privacy.mechanisms import (
    AdjustedDistanceExponential,
    DiscreteGaussian,
    DistanceExponential,
    Gaussian,
    PrivateQuantile,
    QuantileRadius,
    RandomizedResponse,
    ReportNoisyMax,
    SymmetricGaussian,
)
from partywise.privacy.mechanisms.random import SecureRandom
from partywise.privacy.statistics.bounded import Bounded, SensitivityCertificate
from partywise.privacy.statistics.geometry import Ball, mahalanobis
from partywise.privacy.statistics.moments import covariance, cross_moment, record_sum, second_moment
from partywise.privacy.statistics.records import clipped_coefficients, count_at_most, entries, label_dot_product
from partywise.privacy.statistics.slices import slice_means

# What a ledger says of sampling that is not credited is tested in test_odometer.py.
pytestmark = pytest.mark.filterwarnings("ignore:sampling at rate")

EXTREMES = (0.0, 5e-324, 1e-310, 1e-300, 1e-165, 1e-100, 1e-20, 1e-9, 1e-3, 0.5, 1.0, 2.0, 40.0, 750.0, 1e3, 1e5, 1e10)
EXTREMES += (1e20, 1e100, 1e160, 1e300, 1.7e308, math.inf, -1.0, -0.0, -math.inf, math.nan)
SHARES = (
    0.0,
    5e-324,
    1e-310,
    1e-300,
    1e-100,
    1e-16,
    1e-9,
    1e-5,
    0.01,
    0.5,
    0.9,
    1 - 1e-9,
    1 - 2**-53,
    1.0,
    -1e-9,
    math.nan,
)
NUMBERS = st.sampled_from(EXTREMES)
DELTAS = st.sampled_from(SHARES)
COUNTS = st.sampled_from((1, 1, 2, 3, 10, 1000, 10**6, 10**12, 2**53, 2**60, 0, -1))
NAMED = (ValueError, TypeError, OverflowError, CertificationError, BudgetExceeded)
# CPU seconds that one call may take: a few grids on a slow machine.
LIMIT = 60.0
FUZZ = settings(
    max_examples=40,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)


class Hangs(BaseException):
    """A call took longer than any of these may."""


@contextmanager
def bounded_time():
    def stop(*_):
        raise Hangs

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, LIMIT)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def tried(call, *arguments):
    """The result of a call, or None if it raised an error that names what is wrong."""
    with bounded_time():
        try:
            return call(*arguments)
        except NAMED as error:
            assert type(error) in NAMED, repr(error)
            text = str(error)
            assert len(text) > 20 and text.rstrip().endswith("."), repr(error)
            return None


FUNCTIONS = {
    "gaussian_delta": (calibration.gaussian_delta, NUMBERS, NUMBERS),
    "gaussian_epsilon": (calibration.gaussian_epsilon, NUMBERS, DELTAS),
    "gdp_mu": (calibration.gdp_mu, NUMBERS, DELTAS),
    "analytic_gaussian_sigma": (calibration.analytic_gaussian_sigma, NUMBERS, DELTAS, NUMBERS),
    "classic": (
        lambda *a: calibration.classic_gaussian_sigma(*a, allow_uncertified=True),
        NUMBERS,
        DELTAS,
        NUMBERS,
    ),
    "zcdp_epsilon": (calibration.zcdp_epsilon, NUMBERS, DELTAS),
    "zcdp_rho": (calibration.zcdp_rho, NUMBERS, DELTAS),
    "simple_zcdp_epsilon": (calibration.simple_zcdp_epsilon, NUMBERS, DELTAS),
    "rho_from_mu": (calibration.rho_from_mu, NUMBERS),
    "mu_from_rho": (calibration.mu_from_rho, NUMBERS),
    "compose_mu": (lambda *mus: calibration.compose_mu(mus), NUMBERS, NUMBERS, NUMBERS),
    "keeping": (calibration.randomized_response_probability, NUMBERS, COUNTS),
    "pure_mu": (lambda epsilon: pure_mu(abs(epsilon)) if epsilon == epsilon else 0.0, NUMBERS),
    "clopper_pearson": (
        lambda error, n: np.array(clopper_pearson(np.array([0, n // 2, n]), n, error)),
        st.sampled_from(SHARES[1:13]),
        st.sampled_from((1, 2, 1000)),
    ),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@FUZZ
@given(data=st.data())
def test_a_function_gives_a_number_or_a_named_error(name, data):
    call, *strategies = FUNCTIONS[name]
    found = tried(call, *(data.draw(strategy) for strategy in strategies))
    assert found is None or np.all(np.asarray(found) >= 0)


PROFILE = st.one_of(
    st.fixed_dictionaries({"mu": NUMBERS, "count": COUNTS}),
    st.fixed_dictionaries({"rho": NUMBERS, "count": COUNTS}),
    st.fixed_dictionaries({"epsilon": NUMBERS, "k": st.sampled_from((None, 2, 3, 10**6)), "count": COUNTS}),
    st.fixed_dictionaries({"mu": NUMBERS, "rate": DELTAS, "count": COUNTS}),
)


def event(name, **fields):
    values = {"owner": "p1", "mechanism": "noise", "unit": "row", "depends_on": ("features", "label"), **fields}
    if "rate" in values:
        values["relation"] = "add_remove"
    return Event(name, **values)


@settings(FUZZ, max_examples=30)
@given(
    profiles=st.lists(PROFILE, min_size=1, max_size=2),
    delta=DELTAS,
    epsilon=NUMBERS,
    numeric=st.sampled_from((0.0, 1e-320, 1e-9)),
)
def test_a_composition_costs_a_number_and_more_rows_cost_no_less(profiles, delta, epsilon, numeric):
    events = [
        tried(lambda profile=profile, k=k: event(f"r{k}", delta_numeric=numeric, **profile))
        for k, profile in enumerate(profiles)
    ]
    events = [one for one in events if one is not None]
    profiles = [one.profile for one in events]
    found = tried(lambda: compose(profiles, numeric).epsilon(delta))
    assert found is None or found >= 0
    reached = tried(lambda: compose(profiles, numeric).delta(epsilon))
    assert reached is None or 0 <= reached <= 1
    if found is not None and profiles:
        # Each row alone cannot cost more than what zCDP says of all.
        assert found <= float(
            calibration.zcdp_epsilon(sum(profile.zcdp for profile in profiles), max(delta - numeric, 0.0))
        ) or (not any(profile.mu or profile.rho for profile in profiles))
        total = tried(lambda: Ledger(events).total("server", "row", delta))
        assert total is None or (
            total.epsilon_certified >= 0 and total.rho_total >= 0 and total.epsilons["simple_zcdp"] >= 0
        )


@settings(FUZZ, max_examples=30)
@given(
    epsilon=NUMBERS,
    delta=DELTAS,
    rule=st.sampled_from(("gdp", "zcdp", "pure")),
    reserve=st.sampled_from((0.0, 1e-310, 1e-9)),
    profiles=st.lists(PROFILE, max_size=3),
)
def test_a_budget_is_a_number_and_holds(epsilon, delta, rule, reserve, profiles):
    budget = tried(lambda: PrivacyFilter(epsilon, delta, rule=rule, numeric_reserve=reserve))
    if budget is None:
        return
    assert budget.budget >= 0
    for k, profile in enumerate(profiles):
        tried(lambda profile=profile, k=k: budget.spend(event(f"r{k}", unit="row", **{**profile, "rate": 1.0})))
        assert budget.amount_spent >= 0 and budget.remaining >= 0
        assert budget.amount_spent <= budget.budget * (1 + 1e-12) or math.isinf(budget.budget)


@settings(FUZZ, max_examples=12)
@given(
    epsilon=st.sampled_from((1e-300, 1e-12, 1e-3, 1.0, 1e3, 1e300, 0.0, math.inf, math.nan)),
    delta=DELTAS,
    rate=st.sampled_from((1e-300, 1e-3, 0.5, 1.0, 0.0, math.nan)),
    steps=st.sampled_from((1, 30, 0)),
)
def test_noise_for_sampled_releases_is_found_or_refused(epsilon, delta, rate, steps):
    sigma = tried(accounting.subsampled_sigma, epsilon, delta, rate, steps)
    if sigma is not None:
        assert sigma > 0
        assert compose([PrivacyProfile(mu=1 / sigma, rate=rate, count=steps)]).epsilon(delta) <= epsilon * (1 + 1e-9)


X = np.array([[1.0, 0.5], [-1.0, 0.25], [0.5, -1.0], [0.0, 1.0]])
Y = np.array([0, 1, 1, 0])
METRIC = np.array([[2.0, 0.5], [0.5, 1.0]])
STATISTICS = {
    "second_moment": lambda s, r: second_moment(s * X, fixed(r)),
    "covariance": lambda s, r: covariance(s * X, fixed(r)),
    "cross_moment": lambda s, r: cross_moment(s * X, X, fixed(r), fixed(s)),
    "record_sum": lambda s, r: record_sum(s * X, fixed(r)),
    "coefficients": lambda s, r: clipped_coefficients(s * X, METRIC, fixed(r)),
    "coefficients in a metric": lambda s, r: clipped_coefficients(s * X, r * METRIC, fixed(1.0)),
    "labels": lambda s, r: label_dot_product(s * X, Y),
    "slices": lambda s, r: slice_means(s * X, s * Y, fixed([r]), radius=fixed(r)),
    "slices in a box": lambda s, r: slice_means(s * X, Y, fixed([0.5]), box=fixed(r)),
    "count": lambda s, r: count_at_most(s * X[:, 0], fixed(r)),
    "none at all": lambda s, r: record_sum(np.empty((0, 2)), fixed(r)),
}
NOISE = {
    "mu": lambda bounded, a: Gaussian(mu=a)(bounded, np.random.default_rng(1)),
    "sigma": lambda bounded, a: Gaussian(sigma=a)(bounded, np.random.default_rng(1)),
    "covariance": lambda bounded, a: Gaussian(mu=1.0, covariance=fixed(a * METRIC))(bounded, np.random.default_rng(1)),
    "symmetric": lambda bounded, a: SymmetricGaussian(sigma=a)(bounded, np.random.default_rng(1)),
    "secure": lambda bounded, a: DiscreteGaussian(mu=a)(bounded, SecureRandom()),
    "secure, sigma": lambda bounded, a: DiscreteGaussian(sigma=a)(bounded, SecureRandom()),
}


@pytest.mark.parametrize("noise", NOISE)
@FUZZ
@given(statistic=st.sampled_from(sorted(STATISTICS)), scale=NUMBERS, radius=NUMBERS, level=NUMBERS)
def test_a_release_costs_something_or_nothing_can_move(noise, statistic, scale, radius, level):
    with np.errstate(all="ignore"):
        bounded = tried(STATISTICS[statistic], scale, radius)
        if bounded is None:
            return
        assert bounded.certificate.value >= 1e-290 or np.all(scale * X == 0)
        release = tried(NOISE[noise], bounded, level)
    if release is not None:
        assert release.event.profile.free == (bounded.certificate.value == 0)
        assert accounting.epsilon([release.event], 0.0) == (0.0 if release.event.profile.free else math.inf)


def certificate(value, norm):
    return SensitivityCertificate(value, norm, "row", "replace_one", frozenset({"features"}))


FINITE = {
    "response": lambda e, s: RandomizedResponse(e, 3)(entries(Y), np.random.default_rng(1)),
    "secure response": lambda e, s: RandomizedResponse(e, 3)(entries(Y), SecureRandom()),
    "debiased": lambda e, s: RandomizedResponse(e, 2).debias(Y),
    "variance": lambda e, s: RandomizedResponse(e, 2).variance,
    "distance": lambda e, s: DistanceExponential(e, fixed((0, 3)))(entries(Y), np.random.default_rng(1)),
    "distance profile": lambda e, s: DistanceExponential(e, fixed((0, 3))).matrix(),
    "distance loss": lambda e, s: DistanceExponential(e, fixed((0, 3))).worst_loss(2),
    "adjusted": lambda e, s: AdjustedDistanceExponential(e, s, 2, fixed((0, 3)))(entries(Y), np.random.default_rng(1)),
    "adjusted profile": lambda e, s: AdjustedDistanceExponential(e, s, 2, fixed((0, 3))).matrix(),
    "adjusted loss": lambda e, s: AdjustedDistanceExponential(e, s, 2, fixed((0, 3))).epsilon_pure,
    "quantile": lambda e, s: PrivateQuantile(e, 0.5, fixed((-s, s)))(
        entries(X[:, 0], unit="features"), np.random.default_rng(1)
    ),
    "quantile profile": lambda e, s: PrivateQuantile(e, 0.5, fixed((0.0, s))).distribution(s * X[:, 0])[1],
    "radius": lambda e, s: QuantileRadius(rho=e, smallest=fixed(s))(np.abs(X[:, 0]), np.random.default_rng(1)),
    "largest": lambda e, s: ReportNoisyMax(e, 2)(Bounded(X[0], certificate(s, "linf")), np.random.default_rng(1)),
    "largest profile": lambda e, s: ReportNoisyMax(e, 2).probabilities(Bounded(X[0], certificate(s, "linf"))),
}


@pytest.mark.parametrize("name", FINITE)
@FUZZ
@given(epsilon=NUMBERS, second=NUMBERS)
def test_finite_mechanisms_have_a_distribution_or_are_refused(name, epsilon, second):
    with np.errstate(all="ignore"):
        found = tried(FINITE[name], epsilon, second)
    if found is None:
        return
    value = found.value if hasattr(found, "event") else found
    assert not np.any(np.isnan(value))
    if name.endswith(" profile") and name != "largest profile":
        assert np.all(np.asarray(found) >= 0) and np.asarray(found).sum(axis=-1) == pytest.approx(1, rel=1e-9)
    if hasattr(found, "event"):
        assert found.event.profile.count >= 1 and not math.isnan(accounting.epsilon([found.event], 1e-5))


@FUZZ
@given(scale=NUMBERS, variance=NUMBERS, radius=NUMBERS)
def test_lengths_are_numbers(scale, variance, radius):
    for differences in (scale * X if math.isfinite(scale) else X, Ball(radius), Ball(radius, METRIC)):
        with np.errstate(all="ignore"):
            found = tried(mahalanobis, differences, variance * METRIC)
        assert found is None or found >= 0 or math.isnan(radius) or radius < 0


@FUZZ
@given(scale=NUMBERS, delta=DELTAS, confidence=DELTAS, shift=NUMBERS)
def test_audits_are_numbers(scale, delta, confidence, shift):
    rng = np.random.default_rng(1)
    with np.errstate(all="ignore"):
        first, second = scale * rng.standard_normal(60), shift + scale * rng.standard_normal(60)
        pair = tried(lambda: audit_pair(first, second, delta, confidence=confidence))
        one = tried(lambda: audit_one_run(first, np.arange(60) % 2, delta, confidence=confidence))
        perfect = tried(lambda: audit_one_run(first, (first > 0).astype(int), delta, confidence=confidence))
    assert pair is None or (pair.mu_lower >= 0 and pair.eps_lower >= 0)
    assert all(found is None or found.eps_lower >= 0 for found in (one, perfect))
