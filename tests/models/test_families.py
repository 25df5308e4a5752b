"""Families: formulas of seed 004, derivatives, statsmodels' likelihoods, no overflow, named responses."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import xlogy

from glm_driver import records
from glm_oracle import ORACLES
from partywise.models.families import FAMILIES

# Seed 004, "Deviance" and the table of its block update, as they stand there.
DEVIANCE = {
    "gaussian": lambda y, m: (y - m) ** 2,
    "binomial": lambda y, m: 2 * (xlogy(y, y / m) + xlogy(1 - y, (1 - y) / (1 - m))),
    "poisson": lambda y, m: 2 * (xlogy(y, y / m) - (y - m)),
    "gamma": lambda y, m: 2 * (-np.log(y / m) + (y - m) / m),
    "inverse_gaussian": lambda y, m: (y - m) ** 2 / (m**2 * y),
}
WEIGHT = {
    "gaussian": lambda m: np.ones_like(m),
    "binomial": lambda m: m * (1 - m),
    "poisson": lambda m: m,
    "gamma": lambda m: np.ones_like(m),
    "inverse_gaussian": lambda m: 1 / m,
}


def drawn(name):
    X, y = records(name, 60, 3)
    return FAMILIES[name], y, X @ [0.4, -0.3, 0.2] + 0.1


@pytest.mark.parametrize("name", FAMILIES)
def test_formulas_are_those_of_the_source(name):
    family, y, eta = drawn(name)
    mu, weights = family.mean(eta), np.linspace(0, 2, 60)
    assert np.allclose(family.link(mu), eta, rtol=0, atol=1e-13)
    assert np.allclose(family.unit_deviance(y, eta), DEVIANCE[name](y, mu), rtol=1e-11, atol=1e-13)
    assert np.allclose(family.weight(eta), WEIGHT[name](mu), rtol=1e-13)
    assert np.allclose(family.score(y, eta), family.weight(eta) * family.working(y, eta), rtol=1e-11, atol=1e-14)
    assert np.isclose(family.deviance(y, eta, weights), weights @ DEVIANCE[name](y, mu), rtol=1e-12)


@pytest.mark.parametrize("name", FAMILIES)
def test_score_and_observed_weight_are_derivatives_of_the_deviance(name):
    family, y, eta = drawn(name)
    h = 1e-5
    slope = (family.unit_deviance(y, eta + h) - family.unit_deviance(y, eta - h)) / (2 * h)
    assert np.allclose(family.score(y, eta), -slope / 2, rtol=1e-5, atol=1e-7)
    bend = (family.score(y, eta + h) - family.score(y, eta - h)) / (2 * h)
    assert np.allclose(family.observed_weight(y, eta), -bend, rtol=1e-5, atol=1e-7)
    assert np.all(family.majorant(y, eta) > 0)


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("weighted", [False, True])
def test_deviance_and_likelihood_are_those_of_statsmodels(name, weighted):
    family, y, eta = drawn(name)
    mu, weights = family.mean(eta), np.linspace(0.2, 2, 60) if weighted else None
    dispersion = 0.7 if family.facts.estimates_dispersion else 1.0
    plain = 1.0 if weights is None else weights
    oracle = ORACLES[name]
    assert np.isclose(family.deviance(y, eta, weights), oracle.deviance(y, mu, var_weights=plain), rtol=1e-12)
    expected = oracle.loglike(y, mu, var_weights=plain, scale=dispersion)
    assert np.isclose(family.log_likelihood(y, mu, dispersion, weights), expected, rtol=1e-12)


@pytest.mark.parametrize("name", FAMILIES)
def test_a_record_of_weight_zero_is_absent(name):
    family, y, eta = drawn(name)
    mu, weights = family.mean(eta), np.where(np.arange(60) < 50, 1.5, 0.0)
    whole = family.log_likelihood(y, mu, 0.5, weights)
    assert whole == family.log_likelihood(y[:50], mu[:50], 0.5, weights[:50])


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("eta", [-1e5, -800.0, -310.0, 310.0, 800.0, 1e5])
def test_nothing_overflows_far_out(name, eta):
    family = FAMILIES[name]
    y = np.array([0.0, 1.0, 0.0, 1.0] if name in ("binomial", "poisson") else [1e-9, 1.0, 7e6, 3.0])
    at = np.full(4, eta)
    for found in (family.mean(at), family.weight(at), family.score(y, at), family.observed_weight(y, at)):
        assert np.all(np.isfinite(found))
    assert np.all(np.isfinite(family.working(y, at))) and np.all(family.majorant(y, at) >= 0)
    assert 1 < family.deviance(y, at) < np.inf


def test_zero_counts_and_perfect_fits_have_no_deviance():
    assert FAMILIES["poisson"].deviance(np.zeros(2), np.array([-1e3, -400.0])) < 1e-100
    for name in ("poisson", "gamma", "inverse_gaussian", "gaussian"):
        family, y = FAMILIES[name], np.array([1.0, 3.0, 8.0])
        assert family.deviance(y, np.asarray(family.link(y))) < 1e-28
    assert FAMILIES["binomial"].deviance(np.array([0.0, 1.0]), np.array([-800.0, 800.0])) == 0


@pytest.mark.parametrize(
    ("name", "y", "words"),
    [
        ("binomial", [0, 1, 2], "value 2: family 'binomial' takes 0 and 1.*fit all values: gaussian, poisson"),
        ("poisson", [0, 1, 0.5], r"value 0\.5: family 'poisson' takes 0, 1, 2, \.\.\..*: gaussian\."),
        ("poisson", [3, -1], "value -1: .*: gaussian"),
        ("gamma", [1.5, 0], "value 0: family 'gamma' takes numbers above 0.*: gaussian"),
        ("inverse_gaussian", [2, -3], "value -3: "),
        ("gaussian", [1, np.nan], "value nan: fill or drop"),
        ("gamma", [1, np.inf], "value inf: fill or drop"),
    ],
)
def test_a_response_outside_the_domain_is_named(name, y, words):
    with pytest.raises(ValueError, match=f"y of 'clinic' has the {words}"):
        FAMILIES[name].check(np.array(y, dtype=float), "y of 'clinic'")


@pytest.mark.parametrize("name", FAMILIES)
def test_responses_of_the_family_pass_and_start_at_their_mean(name):
    family, y, _ = drawn(name)
    family.check(y)
    weights = np.linspace(0.1, 1, 60)
    assert np.isclose(float(family.mean(np.array(family.start(y, weights)))), weights @ y / weights.sum(), rtol=1e-12)


@pytest.mark.parametrize(("name", "value"), [("binomial", 0.0), ("binomial", 1.0), ("poisson", 0.0)])
def test_responses_at_the_edge_have_no_start(name, value):
    with pytest.raises(ValueError, match="null deviance is 0"):
        FAMILIES[name].start(np.full(5, value))
