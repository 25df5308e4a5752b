"""Polynomials for links, the numbers of the response that they multiply, and the search, against plain formulas."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.polynomial import polynomial
from scipy.special import expit

from glm_driver import FAMILIES, records
from partywise.glm.diagnostics import sums_of
from partywise.glm.exact import fitted as pooled
from partywise.glm.families import FAMILIES as ALL
from partywise.glm.records import Response
from partywise.glm.shared.links import least_squares, link_of
from partywise.glm.shared.search import advanced, started
from partywise.glm.shared.terms import terms_of
from partywise.glm.standardise import with_ones
from partywise.randomness import stream

# Per family the functions that the scores, the weight and Pearson's statistic have in the place of polynomials.
EXACT = {
    "gaussian": ((lambda u: u,), lambda u: np.ones_like(u), (lambda u: u, np.square)),
    "binomial": ((expit,), lambda u: expit(u) * expit(-u), (lambda u: np.exp(-u), np.exp)),
    "poisson": ((np.exp,), np.exp, (lambda u: np.exp(-u), np.exp)),
    "gamma": ((lambda u: np.exp(-u),), lambda u: np.ones_like(u), (lambda u: np.exp(-2 * u), lambda u: np.exp(-u))),
    "inverse_gaussian": (
        (lambda u: np.exp(-2 * u), lambda u: np.exp(-u)),
        lambda u: np.exp(-u),
        (lambda u: np.exp(-3 * u), lambda u: np.exp(-2 * u), lambda u: np.exp(-u)),
    ),
}


def on_range(family: str, share: float = 1.0) -> np.ndarray:
    return share * link_of(family).radius * np.linspace(-1, 1, 801)


def value(family: str, coefficients: np.ndarray, u: np.ndarray) -> np.ndarray:
    return polynomial.polyval(u / link_of(family).radius, coefficients)


def test_degrees_and_ranges_are_those_of_the_specification():
    found = {family: (link_of(family).radius, [len(p) - 1 for p in link_of(family).scores]) for family in FAMILIES}
    assert found == {
        "gaussian": (1.0, [1]),
        "binomial": (8.0, [9]),
        "poisson": (4.0, [8]),
        "gamma": (4.0, [8]),
        "inverse_gaussian": (3.0, [10, 8]),
    }


@pytest.mark.parametrize(
    ("family", "error"),
    [("gaussian", 1e-14), ("binomial", 0.013), ("poisson", 0.02), ("gamma", 0.02), ("inverse_gaussian", 0.15)],
)
def test_scores_are_near_their_functions(family, error):
    """Relative to the function, of the binomial family absolute: the worst of the range, and in its middle a third."""
    for p, function in zip(link_of(family).scores, EXACT[family][0], strict=True):
        for share, part in ((1.0, 1.0), (0.25, 1 / 3)):
            u = on_range(family, share)
            scale = 1.0 if family in ("gaussian", "binomial") else function(u)
            part = 1.0 if family == "binomial" else part
            assert np.max(np.abs(value(family, p, u) - function(u)) / scale) <= error * part


@pytest.mark.parametrize("family", FAMILIES)
def test_polynomials_of_the_optimum_are_near_their_functions(family):
    link, u = link_of(family), on_range(family, 0.5)
    _, weight, pearson = EXACT[family]
    for g, function in zip(link.pearson, pearson, strict=True):
        np.testing.assert_allclose(value(family, g, u), function(u), rtol=4e-3, atol=1e-14)
    np.testing.assert_allclose(value(family, link.weight, u), weight(u), atol=5e-3)
    for one, function in zip(link.exact, link.primitives, strict=True):
        np.testing.assert_allclose(value(family, one, u), function(u), rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("family", FAMILIES)
def test_integrals_have_the_scores_as_derivatives(family):
    link = link_of(family)
    for p, P in zip(link.scores, link.integrals, strict=True):
        np.testing.assert_allclose(polynomial.polyder(P) / link.radius, p, rtol=1e-12)
        assert P[0] == 0


def test_no_other_polynomial_has_smaller_squares():
    """The normal equations hold: residuals are orthogonal to every power at the points of the fit."""
    t = np.polynomial.chebyshev.chebpts1(501)
    p = least_squares(lambda u: np.exp(u), 4.0, 8, lambda u: np.exp(-u / 2))
    residual = (polynomial.polyval(t, p) - np.exp(4 * t)) * np.exp(-4 * t)
    assert np.max(np.abs(t[None, :] ** np.arange(9)[:, None] @ residual)) < 1e-9 * len(t)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("given", [False, True])
def test_terms_give_scores_weights_deviance_and_pearson(family, given):
    rng = stream(3, "terms", family)
    _, y = records(family, 200, 2)
    weights, offset = (rng.uniform(0.5, 2, 200), 0.3 * rng.standard_normal(200)) if given else (None, None)
    response = Response(y, ALL[family], weights, offset)
    intercept, null = response.null()
    terms, link = terms_of(response, intercept), link_of(family)
    z = 0.3 * rng.standard_normal(200)
    eta, u = intercept + response.shift + z, z / terms.unit + terms.shift
    scores, weight, pearson = EXACT[family]
    sums, family = sums_of(response, eta), response.family
    score = terms.linear + sum(v * f(u) for v, f in zip(terms.scores, scores, strict=True))
    np.testing.assert_allclose(score * terms.scale / terms.unit, response.weighted(family.score(y, eta)), atol=1e-12)
    found = terms.weight * weight(u) * terms.scale / terms.unit**2
    np.testing.assert_allclose(found, response.weighted(family.weight(eta)), rtol=1e-12)
    found = terms.constant + sum(a @ g(u) for a, g in zip(terms.pearson, pearson, strict=True))
    np.testing.assert_allclose(found * terms.scale, sums.pearson, rtol=1e-11)
    level = terms.linear @ u + sum(v @ F(u) for v, F in zip(terms.scores, link.primitives, strict=True))
    np.testing.assert_allclose(null - 2 * terms.scale * (level - terms.level), sums.deviance, rtol=1e-11)
    for v in (terms.linear, *terms.scores, terms.weight):
        assert np.sum(np.abs(v)) <= 200 * (1 + 1e-9)


@pytest.mark.parametrize("family", ["poisson", "gamma"])
def test_a_search_finds_the_pooled_fit(family):
    """With the functions themselves: what is left is the tolerance."""
    X, y = records(family, 150, 3)
    fit = pooled(X, y, family)
    Z, model = with_ones(fit.scaling.applied(X)), ALL[family]
    start = model.start(y)
    weight = float(model.weight(np.array([start]))[0])
    search = started(weight * Z.T @ Z, 0.0)
    while search.status is None:
        eta = start + Z @ search.trial
        given = model.deviance(y, eta), Z.T @ model.score(y, eta), Z.T @ Z / 150
        search = advanced(search, *given, tolerance=1e-8, max_iter=50, rounding=1e-13)
    beta = search.trial + start * (np.arange(4) == 0)
    assert search.status == "ok" and search.evaluations <= 15
    np.testing.assert_allclose(beta, fit.beta, atol=1e-8)
    assert np.max(np.diff(search.path)) <= 1e-12 * abs(search.path[0])


def test_a_search_that_ends_early_says_why():
    search = started(np.eye(2), 0.0)
    found = advanced(search, 1.0, np.ones(2), np.eye(2), tolerance=1e-8, max_iter=1, rounding=0.0)
    assert (found.status, found.reason) == ("not_converged", "max_iter=1 evaluations")
    np.testing.assert_array_equal(found.trial, 0)


def test_trials_stay_within_reach():
    search = started(np.eye(2), 0.0, reach=1.0)
    found = advanced(search, 1.0, np.array([0.0, 9.0]), np.eye(2), tolerance=1e-8, max_iter=9, rounding=0.0)
    assert found.step == 1 / 16 and found.trial[1] == 9 / 16
