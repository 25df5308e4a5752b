"""Boosting and forests: one tree, the loop over trees, base scores, gradients, leaves; and whether raw values agree."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...models.criteria import CLASSES, Criterion
from ...models.links import LOGIT
from ...models.losses import class_derivatives, derivatives
from .codes import CodedColumns, public_bins
from .growth.cells import Bins, bins_of, complete_siblings, histograms
from .growth.level import Level, close_level, cut_at_next_row, split, start, tree_of
from .growth.splits import Rule, best_splits, better, grid, left_of, on_grid, ranked_splits
from .model import LEAF, Ensemble, Tree
from .options import TreeOptions

# What is drawn for one tree: which columns it may split, how often each row takes part (None: once each).
Draws = tuple[Sequence[int], np.ndarray | None]
# A histogram costs a few operations a cell, ranks some more a row: above so many cells a row, ranks are cheaper.
CELLS_A_ROW = 4


def rule_of(options: TreeOptions) -> Rule:
    """Return how these options value a split (section 2 of the specification)."""
    if options.algo == "rf":
        return Rule()
    if options.algo == "gbdt":
        return Rule(options.lambda_, 1.0, 0.0 if options.as_published else options.gamma, not options.as_published)
    return Rule(options.lambda_, 0.5, options.gamma)


def statistics(
    y: np.ndarray, scores: np.ndarray, options: TreeOptions, criterion: Criterion, times: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return what a tree sums per row: (g, h), (g, 1) or, in a forest, (y, 1) as often as the row was drawn."""
    if options.algo == "rf":
        count = np.ones(len(y)) if times is None else times.astype(float)
        return y * count, count
    g, h = derivatives(scores, y, criterion)
    return g, h if options.algo == "xgb" else np.ones(len(y))


