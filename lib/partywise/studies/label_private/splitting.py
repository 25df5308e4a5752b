"""Who holds what in the label-private study, and which rows test."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...federation.parties import Party
from .data import LabelData


def split(data: LabelData, n_parties: int, spec: Any, settings: Any) -> list[Party]:
    """The trainer, who holds the features, and the measurer, who sees the labels."""
    if n_parties != 2:
        raise ValueError(f"n_parties is {n_parties}: there are 2, the trainer and the measurer.")
    columns = tuple(range(data.X.shape[1]))
    return [
        Party("trainer", "passive", {"X": data.X}, columns=columns),
        Party("measurer", "active", {"y": data.labels}),
    ]


def folds(data: LabelData, n_folds: int, settings: Any) -> np.ndarray:
    """Fold 0 holds the rows that test; those that train are never tested."""
    if n_folds != 1:
        raise ValueError(f"n_folds is {n_folds}: every replicate has its own split, so there is 1 fold.")
    return np.where(data.train, -1, 0)
