"""New York 2013: one record is one date, the response is the share of late departures at one airport by hour."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path

import numpy as np

from ..carriers import zip_member
from ..catalogue import RESOURCES
from ..curves.descriptions import CURVES, UnitChange
from ..curves.tables import CurveTable, fill_gaps
from ..fetch import read_files
from ..reading import fail, read_columns, require, to_numbers

RESOURCE = "nyc_flights"
DESCRIPTION = CURVES["nyc"]
AIRPORTS = DESCRIPTION.responses
YEAR, DAYS = 2013, 365
OPEN, CLOSE = 6, 22
LATE_MINUTES = 15
_SHAPE = (len(AIRPORTS), DAYS, 24)
_SIZE = math.prod(_SHAPE)
LONGEST_GAP = 5
STRONGEST_WIND = 100.0
DATES_KEPT = 364

# Columns of the file of the weather.
WEATHER = {
    "temperature": "temp",
    "dew point": "dewp",
    "humidity": "humid",
    "wind speed": "wind_speed",
    "rain": "precip",
    "visibility": "visib",
}
TIMETABLE = ("flights", "distance", "seats")
SCALES = {one.name: one for one in DESCRIPTION.variables}
LATE = SCALES["late"]
NOTES = (
    DESCRIPTION.record,
    "Share of the departures of an hour (scheduled 6-21 h, cancelled flights left out) that left more than 15 minutes "
    "late; hours without one are filled from the hours of the same date beside them.",
    "Curves of the operators cover 6-21 h and are held constant outside; the number of flights covers 24 h.",
    "Weather gaps of at most 5 hours are on the line between the measured hours of the same date beside them; at the "
    "start or the end of a date they keep its nearest measured hour. Dates with a longer one are dropped (31 "
    "December). Wind above 100 mph is a recording error and counts as missing.",
    "Lateness at the other airports is of the same hours: this is explanation of a day, not a forecast.",
)


def load(folder: str | Path, response: str | None = None) -> CurveTable:
    """Read ``folder`` (such as ``resources/nyc_flights``, filled by ``data.fetch``); a response is an airport."""
    airport = DESCRIPTION.response(response)
    contents, sha256, notes = read_files(RESOURCE, folder)
    late, timetable = _flights(contents)
    weather = _weather(contents["weather.csv"])
    target = AIRPORTS.index(airport)
    names, parties, scales, curves = zip(*_predictors(target, late, timetable, weather), strict=True)
    x = np.stack([scale.apply(curve) for scale, curve in zip(scales, curves, strict=True)], axis=1)
    keep = ~(np.isnan(x).any(axis=(1, 2)) | np.isnan(late[target]).any(axis=1))
    if all(sha256[member.file] == member.sha256 for member in RESOURCES[RESOURCE].members):
        require(int(keep.sum()) == DATES_KEPT, f"{keep.sum()} complete dates where {DATES_KEPT} are expected")
    days = np.flatnonzero(keep)
    return CurveTable(
        hours=np.arange(OPEN, CLOSE) + 0.5,
        hours_x=np.arange(24) + 0.5,
        domain=(float(OPEN), float(CLOSE)),
        domain_x=(0.0, 24.0),
        y=LATE.apply(late[target][keep]),
        x=x[keep],
        y_scale=LATE,
        x_scales=scales,
        y_party=f"{airport} operator",
        predictor_names=np.array(names),
        party_names=np.array(parties),
        block=days // 7,
        dates=np.array([(date(YEAR, 1, 1) + timedelta(days=int(day))).isoformat() for day in days], dtype="U10"),
        sha256=sha256,
        notes=NOTES + notes,
    )


def _predictors(
    target: int, late: np.ndarray, timetable: dict[str, np.ndarray], weather: dict[str, np.ndarray]
) -> Iterator[tuple[str, str, UnitChange, np.ndarray]]:
    """Name, party, scale and (365, 24) curves of each predictor: weather, own operator, other operators."""
    for place, airport in enumerate(AIRPORTS):
        for name in WEATHER:
            yield f"{name} {airport}", SCALES[name].holder, SCALES[name], weather[name][place]
    for name in TIMETABLE:
        yield f"{name} {AIRPORTS[target]}", f"{AIRPORTS[target]} operator", SCALES[name], timetable[name][target]
    for place, airport in enumerate(AIRPORTS):
        if place != target:
            party = f"{airport} operator"
            yield f"late {airport}", party, LATE, _all_day(late)[place]
            for name in ("flights", "distance"):
                yield f"{name} {airport}", party, SCALES[name], timetable[name][place]


def _flights(contents: dict[str, bytes]) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Share of late departures (3, 365, 16), and the timetable curves, each (3, 365, 24)."""
    table = zip_member(contents["flights.csv.zip"], "flights.csv", "flights.csv.zip")
    names = ("origin", "year", "month", "day", "hour", "dep_delay", "distance", "tailnum")
    flights = read_columns(table, names, "flights.csv")
    planes = read_columns(contents["planes.csv"], ("tailnum", "seats"), "planes.csv")
    seats_of = dict(zip(planes["tailnum"], planes["seats"], strict=True))
    cell = _cells(flights, "flights.csv")
    delay = to_numbers(flights["dep_delay"], "dep_delay")
    seats = to_numbers([seats_of.get(tail, "NA") for tail in flights["tailnum"]], "seats")
    distance = to_numbers(flights["distance"], "distance")
    late = np.where(np.isnan(delay), np.nan, delay > LATE_MINUTES)
    counts = np.bincount(cell, minlength=_SIZE).reshape(_SHAPE).astype(float)
    means = {name: _all_day(_mean(cell, values)) for name, values in (("distance", distance), ("seats", seats))}
    return _mean(cell, late), {"flights": counts, **means}


