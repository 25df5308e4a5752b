"""Entries of a column of complete rows as numbers, or as numbers of the levels of a category."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ...core.errors import DataMissing
from ...core.files import READ_POLICY, bin_names
from .csv import TextTable, nearest, numbers
from .grammar import ColumnBlock


def values(table: TextTable, column: ColumnBlock) -> np.ndarray:
    """(rows,) numbers, or numbers of levels."""
    if column.levels is not None:
        entries = level_numbers(table, column.name, column.levels)
    elif column.time_format:
        entries = numbers_of(replace(table, form=replace(table.form, time_format=column.time_format)), column.name)
    else:
        entries = numbers_of(table, column.name)
    used = entries if column.bounds is None else np.clip(entries, *column.bounds)
    READ_POLICY.get().check_cells(table.file, column.name, used, column.levels or ())
    if column.edges is not None:
        bins = np.searchsorted(column.edges, used)
        READ_POLICY.get().check_cells(table.file, column.name, bins, bin_names(column.edges))
    return entries


def level_numbers(table: TextTable, name: str, levels: Sequence[str]) -> np.ndarray:
    """(rows,) numbers of the levels of a column of complete rows; DataMissing for an entry that is none of them."""
    number = {level: float(k) for k, level in enumerate(levels)}
    texts = table.column(name)
    for text, line in zip(texts, table.lines, strict=True):
        if text not in number:
            raise DataMissing(
                f"{table.file}: {name} is {text!r} in row {line}: {nearest(text, number, 'its levels are')}; "
                "correct it, or add the level."
            )
    return np.array([number[text] for text in texts])


def numbers_of(table: TextTable, name: str) -> np.ndarray:
    """(rows,) numbers of a column of complete rows."""
    places = [f"row {line}" for line in table.lines]
    return numbers(table.column(name), f"{table.file}: {name}", places.__getitem__, table.form)
