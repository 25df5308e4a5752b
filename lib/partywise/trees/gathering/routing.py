"""Whether trees mean the same to those who trained on codes and to those who compare raw values."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..codes import Coded
from ..model import Ensemble


def rows_rerouted(ensemble: Ensemble, data: Coded | Callable[[int], Coded], X: np.ndarray) -> float:
    """Share of the training rows that end in another leaf of some tree when routed by the stored thresholds.

    Parameters
    ----------
    ensemble : Ensemble
        With the raw thresholds of all columns.
    data : Coded, or callable
        What the trees were grown on; a callable gives the codes of each tree.
    X : ndarray of shape (n, d)
        Raw values of the same rows.

    Returns
    -------
    float
        0 where equal values have equal codes and no noise was drawn. Source: seed 003 cuts ties by position.
    """
    moved = np.zeros(len(X), dtype=bool)
    for number, tree in enumerate(ensemble.trees):
        codes = (data(number) if callable(data) else data).codes
        moved |= tree.leaves_of(X) != tree.leaves_of_codes(codes)
    return float(moved.mean()) if len(moved) else 0.0
