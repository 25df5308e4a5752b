"""Study 002: label-private logistic regression from one released aggregate.

Document: seed 002 ("Weighted Aggregate Logistic Regression": formulas and one algorithm, no result).  Data, split,
metrics and figures are named here and live with their numerics; the pipeline imports what a job needs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from ...checks import Checked, Delta
from ...errors import ConfigError
from ...experiment.study import Figure, Heading, Lazy, Protocol, Source, Study
from ...logistic.options import (
    SMALLEST_EPSILON,
    LabelSgdOptions,
    ObjectiveOptions,
    ReferenceOptions,
    RoundsOptions,
    WalrOptions,
)
from .own_settings import OwnSettings
from .settings import FlightsSettings, GeneratedSettings, TableSettings

if TYPE_CHECKING:
    from ...experiment.plan import Plan


@dataclass(frozen=True)
class Spec(Checked):
    """Constants of the study.

    delta : of every epsilon (a case may have its own)
    unit : what is protected; ``user_label`` are all labels of one person
    """

    delta: Delta = 1e-5
    unit: Literal["row", "label", "features", "user_label"] = "label"


def check(plan: Plan) -> None:
    """Contradictions between keys that only this study can see."""
    own = all(isinstance(case.settings, OwnSettings) for case in plan.cases.values())
    if own and "excess_by_size" in plan.block.get("figures", ()):
        raise ConfigError(
            "studies.label_private.figures lists 'excess_by_size': it shows a sweep of generated data, and all cases "
            "here are own data; take utility_by_epsilon."
        )
    for name, case in plan.cases.items():
        where = f"studies.label_private.cases.{name}.grid"
        if plan.spec.unit == "user_label" and plan.rows_per_user(name) is None:
            raise ConfigError(
                f"studies.label_private.spec.unit is 'user_label': case {name} does not say how many rows a person "
                "has; give user and rows_per_user in its settings (source table), or take another unit."
            )
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


VARIABLES: dict[str, tuple[str, str]] = {
    "log_loss": ("logarithmic loss on the test rows, nats", "1"),
    "uninformative": ("1 if the test log-loss is above log 2, that of one half for everybody", "1"),
    "auc": ("area under the ROC curve on the test rows", "1"),
    "calibration_slope": ("slope of the labels on the logit of the prediction, test rows", "1"),
    "calibration_intercept": ("intercept of the labels on the logit of the prediction, test rows", "1"),
    "calibration_error": ("expected calibration error in 10 bins of equal counts, test rows", "1"),
    "excess_risk": ("training log-loss above that of the optimum without noise", "1"),
    "objective_gap": ("training objective above its least value, for the same release and ridge", "1"),
    "expected_log_loss": ("mean test log-loss over further draws of the noise", "1"),
    "expected_auc": ("mean test AUC over further draws of the noise", "1"),
    "expected_excess": ("mean excess risk over further draws of the noise", "1"),
    "noise_sd_log_loss": ("standard deviation of the test log-loss over draws of the noise", "1"),
    "noise_sd_auc": ("standard deviation of the test AUC over draws of the noise", "1"),
    "noise_sd_excess": ("standard deviation of the excess risk over draws of the noise", "1"),
    "predicted_excess": ("excess risk that the planner predicts", "1"),
    "chosen_law": ("law of the noise on the labels", "1"),
    "ridge": ("weight of the ridge on the coefficients", "1"),
    "steps": ("steps of the returned fit", "1"),
    "learning_rate": ("learning rate that was kept", "1"),
    "bounded": ("1 if the objective has a minimiser, 0 if not, undefined where no test can tell", "1"),
    "share_unbounded": ("share of noise draws without a minimiser where there is no ridge", "1"),
    "share_unknown": ("share of noise draws of which the test could not tell", "1"),
    "audited_mu": ("mu that the attack certifies, a lower bound", "1"),
    "audited_epsilon": ("epsilon at that mu, a lower bound", "1"),
    "classic_limit": ("largest epsilon that the classic noise formula keeps at this delta", "1"),
    "norm_theta": ("Euclidean norm of the coefficients", "1"),
    "n_train": ("records that train", "1"),
    "n_coefficients": ("coefficients, the intercept included", "1"),
    "diverged": ("1 if the fit is not finite", "1"),
    "calibration_predicted": ("mean prediction in a bin, one fit of each method", "1"),
    "calibration_observed": ("share of positive labels in a bin, one fit of each method", "1"),
    "path_steps": ("steps of a first-order trainer", "1"),
    "path_passes": ("passes over the training rows, a batch of m counts m / N", "1"),
    "path_norm": ("norm of the coefficients along the steps", "1"),
    "path_log_loss": ("test log-loss along the steps", "1"),
    "path_objective": ("training objective along the steps", "1"),
    "path_gap": ("training objective above its least value along the steps", "1"),
}

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
        "table": Source(
            OwnSettings,
            Lazy("partywise.studies.label_private.own_cases:draw"),
            complete=Lazy("partywise.studies.label_private.own_cases:table"),
            home=Lazy("partywise.studies.label_private.owner_outputs:owner_outputs"),
            apart=Lazy("partywise.datasets.own.remote.labels:placeholders"),
        ),
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
    split=Lazy("partywise.studies.label_private.data:split"),
    folds=Lazy("partywise.studies.label_private.data:folds"),
    metrics=Lazy("partywise.studies.label_private.metrics:metrics"),
    example_fits=Lazy("partywise.studies.label_private.metrics:example_fits"),
    variables=VARIABLES,
    figures={
        "utility_by_epsilon": Figure(_FIGURES + "utility:utility_by_epsilon"),
        "excess_by_size": Figure(_FIGURES + "utility:excess_by_size"),
        "calibration_curves": Figure(_FIGURES + "calibration:calibration_curves"),
        "unbounded_shares": Figure(_FIGURES + "training:unbounded_shares"),
        "running_away": Figure(_FIGURES + "training:running_away"),
        "gap_by_passes": Figure(_FIGURES + "training:gap_by_passes"),
        "classic_noise": Figure(_FIGURES + "training:classic_noise"),
    },
    check=check,
    summary=("log_loss", "uninformative", "auc", "excess_risk", "share_unbounded"),
    headings={
        "log_loss": Heading("test log-loss", "lower"),
        "uninformative": Heading("no better than 1/2", "lower"),
        "auc": Heading("test AUC", "higher"),
        "excess_risk": Heading("excess risk", "lower"),
        "share_unbounded": Heading("draws without minimiser", "lower"),
    },
    headline=("log_loss",),
    trials=Lazy("partywise.studies.label_private.trials:TRIALS"),
)
