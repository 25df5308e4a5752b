"""Study 000: differentially private function-on-function regression with vertical federated functional boosting.

Document: 000 (an R project: formulas and settings, no result table).  Data, splits, metrics and figures are
named here and live with their numerics; the pipeline imports what a job needs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...core.checks import CheckedFields, Delta, Unit
from ...core.errors import ConfigError
from ...experiment.study import NO_NOISE, Figure, FirstRun, Protocol, Source, Study
from ...methods.functional.options import (
    BaselineOptions,
    CentralOptions,
    CurveMomentsOptions,
    CurvePublishedOptions,
    LocalOptions,
    RoundwiseOptions,
)
from .measures import FunctionalExamples, FunctionalMeasures
from .own_settings import CurveTableSettings
from .settings import CurveDatasetSettings, SimulatedCurveSettings

if TYPE_CHECKING:
    from ...experiment.plan import Plan


@dataclass(frozen=True)
class CurveConstants(CheckedFields):
    """Constants of the study: delta of every epsilon, and the unit that is protected."""

    delta: Delta = 1e-5
    unit: Unit = "features"


def check(plan: Plan) -> None:
    """Contradictions between keys that only this study can see."""
    for name, case in plan.cases.items():
        settings, where = case.settings, f"studies.functional_boosting.cases.{name}"
        for count in case.parties:
            wanted = settings.party_counts
            if wanted is not None and count not in wanted:
                raise ConfigError(
                    f"{where}.grid.parties is {count}: split {settings.split!r} of this case has "
                    f"{' or '.join(map(str, wanted))} parties besides the holder of the response; write that number."
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
            raise ConfigError(f"{where}.grid.folds is {case.folds}: {_to_hold_out(settings)}.")
        for label in case.methods:
            _check_method(plan, where, label, settings)


def _to_hold_out(settings: SimulatedCurveSettings | CurveTableSettings) -> str:
    """Return the number of units that folds can count on and the remedy, for a message."""
    if isinstance(settings, CurveTableSettings):
        key, what = ("min_records", "records") if settings.fold_block is None else ("min_blocks", "groups of records")
        return (
            f"{key} is {settings.n_blocks}, and no more {what} are sure before the files are read; take fewer folds, "
            f"or raise {key} to what the files have"
        )
    return f"there are {settings.n_blocks} records (or blocks of records) to hold out"


def _check_method(plan: Plan, where: str, label: str, settings: SimulatedCurveSettings) -> None:
    options = plan.methods[label].options
    s = getattr(options, "s", 0.0)
    if isinstance(s, tuple) and len(s) != settings.n_predictors:
        raise ConfigError(
            f"{where}.grid.methods lists {label}, whose s has {len(s)} entries: this case has "
            f"{settings.n_predictors} predictors."
        )
    if getattr(options, "kind", "") == "oracle" and settings.n_active is None:
        raise ConfigError(f"{where}.grid.methods lists {label}: the true operators of this case are unknown.")
    square_x, square_y = (settings.n_basis_x,) * 2, (settings.n_basis_y,) * 2
    shapes = {"omega_x": (square_x, (settings.n_predictors, *square_x)), "omega_y": (square_y,)}
    for name, allowed in shapes.items():
        omega = getattr(options, name, None)
        if omega is not None and omega.shape not in allowed:
            sizes = [" x ".join(map(str, shape)) for shape in (omega.shape, *allowed)]
            raise ConfigError(
                f"{where}.grid.methods lists {label}, whose {name} is {sizes[0]}: the bases of this case need "
                f"{' or '.join(sizes[1:])}."
            )
    directions = getattr(options, "directions", None)
    if directions is not None and directions > settings.n_basis_x:
        raise ConfigError(
            f"{where}.grid.methods lists {label} with directions {directions}: the basis of this case has "
            f"{settings.n_basis_x} functions."
        )


FIRST = FirstRun(
    methods={
        "average_curve": {"protocol": "baseline", "kind": "mean"},
        "pooled_regression": {"protocol": "baseline", "kind": "least_squares", "title": "least squares, pooled"},
        "free_of_noise": {"protocol": "boosting", "noise": "none", "title": "no noise"},
        "curves_released": {"protocol": "boosting", "s_mode": "calibrated", "title": "released curves (local)"},
    },
    spec={"delta": 1e-5, "unit": "features"},
    figures=("error_by_epsilon", "real_curves"),
    folds=4,
    epsilon=(100.0, 1000.0, 10000.0),
)
STUDY = Study(
    __name__,
    title="Differentially private function-on-function regression with vertical federated functional boosting",
    question="What does it cost to predict response curves from curves that other organisations hold, if every record "
    "is protected by proof?",
    references="Seed 000: Differentially Private Function-on-Function Regression (project documentation)",
    spec=CurveConstants,
    sources={
        "simulated": Source(SimulatedCurveSettings),
        "dataset": Source(CurveDatasetSettings),
        "table": Source.of_files(CurveTableSettings, "curves", first=FIRST, examples="metrics"),
    },
    methods={
        "boosting": Protocol(LocalOptions, file="curves"),
        "published": Protocol(CurvePublishedOptions, file="curves"),
        "moments": Protocol(CurveMomentsOptions, extra=("analyst",)),
        "roundwise": Protocol(RoundwiseOptions, file="rounds"),
        "central": Protocol(CentralOptions, file="curves"),
        "baseline": Protocol(BaselineOptions, file="baselines", release=NO_NOISE),
    },
    measures=FunctionalMeasures,
    examples=FunctionalExamples,
    data_class="FunctionalData",
    figures={
        "error_by_parties": Figure("parties"),
        "claims_about_parties": Figure("parties"),
        "bytes_by_parties": Figure("parties"),
        "selection_quality": Figure("selection", output="table"),
        "error_by_epsilon": Figure("privacy"),
        "claimed_and_certified": Figure("privacy"),
        "real_curves": Figure("curves", records=True),
        "operators": Figure("curves"),
    },
    check=check,
    folds_share=True,
)
