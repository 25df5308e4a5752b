"""Exact federated fits: what is opened adds up to the pooled fit, and is written down as unprotected."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from forked import in_all_ways
from partywise.federation.run import simulate
from partywise.methods.survival import exact
from partywise.methods.survival.models import STRONG, Weibull
from partywise.methods.survival.options import PiecewiseOptions, RiskSetsOptions, SurvivalReferenceOptions
from partywise.methods.survival.protocols import piecewise, reference, risk_sets
from partywise.methods.survival.protocols.newton_sums import pack_sums, unpack_sums
from partywise.methods.survival.records import SurvivalRecords
from partywise.methods.survival.tables import equal_edges
from survival_driver import fit, piecewise_exponential, run_of, scaled

MODERATE = Weibull(coefficients=tuple(b / 2 for b in STRONG), hazard_ratio=1.4)
WAYS = [
    (reference.fit, SurvivalReferenceOptions()),
    (risk_sets.fit, RiskSetsOptions()),
    (risk_sets.fit, RiskSetsOptions(ties="breslow")),
    (piecewise.fit, PiecewiseOptions()),
]


@pytest.fixture(scope="module")
def records() -> SurvivalRecords:
    """Two groups, with tied times, some beyond the horizon."""
    drawn = scaled(MODERATE, 400, seed=21)
    times = np.ceil(drawn.times * 50) / 50
    times[::40] += 2.5
    return SurvivalRecords(times, drawn.events, drawn.covariates, drawn.groups)


@pytest.mark.parametrize("clients", [1, 2, 3, 7])
@pytest.mark.parametrize(("program", "options"), WAYS)
def test_federated_fits_are_the_pooled_ones(records, program, options, clients):
    estimate = fit(program, records, options, clients).estimate
    seen = records.until(2.0)
    if program is piecewise.fit:
        pooled, _ = piecewise_exponential(seen, equal_edges(2.0, 8))
    else:
        pooled = exact.cox(seen, options.ties)
        times = exact.event_times(seen)
        tables = [exact.event_table(seen.of_group(group), times) for group in (0, 1)]
        for curve, table in zip(estimate.curves, tables, strict=True):
            np.testing.assert_allclose(curve.at(times), exact.kaplan_meier(table).at(times), rtol=0, atol=1e-12)
        assert estimate.log_rank.statistic == pytest.approx(exact.log_rank(*tables).statistic, rel=1e-12)
    np.testing.assert_allclose(estimate.coefficients, pooled.coefficients, rtol=0, atol=1e-12)
    np.testing.assert_allclose(estimate.standard_errors, pooled.standard_errors, rtol=0, atol=1e-12)
    assert estimate.status == "ok"


@pytest.mark.parametrize(("program", "options"), WAYS[:2])
@pytest.mark.parametrize("censored", [0, 5])
def test_an_empty_group_has_no_restricted_mean_and_the_status_says_so(records, program, options, censored):
    """Nobody, or nobody who is followed to the first event: the integral of a curve of nobody is the horizon."""
    groups = np.where(np.arange(400) < censored, 2, records.groups)
    times = np.where(groups == 2, 1e-4, records.times)
    given = SurvivalRecords(times, records.events & (groups < 2), records.covariates[:, :0], groups)
    run = run_of(given, options, 3)
    run.spec = replace(run.spec, public=replace(run.spec.public, groups=3))
    estimate = simulate(program, run)
    assert estimate.status == "empty_group" and estimate.reason.startswith("group number 3 has no record")
    means = np.array([curve.restricted_mean(2.0) for curve in estimate.curves])
    assert np.isnan(means).tolist() == np.isnan(estimate.restricted_mean_errors(2.0)).tolist() == [False, False, True]
    assert estimate.curves[2].median is None


@pytest.mark.parametrize(("program", "options"), WAYS)
def test_nothing_is_protected_and_the_ledger_says_so(records, program, options):
    done = fit(program, records, options)
    assert math.isinf(done.total().epsilon_certified) and math.isnan(done.estimate.epsilon_claimed)
    sent = {reference.fit: 400, risk_sets.fit: len(exact.event_times(records.until(2.0))), piecewise.fit: 0}
    assert done.estimate.numbers["times_sent"] == sent[program]


@pytest.mark.parametrize(("program", "options"), WAYS)
def test_all_ways_to_run_are_one(records, program, options):
    in_all_ways(program, lambda: run_of(records, options, 3))


def test_bytes_are_those_of_times_and_sums(records):
    done = fit(risk_sets.fit, records, RiskSetsOptions(ties="breslow"))
    seen = records.until(2.0)
    union = len(exact.event_times(seen))
    p = 6
    counts = [len(exact.event_times(seen.take(rows))) for rows in np.array_split(np.arange(400), 3)]
    assert done.bytes_of("event times") == [16 * count for count in counts]
    assert done.bytes_of("all times") == [8 * union] * 3
    assert set(done.bytes_of("moments")) == {8 * 3 * p} and set(done.bytes_of("centres")) == {8 * 2 * p}
    assert set(done.bytes_of("sums")) == {8 * union * (1 + p + p * (p + 1) // 2)}


def test_without_covariates_there_are_curves_alone():
    bare = scaled(Weibull(coefficients=()), 120, seed=2)
    for program, options in WAYS:
        done = fit(program, bare, options)
        assert done.estimate.coefficients is None and len(done.estimate.curves) == 1
        assert not done.bytes_of("sums")


def test_packed_sums_are_the_sums_again():
    rng = np.random.default_rng(0)
    second = rng.normal(size=(5, 3, 3))
    sums = exact.WeightedSums(rng.normal(size=5), rng.normal(size=(5, 3)), second + second.transpose(0, 2, 1))
    again = unpack_sums(pack_sums(sums), 3)
    for name in ("zeroth", "first", "second"):
        np.testing.assert_array_equal(getattr(again, name), getattr(sums, name))
