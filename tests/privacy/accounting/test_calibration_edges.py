"""Calibrations over the whole range of doubles: sound against many digits, never NaN, and they end."""

import itertools
import math
import sys
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exact_profile import holds, sides
from partywise.privacy.accounting.calibration import (
    analytic_gaussian_sigma,
    classic_gaussian_sigma,
    compose_mu,
    gaussian_delta,
    gaussian_epsilon,
    gdp_mu,
    mu_from_rho,
    rho_from_mu,
    simple_zcdp_epsilon,
    zcdp_epsilon,
    zcdp_rho,
)
from partywise.privacy.accounting.compose import compose
from partywise.privacy.accounting.privacy_profile import PrivacyProfile
from partywise.privacy.ledger.compose import epsilon
from partywise.privacy.ledger.event import Event

LARGEST = sys.float_info.max
EPSILONS = (0.0, 5e-324, 1e-310, 1e-300, 1e-200, 1e-100, 1e-30, 1e-15, 1e-13, 1e-12, 1e-10, 1e-5, 1e-3, 0.1, 1.0, 4.0)
EPSILONS += (10.0, 40.0, 700.0, 1e3, 1e5, 1e8, 1e20, 1e50, 1e100, 1e200, 1e300, 1e307, LARGEST)
DELTAS = (5e-324, 1e-320, 1e-310, 1e-300, 1e-200, 1e-100, 1e-40, 1e-20, 1e-17, 1e-16, 3e-16, 1e-15, 1e-12, 1e-8, 1e-5)
DELTAS += (1e-3, 0.1, 0.5, 0.500001, 0.9, 1 - 1e-6, 1 - 1e-12, 1 - 2**-53)
MUS = (5e-324, 1e-320, 1e-310, 1e-300, 1e-200, 1e-162, 1e-100, 1e-20, 1e-16, 1e-10, 1e-5, 0.01, 0.3, 0.5, 0.6, 1.0, 3.0)
MUS += (10.0, 17.0, 20.0, 40.0, 1e3, 1e6, 1e10, 1e50, 1e100, 1e150, 1e154, 1e160, 1e300, LARGEST)


def every_third(values: tuple[float, ...]) -> list[Any]:
    """The values, of which `./run test` takes every third one; `./run test --long` takes the others."""
    return [pytest.param(value, marks=pytest.mark.statistical if n % 3 else ()) for n, value in enumerate(values)]


@pytest.mark.parametrize("e", every_third(EPSILONS))
def test_mu_is_rounded_down_everywhere_and_by_little(e):
    for delta in DELTAS:
        mu = gdp_mu(e, delta)
        assert 0 < mu < math.inf and holds(mu, e, delta), delta
        assert mu < 1e-290 or not holds(mu * (1 + 1e-11), e, delta), delta
        assert gaussian_epsilon(mu, delta) <= e, delta


@pytest.mark.parametrize("mu", every_third(MUS))
def test_epsilon_is_rounded_up_everywhere_and_by_little(mu):
    for delta in DELTAS:
        e = gaussian_epsilon(mu, delta)
        assert e >= 0 and (e < math.inf or mu > 1e153), delta
        if e < math.inf:
            assert holds(mu, e, delta), delta
            below = e - 3e-12 * (e + mu)
            assert e < 1e-290 or below <= 0 or not holds(mu, below, delta), delta


@given(st.floats(-320, 300), st.floats(-320, 15.9))
@settings(deadline=None, max_examples=100)
def test_mu_is_sound_between_the_points_of_the_grid(log_epsilon, log_odds):
    e = 10.0**log_epsilon
    # Up to 0 the logarithm of delta, above it that of 1 - delta.
    delta = 10.0**log_odds if log_odds < -0.1 else 1 - 10.0 ** -max(log_odds, 0.1)
    mu = gdp_mu(e, delta)
    assert holds(mu, e, delta) and gaussian_epsilon(mu, delta) <= e
    assert mu < 1e-290 or not holds(mu * (1 + 1e-11), e, delta)


