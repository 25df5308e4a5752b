"""Late flights of New York 2013: does a flight arrive more than 15 minutes late, from weather and timetable.

One record is one flight.  The weather is that of the airport in the hour of the scheduled departure.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ..carriers import zip_member
from ..catalogue import RESOURCES
from ..column_facts import INDICATOR, ColumnFacts
from ..fetch import read_files
from ..reading import read_columns, require, to_numbers
from ..tables import Table, indicators, stack_columns

RESOURCE = "nyc_flights"
LATE_MINUTES = 15
AIRPORTS = ("EWR", "JFK", "LGA")
# Columns of indicators are levels that the published timetable of 2013 has, whether or not a flight of the table does.
LEVELS: dict[str, tuple[str, ...]] = {
    "hour": tuple(str(hour) for hour in range(5, 24)),
    "month": tuple(str(month) for month in range(1, 13)),
    "carrier": tuple(["9E", "AA", "AS", "B6", "DL", "EV", "F9", "FL", "HA", "MQ", "OO", "UA", "US", "VX", "WN", "YV"]),
    "origin": AIRPORTS,
}
RECORD = "records of the climate of New York"
WEATHER = {
    "temp": ColumnFacts(None, (-15.0, 106.0), RECORD + ", degrees F"),
    "dewp": ColumnFacts(None, (-30.0, 85.0), RECORD + ", degrees F"),
    "humid": ColumnFacts(None, (0.0, 100.0), "a percentage"),
    "wind_speed": ColumnFacts(None, (0.0, 100.0), RECORD + ", mph"),
    "precip": ColumnFacts(None, (0.0, 3.5), RECORD + ", inch in an hour"),
    "visib": ColumnFacts(None, (0.0, 10.0), "highest reported value, miles"),
}
ROWS, FEATURES, LATE = 325724, 56, 0.237
NOTES = (
    "The record of the privacy unit is a flight; flights of one day share their weather.",
    "Flights without an arrival delay (cancelled, diverted) or without weather in their hour are left out.",
)


def load(folder: str | Path) -> Table:
    """Read ``folder`` (such as ``resources/nyc_flights``, filled by ``datasets.fetch``)."""
    contents, sha256, notes = read_files(RESOURCE, folder)
    flights = _flights(contents["flights.csv.zip"])
    delay = to_numbers(flights["arr_delay"], "arr_delay")
    weather = _weather(contents["weather.csv"], flights)
    keep = np.isfinite(delay) & np.isfinite(weather).all(axis=1)
    require(bool(keep.any()), "no flight has an arrival delay and weather")
    columns = {name: weather[keep, place] for place, name in enumerate(WEATHER)}
    for name, levels in LEVELS.items():
        values = np.array(flights[name])[keep]
        unknown = sorted(set(values.tolist()) - set(levels))
        require(not unknown, f"flights.csv has the {name} {', '.join(unknown)}, which is not in the timetable of 2013")
        columns |= indicators(name, values, np.array(levels))
    X, facts = stack_columns(columns, WEATHER | {name: INDICATOR for name in columns if name not in WEATHER})
    y = (delay[keep] > LATE_MINUTES).astype(float)
    members = [member for member in RESOURCES[RESOURCE].members if member.file in ("flights.csv.zip", "weather.csv")]
    if all(sha256[member.file] == member.sha256 for member in members):
        require(X.shape == (ROWS, FEATURES), f"{X.shape} rows and features where {(ROWS, FEATURES)} are expected")
        require(abs(float(y.mean()) - LATE) < 5e-4, f"a share {y.mean():.4f} is late where {LATE} is expected")
    day = to_numbers(flights["day"], "day")[keep].astype(int)
    return Table(X, y, np.array(list(columns)), facts, sha256, NOTES + notes, day=day)


def _flights(content: bytes) -> dict[str, list[str]]:
    table = zip_member(content, "flights.csv", "flights.csv.zip")
    names = ("month", "day", "hour", "arr_delay", "carrier", "origin")
    flights = read_columns(table, names, "flights.csv")
    require(set(flights["origin"]) <= set(AIRPORTS), f"flights.csv has an origin outside {', '.join(AIRPORTS)}")
    return flights


def _weather(content: bytes, flights: dict[str, list[str]]) -> np.ndarray:
    """(flights, 6) weather at the origin in the scheduled hour; NaN where there is none."""
    keys = ("origin", "month", "day", "hour")
    columns = read_columns(content, (*keys, *WEATHER), "weather.csv")
    values = np.stack([to_numbers(columns[name], name) for name in WEATHER], axis=1)
    place: dict[tuple[str, ...], int] = {}
    for row, key in enumerate(zip(*(columns[name] for name in keys), strict=True)):
        place.setdefault(key, row)  # an hour given twice: the first
    values = np.vstack([values, np.full(len(WEATHER), np.nan)])
    rows = [place.get(key, len(values) - 1) for key in zip(*(flights[name] for name in keys), strict=True)]
    return values[rows]
