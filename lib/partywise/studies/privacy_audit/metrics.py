"""Scalars of an audited cell: what was found, what the ledger certifies of the claim, and the words of the claim."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ...audits.worlds import AuditData, AuditEstimate
from ...experiment.claims import Claim, ClaimSettings
from ...privacy.ledger.ledger import Ledger
from .measures import AuditExamples, AuditMeasures

if TYPE_CHECKING:
    from ...experiment.study import MethodSpec
    from .study import AuditConstants


def metrics(
    estimate: AuditEstimate, data: AuditData, train: np.ndarray, spec: MethodSpec[object, object, ClaimSettings]
) -> AuditMeasures:
    """Everything a line of the table needs, texts included."""
    claim = spec.source
    assert isinstance(claim, Claim)
    return AuditMeasures.of(estimate.numbers) | AuditMeasures(
        source_document=claim.document.title,
        title=claim.title_for(spec.settings),
        remedy=claim.remedy,
        control=claim.control,
        n_protected=data.x.shape[1],
    )


def certified(
    ledger: Ledger, names: Sequence[str], spec: MethodSpec[object, AuditConstants, ClaimSettings]
) -> AuditMeasures:
    """Return the epsilon that is certified for the mechanism, for the unit and at the delta of the claim."""
    claim = spec.source
    assert isinstance(claim, Claim)
    delta = claim.delta(spec.settings, spec.study.delta)
    total = ledger.worst_total(names, claim.unit, delta)
    return AuditMeasures(certified_for_claim=total.epsilon_certified, claim_unit=total.unit, claim_delta=delta)


def example_fits(estimate: AuditEstimate, data: AuditData, train: np.ndarray, spec: object) -> AuditExamples:
    """roc_false, roc_true : (rate,) of the tracing attack; nothing for other claims."""
    if estimate.curves is None:
        return AuditExamples()
    return AuditExamples(roc_false=estimate.curves[0], roc_true=estimate.curves[1])
