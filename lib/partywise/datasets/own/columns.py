"""Entries of a column of complete rows as numbers, or as numbers of the levels of a category."""

from __future__ import annotations

import numpy as np

from ...errors import DataMissing
from .csv import TextTable, nearest, numbers
from .grammar import ColumnBlock


def values(table: TextTable, column: ColumnBlock) -> np.ndarray:
    """(rows,) numbers, or numbers of levels."""
    if column.levels is None:
        return numbers_of(table, column.name)
    number = {level: float(k) for k, level in enumerate(column.levels)}
    texts = table.column(column.name)
    for text, line in zip(texts, table.lines, strict=True):
        if text not in number:
            raise DataMissing(
                f"{table.file}: {column.name} is {text!r} in row {line}: {nearest(text, number, 'its levels are')}; "
                "correct it, or add the level."
            )
    return np.array([number[text] for text in texts])


def numbers_of(table: TextTable, name: str) -> np.ndarray:
    """(rows,) numbers of a column of complete rows."""
    places = [f"row {line}" for line in table.lines]
    return numbers(table.column(name), f"{table.file}: {name}", places.__getitem__)
