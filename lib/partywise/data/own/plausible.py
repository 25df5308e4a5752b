"""Faults of values that can be read: a constant, another unit, a mark of a missing value, other labels.

Reports of values stay with the owner of the file: in the log and on the screen of the process that reads it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

import numpy as np

from ...core.errors import DataMissing
from ...core.notes import NOTE, add_note
from .csv import ELSEWHERE, TextTable
from .grammar import ColumnBlock

LOG = logging.getLogger("partywise")
# Numbers that stand for a missing value in files of others.
MARKS = (-99.0, -999.0, 999.0, -9999.0, 9999.0, -99999.0, 99999.0, -999999.0, 999999.0)
LISTED = 3


def check_varies(values: np.ndarray, table: TextTable, name: str) -> None:
    """DataMissing for a column with one value in all rows."""
    if np.all(values == values[0]):
        raise DataMissing(
            f"{table.file}: {name} is {table.column(name)[0]!r} in all {len(values)} rows: it has no information; take "
            "it out, or check that its column is the right one."
        )


def check_column(values: np.ndarray, column: ColumnBlock, table: TextTable) -> None:
    """DataMissing for a constant, or for values most of which the declared bounds or edges do not expect.

    values : of all rows of the table, or the numbers of their levels
    """
    check_varies(values, table, column.name)
    if table.file.startswith(ELSEWHERE):
        return
    check_entries(values, column, table)
    if column.edges is not None and len(set(np.searchsorted(column.edges, values).tolist())) == 1:
        raise DataMissing(
            f"{table.file}: {column.name} lies between the same two of its edges {list(column.edges)} in all "
            f"{len(values)} rows ({values[0]:g} in row {table.lines[0]}): is it in another unit? correct the edges, or "
            "the column."
        )


def check_entries(values: np.ndarray, column: ColumnBlock, table: TextTable) -> None:
    """DataMissing for values that the declared bounds do not expect, or that often stand for missing ones."""
    if column.bounds is not None:
        check_bounds(values, column.bounds, column.name, "bounds", places_of(table))
    elif column.levels is None:
        check_marks(values, column.name, places_of(table))


def check_label(values: np.ndarray, table: TextTable, name: str, bounds: tuple[float, float] | None) -> None:
    """`check_column` of a label, whose bounds are ``response_bounds`` where there are any."""
    check_varies(values, table, name)
    if bounds is None:
        check_marks(values, name, places_of(table))
    else:
        check_bounds(values, bounds, name, "response_bounds", places_of(table))


def places_of(table: TextTable) -> Callable[[int], tuple[str, int]]:
    """File and row of a value by its number."""
    return lambda number: (table.file, table.lines[number])


def check_bounds(
    values: np.ndarray,
    bounds: tuple[float, float],
    name: str,
    key: str,
    place: Callable[[int], tuple[str, int]],
) -> None:
    """DataMissing where most values, or one by more than the width, lie beyond their bounds; a line for others.

    values : (n,); name : of the column; key : of the bounds; place : file and row of a value by its number
    """
    low, high = bounds
    outside = (values < low) | (values > high)
    count, between = int(np.count_nonzero(outside)), f"[{low:g}, {high:g}]"
    if 2 * count > len(values):
        first = int(np.argmax(outside))
        file, row = place(first)
        raise DataMissing(
            f"{file}: {name} is outside its {key} {between} in {count} of {len(values)} rows ({values[first]:g} in row "
            f"{row}): is it in another unit? correct the {key}, or the column."
        )
    far = (values < low - (high - low)) | (values > high + (high - low))
    if far.any():
        first = int(np.argmax(far))
        file, row = place(first)
        mark = ", which often stands for a missing value" if values[first] in MARKS else ""
        raise DataMissing(
            f"{file}: {name} is {values[first]:g} in row {row}{mark}, beyond its {key} {between} by more than their "
            f"width: correct it, leave the record out, or correct the {key}."
        )
    if count:
        file, _ = place(int(np.argmax(outside)))
        add_note(
            f"{file}: {name} is outside its {key} {between} in {count} of {len(values)} rows, which count as the "
            "nearest end where a method clips."
        )
    check_marks(values, name, place)


def check_marks(values: np.ndarray, name: str, place: Callable[[int], tuple[str, int]]) -> None:
    """A line for each mark of a missing value that is further from all other values than these span."""
    for mark in MARKS:
        marked = values == mark
        others = values[~marked]
        if not marked.any() or not others.size or np.min(np.abs(others - mark)) <= np.ptp(others):
            continue
        rows = np.flatnonzero(marked)
        file, _ = place(int(rows[0]))
        lines = ", ".join(str(place(row)[1]) for row in rows[:LISTED].tolist()) + (
            ", ..." if len(rows) > LISTED else ""
        )
        LOG.warning(
            f"{NOTE}{file}: {name} is {mark:g} in {len(rows)} of {len(values)} rows (row {lines}), far from all "
            "others: does it stand for a missing value? Fill it in, or leave these records out."
        )
