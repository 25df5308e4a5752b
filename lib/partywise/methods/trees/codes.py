"""Columns as codes: dense ranks, quantile bins, declared bins; what trees see of values is their order.

Bin j of a column holds the values in ``(edges[j-1], edges[j]]``; equal values have equal codes, except where they
are cut by position, as the source's program does: there bin j holds ``[edges[j-1], edges[j])`` when rows are scored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

Ties = Literal["kept", "position"]
# All finite numbers are at most this.
LARGEST = float(np.finfo(float).max)


@dataclass(frozen=True, eq=False)
class CodedColumns:
    """Columns as codes.

    codes : (n, d) int32, from 0
    sizes : (d,) int, number of codes of each column, whether they occur or not
    thresholds : for each column (size - 1,) floats, left of cut j being ``x <= thresholds[f][j]``; nan where unknown
    missing : columns whose last code is that of cells that are missing
    """

    codes: np.ndarray
    sizes: np.ndarray
    thresholds: tuple[np.ndarray, ...]
    missing: tuple[int, ...] = ()

    def with_copies(self) -> tuple[CodedColumns, np.ndarray]:
        """The columns, then those with missing cells once more with these in front; and the number of each.

        A split of the copy sends missing cells left, one of the column itself sends them right.
        """
        missing = list(self.missing)
        last = self.sizes[missing] - 1
        copied = self.codes[:, missing]
        front = np.where(copied == last, 0, copied + 1).astype(np.int32)
        cuts = tuple(np.append(-LARGEST, self.thresholds[column][:-1]) for column in missing)
        codes, sizes = np.concatenate([self.codes, front], axis=1), np.append(self.sizes, self.sizes[missing])
        return CodedColumns(codes, sizes, self.thresholds + cuts), np.append(np.arange(len(self.sizes)), missing)


def from_codes(codes: np.ndarray, sizes: Sequence[int] | np.ndarray) -> CodedColumns:
    """Codes whose raw values are unknown here: all thresholds are nan."""
    counts = np.asarray(sizes, dtype=np.int64)
    return CodedColumns(
        np.asarray(codes, dtype=np.int32), counts, tuple(np.full(int(size) - 1, np.nan) for size in counts)
    )


def dense_ranks(X: np.ndarray, ties: Ties = "kept") -> CodedColumns:
    """Ranks of each column of X (n, d).

    Ties kept: ranks of the distinct values, thresholds midpoints of neighbouring values. By position: a rank for every
    row, ties in the order of rows, and the threshold of a cut is the value above it, which goes right (as published).
    """
    _check_ties(ties)
    return _columns(X, _positions if ties == "position" else lambda x: _ranks(*np.unique(x, return_inverse=True)))


def quantile_bins(X: np.ndarray, bins: int, ties: Ties = "kept") -> CodedColumns:
    """Bins of about equal counts of each column of X (n, d).

    Ties kept: at most so many bins, equal values in one; a column with no more distinct values keeps them all. By
    position: so many bins of equal counts, ties in the order of rows; the threshold of a cut is the mean of its
    neighbours, and a value equal to it goes right (as published).
    """
    if bins < 2:
        raise ValueError(f"bins={bins} must be at least 2.")
    _check_ties(ties)
    return _columns(X, lambda x: (_keep if ties == "kept" else _by_position)(x, bins))


def public_bins(X: np.ndarray, edges: Sequence[np.ndarray], missing: Sequence[bool] = ()) -> CodedColumns:
    """Bins ``(edges[j-1], edges[j]]`` of each column of X (n, d), edges increasing, for any values.

    In columns that are declared so (``missing``) cells that are missing (NaN) have a code of their own above the bins.
    """
    columns = [np.searchsorted(cuts, x, side="left") for cuts, x in zip(edges, np.asarray(X, float).T, strict=True)]
    for place in np.flatnonzero(missing).tolist():
        columns[place][np.isnan(X[:, place])] = len(edges[place]) + 1
    thresholds = tuple(np.array(cuts, dtype=float) for cuts in edges)
    return _stack(columns, len(X), thresholds)


def side_by_side(parts: Sequence[CodedColumns], columns: Sequence[Sequence[int]]) -> CodedColumns:
    """Codes of several parties in pooled order."""
    order = np.argsort(np.array([column for group in columns for column in group], dtype=np.int64))
    thresholds = [cuts for part in parts for cuts in part.thresholds]
    codes = np.concatenate([part.codes for part in parts], axis=1)[:, order]
    sizes = np.concatenate([part.sizes for part in parts])[order]
    places = [column for group in columns for column in group]
    ends = np.cumsum([0, *map(len, columns)])
    missing = sorted(places[end + column] for part, end in zip(parts, ends, strict=False) for column in part.missing)
    return CodedColumns(codes, sizes, tuple(thresholds[place] for place in order), tuple(missing))


def _check_ties(ties: str) -> None:
    if ties not in ("kept", "position"):
        raise ValueError(f"ties={ties!r} is unknown; use 'kept' or 'position'.")


def _columns(X: np.ndarray, code) -> CodedColumns:
    """Every column by a function that returns its codes and thresholds; missing cells have a code above all others."""
    rows = np.ascontiguousarray(np.asarray(X, dtype=float).T)
    missing = tuple(np.flatnonzero(np.isnan(rows).any(axis=1)).tolist())
    pairs = [_with_missing(x, code) if column in missing else code(x) for column, x in enumerate(rows)]
    coded = _stack([codes for codes, _ in pairs], len(X), tuple(thresholds for _, thresholds in pairs))
    return replace(coded, missing=missing) if missing else coded


def _with_missing(x: np.ndarray, code) -> tuple[np.ndarray, np.ndarray]:
    """Codes of the cells that are there, and one more for those that are not; all cells may be missing."""
    known = ~np.isnan(x)
    known_codes, cuts = code(x[known]) if known.any() else (np.zeros(0, dtype=np.int64), np.zeros(0))
    codes = np.full(len(x), len(cuts) + 1, dtype=np.int64)
    codes[known] = known_codes
    return codes, np.append(cuts, LARGEST)


def _stack(columns: Sequence[np.ndarray], n: int, thresholds: tuple[np.ndarray, ...]) -> CodedColumns:
    codes = np.empty((n, len(columns)), dtype=np.int32)
    for place, column in enumerate(columns):
        codes[:, place] = column
    return CodedColumns(codes, np.array([len(cuts) + 1 for cuts in thresholds], dtype=np.int64), thresholds)


def _ranks(values: np.ndarray, ranks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return ranks, between(values[:-1], values[1:])


def _positions(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    order = np.argsort(x, kind="stable")
    codes = np.empty(len(x), dtype=np.int64)
    codes[order] = np.arange(len(x))
    return codes, below(x[order[1:]])


def _keep(x: np.ndarray, bins: int) -> tuple[np.ndarray, np.ndarray]:
    values, ranks, counts = np.unique(x, return_inverse=True, return_counts=True)
    if len(values) <= bins:
        return _ranks(values, ranks)
    # The last of the first j n / b values ends bin j, with all values equal to it.
    ends = -(-len(x) * np.arange(1, bins) // bins) - 1
    last = np.unique(np.searchsorted(np.cumsum(counts), ends, side="right"))
    last = last[last < len(values) - 1]
    return np.searchsorted(last, ranks, side="left"), between(values[last], values[last + 1])


def _by_position(x: np.ndarray, bins: int) -> tuple[np.ndarray, np.ndarray]:
    n = len(x)
    order = np.argsort(x, kind="stable")
    codes = np.empty(n, dtype=np.int64)
    codes[order] = np.arange(n) * bins // n
    # The first row of bin j is the first place with place * b // n >= j; empty bins share a cut.
    first = -(-n * np.arange(1, bins) // bins)
    right = x[order[np.minimum(first, n - 1)]]
    return codes, mean_below(x[order[first - 1]], right)


def between(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Midpoints, at least ``low`` and below ``high`` where that is larger."""
    middle = low / 2 + high / 2
    return np.where((middle >= low) & (middle < high), middle, low)


def below(cuts: np.ndarray) -> np.ndarray:
    """Largest numbers below cuts: ``x <= below(c)`` is ``x < c``, by which ties go right."""
    return np.where(np.isfinite(cuts), np.nextafter(cuts, -np.inf), cuts)


def mean_below(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Largest numbers below the means of neighbours."""
    return below(low / 2 + high / 2)
