"""Effects of columns in a model: importances and partial dependence, from the model alone.

Post-processing: no record is read. Gains and covers of tables come from what the passive parties released, noise
included; those of trees from the sums that the active party grew them on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from .model import LEAF, Ensemble, StepFunction, Tree

ImportanceType = Literal["gain", "split"]
REMEDY = "it was made without; fit the model again"


@dataclass(frozen=True)
class PartialDependence:
    """Mean scores over a grid.

    grid : for each column (k,) its values; average : (k_1, k_2, ...) mean scores there
    """

    grid: tuple[np.ndarray, ...]
    average: np.ndarray


def importances(ensemble: Ensemble, d: int, kind: ImportanceType) -> np.ndarray:
    """(d,) share of each column in all gains or in all splits; zeros where nothing is split."""
    sums = np.zeros(d)
    for tree in ensemble.trees:
        inner = tree.feature != LEAF
        np.add.at(sums, tree.feature[inner], 1.0 if kind == "split" else _loss_decrease(ensemble, tree)[inner])
    for table in ensemble.tables:
        if kind == "gain" and table.gain is None:
            raise ValueError(
                f"the table of column {table.feature} has no gain: {REMEDY}, or use importance_type='split'."
            )
        sums[table.feature] += table.splits if kind == "split" else float(table.gain or 0.0)
    total = sums.sum()
    return sums / total if total > 0 else sums


def _loss_decrease(ensemble: Ensemble, tree: Tree) -> np.ndarray:
    """(m,) what splits lower the loss by: a step of boosting is shortened, a tree of a forest is one of many."""
    if tree.gain is None:
        raise ValueError(f"a tree has no gains: {REMEDY}, or use importance_type='split'.")
    share = ensemble.weight if ensemble.averaged else ensemble.weight * (1 - ensemble.weight / 2)
    return share * np.maximum(tree.gain, 0.0)


def dependence(ensemble: Ensemble, grid: Mapping[int, np.ndarray]) -> np.ndarray:
    """(k_1, k_2, ...) mean score where some columns have values (k_f,) of a grid and the others are as they were.

    With several scores the shape is (outputs, k_1, k_2, ...).

    In a tree a split on another column weighs its sides by their covers (the recursion of Friedman, 2001); a table of
    another column counts with its mean over the released covers of its bins, those below 0 taken for 0.
    """
    if ensemble.outputs > 1:
        return np.stack([dependence(part, grid) for part in ensemble.by_output()])
    points = np.stack(np.meshgrid(*grid.values(), indexing="ij"), axis=-1).reshape(-1, len(grid))
    place = {column: number for number, column in enumerate(grid)}
    total = np.full(len(points), ensemble.base)
    for tree in ensemble.trees:
        total += ensemble.weight * _mean_leaf(tree, points, place)
    for table in ensemble.tables:
        number = place.get(table.feature)
        if number is None:
            total += _mean_value(table)
        else:
            total += table.values[np.searchsorted(table.edges, points[:, number], side="left")]
    return total.reshape([len(values) for values in grid.values()])


def _mean_leaf(tree: Tree, points: np.ndarray, place: Mapping[int, int]) -> np.ndarray:
    """(k,) mean value of the leaves that points (k, columns of the grid) leave open."""
    if tree.cover is None:
        raise ValueError(f"a tree has no covers: {REMEDY}.")
    reached = np.zeros((len(tree.feature), len(points)))
    reached[0] = 1.0
    # A node comes before its children.
    for node in np.flatnonzero(tree.feature != LEAF):
        left, right = tree.left[node], tree.right[node]
        number = place.get(int(tree.feature[node]))
        if number is None:
            sides = np.maximum(tree.cover[[left, right]], 0.0)
            share: np.ndarray | float = sides[0] / sides.sum() if sides.sum() > 0 else 0.5
        else:
            share = points[:, number] <= tree.threshold[node]
        reached[left], reached[right] = reached[node] * share, reached[node] * (1 - share)
    leaves = tree.feature == LEAF
    return tree.value[leaves] @ reached[leaves]


def _mean_value(table: StepFunction) -> float:
    if table.cover is None:
        raise ValueError(f"the table of column {table.feature} has no covers: {REMEDY}.")
    values, weights = table.values, np.maximum(table.cover, 0.0)
    if table.missing is not None:
        values, weights = np.append(values, table.missing), np.append(weights, max(table.missing_cover, 0.0))
    return float(np.average(values, weights=weights if weights.any() else None))


def grid_of(edges: np.ndarray) -> np.ndarray:
    """One point in each bin: the cuts, each of which belongs to the bin below it, and one beyond the last."""
    cuts = np.asarray(edges, dtype=float)
    return np.append(cuts, cuts[-1] + (cuts[-1] - cuts[-2] if len(cuts) > 1 else 1.0))


def checked_grid(values: ArrayLike, column: int) -> np.ndarray:
    """Finite points (k,) at which a column is looked at."""
    points = np.asarray(values, dtype=float)
    if points.ndim != 1 or not points.size or not np.all(np.isfinite(points)):
        raise ValueError(f"grid of column {column} is {values!r}: give finite numbers, at least one.")
    return points
