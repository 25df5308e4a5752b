"""A tree that grows: which node every row is in, what the nodes sum to, and how a level follows from splits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..model import LEAF, Tree


@dataclass(frozen=True, eq=False)
class Level:
    """The nodes so far, and the open ones of the last level, which may split.

    at : (n,) int, position of each row among the open nodes; -1 where the row rests in a leaf or takes no part
    leaf : (n,) int, node in which each row is; of rows without part, 0
    sums : (2, m) of a and w in the open nodes
    first : number of the first open node; they are numbered on from it
    summed_nodes : positions of the open nodes whose histograms have to be summed, one of each pair of siblings: that
        with fewer rows; those of the others are differences
    parents : (pairs,) positions, in the level before, of the parents of the open nodes 2k and 2k+1; empty at the root
    nodes : feature, cut, left, right of the nodes before
    totals : (2, nodes) sums of all nodes
    whole : whether one open node holds all rows
    """

    at: np.ndarray
    leaf: np.ndarray
    sums: np.ndarray
    first: int
    summed_nodes: np.ndarray
    parents: np.ndarray
    nodes: tuple[np.ndarray, ...]
    totals: np.ndarray
    whole: bool = False

    @property
    def width(self) -> int:
        """Number of open nodes."""
        return self.sums.shape[1]


@dataclass(frozen=True, eq=False)
class Splits:
    """Best split of every open node.

    feature : (m,) number of the column, -1 where none gains
    cut : (m,) code up to which a row goes left
    score : (m,) what both sides are worth, -inf where none gains
    left : (2, m) sums of a and w on the left
    """

    feature: np.ndarray
    cut: np.ndarray
    score: np.ndarray
    left: np.ndarray


def start(a: np.ndarray, w: np.ndarray, rows: np.ndarray | None = None) -> Level:
    """The root, with all rows or those of a boolean array (n,)."""
    at = np.zeros(len(a), dtype=np.intp) if rows is None else np.where(rows, 0, -1)
    inside = slice(None) if rows is None else rows
    sums = np.array([[a[inside].sum()], [w[inside].sum()]])
    none = np.empty(0, dtype=np.intp)
    summed = np.zeros(1, dtype=np.intp)
    return Level(at, np.zeros_like(at), sums, 0, summed, none, (none,) * 4, sums, rows is None)


def split(level: Level, splits: Splits, left: np.ndarray) -> Level:
    """The next level, from an indicator (n,) of the rows that go left; nodes without a split become leaves.

    ``left`` is read where a row's node splits only.
    """
    inner = splits.feature != LEAF
    pairs, first = int(inner.sum()), level.first + level.width
    # Position of the left child; the last entry is that of rows without a node.
    base = np.full(level.width + 1, -2)
    base[:-1][inner] = 2 * np.arange(pairs)
    at = base[level.at]
    at += ~left
    np.maximum(at, -1, out=at)
    sums = np.empty((2, 2 * pairs))
    sums[:, ::2] = splits.left[:, inner]
    sums[:, 1::2] = level.sums[:, inner] - splits.left[:, inner]
    rows = np.bincount(at + 1, minlength=2 * pairs + 1)[1:]
    child = np.where(inner, first + base[:-1], LEAF)
    fields = (splits.feature, np.where(inner, splits.cut, 0), child, np.where(inner, child + 1, LEAF))
    return Level(
        at,
        np.where(at >= 0, first + at, level.leaf),
        sums,
        first,
        2 * np.arange(pairs) + (rows[1::2] < rows[::2]),
        np.flatnonzero(inner),
        tuple(np.concatenate([before, new]) for before, new in zip(level.nodes, fields, strict=True)),
        np.concatenate([level.totals, sums], axis=1),
    )


def close_level(level: Level) -> Level:
    """Return the tree with all open nodes as leaves."""
    none = np.full(level.width, LEAF)
    fields = (none, np.zeros_like(none), none, none)
    nodes = tuple(np.concatenate([before, new]) for before, new in zip(level.nodes, fields, strict=True))
    return replace(level, at=np.full_like(level.at, -1), sums=np.empty((2, 0)), summed_nodes=none[:0], nodes=nodes)


def cut_at_next_row(level: Level, codes: np.ndarray, columns: np.ndarray) -> Level:
    """A closed level whose cuts of some columns (D,) bool lie just below the first row of the node on their right.

    Of all cuts that part the rows of a node alike it is the last one: that of a program whose cuts are at rows.
    codes : (n, D)
    """
    feature, cut, left, right = level.nodes
    parent = np.full(len(feature), LEAF)
    inner = np.flatnonzero(feature != LEAF)
    parent[left[inner]] = parent[right[inner]] = inner
    first, at = np.full(len(feature), np.iinfo(np.int64).max), level.leaf
    # Rows without part rest at the root, which splits.
    rows = np.flatnonzero((feature[at] == LEAF) & (parent[at] != LEAF))
    while rows.size:
        above = parent[at[rows]]
        on_right = right[above] == at[rows]
        np.minimum.at(first, above[on_right], codes[rows[on_right], feature[above[on_right]]])
        at = at.copy()
        at[rows] = above
        rows = rows[parent[above] != LEAF]
    moved = inner[columns[feature[inner]]]
    raised = cut.copy()
    raised[moved] = first[moved] - 1
    return replace(level, nodes=(feature, raised, left, right))


def tree_of(level: Level, values: np.ndarray, thresholds: Sequence[np.ndarray], terms: np.ndarray) -> Tree:
    """The finished tree of a closed level.

    values : (nodes,) as leaves; thresholds : raw cuts of every column, nan where unknown; terms : (nodes,) what a node
        is worth, of which gains are differences
    """
    feature, cut, left, right = level.nodes
    inner = feature != LEAF
    raw = [thresholds[f][c] if f != LEAF else np.nan for f, c in zip(feature.tolist(), cut.tolist(), strict=True)]
    gain = np.where(inner, terms[left] + terms[right] - terms, 0.0)
    return Tree(feature, cut, np.array(raw), left, right, np.where(inner, 0.0, values), level.totals[1], gain)
