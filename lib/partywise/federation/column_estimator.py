"""What the estimators of methods for split columns share: who holds what of arrays, and how good a prediction is."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .estimator import numbers, party
from .parties import Party

__all__ = ["held_columns", "response_of", "share_explained"]

LIKE = "(n,): one label or number for each record"


def held_columns(X: np.ndarray, y: np.ndarray, groups: Sequence[Sequence[int]], active: int) -> list[Party]:
    """The parties in the order of their columns, the passive ones numbered from 1.

    active : place of the one that has y as well
    """
    held, passive = list[Party](), 0
    for place, group in enumerate(groups):
        own = np.ascontiguousarray(X[:, list(group)])
        if place == active:
            held.append(party("active", "active", group, X=own, y=y))
        else:
            passive += 1
            held.append(party(f"passive {passive}", "passive", group, X=own))
    return held


def response_of(y: np.ndarray, n: int) -> np.ndarray:
    """Labels or numbers (n,) as floats; ValueError for another number of them than of rows."""
    response = numbers("y", y, 1, LIKE)
    if len(response) != n:
        raise ValueError(f"y has {len(response)} entries for {n} rows of X.")
    return response


def share_explained(predicted: np.ndarray, y: np.ndarray, classes: bool) -> float:
    """Share of labels that are predicted right; the coefficient of determination of numbers."""
    truth = response_of(y, len(predicted))
    if classes:
        return float(np.mean(predicted == truth))
    return 1 - float(((predicted - truth) ** 2).sum() / ((truth - truth.mean()) ** 2).sum())
