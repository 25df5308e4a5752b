"""Competitors of noisy scores: how far a record moves them, and what they find with and without noise."""

from __future__ import annotations

import math
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from partywise.methods.survival import exact
from partywise.methods.survival.certified.scores import Baseline, HazardModel, ScoreTerms, contributions
from partywise.methods.survival.certified.whole import whole_scores
from partywise.methods.survival.models import STRONG, Weibull
from partywise.methods.survival.options import GradientOptions, OneReleaseOptions
from partywise.methods.survival.protocols.competitors import cells, gradient, moments
from partywise.methods.survival.protocols.competitors.cells import corners, piecewise_fit, sign_groups
from partywise.methods.survival.records import SurvivalRecords
from partywise.methods.survival.tables import CellTable, cell_counts, equal_edges
from survival_driver import fit, piecewise_exponential, run_of, scaled

P, R = 6, math.sqrt(6)
MODERATE = Weibull(coefficients=tuple(b / 2 for b in STRONG))
CORNERS = np.array(list(product((-1.0, 1.0), repeat=P)))
PROGRAMS = {
    "gradient": (gradient.fit, GradientOptions),
    "moments": (moments.fit, OneReleaseOptions),
    "cells": (cells.fit, OneReleaseOptions),
}


@pytest.fixture(scope="module")
def moderate() -> SurvivalRecords:
    """Moderate effects."""
    return scaled(MODERATE, 3000, seed=11)


@pytest.fixture(scope="module")
def indicators(moderate) -> SurvivalRecords:
    """Covariates of -1 and 1 alone."""
    return SurvivalRecords(moderate.times, moderate.events, np.where(moderate.covariates > 0, 1.0, -1.0))


def off(found: np.ndarray, records: SurvivalRecords) -> np.ndarray:
    """Distances from the pooled fit, in its standard errors."""
    pooled = exact.cox(records.until(2.0))
    return (found - pooled.coefficients) / pooled.standard_errors


def terms(stop: float | None = None, curvature: float = 0.0) -> ScoreTerms:
    """Of gradients with six covariates."""
    return ScoreTerms(2.0, 3000, P, R, 1.0, shares=(0.15, 0.85), bins=6, merge_count=1, curvature=curvature, stop=stop)


def largest_share(ends: np.ndarray, bound: float, sensitivity: float) -> float:
    """Largest distance of two contributions over their sensitivity, and that of their whole numbers over its own."""
    distances = np.linalg.norm(ends[:, None] - ends[None, :], axis=2)
    pair = ends[list(np.unravel_index(distances.argmax(), distances.shape))]
    one, other = (whole_scores(row[None], bound, sensitivity) for row in pair)
    moved = sum(int(a - b) ** 2 for a, b in zip(one.integers, other.integers, strict=True))
    assert math.sqrt(moved / one.squares) == pytest.approx(distances.max() / sensitivity, rel=1e-4)
    assert moved <= one.squares
    return float(distances.max() / sensitivity)


@pytest.mark.parametrize(("stop", "of_bound"), [(0.5, 0.926), (1.0, 1.0), (1.5, 0.926)])
def test_corner_pairs_reach_the_sensitivity_of_a_gradient(stop, of_bound):
    """An event at time 0 against a stopped record with the same covariates, and opposite corners."""
    at, model = terms(stop), HazardModel(np.full(6, 3.0), np.zeros(P))
    ends = [
        contributions(SurvivalRecords(np.full(64, t), np.full(64, e), CORNERS), model, at)
        for t, e in ((0.0, True), (2.0, False))
    ]
    assert largest_share(np.concatenate(ends), at.bound, at.sensitivity) == pytest.approx(1, abs=1e-9)
    assert at.sensitivity / (2 * at.bound) == pytest.approx(of_bound, abs=1e-3)


@pytest.mark.parametrize("radius", [0.3, 1.0, 1.6, R])
def test_corner_pairs_reach_the_sensitivity_of_moments(radius):
    """Two events with opposite covariates: in different bins, or in the same at a radius of 1.6."""
    edges, bound, distance = equal_edges(2.0, 4), moments.bound(radius), moments.largest_distance(radius)
    ends = [
        moments.contributions(SurvivalRecords(np.full(64, t), np.full(64, e), CORNERS), edges, radius)
        for t, e in ((0.0, True), (1.1, True), (1.1, False), (2.0, False))
    ]
    assert largest_share(np.concatenate(ends), bound, distance) == pytest.approx(1, abs=1e-9)
    assert distance <= 2 * bound
    if radius == R:
        assert distance / (2 * bound) == pytest.approx(0.818, abs=1e-3)


@settings(max_examples=100, deadline=None)
@given(st.floats(0, 3), st.booleans(), st.lists(st.floats(-1, 1), min_size=P, max_size=P))
def test_no_contribution_is_longer_than_its_bound(time, event, z):
    record = SurvivalRecords(np.array([time]), np.array([event]), np.array([z]))
    assert np.linalg.norm(moments.contributions(record, equal_edges(2.0, 4), R)) <= moments.bound(R) * (1 + 1e-12)
    for model in (HazardModel(np.full(6, 3.0), np.full(P, -4.0)), HazardModel(np.zeros(6), np.zeros(P))):
        assert np.linalg.norm(contributions(record, model, terms(1.5))) <= terms(1.5).bound * (1 + 1e-12)


