"""Tools of the loaders of shipped data: text to columns and numbers, and the error for unexpected data."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import NoReturn

import numpy as np

from ..core.errors import DataMissing


def require(holds: bool, check: str) -> None:
    """Raise ``DataMissing`` with the name of the check that failed, unless it holds."""
    if not holds:
        fail(check)


def fail(check: str) -> NoReturn:
    """Raise ``DataMissing`` with the name of the check that failed."""
    raise DataMissing(
        f"the data are not as described: {check}; delete the data set's folder and run again to fetch the pinned files."
    )


def read_columns(content: bytes, names: Sequence[str], file: str) -> dict[str, list[str]]:
    """The named columns of a CSV file as lists of text."""
    columns: dict[str, list[str]] = {name: [] for name in names}
    try:
        rows = csv.reader(io.StringIO(content.decode(), newline=""))
        header = next(rows, [])
        absent = [name for name in names if name not in header]
        require(not absent, f"{file} has no column {', '.join(absent)}")
        # No row is kept whole: of a third of a million rows the other columns take most of the time and room.
        into = [(header.index(name), column.append) for name, column in columns.items()]
        for row in rows:
            if len(row) != len(header):
                fail(f"a row of {file} has not the {len(header)} header fields")
            for place, append in into:
                append(row[place])
    except (UnicodeDecodeError, csv.Error):
        raise DataMissing(f"{file} cannot be read as CSV text: delete it and run again to fetch it.") from None
    return columns


def to_numbers(texts: Sequence[str], column: str) -> np.ndarray:
    """Text to float; ``NA`` and empty become NaN, anything else that is not a number raises ``DataMissing``."""
    try:
        return np.array(["nan" if text in ("NA", "") else text for text in texts], dtype=float)
    except ValueError as error:
        raise DataMissing(f"column {column} is not numeric ({error}): fetch the pinned file.") from None


def as_text(column: np.ndarray) -> np.ndarray:
    """Entries as text, whole numbers without a point."""
    if column.dtype.kind in "if":
        return np.array([f"{value:g}" for value in column.tolist()])
    return column.astype(str)
