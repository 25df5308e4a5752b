"""Study 002: label-private logistic regression from one released aggregate.

Document: 002 ("Weighted Aggregate Logistic Regression": formulas and one algorithm, no result).  Data, split,
metrics and figures are named here and live with their numerics; the pipeline imports what a job needs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from ...core.checks import CheckedFields, Delta
from ...core.errors import ConfigError
from ...experiment.study import NO_NOISE, Figure, FirstRun, Protocol, Source, Study
from ...methods.logistic.options import (
    SMALLEST_EPSILON,
    BucketsOptions,
    LabelReferenceOptions,
    LabelSgdOptions,
    ObjectiveOptions,
    RoundsOptions,
    WalrOptions,
)
from .measures import LabelPrivateExamples, LabelPrivateMeasures
from .own_settings import OwnLabelSettings
from .settings import LabelDatasetSettings, LabelGeneratedSettings

if TYPE_CHECKING:
    from ...experiment.plan import Plan


@dataclass(frozen=True)
class LabelConstants(CheckedFields):
    """Constants of the study.

    delta : of every epsilon (a case may have its own)
    unit : what is protected; ``user_label`` are all labels of one person
    """

    delta: Delta = 1e-5
    unit: Literal["row", "label", "features", "user_label"] = "label"


def check(plan: Plan) -> None:
    """Contradictions between keys that only this study can see."""
    all_own = all(isinstance(case.settings, OwnLabelSettings) for case in plan.cases.values())
    if all_own and "figures" in plan.block and "excess_by_size" in plan.figures:
        raise ConfigError(
            "studies.label_private.figures lists 'excess_by_size': it shows a sweep of generated data, and all cases "
            "here are own data; take utility_by_epsilon."
        )
    for name, case in plan.cases.items():
        where = f"studies.label_private.cases.{name}.grid"
        if plan.spec.unit == "user_label" and plan.rows_per_user(name) is None:
            raise ConfigError(
                f"studies.label_private.spec.unit is 'user_label': case {name} does not state how many rows a person "
                "has; give user and rows_per_user in its settings (source table), or take another unit."
            )
        several = [m for m in case.methods if getattr(plan.methods[m].options, "holders", "one") == "rows"]
        one_holder = next((method for method in case.methods if method not in several), None)
        if case.parties != (2,) and (one_holder is not None or isinstance(case.settings, OwnLabelSettings)):
            who = f" of method {one_holder}" if several and one_holder is not None else ""
            raise ConfigError(
                f"{where}.parties is {list(case.parties)}: it must be [2], the trainer (features) and the measurer "
                f"(labels){who}; generated and shipped data have more measurers with holders 'rows'."
            )
        if case.folds != 1:
            raise ConfigError(f"{where}.folds is {case.folds}: every replicate has its own test rows, so it must be 1.")
        if min(case.epsilon) < SMALLEST_EPSILON:
            raise ConfigError(
                f"{where}.epsilon is {min(case.epsilon)}: it must be at least {SMALLEST_EPSILON:g}; less leaves "
                "nothing but noise."
            )


# Why a protocol never releases.
CONTINUOUS = "its proof speaks of the exact minimiser under continuous noise"

FIRST = FirstRun(
    methods={
        "planned_noise": {"protocol": "walr", "title": "one release"},
        "randomised_labels": {"protocol": "walr", "noise": "rr", "ridge": "planned"},
        "no_privacy": {"protocol": "non_private", "title": "logistic regression, hardly any ridge"},
    },
    spec={"delta": 1e-4, "unit": "label"},
    figures=("utility_by_epsilon",),
    replicates=5,
)
STUDY = Study(
    __name__,
    title="Label-private logistic regression from one released aggregate",
    question="How good can logistic regression be if the labels are private and the features are not?",
    references="Seed 002: Weighted Aggregate Logistic Regression (proposal document)",
    spec=LabelConstants,
    sources={
        "generated": Source(LabelGeneratedSettings),
        "dataset": Source(LabelDatasetSettings),
        "table": Source.of_files(OwnLabelSettings, "labels", first=FIRST, predicts=True),
    },
    methods={
        "walr": Protocol(WalrOptions, file="one_release"),
        "buckets": Protocol(BucketsOptions),
        "noisy_gradient": Protocol(RoundsOptions, file="rounds"),
        "label_sgd": Protocol(LabelSgdOptions, file="rounds"),
        "objective_perturbation": Protocol(ObjectiveOptions, file="private_rows", release=CONTINUOUS),
        "non_private": Protocol(LabelReferenceOptions, file="reference", release=NO_NOISE),
    },
    measures=LabelPrivateMeasures,
    examples=LabelPrivateExamples,
    data_class="LabelData",
    figures={
        "utility_by_epsilon": Figure("utility"),
        "excess_by_size": Figure("utility"),
        "calibration_curves": Figure("utility"),
        "unbounded_shares": Figure("training"),
        "running_away": Figure("training"),
        "gap_by_passes": Figure("training"),
        "classic_noise": Figure("training"),
        "interval_coverage": Figure("partywise.plot.intervals:interval_coverage"),
        "interval_half_width": Figure("partywise.plot.intervals:interval_half_width"),
    },
    check=check,
)
