"""Columns of numbers that declared columns become: a category an indicator of each level but the first."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .grammar import ColumnBlock
from .table_files import TableFile


def width(column: ColumnBlock) -> int:
    """Columns that one becomes."""
    return 1 if column.levels is None else len(column.levels) - 1


def indicator_names(column: ColumnBlock) -> list[str]:
    """Names of the columns that one becomes."""
    return [column.name] if column.levels is None else [f"{column.name}_{level}" for level in column.levels[1:]]


def indicators(values: np.ndarray, column: ColumnBlock) -> list[np.ndarray]:
    """The columns (n,) that one becomes, from its numbers or the numbers of its levels (n,)."""
    if column.levels is None:
        return [values]
    return [(values == number).astype(float) for number in range(1, len(column.levels))]


def runs(files: Sequence[TableFile], n_parties: int) -> tuple[tuple[int, ...], ...]:
    """Columns of each party, those that its file's become; ValueError for another number of parties than of files."""
    if n_parties != len(files):
        raise ValueError(f"parties is {n_parties}: the settings name {len(files)} files.")
    found, start = list[tuple[int, ...]](), 0
    for one in files:
        end = start + sum(map(width, one.columns))
        found.append(tuple(range(start, end)))
        start = end
    return tuple(found)
