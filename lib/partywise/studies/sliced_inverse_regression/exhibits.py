"""Arrays worth looking at, kept for one fit of each method: real records in the estimated subspace."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...inverse_regression.model import Estimate
from ...inverse_regression.subspace import coordinates
from .data import SlicingData

Exhibits = dict[str, tuple[tuple[str, ...], np.ndarray]]


def exhibits(estimate: Estimate, data: SlicingData, train: np.ndarray, spec: Any) -> Exhibits:
    """Named arrays with their own dimensions; nothing of simulated data.

    projected : (record_shown, direction), shown_response : (record_shown,)
    """
    if not len(data.X):
        return {}
    projected = np.full((len(data.shown), estimate.basis.shape[1]), np.nan)
    if np.all(np.isfinite(estimate.basis)):
        projected = coordinates(data.X, data.fixed.codes(data.y), estimate.basis)[data.shown]
    return {
        "projected": (("record_shown", "direction"), projected),
        "shown_response": (("record_shown",), data.y[data.shown].astype(float)),
    }
