"""One tree, level by level, from histograms of two sums: a (gradients, or responses) and w (hessians, or counts).

All gains are differences of ``a^2 / (w + lambda)``. The pieces stand alone, so that a protocol may drive the levels and
bring the sums of columns that it does not see. Sums are exact where a and w are multiples of one power of two (`grid`):
then neither their order nor the subtraction of siblings moves a bit, and equal partitions have equal gains.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from .codes import Coded
from .model import LEAF, Tree

# A gain is positive where it exceeds what rounding leaves of a difference that is zero.
ROUNDING = 16 * np.finfo(float).eps


@dataclass(frozen=True)
class Rule:
    """What a split is worth.

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
        return np.divide(sums[0] ** 2, below, out=np.zeros_like(below), where=below > 0)


@dataclass(frozen=True, eq=False)
class Bins:
    """Columns of one tree side by side, a cell for each of their codes.

    columns : their numbers; starts : (d + 1,) first cell of each; cells : (n, d) intp, cell of each row
    """

    columns: np.ndarray
    starts: np.ndarray
    cells: np.ndarray

    @property
    def count(self) -> int:
        """Number of cells."""
        return int(self.starts[-1])


@dataclass(frozen=True, eq=False)
class Level:
    """A tree that grows: its nodes so far, and those of the last level, which may split.

    at : (n,) int, position of each row among the open nodes; -1 where the row rests in a leaf or takes no part
    leaf : (n,) int, node in which each row is
    sums : (2, m) of a and w in the open nodes
    first : number of the first open node; they are numbered on from it
    wanted : positions of the open nodes whose histograms have to be summed; those of the others are differences
    parents : (pairs,) positions, in the level before, of the parents of open nodes 2k and 2k+1; empty at the root
    nodes : (feature, cut, left, right) of the nodes before
    totals : (2, nodes) sums of all nodes
    """

    at: np.ndarray
    leaf: np.ndarray
    sums: np.ndarray
    first: int
    wanted: np.ndarray
    parents: np.ndarray
    nodes: tuple[np.ndarray, ...]
    totals: np.ndarray

    @property
    def width(self) -> int:
        """Number of open nodes."""
        return self.sums.shape[1]

    def rows_of(self, node: int) -> np.ndarray:
        """Rows in an open node, by its position."""
        return np.flatnonzero(self.at == node)


@dataclass(frozen=True, eq=False)
class Splits:
    """Best split of every open node: the column, -1 where none gains; the cut; the gain; sums (2, m) on the left."""

    feature: np.ndarray
    cut: np.ndarray
    gain: np.ndarray
    left: np.ndarray


def grid(values: np.ndarray, n: int) -> float:
    """Finest power of two whose multiples near ``values`` have exact sums over n rows."""
    largest = float(np.max(np.abs(values), initial=0.0))
    return 2.0 ** (np.ceil(np.log2(largest * max(n, 1))) - 52) if largest > 0 else 1.0


def on_grid(values: np.ndarray, step: float) -> np.ndarray:
    """Nearest multiples of a step."""
    return np.rint(values / step) * step


def bins_of(data: Coded, columns: Sequence[int] | None = None) -> Bins:
    """Cells of some columns, by default of all."""
    chosen = np.arange(len(data.sizes)) if columns is None else np.asarray(columns, dtype=np.int64)
    starts = np.concatenate([[0], np.cumsum(data.sizes[chosen])])
    return Bins(chosen, starts, data.codes[:, chosen] + starts[:-1].astype(np.intp))


def start(a: np.ndarray, w: np.ndarray, rows: np.ndarray | None = None) -> Level:
    """The root, with all rows or those of a boolean array (n,)."""
    at = np.zeros(len(a), dtype=np.intp) if rows is None else np.where(rows, 0, -1)
    inside = at == 0
    sums = np.array([[a[inside].sum()], [w[inside].sum()]])
    none = np.empty(0, dtype=np.int64)
    return Level(at, np.zeros(len(a), dtype=np.intp), sums, 0, np.zeros(1, int), none, (none,) * 4, sums)


def histograms(bins: Bins, level: Level, a: np.ndarray, w: np.ndarray) -> np.ndarray:
    """(2, wanted, cells) sums of a and w over the rows of the wanted nodes."""
    place = np.full(level.width + 1, -1)
    place[level.wanted] = np.arange(len(level.wanted))
    node = place[level.at]
    rows = np.flatnonzero(node >= 0)
    cells = (bins.cells[rows] + (node[rows] * bins.count)[:, None]).ravel()
    size, d = len(level.wanted) * bins.count, bins.cells.shape[1]
    sums = [np.bincount(cells, np.repeat(values[rows], d), minlength=size) for values in (a, w)]
    return np.array(sums).reshape(2, len(level.wanted), bins.count)


def completed(level: Level, computed: np.ndarray, before: np.ndarray | None) -> np.ndarray:
    """(2, m, cells) of all open nodes: the wanted as summed, their siblings as what is left of their parents.

    computed : (2, wanted, cells); before : (2, m', cells), completed, of the level before, None at the root
    """
    if before is None:
        return computed
    found = np.empty((2, level.width, computed.shape[2]))
    found[:, level.wanted] = computed
    np.subtract(before[:, level.parents], computed, out=computed)
    found[:, level.wanted ^ 1] = computed
    return found


