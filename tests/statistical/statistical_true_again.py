"""Numbers that were wrong without a word, with replicates and standard errors beside what they were before.

The shared link beside the exact fit, fits in other units, certified slicing of columns away from 0; ties of the
published trees stand in `statistical_vertical_orders`.  What was before is what the same replicates gave there, with
the standard error of its last digits in brackets.  Part of ``./run test --long`` alone.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

import partywise as pw
from glm_driver import fitted
from glm_driver import records as generated
from partywise.core.randomness import stream
from partywise.methods.glm.exact import fit_glm as pooled
from partywise.methods.glm.options import BcdOptions, JointOptions
from partywise.methods.glm.protocols import bcd, joint
from partywise.methods.inverse_regression.estimate import sir
from partywise.methods.inverse_regression.subspace import angle

pytestmark = pytest.mark.statistical

OPTIONS = JointOptions(solver="lbfgs", link="shared")
GROUPS = ((0, 1), (2,))
SLOPES = np.array([0.5, -0.3, 0.2])


def binomial(n: int, intercept: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Three standard normal columns and events of a logistic model."""
    rng = stream(seed, "true again", n)
    X = rng.standard_normal((n, 3))
    return X, (rng.random(n) < expit(intercept + X @ SLOPES)).astype(float)


def told(name: str, values: list[float], before: str) -> float:
    """Print mean, standard error and largest of the replicates beside the number of before; the mean."""
    error = np.std(values, ddof=1) / np.sqrt(len(values))
    print(f"{name}: {np.mean(values):.4g} +- {error:.2g} ({len(values)}), largest {max(values):.4g}; before {before}")
    return float(np.mean(values))


@pytest.mark.parametrize(
    ("n", "intercept", "before"),
    [(8000, -5.75, "1.9(2)"), (2000, -3.6, ".77(5)"), (400, -3.5, ".46(15)"), (2000, 0.0, ".64(2)")],
)
def test_the_shared_link_is_within_a_hundredth_of_a_standard_error(n, intercept, before):
    """Largest difference of a coefficient from the exact fit, in its standard errors; 4 sets of records."""
    found = []
    for seed in range(4):
        X, y = binomial(n, intercept, seed)
        exact = pooled(X, y, "binomial")
        estimate, _ = fitted(joint.fit, X, y, GROUPS, OPTIONS, family="binomial")
        design = np.column_stack([np.ones(n), X])
        weight = expit(exact.eta) * expit(-exact.eta)
        errors = np.sqrt(np.diag(np.linalg.inv(design.T @ (weight[:, None] * design))))
        assert estimate.status == "ok"
        found.append(float(np.max(np.abs(estimate.coefficients - exact.coefficients) / errors)))
    told(f"shared link, n={n}, intercept {intercept:g}, in standard errors", found, before)
    assert max(found) <= 0.02


def test_intervals_of_the_intercept_hold_their_level_at_four_percent_events():
    """95 % intervals over 80 sets of 500 records: at least .86, 3.7 standard errors below .95."""
    inside = []
    for seed in range(80):
        X, y = binomial(500, -3.3, 1000 + seed)
        estimate, _ = fitted(joint.fit, X, y, GROUPS, OPTIONS, family="binomial")
        assert estimate.status == "ok"
        inside.append(float(abs(estimate.coefficients[0] + 3.3) <= 1.96 * estimate.standard_errors[0]))
    assert told("coverage of the intercept at 4 % events", inside, ".825(43)") >= 0.86


UNITS = {
    "weighted L-BFGS": (joint.fit, JointOptions(solver="lbfgs")),
    "corrected blocks": (bcd.fit, BcdOptions(variant="corrected", ridge=0.0)),
}


@pytest.mark.parametrize(
    ("name", "scale", "origin", "before"),
    [
        ("weighted L-BFGS", 1e-8, 0.0, ".18(2)"),
        ("weighted L-BFGS", 1.0, 1e8, ".18(2)"),
        ("weighted L-BFGS", 1e8, 0.0, "2.5(11)e-9"),
        ("corrected blocks", 1e-8, 0.0, "3.4(1)"),
        ("corrected blocks", 1.0, 1e8, "1.4(3)e-6"),
    ],
)
def test_the_unit_of_a_response_changes_no_estimate(name, scale, origin, before):
    """Gaussian: largest difference from the fit in the own unit, in standard errors; 10 sets of records."""
    fit, options = UNITS[name]
    found = []
    for seed in range(10):
        X, y = generated("gaussian", 300, 4, rho=0.8, seed=seed)
        block = {}
        if name == "weighted L-BFGS":
            block["weights"] = np.exp(stream(seed, "true again", "weights").standard_normal(len(y)))
        exact = pooled(X, y, "gaussian", **block)
        other, _ = fitted(fit, X, scale * y + origin, ((0, 1), (2, 3)), options, block=block)
        assert other.status == "ok"
        weights = block.get("weights", np.ones(len(y)))
        design = np.column_stack([np.ones(len(y)), X])
        variance = np.sum(weights * (y - exact.eta) ** 2) / (len(y) - 5)
        errors = np.sqrt(variance * np.diag(np.linalg.inv(design.T @ (weights[:, None] * design))))
        slopes = other.coefficients[1:] / scale
        found.append(float(np.max(np.abs(slopes - exact.coefficients[1:]) / errors[1:])))
    assert told(f"{name}, y * {scale:g} + {origin:g}, in standard errors", found, before) <= 1e-3


@pytest.mark.parametrize(("protocol", "before"), [("certified", "34.6(2) degrees"), ("whitened", "19.9(2) degrees")])
def test_a_shift_of_one_standard_deviation_turns_no_certified_direction(protocol, before):
    """Degrees between certified and pooled direction of columns whose mean is one of four deviations; 10 replicates."""
    found, beta = [], np.array([1.0, 2.0, 0.0, -1.0, 0.5, 0.0])
    for seed in range(10):
        rng = stream(seed, "true again", protocol)
        X = 0.25 * (rng.standard_normal((12_000, 6)) + 1.0)
        y = (X - 0.25) @ beta + 0.1 * rng.standard_normal(12_000)
        edges = np.quantile(y, (0.2, 0.5, 0.7))
        model = pw.SlicedInverseRegression(protocol, epsilon=300.0, delta=1e-6, edges=edges)
        basis = model.fit(X, y, parties=3, rng=seed).components_.T
        found.append(float(angle(basis, sir(X, y, 4, 1, edges=edges))))
    assert told(f"{protocol}, degrees from the pooled direction", found, before) <= 2.5
