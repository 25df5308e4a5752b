"""All scalars of one cell: distances from the pooled curve and fit, what intervals cover, what crossed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ...audits.attacks.event_times import read_sums
from ...experiment.measures import finite
from ...methods.survival.certified.scores import stopped_residuals
from ...methods.survival.model import SurvivalEstimate
from ...methods.survival.options import EncryptedHistogramOptions, NoisyOptions, RiskSetsOptions
from ...methods.survival.published.histograms import alone, histograms
from ...methods.survival.published.propensity import propensity_table
from ...methods.survival.records import SurvivalRecords
from ...models.follow_up.partial_likelihood import event_times, risk_sums
from ...models.intervals import Intervals, interval_numbers
from .data import SurvivalData
from .measures import SurvivalExamples, SurvivalMeasures

if TYPE_CHECKING:
    from ...experiment.study import MethodSpec
    from .study import SurvivalConstants

POINTS, SHOWN = 500, 100
LEVEL = 0.05


def metrics(
    estimate: SurvivalEstimate,
    data: SurvivalData,
    train: np.ndarray,
    spec: MethodSpec[object, SurvivalConstants, object],
) -> SurvivalMeasures:
    """Scalars of one fit."""
    measures = (
        estimate_measures(estimate, train, spec) | _curve_errors(estimate, data) | _covered_curves(estimate, data)
    )
    if estimate.coefficients is not None:
        measures |= _coefficient_errors(estimate.coefficients, estimate, data)
    if spec.study.unit == "user":
        persons = data.n_persons(_sizes(estimate, spec), getattr(spec.settings, "rows_per_user", None))
        measures |= SurvivalMeasures(n_protected=_n_protected(persons, spec))
    measures |= SurvivalMeasures(records_read=_records_read(estimate.clients, data, spec.options))
    if estimate.propensity is not None:
        X, treated = propensity_table(data.covariates, spec.options.treatment)  # type: ignore[attr-defined]
        measures |= SurvivalMeasures(treatment_accuracy=float(np.mean((X @ estimate.propensity > 0) == treated)))
    if data.covariates.shape[1]:
        measures |= SurvivalMeasures(
            clip_share=float(np.mean(data.clip_mask)), stopped_share=_stopped_share(estimate, data)
        )
    return measures


def estimate_measures(
    estimate: SurvivalEstimate, train: np.ndarray, spec: MethodSpec[object, SurvivalConstants, object]
) -> SurvivalMeasures:
    """Return the measures of estimate and public facts, without a record: the number of persons is not public."""
    measures = SurvivalMeasures.of(estimate.numbers)
    if spec.study.unit != "user":
        measures |= SurvivalMeasures(n_protected=_n_protected(_sizes(estimate, spec), spec))
    if estimate.log_rank is not None:
        test = estimate.log_rank
        p_value = test.p_value
        measures |= SurvivalMeasures(
            logrank=test.statistic, logrank_p=p_value, rejected=None if p_value is None else p_value < LEVEL
        )
    return measures | _intervals(estimate)


def _intervals(
    estimate: SurvivalEstimate,
    truths: Sequence[np.ndarray] | None = None,
    truth: np.ndarray | None = None,
    pooled_errors: np.ndarray | None = None,
) -> SurvivalMeasures:
    """Numbers of the intervals of log hazard ratios, or of survival at all edges where no regression is fitted.

    truths : (J,) true survival of each group at the edges; truth : (p,) log hazard ratios; where they are known
    pooled_errors : (p,) standard errors of the pooled fit, over records alone
    """
    hidden = SurvivalMeasures(identified=False) if estimate.status == "not_estimable" else SurvivalMeasures()
    if estimate.coefficients is not None:
        if estimate.standard_errors is None:
            return hidden
        intervals = Intervals(estimate.coefficients, estimate.standard_errors)
        alone = None if pooled_errors is None else replace(intervals, standard_errors=pooled_errors).bounds()
        bounds = intervals.bounds()
    else:
        counted, left_out = (estimate.bands(together=False, noise=noise) for noise in (True, False))
        if not counted:
            return hidden
        bounds, alone = (
            np.concatenate([np.column_stack([band.lower, band.upper]) for band in bands])
            for bands in (counted, left_out)
        )
        truth = None if truths is None else np.concatenate(truths)
    assert bounds is not None
    return SurvivalMeasures.of(interval_numbers(bounds, alone, truth))


def _sizes(estimate: SurvivalEstimate, spec: MethodSpec[object, SurvivalConstants, object]) -> Sequence[int]:
    """Records of each client."""
    sizes: tuple[int, ...] = spec.public.sizes(estimate.clients)  # type: ignore[attr-defined]
    return sizes


def _n_protected(numbers: Sequence[int], spec: MethodSpec[object, SurvivalConstants, object]) -> int:
    """Number of units that one noise covers: those of all clients, or of the largest if each client has its own."""
    return max(numbers) if getattr(spec.options, "noise", "shared") == "local" else sum(numbers)


def _curve_errors(estimate: SurvivalEstimate, data: SurvivalData) -> SurvivalMeasures:
    """Largest distances from the pooled curves, and that of the restricted mean."""
    if not estimate.curves:
        return SurvivalMeasures()
    times = np.linspace(0, data.horizon, POINTS)
    survival, hazard, mean = 0.0, 0.0, 0.0
    pairs = zip(estimate.curves, data.pooled_curves, data.pooled_hazards, strict=True)
    for curve, pooled, cumulative in pairs:
        probabilities = curve.at(times)
        survival = max(survival, float(np.abs(probabilities - pooled.at(times)).max()))
        with np.errstate(divide="ignore"):
            hazard = max(hazard, float(np.abs(-np.log(probabilities) - cumulative.at(times)).max()))
        mean = np.maximum(mean, abs(curve.restricted_mean(data.horizon) - pooled.restricted_mean(data.horizon)))
    return SurvivalMeasures(
        km_error=survival,
        cumulative_hazard_error=finite(hazard),
        rmst_error=finite(mean),
    )


def _covered_curves(estimate: SurvivalEstimate, data: SurvivalData) -> SurvivalMeasures:
    """Coverage of true survival at the edges, where it is known."""
    if estimate.table is None or not len(data.true_times):
        return SurvivalMeasures()
    edges = estimate.table.edges[1:]
    truths = [np.interp(edges, data.true_times, truth) for truth in data.true_survival]
    bands = estimate.bands(together=True)
    covered = bool(np.all([band.covers(curve).all() for band, curve in zip(bands, truths, strict=True)]))
    return _intervals(estimate, truths) | SurvivalMeasures(band_coverage=covered)


def _coefficient_errors(coefficients: np.ndarray, estimate: SurvivalEstimate, data: SurvivalData) -> SurvivalMeasures:
    """Distances from the pooled log hazard ratios, and coverage of the true ones."""
    if not np.all(np.isfinite(coefficients)):
        return SurvivalMeasures(diverged=True)
    pooled = data.pooled_fit
    if pooled is None:
        return SurvivalMeasures()
    off = (coefficients - pooled.coefficients) / pooled.standard_errors
    rms = float(np.sqrt(np.mean(off**2)))
    none = float(np.sqrt(np.mean((pooled.coefficients / pooled.standard_errors) ** 2)))
    length = float(pooled.coefficients @ pooled.coefficients)
    measures = SurvivalMeasures(
        coefficient_rms=rms,
        coefficient_largest=float(np.abs(off).max()),
        squared_error=float(np.sum((coefficients - pooled.coefficients) ** 2)) / length,
        worse_than_zero=rms > none,
    )
    truth = data.truth if len(data.truth) else None
    return measures | _intervals(estimate, truth=truth, pooled_errors=pooled.standard_errors)


def _stopped_share(estimate: SurvivalEstimate, data: SurvivalData) -> float | None:
    """Share of records whose fitted cumulative hazard reaches C before their time."""
    model, terms = estimate.model, estimate.terms
    if model is None or terms is None:
        return None
    _, hazards = stopped_residuals(data.follow_up, model, terms)
    return float(np.mean(hazards >= terms.stopped_at))


def _records_read(clients: int, data: SurvivalData, options: object) -> float | None:
    """Share of records that an observer reads for certain; None where no attack is made."""
    if isinstance(options, NoisyOptions):
        return 0.0
    parts = _client_records(clients, data)
    if isinstance(options, RiskSetsOptions) and data.covariates.shape[1]:
        times, zero = event_times(data.follow_up), np.zeros(data.covariates.shape[1])
        sums = [risk_sums(part, times, zero) for part in parts]
        return sum(len(read_sums(times, moments.zeroth, moments.first).covariates) for moments in sums) / len(
            data.times
        )
    if isinstance(options, RiskSetsOptions):
        # Event times and tables: every event's time, and of censored records between which two events they end.
        return float(np.mean(data.follow_up.events))
    if isinstance(options, EncryptedHistogramOptions) and clients > 1:
        bins = int(np.ceil(data.follow_up.times.max() / options.width))
        counts = np.array([histograms(part, options.width, bins) for part in parts])
        return float(alone(counts).sum() / ((clients - 1) * len(data.times)))
    return None


def _client_records(clients: int, data: SurvivalData) -> list[SurvivalRecords]:
    rows = np.split(np.arange(len(data.times)), np.cumsum(data.public().sizes(clients))[:-1])
    return [data.follow_up.take(rows_of_client) for rows_of_client in rows]


def example_fits(
    estimate: SurvivalEstimate,
    data: SurvivalData,
    train: np.ndarray,
    spec: MethodSpec[object, SurvivalConstants, object],
) -> SurvivalExamples:
    """Return the example arrays of a fit, with the pooled curves and log hazard ratios, which no party sees."""
    times = np.linspace(0, data.horizon, SHOWN)
    examples = estimate_examples(estimate, train, spec)
    at_risk, censored = numbers_at_risk(data.follow_up, times, data.n_groups)
    examples |= SurvivalExamples(
        curve_pooled=np.stack([curve.at(times) for curve in data.pooled_curves]),
        pooled_at_risk=at_risk,
        pooled_censored=censored,
    )
    if data.covariates.shape[1] and data.pooled_fit is not None:
        pooled = data.pooled_fit
        examples |= SurvivalExamples(ratio_pooled=pooled.coefficients, ratio_pooled_error=pooled.standard_errors)
    return examples


def numbers_at_risk(records: SurvivalRecords, times: np.ndarray, groups: int) -> tuple[np.ndarray, np.ndarray]:
    """Records at risk at increasing times (A, m), and those censored since the time before; none at the last time."""
    parts = [records.of_group(group) for group in range(groups)]
    at_risk = [len(part) - np.searchsorted(np.sort(part.times), times, side="left") for part in parts]
    ended = [part.times[~part.events & (part.times < times[-1])] for part in parts]
    censored = [np.bincount(np.searchsorted(times, part, side="left"), minlength=len(times)) for part in ended]
    return np.stack(at_risk).astype(float), np.stack(censored).astype(float)


def estimate_examples(
    estimate: SurvivalEstimate, train: np.ndarray, spec: MethodSpec[object, SurvivalConstants, object]
) -> SurvivalExamples:
    """Curves with their bands on 100 times, and log hazard ratios with their standard errors, without a record."""
    times = np.linspace(0, spec.public.horizon, SHOWN)  # type: ignore[attr-defined]
    examples = SurvivalExamples(curve_time=times)
    if estimate.curves:
        examples |= SurvivalExamples(curve_survival=np.stack([curve.at(times) for curve in estimate.curves]))
    bands = estimate.bands(together=True)
    if bands and estimate.table is not None:
        sampled_bands = [band.at(times, estimate.table.edges) for band in bands]
        examples |= SurvivalExamples(
            curve_lower=np.stack([band.lower for band in sampled_bands]),
            curve_upper=np.stack([band.upper for band in sampled_bands]),
        )
    if estimate.table is not None:
        bins = np.searchsorted(estimate.table.edges[1:-1], times, side="right")
        examples |= SurvivalExamples(curve_at_risk=estimate.table.at_start[:, bins])
    if estimate.coefficients is not None and (estimate.standard_errors is not None or estimate.reason):
        missing = np.full(len(estimate.coefficients), np.nan)
        errors = missing if estimate.standard_errors is None else estimate.standard_errors
        examples |= SurvivalExamples(ratio=estimate.coefficients, ratio_error=errors)
    if estimate.coefficients is not None and estimate.path is not None:
        examples |= SurvivalExamples(ratio_path=estimate.path)
    return examples
