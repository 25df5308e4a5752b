"""Every exact protocol next to the pooled fit: equal where there is a fit, else a status and a sentence."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest
from scipy.optimize import brentq
from statsmodels.duration.survfunc import survdiff

import partywise as pw
from partywise.methods.survival.model import SurvivalEstimate
from partywise.methods.survival.options import (
    CoxNoisyGradientOptions,
    EncryptedHistogramOptions,
    NoisedTimesOptions,
    PiecewiseOptions,
    RiskSetsOptions,
    SurvivalReferenceOptions,
)
from partywise.methods.survival.protocols import (
    encrypted_histogram,
    noised_times,
    noisy_gradient,
    piecewise,
    reference,
    risk_sets,
)
from partywise.methods.survival.records import SurvivalRecords
from partywise.studies.federated_survival.study import STUDY
from survival_driver import fit

N = 300
COX = {
    "reference efron": (reference.fit, SurvivalReferenceOptions(ties="efron")),
    "reference breslow": (reference.fit, SurvivalReferenceOptions(ties="breslow")),
    "risk_sets efron": (risk_sets.fit, RiskSetsOptions(ties="efron")),
    "risk_sets breslow": (risk_sets.fit, RiskSetsOptions(ties="breslow")),
    "piecewise": (piecewise.fit, PiecewiseOptions()),
}


def drawn(hazard: np.ndarray, seed: int, *, censoring: float) -> tuple[np.ndarray, np.ndarray]:
    """Tied times and events of exponential hazards (n,)."""
    rng = np.random.default_rng(seed)
    times = rng.exponential(1 / hazard)
    ends = rng.uniform(0, censoring, len(times))
    return np.ceil(np.minimum(times, ends) * 100) / 100, times <= ends


def cox(way: str, times: np.ndarray, events: np.ndarray, covariates: np.ndarray, horizon: float) -> SurvivalEstimate:
    """The estimate of three clients."""
    program, options = COX[way]
    return fit(program, SurvivalRecords(times, events, covariates), options, 3, horizon=horizon).estimate


TRANSFORMS = {
    "scales 1e6 apart": (np.zeros(2), np.array([1e6, 1.0])),
    "a column times 1e-6": (np.zeros(2), np.array([1e-6, 1.0])),
    "scales 1e12 apart": (np.zeros(2), np.array([1e-6, 1e6])),
    "shifts of 1e5 standard deviations": (np.array([1e5, -1e5]), np.ones(2)),
    "calendar years": (np.array([2000.0, 0.0]), np.ones(2)),
}


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("way", COX)
def test_no_fit_depends_on_shifts_and_scales_of_covariates(way, transform):
    shift, scale = TRANSFORMS[transform]
    raw = np.random.default_rng(5).normal(size=(N, 2))
    # The shift takes digits from the covariates themselves: both fits are of what it leaves.
    plain = (shift + raw) - shift
    times, events = drawn(np.exp(plain @ [0.5, -0.3]), 6, censoring=4.0)
    expected = cox(way, times, events, plain, 3.0)
    moved = cox(way, times, events, (shift + plain) * scale, 3.0)
    assert moved.status == expected.status == "ok"
    np.testing.assert_allclose(moved.coefficients * scale, expected.coefficients, rtol=0, atol=1e-8 * 0.05)
    np.testing.assert_allclose(moved.standard_errors * scale, expected.standard_errors, rtol=1e-8)
    assert expected.standard_errors.min() > 0.05


@pytest.mark.parametrize("way", ["reference efron", "risk_sets efron", "risk_sets breslow"])
def test_steps_that_go_too_far_are_halved(way):
    rng = np.random.default_rng(0)
    x = np.exp(rng.normal(size=N))
    times = rng.exponential(1 / np.exp(0.5 * np.minimum(x, 8)))
    later = x[np.argsort(times)[::-1]]

    def score(coefficient: float) -> float:
        weights = np.exp(coefficient * later)
        return float(np.sum(later - np.cumsum(weights * later) / np.cumsum(weights)))

    estimate = cox(way, times, np.ones(N, dtype=bool), x[:, None], float(times.max()))
    assert estimate.status == "ok"
    assert estimate.coefficients[0] == pytest.approx(brentq(score, 0.0, 1.0, xtol=1e-14), abs=1e-10)


def fault(name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Times, events and two covariates of which the second has a fault."""
    x = np.random.default_rng(7).normal(size=(N, 2))
    times, events = drawn(np.exp(0.5 * x[:, 0]), 8, censoring=2.0)
    if name == "no event":
        return times, np.zeros(N, dtype=bool), x
    group = np.arange(N) % 10 == 0
    events = events & ~group if name == "group without events" else events
    x[:, 1] = {
        "constant": np.full(N, 0.1),
        "copy": 3 * x[:, 0] - 7,
        "tells events apart": events,
        "group without events": group,
    }[name]
    return times, events, x


