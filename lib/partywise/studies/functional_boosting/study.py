"""Study 000: differentially private function-on-function regression with vertical federated functional boosting.

Document: seed 000 (an R project: formulas and settings, no result table).  Data, splits, metrics and figures are
named here and live with their numerics; the pipeline imports what a job needs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...checks import Checked, Delta, Unit
from ...errors import ConfigError
from ...experiment.study import Figure, Heading, Lazy, Protocol, Source, Study
from ...functional.options import (
    BaselineOptions,
    CentralOptions,
    LocalOptions,
    MomentsOptions,
    PublishedOptions,
    RoundwiseOptions,
)
from .own_settings import TableSettings
from .settings import BeijingSettings, NycSettings, SimulatedSettings

if TYPE_CHECKING:
    from ...experiment.plan import Plan


@dataclass(frozen=True)
class Spec(Checked):
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
            raise ConfigError(f"{where}.grid.folds is {case.folds}: {_to_hold_out(settings)}.")
        for label in case.methods:
            _check_method(plan, where, label, settings)


def _to_hold_out(settings: SimulatedSettings | TableSettings) -> str:
    """How many units folds can count on, and the remedy."""
    if isinstance(settings, TableSettings):
        key, what = ("min_records", "records") if settings.fold_block is None else ("min_blocks", "groups of records")
        return (
            f"{key} is {settings.n_blocks}, and no more {what} are sure before the files are read; take fewer folds, "
            f"or raise {key} to what the files have"
        )
    return f"there are {settings.n_blocks} records (or blocks of records) to hold out"


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


VARIABLES: dict[str, tuple[str, str]] = {
    "il2": ("mean integrated squared error on held-out records", "1"),
    "ril2": ("integrated squared error relative to the squared norm of the response", "1"),
    "ril2_released": ("the same when predictions use the released instead of the clean predictors", "1"),
    "relative_error": ("held-out risk relative to that of the training mean curve (1 - R2)", "1"),
    "excess": ("excess risk: 0 at the true operators, 1 at the mean curve", "1"),
    "rmse": ("root mean squared error on 101 public grid points", "1"),
    "nrmse": ("RMSE divided by the range of the response on the grid", "1"),
    "wmape": ("sum of absolute errors divided by the sum of absolute responses", "1"),
    "smape": ("mean of 2|e| / (|y| + |prediction|), 0/0 counted as 0", "1"),
    "mape": ("mean of |e/y| over grid points with y != 0", "1"),
    "mape_left_out": ("share of grid points with y = 0, left out of mape", "1"),
    "sensitivity": ("share of active predictors touched on the returned path", "1"),
    "specificity": ("share of inactive predictors never touched on the returned path", "1"),
    "sensitivity_importance": ("share of active predictors with at least 5 % of the largest importance", "1"),
    "specificity_importance": ("share of inactive predictors below 5 % of the largest importance", "1"),
    "auc_importance": ("area under the ROC curve of the importance ||B_j||^2 for being active", "1"),
    "n_selected": ("predictors touched on the returned path", "1"),
    "published_mib": ("communication by the published formula", "MiB"),
    "release_bytes": ("bytes of the released curves by formula, 8 N m_g Qx over the parties", "byte"),
    "moments_bytes": ("bytes of released second moments by formula", "byte"),
    "steps": ("steps of the returned fit", "1"),
    "criterion": ("stopping criterion of the returned state", "1"),
    "df": ("exact degrees of freedom of the returned path", "1"),
    "min_eigenvalue": ("least eigenvalue of the corrected training covariance before projection", "1"),
    "radius": ("clipping radius, mean over predictors", "1"),
    "noise_sd": ("standard deviation of the noise on an entry of a release, root mean square where they differ", "1"),
    "curve_clip_share": ("share of released curves that were clipped", "1"),
    "projected": ("1 if a noisy moment matrix was projected on the positive semi-definite ones", "1"),
    "null_model": ("1 if no step improved on the mean curve", "1"),
    "hit_max_steps": ("1 if all steps were used without a stop", "1"),
    "diverged": ("1 if the fit is not finite", "1"),
    "worse_than_mean": ("1 if the held-out loss exceeds that of the training mean for everybody", "1"),
    "attack_auc": ("membership attack: area under the ROC curve", "1"),
    "attack_auc_calibrated": ("membership attack calibrated by reference models: area under the ROC curve", "1"),
    "attack_auc_low": ("lower end of the 95 % bootstrap interval of the calibrated AUC", "1"),
    "attack_auc_high": ("upper end of the 95 % bootstrap interval of the calibrated AUC", "1"),
    "attack_tpr": ("membership attack: true-positive rate at 1 % false positives, calibrated score", "1"),
    "attack_balanced_accuracy": ("membership attack: best balanced accuracy, calibrated score", "1"),
    "operator": ("kernel beta_j(s, t) of four predictors, one fit of each method", "1"),
    "predictor_shown_index": ("number of the predictor shown", "1"),
    "curve_observed": ("held-out response curves, smoothed, in the unit of the response", "1"),
    "curve_predicted": ("their predictions from clean predictors", "1"),
    "record_label": ("date of the record as yyyymmdd, or its number", "1"),
    "record_id": ("name of the record, as the numbers of its characters", "1"),
}

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
        "table": Source(
            TableSettings,
            Lazy("partywise.studies.functional_boosting.own_cases:draw"),
            complete=Lazy("partywise.studies.functional_boosting.own_cases:table"),
            home=Lazy("partywise.studies.functional_boosting.owner_outputs:owner_outputs"),
            apart=Lazy("partywise.datasets.own.remote.curves:placeholders"),
        ),
    },
    methods={
        "boosting": Protocol(LocalOptions, Lazy(_PROTOCOLS + "curves:fit")),
        "published": Protocol(PublishedOptions, Lazy(_PROTOCOLS + "curves:fit")),
        "moments": Protocol(MomentsOptions, Lazy(_PROTOCOLS + "moments:fit"), extra=("analyst", "dealer")),
        "roundwise": Protocol(RoundwiseOptions, Lazy(_PROTOCOLS + "rounds:fit")),
        "central": Protocol(CentralOptions, Lazy(_PROTOCOLS + "curves:fit")),
        "baseline": Protocol(BaselineOptions, Lazy(_PROTOCOLS + "baselines:fit")),
    },
    data=Lazy("partywise.studies.functional_boosting.data:FunctionalData"),
    split=Lazy("partywise.studies.functional_boosting.data:split"),
    folds=Lazy("partywise.studies.functional_boosting.data:folds"),
    metrics=Lazy("partywise.studies.functional_boosting.metrics:metrics"),
    example_fits=Lazy("partywise.studies.functional_boosting.metrics:example_fits"),
    variables=VARIABLES,
    figures={
        "error_by_parties": Figure(_FIGURES + "parties:error_by_parties"),
        "claims_about_parties": Figure(_FIGURES + "parties:claims_about_parties"),
        "bytes_by_parties": Figure(_FIGURES + "parties:bytes_by_parties"),
        "selection_quality": Figure(_FIGURES + "selection:selection_quality"),
        "error_by_epsilon": Figure(_FIGURES + "privacy:error_by_epsilon"),
        "claimed_and_certified": Figure(_FIGURES + "privacy:claimed_and_certified"),
        "real_curves": Figure(_FIGURES + "curves:real_curves", records=True),
        "operators": Figure(_FIGURES + "curves:operators"),
    },
    check=check,
    folds_share=True,
    summary=(
        "excess",
        "relative_error",
        "worse_than_mean",
        "curve_clip_share",
        "sensitivity",
        "specificity",
        "published_mib",
    ),
    headings={
        "excess": Heading("excess risk", "lower"),
        "relative_error": Heading("relative error", "lower"),
        "worse_than_mean": Heading("worse than mean", "lower"),
        "curve_clip_share": Heading("clipped share", "neither"),
        "sensitivity": Heading("active ones found", "higher"),
        "specificity": Heading("others left out", "higher"),
        "published_mib": Heading("MiB by the source", "lower"),
    },
    headline=("excess", "relative_error"),
    trials=Lazy("partywise.studies.functional_boosting.trials:TRIALS"),
)
