"""Study 004: generalised linear models, correlation and principal components of columns that lie at several parties.

Document: seed 004 (block singular values, block coordinate descent, iteratively reweighted least squares, alignment of
records by hashes).  Data, split, metrics and figures are named here and live with their numerics; the pipeline imports
what a job needs.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...core.checks import CheckedFields, Delta, UserUnit
from ...experiment.study import NO_NOISE, Figure, FirstRun, Lazy, Protocol, Source, Study
from ...methods.glm.options import (
    BcdOptions,
    GlmMomentsOptions,
    GlmNoisyGradientOptions,
    GlmReferenceOptions,
    JointOptions,
    NoisyNewtonOptions,
    NoisyPredictorOptions,
)
from ...methods.pca.options import BlockSvdOptions, CorrelationOptions
from .check import check
from .measures import GlmExamples, GlmMeasures
from .own_settings import GlmTableSettings
from .settings import GlmDatasetSettings, GlmGeneratedSettings


@dataclass(frozen=True)
class GlmConstants(CheckedFields):
    """Constants of the study: delta of every epsilon, and the unit that is protected, one aligned record."""

    delta: Delta = 1e-5
    unit: UserUnit = "row"


# Steers and has the result; hands out correlated random numbers and does not collude.
ANALYST = ("analyst",)
DEALER = ("analyst", "dealer")
AGGREGATING = ("analyst", "aggregator")

FIRST = FirstRun(
    methods={
        "secure_newton": {"protocol": "joint", "title": "Newton steps, secure sums"},
        "released_moments": {"protocol": "moments", "cipher": "sized", "title": "private moments"},
    },
    spec={"delta": 1e-5, "unit": "row"},
    figures=("coefficient_intervals", "deviance_by_epsilon"),
    for_classes={"family": "binomial", "records": "aligned"},
    for_numbers={"family": "gaussian", "records": "aligned", "response_bounds": "?"},
)
STUDY = Study(
    __name__,
    title="Vertical GLM, correlation and components: what crosses, what it leaks, what privacy costs",
    references="Seed 004: vertical generalised linear models, principal components and record alignment",
    spec=GlmConstants,
    sources={
        "generated": Source(GlmGeneratedSettings),
        "table": Source.of_files(GlmTableSettings, "columns", first=FIRST, examples="examples"),
        "dataset": Source(GlmDatasetSettings),
    },
    methods={
        "reference": Protocol(GlmReferenceOptions, extra=ANALYST, release=NO_NOISE),
        "joint": Protocol(JointOptions, extra=DEALER, release=NO_NOISE),
        "bcd": Protocol(BcdOptions, extra=ANALYST, release=NO_NOISE),
        "correlation": Protocol(CorrelationOptions, extra=DEALER, release=NO_NOISE),
        "moments": Protocol(GlmMomentsOptions, extra=ANALYST, reads_training_records=True),
        "noisy_predictor": Protocol(NoisyPredictorOptions, extra=ANALYST, reads_training_records=True),
        "noisy_newton": Protocol(NoisyNewtonOptions, extra=AGGREGATING, reads_training_records=True),
        "noisy_gradient": Protocol(GlmNoisyGradientOptions, extra=AGGREGATING, reads_training_records=True),
        "block_svd": Protocol(BlockSvdOptions, extra=ANALYST, release=NO_NOISE),
    },
    measures=GlmMeasures,
    examples=GlmExamples,
    data_class="GlmData",
    example_fits=Lazy("partywise.studies.vertical_glm.examples:example_fits"),
    figures={
        "iterations_by_correlation": Figure("convergence"),
        "objective_by_iteration": Figure("convergence"),
        "correlations": Figure("matrices"),
        "space_by_message": Figure("leaks"),
        "deviance_by_epsilon": Figure("utility"),
        "coefficient_intervals": Figure("coefficients"),
        "costs_by_parties": Figure("convergence"),
        "identifiers_by_mode": Figure("leaks"),
        "columns_by_unit": Figure("selection"),
    },
    check=check,
)
