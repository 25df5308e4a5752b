"""The audit study: what the source documents claim about privacy, what holds, and what repairs it.

Documents: seeds 000 to 004.  A case is one mechanism of one document, a method its published or its repaired form, the
epsilon of the grid what the document claims.  The ledger says what is certified, attacks say what is refuted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...checks import valid_delta, valid_unit
from ...errors import ConfigError
from ...experiment.study import Lazy, Protocol, Source, Study
from .options import AuditOptions
from .settings import BodyFatSettings, CurveSettings, ExchangeSettings, LabelSettings, SliceSettings, TreeSettings
from .variables import VARIABLES

if TYPE_CHECKING:
    from ...experiment.plan import Plan


@dataclass(frozen=True)
class Spec:
    """Constants of the study: delta of claims that state none, and the unit that every cell is asked about."""

    delta: float = 1e-5
    unit: str = "row"

    def __post_init__(self) -> None:
        valid_delta(self.delta)
        valid_unit(self.unit)


def check(plan: Plan) -> None:
    """Contradictions between keys that only this study can see."""
    for name, case in plan.cases.items():
        where = f"studies.privacy_audit.cases.{name}.grid"
        if case.folds != 1:
            raise ConfigError(f"{where}.folds is {case.folds}: an audit holds nothing out, it has 1 fold.")
        if any(value == float("inf") for value in case.epsilon):
            raise ConfigError(
                f"{where}.epsilon has inf: give the epsilon that is claimed, or the target of the repair."
            )
        if case.settings.row != "budget" and case.parties != (1,):
            raise ConfigError(f"{where}.parties is {list(case.parties)}: only the row budget has more than 1 party.")
        if case.settings.row == "budget" and max(case.parties) > case.settings.n_predictors:
            raise ConfigError(
                f"{where}.parties is {list(case.parties)}: there are {case.settings.n_predictors} predictors."
            )
        tracing = case.source.generate.address.endswith((":tracing", ":body_fat"))
        if tracing != (case.settings.row == "tracing"):
            raise ConfigError(
                f"studies.privacy_audit.cases.{name}: row 'tracing' goes with source tracing or body_fat."
            )


_CASES = "partywise.studies.privacy_audit.cases:"

STUDY = Study(
    name="privacy_audit",
    title="What the sources claim about privacy, and what holds",
    references="Seeds 000 to 004: the source documents of the project",
    spec=Spec,
    sources={
        "curves": Source(CurveSettings, Lazy(_CASES + "curves")),
        "slices": Source(SliceSettings, Lazy(_CASES + "slices")),
        "labels": Source(LabelSettings, Lazy(_CASES + "labels")),
        "trees": Source(TreeSettings, Lazy(_CASES + "trees")),
        "exchange": Source(ExchangeSettings, Lazy(_CASES + "exchange")),
        "tracing": Source(SliceSettings, Lazy(_CASES + "tracing")),
        "body_fat": Source(BodyFatSettings, Lazy(_CASES + "body_fat"), resources=("body_fat",)),
    },
    methods={"audit": Protocol(AuditOptions, Lazy("partywise.studies.privacy_audit.protocol:fit"), extra=("server",))},
    data=Lazy("partywise.audits.worlds:AuditData"),
    split=Lazy("partywise.studies.privacy_audit.splitting:split"),
    folds=Lazy("partywise.studies.privacy_audit.splitting:folds"),
    metrics=Lazy("partywise.studies.privacy_audit.metrics:metrics"),
    exhibits=Lazy("partywise.studies.privacy_audit.exhibits:exhibits"),
    variables=VARIABLES,
    figures={
        "claims": Lazy("partywise.studies.privacy_audit.figures.claims:claims"),
        "tracing_roc": Lazy("partywise.studies.privacy_audit.figures.tracing:tracing_roc"),
    },
    check=check,
    summary=("audited_lower", "epsilon_mu_lower", "certified_for_claim", "claim_refuted"),
)