def best_splits(bins: Bins, level: Level, found: np.ndarray, rule: Rule) -> Splits:
    """Best cut of every open node over all columns; equal gains go to the first column, then to the lowest cut.

    found : (2, m, cells), not changed
    """
    sums = level.sums[:, :, None]
    running = found.copy()
    # Every column sums to its node: taken off where the next column starts, one running sum serves all of them.
    running[:, :, bins.starts[1:-1]] -= sums
    np.cumsum(running, axis=2, out=running)
    both = rule.term(running) + rule.term(sums - running)
    if rule.parent:
        gain = rule.factor * (both - rule.term(sums)) - rule.gamma
        possible = gain > ROUNDING * both
    else:
        gain = rule.factor * both
        possible = (running[1] > 0) & (running[1] < sums[1])
    gain = np.where(possible, gain, -np.inf)
    return _chosen(bins, gain, running)


def _chosen(bins: Bins, gain: np.ndarray, running: np.ndarray) -> Splits:
    nodes = np.arange(len(gain))
    cell = np.argmax(gain, axis=1) if gain.shape[1] else np.zeros(len(gain), int)
    if not gain.shape[1]:
        return Splits(np.full(len(gain), LEAF), cell, np.full(len(gain), -np.inf), np.zeros((2, len(gain))))
    place = np.searchsorted(bins.starts, cell, side="right") - 1
    splits = np.isfinite(gain[nodes, cell])
    feature = np.where(splits, bins.columns[place], LEAF)
    return Splits(feature, cell - bins.starts[place], gain[nodes, cell], running[:, nodes, cell])


def left_of(bins: Bins, level: Level, splits: Splits) -> np.ndarray:
    """(n,) bool, which rows go left; False where a row's node does not split."""
    place = np.full(int(bins.columns.max(initial=0)) + 1, -1)
    place[bins.columns] = np.arange(len(bins.columns))
    column = np.where(splits.feature == LEAF, -1, place[splits.feature])
    rows = np.flatnonzero((level.at >= 0) & (column[level.at] >= 0))
    own = column[level.at[rows]]
    left = np.zeros(len(level.at), dtype=bool)
    left[rows] = bins.cells[rows, own] <= bins.starts[own] + splits.cut[level.at[rows]]
    return left


def split(level: Level, splits: Splits, left: np.ndarray) -> Level:
    """The next level, from an indicator (n,) of the rows that go left; nodes without a split become leaves."""
    inner = splits.feature != LEAF
    pairs = int(inner.sum())
    number = np.cumsum(inner) - 1
    first = level.first + level.width
    child = np.where(inner, first + 2 * number, LEAF)
    inside = (level.at >= 0) & inner[level.at]
    at = np.where(inside, 2 * number[level.at] + ~left, -1)
    sums = np.empty((2, 2 * pairs))
    sums[:, ::2] = splits.left[:, inner]
    sums[:, 1::2] = level.sums[:, inner] - splits.left[:, inner]
    rows = np.bincount(at[inside], minlength=2 * pairs)
    fields = (splits.feature, splits.cut, child, child + 1)
    return Level(
        at,
        np.where(inside, first + at, level.leaf),
        sums,
        first,
        2 * np.arange(pairs) + (rows[1::2] < rows[::2]),
        np.flatnonzero(inner),
        tuple(np.concatenate([before, new]) for before, new in zip(level.nodes, fields, strict=True)),
        np.concatenate([level.totals, sums], axis=1),
    )


def closed(level: Level) -> Level:
    """The same tree with all open nodes as leaves."""
    none = np.full(level.width, LEAF)
    nodes = tuple(np.concatenate([before, none]) for before in level.nodes)
    return replace(level, at=np.full_like(level.at, -1), sums=np.empty((2, 0)), wanted=none[:0], nodes=nodes)


def tree_of(level: Level, values: np.ndarray, thresholds: Sequence[np.ndarray]) -> Tree:
    """The finished tree.

    values : (nodes,) of leaves; thresholds : raw cuts of every column, nan where unknown
    """
    feature, cut, left, right = level.nodes
    inner = feature != LEAF
    raw = [thresholds[f][c] if f != LEAF else np.nan for f, c in zip(feature.tolist(), cut.tolist(), strict=True)]
    return Tree(feature, np.where(inner, cut, 0), np.array(raw), left, right, np.where(inner, 0.0, values))


def grow(bins: Bins, a: np.ndarray, w: np.ndarray, depth: int, rule: Rule, rows: np.ndarray | None = None) -> Level:
    """A tree of so many split levels, closed."""
    level, before = start(a, w, rows), None
    for _ in range(depth):
        if not level.width:
            break
        before = completed(level, histograms(bins, level, a, w), before)
        splits = best_splits(bins, level, before, rule)
        level = split(level, splits, left_of(bins, level, splits))
    return closed(level)