@pytest.mark.parametrize(
    ("name", "status", "words"),
    [
        ("no event", "too_few_events", "no record has an event"),
        ("constant", "singular", "covariate 2 is constant"),
        ("copy", "singular", "covariate 2 is constant, or depends on those before it"),
        ("tells events apart", "separated", "covariate 2 tells the events apart"),
        ("group without events", "separated", "covariate 2 tells the events apart"),
    ],
)
@pytest.mark.parametrize("way", COX)
def test_a_likelihood_without_maximum_has_a_status_and_no_coefficients(way, name, status, words):
    estimate = cox(way, *fault(name), 2.0)
    assert estimate.status == status and words in estimate.reason
    assert estimate.coefficients is None and estimate.covariance is None
    assert len(estimate.curves) == 1


HORIZON = 6.0


def arms() -> SurvivalRecords:
    """Two groups whose hazards differ after the horizon alone; all have their event."""
    rng = np.random.default_rng(2)
    group = np.arange(400) % 2
    times = rng.exponential(20.0, 400)
    later = HORIZON + rng.exponential(3.0, 400)
    times = np.where(group == 1, np.minimum(times, later), times)
    return SurvivalRecords(times, np.ones(400, dtype=bool), groups=group)


def cut(records: SurvivalRecords) -> SurvivalRecords:
    """The records with follow-up that ends at the horizon."""
    seen = records.events & (records.times <= HORIZON)
    return SurvivalRecords(np.minimum(records.times, HORIZON), seen, records.covariates, records.groups)


CURVES = {
    "reference": (reference.fit, SurvivalReferenceOptions()),
    "risk_sets": (risk_sets.fit, RiskSetsOptions()),
    "noised_times": (noised_times.fit, NoisedTimesOptions(noise="none")),
    "encrypted_histogram": (encrypted_histogram.fit, EncryptedHistogramOptions(width=1e-4)),
}


@pytest.mark.parametrize("way", CURVES)
def test_curves_and_tests_are_of_the_records_until_the_horizon(way):
    known = survdiff(cut(arms()).times, cut(arms()).events.astype(int), arms().groups)[1]
    program, options = CURVES[way]
    estimate = fit(program, arms(), options, 3, horizon=HORIZON).estimate
    # Bins of 1e-4 tie a few times, which moves the probability in its third digit.
    assert estimate.log_rank.p_value == pytest.approx(known, rel=2e-3 if way == "encrypted_histogram" else 1e-9)
    assert known > 0.5
    assert all(curve.times.max() <= HORIZON + 1e-4 for curve in estimate.curves)


