"""Replicate of the label-private study, its division among parties, and the rows that test."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from ...federation.parties import Party
from ...methods.logistic.cells import Cells
from ...methods.logistic.model import LabelFacts, label_holders
from ...models.links import Link


@dataclass(frozen=True)
class LabelData:
    """One replicate.  The features are public, the labels are not.

    y : (N,) uint8 in {0, 1}
    numeric : (N, a) float32 and indicators : (N, b) uint8, the features in [0, 1] stored by kind; order : (a + b,)
        place of each stored column in X
    train : (N,) bool, the rows that train; the others test
    theta : (k,) coefficients that made the labels, or (0,) where they are unknown
    feature_names : (k,) str, with the intercept first
    from_the_data : number of features whose range was read from the table
    evaluation_key : root of the evaluator's randomness, the same for every method and epsilon
    ids : (N,) str, what the records of own data are called, in their order; person : (N,) int, whose each is; both (0,)
        where nothing is known
    party_names : who holds the features and who the labels
    variables : (k - 1,) int, number of the variable of each feature, alike for indicators of one, -1 of a number
    """

    y: np.ndarray
    numeric: np.ndarray
    indicators: np.ndarray
    order: np.ndarray
    train: np.ndarray
    theta: np.ndarray
    feature_names: np.ndarray
    from_the_data: int
    evaluation_key: int
    ids: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=str))
    person: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=int))
    party_names: tuple[str, str] = ("trainer", "measurer")
    variables: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=int))

    @cached_property
    def X(self) -> np.ndarray:
        """(N, k) features with an intercept of ones in column 0, float64."""
        X = np.empty((len(self.y), len(self.order)))
        X[:, self.order] = np.concatenate([self.numeric, self.indicators], axis=1)
        return X

    @cached_property
    def labels(self) -> np.ndarray:
        """(N,) labels as floats."""
        return self.y.astype(float)

    @cached_property
    def training(self) -> tuple[np.ndarray, np.ndarray]:
        """Features and labels of the rows that train."""
        return self.X[self.train], self.labels[self.train]

    @cached_property
    def testing(self) -> tuple[np.ndarray, np.ndarray]:
        """Features and labels of the rows that test."""
        return self.X[~self.train], self.labels[~self.train]

    @cached_property
    def memo(self) -> dict[Link, float]:
        """Least risks that the evaluator has computed already for this replicate, by the link."""
        return {}

    def n_protected(self, unit: str) -> int:
        """Number of protected units that train: rows, or persons."""
        return len(np.unique(self.person[self.train])) if unit == "user_label" else int(self.train.sum())

    def public(self) -> LabelFacts:
        """The part of the data set that is public besides the features themselves."""
        return LabelFacts(
            int(self.train.sum()),
            len(self.order),
            tuple(map(str, self.feature_names)),
            int(self.from_the_data),
            tuple(self.variables.tolist()),
        )

    def of_cells(self, cells: Cells | None) -> LabelData:
        """The replicate with the indicators of cells in place of the features; as it is without cells."""
        if cells is None:
            return self
        copy = replace(self)
        vars(copy)["X"] = cells.indicators(self.X)
        return copy


def pack(X: np.ndarray) -> dict[str, np.ndarray]:
    """Features (N, k) as the fields ``numeric``, ``indicators`` and ``order`` of `LabelData`."""
    binary = np.all((X == 0) | (X == 1), axis=0)
    return {
        "numeric": X[:, ~binary].astype(np.float32),
        "indicators": X[:, binary].astype(np.uint8),
        "order": np.concatenate([np.flatnonzero(~binary), np.flatnonzero(binary)]),
    }


def split(data: LabelData, n_parties: int, spec: object, settings: object) -> list[Party]:
    """The trainer, who holds the features, and the measurer, who sees the labels; several have equal parts of them."""
    if n_parties < 2:
        raise ValueError(f"n_parties is {n_parties}: there are 2, the trainer and the measurer, or several of these.")
    columns, (trainer, measurer) = tuple(range(data.X.shape[1])), data.party_names
    several = [f"{measurer} {number}" for number in range(1, n_parties)]
    return [
        Party(trainer, "passive", {"X": data.X}, columns=columns),
        *label_holders(data.labels, several if n_parties > 2 else [measurer]),
    ]


def folds(data: LabelData, n_folds: int, settings: object) -> np.ndarray:
    """Fold 0 holds the rows that test; those that train are never tested."""
    if n_folds != 1:
        raise ValueError(f"n_folds is {n_folds}: every replicate has its own split, so there is 1 fold.")
    return np.where(data.train, -1, 0)