def _cells(columns: dict[str, list[str]], file: str) -> np.ndarray:
    """Number of each row's (airport, date, hour) cell; a row outside the year or the airports is a named error."""
    first = date(YEAR, 1, 1)
    try:
        number = {f"{m},{d}": (date(YEAR, m, d) - first).days for m in range(1, 13) for d in range(1, _length(m) + 1)}
        day = [number[key] for key in map(",".join, zip(columns["month"], columns["day"], strict=True))]
        place = [AIRPORTS.index(origin) for origin in columns["origin"]]
        hour = [range(24).index(int(text)) for text in columns["hour"]]
    except (KeyError, ValueError) as error:
        fail(f"{file} has a row outside {YEAR} or the airports {', '.join(AIRPORTS)} ({error})")
    require(set(columns["year"]) == {str(YEAR)}, f"{file} is not of the year {YEAR}")
    return np.ravel_multi_index((np.array(place), np.array(day), np.array(hour)), _SHAPE)


def _length(month: int) -> int:
    """Days of a month of the year."""
    return ((date(YEAR, month, 28) + timedelta(days=4)).replace(day=1) - timedelta(days=1)).day


def _mean(cell: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Means of the cells in opening hours, (3, 365, 16); empty hours are filled within the date."""
    known = ~np.isnan(values)
    count = np.bincount(cell[known], minlength=_SIZE).reshape(_SHAPE)[:, :, OPEN:CLOSE]
    total = np.bincount(cell[known], weights=values[known], minlength=_SIZE).reshape(_SHAPE)[:, :, OPEN:CLOSE]
    return fill_gaps(np.where(count > 0, total / np.maximum(count, 1), np.nan), CLOSE - OPEN)


def _all_day(curves: np.ndarray) -> np.ndarray:
    """Curves of the opening hours, held constant over the rest of the 24 hours."""
    return np.pad(curves, ((0, 0), (0, 0), (OPEN, 24 - CLOSE)), mode="edge")


def _weather(content: bytes) -> dict[str, np.ndarray]:
    """Weather curves by name, each (3, 365, 24), in the units of their scales; NaN where a gap is too long."""
    names = ("origin", "year", "month", "day", "hour", *WEATHER.values())
    columns = read_columns(content, names, "weather.csv")
    cell, first = np.unique(_cells(columns, "weather.csv"), return_index=True)
    curves = {}
    for name, column in WEATHER.items():
        series = np.full(_SIZE, np.nan)
        series[cell] = to_numbers(columns[column], column)[first]
        if name == "wind speed":
            series[series > STRONGEST_WIND] = np.nan
        if name == "rain":
            series = np.sqrt(np.maximum(series, 0.0))
        curves[name] = fill_gaps(series.reshape(_SHAPE), LONGEST_GAP)
    return curves
