"""Federated epidemiology: Table 1, 2 x 2 tables and curves of a paper from one release, as published and as certified.

Sources: published systems of tables between organisations, and printed tables, whose documents ``register`` has.  Data,
split, metrics and figures are named here and live with their numerics; the pipeline imports what a job needs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from ...core.checks import CheckedFields, Delta
from ...core.errors import ConfigError
from ...experiment.study import NO_NOISE, Figure, FirstRun, Lazy, Protocol, Source, Study
from ...methods.epidemiology.options import (
    GeometricBoxOptions,
    ProductsOptions,
    RoundedOptions,
    SuppressedOptions,
    TablesOptions,
    TablesReferenceOptions,
)
from .measures import EpidemiologyExamples, EpidemiologyMeasures
from .own_settings import OwnEpidemiologySettings
from .settings import EpidemiologyDatasetSettings, EpidemiologyGeneratedSettings

if TYPE_CHECKING:
    from ...experiment.plan import Plan

# Options of the protocols that a case cannot have, by whether its organisations hold different columns.
WRONG_DIVISION: dict[bool, tuple[tuple[type, ...], str]] = {
    False: (
        (ProductsOptions,),
        "its parties hold different columns, and clients of the case hold different records; take protocol tables",
    ),
    True: (
        (TablesReferenceOptions, SuppressedOptions, RoundedOptions, GeometricBoxOptions, TablesOptions),
        "its clients hold different records, and organisations of the case hold different columns; take protocol "
        "products",
    ),
}


@dataclass(frozen=True)
class EpidemiologyConstants(CheckedFields):
    """Constants of the study.

    delta : of every epsilon; unit : ``user`` are all records of one person
    """

    delta: Delta = 1e-5
    unit: Literal["row", "user"] = "row"


def check(plan: Plan) -> None:
    """Contradictions between keys that only this study can see."""
    plan.require_persons()
    for name, case in plan.cases.items():
        where, settings = f"studies.federated_epidemiology.cases.{name}.grid", case.settings
        for count in case.parties:
            if settings.natural_clients and count != len(settings.natural_clients):
                raise ConfigError(
                    f"{where}.parties is {count}: the case has the clients {', '.join(settings.natural_clients)}; "
                    f"give {len(settings.natural_clients)}."
                )
        if case.folds != 1:
            raise ConfigError(f"{where}.folds is {case.folds}: nothing is held out, so it must be 1.")
        wrong, why = WRONG_DIVISION[bool(settings.organisations)]
        for label in case.methods:
            if isinstance(plan.methods[label].options, wrong):
                raise ConfigError(f"{where}.methods lists {label}: {why}.")


FIRST = FirstRun(
    methods={
        "tables": {"protocol": "tables", "title": "certified tables"},
        "pooled": {"protocol": "reference", "title": "pooled, no privacy"},
    },
    figures=("table_one", "forest"),
)
_CASES = "partywise.studies.federated_epidemiology.cases"
STUDY = Study(
    __name__,
    title="Federated epidemiology",
    question="Who was in a study, how many had the disease, and what are the crude and the standardised ratios, if "
    "hospitals may release only noisy tables of their records?",
    references="dsVert (dsvert), disclosure settings of DataSHIELD (datashield), rounding of counts (rounding), and "
    "printed tables (tableone, statsmodels_tables, berkeley, nhefs_table, mgus2)",
    spec=EpidemiologyConstants,
    sources={
        "generated": Source(EpidemiologyGeneratedSettings, complete=Lazy(f"{_CASES}:of_cohort")),
        "dataset": Source(EpidemiologyDatasetSettings, complete=Lazy(f"{_CASES}:of_dataset")),
        "table": Source.of_files(
            OwnEpidemiologySettings, "questions", first=FIRST, outputs="own_cases", examples="metrics", answers=True
        ),
    },
    methods={
        "reference": Protocol(TablesReferenceOptions, extra=("server",), release=NO_NOISE),
        "suppressed": Protocol(SuppressedOptions, extra=("server",), file="suppression", release=NO_NOISE),
        "rounded": Protocol(RoundedOptions, extra=("server",), file="rounding", release=NO_NOISE),
        "geometric_box": Protocol(GeometricBoxOptions, extra=("server", "aggregator")),
        "tables": Protocol(
            TablesOptions,
            extra=("server",),
            precision=Lazy("partywise.studies.federated_epidemiology.precision:QuestionsModel"),
        ),
        "products": Protocol(ProductsOptions, extra=("analyst",)),
    },
    measures=EpidemiologyMeasures,
    examples=EpidemiologyExamples,
    data_class="EpidemiologyData",
    figures={
        "numbers_by_epsilon": Figure("accuracy"),
        "forest": Figure("answers"),
        "table_one": Figure("answers", output="table"),
        "roc": Figure("curves"),
        "cumulative_incidence": Figure("curves"),
        "coverage_by_number": Figure("accuracy"),
        "published_widths": Figure("accuracy"),
        "records_named": Figure("accuracy"),
        "interval_coverage": Figure("partywise.plot.intervals:interval_coverage"),
    },
    check=check,
)
