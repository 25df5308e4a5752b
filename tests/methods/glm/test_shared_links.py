"""Polynomials for links, the numbers of the response that they multiply, and the search, against plain formulas."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.polynomial import polynomial
from scipy.special import expit

from glm_driver import FAMILIES, records
from partywise.core.randomness import stream
from partywise.methods.glm.diagnostics import sums_of
from partywise.methods.glm.exact import fit_glm as pooled
from partywise.methods.glm.options import JointOptions
from partywise.methods.glm.records import WeightedResponse
from partywise.methods.glm.secret_shared_link.plan import (
    COEFFICIENT,
    COLUMN,
    LAST_COEFFICIENT,
    NUMBER,
    PREDICTOR,
    degree_of,
    last_bits,
    make_plan,
)
from partywise.methods.glm.secret_shared_link.polynomials import centre_of, is_centred, largest, least_squares, link_of
from partywise.methods.glm.secret_shared_link.search import advance, start_search
from partywise.methods.glm.secret_shared_link.terms import terms_of
from partywise.models.families import FAMILIES as ALL
from partywise.models.standardise import with_ones

PRIMITIVES = {
    "gaussian": (),
    "binomial": (lambda u: np.logaddexp(0, u),),
    "poisson": (np.exp,),
    "gamma": (lambda u: -np.exp(-u),),
    "inverse_gaussian": (lambda u: -np.exp(-2 * u) / 2, lambda u: -np.exp(-u)),
}
# Per family the functions that the scores, the weight and Pearson's residual have in the place of polynomials.
EXACT = {
    "gaussian": ((lambda u: u,), lambda u: np.ones_like(u), (lambda u: u,)),
    "binomial": ((expit,), lambda u: expit(u) * expit(-u), (lambda u: np.exp(-u / 2), lambda u: np.exp(u / 2))),
    "poisson": ((np.exp,), np.exp, (lambda u: np.exp(-u / 2), lambda u: np.exp(u / 2))),
    "gamma": ((lambda u: np.exp(-u),), lambda u: np.ones_like(u), (lambda u: np.exp(-u),)),
    "inverse_gaussian": (
        (lambda u: np.exp(-2 * u), lambda u: np.exp(-u)),
        lambda u: np.exp(-u),
        (lambda u: np.exp(-3 * u / 2), lambda u: np.exp(-u / 2)),
    ),
}


def centres(family: str) -> tuple[float, ...]:
    return (-6.0, -2.25, 0.0, 1.5) if is_centred(family) else (0.0,)


CENTRES = [(family, centre) for family in FAMILIES for centre in centres(family)]


def test_degrees_and_ranges_are_those_of_the_specification():
    found = {family: (link_of(family).radius, [len(p) - 1 for p in link_of(family).scores]) for family in FAMILIES}
    assert found == {
        "gaussian": (1.0, [1]),
        "binomial": (5.0, [9]),
        "poisson": (4.0, [8]),
        "gamma": (4.0, [8]),
        "inverse_gaussian": (3.0, [10, 8]),
    }
    finer = [(fine.radius, len(fine.scores[0]) - 1) for fine in link_of("binomial").fine]
    assert finer == [(6.0, 26), (9.0, 30), (12.0, 30)]


def test_centres_are_multiples_of_a_quarter():
    assert (centre_of("binomial", -5.6), centre_of("binomial", 0.1), centre_of("poisson", 3.0)) == (-5.5, 0.0, 0.0)


def unit_of(family: str, function, eta: np.ndarray) -> np.ndarray:
    """What errors of a score are measured in: the root of the weight (binomial), else the function; 1 of lines."""
    return np.sqrt(expit(eta) * expit(-eta)) if family == "binomial" else np.ones_like(eta) * np.abs(function(eta))


@pytest.mark.parametrize(("family", "centre"), CENTRES)
def test_scores_are_near_their_functions(family, centre):
    """The worst of the range, in standard deviations of a response or relative to the function; finer ones by far."""
    link = link_of(family, centre)
    scale = {"gaussian": 1e-14, "binomial": 0.06, "inverse_gaussian": 0.15}.get(family, 0.02)
    finer = {"binomial": (1e-5, 3e-4, 3e-3), "inverse_gaussian": (2e-4,)}.get(family, (1e-6,))
    given = [
        (link.radius, link.scores, scale),
        *((f.radius, f.scores, e) for f, e in zip(link.fine, finer, strict=False)),
    ]
    for radius, scores, error in given:
        u = radius * np.linspace(-1, 1, 801)
        for p, function in zip(scores, EXACT[family][0], strict=False):
            unit = 1.0 if family == "gaussian" else unit_of(family, function, centre + u)
            assert np.max(np.abs(polynomial.polyval(u / radius, p) - function(centre + u)) / unit) <= error


@pytest.mark.parametrize(("family", "centre"), CENTRES)
def test_polynomials_of_the_optimum_are_near_their_functions(family, centre):
    _, weight, residual = EXACT[family]
    for fine in link_of(family, centre).fine:
        u = 0.5 * fine.radius * np.linspace(-1, 1, 801)
        t = u / fine.radius
        for h, function in zip(fine.residual, residual, strict=True):
            np.testing.assert_allclose(polynomial.polyval(t, h), function(u), rtol=1e-5, atol=1e-14)
        np.testing.assert_allclose(polynomial.polyval(t, fine.weight), weight(centre + u), atol=5e-3)
        for one, function in zip(fine.exact, PRIMITIVES[family], strict=True):
            rtol, atol = (2e-3, 2e-3) if family == "binomial" else (1e-6, 1e-12)
            np.testing.assert_allclose(polynomial.polyval(t, one), function(centre + u), rtol=rtol, atol=atol)


@pytest.mark.parametrize(("family", "centre"), CENTRES)
def test_integrals_have_the_scores_as_derivatives(family, centre):
    link = link_of(family, centre)
    for p, P in zip(link.scores, link.integrals, strict=True):
        np.testing.assert_allclose(polynomial.polyder(P) / link.radius, p, rtol=1e-12)
        assert P[0] == 0


@pytest.mark.parametrize(("family", "centre"), CENTRES)
@pytest.mark.parametrize("n", [60, 50_000])
def test_rings_hold_the_largest_sums(family, centre, n):
    """Of predictors at their cut and responses at their bounds, every opened sum stays below half of the modulus."""
    given = JointOptions(solver="lbfgs", link="shared", dispersion="pearson")
    plan = make_plan(family, centre, n, (6, 5), given)
    link, wide = plan.link, n**0.5
    score = link.radius * (1 + sum(largest(p, link.widest) for p in link.scores))
    bits = degree_of(link.scores) * PREDICTOR + COEFFICIENT + NUMBER + COLUMN
    assert n * wide * score * 2.0**bits < plan.ring.modulus / 2
    for fine in link.fine:
        low = last_bits(fine)

        def unit(p):
            return 1 << (degree_of((p,)) * low + LAST_COEFFICIENT + NUMBER)  # noqa: B023

        sums = [int(n * wide * largest(p, fine.widest)) * unit(p) << COLUMN for p in fine.scores]
        sums += [int(n * largest(p, fine.widest)) * unit(p) for p in (*fine.exact, *fine.outside)]
        sums += [int(n**2 * largest(fine.weight, fine.widest)) * unit(fine.weight) << 2 * COLUMN]
        residual = sum(int(plan.bound * largest(p, fine.widest)) for p in fine.residual)
        sums += [n * (residual * max(map(unit, fine.residual))) ** 2]
        assert max(sums) < plan.last.modulus // 2 and low >= 14


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
    response = WeightedResponse(y, ALL[family], weights, offset)
    intercept, null = response.null()
    centre = centre_of(family, intercept)
    terms, fine, primitives = terms_of(response, intercept, centre), link_of(family, centre).fine, PRIMITIVES[family]
    z = 0.3 * rng.standard_normal(200)
    eta, u = intercept + response.shift + z, z / terms.unit + terms.shift
    scores, weight, residual = EXACT[family]
    sums, family = sums_of(response, eta), response.family
    score = terms.linear + sum(v * f(centre + u) for v, f in zip(terms.scores, scores, strict=True))
    np.testing.assert_allclose(score * terms.scale / terms.unit, response.weigh(family.score(y, eta)), atol=1e-12)
    found = terms.weight * weight(centre + u) * terms.scale / terms.unit**2
    np.testing.assert_allclose(found, response.weigh(family.weight(eta)), rtol=1e-12)
    level, *factors = terms.residual
    root = level + sum(a * h(u) for a, h in zip(factors, residual, strict=True))
    np.testing.assert_allclose(root @ root * terms.scale, sums.pearson, rtol=1e-11)
    if not primitives:
        assert sums.deviance == pytest.approx(sums.pearson) and terms.levels == (0.0,)
        return
    level = terms.linear @ u + sum(v @ F(centre + u) for v, F in zip(terms.scores, primitives, strict=True))
    # From the level of polynomials, so that the deviance without columns is the null one to the last bit.
    for own, known in zip(fine, terms.levels, strict=True):
        t = terms.shift / own.radius
        near = terms.linear @ terms.shift + sum(
            v @ polynomial.polyval(t, P) for v, P in zip(terms.scores, own.exact, strict=True)
        )
        assert known == pytest.approx(near, rel=1e-12)
        np.testing.assert_allclose(null - 2 * terms.scale * (level - known), sums.deviance, rtol=5e-4)


@pytest.mark.parametrize("family", FAMILIES)
def test_numbers_of_the_response_are_within_their_bounds(family):
    rng = stream(3, "terms", family)
    _, y = records(family, 200, 2)
    response = WeightedResponse(y, ALL[family], rng.uniform(0.5, 2, 200), 0.3 * rng.standard_normal(200))
    intercept, _ = response.null()
    terms = terms_of(response, intercept, centre_of(family, intercept))
    assert all(np.max(np.abs(a)) <= 400 for a in terms.residual)
    for v in (terms.linear, *terms.scores, terms.weight):
        assert np.sum(np.abs(v)) <= 200 * (1 + 1e-9)


@pytest.mark.parametrize("family", ["poisson", "gamma"])
def test_a_search_finds_the_pooled_fit(family):
    """With the functions themselves: what is left is the tolerance."""
    X, y = records(family, 150, 3)
    fit = pooled(X, y, family)
    Z, model = with_ones(fit.scaling.apply(X)), ALL[family]
    start = model.start(y)
    weight = float(model.weight(np.array([start]))[0])
    search = start_search(weight * Z.T @ Z, 0.0)
    while search.status is None:
        eta = start + Z @ search.trial
        given = model.deviance(y, eta), Z.T @ model.score(y, eta), Z.T @ Z / 150
        search = advance(search, *given, tolerance=1e-8, max_iter=50, rounding=1e-13)
    beta = search.trial + start * (np.arange(4) == 0)
    assert search.status == "ok" and search.evaluations <= 15
    np.testing.assert_allclose(beta, fit.beta, atol=1e-8)
    assert np.max(np.diff(search.path)) <= 1e-12 * abs(search.path[0])


def test_a_search_that_ends_early_says_why():
    search = start_search(np.eye(2), 0.0)
    found = advance(search, 1.0, np.ones(2), np.eye(2), tolerance=1e-8, max_iter=1, rounding=0.0)
    assert (found.status, found.reason) == ("not_converged", "max_iter=1 evaluations")
    np.testing.assert_array_equal(found.trial, 0)


def test_trials_stay_within_reach():
    search = start_search(np.eye(2), 0.0, reach=1.0)
    found = advance(search, 1.0, np.array([0.0, 9.0]), np.eye(2), tolerance=1e-8, max_iter=9, rounding=0.0)
    assert found.step == 1 / 16 and found.trial[1] == 9 / 16