def round_to_grid(a: np.ndarray, w: np.ndarray, step: float | None, unit: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """Gradients and hessians on grids whose sums are exact: of the given step (a in a unit), or the finest."""
    if step is None:
        return on_grid(a, grid(a, len(a))), on_grid(w, grid(w, len(w)))
    for values, spacing in ((a, step * unit), (w, step)):
        if spacing < grid(values, len(values)):
            raise OverflowError(
                f"y gives values up to {np.max(np.abs(values)):.3g}: sums of {len(a)} in steps of {spacing:g} may "
                "exceed 53 bits; give y in smaller units."
            )
    return on_grid(a, step * unit), on_grid(w, step)


def leaf_values(totals: np.ndarray, options: TreeOptions, criterion: Criterion) -> np.ndarray:
    """Value of every node as a leaf, from its sums (2, nodes)."""
    a, w = totals
    below = w if options.algo == "rf" else w + options.lambda_
    ratio = np.divide(a, below, out=np.zeros_like(a), where=below > 0)
    if options.algo != "rf":
        return -ratio
    return (ratio > 0.5).astype(float) if options.as_published and criterion == "CrossEntropyLoss" else ratio


def weight_of(options: TreeOptions) -> float:
    """Weight of a tree in the score."""
    return 1 / options.num_of_trees if options.algo == "rf" else options.eta


def base_of(
    y: np.ndarray,
    options: TreeOptions,
    criterion: Criterion,
    outputs: int = 1,
    bounds: tuple[float, float] | None = None,
) -> float:
    """Return the score of every record before any tree: 0 in a forest, and of more than two classes.

    bounds : public range of a response that is a number
    """
    start = options.base_score
    if options.algo == "rf" or outputs > 1:
        return 0.0
    if criterion == CLASSES:
        share = 0.5 if start is None else float(y.mean()) if start == "mean" else start
        return float(LOGIT.inverse(np.array(share)))
    if start == "mean":
        return float(y.mean())
    if start is not None:
        return start
    if options.as_published or options.ties == "position":
        return 0.0
    if options.public_start:
        return 0.0 if bounds is None else float(np.mean(bounds))
    return float(y.mean())


def ensemble_of(trees: Sequence[Tree], options: TreeOptions, base: float, outputs: int = 1) -> Ensemble:
    """The model of trees that begin at a base score."""
    return Ensemble(tuple(trees), base, weight_of(options), averaged=options.algo == "rf", outputs=outputs)


@dataclass(frozen=True, eq=False)
class Growing:
    """Trees so far, the scores (n,) that they give the training rows, and the score before any tree."""

    trees: tuple[Tree, ...]
    scores: np.ndarray
    base: float

    def with_tree(
        self,
        level: Level,
        data: CodedColumns,
        options: TreeOptions,
        criterion: Criterion,
        names: np.ndarray | None = None,
    ) -> Growing:
        """One tree more, from its closed level; names are the numbers of columns some of which are copies."""
        terms = rule_of(options).term(level.totals)
        tree = tree_of(level, leaf_values(level.totals, options, criterion), data.thresholds, terms)
        if names is not None:
            tree = of_copies(tree, names)
        return replace(
            self, trees=(*self.trees, tree), scores=self.scores + weight_of(options) * tree.value[level.leaf]
        )


def begin(n: int, base: float) -> Growing:
    """No tree, all scores at the base."""
    return Growing((), np.full(n, base), base)


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


def grow_trees(
    data: CodedColumns | Callable[[int], CodedColumns],
    y: np.ndarray,
    options: TreeOptions,
    criterion: Criterion,
    draws: Sequence[Draws],
    step: float | None = None,
    outputs: int = 1,
    unit: float = 1.0,
    bounds: tuple[float, float] | None = None,
) -> Ensemble:
    """All trees on codes of the training rows; a callable gives the codes of each tree.

    ``draws`` are for each tree the columns that it may split, and how often each row takes part (n,), None for once.
    ``step`` is the grid of the sums, by default the finest on which they are exact; label scattering has 2^-32,
    for gradients in a public ``unit``. ``bounds`` are the public range of a response that is a number (`base_of`).
    Where there are several ``outputs``, labels are 0 .. outputs - 1, and a tree of each class is grown at the same
    scores, with the same draws.
    """
    base = base_of(y, options, criterion, outputs, bounds)
    states, rule, memo = (begin(len(y), base),) * outputs, rule_of(options), _Layouts()
    for number, (columns, times) in enumerate(draws):
        coded = data(number) if callable(data) else data
        names = None
        if coded.missing:
            coded, names = memo.copies(coded)
            columns = np.flatnonzero(np.isin(names, columns)).tolist()
        bins, rows = memo.of(coded, columns), None if times is None else times > 0
        if outputs == 1:
            sums = [statistics(y, states[0].scores, options, criterion, times)]
        else:
            sums = class_statistics(y, np.column_stack([state.scores for state in states]), options)
        levels = [grow(bins, *round_to_grid(*pair, step, unit), options.max_tree_depth, rule, rows) for pair in sums]
        if options.ties == "position":
            # Where every row has a rank of its own, the program cuts at the value of a row of the node.
            levels = [cut_at_next_row(level, coded.codes, coded.sizes == len(y)) for level in levels]
        pairs = zip(states, levels, strict=True)
        states = tuple(state.with_tree(level, coded, options, criterion, names) for state, level in pairs)
    rounds = zip(*(state.trees for state in states), strict=True)
    return ensemble_of([tree for trees in rounds for tree in trees], options, base, outputs)


def class_statistics(y: np.ndarray, scores: np.ndarray, options: TreeOptions) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return per class what a tree sums per row, (g, h) or (g, 1), at scores (n, k)."""
    g, h = class_derivatives(scores, y)
    if options.algo != "xgb":
        h = np.ones_like(g)
    return [(np.ascontiguousarray(a), np.ascontiguousarray(w)) for a, w in zip(g.T, h.T, strict=True)]


def of_copies(tree: Tree, names: np.ndarray) -> Tree:
    """A tree on columns and copies of some, whose missing cells come first, as one of the columns (`with_copies`)."""
    missing_left = tree.feature >= len(np.unique(names))
    feature = np.append(names, LEAF)[tree.feature]
    return replace(tree, feature=feature, cut=tree.cut - missing_left, missing_left=missing_left)


class _Layouts:
    """Cells of the last codes that were asked for: most trees use the same."""

    def __init__(self) -> None:
        self._source: CodedColumns | None = None
        self._copies: tuple[CodedColumns, np.ndarray] | None = None
        self._data: CodedColumns | None = None
        self._bins: Bins | None = None

    def copies(self, data: CodedColumns) -> tuple[CodedColumns, np.ndarray]:
        """The columns with copies of those with missing cells."""
        if self._source is not data:
            self._source, self._copies = data, data.with_copies()
        assert self._copies is not None
        return self._copies

    def of(self, data: CodedColumns, columns: Sequence[int]) -> Bins:
        if self._bins is None or self._data is not data:
            self._data, self._bins = data, bins_of(data)
        return self._bins.only(np.asarray(columns, dtype=np.intp))


def with_thresholds(ensemble: Ensemble, thresholds: Mapping[int, np.ndarray]) -> Ensemble:
    """The ensemble with the raw cuts of some columns filled in: left of cut j is ``x <= thresholds[f][j]``."""
    return replace(ensemble, trees=tuple(_fill(tree, thresholds) for tree in ensemble.trees))


def renumber(ensemble: Ensemble, columns: Sequence[int]) -> Ensemble:
    """The ensemble with its k-th column called ``columns[k]``: what one party grew, in global numbers."""
    numbers = np.array([*columns, LEAF])
    return replace(ensemble, trees=tuple(replace(tree, feature=numbers[tree.feature]) for tree in ensemble.trees))


def _fill(tree: Tree, thresholds: Mapping[int, np.ndarray]) -> Tree:
    raw = tree.threshold.copy()
    for node, feature in enumerate(tree.feature.tolist()):
        if feature != LEAF and feature in thresholds:
            raw[node] = thresholds[feature][tree.cut[node]]
    return replace(tree, threshold=raw)


def rows_rerouted(ensemble: Ensemble, data: CodedColumns | Callable[[int], CodedColumns], X: np.ndarray) -> float:
    """Share of the training rows that end in another leaf of some tree when routed by the stored raw thresholds.

    0 where equal values have equal codes and no noise was drawn. Source: document 003 cuts ties by position.
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
