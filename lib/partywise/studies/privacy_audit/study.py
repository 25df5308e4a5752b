"""The audit study: what the source documents claim about privacy, what holds, and what repairs it.

Documents: seeds 000 to 004.  A case is one claim of one document, whose ``claims.py`` has it; a method is the published
or the repaired form of its mechanism, the epsilon of the grid what the document claims.  The ledger says what is
certified, attacks say what is refuted.  This study collects claims from all folders and knows none by name.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...checks import Checked, Delta, Unit
from ...errors import ConfigError
from ...experiment.claims import Claim, collected, modules
from ...experiment.study import Figure, Heading, Lazy, Protocol, Study
from .options import AuditOptions

if TYPE_CHECKING:
    from ...experiment.plan import Plan


@dataclass(frozen=True)
class Spec(Checked):
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
                f"{where}.epsilon has inf: give the epsilon that is claimed, or the target of the repair."
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


VARIABLES: dict[str, tuple[str, str]] = {
    "certified_for_claim": ("epsilon that the ledger certifies for the unit and delta of the claim", "1"),
    "claim_unit": ("what changes between neighbours in the claim", "1"),
    "claim_delta": ("delta of the claim", "1"),
    "audited_lower": ("lower bound of epsilon, worst pair: exact, certain or by counts", "1"),
    "audited_lower_ordinary": ("the same for an ordinary pair of neighbours", "1"),
    "mu_lower": ("lower bound of mu of a Gaussian mechanism, worst pair", "1"),
    "epsilon_mu_lower": ("lower bound of epsilon from the bound of mu", "1"),
    "exact_epsilon": ("epsilon of the worst pair, where it can be computed", "1"),
    "exact_epsilon_ordinary": ("epsilon of the ordinary pair, where it can be computed", "1"),
    "exact_pure": ("pure epsilon (delta = 0) of the mechanism, by enumeration", "1"),
    "audit_kind": ("how the lower bound is proved", "1"),
    "audit_confidence": ("confidence of each sampled bound", "1"),
    "audit_draws": ("releases a world that certify the bound by counts", "1"),
    "at_sample_limit": ("1 if more draws would give a larger bound", "1"),
    "one_run_lower": ("lower bound of epsilon from one run with canaries", "1"),
    "one_run_correct": ("canaries guessed right in one run", "1"),
    "claim_refuted": ("1 if a lower bound exceeds the claim", "1"),
    "control": ("1 for mechanisms that keep their claim as published", "1"),
    "source_document": ("source document of the mechanism", "1"),
    "title": ("mechanism", "1"),
    "remedy": ("what repairs it", "1"),
    "noise_sd": ("standard deviation of the noise on an entry of a release, root mean square where they differ", "1"),
    "least_variance": ("least eigenvalue of the covariance as printed", "1"),
    "printed_total": ("largest total of a row of the law as printed", "1"),
    "indices_moved": ("indices that one record moves in the worst pair", "1"),
    "recovered": ("secret entries that the attack recovers exactly", "1"),
    "recovered_share": ("share of the secret entries that the attack recovers exactly", "1"),
    "recovery_error": ("largest error of recovered rows relative to the largest entry", "1"),
    "tracing_auc": ("tracing attack: area under the ROC curve, mean over trials; descriptive", "1"),
    "tracing_se": ("standard error of that mean", "1"),
    "members": ("records behind the direction that is traced", "1"),
    "roc_false": ("tracing attack: false-positive rate", "1"),
    "roc_true": ("tracing attack: true-positive rate, mean over trials", "1"),
}

_HERE = "partywise.studies.privacy_audit."

STUDY = Study(
    name="privacy_audit",
    title="What the sources claim about privacy, and what holds",
    references="Seeds 000 to 004: the source documents of the project",
    spec=Spec,
    sources=collected(),
    reads=modules(),
    methods={"audit": Protocol(AuditOptions, Lazy(_HERE + "protocol:fit"), extra=("server",))},
    data=Lazy("partywise.audits.worlds:AuditData"),
    split=Lazy(_HERE + "data:split"),
    folds=Lazy(_HERE + "data:folds"),
    metrics=Lazy(_HERE + "metrics:metrics"),
    ledger=Lazy(_HERE + "metrics:certified"),
    example_fits=Lazy(_HERE + "metrics:example_fits"),
    variables=VARIABLES,
    figures={
        "claims": Figure(_HERE + "figures.claims:claims"),
        "worst_claims": Figure(_HERE + "figures.claims:worst_claims"),
        "tracing_roc": Figure(_HERE + "figures.tracing:tracing_roc"),
    },
    check=check,
    summary=("audited_lower", "epsilon_mu_lower", "claim_refuted"),
    headings={
        "audited_lower": Heading("epsilon at least, audited", "neither"),
        "epsilon_mu_lower": Heading("epsilon at least, by mu", "neither"),
        "claim_refuted": Heading("claim refuted", "neither"),
        "certified_for_claim": Heading("certified epsilon", "lower"),
    },
    headline=("claim_refuted",),
    certified="certified_for_claim",
)
