"""Who holds what: the clients, of which any number takes part as a prefix of the same list."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...federation.parties import Party
from .data import SlicingData


def split(data: SlicingData, n_parties: int, spec: Any, settings: Any) -> list[Party]:
    """The first ``n_parties`` clients."""
    if not 1 <= n_parties <= len(data.sizes):
        raise ValueError(f"n_parties is {n_parties}: the case has {len(data.sizes)} clients; it must lie in 1..that.")
    return list(data.clients[:n_parties])


def folds(data: SlicingData, n_folds: int, settings: Any) -> np.ndarray:
    """All records train: the loss is against the true basis.  One entry a client."""
    if n_folds != 1:
        raise ValueError(f"n_folds is {n_folds}: nothing is held out, so there is 1 fold.")
    return np.zeros(len(data.sizes), dtype=int)
