"""An affine change of the response or of columns changes estimates accordingly, and nothing else."""

from __future__ import annotations

import numpy as np
import pytest

from glm_driver import fitted as run
from glm_driver import records
from partywise.core.randomness import stream
from partywise.methods.glm.exact import fit_glm
from partywise.methods.glm.options import BcdOptions, JointOptions
from partywise.methods.glm.protocols import bcd, joint

X, Y = records("gaussian", 300, 4, rho=0.8)
CHANGES = [(1e-8, 0.0), (1e8, 0.0), (1.0, 1e8), (1e-8, 1.0), (-1.0, 3.0)]


def unchanged(coefficients: np.ndarray, scale: float, origin: float) -> np.ndarray:
    """Coefficients of the response before its affine change."""
    return (coefficients - origin * (np.arange(len(coefficients)) == 0)) / scale


@pytest.mark.parametrize(("scale", "origin"), CHANGES)
@pytest.mark.parametrize("solver", ["newton", "lbfgs"])
def test_the_unit_and_origin_of_a_gaussian_response(scale, origin, solver):
    exact = fit_glm(X, Y, "gaussian").coefficients
    # What the responses themselves lost by their origin.
    near = 1e-9 + 1e-15 * abs(origin / scale)
    pooled = fit_glm(X, scale * Y + origin, "gaussian", solver=solver)
    assert pooled.status == "ok"
    np.testing.assert_allclose(unchanged(pooled.coefficients, scale, origin), exact, atol=near)
    for link in ("opened", "shared") if solver == "lbfgs" else ("opened",):
        options = JointOptions(solver=solver, link=link, max_iter=30)
        estimate, _ = run(joint.fit, X, scale * Y + origin, ((0, 1), (2, 3)), options)
        assert estimate.status == "ok"
        near_link = near if link == "opened" else 1e-5
        np.testing.assert_allclose(unchanged(estimate.coefficients, scale, origin), exact, atol=near_link)


@pytest.mark.parametrize(("scale", "origin"), CHANGES)
@pytest.mark.parametrize("link", ["opened", "shared"])
def test_weighted_records_need_more_than_the_first_step_of_lbfgs(scale, origin, link):
    """Without prior weights its first step is exact for a Gaussian response, whenever it stops."""
    weights = np.exp(stream(1, "weights").standard_normal(len(Y)))
    exact = fit_glm(X, Y, "gaussian", weights=weights).coefficients
    options, block = JointOptions(solver="lbfgs", link=link, max_iter=30), {"weights": weights}
    estimate, _ = run(joint.fit, X, scale * Y + origin, ((0, 1), (2, 3)), options, block=block)
    assert estimate.status == "ok"
    near = 1e-6 + 1e-15 * abs(origin / scale)
    np.testing.assert_allclose(unchanged(estimate.coefficients, scale, origin), exact, atol=near)


@pytest.mark.parametrize(("scale", "origin"), [(1e-8, 0.0), (1e8, 0.0), (1.0, 1e6)])
def test_corrected_blocks_stop_by_the_spread_of_the_response(scale, origin):
    exact = fit_glm(X, Y, "gaussian").coefficients
    options = BcdOptions(variant="corrected", ridge=0.0)
    estimate, _ = run(bcd.fit, X, scale * Y + origin, ((0, 1), (2, 3)), options)
    assert estimate.status == "ok"
    np.testing.assert_allclose(unchanged(estimate.coefficients, scale, origin), exact, atol=1e-5)


@pytest.mark.parametrize("family", ["gaussian", "binomial", "poisson"])
def test_the_units_of_columns(family):
    columns, y = records(family, 300, 3)
    scales = np.array([1e-9, 1.0, 1e9])
    shifts = stream(1, "shifts").standard_normal(3)
    one, other = fit_glm(columns, y, family), fit_glm((columns + shifts) * scales, y, family)
    np.testing.assert_allclose(other.coefficients[1:] * scales, one.coefficients[1:], rtol=1e-7)
    np.testing.assert_allclose(other.eta, one.eta, atol=1e-7)
