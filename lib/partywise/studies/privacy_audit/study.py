"""The audit study: what the source documents claim about privacy, what holds, and what corrects it.

Documents: seeds 000 to 004.  A case is one claim of one document, whose ``claims.py`` has it; a method is the published
or the corrected form of its mechanism, the epsilon of the grid what the document claims.  The ledger has what is
certified, attacks what is refuted.  This study collects claims from all folders and knows none by name.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal, final

from ...core.checks import CheckedFields, Count, Delta, Range, Share, Unit
from ...core.errors import ConfigError
from ...experiment.claims import Claim, all_claims, modules
from ...experiment.study import Figure, Lazy, Protocol, Study
from .measures import AuditExamples, AuditMeasures

if TYPE_CHECKING:
    from ...experiment.plan import Plan


@final
@dataclass(frozen=True)
class AuditOptions(CheckedFields):
    """Variant of a mechanism, and effort of the attacks on it.

    variant : ``published`` (formula for formula) or ``corrected``
    draws : releases a world and pair of neighbours; confidence : of each lower bound
    canaries : records of the audit that needs one run only; canary_confidence : of its bound
    trials : repetitions of the tracing attack
    """

    variant: Literal["published", "corrected"] = "published"
    draws: Annotated[int, Range(1000)] = 200_000
    confidence: Share = 0.999
    canaries: Annotated[int, Range(10)] = 2000
    canary_confidence: Share = 0.95
    trials: Count = 200

    uses_epsilon = True
    no_interval = "test of a guarantee"


@dataclass(frozen=True)
class AuditConstants(CheckedFields):
    """Constants of the study: delta of claims that state none, and the unit that every cell is asked about."""

    delta: Delta = 1e-5
    unit: Unit = "row"


def check(plan: Plan) -> None:
    """Contradictions between keys that only this study can see."""
    for name, case in plan.cases.items():
        where = f"studies.privacy_audit.cases.{name}.grid"
        if not isinstance(case.source, Claim):
            raise ConfigError(
                f"studies.privacy_audit.cases.{name}.source is a {type(case.source).__name__}: an audit needs a Claim."
            )
        if case.folds != 1:
            raise ConfigError(f"{where}.folds is {case.folds}: an audit holds nothing out, it has 1 fold.")
        if any(value == float("inf") for value in case.epsilon):
            raise ConfigError(
                f"{where}.epsilon has inf: give the epsilon that is claimed, or the target of the correction."
            )
        if max(case.parties) > case.settings.releases:
            raise ConfigError(
                f"{where}.parties is {list(case.parties)}: each owner sends a message, and this mechanism sends "
                f"{case.settings.releases}."
            )
        for label in case.methods:
            try:
                case.source.form(plan.methods[label].options.variant)
            except ValueError as error:
                raise ConfigError(f"{where}.methods lists {label}, whose {error}") from None


STUDY = Study(
    __name__,
    title="What the sources claim about privacy, and what holds",
    question="Which of the privacy claims of the sources hold?",
    references="Seeds 000 to 004, and fdpcox, fedeca, nvflare_km, vantage6_km, exact_cox, flower, flip, "
    "nvflare_filters, fed_biomed, pfl, dsvert, datashield and rounding: all sources with claims",
    spec=AuditConstants,
    sources=all_claims(),
    reads=modules(),
    methods={"audit": Protocol(AuditOptions, Lazy("partywise.studies.privacy_audit.protocol:fit"), extra=("server",))},
    measures=AuditMeasures,
    examples=AuditExamples,
    data_class="partywise.audits.worlds:AuditData",
    ledger=Lazy("partywise.studies.privacy_audit.metrics:certified"),
    figures={
        "worst_claims": Figure("claims"),
        "claims": Figure("claims", output="table"),
        "tracing_roc": Figure("tracing"),
    },
    check=check,
)
