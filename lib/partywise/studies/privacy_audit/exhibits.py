"""Curves of the descriptive attack."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...audits.worlds import AuditData, AuditEstimate


def exhibits(
    estimate: AuditEstimate, data: AuditData, train: np.ndarray, spec: Any
) -> dict[str, tuple[tuple[str, ...], np.ndarray]]:
    """roc_false, roc_true : (rate,) of the tracing attack; nothing for other rows."""
    if estimate.curves is None:
        return {}
    return {"roc_false": (("rate",), estimate.curves[0]), "roc_true": (("rate",), estimate.curves[1])}
