"""Closed forms against 50-digit arithmetic, an independent accountant and published numbers."""

import math

import dp_accounting
import mpmath as mp
import numpy as np
import pytest
from dp_accounting.pld import PLDAccountant
from dp_accounting.rdp import RdpAccountant
from hypothesis import given
from hypothesis import strategies as st

from partywise.core.errors import CertificationError
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

ADD_REMOVE = dp_accounting.NeighboringRelation.ADD_OR_REMOVE_ONE
REPLACE = dp_accounting.NeighboringRelation.REPLACE_ONE


def exact_delta(mu, epsilon):
    with mp.workdps(60):
        mu, epsilon = mp.mpf(float(mu)), mp.mpf(float(epsilon))
        return mp.ncdf(mu / 2 - epsilon / mu) - mp.exp(epsilon) * mp.ncdf(-mu / 2 - epsilon / mu)


def test_delta_has_ten_digits_wherever_it_is_a_double():
    epsilon, mu = np.meshgrid(np.geomspace(0.01, 50, 15), np.geomspace(0.01, 10, 15))
    compared = 0
    for e, m, delta in zip(epsilon.flat, mu.flat, gaussian_delta(mu, epsilon).flat, strict=True):
        exact = exact_delta(m, e)
        if exact > 1e-300:
            assert abs(mp.mpf(delta) / exact - 1) < 1e-10, (e, m)
            compared += 1
        else:
            assert delta < 1e-290
    assert compared > 130


@pytest.mark.parametrize(
    ("mu", "epsilon"),
    [(1e-6, 1e-7), (1e-8, 3e-7), (0.4999, 10), (0.5001, 10), (30, 1), (1e3, 5e5), (1e3, 4.9e5), (36, 9)],
)
def test_delta_keeps_its_digits_at_the_seams_and_extremes(mu, epsilon):
    assert abs(mp.mpf(gaussian_delta(mu, epsilon)) / exact_delta(mu, epsilon) - 1) < 1e-9


def test_delta_edge_cases():
    assert gaussian_delta(0, 0) == 0 and gaussian_delta(0, 3) == 0
    assert gaussian_delta(np.inf, 3) == 1
    assert gaussian_delta(2, np.inf) == 0 and gaussian_delta(np.inf, np.inf) == 0
    assert gaussian_delta(1, 0) == pytest.approx(math.erf(0.5 / math.sqrt(2)), rel=1e-14)
    assert gaussian_delta(1, 1e308) == 0 and gaussian_delta(1e-300, 1e300) == 0 and gaussian_delta(1e8, 1) == 1


def test_epsilon_edge_cases():
    assert gaussian_epsilon(0, 0) == 0 and gaussian_epsilon(0, 0.1) == 0
    assert gaussian_epsilon(1, 0) == np.inf and gaussian_epsilon(np.inf, 0.5) == np.inf
    # Where delta(0) and delta agree to rounding, epsilon is rounded up like anywhere else.
    assert gaussian_epsilon(1, gaussian_delta(1, 0) * (1 + 1e-12)) == 0 and gaussian_epsilon(1, 0.9) == 0
    assert 0 < gaussian_epsilon(1, gaussian_delta(1, 0)) < 1e-12
    assert 0 < gaussian_epsilon(1, gaussian_delta(1, 0) * (1 - 1e-9)) < 1e-8


def test_mu_edge_cases():
    assert gdp_mu(1, 0) == 0 and gdp_mu(0, 0) == 0
    assert gdp_mu(np.inf, 0.1) == np.inf and gdp_mu(np.inf, 0) == np.inf
    assert gdp_mu(0, gaussian_delta(1, 0)) == pytest.approx(1, rel=1e-12)


@given(st.floats(-6, 3.1), st.floats(-12, -0.1))
def test_epsilon_is_the_least_one_rounded_up(log_mu, log_delta):
    mu, delta = 10**log_mu, 10**log_delta
    epsilon = gaussian_epsilon(mu, delta)
    assert exact_delta(mu, epsilon) <= delta if epsilon > 0 else exact_delta(mu, 1e-300) <= delta
    if epsilon > 0:
        below = epsilon - 1e-12 * (epsilon + mu)
        assert below <= 0 or exact_delta(mu, below) > delta


@given(st.floats(-6, 6), st.floats(-12, -0.1))
def test_mu_is_the_greatest_one_rounded_down(log_epsilon, log_delta):
    epsilon, delta = 10**log_epsilon, 10**log_delta
    mu = gdp_mu(epsilon, delta)
    assert exact_delta(mu, epsilon) <= delta < exact_delta(mu * (1 + 1e-12), epsilon)


@given(st.floats(-2, 1), st.floats(-2, math.log10(50)))
def test_mu_inverts_delta_to_twelve_digits(log_mu, log_epsilon):
    mu, epsilon = 10**log_mu, 10**log_epsilon
    delta = gaussian_delta(mu, epsilon)
    if 1e-300 < delta < 1 - 1e-3:
        assert gdp_mu(epsilon, delta) == pytest.approx(mu, rel=1e-12)


