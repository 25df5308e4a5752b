"""Study 003, first section: linear models whose columns lie at several parties, by gradient steps.

Document: seed 003, "Linear Model".  Data, split, metrics and figures are named here and live with their numerics; the
pipeline imports what a job needs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...checks import Checked, Delta, UserUnit
from ...errors import ConfigError
from ...experiment.study import Figure, Heading, Lazy, Protocol, Source, Study
from ...linear.options import CertifiedOptions, ExactOptions, PooledOptions, PublishedOptions
from .own_settings import TableSettings
from .settings import CLASSES, NUMBERS, AbaloneSettings, AdultSettings, GeneratedSettings

if TYPE_CHECKING:
    from ...experiment.plan import Plan


@dataclass(frozen=True)
class Spec(Checked):
    """Constants of the study: delta of every epsilon, and the unit that is protected (nothing here protects one)."""

    delta: Delta = 1e-5
    unit: UserUnit = "row"


def check(plan: Plan) -> None:
    """Contradictions between keys that only this study can see."""
    plan.require_persons()
    for name, case in plan.cases.items():
        where = f"studies.vertical_linear.cases.{name}"
        settings = case.settings
        for count in case.parties:
            try:
                settings.groups(count)
                if isinstance(settings, TableSettings):
                    settings.check_folds(case.folds)
            except ValueError as error:
                raise ConfigError(f"{where}.grid.{error}") from None
        if settings.dims is not None and len(settings.dims) not in case.parties:
            raise ConfigError(
                f"{where}.settings.dims is {list(settings.dims)}: grid.parties is {list(case.parties)}, and no number "
                "of parties is that of its ends; give one end for each party."
            )
        if case.folds > 1:
            for key in ("test_share", "data_size_for_debug"):
                if key in case.given:
                    raise ConfigError(
                        f"{where}.settings.{key} is {getattr(settings, key)}: it is read with 1 fold, several folds "
                        "test every row; leave it out."
                    )
        if isinstance(settings, GeneratedSettings) and settings.data_size_for_debug > settings.n:
            raise ConfigError(
                f"{where}.settings.data_size_for_debug is {settings.data_size_for_debug}: there are "
                f"{settings.n} rows; leave it out for all of them."
            )
        if settings.loss == CLASSES and settings.usual == NUMBERS:
            raise ConfigError(
                f"{where}.settings.criterion is {CLASSES!r}: the labels of these data are numbers, use {NUMBERS!r}."
            )
        for label in case.methods if settings.loss == NUMBERS else ():
            model = getattr(plan.methods[label].options, "model", "logistic")
            if model != "linear":
                raise ConfigError(
                    f"{where} with method {label}: its model is {model!r}, and criterion {NUMBERS!r} needs 'linear'."
                )


VARIABLES: dict[str, tuple[str, str]] = {
    "log_loss": ("logarithmic loss on the test rows, nats", "1"),
    "auc": ("area under the ROC curve on the test rows", "1"),
    "accuracy": ("share of test rows whose label is predicted right", "1"),
    "mse": ("mean squared error on the test rows, in the units of the source", "1"),
    "worse_than_mean": ("1 if the held-out loss exceeds that of the training mean for everybody", "1"),
    "excess_loss": ("training loss above that of the exact fit", "1"),
    "limit_excess": ("training loss above that of the exact fit where the steps lead, Taylor's formula included", "1"),
    "max_coefficient_difference": ("largest difference to the same steps on pooled columns", "1"),
    "rows_recovered": ("rows of the first batch whose direction the key holder's view holds", "1"),
    "rows_attacked": ("rows of the first batch", "1"),
    "epsilon_server": ("epsilon that the ledger certifies for the key holder's view", "1"),
    "encryptions": ("numbers that were encrypted in training", "1"),
    "rerandomisations": ("ciphertexts that were closed anew", "1"),
    "multiplications": ("ciphertexts that were weighed by a feature", "1"),
    "decryptions": ("ciphertexts that were decrypted in training", "1"),
    "ciphertexts": ("ciphertexts that crossed", "1"),
    "n_train": ("records that train", "1"),
    "n_features": ("features of all parties, without the intercept", "1"),
    "diverged": ("1 if the fit is not finite", "1"),
    "path_rounds": ("rounds of gradient steps", "1"),
    "path_loss": ("training loss along the rounds", "1"),
    "path_loss_excess": ("training loss above that of the exact fit, along the rounds", "1"),
}

_PROTOCOLS = "partywise.linear.protocols."
_HERE = "partywise.studies.vertical_linear."

STUDY = Study(
    name="vertical_linear",
    title="Linear models on vertically split columns",
    references="Seed 003: Vertical Federated Learning, section Linear Model (documentation page)",
    spec=Spec,
    sources={
        "generated": Source(GeneratedSettings, Lazy(_HERE + "cases:generated")),
        "adult": Source(AdultSettings, Lazy(_HERE + "cases:adult"), resources=("adult",)),
        "abalone": Source(AbaloneSettings, Lazy(_HERE + "cases:abalone"), resources=("abalone",)),
        "table": Source(
            TableSettings,
            Lazy(_HERE + "own_cases:draw"),
            complete=Lazy(_HERE + "own_cases:table"),
            home=Lazy(_HERE + "owner_outputs:owner_outputs"),
            apart=Lazy("partywise.datasets.own.remote.columns:placeholders"),
        ),
    },
    methods={
        "pooled": Protocol(PooledOptions, Lazy(_PROTOCOLS + "pooled:fit")),
        "exact": Protocol(ExactOptions, Lazy(_PROTOCOLS + "pooled:fit")),
        "certified": Protocol(CertifiedOptions, Lazy(_PROTOCOLS + "certified:fit"), extra=("server",)),
        "published": Protocol(PublishedOptions, Lazy(_PROTOCOLS + "published:fit"), extra=("server",)),
    },
    data=Lazy(_HERE + "data:LinearData"),
    split=Lazy(_HERE + "data:split"),
    folds=Lazy(_HERE + "data:folds"),
    metrics=Lazy(_HERE + "metrics:metrics"),
    example_fits=Lazy(_HERE + "metrics:example_fits"),
    ledger=Lazy(_HERE + "metrics:server_epsilon"),
    variables=VARIABLES,
    figures={"loss_by_round": Figure(_HERE + "figures.training:loss_by_round")},
    check=check,
    summary=("log_loss", "mse", "worse_than_mean", "excess_loss", "rows_recovered"),
    headings={
        "log_loss": Heading("test log-loss", "lower"),
        "mse": Heading("test MSE", "lower"),
        "worse_than_mean": Heading("worse than mean", "lower"),
        "excess_loss": Heading("excess loss", "lower"),
        "rows_recovered": Heading("rows recovered", "lower"),
    },
    headline=("log_loss", "mse"),
    trials=Lazy(_HERE + "trials:TRIALS"),
)
