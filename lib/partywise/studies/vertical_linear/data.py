"""Replicate of the vertical linear study, its division among parties, and the rows that test."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...data.columns.replicate import check_values, folds_of, split_columns
from ...data.columns.settings import ColumnSettings
from ...federation.parties import Party
from ...methods.linear.model import LinearFacts
from ...models.criteria import Criterion
from ...privacy.accounted_values import Public


@dataclass(frozen=True)
class LinearData:
    """One replicate.

    y : (N,) labels 0 and 1, or numbers on the scale on which they are fitted
    X : (N, d) features of all parties
    train : (N,) bool, the rows that train where there is one fold; the others test
    order : (N,) int, a random permutation that is cut into folds where there are several; a person has one place
    names : (d,) str
    bounds : (d,) declared largest absolute values; label_bound : that of y; because : where they come from
    criterion : loss of the task
    label_scale : what a difference of 1 in y stands for, in the units of the source
    ids : (N,) str, names of the records, of own tables
    """

    y: np.ndarray
    X: np.ndarray
    train: np.ndarray
    order: np.ndarray
    names: np.ndarray
    bounds: np.ndarray
    label_bound: float
    because: str
    criterion: Criterion
    label_scale: float = 1.0
    ids: np.ndarray | None = None

    def __post_init__(self) -> None:
        check_values(self.X, self.y, self.criterion)

    @cached_property
    def memo(self) -> dict[tuple[bytes, str, float, bool], float]:
        """Losses of exact fits that the evaluator has computed, by training rows, model, ridge and intercept."""
        return {}

    def public(self) -> LinearFacts:
        """Names and declared bounds."""
        bounds, label_bound = (Public(value, because=self.because) for value in (self.bounds, self.label_bound))
        return LinearFacts(tuple(map(str, self.names)), bounds, label_bound)


def split(data: LinearData, n_parties: int, spec: object, settings: ColumnSettings) -> list[Party]:
    """The parties in the order of their columns; one of them, the active one, has y too."""
    return split_columns(data.X, {"y": data.y}, n_parties, settings)


def folds(data: LinearData, n_folds: int, settings: object) -> np.ndarray:
    """Fold of every row: of one, the rows that train never test; several cut the permutation."""
    return folds_of(data.train, data.order, n_folds)
