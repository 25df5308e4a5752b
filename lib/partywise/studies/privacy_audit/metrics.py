"""Scalars of an audited cell: what was found, and the words of its row."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...audits.worlds import AuditData, AuditEstimate


def metrics(estimate: AuditEstimate, data: AuditData, train: np.ndarray, spec: Any) -> dict[str, Any]:
    """Everything a row of the table needs, texts included."""
    entry = spec.settings.entry
    texts = {"source_document": entry.document, "title": spec.settings.title, "remedy": entry.remedy}
    return {**estimate.numbers, **texts, "control": entry.control, "n_protected": data.x.shape[1]}
