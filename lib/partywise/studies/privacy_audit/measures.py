"""Results of attacks on the mechanism of a claim, and what the ledger certifies for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...experiment.measures import NOISE_SD, RECOVERED_SHARE, ExampleFits, Measures, example, measure

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True, kw_only=True)
class AuditMeasures(Measures):
    """Numbers of a fit; those of the summary come first, in its order."""

    audited_lower: float | None = measure(
        "lower bound of epsilon, worst pair: exact, certain or by counts",
        heading="epsilon at least, audited",
        summary=True,
    )
    epsilon_mu_lower: float | None = measure(
        "lower bound of epsilon from the bound of mu", heading="epsilon at least, by mu", summary=True
    )
    claim_refuted: bool | None = measure(
        "1 if a lower bound exceeds the claim", heading="claim refuted by an attack", summary=True, headline=1
    )
    certified_for_claim: float | None = measure(
        "epsilon that the ledger certifies for the unit and delta of the claim",
        heading="certified epsilon",
        better="lower",
        certified=True,
    )
    claim_unit: str | None = measure("what changes between neighbours in the claim")
    claim_delta: float | None = measure("delta of the claim")
    audited_lower_ordinary: float | None = measure("the same for an ordinary pair of neighbours")
    mu_lower: float | None = measure("lower bound of mu of a Gaussian mechanism, worst pair")
    exact_epsilon: float | None = measure("epsilon of the worst pair, where it can be computed")
    exact_epsilon_ordinary: float | None = measure("epsilon of the ordinary pair, where it can be computed")
    exact_pure: float | None = measure("pure epsilon (delta = 0) of the mechanism, by enumeration")
    audit_kind: str | None = measure("how the lower bound is proved")
    audit_confidence: float | None = measure("confidence of each sampled bound")
    audit_draws: int | None = measure("releases a world that certify the bound by counts")
    at_sample_limit: bool | None = measure("1 if more draws would give a larger bound")
    one_run_lower: float | None = measure("lower bound of epsilon from one run with canaries")
    one_run_correct: int | None = measure("canaries guessed right in one run")
    control: bool | None = measure("1 for mechanisms that keep their claim as published")
    source_document: str | None = measure("source document of the mechanism")
    title: str | None = measure("mechanism")
    remedy: str | None = measure("what corrects it")
    noise_sd: float | None = measure(NOISE_SD)
    least_variance: float | None = measure("least eigenvalue of the covariance as printed")
    printed_total: float | None = measure("largest total of a row of the distribution as printed")
    indices_moved: int | None = measure("indices that one record moves in the worst pair")
    recovered_entries: int | None = measure("secret entries that the attack recovers exactly")
    recovered_share: float | None = measure(RECOVERED_SHARE)
    recovery_error: float | None = measure("largest error of recovered rows relative to the largest entry")
    tracing_auc: float | None = measure("tracing attack: area under the ROC curve, mean over trials; descriptive")
    tracing_se: float | None = measure("standard error of that mean")
    members: int | None = measure("records behind the direction that is traced")


@dataclass(frozen=True, kw_only=True)
class AuditExamples(ExampleFits):
    """Arrays of an example fit."""

    roc_false: np.ndarray | None = example("tracing attack: false-positive rate", "rate")
    roc_true: np.ndarray | None = example("tracing attack: true-positive rate, mean over trials", "rate")
