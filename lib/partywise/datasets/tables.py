"""Tables of records that loaders return: of clients for horizontal splits, with labels in {0, 1} for classification."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from .curves import Scale, require
from .public.declarations import ColumnFacts, Range

FROM_THE_DATA = "smallest and largest value in the table: the features are public where labels are the secret"


@dataclass(frozen=True)
class ClientTable:
    """N records of K clients.

    Attributes
    ----------
    X : (N, p) float32
        Features on the public ``scales``, so that almost all lie in [-1, 1]; nothing is clipped.
    y : (N,) float
        A number, or the position of the class in ``classes``.
    client : (N,) int
        Position of the record's client in ``clients``.
    names, clients, classes : tuple of str
        Features; clients; classes, empty where y is a number.
    scales : tuple of p Scale
    sha256 : dict
        File name -> SHA-256 of the file that was read.
    notes : tuple of str
        What a reader of a figure has to know.
    """

    X: np.ndarray
    y: np.ndarray
    client: np.ndarray
    names: np.ndarray
    clients: tuple[str, ...]
    classes: tuple[str, ...]
    scales: tuple[Scale, ...]
    sha256: dict[str, str]
    notes: tuple[str, ...]

    def __post_init__(self) -> None:
        n, p = self.X.shape
        require(self.y.shape == (n,) and self.client.shape == (n,), f"y or client has not {n} entries")
        require(len(self.names) == p and len(self.scales) == p, f"{p} features have {len(self.names)} names")
        require(bool(np.isfinite(self.X).all() and np.isfinite(self.y).all()), "a value is not finite")
        require(set(np.unique(self.client)) == set(range(len(self.clients))), "a client has no record")


@dataclass(frozen=True)
class LabelledTable:
    """N records with k features and a binary label.

    Attributes
    ----------
    X : (N, k) float in [0, 1], without an intercept
    y : (N,) float in {0, 1}
    names : (k,) str
    ranges : tuple of k Range, what 0 and 1 stand for
    block : (N,) int
        Day of the month where the table has a calendar, for splits by time; zeros otherwise.
    sha256 : dict
        File name -> SHA-256 of the file that was read.
    notes : tuple of str
        What a reader of a figure has to know.
    """

    X: np.ndarray
    y: np.ndarray
    names: np.ndarray
    ranges: tuple[Range, ...]
    block: np.ndarray
    sha256: dict[str, str]
    notes: tuple[str, ...]

    def __post_init__(self) -> None:
        n, k = self.X.shape
        require(self.y.shape == (n,), f"y has shape {self.y.shape} beside {n} rows of X")
        require(self.names.shape == (k,) and len(self.ranges) == k, f"{k} features have {len(self.names)} names")
        require(self.block.shape == (n,), f"block has shape {self.block.shape} beside {n} rows of X")
        require(bool(np.isfinite(self.X).all()), "a feature has a value that is not finite")
        require(bool(self.X.min() >= 0 and self.X.max() <= 1), "a feature is outside [0, 1] after scaling")
        require(bool(np.isin(self.y, (0, 1)).all()), "a label is neither 0 nor 1")

    @property
    def from_the_data(self) -> tuple[str, ...]:
        """Features whose range was read from the table."""
        return tuple(
            str(name) for name, range_ in zip(self.names, self.ranges, strict=True) if range_.because == FROM_THE_DATA
        )


def scale(columns: Mapping[str, np.ndarray], public: Mapping[str, Range]) -> tuple[np.ndarray, tuple[Range, ...]]:
    """Columns as one matrix in [0, 1], with the range of each; a value outside its public range raises DataMissing.

    A column without a public range is scaled by its smallest and largest value, and says so; one that is constant
    becomes 0.
    """
    X = np.empty((len(next(iter(columns.values()))), len(columns)))
    ranges = []
    for j, (name, values) in enumerate(columns.items()):
        require(bool(np.isfinite(values).all()), f"column {name} has a missing value")
        low, high = float(values.min()), float(values.max())
        chosen = public.get(name, Range(low, high, FROM_THE_DATA))
        require(chosen.low <= low and high <= chosen.high, f"column {name} leaves {chosen.low:g} to {chosen.high:g}")
        X[:, j] = (values - chosen.low) / ((chosen.high - chosen.low) or 1.0)
        ranges.append(chosen)
    return X, tuple(ranges)


def indicators(prefix: str, values: np.ndarray, levels: np.ndarray) -> dict[str, np.ndarray]:
    """One column of 0 and 1 for each level, the first included."""
    return {f"{prefix}_{level}": (values == level).astype(float) for level in levels}


@dataclass(frozen=True)
class ColumnTable:
    """N records with d columns of raw values, for splits of columns.

    Attributes
    ----------
    X : (N, d) float64; the levels of a category are numbered from 0 in alphabetical order
    y : (N,) float64
    names : (d,) str
    column_facts : tuple of d ColumnFacts
    train : (N,) bool, where the table comes with its own division; None where it does not
    sha256 : dict
        File name -> SHA-256 of the file that was read.
    notes : tuple of str
        What a reader of a figure has to know.
    ids : (N,) str, names of the records, of own tables
    person : (N,) int, the person behind each record, where one may have several
    """

    X: np.ndarray
    y: np.ndarray
    names: np.ndarray
    column_facts: tuple[ColumnFacts, ...]
    train: np.ndarray | None
    sha256: dict[str, str]
    notes: tuple[str, ...]
    ids: np.ndarray | None = None
    person: np.ndarray | None = None

    def __post_init__(self) -> None:
        n, d = self.X.shape
        require(self.y.shape == (n,), f"y has shape {self.y.shape} beside {n} rows of X")
        require(len(self.names) == d == len(self.column_facts), f"{d} columns have {len(self.names)} names")
        require(bool(np.isfinite(self.X).all() and np.isfinite(self.y).all()), "a value is not finite")
