"""Public facts before trees are grown, the trees themselves, and the estimate of a fit."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

import numpy as np

from ...federation.folds import DeltaConstant, ProtocolSpec
from ...models.criteria import Criterion
from ...privacy.accounted_values import AccountedValue

# Mark of a leaf in `Tree.feature`.
LEAF = -1


@dataclass(frozen=True)
class TreeColumn:
    """Public facts of a column.

    edges : increasing cuts (b - 1,), bin j being ``(edges[j-1], edges[j]]``, with the argument where they come from;
        None where none are declared
    bounds : declared range (low, high) for maps to integers, values outside are clipped; None where none is declared
    missing : whether cells may be missing, which then have a bin of their own
    """

    name: str
    edges: AccountedValue | None = None
    bounds: AccountedValue | None = None
    missing: bool = False


@dataclass(frozen=True)
class TreeFacts:
    """Public facts before any data are seen: the columns in pooled order, the loss.

    columns : of all parties, by their global numbers
    criterion : loss of the task; classes : number of labels 0, 1, ... where it is of classes
    response_bounds : public range of a response that is a number; None where none is declared
    """

    columns: tuple[TreeColumn, ...]
    criterion: Criterion
    classes: int = 2
    response_bounds: tuple[float, float] | None = None

    @property
    def outputs(self) -> int:
        """Scores of a record: one for each of more than two classes."""
        return self.classes if self.classes > 2 else 1


Options = TypeVar("Options", covariant=True)
# What a protocol of trees may know in addition to the data, by its options.
TreeSpec = ProtocolSpec[Options, DeltaConstant, object, TreeFacts]
# Name and global columns of every party, in order.
ColumnGroups = Sequence[tuple[str, tuple[int, ...]]]
# What is reported of a fit.
Numbers = dict[str, float | int | bool | str | None]


@dataclass(frozen=True)
class Tree:
    """One tree, node 0 its root; a node comes before its children.

    feature : (m,) int, global number of the column that a node splits, -1 at a leaf
    cut : (m,) int, code up to which a record goes left
    threshold : (m,) float, raw value up to which a record goes left, as the owner of the column knows it
    left, right : (m,) int, the children; undefined at a leaf
    value : (m,) float, of a leaf
    cover : (m,) sum of the hessians of the training records in a node, their number where the method has no hessians;
        None where it is not known
    missing_left : (m,) whether missing cells go left at a split; None where they go right at all
    gain : (m,) what a split takes from the sum of squares over covers, 0 at a leaf; None where it is not known
    """

    feature: np.ndarray
    cut: np.ndarray
    threshold: np.ndarray
    left: np.ndarray
    right: np.ndarray
    value: np.ndarray
    cover: np.ndarray | None = None
    gain: np.ndarray | None = None
    missing_left: np.ndarray | None = None

    def leaves_of(self, X: np.ndarray) -> np.ndarray:
        """(n,) node in which each row of raw values X (n, d) ends."""
        return self._route(X, self.threshold)

    def leaves_of_codes(self, codes: np.ndarray) -> np.ndarray:
        """(n,) node in which each row of codes (n, d) ends."""
        return self._route(codes, self.cut)

    def _route(self, rows: np.ndarray, limit: np.ndarray) -> np.ndarray:
        at = np.zeros(len(rows), dtype=np.intp)
        moving = np.flatnonzero(self.feature[at] != LEAF)
        while moving.size:
            node = at[moving]
            cells = rows[moving, self.feature[node]]
            goes_left = cells <= limit[node]
            if self.missing_left is not None:
                goes_left |= np.isnan(cells) & self.missing_left[node]
            at[moving] = np.where(goes_left, self.left[node], self.right[node])
            moving = moving[self.feature[at[moving]] != LEAF]
        return at


@dataclass(frozen=True)
class StepFunction:
    """A function of one column: ``values[j]`` in the bin ``(edges[j-1], edges[j]]``.

    feature : global number of the column; edges : (b - 1,) raw cuts; values : (b,)
    noise : (b,) standard deviation that the noise of what was released gives to one Newton step of a bin alone; None
        where it is not known
    cover : (b,) sum of the hessians in a bin as released, noise included; None where it is not known
    gain : what the stumps of the column lowered the loss by, as the released sums have it; None where it is not known
    splits : number of these stumps
    output : number of the score to which it adds
    missing, missing_cover : value and cover where the cell is missing; None where it may not be
    shares : (bins, 3) share of records in each bin with the ends of its 95 % interval, missing cells last; None where
        codes of single records were not released
    """

    feature: int
    edges: np.ndarray
    values: np.ndarray
    noise: np.ndarray | None = None
    cover: np.ndarray | None = None
    gain: float | None = None
    splits: int = 0
    output: int = 0
    missing: float | None = None
    missing_cover: float = 0.0
    shares: np.ndarray | None = None

    def times(self, unit: float) -> StepFunction:
        """Return the table for a response that was counted in ``unit``, a power of 2."""
        return replace(
            self,
            values=self.values * unit,
            noise=None if self.noise is None else self.noise * unit,
            gain=None if self.gain is None else self.gain * unit**2,
            missing=None if self.missing is None else self.missing * unit,
        )

    def at(self, X: np.ndarray) -> np.ndarray:
        """(n,) values at the rows of X (n, d)."""
        values = self.values[np.searchsorted(self.edges, X[:, self.feature], side="left")]
        return values if self.missing is None else np.where(np.isnan(X[:, self.feature]), self.missing, values)


@dataclass(frozen=True)
class Ensemble:
    """An additive model: base + weight times the sum of trees + the sum of tables.

    base : score before any tree; weight : shrinkage (boosting) or one over the number of trees (forest)
    averaged : whether the trees are a forest, so that fewer of them count more each
    outputs : scores of a record, one for each of more than two classes, else one; trees add to them in turn
    missing : columns whose cells may be missing
    """

    trees: tuple[Tree, ...]
    base: float
    weight: float
    tables: tuple[StepFunction, ...] = ()
    averaged: bool = False
    outputs: int = 1
    missing: tuple[int, ...] = ()

    def by_output(self) -> tuple[Ensemble, ...]:
        """The model of each score alone."""
        if self.outputs == 1:
            return (self,)
        return tuple(
            replace(
                self,
                trees=self.trees[output :: self.outputs],
                tables=tuple(replace(table, output=0) for table in self.tables if table.output == output),
                outputs=1,
            )
            for output in range(self.outputs)
        )

    def scores(self, X: np.ndarray) -> np.ndarray:
        """(n,) scores of the rows of X (n, d): log odds where boosting learns classes, else the response itself.

        With more than two classes (n, k): logarithms of their probabilities, up to a constant of each row.
        """
        if self.outputs > 1:
            return np.column_stack([part.scores(X) for part in self.by_output()])
        total = np.full(len(X), self.base)
        for part in self._parts(X):
            total += part
        return total

    def path(self, X: np.ndarray) -> np.ndarray:
        """(T + 1, n) scores after 0, 1, ... trees; the tables, where there are any, count from the start.

        With more than two classes (T + 1, n, k), after as many trees of each.
        """
        if self.outputs > 1:
            return np.stack([part.path(X) for part in self.by_output()], axis=-1)
        begin = np.full(len(X), self.base) + sum(table.at(X) for table in self.tables)
        steps, total = [begin], np.zeros(len(X))
        for tree in self.trees:
            total = total + tree.value[tree.leaves_of(X)]
            steps.append(begin + (1 / len(steps) if self.averaged else self.weight) * total)
        return np.array(steps)

    def first(self, count: int) -> Ensemble:
        """The model of its first trees alone, of each score, the tables included."""
        weight = 1 / max(count, 1) if self.averaged else self.weight
        return replace(self, trees=self.trees[: count * self.outputs], weight=weight)

    def _parts(self, X: np.ndarray) -> Iterator[np.ndarray]:
        for tree in self.trees:
            yield self.weight * tree.value[tree.leaves_of(X)]
        for table in self.tables:
            yield table.at(X)


@dataclass(frozen=True)
class TreeEstimate:
    """Estimate that every protocol of vertical trees returns.

    ensemble : of all parties together, as only an evaluator sees it
    epsilon_claimed : by the formula of the source, or the target that a certified method keeps
    scores : (n_test,) scores of the held-out rows that the inference protocol computed, in the order of the rows; None
        where inference is ``none``
    numbers : further scalars of the fit (sigma, epsilon_per_index, counts of operations, bytes_formula, ...)
    arrays : name -> (dims, array), what figures show of one fit (tables with bands, ...)
    """

    ensemble: Ensemble
    epsilon_claimed: float
    scores: np.ndarray | None = None
    numbers: Numbers = field(default_factory=dict)
    arrays: dict[str, tuple[tuple[str, ...], np.ndarray]] = field(default_factory=dict)


def check_ensemble(ensemble: Ensemble, d: int, known: Collection[int] | None = None) -> None:
    """ValueError unless it can score records of d columns; ``known``: those whose thresholds it has, by default all."""
    numbers = [ensemble.base, ensemble.weight]
    if ensemble.outputs < 1 or len(ensemble.trees) % ensemble.outputs:
        raise ValueError(f"it has {len(ensemble.trees)} trees for {ensemble.outputs} scores, not as many of each")
    for k, tree in enumerate(ensemble.trees):
        m, inner = len(tree.feature), tree.feature != LEAF
        if not m or any(array.shape != (m,) for array in vars(tree).values() if array is not None):
            raise ValueError(f"tree {k} has arrays of different lengths")
        children = np.concatenate([tree.left[inner], tree.right[inner]])
        parents = np.tile(np.flatnonzero(inner), 2)
        if np.any(tree.feature < LEAF) or np.any(tree.feature >= d) or np.any((children <= parents) | (children >= m)):
            raise ValueError(f"tree {k} names columns or nodes that are not there")
        with_threshold = inner if known is None else inner & np.isin(tree.feature, list(known))
        numbers += [*tree.threshold[with_threshold].tolist(), *tree.value[~inner].tolist()]
    for k, table in enumerate(ensemble.tables):
        if (
            not 0 <= table.feature < d
            or not 0 <= table.output < ensemble.outputs
            or any(array.shape != (len(table.edges) + 1,) for array in (table.values, table.cover) if array is not None)
            or np.any(np.diff(table.edges) <= 0)
        ):
            raise ValueError(
                f"table {k} has another column, or edges that are not increasing with a value between each"
            )
        numbers += [*table.edges.tolist(), *table.values.tolist(), table.missing or 0.0]
    if not np.all(np.isfinite(numbers)):
        raise ValueError("it holds a number that is not finite")