def test_the_way_back_holds_where_floats_have_few_digits():
    logs = np.random.default_rng(0).uniform(-323, -305, (3000, 2))
    e, delta = 10.0 ** np.concatenate([logs, [[-314.3138801564141] * 2]]).T
    mu = gdp_mu(e, delta)
    # Rounding mu down by one step left 1.6 % of these above their epsilon.
    assert np.all(gaussian_epsilon(mu, delta) <= e) and np.all(mu > 0)


@pytest.mark.parametrize("step", [17.0, pytest.param(4.25, marks=pytest.mark.statistical)])
def test_mu_is_sound_at_epsilons_whose_exponents_have_no_digits(step):
    for log_epsilon in np.arange(8, 305, step):
        for delta in (1e-300, 1e-9, 0.1, 0.6, 0.9, 0.999, 1 - 2**-53):
            e = 10.0**log_epsilon
            mu = gdp_mu(e, delta)
            assert holds(mu, e, delta) and not holds(mu * (1 + 1e-11), e, delta), (log_epsilon, delta)
            assert gaussian_epsilon(mu, delta) <= e


def test_an_array_gives_what_its_elements_give():
    e, delta = np.array(list(itertools.product(EPSILONS[::2], DELTAS[::2]))).T
    mus = gdp_mu(e, delta)
    apart = [gdp_mu(*pair) for pair in zip(e, delta, strict=True)]
    np.testing.assert_allclose(apart, mus, rtol=1e-13)
    back = [gaussian_epsilon(*pair) for pair in zip(mus, delta, strict=True)]
    np.testing.assert_allclose(back, gaussian_epsilon(mus, delta), rtol=1e-12, atol=1e-13)


def test_delta_is_a_probability_everywhere_and_exact_where_it_is_a_float():
    for mu, e in itertools.product(MUS, EPSILONS):
        delta, (exact, _) = gaussian_delta(mu, e), sides(mu, e)
        assert 0 <= delta <= 1, (mu, e)
        assert abs(mp.mpf(delta) - exact) <= 1e-9 * exact if exact > 1e-290 else delta < 2e-290, (mu, e)


def test_noise_is_never_lost_to_a_quotient():
    assert analytic_gaussian_sigma(0, 1e-20, 0) == 0 and classic_gaussian_sigma(0.5, 1e-5, 0) == 0
    assert analytic_gaussian_sigma(1e4, 1e-5, 5e-324) > 0
    assert classic_gaussian_sigma(1e4, 1e-5, 5e-324, allow_uncertified=True) > 0
    assert analytic_gaussian_sigma(0, 1e-300, 1e200) == math.inf
    assert analytic_gaussian_sigma(math.inf, 1e-5, 1) == 0
    for e, delta, sensitivity in itertools.product((0.0, 1e-300, 1.0, 1e300), DELTAS, (5e-324, 1e-300, 1.0, LARGEST)):
        sigma = analytic_gaussian_sigma(e, delta, sensitivity)
        assert sigma > 0
        if e > 0:
            assert classic_gaussian_sigma(e, delta, sensitivity, allow_uncertified=True) > 0
        if 1e-290 < sigma < math.inf:
            assert sensitivity / sigma <= gdp_mu(e, delta) * (1 + 1e-15)


