"""Study 003, first section: linear models whose columns lie at several parties, by gradient steps.

Document: 003, "Linear Model".  Data, split, metrics and figures are named here and live with their numerics; the
pipeline imports what a job needs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from ...core.checks import CheckedFields, Count, Delta, NotNegative, Positive, Range, UserUnit
from ...core.errors import ConfigError
from ...data.columns.settings import ColumnDatasetSettings, RowSettings, check_columns
from ...experiment.study import NO_NOISE, PUBLIC_TABLE, Figure, FirstRun, Lazy, Protocol, Source, Study
from ...methods.linear.options import (
    LinearCertifiedOptions,
    LinearExactOptions,
    LinearPooledOptions,
    LinearPublishedOptions,
)
from ...models.criteria import CLASSES, NUMBERS
from .measures import LinearExamples, LinearMeasures
from .own_settings import LinearTableSettings

if TYPE_CHECKING:
    from ...experiment.plan import Plan


@dataclass(frozen=True, kw_only=True)
class LinearGeneratedSettings(RowSettings):
    """A linear predictor of features that are uniform on [-3, 3].

    n : rows, training and test together; d : features
    signal : standard deviation of the linear predictor; noise : of what is added to it in regression
    """

    n: Annotated[int, Range(4)] = 2000
    d: Count = 14
    signal: Positive = 2.0
    noise: NotNegative = 1.0

    labels_alone = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.noise != 1.0 and self.loss_in_force == CLASSES:
            raise ValueError(f"noise is {self.noise!r}: it is read with loss {NUMBERS!r} only; leave it out.")

    @property
    def n_columns(self) -> int:
        """Columns of the data."""
        return self.d


@dataclass(frozen=True, kw_only=True)
class ScaledDatasetSettings(ColumnDatasetSettings):
    """A shipped table whose columns all have a public range; a category counts as the number of its level."""

    labels_alone = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if lacking := self.columns_without_bounds:
            raise ValueError(
                f"dataset is {self.dataset!r}: its column {self.column_names[lacking[0]]!r} has no public range, by "
                "which a linear model would scale it; take another table."
            )


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
    question="Can a linear model be trained on columns of several parties so that none sees a row of another?",
    references="Seed 003: Vertical Federated Learning, section Linear Model (documentation page)",
    spec=LinearConstants,
    sources={
        "generated": Source(LinearGeneratedSettings),
        "dataset": Source(ScaledDatasetSettings, apart=PUBLIC_TABLE),
        "table": Source.of_files(LinearTableSettings, "columns", first=FIRST, rows="own_rows"),
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