def test_large_parameters_do_not_overflow():
    for rho in (4000.0, 6.6e5, 5e5):
        epsilon = gaussian_epsilon(mu_from_rho(rho), 1e-5)
        assert rho < epsilon < simple_zcdp_epsilon(rho, 1e-5)
        assert gdp_mu(epsilon, 1e-5) == pytest.approx(mu_from_rho(rho), rel=1e-11)


def test_arrays_broadcast_and_scalars_stay_scalars():
    table = gaussian_epsilon(np.array([[0.5], [1.0]]), np.array([1e-3, 1e-5, 1e-7]))
    assert table.shape == (2, 3) and table[1, 1] == gaussian_epsilon(1.0, 1e-5)
    assert type(gaussian_epsilon(1.0, 1e-5)) is float and type(zcdp_rho(1, 1e-5)) is float
    assert gdp_mu(np.array([1.0, np.inf]), 1e-5)[1] == np.inf
    assert gaussian_delta(np.empty(0), 1.0).shape == (0,)


def test_the_noise_of_epsilon_one():
    assert analytic_gaussian_sigma(1, 1e-5, 1) == pytest.approx(3.7306316348, abs=5e-11)
    assert analytic_gaussian_sigma(1, 1e-5, 0) == 0 and analytic_gaussian_sigma(np.inf, 1e-5, 2) == 0
    assert analytic_gaussian_sigma(1, 1e-5, 3) == pytest.approx(3 * 3.7306316348, abs=3e-10)


def test_twenty_releases_cost_less_than_any_approximation_says():
    mu = compose_mu([0.2] * 20)
    assert gaussian_epsilon(mu, 1e-5) == pytest.approx(3.848610, abs=1e-6)
    assert zcdp_epsilon(rho_from_mu(mu), 1e-5) == pytest.approx(4.1615, abs=5e-5)
    assert simple_zcdp_epsilon(rho_from_mu(mu), 1e-5) == pytest.approx(4.6919, abs=5e-5)


@pytest.mark.parametrize(
    ("rho", "exact", "cks", "simple"),
    [(0.05, 1.199, 1.308, 1.567), (0.5, 4.377, 4.728, 5.299), (8, 24.38, 25.92, 27.19), (125, 191.5, 198.5, 200.9)],
)
def test_three_conversions_of_rho(rho, exact, cks, simple):
    # Printed to four digits, the last one rounded or cut.
    assert gaussian_epsilon(mu_from_rho(rho), 1e-5) == pytest.approx(exact, rel=6e-4)
    assert zcdp_epsilon(rho, 1e-5) == pytest.approx(cks, rel=3e-4)
    assert simple_zcdp_epsilon(rho, 1e-5) == pytest.approx(simple, rel=3e-4)


@pytest.mark.parametrize(("mu", "count"), [(0.2, 20), (0.2, 400), (1.0, 1), (2.0, 4)])
def test_epsilon_lies_just_above_the_loss_distribution_oracle(mu, count):
    # The oracle's noise multiplier is sigma/sensitivity: 1/mu under add-remove.
    accountant = PLDAccountant(ADD_REMOVE)
    accountant.compose(dp_accounting.GaussianDpEvent(1 / mu), count)
    oracle = accountant.get_epsilon(1e-5)
    # The oracle itself rounds every loss up on a grid of 1e-4.
    assert gaussian_epsilon(compose_mu([mu] * count), 1e-5) == pytest.approx(oracle, abs=1e-3)


def test_the_oracle_means_something_else_by_the_same_multiplier():
    """One event, one relation, two answers: why only certificates carry a sensitivity here."""
    event, answers = dp_accounting.GaussianDpEvent(5.0), {}
    for name, accountant in (("pld", PLDAccountant(REPLACE)), ("rdp", RdpAccountant(neighboring_relation=REPLACE))):
        accountant.compose(event, 10)
        answers[name] = accountant.get_epsilon(1e-5)
    assert answers["pld"] == pytest.approx(gaussian_epsilon(compose_mu([2 / 5] * 10), 1e-5), abs=1e-3)
    assert answers["rdp"] < 0.6 * answers["pld"]


@pytest.mark.parametrize(("delta", "limit"), [(1e-5, 8.42), (1e-3, 7.46), (1e-6, 8.78)])
def test_the_classic_formula_fails_above_a_computed_epsilon(delta, limit):
    with pytest.warns(UserWarning, match="proved for epsilon < 1"):
        classic_gaussian_sigma(limit - 0.01, delta, 1)
    with pytest.raises(CertificationError, match="real delta"):
        classic_gaussian_sigma(limit + 0.01, delta, 1)


