"""Scalars of an audited cell: what was found, what the ledger says of the claim, and the words of the claim."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...audits.worlds import AuditData, AuditEstimate
from ...privacy.ledger.ledger import Ledger


def metrics(estimate: AuditEstimate, data: AuditData, train: np.ndarray, spec: Any) -> dict[str, Any]:
    """Everything a line of the table needs, texts included."""
    claim = spec.source
    texts = {"source_document": claim.document, "title": claim.titled(spec.settings), "remedy": claim.remedy}
    return {**estimate.numbers, **texts, "control": claim.control, "n_protected": data.x.shape[1]}


def certified(ledger: Ledger, names: Sequence[str], spec: Any) -> dict[str, Any]:
    """What is proved of the mechanism, for the unit and at the delta of the claim."""
    delta = spec.source.delta(spec.settings, spec.study.delta)
    total = ledger.worst_total(names, spec.source.unit, delta)
    return {"certified_for_claim": total.epsilon_certified, "claim_unit": total.unit, "claim_delta": delta}


def example_fits(
    estimate: AuditEstimate, data: AuditData, train: np.ndarray, spec: Any
) -> dict[str, tuple[tuple[str, ...], np.ndarray]]:
    """roc_false, roc_true : (rate,) of the tracing attack; nothing for other claims."""
    if estimate.curves is None:
        return {}
    return {"roc_false": (("rate",), estimate.curves[0]), "roc_true": (("rate",), estimate.curves[1])}