@pytest.mark.parametrize("protocol", STUDY.methods)
def test_no_protocol_sees_what_comes_after_the_horizon(protocol):
    method = STUDY.methods[protocol]
    module = import_module(f"partywise.methods.survival.protocols.{method.file or protocol}")
    rng = np.random.default_rng(4)
    covariates = np.sign(rng.normal(size=(240, 2)))
    times, events = drawn(np.exp(0.5 * covariates[:, 0]) / 6, 9, censoring=30.0)
    records = SurvivalRecords(times, events, covariates / np.sqrt(2))
    assert (events & (times > HORIZON)).any()
    parts = records, cut(records)
    first, second = (fit(module.fit, part, method.options(), 2, horizon=HORIZON) for part in parts)
    assert first.run.channel.transcript() == second.run.channel.transcript()
    assert first.run.channel.ledger.digest == second.run.channel.ledger.digest
    for name in ("coefficients", "path", "propensity"):
        np.testing.assert_array_equal(getattr(first.estimate, name), getattr(second.estimate, name))
    grid = np.linspace(0, HORIZON, 50)
    for curve, other in zip(first.estimate.curves, second.estimate.curves, strict=True):
        np.testing.assert_array_equal(curve.at(grid), other.at(grid))


@pytest.mark.parametrize("way", COX)
def test_times_that_differ_in_the_last_bit_are_ties(way):
    rng = np.random.default_rng(11)
    months = rng.integers(1, 40, N).astype(float)
    events, covariates = rng.random(N) < 0.8, rng.normal(size=(N, 1))
    years = np.where(np.arange(N) < N // 2, months * 0.1, months / 10)
    assert len(np.unique(years)) > len(np.unique(months))
    expected, estimate = (cox(way, times, events, covariates, end) for times, end in ((months, 39.0), (years, 3.9)))
    np.testing.assert_allclose(estimate.coefficients, expected.coefficients, rtol=0, atol=1e-10)
    assert len(estimate.curves[0].times if way != "piecewise" else np.unique(months)) == len(np.unique(months[events]))


CERTIFIED = ["scores", "gradient", "moments", "cells"]


@pytest.mark.parametrize("protocol", CERTIFIED)
def test_certified_fits_without_events_say_that_nothing_is_estimable(protocol):
    method = pw.FederatedCox.methods[protocol]
    covariates = np.sign(np.random.default_rng(4).normal(size=(N, 2))) / np.sqrt(2)
    records = SurvivalRecords(np.full(N, 1.5), np.zeros(N, dtype=bool), covariates)
    estimate = fit(method.fit, records, method.options(), 3, 4.0).estimate
    assert estimate.status == "not_estimable" and "do not stand out of their noise" in estimate.reason
    assert estimate.coefficients is None and estimate.numbers["not_estimable"]


def test_published_steps_that_end_at_the_longest_coefficients_say_so():
    group = np.arange(N) % 2 == 0
    records = SurvivalRecords(np.where(group, 1.9, np.linspace(0.1, 1.8, N)), ~group, group[:, None].astype(float))
    ended = fit(noisy_gradient.fit, records, CoxNoisyGradientOptions(steps=40, step=5.0), 3).estimate
    assert ended.status == "not_converged" and "c_beta=3" in ended.reason
    steady = SurvivalRecords(
        records.times, np.ones(N, dtype=bool), np.random.default_rng(2).choice([-1.0, 1.0], (N, 1))
    )
    assert fit(noisy_gradient.fit, steady, CoxNoisyGradientOptions(steps=20), 3).estimate.status == "ok"


@pytest.mark.parametrize("protocol", pw.FederatedKaplanMeier.methods)
def test_curves_of_censored_records_alone_stay_at_one(protocol):
    method = pw.FederatedKaplanMeier.methods[protocol]
    records = SurvivalRecords(np.random.default_rng(1).uniform(0.1, 30.0, N), np.zeros(N, dtype=bool))
    (curve,) = fit(method.fit, records, method.options(), 3, horizon=20.0).estimate.curves
    assert curve.median is None
    np.testing.assert_array_equal(curve.at(np.linspace(0, 20.0, 5)), 1.0)
