"""Entries of columns that lie elsewhere: of the public settings, and of more than one kind."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..table_files import ColumnBlock

__all__ = ["column_of", "cycled", "labels_of"]


def cycled(entries: Sequence[object], n: int) -> list[str]:
    """(n,) entries in turn, as text."""
    return [str(entries[i % len(entries)]) for i in range(n)]


def column_of(column: ColumnBlock, n: int) -> list[str]:
    """Entries of a column that pass the checks of one: levels in turn, or two numbers."""
    if column.levels is not None:
        return cycled(column.levels, n)
    low, high = column.bounds or (0.0, 1.0)
    if column.edges is None:
        return cycled((low, high), n)
    cuts = column.edges
    if column.bounds is not None and np.ptp(np.searchsorted(cuts, (low, high))):
        return cycled((low, high), n)
    # Bounds between two edges: at most every second entry lies outside them, the first inside.
    inside = low if column.bounds is not None else cuts[0] - 1.0
    return cycled((inside, cuts[0] - 1.0 if inside > cuts[0] else cuts[-1] + 1.0), n)


def labels_of(classes: bool, n: int) -> list[str]:
    """Labels 0 and 1 in turn; 1 and 2 where they are numbers, which every family of responses takes."""
    return cycled((0, 1) if classes else (1, 2), n)
