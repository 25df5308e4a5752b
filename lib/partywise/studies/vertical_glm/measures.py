"""Distance of a vertical GLM or matrix to the pooled one, and what was seen on the way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...experiment.measures import (
    COVERAGE_WITHOUT_NOISE,
    HALF_WIDTH,
    HALF_WIDTH_WITHOUT_NOISE,
    IDENTIFIED,
    INTERVAL_COVERAGE,
    N_FEATURES,
    N_TRAIN,
    NOISE_SD,
    PROJECTED,
    SHAPE_TEST,
    ExampleFits,
    Measures,
    example,
    measure,
)

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True, kw_only=True)
class GlmMeasures(Measures):
    """Numbers of a fit; those of the summary come first, in its order."""

    excess_deviance: float | None = measure(
        "deviance above the pooled fit's, in what all columns explain: 1 for the null model",
        heading="excess deviance",
        better="lower",
        summary=True,
        headline=2,
        noise_free=0.0,
    )
    excess_deviance_test: float | None = measure(
        "the same on the held-out records",
        heading="excess deviance, test",
        better="lower",
        summary=True,
        headline=1,
        noise_free=0.0,
    )
    worse_than_null: bool | None = measure(
        "1 if the deviance, of held-out records where there are any, exceeds the null model's",
        heading="worse than null",
        better="lower",
        summary=True,
    )
    score_clip_share: float | None = measure(
        "share of the scores of all steps that the public bound clipped", heading="clipped scores", summary=True
    )
    record_clip_share: float | None = measure(
        "share of training records with a scaled block that was clipped to its party's radius",
        heading="clipped share",
        summary=True,
    )
    coefficient_error: float | None = measure(
        "largest difference of a coefficient to the pooled fit, in its largest one, of standardised columns",
        heading="coefficient error",
        better="lower",
        summary=True,
    )
    correlation_error: float | None = measure(
        "largest difference of an entry of the matrix to that of the records",
        heading="correlation error",
        better="lower",
        summary=True,
        headline=3,
        noise_free=0.0,
    )
    record_openings: int | None = measure(
        "n-vectors of another party's data that somebody sees",
        heading="vectors of records seen",
        better="lower",
        summary=True,
    )
    se_units: float | None = measure("largest difference of a coefficient to the pooled fit, in its standard error")
    deviance: float | None = measure("deviance of the fit")
    null_deviance: float | None = measure("deviance of the intercept alone, with the same weights and offset")
    deviance_r2: float | None = measure("1 - deviance / null deviance")
    aic: float | None = measure("-2 log-likelihood at the dispersion D / n, + 2 for each parameter")
    aic_published: float | None = measure("deviance + 2 for each coefficient, the source's AIC")
    dispersion: float | None = measure("dispersion: 1, or Pearson's chi-squared over its degrees of freedom")
    se_error: float | None = measure("largest relative difference of a standard error to the pooled fit's")
    interval_coverage: float | None = measure(INTERVAL_COVERAGE)
    interval_coverage_without_noise: float | None = measure(COVERAGE_WITHOUT_NOISE)
    half_width: float | None = measure(HALF_WIDTH)
    half_width_without_noise: float | None = measure(HALF_WIDTH_WITHOUT_NOISE)
    identified: bool | None = measure(IDENTIFIED)
    shape_test: float | None = measure(SHAPE_TEST)
    iterations: int | None = measure("iterations, of block coordinate descent sweeps")
    openings: int | None = measure("sums over all records that were opened")
    objective_rises: int | None = measure("how often the objective rose from one iteration to the next")
    rank: int | None = measure("rank of the columns with the intercept")
    eigenvalue_error: float | None = measure("largest difference of an eigenvalue of the matrix")
    loading_angle: float | None = measure("largest angle between a component and that of the records", "radian")
    projected: bool | None = measure(PROJECTED)
    attack_rows: float | None = measure(
        "share of a party's rows that one participant finds from what it saw and a few known rows"
    )
    attack_space: float | None = measure("share of a party's column space that one participant saw")
    attack_ids: float | None = measure("share of a party's identifiers that a dictionary finds")
    common_records: int | None = measure("records that aligning found at all parties")
    exponentiations: int | None = measure("multiplications of points of the curve, of all parties")
    secure_products: int | None = measure("scalar products of two secret numbers, in shares")
    outside: float | None = measure("opened bound of how many linear predictors left the range of the polynomial")
    noise_sd: float | None = measure(NOISE_SD)
    approximate: bool | None = measure(
        "1 if the protocol stands a formula in for the link: a bias is left that no epsilon removes"
    )
    df_residual: int | None = measure("records less coefficients")
    events: int | None = measure("events that ended a follow-up")
    concordance: float | None = measure(
        "share of comparable pairs whose hazards are ordered as their times", better="higher"
    )
    penalised: bool | None = measure("1 if a ridge shrank the coefficients, whose bias standard errors leave out")
    reason: str | None = measure("what stopped a fit that did not converge")
    n_train: int | None = measure(N_TRAIN)
    n_features: int | None = measure(N_FEATURES)


@dataclass(frozen=True, kw_only=True)
class GlmExamples(ExampleFits):
    """Arrays of an example fit."""

    path_iteration: np.ndarray | None = example("iterations", "path_point")
    path_excess: np.ndarray | None = example(
        "objective above the least deviance, in what all columns explain, along iterations", "path_point"
    )
    coefficients: np.ndarray | None = example(
        "coefficients on the scale of the given columns, the intercept first", "coefficient"
    )
    interval_centres: np.ndarray | None = example(
        "middles of the intervals; the coefficients where they are the middles, or where there are no intervals",
        "coefficient",
    )
    coefficient_errors: np.ndarray | None = example(
        "standard errors as the protocol reports them, of noisy sums over records and noise", "coefficient"
    )
    pooled_coefficients: np.ndarray | None = example("coefficients of the pooled fit", "coefficient")
    pooled_errors: np.ndarray | None = example("standard errors of the pooled fit", "coefficient")
    nested_deviance: np.ndarray | None = example(
        "deviance of pooled fits of 0, 1, ... columns, the clearest first", "nested_model"
    )
    nested_likelihood: np.ndarray | None = example(
        "log-likelihood of the same fits, at the dispersion D / n", "nested_model"
    )
    matrix: np.ndarray | None = example(
        "correlation or covariance matrix as the protocol reports it", "matrix_row", "matrix_column"
    )
    pooled_matrix: np.ndarray | None = example("the same matrix of the records", "matrix_row", "matrix_column")
    leaked_messages: np.ndarray | None = example(
        "messages with values of records of one party that one participant saw", "leaked_message"
    )
    leaked_share: np.ndarray | None = example("share of the party's column space that they span", "leaked_message")
