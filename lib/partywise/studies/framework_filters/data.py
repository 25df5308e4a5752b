"""Replicate of the study, its public facts, and its division among owners: sites of clients of equal size."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ...federation.parties import Party
from ...methods.filters.model import FilterFacts


@dataclass(frozen=True)
class FilterData:
    """One replicate: records that train, client by client, then those that test.

    y : (N,) uint8 in {0, 1}; X : (N, D), the intercept last
    client_rows : (M,) int, records of each client
    columns : (N, p) raw numbers of a case of statistics, whose records all count; column_names : (p,)
    spans : (p, 3) first edge, width and end of what bins tile of each column
    names : of the natural clients, none where they are dealt
    key : root of the evaluator's randomness, the same for every method and epsilon
    holder : (N,) int, natural client of each record, those that test as well; (0,) where records are dealt
    """

    y: np.ndarray
    X: np.ndarray
    client_rows: np.ndarray
    key: int
    holder: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=int))
    columns: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))
    spans: np.ndarray = field(default_factory=lambda: np.zeros((0, 3)))
    column_names: tuple[str, ...] = ()
    names: tuple[str, ...] = ()

    @property
    def n_train(self) -> int:
        """Records that train."""
        return int(self.client_rows.sum())

    @cached_property
    def ends(self) -> np.ndarray:
        """(M + 1,) where the records of each client begin and end."""
        return np.append(0, np.cumsum(self.client_rows))

    @cached_property
    def memo(self) -> dict[str, np.ndarray]:
        """Results that the evaluator has computed already for this replicate."""
        return {}

    def public(self) -> FilterFacts:
        """The part of the data set that is public."""
        spans = tuple(
            (name, (float(a), float(b), float(c)))
            for name, (a, b, c) in zip(self.column_names, self.spans, strict=True)
        )
        return FilterFacts(self.X.shape[1], tuple(map(int, self.client_rows)), spans)


def split(data: FilterData, n_parties: int, spec: object, settings: object) -> list[Party]:
    """Neighbouring clients at so many sites."""
    sites, first, parties = data.public().sites(n_parties), 0, []
    own_names = len(data.names) == n_parties
    names = data.names if own_names else tuple(f"site {number + 1}" for number in range(n_parties))
    for name, (clients, rows) in zip(names, sites, strict=True):
        span = slice(first, first + clients * rows)
        block = {"X": data.X[span], "y": data.y[span].astype(float), "clients": np.array(clients)}
        if len(data.columns):
            block["columns"] = data.columns[span]
        parties.append(Party(name, "client", block))
        first += clients * rows
    return parties


def folds(data: FilterData, n_folds: int, settings: object) -> np.ndarray:
    """Fold 0 holds the records that test; those that train are never tested."""
    if n_folds != 1:
        raise ValueError(f"n_folds is {n_folds}: every replicate has its own split, so there is 1 fold.")
    return np.where(np.arange(len(data.y)) < data.n_train, -1, 0)
