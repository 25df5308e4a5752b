"""The pooled fit: statsmodels' coefficients, the iterations of the specification, and the cases that fail elsewhere."""

from __future__ import annotations

import numpy as np
import pytest

from glm_driver import FAMILIES, records
from glm_oracle import oracle
from partywise.methods.glm.exact import fit_glm, intercept_only
from partywise.models.families import FAMILIES as OBJECTS

# Evaluations of the specification's table (section 4), n = 2000 and ten columns.
COUNTS = {"gaussian": (2, 2), "binomial": (5, 8), "poisson": (5, 9), "gamma": (5, 8), "inverse_gaussian": (7, 12)}


def drawn(family, n=150, p=4, seed=1):
    """Records with weights, some of them 0, and an offset."""
    X, y = records(family, n, p, seed=seed)
    rng = np.random.default_rng(seed)
    return X, y, rng.choice([0.0, 0.5, 1.0, 3.0], n), rng.normal(0, 0.3, n)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("solver", ["newton", "lbfgs"])
@pytest.mark.parametrize("more", [False, True])
def test_coefficients_are_those_of_statsmodels(family, solver, more):
    X, y, weights, offset = drawn(family)
    given = {"weights": weights, "offset": offset} if more else {}
    fit = fit_glm(X, y, family, solver=solver, **given)
    expected = oracle(X, y, family, **({"var_weights": weights, "offset": offset} if more else {}))
    assert fit.status == "ok"
    assert np.abs(fit.coefficients - expected.params).max() <= 1e-8 * np.abs(expected.params).max()
    assert abs(fit.objective[-1] / expected.deviance - 1) <= 1e-10
    assert np.allclose(fit.eta, fit.coefficients[0] + X @ fit.coefficients[1:] + (offset if more else 0), atol=1e-12)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("rho", [0, 0.6, 0.99])
def test_iterations_are_those_of_the_specification(family, rho):
    X, y = records(family, 2000, 10, rho=rho)
    newton, lbfgs = (fit_glm(X, y, family, solver=solver) for solver in ("newton", "lbfgs"))
    steps, evaluations = COUNTS[family]
    assert newton.iterations <= min(9, 1.25 * steps) and lbfgs.iterations <= min(15, 1.25 * evaluations)
    for fit in (newton, lbfgs):
        assert np.all(np.diff(fit.objective) <= 1e-12 * fit.objective[:-1])


@pytest.mark.parametrize("family", FAMILIES)
def test_the_null_fit_is_that_of_statsmodels(family):
    X, y, weights, offset = drawn(family)
    expected = oracle(X, y, family, var_weights=weights, offset=offset)
    assert np.isclose(intercept_only(y, OBJECTS[family], weights, offset)[1], expected.null_deviance, rtol=1e-9)
    expected = oracle(X, y, family)
    assert np.isclose(intercept_only(y, OBJECTS[family])[1], expected.null_deviance, rtol=1e-12)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("spread", [1.0, 20.0])
@pytest.mark.parametrize("level", [0.0, -50.0])
def test_the_null_fit_is_the_least_deviance_whatever_the_offset(family, spread, level):
    rng = np.random.default_rng(4)
    offset, weights = rng.normal(level, spread, 60), rng.choice([0.0, 0.5, 3.0], 60)
    mu = np.exp(np.clip(offset - level + rng.normal(), -20, 20))
    y = {
        "gaussian": offset + rng.normal(size=60),
        "binomial": (rng.random(60) < mu / (1 + mu)).astype(float),
        "poisson": rng.poisson(mu).astype(float),
        "gamma": rng.gamma(2.0, mu / 2),
        "inverse_gaussian": rng.wald(mu, 2 * mu),
    }[family]
    intercept, deviance = intercept_only(y, OBJECTS[family], weights, offset)
    around = intercept + np.concatenate([-np.logspace(-3, 1, 60), np.logspace(-3, 1, 60)])
    assert deviance == OBJECTS[family].deviance(y, intercept + offset, weights)
    assert deviance <= min(OBJECTS[family].deviance(y, b + offset, weights) for b in around)


def test_a_response_that_is_its_offset_has_no_null_deviance():
    offset = np.arange(8.0)
    with pytest.raises(ValueError, match="y is all but the offset in all records: the null deviance is 0"):
        intercept_only(offset + 2, OBJECTS["gaussian"], None, offset)


@pytest.mark.parametrize("solver", ["newton", "lbfgs"])
def test_steps_end_at_their_number_or_at_the_tolerance(solver):
    X, y = records("poisson", 200, 5)
    found = fit_glm(X, y, "poisson", solver=solver, max_iter=2)
    assert found.status == "not_converged" and found.reason == "max_iter=2 evaluations" and found.iterations == 2
    exact, rough = (fit_glm(X, y, "poisson", solver=solver, tolerance=at) for at in (1e-8, 1e-2))
    assert rough.status == "ok" and rough.iterations < exact.iterations
    assert 1e-12 < np.abs(rough.beta - exact.beta).max() < 1e-2
