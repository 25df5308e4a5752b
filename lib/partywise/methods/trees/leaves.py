"""Leaves of an ensemble that a party's columns leave open: the parts that more than one party evaluates, laid out.

Splits are numbered by levels through all trees that cross, then cut by cut through all tables that cross; leaves are
numbered from left to right, tree by tree, then bin by bin. A record ends in the leaf that every split leaves
open.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from .model import LEAF, Ensemble, StepFunction, Tree, TreeColumn


def unit_of(bound: float) -> float:
    """Return the power of 2 in which numbers up to a bound are steps of a grid: 1, or at least a smaller bound."""
    return min(2.0 ** math.ceil(math.log2(bound)), 1.0) if bound else 1.0


@dataclass(frozen=True)
class Skeleton:
    """The form of what crosses: no column, no threshold and no value.

    first, middle, last : (s,) int, left of a split are the leaves first..middle - 1, right of it middle..last - 1
    parent : (S,) int, of the splits of trees: 2p left of split p, 2p + 1 right of it, -1 at a root
    levels : (levels + 1,) int, where the splits of each level of the trees begin and end
    ends : (leaves of trees,) int, place of a leaf: 2p left of split p, 2p + 1 right of it
    starts : (parts + 1,) int, where the leaves of each tree and then of each table begin and end
    """

    first: np.ndarray
    middle: np.ndarray
    last: np.ndarray
    parent: np.ndarray
    levels: np.ndarray
    ends: np.ndarray
    starts: np.ndarray

    @property
    def leaves(self) -> int:
        """Leaves of all trees and bins of all tables."""
        return int(self.starts[-1])

    def open_leaves(self, numbers: np.ndarray, left: np.ndarray) -> np.ndarray:
        """(leaves, n) bool, the leaves that some splits leave open, from the indicators (m, n) of going left."""
        reachable = np.ones((self.leaves, left.shape[1]), dtype=bool)
        for i, goes_left in zip(numbers, left, strict=True):
            reachable[self.first[i] : self.middle[i]] &= goes_left
            reachable[self.middle[i] : self.last[i]] &= ~goes_left
        return reachable

    def reach_leaves(self, left: np.ndarray) -> np.ndarray:
        """(parts, n) int, the leaf of each part where a row ends, from the indicators (s, n) of all splits."""
        roots, rows = int((self.parent < 0).sum()), np.arange(left.shape[1])
        # What lies at either side of a split: another split, or -1 - leaf.
        below = np.empty(2 * len(self.parent), dtype=np.intp)
        below[self.parent[roots:]] = np.arange(roots, len(self.parent))
        below[self.ends] = -1 - np.arange(len(self.ends))
        reached = np.empty((len(self.starts) - 1, len(rows)), dtype=np.intp)
        for tree in range(roots):
            at, moving = reached[tree], rows
            at[:] = tree
            while moving.size:
                at[moving] = below[2 * at[moving] + ~left[at[moving], moving]]
                moving = moving[at[moving] >= 0]
            reached[tree] = -1 - at
        cut = len(self.parent)
        for table in range(roots, len(reached)):
            cuts = self.starts[table + 1] - self.starts[table] - 1
            reached[table] = self.starts[table] + (~left[cut : cut + cuts]).sum(axis=0)
            cut += cuts
        return reached

    def largest(self, weight: np.ndarray) -> float:
        """Bound of the sum of weights (leaves,) over one leaf of each part."""
        pairs = pairwise(self.starts.tolist())
        return float(sum(np.abs(weight[start:end]).max() for start, end in pairs))

    def unit(self, weight: np.ndarray) -> float:
        """Power of 2 in which sums of weights are whole steps of a grid: 1, or at least a smaller bound of them."""
        return unit_of(self.largest(weight))


def skeleton(inner: np.ndarray, bins: np.ndarray) -> Skeleton:
    """The form of trees and tables."""
    child = np.stack([inner & 1, inner >> 1], axis=1).astype(bool)
    slots = np.flatnonzero(child)
    roots = len(inner) - len(slots)
    parent = np.concatenate([np.full(roots, -1, dtype=np.intp), slots])
    levels = [0, roots] if roots else [0]
    while levels[-1] < len(inner):
        levels.append(levels[-1] + int(child[levels[-2] : levels[-1]].sum()))

    below = np.ones(child.shape, dtype=np.intp)
    for end, start in pairwise(levels[:0:-1]):
        below.ravel()[parent[start:end]] = below[start:end].sum(axis=1)
    sizes = np.concatenate([below[:roots].sum(axis=1), np.asarray(bins, dtype=np.intp)])
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.intp)

    first = np.empty(len(inner), dtype=np.intp)
    first[:roots] = starts[:roots]
    for start, end in pairwise(levels[1:]):
        above = parent[start:end]
        first[start:end] = first[above // 2] + np.where(above % 2, below[above // 2, 0], 0)
    middle = first + below[:, 0]
    last = middle + below[:, 1]
    ends = np.empty(starts[roots], dtype=np.intp)
    ends[np.stack([first, middle], axis=1)[~child]] = np.flatnonzero(~child)

    cuts = [np.arange(1, size) for size in sizes[roots:]]
    begins = np.repeat(starts[roots:-1], [len(cut) for cut in cuts])
    closes = np.repeat(starts[roots + 1 :], [len(cut) for cut in cuts])
    between = begins + np.concatenate([*cuts, []]).astype(np.intp)
    return Skeleton(
        np.concatenate([first, begins]),
        np.concatenate([middle, between]),
        np.concatenate([last, closes]),
        parent,
        np.array(levels),
        ends,
        starts,
    )


@dataclass(frozen=True)
class LeafLayout:
    """Trees and tables that cross, as the active party knows them.

    inner, bins : their form, see `skeleton`
    splits : (s, 3) int32, number, column and cut of every split
    threshold : (s,) raw cut, nan where only the owner of the column knows it
    weight : (leaves,) what a leaf adds to the score
    """

    inner: np.ndarray
    bins: np.ndarray
    splits: np.ndarray
    threshold: np.ndarray
    weight: np.ndarray

    def of(self, columns: Sequence[int]) -> np.ndarray:
        """(m, 3) int32, the splits of some columns."""
        return self.splits[np.isin(self.splits[:, 1], np.asarray(columns))]


def crosses(part: Tree | StepFunction, columns: Collection[int]) -> bool:
    """Whether a tree has a split on one of some columns, or a table of one of them is not a constant."""
    if isinstance(part, StepFunction):
        return part.feature in columns and bool((part.values != part.values[0]).any())
    return bool(np.isin(part.feature, list(columns)).any())


def laid_out(ensemble: Ensemble, others: Collection[int], columns: Sequence[TreeColumn]) -> LeafLayout:
    """The parts of an ensemble that have splits on columns of others."""
    inner, rows, threshold, value = list[int](), list[tuple[int, int]](), list[float](), list[tuple[float, float]]()
    level = [(tree, 0) for tree in ensemble.trees if crosses(tree, others)]
    while level:
        following = []
        for tree, node in level:
            pair = [int(child[node]) for child in (tree.left, tree.right)]
            splits = [tree.feature[child] != LEAF for child in pair]
            inner.append(splits[0] + 2 * splits[1])
            rows.append((int(tree.feature[node]), int(tree.cut[node])))
            threshold.append(float(tree.threshold[node]))
            value.append((ensemble.weight * tree.value[pair[0]], ensemble.weight * tree.value[pair[1]]))
            following += [(tree, child) for child, split in zip(pair, splits, strict=True) if split]
        level = following
    tables = [stepwise(table) for table in ensemble.tables if crosses(table, others)]
    for table in tables:
        rows += [(table.feature, cut) for cut in declared_cuts(table, columns)]
        threshold += table.edges.tolist()
    form = np.array(inner, dtype=np.uint8), np.array([len(table.values) for table in tables], dtype=np.int32)
    leaves = np.array(value, dtype=float).reshape(-1)[skeleton(*form).ends]
    numbered = np.column_stack([np.arange(len(rows)), np.array(rows).reshape(-1, 2)]).astype(np.int32)
    weight = np.concatenate([leaves, *(table.values for table in tables)])
    return LeafLayout(*form, numbered, np.array(threshold), weight)


def stepwise(table: StepFunction) -> StepFunction:
    """Return the same function as a table that is cut only where its value changes."""
    steps = np.flatnonzero(np.diff(table.values))
    return StepFunction(table.feature, table.edges[steps], table.values[np.append(0, steps + 1)])


def declared_cuts(table: StepFunction, columns: Sequence[TreeColumn]) -> list[int]:
    """Numbers of a table's cuts among the edges that are declared for its column."""
    declared = columns[table.feature].edges
    edges = np.array([]) if declared is None else np.asarray(declared.value)
    cuts = np.searchsorted(edges, table.edges)
    if not np.array_equal(np.append(edges, np.inf)[cuts], table.edges):
        raise ValueError(
            f"edges={table.edges} of the table of column {table.feature} are not among the declared ones: deploy "
            "tables over declared edges only."
        )
    return cuts.tolist()
