"""Federated survival analysis: curves, tests and hazard ratios between hospitals, as published and as certified.

Sources: published systems of federated survival analysis, whose documents ``register`` has.  Data, split, metrics and
figures are named here and live with their numerics; the pipeline imports what a job needs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from ...core.checks import CheckedFields, Delta
from ...core.errors import ConfigError
from ...experiment.study import NO_NOISE, Figure, FirstRun, Lazy, Protocol, Source, Study
from ...methods.survival.options import (
    MOST_SIGNS,
    CoxNoisyGradientOptions,
    DpPropensityOptions,
    EncryptedHistogramOptions,
    GradientOptions,
    NoisedTimesOptions,
    OneReleaseOptions,
    PiecewiseOptions,
    RiskSetsOptions,
    ScoresOptions,
    SurvivalReferenceOptions,
    SurvivalTableOptions,
    TreeBreslowOptions,
)
from .measures import SurvivalExamples, SurvivalMeasures
from .own_settings import OwnSurvivalSettings
from .settings import SurvivalCaseSettings, SurvivalDatasetSettings, SurvivalGeneratedSettings

if TYPE_CHECKING:
    from ...experiment.plan import Plan

# Regression on covariates from noisy sums.
NOISY_COX = (ScoresOptions, GradientOptions, OneReleaseOptions)
# Gradient steps on covariates, as published.
PUBLISHED_STEPS = (CoxNoisyGradientOptions, DpPropensityOptions)
CURVES = Lazy("partywise.methods.survival.precision:FollowUpModel")
CONTINUOUS = "its noise is the published one, floating-point and partly without a proof"


@dataclass(frozen=True)
class SurvivalConstants(CheckedFields):
    """Constants of the study.

    delta : of every epsilon; unit : ``user`` are all records of one person
    """

    delta: Delta = 1e-5
    unit: Literal["row", "user"] = "row"


def check(plan: Plan) -> None:
    """Contradictions between keys that only this study can see."""
    plan.require_persons()
    for name, case in plan.cases.items():
        where, settings = f"studies.federated_survival.cases.{name}.grid", case.settings
        for count in case.parties:
            if settings.natural_clients and count != len(settings.natural_clients):
                raise ConfigError(
                    f"{where}.parties is {count}: the case has the clients {', '.join(settings.natural_clients)}; "
                    f"give {len(settings.natural_clients)}."
                )
        if case.folds != 1:
            raise ConfigError(f"{where}.folds is {case.folds}: nothing is held out, so it must be 1.")
        for label in case.methods:
            for wrong in contradictions(plan.methods[label].options, plan.methods[label].protocol_name, settings):
                raise ConfigError(f"{where}.methods lists {label}: {wrong}.")


def contradictions(options: object, protocol: str, settings: SurvivalCaseSettings) -> Iterator[str]:
    """Why a protocol cannot run on a case, and what to do."""
    p, several = settings.n_covariates, bool(settings.groups)
    if isinstance(options, (*NOISY_COX, *PUBLISHED_STEPS)) and p == 0:
        yield f"protocol {protocol} needs covariates, and the case has none"
    if isinstance(options, NOISY_COX) and (settings.edges or several):
        what = "edges" if settings.edges else "groups"
        yield f"protocol {protocol} has bins of equal width and one group; leave {what} out"
    if protocol == "cells" and p > MOST_SIGNS:
        yield f"protocol cells takes at most {MOST_SIGNS} covariates, and the case has {p}"
    if isinstance(options, TreeBreslowOptions) and several:
        yield "a tree is of one group, and the case has several"
    if settings.edges and getattr(options, "bins", None) not in (None, 8):
        yield "it has bins, and the case has edges; give one of them"


FIRST = FirstRun(
    methods={
        "table": {"protocol": "table", "title": "certified table"},
        "scores": {"protocol": "scores", "title": "certified scores"},
        "pooled": {"protocol": "reference", "title": "pooled, no privacy"},
    },
    figures=("survival_curves", "hazard_ratios"),
)
STUDY = Study(
    __name__,
    title="Federated survival analysis",
    question="How long do patients live without relapse, and what changes that, if each hospital may release only "
    "noisy counts and sums of its records?",
    references="FDPCox (fdpcox), FedECA (fedeca), an example of NVFlare (nvflare_km), an algorithm of vantage6 "
    "(vantage6_km), WebDISCO (exact_cox) and three abstracts (dp_survival)",
    spec=SurvivalConstants,
    sources={
        "generated": Source(SurvivalGeneratedSettings),
        "dataset": Source(SurvivalDatasetSettings),
        "table": Source.of_files(
            OwnSurvivalSettings, "follow_up", first=FIRST, outputs="own_cases", examples="metrics"
        ),
    },
    methods={
        "reference": Protocol(SurvivalReferenceOptions, extra=("server",), release=NO_NOISE),
        "piecewise": Protocol(PiecewiseOptions, extra=("server",), release=NO_NOISE),
        "risk_sets": Protocol(RiskSetsOptions, extra=("server",), release=NO_NOISE),
        "table": Protocol(SurvivalTableOptions, extra=("server",), precision=CURVES),
        "scores": Protocol(ScoresOptions, extra=("server",)),
        "gradient": Protocol(GradientOptions, extra=("server",), file="competitors.gradient"),
        "moments": Protocol(OneReleaseOptions, extra=("server",), file="competitors.moments"),
        "cells": Protocol(OneReleaseOptions, extra=("server",), file="competitors.cells"),
        "noisy_gradient": Protocol(CoxNoisyGradientOptions, extra=("server",), release=CONTINUOUS),
        "tree_breslow": Protocol(TreeBreslowOptions, extra=("server",), release=CONTINUOUS),
        "dp_propensity": Protocol(DpPropensityOptions, extra=("server",), release=CONTINUOUS),
        "noised_times": Protocol(NoisedTimesOptions, extra=("server",), release=NO_NOISE),
        "encrypted_histogram": Protocol(EncryptedHistogramOptions, extra=("server",), release=NO_NOISE),
    },
    measures=SurvivalMeasures,
    examples=SurvivalExamples,
    data_class="SurvivalData",
    figures={
        "survival_curves": Figure("curves", records=True),
        "survival_error": Figure("ratios"),
        "hazard_ratio_error": Figure("ratios"),
        "hazard_ratios": Figure("ratios"),
        "records_read": Figure("ratios", output="table"),
        "interval_coverage": Figure("partywise.plot.intervals:interval_coverage"),
        "interval_half_width": Figure("partywise.plot.intervals:interval_half_width"),
    },
    check=check,
)
