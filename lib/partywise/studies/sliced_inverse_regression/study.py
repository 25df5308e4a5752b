"""Study 001: federated sliced inverse regression under differential privacy, as published and with a proof.

Document: 001 (a paper with four tables and five figures).  Data, split, metrics and figures are named here and
live with their numerics; the pipeline imports what a job needs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from ...core.checks import CheckedFields
from ...core.errors import ConfigError
from ...experiment.study import NO_NOISE, Figure, FirstRun, Lazy, Protocol, Source, Study
from ...methods.inverse_regression.options import (
    SlicingCertifiedOptions,
    SlicingPublishedOptions,
    SlicingReferenceOptions,
    WhitenedOptions,
    check_budget_options,
)
from .measures import SlicingExamples, SlicingMeasures
from .own_settings import OwnSlicingSettings
from .settings import SimulatedSlicingSettings, SlicingDatasetSettings

if TYPE_CHECKING:
    from ...experiment.plan import Plan


@dataclass(frozen=True)
class SlicingConstants(CheckedFields):
    """Constant of the study: the unit that is protected.  Each case has its own delta, from its public n.

    unit : ``user`` are all records of one person
    """

    unit: Literal["row", "label", "features", "user"] = "row"


SlicingSettings = SimulatedSlicingSettings | SlicingDatasetSettings | OwnSlicingSettings
# Figures of own data.
OWN_FIGURES = ("separation_by_epsilon", "projected_records")


def check(plan: Plan) -> None:
    """Contradictions between keys that only this study can see."""
    plan.require_persons()
    for name, case in plan.cases.items():
        where = f"studies.sliced_inverse_regression.cases.{name}"
        most = getattr(case.settings, "n_clients", None) or case.settings.clients
        for count in case.parties:
            if count > most:
                raise ConfigError(f"{where}.grid.parties is {count}: the case has {most} clients.")
        if case.folds != 1:
            raise ConfigError(f"{where}.grid.folds is {case.folds}: nothing is held out, so it must be 1.")
        for label in case.methods:
            _check_method(plan.methods[label].options, f"{where}.grid.methods lists {label}", case.settings)
    _check_figures(plan)


def _check_figures(plan: Plan) -> None:
    """Figures that a configuration lists have something to show."""
    kinds = {isinstance(case.settings, OwnSlicingSettings) for case in plan.cases.values()}
    for figure in plan.figures if "figures" in plan.block else ():
        lists = f"studies.sliced_inverse_regression.figures lists {figure!r}"
        if kinds == {True} and figure not in OWN_FIGURES:
            wanted = " or ".join(OWN_FIGURES)
            raise ConfigError(f"{lists}: it shows cases of the source, and all cases here are own data; take {wanted}.")
        if kinds == {False} and figure in OWN_FIGURES:
            raise ConfigError(f"{lists}: it shows own data, and no case here has source table; take it out.")


def _check_method(options: object, lists: str, settings: SlicingSettings) -> None:
    active = getattr(settings, "active", None)
    try:
        check_budget_options(options, settings.epsilon_second)
    except ValueError as error:
        raise ConfigError(f"{lists}: {error}") from None
    if getattr(options, "estimator", "sir") == "lda" and settings.slices != 2:
        raise ConfigError(f"{lists}, whose estimator is 'lda': the case has {settings.slices} classes, not 2.")
    size = getattr(options, "max_size", None)
    if size is not None and not settings.screened:
        raise ConfigError(f"{lists} with max_size {size}: the case has no columns to screen.")
    for name, default in (
        ("screening", "signs"),
        ("distribution", "gumbel"),
        ("rounds", 2),
        ("screening_share", 1 / 3),
    ):
        value = getattr(options, name, default)
        if value != default and not settings.screened:
            raise ConfigError(f"{lists} with {name} {value}: the case has no columns to screen.")
    if size is not None and size < settings.n_directions:
        raise ConfigError(f"{lists} with max_size {size}: there are {settings.n_directions} directions.")
    if settings.screened and active is None:
        wanted = "max_size" if isinstance(options, SlicingCertifiedOptions | WhitenedOptions) else "top"
        if getattr(options, wanted, None) is None and getattr(options, "threshold", None) is None:
            raise ConfigError(f"{lists}, which screens columns: the true support is unknown, so give {wanted}.")


# Why a protocol never releases.
UNPROVED = "nothing finite is certified: slices, centre or shape of the noise come from the data"

FIRST = FirstRun(
    methods={
        "pooled_slices": {"protocol": "reference", "kernel": "classical", "slices": "public", "title": "SIR, pooled"},
        "one_round": {"protocol": "certified", "title": "certified in one round"},
    },
    figures=("separation_by_epsilon", "projected_records"),
    replicates=5,
)
# Model of a design of one direction.
DIRECTION = Lazy("partywise.methods.inverse_regression.protocols.precision:DirectionModel")

STUDY = Study(
    __name__,
    title="Federated sliced inverse regression under differential privacy",
    question="In which directions of many columns does a response change, if each hospital may release only noisy "
    "moments of its records?",
    references="Seed 001: Federated Sliced Inverse Regression (paper)",
    spec=SlicingConstants,
    sources={
        "simulated": Source(
            SimulatedSlicingSettings,
            complete=Lazy("partywise.studies.sliced_inverse_regression.cases:complete_simulated"),
        ),
        "dataset": Source(SlicingDatasetSettings),
        "table": Source.of_files(OwnSlicingSettings, "clients", first=FIRST, outputs="own_cases"),
    },
    methods={
        "published": Protocol(SlicingPublishedOptions, extra=("server",), release=UNPROVED),
        "certified": Protocol(SlicingCertifiedOptions, extra=("server",), precision=DIRECTION),
        "whitened": Protocol(WhitenedOptions, extra=("server",)),
        "reference": Protocol(SlicingReferenceOptions, extra=("server",), release=NO_NOISE),
    },
    measures=SlicingMeasures,
    examples=SlicingExamples,
    data_class="SlicingData",
    figures={
        "table_1": Figure("tables", output="table"),
        "table_2": Figure("tables", output="table"),
        "table_3": Figure("tables", output="table"),
        "table_4": Figure("tables", output="table"),
        "angle_by_size": Figure("angles"),
        "angle_by_clients": Figure("angles"),
        "noise_levels": Figure("noise"),
        "activity": Figure("projections", records=True),
        "flights": Figure("projections", records=True),
        "separation_by_epsilon": Figure("own"),
        "projected_records": Figure("own", records=True),
    },
    check=check,
)
