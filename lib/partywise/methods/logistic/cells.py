"""Cells of public features: tables whose counts of positive labels are released, and the indicators of these cells."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np

from ...core.errors import CertificationError
from ...privacy.accounted_values import Public
from ...privacy.statistics.clips import ClipResult, WholeClip

# Cells of all tables, at most.
MOST_CELLS = 20_000


@dataclass(frozen=True)
class Cells:
    """One table per variable, and one per pair of variables where these are asked for; nothing here reads a record.

    features : of every variable its columns of X: one of numbers in [0, 1], or indicators of its levels
    numeric : which variables are numbers; bins : equal parts of [0, 1] that these are cut into
    """

    features: tuple[tuple[int, ...], ...]
    numeric: tuple[bool, ...]
    bins: int
    pairs: bool

    def __post_init__(self) -> None:
        if self.count > MOST_CELLS:
            which = "pairs of these features" if self.pairs else "these features"
            remedy = "use fewer bins, or pairs 'none'" if self.pairs else "use fewer bins or features"
            raise ValueError(f"{which} have {self.count} cells, more than {MOST_CELLS}: {remedy}.")

    @classmethod
    def of(cls, variables: Sequence[int], bins: int, pairs: bool) -> Cells:
        """Cells of columns 1, 2, ... of X by the numbers of their variables; -1 stands for a column of numbers."""
        features = dict[tuple[int, int], list[int]]()
        for column, variable in enumerate(variables, 1):
            features.setdefault((variable, column if variable < 0 else 0), []).append(column)
        numeric = tuple(variable < 0 for variable, _ in features)
        return cls(tuple(map(tuple, features.values())), numeric, bins, pairs)

    @cached_property
    def levels(self) -> tuple[int, ...]:
        """Levels of every variable: its bins, or one per indicator and one without any."""
        levels = zip(self.features, self.numeric, strict=True)
        return tuple(self.bins if numeric else len(columns) + 1 for columns, numeric in levels)

    @cached_property
    def tables(self) -> tuple[tuple[int, ...], ...]:
        """Variables of every table."""
        alone = [(place,) for place in range(len(self.features))]
        return (*alone, *(combinations(range(len(self.features)), 2) if self.pairs else ()))

    @property
    def count(self) -> int:
        """Cells of all tables, and the total of all records."""
        return 1 + sum(math.prod(self.levels[place] for place in table) for table in self.tables)

    @property
    def clip(self) -> CellClip:
        """Return the clip of a record's indicators: one cell of every table, and the total."""
        ones = len(self.tables) + 1
        return CellClip(Public(math.sqrt(ones), because="a record is in one cell of each table"), ones)

    def indicators(self, X: np.ndarray) -> np.ndarray:
        """(N, cells) of 0 and 1: the total, then the cells table by table; ValueError for features outside [0, 1]."""
        codes, Z = self._codes(X), np.zeros((len(X), self.count))
        Z[:, 0], rows, start = 1.0, np.arange(len(X)), 1
        for table in self.tables:
            sizes = [self.levels[place] for place in table]
            Z[rows, start + np.ravel_multi_index([codes[place] for place in table], sizes)] = 1.0
            start += math.prod(sizes)
        return Z

    def _codes(self, X: np.ndarray) -> list[np.ndarray]:
        """Level (N,) of every record in each variable."""
        if X.size and (X.min() < 0 or X.max() > 1):
            raise ValueError(
                f"X runs from {float(X.min())!r} to {float(X.max())!r}: cells are cut from features in [0, 1]; scale "
                "them by public ranges (public_bounds)."
            )
        codes = list[np.ndarray]()
        for columns, numeric in zip(self.features, self.numeric, strict=True):
            values = X[:, list(columns)]
            if numeric:
                codes.append(np.minimum((values[:, 0] * self.bins).astype(int), self.bins - 1))
                continue
            # The first indicator above one half: one level for any record, whatever it holds.
            above = values > 0.5
            codes.append(np.where(above.any(axis=1), above.argmax(axis=1) + 1, 0))
        return codes


@dataclass(frozen=True)
class CellClip(WholeClip):
    """Rows that are 1 in so many places and 0 elsewhere: whole as they are, and nothing is clipped."""

    ones: int

    def step(self, bits: int) -> float:
        """1."""
        return 1.0

    def length(self, p: int) -> float:
        """Root of the number of ones."""
        return math.sqrt(self.ones)

    def of(self, records: np.ndarray) -> ClipResult:
        """The records, checked."""
        if np.any((records != 0) & (records != 1)) or np.any(records.sum(axis=1) != self.ones):
            raise CertificationError(f"records of cells must be 1 in {self.ones} places and 0 elsewhere.")
        return ClipResult(records, 0, len(records))

    def squares(self, p: int, bits: int) -> int:
        """Number of ones: a flipped label moves the count of one cell of each table by 1, and the total."""
        return self.ones

    def steps(self, records: np.ndarray, bits: int) -> ClipResult:
        """The records, checked."""
        return self.of(records)
