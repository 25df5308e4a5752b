"""Study 000: differentially private function-on-function regression with vertical federated functional boosting.

Document: seed 000 (an R project: formulas and settings, no result table).  Data, splits, metrics and figures are
named here and live with their numerics; the pipeline imports what a job needs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...checks import Delta, Unit, check_fields
from ...errors import ConfigError
from ...experiment.study import Lazy, Protocol, Source, Study
from ...functional.options import (
    BaselineOptions,
    CentralOptions,
    LocalOptions,
    MomentsOptions,
    PublishedOptions,
    RoundwiseOptions,
)
from .own_settings import TablesSettings
from .settings import BeijingSettings, NycSettings, SimulatedSettings
from .variables import VARIABLES

if TYPE_CHECKING:
    from ...experiment.study import Plan


@dataclass(frozen=True)
class Spec:
    """Constants of the study: delta of every epsilon, and the unit that is protected."""

    delta: Delta = 1e-5
    unit: Unit = "features"

    def __post_init__(self) -> None:
        check_fields(self)


def check(plan: Plan) -> None:
    """Contradictions between keys that only this study can see."""
    for name, case in plan.cases.items():
        settings, where = case.settings, f"studies.functional_boosting.cases.{name}"
        for count in case.parties:
            wanted = settings.party_counts
            if wanted is not None and count not in wanted:
                raise ConfigError(
                    f"{where}.grid.parties is {count}: split {settings.split!r} of this case has "
                    f"{' or '.join(map(str, wanted))} parties."
                )
            if not 1 <= count <= settings.n_predictors:
                raise ConfigError(
                    f"{where}.grid.parties is {count}: the number of parties must lie in "
                    f"1..{settings.n_predictors}, the number of predictors."
                )
        if getattr(settings, "n_test", 0) and case.folds != 1:
            raise ConfigError(
                f"{where}.grid.folds is {case.folds}: a case with n_test fresh records has exactly 1 fold."
            )
        if case.folds > settings.n_blocks:
            raise ConfigError(
                f"{where}.grid.folds is {case.folds}: there are {settings.n_blocks} records (or blocks of records) to "
                "hold out."
            )
        for label in case.methods:
            _check_method(plan, where, label, settings)


def _check_method(plan: Plan, where: str, label: str, settings: SimulatedSettings) -> None:
    options = plan.methods[label].options
    s = getattr(options, "s", 0.0)
    if isinstance(s, tuple) and len(s) != settings.n_predictors:
        raise ConfigError(
            f"{where}.grid.methods lists {label}, whose s has {len(s)} entries: this case has "
            f"{settings.n_predictors} predictors."
        )
    if getattr(options, "kind", "") == "oracle" and settings.n_active is None:
        raise ConfigError(f"{where}.grid.methods lists {label}: the true operators of this case are unknown.")
    directions = getattr(options, "directions", None)
    if directions is not None and directions > settings.n_basis_x:
        raise ConfigError(
            f"{where}.grid.methods lists {label} with directions {directions}: the basis of this case has "
            f"{settings.n_basis_x} functions."
        )


_PROTOCOLS = "partywise.functional.protocols."
_CURVES = "partywise.studies.functional_boosting.cases:"
_FIGURES = "partywise.studies.functional_boosting.figures."

STUDY = Study(
    name="functional_boosting",
    title="Differentially private function-on-function regression with vertical federated functional boosting",
    references="Seed 000: Differentially Private Function-on-Function Regression (project documentation)",
    spec=Spec,
    sources={
        "simulated": Source(SimulatedSettings, Lazy(_CURVES + "simulated")),
        "beijing": Source(BeijingSettings, Lazy(_CURVES + "beijing"), resources=("beijing_pm25",)),
        "nyc": Source(NycSettings, Lazy(_CURVES + "nyc"), resources=("nyc_flights",)),
        "tables": Source(TablesSettings, Lazy("partywise.studies.functional_boosting.own_cases:tables")),
    },
    methods={
        "boosting": Protocol(LocalOptions, Lazy(_PROTOCOLS + "curves:fit")),
        "published": Protocol(PublishedOptions, Lazy(_PROTOCOLS + "curves:fit")),
        "moments": Protocol(MomentsOptions, Lazy(_PROTOCOLS + "moments:fit"), extra=("aggregator",)),
        "roundwise": Protocol(RoundwiseOptions, Lazy(_PROTOCOLS + "rounds:fit")),
        "central": Protocol(CentralOptions, Lazy(_PROTOCOLS + "curves:fit")),
        "baseline": Protocol(BaselineOptions, Lazy(_PROTOCOLS + "baselines:fit")),
    },
    data=Lazy("partywise.studies.functional_boosting.data:FunctionalData"),
    split=Lazy("partywise.studies.functional_boosting.splitting:split"),
    folds=Lazy("partywise.studies.functional_boosting.splitting:folds"),
    metrics=Lazy("partywise.studies.functional_boosting.metrics:metrics"),
    exhibits=Lazy("partywise.studies.functional_boosting.exhibits:exhibits"),
    variables=VARIABLES,
    figures={
        "error_by_parties": Lazy(_FIGURES + "parties:error_by_parties"),
        "claims_about_parties": Lazy(_FIGURES + "parties:claims_about_parties"),
        "bytes_by_parties": Lazy(_FIGURES + "parties:bytes_by_parties"),
        "selection_quality": Lazy(_FIGURES + "parties:selection_quality"),
        "error_by_epsilon": Lazy(_FIGURES + "privacy:error_by_epsilon"),
        "claimed_and_certified": Lazy(_FIGURES + "privacy:claimed_and_certified"),
        "real_curves": Lazy(_FIGURES + "curves:real_curves"),
        "operators": Lazy(_FIGURES + "curves:operators"),
    },
    check=check,
    summary=("excess", "relative_error", "sensitivity", "specificity", "published_mib"),
)