def test_the_classic_formula_as_published():
    assert classic_gaussian_sigma(0.5, 1e-5, 2) == pytest.approx(2 * math.sqrt(2 * math.log(1.25e5)) / 0.5)
    sigma = classic_gaussian_sigma(np.array([16.0, 64.0]), 1e-5, 1, allow_uncertified=True)
    assert gaussian_delta(1 / sigma[0], 16) == pytest.approx(3.4e-4, rel=0.02)
    assert gaussian_delta(1 / sigma[1], 64) == pytest.approx(0.95, abs=0.005)
    claims = {10: 10.39, 16: 18.90, 32: 49.2, 1: 0.751}
    for epsilon, real in claims.items():
        mu = 1 / classic_gaussian_sigma(epsilon, 1e-5, 1, allow_uncertified=True)
        assert gaussian_epsilon(mu, 1e-5) == pytest.approx(real, rel=1e-3)


def test_the_zcdp_conversion_is_the_minimum_over_all_orders():
    alpha = 1 + np.geomspace(1e-4, 1e5, 400_001)
    for rho, delta in [(1e-4, 1e-5), (0.05, 1e-5), (8, 1e-9), (4000, 1e-5), (0.3, 0.1)]:
        bound = rho * alpha + np.log(1 / (alpha * delta)) / (alpha - 1) + np.log1p(-1 / alpha)
        assert zcdp_epsilon(rho, delta) == pytest.approx(max(bound.min(), 0), rel=1e-8)


@given(st.floats(-3, 6), st.floats(-12, -0.5))
def test_rho_inverts_the_zcdp_conversion_from_below(log_rho, log_delta):
    rho, delta = 10**log_rho, 10**log_delta
    epsilon = zcdp_epsilon(rho, delta)
    if epsilon > 0:
        inverse = zcdp_rho(epsilon, delta)
        assert zcdp_epsilon(inverse, delta) <= epsilon * (1 + 1e-12)
        # Near epsilon = 0 the inverse is ill-conditioned.
        assert inverse == pytest.approx(rho, rel=1e-9 + 1e-11 * rho / epsilon)
    assert gaussian_epsilon(mu_from_rho(rho), delta) <= epsilon + 1e-12


def test_zcdp_edge_cases():
    assert zcdp_epsilon(0, 0) == 0 and zcdp_epsilon(1, 0) == np.inf and zcdp_epsilon(np.inf, 0.1) == np.inf
    assert zcdp_rho(1, 0) == 0 and zcdp_rho(np.inf, 0) == np.inf
    assert simple_zcdp_epsilon(0, 0) == 0 and simple_zcdp_epsilon(1, 0) == np.inf
    assert simple_zcdp_epsilon(np.inf, 1e-5) == np.inf
    assert mu_from_rho(rho_from_mu(3.0)) == 3.0 and rho_from_mu(np.inf) == np.inf
    assert compose_mu([]) == 0 and compose_mu([3, 4]) == 5 and compose_mu([1, np.inf]) == np.inf
    assert compose_mu(m for m in (1.0, 2.0, 2.0)) == 3


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: gaussian_delta(-1, 1), "mu=-1"),
        (lambda: gaussian_delta(math.nan, 1), "mu=nan"),
        (lambda: gaussian_delta(1, -0.5), "epsilon=-0.5"),
        (lambda: gaussian_delta([1, math.nan], 1), "mu="),
        (lambda: gaussian_epsilon(1, 1), "delta=1"),
        (lambda: gaussian_epsilon(1, -0.1), "delta=-0.1"),
        (lambda: gaussian_epsilon(1, math.nan), "delta=nan"),
        (lambda: gdp_mu(-1, 0.1), "epsilon=-1"),
        (lambda: gdp_mu(math.nan, 0.1), "epsilon=nan"),
        (lambda: analytic_gaussian_sigma(1, 0, 1), "delta=0"),
        (lambda: analytic_gaussian_sigma(1, 1e-5, math.inf), "sensitivity=inf"),
        (lambda: analytic_gaussian_sigma(1, 1e-5, -1), "sensitivity=-1"),
        (lambda: classic_gaussian_sigma(0, 1e-5, 1), "epsilon=0"),
        (lambda: classic_gaussian_sigma(1, 0, 1), "delta=0"),
        (lambda: classic_gaussian_sigma(math.inf, 1e-5, 1), "epsilon=inf"),
        (lambda: zcdp_epsilon(-1, 1e-5), "rho=-1"),
        (lambda: zcdp_rho(1, 1.5), "delta=1.5"),
        (lambda: simple_zcdp_epsilon(math.nan, 1e-5), "rho=nan"),
        (lambda: rho_from_mu(-1), "mu=-1"),
        (lambda: mu_from_rho(-1), "rho=-1"),
        (lambda: compose_mu([1, -1]), "mus="),
    ],
)
def test_values_out_of_range_are_named(call, named):
    with pytest.raises(ValueError, match=named):
        call()
