"""Whether trees mean the same to those who trained on codes and to those who compare raw values."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ....models.criteria import Criterion
from ..codes import CodedColumns, public_bins
from ..ensemble import Draws, grow_trees
from ..model import Ensemble
from ..options import TreeOptions


def rows_rerouted(ensemble: Ensemble, data: CodedColumns | Callable[[int], CodedColumns], X: np.ndarray) -> float:
    """Share of the training rows that end in another leaf of some tree when routed by the stored raw thresholds.

    0 where equal values have equal codes and no noise was drawn. Source: seed 003 cuts ties by position.
    """
    moved = np.zeros(len(X), dtype=bool)
    for number, tree in enumerate(ensemble.trees):
        codes = (data(number // ensemble.outputs) if callable(data) else data).codes
        moved |= tree.leaves_of(X) != tree.leaves_of_codes(codes)
    return float(moved.mean()) if len(moved) else 0.0


def pooled_difference(
    ensemble: Ensemble,
    thresholds: Sequence[np.ndarray],
    X: np.ndarray,
    y: np.ndarray,
    options: TreeOptions,
    criterion: Criterion,
    draws: Sequence[Draws],
    step: float | None = None,
    unit: float = 1.0,
    bounds: tuple[float, float] | None = None,
) -> float:
    """Largest difference of a score to that of `grow_trees` in one place from raw values, same thresholds.

    ``thresholds`` are all cuts of each column, whether they split or not.
    """
    codes = public_bins(X, thresholds)
    pooled = grow_trees(codes, y, options, criterion, draws, step, ensemble.outputs, unit, bounds)
    return float(np.max(np.abs(pooled.scores(X) - ensemble.scores(X)), initial=0.0))
