"""One tree on codes that one place holds together."""

from __future__ import annotations

import numpy as np

from .cells import Bins, complete_siblings, histograms
from .level import Level, close_level, split, start
from .splits import Rule, best_splits, better, left_of, ranked_splits

# A histogram costs a few operations a cell, ranks some more a row: above so many cells a row, ranks are cheaper.
CELLS_A_ROW = 4


def grow(bins: Bins, a: np.ndarray, w: np.ndarray, depth: int, rule: Rule, rows: np.ndarray | None = None) -> Level:
    """A tree of so many split levels, closed, on sums a, w (n,) on a grid; ``rows`` are those that take part."""
    level, before, cells = start(a, w, rows), None, bins
    narrow = np.ones(len(bins.columns), dtype=bool)
    for _ in range(depth):
        if not level.width:
            break
        few = bins.sizes * level.width <= CELLS_A_ROW * len(a)
        if not few[narrow].all():
            # Sums that the next levels no longer ask for.
            before = None if before is None else before[:, :, np.repeat(few[narrow], bins.sizes[narrow])]
            narrow &= few
            cells = bins.only(narrow)
        before = complete_siblings(level, histograms(cells, level, a, w), before)
        splits = best_splits(cells, level, before, rule)
        if not narrow.all():
            splits = better(splits, ranked_splits(bins.only(~narrow), level, a, w, rule))
        level = split(level, splits, left_of(bins, level, splits))
    return close_level(level)
