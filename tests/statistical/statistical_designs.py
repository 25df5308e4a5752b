"""Designs of coefficients next to fits of made-up records: half-widths, power, and the law between epsilons."""

from __future__ import annotations

import math

import numpy as np
import pytest

import partywise as pw
from partywise.core.randomness import stream
from partywise.experiment.design.block import checked_block
from partywise.experiment.design.check import compare_fits
from partywise.experiment.design.evaluate import Evaluator
from partywise.experiment.design.plan import plan_of

pytestmark = pytest.mark.statistical

DESIGNS, FITS = 200, 20
FAMILIES = {
    "gaussian": {"response": [-4, 4]},
    "binomial": {},
    "poisson": {"response": [0, 12], "intercept": -0.3},
    "gamma": {"response": [-4, 4], "dispersion": 0.5},
}


def block_of(family: str, n: int, epsilon: float | None, columns: int, parties: int, **model: object) -> dict:
    kinds = {f"x{place}": "normal" for place in range(columns)}
    declared = {"family": family, "because": "a simulation", "kinds": kinds, **FAMILIES[family], **model}
    return {"method": "vertical_glm.moments", "parties": parties, "n": n, "epsilon": epsilon, "model": declared}


def drawn(number: int) -> Evaluator:
    """Return a design whose identification is at most 0.04: of those that are drawn the first one."""
    for attempt in range(100):
        rng = stream(12, "designs", number, attempt)
        columns = int(rng.integers(2, 6))
        parties = int(rng.integers(2, min(columns, 3) + 1))
        n, epsilon = (math.exp(rng.uniform(*np.log(ends))) for ends in ((500, 20_000), (0.5, 8)))
        factor, correlation = rng.uniform(1, 2), rng.uniform(0, 0.5)
        family = ("gaussian", "binomial")[int(rng.integers(2))]
        slopes = {f"x{place}": float(0.4 * rng.normal()) for place in range(columns)}
        sizes = [len(part) for part in np.array_split(np.arange(columns), parties)]
        radii = [factor * math.sqrt(size) for size in sizes]
        model = {"coefficients": slopes, "correlation": correlation, "radii": radii}
        block = block_of(family, round(n), epsilon, columns, parties, **model)
        evaluator = Evaluator(checked_block(block, "design"), "design")
        if evaluator.precision(epsilon, round(n), True).excess <= 0.4:
            return evaluator
    raise AssertionError("no design is identified")


def found_over_planned(number: int) -> float:
    """Return by how much the medians of fits differ from the plan, in the mean over coefficients."""
    evaluator = drawn(number)
    block = evaluator.block
    planned = evaluator.precision(block.epsilon, block.n).half_widths
    return float(np.mean([row["ratio"] for row in compare_fits(evaluator, block.epsilon, block.n, planned, FITS)])) - 1


def test_planned_half_widths_are_those_of_fits():
    """200 designs, 20 fits each: 190 within 5 %, in the mean over coefficients."""
    errors = np.array([found_over_planned(number) for number in range(DESIGNS)])
    assert np.count_nonzero(np.abs(errors) <= 0.05) >= 0.95 * DESIGNS, np.round(np.sort(errors), 3).tolist()


@pytest.mark.parametrize("family", ["gaussian", "binomial"])
def test_squares_of_half_widths_are_linear_in_the_inverse_square_of_mu(family):
    """Nine epsilons between two whose line they are on, to 1 % of the half-width."""
    model = {"coefficients": {"x0": 0.4, "x1": 0.2}, "correlation": 0.3}
    block = block_of(family, 5000, 2.0, 3, 3, **model)
    evaluator = Evaluator(checked_block(block, "design"), "design")
    epsilons = np.geomspace(2, 8, 9)
    assert evaluator.precision(2.0, 5000).excess <= 0.4
    squares = np.array([evaluator.precision(float(epsilon), 5000).half_widths ** 2 for epsilon in epsilons])
    inverse = np.array([float(pw.gdp_mu(float(epsilon), 1e-5)) ** -2 for epsilon in epsilons])
    for along in squares.T:
        line = along[-1] + (along[0] - along[-1]) * (inverse - inverse[-1]) / (inverse[0] - inverse[-1])
        assert np.all(np.abs(np.sqrt(line / along) - 1) < 0.01)


@pytest.mark.parametrize("family", FAMILIES)
def test_planned_half_widths_of_every_family_are_those_of_fits(family):
    """100 fits: medians within 5 % and 3 standard errors, coverage within 3 standard errors of 0.95."""
    model = {"coefficients": {"x0": 0.4, "x1": 0.2}, "correlation": 0.3}
    rows = plan_of(block_of(family, 3000, 5.0, 3, 3, **model), "design.family").check(100)
    assert all(abs(row["ratio"] - 1) < max(0.05, 3 * row["ratio_error"]) for row in rows), rows
    assert all(row["covered"] > 0.95 - 3 * math.sqrt(0.95 * 0.05 / 100) for row in rows), rows


def test_power_is_that_of_tests():
    """400 fits at the epsilon that a power of 0.8 asks for: between 0.74 and 0.86 of their intervals leave out 0."""
    block = block_of("gaussian", 2000, None, 3, 3, coefficients={"x0": 0.2, "x1": 0.1}, correlation=0.3)
    plan = plan_of(block | {"power": 0.8, "effect": {"x0": 0.2}}, "design.power")
    evaluator = Evaluator(checked_block(plan.block, "design"), "design")
    estimates = (evaluator.estimate(plan.epsilon, plan.n, number) for number in range(400))
    reported = [evaluator.model.reported_precision(estimate, ["x0"]) for estimate in estimates]
    excludes = [np.abs(precision.values[0]) > precision.half_widths[0] for precision in reported]
    assert 0.74 <= np.mean(excludes) <= 0.86, np.mean(excludes)
