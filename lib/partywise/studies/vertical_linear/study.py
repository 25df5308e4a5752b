"""Study 003, first section: linear models whose columns lie at several parties, by gradient steps.

Document: seed 003, "Linear Model".  Data, split, metrics and figures are named here and live with their numerics; the
pipeline imports what a job needs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...core.checks import CheckedFields, Delta, UserUnit
from ...core.errors import ConfigError
from ...data.columns.check import check_columns
from ...experiment.study import NO_NOISE, Figure, FirstRun, Lazy, Protocol, Source, Study
from ...methods.linear.options import (
    LinearCertifiedOptions,
    LinearExactOptions,
    LinearPooledOptions,
    LinearPublishedOptions,
)
from ...models.criteria import NUMBERS
from .measures import LinearExamples, LinearMeasures
from .own_settings import LinearTableSettings
from .settings import LinearGeneratedSettings, ScaledDatasetSettings

if TYPE_CHECKING:
    from ...experiment.plan import Plan


@dataclass(frozen=True)
class LinearConstants(CheckedFields):
    """Constants of the study: delta of every epsilon, and the unit that is protected (nothing here protects one)."""

    delta: Delta = 1e-5
    unit: UserUnit = "row"


def check(plan: Plan) -> None:
    """Contradictions between keys that only this study can see."""
    plan.require_persons()
    for name, case in plan.cases.items():
        where = f"studies.vertical_linear.cases.{name}"
        check_columns(case, where)
        for label in case.methods if case.settings.loss_in_force == NUMBERS else ():
            model = getattr(plan.methods[label].options, "model", "logistic")
            if model != "linear":
                raise ConfigError(
                    f"{where} with method {label}: its model is {model!r}, and loss {NUMBERS!r} needs 'linear'."
                )


FIRST = FirstRun(
    methods={
        "fit_on_all": {"protocol": "exact", "title": "exact fit, pooled"},
        "masked_sums": {
            "protocol": "certified",
            "cipher": "sized",
            "learning_rate": 0.5,
            "total_round_num": 100,
            "eval_freq": 10,
        },
    },
    numeric_options={"model": "linear"},
    spec={"delta": 1e-5, "unit": "row"},
    figures=("loss_by_round",),
    epsilon=(1.0,),
    for_numbers={"loss": "RegressionMSELoss", "response_bounds": "?"},
)
STUDY = Study(
    __name__,
    title="Linear models on vertically split columns",
    references="Seed 003: Vertical Federated Learning, section Linear Model (documentation page)",
    spec=LinearConstants,
    sources={
        "generated": Source(LinearGeneratedSettings),
        "dataset": Source(ScaledDatasetSettings),
        "table": Source.of_files(LinearTableSettings, "columns", first=FIRST),
    },
    methods={
        "pooled": Protocol(LinearPooledOptions, release=NO_NOISE),
        "exact": Protocol(LinearExactOptions, file="pooled", release=NO_NOISE),
        "certified": Protocol(LinearCertifiedOptions, extra=("server",), release=NO_NOISE),
        "published": Protocol(LinearPublishedOptions, extra=("server",), release=NO_NOISE),
    },
    measures=LinearMeasures,
    examples=LinearExamples,
    data_class="LinearData",
    ledger=Lazy("partywise.studies.vertical_linear.metrics:server_epsilon"),
    figures={"loss_by_round": Figure("training")},
    check=check,
)
