"""Curves, tests and Cox regression in the clear, beside statsmodels; sums of clients, beside those of all records."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import statsmodels.api as sm
from statsmodels.duration.survfunc import survdiff

from partywise.methods.survival import exact
from partywise.methods.survival.bands import step_intervals
from partywise.methods.survival.curves import survival_curve
from partywise.methods.survival.models import Weibull
from partywise.methods.survival.records import SurvivalRecords, pool
from partywise.methods.survival.tables import cell_counts, correct_sum
from survival_driver import greenwood, piecewise_exponential, scaled

N = 240


def ties(records: SurvivalRecords, width: float) -> SurvivalRecords:
    """The same records with times rounded up to multiples of a width."""
    return SurvivalRecords(np.ceil(records.times / width) * width, records.events, records.covariates, records.groups)


@pytest.fixture(params=["days", "months", "years"])
def records(request) -> SurvivalRecords:
    """Records with few, many and very many ties."""
    drawn = scaled(Weibull(hazard_ratio=1.6), N, seed=3)
    return drawn if request.param == "days" else ties(drawn, {"months": 0.1, "years": 0.5}[request.param])


def table(records: SurvivalRecords, times: np.ndarray | None = None) -> exact.EventTable:
    """Its event table."""
    return exact.event_table(records, exact.event_times(records) if times is None else times)


def test_a_calculation_by_hand():
    by_hand = SurvivalRecords(np.array([1.0, 2, 2, 3, 4]), np.array([True, True, False, True, False]))
    curve = exact.kaplan_meier(table(by_hand))
    np.testing.assert_allclose(curve.values, [0.8, 0.6, 0.3], rtol=1e-14)
    np.testing.assert_allclose(exact.nelson_aalen(table(by_hand)).values, [1 / 5, 1 / 5 + 1 / 4, 1 / 5 + 1 / 4 + 1 / 2])
    np.testing.assert_array_equal(curve.at(np.array([0.0, 0.99, 1.0, 2.5, 9.0])), [1, 1, 0.8, *curve.values[1:]])
    assert curve.restricted_mean(4.0) == pytest.approx(1 + 0.8 + 0.6 + 0.3)


def test_kaplan_meier_and_its_variance_are_those_of_statsmodels(records):
    known = sm.SurvfuncRight(records.times, records.events.astype(int))
    ours = table(records)
    curve = exact.kaplan_meier(ours)
    np.testing.assert_allclose(curve.at(known.surv_times), known.surv_prob, rtol=0, atol=1e-12)
    errors = exact.StepCurve(curve.times, np.sqrt(greenwood(ours)), 0.0)
    np.testing.assert_allclose(errors.at(known.surv_times), known.surv_prob_se, rtol=0, atol=1e-12)


def test_the_log_rank_test_is_that_of_statsmodels(records):
    statistic, p_value = survdiff(records.times, records.events.astype(int), records.groups)
    times = exact.event_times(records)
    test = exact.log_rank(*(table(records.of_group(group), times) for group in (0, 1)))
    assert test.statistic is not None and test.p_value is not None
    assert test.statistic**2 == pytest.approx(statistic, rel=1e-10)
    assert test.p_value == pytest.approx(p_value, rel=1e-10)


@pytest.mark.parametrize("way", ["efron", "breslow"])
def test_cox_coefficients_and_standard_errors_are_those_of_statsmodels(records, way):
    known = sm.PHReg(records.times, records.covariates, status=records.events.astype(int), ties=way).fit(disp=0)
    ours = exact.cox(records, way)
    np.testing.assert_allclose(ours.coefficients, known.params, rtol=0, atol=1e-8)
    np.testing.assert_allclose(ours.standard_errors, known.bse, rtol=0, atol=1e-8)
    assert ours.likelihood == pytest.approx(known.llf, rel=1e-10)


def test_the_piecewise_exponential_fit_is_a_poisson_model_with_the_logarithm_of_exposure(records):
    edges = np.linspace(0, 2.0, 6)
    fit, hazards = piecewise_exponential(records, edges)
    exposure = exact.exposure_times(records.times, edges)
    counted = np.zeros_like(exposure)
    counted[np.flatnonzero(records.events), exact.bins_of(records.times[records.events], edges)] = 1
    rows = exposure > 0
    design = [np.column_stack([np.eye(5), np.tile(z, (5, 1))]) for z in records.covariates]
    X = np.concatenate([one[kept] for one, kept in zip(design, rows, strict=True)])
    poisson = sm.GLM(counted[rows], X, family=sm.families.Poisson(), offset=np.log(exposure[rows])).fit(tol=1e-14)
    np.testing.assert_allclose(fit.coefficients, poisson.params[5:], rtol=0, atol=1e-8)
    # A bin without events has no hazard; Poisson regression makes it very small.
    np.testing.assert_allclose(np.exp(hazards), np.exp(poisson.params[:5]), rtol=0, atol=1e-8)
    np.testing.assert_allclose(fit.standard_errors, poisson.bse[5:], rtol=0, atol=1e-7)


@pytest.mark.parametrize("clients", [1, 2, 3, 7])
def test_sums_of_clients_are_those_of_all_records(records, clients):
    rows = np.array_split(np.arange(N), clients)
    parts = [
        SurvivalRecords(records.times[r], records.events[r], records.covariates[r], records.groups[r]) for r in rows
    ]
    np.testing.assert_array_equal(pool(parts).times, records.times)
    times, at = exact.event_times(records), np.linspace(-0.5, 0.5, records.covariates.shape[1])
    for function in (exact.risk_sums, exact.tied_sums):
        own, all_ = [function(part, times, at) for part in parts], function(records, times, at)
        for name in ("zeroth", "first", "second"):
            added = np.sum([getattr(one, name) for one in own], axis=0)
            np.testing.assert_allclose(added, getattr(all_, name), rtol=0, atol=1e-11)


def test_the_gradient_is_the_derivative_of_the_likelihood(records):
    times, step = exact.event_times(records), 1e-6
    counts, total = table(records).events, records.covariates[records.events].sum(axis=0)

    def at(coefficients: np.ndarray) -> exact.Likelihood:
        sums = (function(records, times, coefficients) for function in (exact.risk_sums, exact.tied_sums))
        return exact.partial_likelihood(coefficients, counts, total, *sums)

    place = np.linspace(-0.4, 0.4, 6)
    for axis in np.eye(6):
        slope = (at(place + step * axis).value - at(place - step * axis).value) / (2 * step)
        assert axis @ at(place).gradient == pytest.approx(slope, abs=1e-4)
        bend = (at(place + step * axis).gradient - at(place - step * axis).gradient) / (2 * step)
        np.testing.assert_allclose(-axis @ at(place).information, bend, atol=1e-4)


@pytest.mark.parametrize(
    ("fault", "sentence"),
    [
        ("constant", "covariate b is constant"),
        ("copy", "covariate b is constant, or depends"),
        ("separation", "covariate b tells"),
    ],
)
def test_a_likelihood_without_maximum_is_refused(fault, sentence):
    drawn = scaled(Weibull(), N, seed=4)
    z = drawn.covariates.copy()
    z[:, 1] = {"constant": np.ones(N), "copy": z[:, 0], "separation": -10.0 * drawn.times}[fault]
    if fault == "separation":
        z = z[:, [1]]
    names = "abcdef" if z.shape[1] > 1 else "b"
    with pytest.raises(exact.NoMaximum, match=sentence):
        exact.cox(SurvivalRecords(drawn.times, drawn.events, z), names=names)


def test_events_come_before_those_censored_at_the_same_time():
    tied = SurvivalRecords(np.array([1.0, 1.0, 2.0]), np.array([False, True, True]))
    np.testing.assert_array_equal(table(tied).at_risk, [3, 1])


def test_greenwood_intervals_and_errors_of_restricted_means_by_hand():
    """Times 1, 2, 3 of four records, all events, the last censored at 4: log variances 1/12, 1/12 + 1/6, + 1/2."""
    records = SurvivalRecords(np.array([1.0, 2.0, 3.0, 4.0]), np.array([True, True, True, False]))
    curve = exact.kaplan_meier(exact.events_of(records))
    np.testing.assert_allclose(np.cumsum(curve.increments), [1 / 12, 1 / 4, 3 / 4])
    band = step_intervals(curve, np.array([0.5, 2.0]))
    assert band is not None and band.lower[0] == band.upper[0] == 1
    spread = np.exp(1.959963984540054 * 0.5 / np.log(2))
    np.testing.assert_allclose([band.lower[1], band.upper[1]], [0.5**spread, 0.5 ** (1 / spread)])
    # Areas after the jumps until 4: 1.5, 0.75, 0.25.
    assert curve.restricted_mean_error(4.0) == pytest.approx(np.sqrt(1.5**2 / 12 + 0.75**2 / 6 + 0.25**2 / 2))
    everybody = exact.kaplan_meier(exact.events_of(SurvivalRecords(np.array([1.0, 2.0]), np.array([True, True]))))
    last = step_intervals(everybody, np.array([2.0]))
    assert last is not None and last.lower[0] == 0 and last.upper[0] > 0.5


def median_of_counts(records: SurvivalRecords) -> float | None:
    """First time at which the product of shares who survive each event time, as fractions, is one half or less."""
    survival = Fraction(1)
    known = table(records)
    for time, at_risk, events in zip(known.times, known.at_risk, known.events, strict=True):
        survival *= 1 - Fraction(int(events), int(at_risk))
        if survival <= Fraction(1, 2):
            return float(time)
    return None


def test_medians_are_those_of_counts():
    for n in range(2, 400, 2):
        days = SurvivalRecords(np.arange(1.0, n + 1), np.ones(n, dtype=bool))
        assert exact.kaplan_meier(table(days)).median == n / 2
    rng = np.random.default_rng(1)
    for _ in range(100):
        n = int(rng.integers(4, 40))
        drawn = SurvivalRecords(np.ceil(rng.exponential(10.0, n)), rng.random(n) < 0.8)
        assert exact.kaplan_meier(table(drawn)).median == median_of_counts(drawn)


def test_a_released_curve_that_is_one_half_at_an_edge_has_its_median_there():
    # 24 records, one event a bin of width 1 until half are left, then none.
    times = np.concatenate([np.arange(12) + 0.5, np.full(12, 20.0)])
    edges = np.arange(21.0)
    cells = cell_counts(SurvivalRecords(times, times < 20), edges).astype(float)
    assert survival_curve(correct_sum(cells, edges, 0.0, 24)).median == pytest.approx(12.0)


def test_pooled_fits_of_many_records_tend_to_the_coefficients_or_nearer_to_0_where_baselines_differ():
    one = Weibull(baselines=(0.7,))
    np.testing.assert_allclose(one.pooled_coefficients(), one.coefficients, atol=1e-12)
    unlike = Weibull(baselines=(0.2, 1.0, 5.0))
    fitted = exact.cox(scaled(unlike, 30_000, seed=5))
    limit, conditional = (
        np.asarray(values) * unlike.half_width for values in (unlike.pooled_coefficients(), unlike.coefficients)
    )
    errors, without = ((fitted.coefficients - known) / fitted.standard_errors for known in (limit, conditional))
    assert np.abs(errors).max() < 4 and np.abs(without).max() > 12
