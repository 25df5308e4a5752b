"""Study 002: label-private logistic regression from one released aggregate.

Document: seed 002 ("Weighted Aggregate Logistic Regression": formulas and one algorithm, no result).  Data, split,
metrics and figures are named here and live with their numerics; the pipeline imports what a job needs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...checks import Delta, Unit, check_fields
from ...errors import ConfigError
from ...experiment.study import Lazy, Protocol, Source, Study
from ...logistic.options import (
    SMALLEST_EPSILON,
    LabelSgdOptions,
    ObjectiveOptions,
    ReferenceOptions,
    RoundsOptions,
    WalrOptions,
)
from .settings import FlightsSettings, GeneratedSettings, TableSettings
from .variables import VARIABLES

if TYPE_CHECKING:
    from ...experiment.study import Plan


@dataclass(frozen=True)
class Spec:
    """Constants of the study: delta of every epsilon (a case may have its own), and the unit that is protected."""

    delta: Delta = 1e-5
    unit: Unit = "label"

    def __post_init__(self) -> None:
        check_fields(self)


def check(plan: Plan) -> None:
    """Contradictions between keys that only this study can see."""
    for name, case in plan.cases.items():
        where = f"studies.label_private.cases.{name}.grid"
        if case.parties != (2,):
            raise ConfigError(
                f"{where}.parties is {list(case.parties)}: it must be [2], the trainer (features) and the measurer "
                "(labels)."
            )
        if case.folds != 1:
            raise ConfigError(f"{where}.folds is {case.folds}: every replicate has its own test rows, so it must be 1.")
        if min(case.epsilon) < SMALLEST_EPSILON:
            raise ConfigError(
                f"{where}.epsilon is {min(case.epsilon)}: it must be at least {SMALLEST_EPSILON:g}; less leaves "
                "nothing but noise."
            )


_PROTOCOLS = "partywise.logistic.protocols."
_CASES = "partywise.studies.label_private.cases:"
_FIGURES = "partywise.studies.label_private.figures."

STUDY = Study(
    name="label_private",
    title="Label-private logistic regression from one released aggregate",
    references="Seed 002: Weighted Aggregate Logistic Regression (proposal document)",
    spec=Spec,
    sources={
        "generated": Source(GeneratedSettings, Lazy(_CASES + "generated")),
        "adult": Source(TableSettings, Lazy(_CASES + "adult"), resources=("adult",)),
        "breast_cancer": Source(TableSettings, Lazy(_CASES + "breast_cancer"), resources=("breast_cancer",)),
        "body_fat": Source(TableSettings, Lazy(_CASES + "body_fat"), resources=("body_fat",)),
        "late_flights": Source(FlightsSettings, Lazy(_CASES + "late_flights"), resources=("nyc_flights",)),
    },
    methods={
        "walr": Protocol(WalrOptions, Lazy(_PROTOCOLS + "one_release:fit")),
        "noisy_gradient": Protocol(RoundsOptions, Lazy(_PROTOCOLS + "rounds:fit")),
        "label_sgd": Protocol(LabelSgdOptions, Lazy(_PROTOCOLS + "rounds:fit")),
        "objective_perturbation": Protocol(ObjectiveOptions, Lazy(_PROTOCOLS + "private_rows:fit")),
        "non_private": Protocol(ReferenceOptions, Lazy(_PROTOCOLS + "reference:fit")),
    },
    data=Lazy("partywise.studies.label_private.data:LabelData"),
    split=Lazy("partywise.studies.label_private.splitting:split"),
    folds=Lazy("partywise.studies.label_private.splitting:folds"),
    metrics=Lazy("partywise.studies.label_private.metrics:metrics"),
    exhibits=Lazy("partywise.studies.label_private.exhibits:exhibits"),
    variables=VARIABLES,
    figures={
        "utility_by_epsilon": Lazy(_FIGURES + "utility:utility_by_epsilon"),
        "excess_by_size": Lazy(_FIGURES + "utility:excess_by_size"),
        "calibration_curves": Lazy(_FIGURES + "calibration:calibration_curves"),
        "unbounded_shares": Lazy(_FIGURES + "training:unbounded_shares"),
        "running_away": Lazy(_FIGURES + "training:running_away"),
        "gap_by_passes": Lazy(_FIGURES + "training:gap_by_passes"),
        "classic_noise": Lazy(_FIGURES + "training:classic_noise"),
    },
    check=check,
    summary=("log_loss", "auc", "excess_risk", "share_unbounded"),
)
