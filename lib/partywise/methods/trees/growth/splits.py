"""Best splits of the nodes of a level: from histograms, or from ranks where a column has more codes than rows.

All gains are differences of ``a^2 / (w + lambda)``. Sums are exact where a and w are multiples of one power of two
(`grid`): then neither their order nor the subtraction of siblings moves a bit, equal partitions have equal gains, and
both ways give the same split.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..model import LEAF
from .cells import Bins
from .level import Level, Splits

# A gain is positive where it exceeds what rounding leaves of a difference that is zero.
ROUNDING = 16 * np.finfo(float).eps


@dataclass(frozen=True)
class Rule:
    """Value of a split.

    ridge : lambda; factor : of the difference; gamma : least gain; parent : whether the parent's term is subtracted
        (published ``gbdt`` leaves it out, and always splits)
    """

    ridge: float = 0.0
    factor: float = 1.0
    gamma: float = 0.0
    parent: bool = True

    def term(self, sums: np.ndarray) -> np.ndarray:
        """``a^2 / (w + lambda)`` of sums (2, ...), zero where nothing is below the line."""
        below = sums[1] + self.ridge
        if not self.ridge:
            below[below <= 0] = np.inf
        return np.divide(np.square(sums[0]), below, out=below)

    def gains(self, score: np.ndarray, sums: np.ndarray) -> np.ndarray:
        """Whether sides of a score (m,) are worth more than the node that they part, of sums (2, m)."""
        if not self.parent:
            return np.isfinite(score)
        rest = score - self.term(sums)
        return (self.factor * rest > self.gamma) & (rest > ROUNDING * score)


def grid(values: np.ndarray, n: int) -> float:
    """Finest power of two whose multiples near ``values`` have exact sums over n rows."""
    largest = float(np.max(np.abs(values), initial=0.0))
    return 2.0 ** (np.ceil(np.log2(largest * max(n, 1))) - 52) if largest > 0 else 1.0


def on_grid(values: np.ndarray, step: float) -> np.ndarray:
    """Nearest multiples of a step, a power of two."""
    return np.rint(values * (1 / step)) * step


def best_splits(bins: Bins, level: Level, cell_sums: np.ndarray, rule: Rule) -> Splits:
    """Best cut of every open node over all columns; equal gains go to the first column, then to the lowest cut.

    cell_sums : (2, m, cells), not changed
    """
    if not bins.count:
        return no_splits(level)
    sums = level.sums[:, :, None]
    running = cell_sums.copy()
    # Every column sums to its node: taken off where the next column starts, one running sum serves all of them.
    running[:, :, bins.starts[1:-1]] -= sums
    np.cumsum(running, axis=2, out=running)
    score = rule.term(running)
    score += rule.term(sums - running)
    if not rule.parent:
        score[(running[1] <= 0) | (running[1] >= sums[1])] = -np.inf
    cell, nodes = np.argmax(score, axis=1), np.arange(level.width)
    place = np.searchsorted(bins.starts, cell, side="right") - 1
    left, score = running[:, nodes, cell], score[nodes, cell]
    return _gaining(Splits(bins.columns[place], cell - bins.starts[place], score, left), level, rule)


def ranked_splits(bins: Bins, level: Level, a: np.ndarray, w: np.ndarray, rule: Rule) -> Splits:
    """Best splits as in `best_splits`, from the rows in the order of each column: cells without rows are skipped."""
    rows = np.flatnonzero(level.at >= 0)
    node = level.at[rows].astype(np.min_scalar_type(level.width))
    best = no_splits(level)
    for column, place, size in zip(bins.columns, bins.places, bins.sizes, strict=True):
        codes = bins.codes[place].take(rows).astype(np.min_scalar_type(int(size)))
        order = np.argsort(codes, kind="stable")
        order = order[np.argsort(node[order], kind="stable")]
        best = better(best, _rank(int(column), codes[order], rows[order], level, (a, w), rule))
    return best


def better(first: Splits, second: Splits) -> Splits:
    """The better split of every node; equal ones go to the lower column."""
    lower = (second.score == first.score) & (second.feature < first.feature)
    wins = (second.score > first.score) | (lower & np.isfinite(second.score))
    return Splits(
        np.where(wins, second.feature, first.feature),
        np.where(wins, second.cut, first.cut),
        np.where(wins, second.score, first.score),
        np.where(wins, second.left, first.left),
    )


def left_of(bins: Bins, level: Level, splits: Splits) -> np.ndarray:
    """(n,) bool, which rows go left; False where a row's node does not split."""
    place = np.full(int(bins.columns.max(initial=0)) + 2, -1)
    place[bins.columns] = bins.places
    # The last entry is for rows without a node.
    column = np.append(place[splits.feature], -1)
    row_place, cut = column[level.at], np.append(splits.cut, -1)[level.at]
    left = row_place >= 0
    rows = slice(None) if left.all() else np.flatnonzero(left)
    cell = row_place[rows] * bins.codes.shape[1] + np.arange(len(left))[rows]
    left[rows] = bins.codes.ravel().take(cell) <= cut[rows]
    return left


def no_splits(level: Level) -> Splits:
    """No node splits."""
    m = level.width
    return Splits(np.full(m, LEAF), np.zeros(m, dtype=np.intp), np.full(m, -np.inf), np.zeros((2, m)))


def _gaining(best: Splits, level: Level, rule: Rule) -> Splits:
    """Splits whose gain is positive."""
    gains = rule.gains(best.score, level.sums)
    return Splits(
        np.where(gains, best.feature, LEAF),
        best.cut,
        np.where(gains, best.score, -np.inf),
        np.where(gains, best.left, 0),
    )


def _rank(
    column: int, codes: np.ndarray, rows: np.ndarray, level: Level, values: tuple[np.ndarray, np.ndarray], rule: Rule
) -> Splits:
    """Best cut of one column, rows and their codes sorted by node and code."""
    node = level.at[rows]
    best = no_splits(level)
    cuts = np.flatnonzero((node[1:] == node[:-1]) & (codes[1:] != codes[:-1]))
    if not cuts.size:
        return best
    base = np.zeros((2, level.width))
    np.cumsum(level.sums[:, :-1], axis=1, out=base[:, 1:])
    owner = node[cuts]
    left = np.stack([np.cumsum(summand[rows])[cuts] for summand in values]) - base[:, owner]
    score = rule.term(left) + rule.term(level.sums[:, owner] - left)
    begin = np.flatnonzero(np.diff(owner, prepend=-1))
    highest = np.repeat(np.maximum.reduceat(score, begin), np.diff(begin, append=len(cuts)))
    top = np.flatnonzero(score == highest)
    top = top[np.flatnonzero(np.diff(owner[top], prepend=-1))]
    split_nodes = owner[top]
    best.feature[split_nodes], best.cut[split_nodes] = column, codes[cuts[top]]
    best.score[split_nodes], best.left[:, split_nodes] = score[top], left[:, top]
    return _gaining(best, level, rule)