def test_squares_never_vanish_and_what_overflows_is_infinite():
    for mu in MUS:
        square = mp.mpf(mu) ** 2
        assert rho_from_mu(mu) >= square / 2 * (1 - 1e-15) and compose_mu([mu]) >= mu * (1 - 1e-15)
        assert compose_mu([mu] * 4) >= 2 * mu * (1 - 1e-15)
        assert PrivacyProfile(mu=mu).mu_squared >= square * (1 - 1e-15) and PrivacyProfile(mu=mu).zcdp >= square / 2 * (
            1 - 1e-15
        )
        assert PrivacyProfile(epsilon=mu).zcdp > 0
        both = compose([PrivacyProfile(mu=mu), PrivacyProfile(mu=mu)])
        assert both.mu >= mu and both.epsilon(0.0) == math.inf and both.delta(1e3) > 0
    assert rho_from_mu(1e160) == math.inf == compose_mu([1e160]) == PrivacyProfile(mu=1e160).mu_squared
    assert rho_from_mu(0) == compose_mu([]) == compose_mu([0.0]) == 0
    assert mu_from_rho(LARGEST) == math.inf and simple_zcdp_epsilon(LARGEST, 1e-300) >= LARGEST
    assert simple_zcdp_epsilon(5e-324, 1 - 2**-53) > 1e-170


def zcdp_exact(rho, delta):
    """The conversion minimised over all orders, in 80 digits: at a minimum an order needs 40."""
    with mp.workdps(80):
        rho, target = mp.mpf(float(rho)), -mp.log(mp.mpf(float(delta)))
        low, high = mp.mpf(-2000), mp.mpf(2000)
        for _ in range(150):
            middle = (low + high) / 2
            v = mp.exp(middle)
            low, high = (low, middle) if rho * v * v + mp.log1p(v) > target else (middle, high)
        v = mp.exp(low)
        return max(rho * (1 + v) + (target - mp.log1p(v)) / v - mp.log1p(1 / v), mp.mpf(0))


@pytest.mark.parametrize(
    "rho", every_third((5e-324, 1e-310, 1e-300, 1e-100, 1e-10, 0.1, 1.0, 10.0, 1e3, 1e10, 1e100, 1e300, LARGEST))
)
def test_the_zcdp_conversion_and_its_inverse_are_sound_everywhere(rho):
    for delta in DELTAS:
        assert zcdp_epsilon(rho, delta) >= zcdp_exact(rho, delta), delta
        back = zcdp_rho(rho, delta)
        assert 0 <= back < math.inf, delta
        assert back == 0 or zcdp_exact(back, delta) <= rho, delta
        assert zcdp_epsilon(back, delta) <= rho or rho == LARGEST, delta


TARGETS = (1e-12, 1e-6, 1e-3, 0.03, 0.1, 0.3, 0.5, 1.0, 2.0, 3.0, 4.0, 8.0, 10.0, 20.0, 50.0, 100.0, 1e3, 1e6)


@pytest.mark.parametrize(
    "delta", every_third((1e-300, 1e-60, 1e-12, 1e-9, 1e-6, 1e-5, 48**-1.1, 400**-1.1, 5000**-1.1, 0.01, 0.3))
)
def test_a_budget_that_was_shared_certifies_at_most_its_target(delta):
    """A target is turned into mu, divided, turned into noise, charged and composed: it never comes out above."""
    for target in TARGETS:
        mu = gdp_mu(target, delta)
        shares = [[mu]]
        shares += [[mu / math.sqrt(count)] * count for count in (2, 3, 7, 20, 140)]
        shares += [[mu * math.sqrt(share) for share in (0.1, 0.2, 0.3, 0.4)], [0.6 * mu, 0.8 * mu]]
        shares += [[mu_from_rho(rho_from_mu(mu) * share) for share in (0.125, 0.375, 0.5)]]
        for made in shares:
            # Sensitivity over noise, as a mechanism states it.
            charged = [3.7 / (3.7 / one) for one in made]
            assert compose([PrivacyProfile(mu=one) for one in charged]).epsilon(delta) <= target, (target, len(made))
            assert gaussian_epsilon(compose_mu(charged), delta) <= target
        sigma = analytic_gaussian_sigma(target, delta, 1.3)
        event = Event("r", "p1", "gaussian", "row", frozenset({"features"}), mu=1.3 / sigma)
        assert epsilon([event], delta) <= target
        assert zcdp_epsilon(zcdp_rho(target, delta), delta) <= target
