"""Study 004: generalised linear models, correlation and principal components of columns that lie at several parties.

Document: seed 004 (block singular values, block coordinate descent, iteratively reweighted least squares, alignment of
records by hashes).  Data, split, metrics and figures are named here and live with their numerics; the pipeline imports
what a job needs.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...checks import Checked, Delta, UserUnit
from ...experiment.study import Figure, Heading, Lazy, Protocol, Source, Study
from ...glm.options import (
    BcdOptions,
    JointOptions,
    MomentsOptions,
    NoisyGradientOptions,
    NoisyNewtonOptions,
    NoisyPredictorOptions,
    ReferenceOptions,
)
from ...pca.options import BlockSvdOptions, CorrelationOptions
from .check import check
from .own_settings import TableSettings
from .settings import DatasetSettings, GeneratedSettings


@dataclass(frozen=True)
class Spec(Checked):
    """Constants of the study: delta of every epsilon, and the unit that is protected, one aligned record."""

    delta: Delta = 1e-5
    unit: UserUnit = "row"


VARIABLES: dict[str, tuple[str, str]] = {
    "coefficient_error": (
        "largest difference of a coefficient to the pooled fit, in its largest one, of standardised columns",
        "1",
    ),
    "se_units": ("largest difference of a coefficient to the pooled fit, in its standard error", "1"),
    "excess_deviance": ("deviance above the pooled fit's, in what all columns explain: 1 for the null model", "1"),
    "excess_deviance_test": ("the same on the held-out records", "1"),
    "worse_than_null": ("1 if the deviance, of held-out records where there are any, exceeds the null model's", "1"),
    "record_clip_share": (
        "share of training records with a scaled block that was clipped to its party's radius",
        "1",
    ),
    "deviance": ("deviance of the fit", "1"),
    "null_deviance": ("deviance of the intercept alone, with the same weights and offset", "1"),
    "deviance_r2": ("1 - deviance / null deviance", "1"),
    "aic": ("-2 log-likelihood at the dispersion D / n, + 2 for each parameter", "1"),
    "aic_published": ("deviance + 2 for each coefficient, the source's AIC", "1"),
    "dispersion": ("dispersion: 1, or Pearson's chi-squared over its degrees of freedom", "1"),
    "se_error": ("largest relative difference of a standard error to the pooled fit's", "1"),
    "iterations": ("iterations, of block coordinate descent sweeps", "1"),
    "openings": ("sums over all records that were opened", "1"),
    "record_openings": ("n-vectors of another party's data that somebody sees", "1"),
    "objective_rises": ("how often the objective rose from one iteration to the next", "1"),
    "rank": ("rank of the columns with the intercept", "1"),
    "correlation_error": ("largest difference of an entry of the matrix to that of the records", "1"),
    "eigenvalue_error": ("largest difference of an eigenvalue of the matrix", "1"),
    "loading_angle": ("largest angle between a component and that of the records", "radian"),
    "projected": ("1 if a noisy moment matrix was projected on the positive semi-definite ones", "1"),
    "attack_rows": ("share of a party's rows that one participant finds from what it saw and a few known rows", "1"),
    "attack_space": ("share of a party's column space that one participant saw", "1"),
    "attack_ids": ("share of a party's identifiers that a dictionary finds", "1"),
    "common_records": ("records that aligning found at all parties", "1"),
    "exponentiations": ("multiplications of points of the curve, of all parties", "1"),
    "secure_products": ("scalar products of two secret numbers, in shares", "1"),
    "outside": ("opened bound of how many linear predictors left the range of the polynomial", "1"),
    "noise_sd": ("standard deviation of the noise on an entry of a release, root mean square where they differ", "1"),
    "approximate": ("1 if the protocol stands a formula in for the link: a bias is left that no epsilon removes", "1"),
    "df_residual": ("records less coefficients", "1"),
    "penalised": ("1 if a ridge shrank the coefficients, whose bias standard errors leave out", "1"),
    "reason": ("what stopped a fit that did not converge", "1"),
    "n_train": ("records that train", "1"),
    "n_features": ("features of all parties, without the intercept", "1"),
    "path_iteration": ("iterations", "1"),
    "path_excess": ("objective above the least deviance, in what all columns explain, along iterations", "1"),
    "coefficients": ("coefficients on the scale of the given columns, the intercept first", "1"),
    "coefficient_errors": ("standard errors as the protocol reports them", "1"),
    "pooled_coefficients": ("coefficients of the pooled fit", "1"),
    "pooled_errors": ("standard errors of the pooled fit", "1"),
    "nested_deviance": ("deviance of pooled fits of 0, 1, ... columns, the clearest first", "1"),
    "nested_likelihood": ("log-likelihood of the same fits, at the dispersion D / n", "1"),
    "matrix": ("correlation or covariance matrix as the protocol reports it", "1"),
    "pooled_matrix": ("the same matrix of the records", "1"),
    "leaked_messages": ("messages with values of records of one party that one participant saw", "1"),
    "leaked_share": ("share of the party's column space that they span", "1"),
}

_PCA = "partywise.pca.protocols."
_GLM = "partywise.glm.protocols."
_HERE = "partywise.studies.vertical_glm."
_FIGURES = _HERE + "figures."
# Steers and has the result; hands out correlated random numbers and colludes with nobody.
ANALYST = ("analyst",)
DEALER = ("analyst", "dealer")
AGGREGATING = ("analyst", "aggregator")

STUDY = Study(
    name="vertical_glm",
    title="Vertical GLM, correlation and components: what crosses, what it leaks, what privacy costs",
    references="Seed 004: vertical generalised linear models, principal components and record alignment",
    spec=Spec,
    sources={
        "generated": Source(GeneratedSettings, Lazy(_HERE + "cases:generated")),
        "table": Source(
            TableSettings,
            Lazy(_HERE + "own_cases:draw"),
            complete=Lazy(_HERE + "own_cases:table"),
            home=Lazy(_HERE + "owner_outputs:owner_outputs"),
            apart=Lazy("partywise.datasets.own.remote.columns:placeholders"),
        ),
        "dataset": Source(DatasetSettings, Lazy(_HERE + "cases:dataset")),
    },
    methods={
        "reference": Protocol(ReferenceOptions, Lazy(_GLM + "reference:fit"), extra=ANALYST),
        "joint": Protocol(JointOptions, Lazy(_GLM + "joint:fit"), extra=DEALER),
        "bcd": Protocol(BcdOptions, Lazy(_GLM + "bcd:fit"), extra=ANALYST),
        "correlation": Protocol(CorrelationOptions, Lazy(_PCA + "correlation:fit"), extra=DEALER),
        "moments": Protocol(MomentsOptions, Lazy(_GLM + "moments:fit"), extra=DEALER),
        "noisy_predictor": Protocol(NoisyPredictorOptions, Lazy(_GLM + "noisy_predictor:fit"), extra=DEALER),
        "noisy_newton": Protocol(NoisyNewtonOptions, Lazy(_GLM + "noisy_newton:fit"), extra=AGGREGATING),
        "noisy_gradient": Protocol(NoisyGradientOptions, Lazy(_GLM + "noisy_gradient:fit"), extra=AGGREGATING),
        "block_svd": Protocol(BlockSvdOptions, Lazy(_PCA + "block_svd:fit"), extra=ANALYST),
    },
    data=Lazy(_HERE + "data:GlmData"),
    split=Lazy(_HERE + "data:split"),
    folds=Lazy(_HERE + "data:folds"),
    metrics=Lazy(_HERE + "metrics:metrics"),
    example_fits=Lazy(_HERE + "shown:example_fits"),
    variables=VARIABLES,
    figures={
        "iterations_by_correlation": Figure(_FIGURES + "convergence:iterations_by_correlation"),
        "objective_by_iteration": Figure(_FIGURES + "convergence:objective_by_iteration"),
        "correlations": Figure(_FIGURES + "matrices:correlations"),
        "space_by_message": Figure(_FIGURES + "leaks:space_by_message"),
        "deviance_by_epsilon": Figure(_FIGURES + "utility:deviance_by_epsilon"),
        "coefficient_intervals": Figure(_FIGURES + "coefficients:coefficient_intervals"),
        "costs_by_parties": Figure(_FIGURES + "costs:costs_by_parties"),
        "identifiers_by_mode": Figure(_FIGURES + "leaks:identifiers_by_mode"),
        "columns_by_unit": Figure(_FIGURES + "selection:columns_by_unit"),
    },
    check=check,
    summary=(
        "excess_deviance",
        "excess_deviance_test",
        "worse_than_null",
        "record_clip_share",
        "coefficient_error",
        "correlation_error",
        "record_openings",
    ),
    headings={
        "excess_deviance": Heading("excess deviance", "lower"),
        "excess_deviance_test": Heading("excess deviance, test", "lower"),
        "worse_than_null": Heading("worse than null", "lower"),
        "record_clip_share": Heading("clipped share", "neither"),
        "coefficient_error": Heading("coefficient error", "lower"),
        "correlation_error": Heading("correlation error", "lower"),
        "record_openings": Heading("vectors of records seen", "lower"),
    },
    headline=("excess_deviance_test", "excess_deviance", "correlation_error"),
    trials=Lazy(_HERE + "trials:TRIALS"),
)
