"""Columns of tables that are CSV text: body fat, breast cancer and late flights."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable

import numpy as np

from ...carriers import bzip2, zip_member
from ...descriptions import TABLES
from ...reading import fail, read_columns, require, to_numbers


def read_body_fat(contents: dict[str, bytes]) -> dict[str, np.ndarray]:
    """Percentages of fat and 13 measurements.

    References
    ----------
    Johnson (1996), "Fitting percentage of body fat to simple body measurements", Journal of Statistics Education 4.
    """
    table, (file,) = TABLES["body_fat"], contents
    columns = read_columns(bzip2(contents[file], file), (*table.names, table.responses[0].read_from), file)
    return {name: to_numbers(texts, name) for name, texts in columns.items()}


def read_breast_cancer(contents: dict[str, bytes]) -> dict[str, np.ndarray]:
    """Labels and 30 measurements; the first row states the shape, and none names a column.

    The file is a part of the pinned scikit-learn, which is neither installed nor imported for it.

    References
    ----------
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
READERS: dict[str, Callable[[dict[str, bytes]], dict[str, np.ndarray]]] = {
    "body_fat": read_body_fat,
    "breast_cancer": read_breast_cancer,
    "late_flights": read_late_flights,
}
