"""Study 004: generalised linear models, correlation and principal components of columns that lie at several parties.

Document: 004 (block singular values, block coordinate descent, iteratively reweighted least squares, alignment of
records by hashes).  Data, split, metrics and figures are named here and live with their numerics; the pipeline imports
what a job needs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...core.checks import CheckedFields, Delta, UserUnit
from ...core.errors import ConfigError
from ...data.columns.settings import check_groups
from ...experiment.study import NO_NOISE, Figure, FirstRun, Lazy, Protocol, Source, Study
from ...methods.glm.options import (
    BcdOptions,
    GlmMomentsOptions,
    GlmNoisyGradientOptions,
    GlmReferenceOptions,
    JointOptions,
    NoisyNewtonOptions,
    NoisyPredictorOptions,
    check_family,
)
from ...methods.pca.options import BlockSvdOptions, CorrelationOptions
from .measures import GlmExamples, GlmMeasures
from .own_settings import GlmTableSettings
from .settings import GlmDatasetSettings, GlmGeneratedSettings

if TYPE_CHECKING:
    from ...experiment.plan import CasePlan, MethodPlan, Plan


# Families whose linear predictor the architecture of the source can release.
RELEASED = ("gaussian", "binomial")


def check(plan: Plan) -> None:
    """Contradictions between keys that only this study can see."""
    plan.require_persons()
    for name, case in plan.cases.items():
        where = f"studies.vertical_glm.cases.{name}"
        check_groups(case, where)
        if case.folds > 1 and not case.settings.aligned:
            raise ConfigError(
                f"{where}.grid.folds is {case.folds}: records that arrive unaligned are one fold, no party knows which "
                "of its records the others have; give folds 1, or records 'aligned'."
            )
        for label in case.methods:
            _check_method(case, plan.methods[label], where)


def _check_method(case: CasePlan, method: MethodPlan, where: str) -> None:
    """Check what a method asks of a case."""
    place, family = f"{where} with method {method.label}", case.settings.model
    # Correlations and components read no response; own programs know which families they fit.
    if method.protocol.fit.module.startswith("partywise.methods.glm."):
        try:
            check_family(method.options, family)
        except ValueError as error:
            raise ConfigError(f"{place}: {error}") from None
    if isinstance(method.options, NoisyPredictorOptions) and family not in RELEASED:
        raise ConfigError(
            f"{place}: it releases linear predictors of the families {', '.join(RELEASED)}, and the response is "
            f"{family}; choose another private method."
        )
    if method.uses_epsilon and case.settings.lacking_constants:
        raise ConfigError(
            f"{place}: a private method scales columns by public constants, never by data, "
            f"and {case.settings.lacking_constants}."
        )


@dataclass(frozen=True)
class GlmConstants(CheckedFields):
    """Constants of the study: delta of every epsilon, and the unit that is protected, one aligned record."""

    delta: Delta = 1e-5
    unit: UserUnit = "row"


# Steers and has the result; hands out correlated random numbers and does not collude.
ANALYST = ("analyst",)
DEALER = ("analyst", "dealer")
AGGREGATING = ("analyst", "aggregator")

# Model of a design of coefficients.
COEFFICIENTS = Lazy("partywise.methods.glm.noisy_statistics.precision:RegressionModel")

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
    question="Can parties that hold different columns of the same persons fit one regression, correlation matrix or "
    "PCA without showing each other a record?",
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
        "moments": Protocol(GlmMomentsOptions, extra=ANALYST, reads_training_records=True, precision=COEFFICIENTS),
        "noisy_predictor": Protocol(NoisyPredictorOptions, extra=ANALYST, reads_training_records=True),
        "noisy_newton": Protocol(
            NoisyNewtonOptions, extra=AGGREGATING, reads_training_records=True, precision=COEFFICIENTS
        ),
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
        "space_by_message": Figure("leaks", output="table"),
        "deviance_by_epsilon": Figure("utility"),
        "coefficient_intervals": Figure("coefficients"),
        "costs_by_parties": Figure("convergence"),
        "identifiers_by_mode": Figure("leaks"),
        "columns_by_unit": Figure("selection"),
        "interval_coverage": Figure("partywise.plot.intervals:interval_coverage"),
        "interval_half_width": Figure("partywise.plot.intervals:interval_half_width"),
    },
    check=check,
)
