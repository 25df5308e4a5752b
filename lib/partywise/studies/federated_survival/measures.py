"""Distances of curves and log hazard ratios from the pooled ones, coverage of intervals, and records that are read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...experiment.measures import (
    COVERAGE_WITHOUT_NOISE,
    DIVERGED,
    HALF_WIDTH,
    HALF_WIDTH_WITHOUT_NOISE,
    IDENTIFIED,
    INTERVAL_COVERAGE,
    NOISE_SD,
    RECORDS_READ,
    STEPS,
    ExampleFits,
    Measures,
    example,
    measure,
)

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True, kw_only=True)
class SurvivalMeasures(Measures):
    """Numbers of a fit; those of the summary come first, in its order."""

    km_error: float | None = measure(
        "largest distance of the survival curve from the pooled Kaplan-Meier curve, over 500 times and all groups",
        heading="error of survival",
        better="lower",
        summary=True,
        headline=1,
        noise_free=0.0,
    )
    coefficient_rms: float | None = measure(
        "root mean square distance of log hazard ratios from the pooled ones, in their standard errors",
        heading="error of log hazard ratios, SE",
        better="lower",
        summary=True,
        headline=2,
        noise_free=0.0,
    )
    worse_than_zero: bool | None = measure(
        "1 if log hazard ratios of 0 would be closer to the pooled ones",
        heading="worse than no effects",
        better="lower",
        summary=True,
    )
    interval_coverage: float | None = measure(INTERVAL_COVERAGE, summary=True)
    rejected: bool | None = measure(
        "1 if the log-rank test of two groups rejects equal hazards at 5 %", heading="log-rank rejects", summary=True
    )
    records_read: float | None = measure(RECORDS_READ, summary=True)
    treatment_accuracy: float | None = measure(
        "share of records whose treatment a model of the other covariates tells", better="higher"
    )
    coefficient_largest: float | None = measure(
        "largest distance of a log hazard ratio from the pooled one, in its standard errors"
    )
    squared_error: float | None = measure(
        "squared distance of the log hazard ratios from the pooled ones, as a share of their squared length"
    )
    rmst_error: float | None = measure(
        "distance of the restricted mean survival time until the horizon from the pooled one, in the unit of the times"
    )
    cumulative_hazard_error: float | None = measure(
        "largest distance of the cumulative hazard from the pooled Nelson-Aalen curve, over 500 times and all groups"
    )
    interval_coverage_without_noise: float | None = measure(COVERAGE_WITHOUT_NOISE)
    half_width: float | None = measure(HALF_WIDTH)
    half_width_without_noise: float | None = measure(HALF_WIDTH_WITHOUT_NOISE)
    identified: bool | None = measure(IDENTIFIED)
    band_coverage: bool | None = measure("1 if the 95 % band holds the true survival at all edges")
    logrank: float | None = measure("log-rank statistic of two groups, standard normal under equal hazards")
    logrank_p: float | None = measure("p-value of the log-rank test")
    clip_share: float | None = measure("share of records whose covariates public bounds clipped or shrunk")
    stopped_share: float | None = measure(
        "share of records whose follow-up the fitted cumulative hazard ends before their time"
    )
    bins: int | None = measure("bins J of the table")
    determined_bins: int | None = measure(
        "bins, from the first on, in which the number at risk stands out of the noise"
    )
    noise_sd: float | None = measure(NOISE_SD)
    steps: int | None = measure(STEPS)
    stopped_at: float | None = measure("cumulative hazard C at which the follow-up of a record is ended")
    times_sent: int | None = measure("exact times that cross")
    not_estimable: bool | None = measure("1 if the released events do not stand out of their noise")
    diverged: bool | None = measure(DIVERGED)


@dataclass(frozen=True, kw_only=True)
class SurvivalExamples(ExampleFits):
    """Arrays of an example fit."""

    curve_time: np.ndarray | None = example("time", "time_shown")
    curve_pooled: np.ndarray | None = example("pooled Kaplan-Meier survival", "group", "time_shown")
    curve_survival: np.ndarray | None = example("survival of the fit", "group", "time_shown")
    curve_lower: np.ndarray | None = example("lower end of the 95 % band of survival", "group", "time_shown")
    curve_upper: np.ndarray | None = example("upper end of the 95 % band of survival", "group", "time_shown")
    curve_at_risk: np.ndarray | None = example("number at risk by the released table", "group", "time_shown")
    pooled_at_risk: np.ndarray | None = example("number of pooled records at risk", "group", "time_shown")
    pooled_censored: np.ndarray | None = example(
        "number of pooled records censored since the time shown before", "group", "time_shown"
    )
    ratio_pooled: np.ndarray | None = example("pooled log hazard ratio", "covariate")
    ratio_pooled_error: np.ndarray | None = example("standard error of the pooled log hazard ratio", "covariate")
    ratio: np.ndarray | None = example("log hazard ratio of the fit", "covariate")
    ratio_error: np.ndarray | None = example(
        "standard error of the log hazard ratio, over records and noise", "covariate"
    )
    ratio_path: np.ndarray | None = example("log hazard ratios after each round", "round", "covariate")
