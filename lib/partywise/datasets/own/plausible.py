"""What is wrong with values that can be read: a constant, another unit, labels that are no two classes."""

from __future__ import annotations

import numpy as np

from ...errors import DataMissing
from .csv import TextTable
from .table_files import ColumnBlock

__all__ = ["check_classes", "check_column", "check_varies"]


def check_varies(values: np.ndarray, table: TextTable, name: str) -> None:
    """DataMissing for a column with one value in all rows."""
    if np.all(values == values[0]):
        raise DataMissing(
            f"{table.file}: {name} is {table.column(name)[0]!r} in all {len(values)} rows: it tells nothing; take it "
            "out, or check that its column is the right one."
        )


def check_column(values: np.ndarray, column: ColumnBlock, table: TextTable) -> None:
    """DataMissing for a constant, or for values most of which the declared bounds or edges do not expect.

    values : of all rows of the table, or the numbers of their levels
    """
    check_varies(values, table, column.name)
    if column.bounds is not None:
        low, high = column.bounds
        outside = (values < low) | (values > high)
        if 2 * np.count_nonzero(outside) > len(values):
            row = int(np.argmax(outside))
            raise DataMissing(
                f"{table.file}: {column.name} is outside its bounds [{low:g}, {high:g}] in "
                f"{np.count_nonzero(outside)} of {len(values)} rows ({values[row]:g} in row {table.lines[row]}): is it "
                "in another unit? correct the bounds, or the column."
            )
    if column.edges is not None and len(set(np.searchsorted(column.edges, values).tolist())) == 1:
        raise DataMissing(
            f"{table.file}: {column.name} lies between the same two of its edges {list(column.edges)} in all "
            f"{len(values)} rows ({values[0]:g} in row {table.lines[0]}): is it in another unit? correct the edges, or "
            "the column."
        )


def check_classes(values: np.ndarray, table: TextTable, name: str) -> None:
    """DataMissing for labels other than 0 and 1."""
    other = np.flatnonzero(~np.isin(values, (0, 1)))
    if other.size:
        raise DataMissing(
            f"{table.file}: {name} is {values[other[0]]:g} in row {table.lines[other[0]]}: criterion "
            "'CrossEntropyLoss' takes labels 0 and 1; code the two classes so, or use 'RegressionMSELoss'."
        )