def test_moments_are_a_newton_step_from_means_over_risk_sets(moderate):
    """Those at risk in a bin: all who leave later, and half of those who leave in it."""
    edges = equal_edges(2.0, 4)
    sums = moments.contributions(moderate, edges, R).sum(axis=0)
    table = moments.released_table(sums, edges, 0.0, len(moderate))
    z, seen = moderate.covariates, moderate.until(2.0)
    score, information = z[seen.events].sum(axis=0), np.zeros((P, P))
    for low, high in pairwise(edges):
        inside = (seen.times > low) & (seen.times <= high) & ~((seen.times == 2.0) & ~seen.events)
        weights = inside / 2 + (seen.times >= high) * ~inside
        mean = weights @ z / weights.sum()
        events = (inside & seen.events).sum()
        score = score - events * mean
        information += events * ((z.T * weights) @ z / weights.sum() - np.outer(mean, mean))
    np.testing.assert_allclose(moments.newton_step(sums, table, P), np.linalg.solve(information, score), rtol=1e-6)


def test_cells_without_noise_are_the_piecewise_exponential_fit(indicators):
    """Of grouped records: exposure is counted by halves of bins, which moves little."""
    grouped = sign_groups(indicators)
    np.testing.assert_array_equal(corners(P)[grouped.groups], indicators.covariates)
    edges = equal_edges(2.0, 32)
    found = piecewise_fit(CellTable(cell_counts(grouped, edges, 64).astype(float), edges, 0.0, 3000), P)
    known, _ = piecewise_exponential(indicators, edges)
    assert found is not None and np.abs(found - known.coefficients).max() < 0.1 * known.standard_errors.min()


def test_a_step_is_no_longer_than_its_limits_and_adds_momentum():
    found = Baseline(np.full(6, 10.0), np.full(6, 0.1), np.linspace(0, 1, 7), np.ones(7))
    trail = gradient.ascend(np.zeros((1, 1 + P)), np.full(1 + P, 1e9), 0.5, 0.8, found, R)
    assert trail[1, 0] == 1 and R * np.linalg.norm(trail[1, 1:]) == pytest.approx(3)
    small = gradient.ascend(np.array([[0.0, 0.0], [0.2, -0.1]]), np.array([6.0, 12.0]), 0.5, 0.8, found, 1.0)
    np.testing.assert_allclose(small[-1], [0.2 + 0.16 + 0.05, -0.1 - 0.08 + 0.1])
    np.testing.assert_allclose(gradient.average(np.arange(10.0).reshape(5, 2)), [7.0, 8.0])
    assert gradient.public_rate(R, 0.75) == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("name", "given", "limit"), [("gradient", {"steps": 40}, 0.5), ("moments", {}, 0.7), ("cells", {}, 0.6)]
)
def test_without_noise_each_comes_near_the_pooled_fit(moderate, indicators, name, given, limit):
    program, options = PROGRAMS[name]
    records = indicators if name == "cells" else moderate
    found = fit(program, records, options(**given)).estimate.coefficients
    assert np.sqrt(np.mean(off(found, records) ** 2)) < limit


@pytest.mark.parametrize(("name", "low", "high"), [("gradient", 1.0, 1.5), ("moments", 2.3, 4.2), ("cells", 1.5, 2.7)])
def test_errors_at_epsilon_2_are_those_of_the_design(moderate, indicators, name, low, high):
    """Median over 12 draws, noise `central`; with half the noise, or twice as much, each is outside."""
    program, options = PROGRAMS[name]
    records = indicators if name == "cells" else moderate
    found = [fit(program, records, options(noise="central"), 3, 2.0, seed).estimate.coefficients for seed in range(12)]
    assert low < np.median(np.sqrt(np.mean(off(np.array(found), records) ** 2, axis=1))) < high


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("case", ["no events", "all events at once", "a record each", "a constant covariate", "noise"])
def test_unusual_records_give_an_answer(name, case):
    program, options = PROGRAMS[name]
    drawn = scaled(MODERATE, 240, seed=6)
    times, events, z = drawn.times.copy(), drawn.events.copy(), drawn.covariates.copy()
    if case == "no events":
        events[:] = False
    elif case == "all events at once":
        times[:], events[:] = 1.0, True
    elif case == "a constant covariate":
        z[:, 0] = 1.0
    rows = slice(3 if case == "a record each" else None)
    done = fit(
        program, SurvivalRecords(times[rows], events[rows], z[rows]), options(), 3, 0.05 if case == "noise" else 4.0
    )
    found = done.estimate
    assert found.numbers["not_estimable"] == (found.coefficients is None) and found.standard_errors is None
    if case in ("no events", "a record each"):
        assert found.coefficients is None
    assert found.coefficients is None or np.isfinite(found.coefficients).all()


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_a_competitor_cannot_fit_is_refused_before_anything_is_sent(name):
    program, options = PROGRAMS[name]
    with pytest.raises(ValueError, match="add_remove"):
        options(relation="add_remove")
    for p, words in ((0, "covariates is 0"), *([(9, "at most 8")] if name == "cells" else [])):
        records = SurvivalRecords(np.ones(30), np.ones(30, bool), np.ones((30, p)))
        run = run_of(records, options(), 3, 1.0)
        with pytest.raises(ValueError, match=words):
            program(run)
        assert not run.channel.messages
