"""The one table of records that loaders and readers of own files return: columns, what is public of each, and roles."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from .column_facts import ColumnFacts
from .reading import require


@dataclass(frozen=True)
class Table:
    """N records with d columns of raw values; a role that a table does not have is None, or empty.

    X : (N, d) float64; the levels of a category are numbered from 0 in alphabetical order
    y : (N,) float64, a number, a label 0 or 1, or the number of a class
    status : (N,) of follow-up times, 1 for an event
    names : (d,) str; column_facts : of each column
    sha256 : of the files that were read, by their names; notes : what a reader of a figure has to know
    train : (N,) bool, where the table comes with its own division
    client : (N,) int, position of the record's natural client in ``clients``
    ids : (N,) str, names of the records, of own tables
    person : (N,) int, the person behind each record, where one may have several
    """

    X: np.ndarray
    y: np.ndarray
    names: np.ndarray
    column_facts: tuple[ColumnFacts, ...]
    sha256: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    train: np.ndarray | None = None
    client: np.ndarray | None = None
    clients: tuple[str, ...] = ()
    ids: np.ndarray | None = None
    person: np.ndarray | None = None
    status: np.ndarray | None = None

    def __post_init__(self) -> None:
        n, d = self.X.shape
        require(self.y.shape == (n,), f"y has shape {self.y.shape} beside {n} rows of X")
        require(len(self.names) == d == len(self.column_facts), f"{d} columns have {len(self.names)} names")
        require(bool(np.isfinite(self.X).all() and np.isfinite(self.y).all()), "a value is not finite")
        for name in ("train", "client", "ids", "person", "status"):
            values = getattr(self, name)
            require(values is None or values.shape == (n,), f"{name} has not {n} entries")
        if self.client is not None:
            require(set(np.unique(self.client)) == set(range(len(self.clients))), "a client has no record")

    def unit_interval(self) -> tuple[np.ndarray, tuple[str, ...]]:
        """Columns (N, d) in [0, 1], and which of them are scaled by their smallest and largest value.

        That is for features that are public: a column without a range has no other scale.  One that is constant
        becomes 0.  A value outside its declared range counts as the nearest end.
        """
        X, from_the_data = np.empty(self.X.shape), []
        for j, (name, about) in enumerate(zip(self.names, self.column_facts, strict=True)):
            values = self.X[:, j]
            least, most = float(values.min()), float(values.max())
            if about.bounds is None:
                from_the_data.append(str(name))
            low, high = about.bounds or (least, most)
            X[:, j] = np.clip((values - low) / ((high - low) or 1.0), 0, 1)
        return X, tuple(from_the_data)

    def symmetric_interval(self) -> np.ndarray:
        """Columns (N, d) float32 whose ranges became [-1, 1], nothing clipped; ValueError for one without a range."""
        bounds = []
        for name, about in zip(self.names, self.column_facts, strict=True):
            if about.bounds is None:
                raise ValueError(f"column {name} has no declared range: nothing public scales it; leave it out.")
            bounds.append(about.bounds)
        low, high = np.array(bounds, dtype=float).T
        return np.asarray(((self.X - (low + high) / 2) / ((high - low) / 2)).astype(np.float32))
