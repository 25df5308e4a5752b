"""Replicate of vertical trees, its division among parties, and the rows that test."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...core.errors import DataMissing
from ...data.column_facts import ColumnFacts
from ...data.columns.replicate import check_values, folds_of, split_columns
from ...data.columns.settings import ColumnSettings
from ...federation.parties import Party
from ...methods.trees.model import TreeColumn, TreeFacts
from ...models.criteria import CLASSES, Criterion
from ...privacy.accounted_values import Public


@dataclass(frozen=True)
class TreeData:
    """One replicate: labels of the active party, columns of all.

    y : (N,) float64, numbers of classes or numbers
    X : (N, d) float64, raw values
    train : (N,) bool, the rows that train where there is one fold; the others test
    order : (N,) int, a random permutation that is cut into folds where there are several; a person has one place
    names : (d,) str; column_facts : of each column
    criterion : loss of the task; classes : number of classes
    response_bounds : public range of a response that is a number
    ids : (N,) str, names of the records, of own tables
    """

    y: np.ndarray
    X: np.ndarray
    train: np.ndarray
    order: np.ndarray
    names: np.ndarray
    column_facts: tuple[ColumnFacts, ...]
    criterion: Criterion
    ids: np.ndarray | None = None
    classes: int = 2
    response_bounds: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        check_values(self.X, self.y, self.criterion, self.classes)

    def public(self) -> TreeFacts:
        """The part that everyone may know: names, what is declared of the columns, the loss."""
        columns = tuple(map(_column, self.names, self.column_facts))
        return TreeFacts(columns, self.criterion, self.classes, self.response_bounds)


def _column(name: str, column_facts: ColumnFacts) -> TreeColumn:
    edges = None if column_facts.edges is None else Public(np.array(column_facts.edges), because=column_facts.because)
    bounds = None if column_facts.bounds is None else Public(column_facts.bounds, because=column_facts.because)
    return TreeColumn(str(name), edges, bounds)


def split(data: TreeData, n_parties: int, spec: object, settings: ColumnSettings) -> list[Party]:
    """The parties in the order of their columns; one of them, the active one, has the labels too."""
    return split_columns(data.X, {"y": data.y}, n_parties, settings)


def folds(data: TreeData, n_folds: int, settings: object) -> np.ndarray:
    """Fold of every row: one fold holds the test rows and the others never test, several cut a permutation.

    DataMissing when the training rows of a fold are of one class, which leaves nothing to learn.
    """
    of = folds_of(data.train, data.order, n_folds)
    if data.criterion == CLASSES:
        for held_out in range(n_folds):
            labels = data.y[of != held_out]
            if labels.min() == labels.max():
                raise DataMissing(
                    f"y is {labels[0]:g} in all training rows of fold {held_out}: bring records of both classes, or "
                    "use fewer folds."
                )
    return of
