"""Beijing fine particles 2010-2014: one record is one day, 24 hourly values a curve (UCI "Beijing PM2.5")."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path

import numpy as np

from ..catalogue import RESOURCES
from ..curves.descriptions import CURVES
from ..curves.tables import CurveTable, fill_gaps
from ..fetch import read_files
from ..reading import fail, read_columns, require, to_numbers

RESOURCE = "beijing_pm25"
LONGEST_GAP = 4
BLOCK_DAYS = 14
DAYS_KEPT = 1711

DESCRIPTION = CURVES["beijing"]
NOTES = (
    DESCRIPTION.record,
    "Gaps of at most 4 hours are on the line between the measured hours of the same day beside them; at the start or "
    "the end of a day they keep its nearest measured hour. Days with a longer gap are dropped.",
    "The wind speed is cumulated by the source since the last change of direction, also over midnight; rain is given "
    "as cumulated hours, used here as an indicator. The unit is the file's hour, as the source gives it.",
)


def load(folder: str | Path, response: str | None = None) -> CurveTable:
    """Read ``folder`` (such as ``resources/beijing_pm25``, filled by ``data.fetch``).

    Liang et al. (2015), "Assessing Beijing's PM2.5 pollution", Proceedings of the Royal Society A 471.
    """
    DESCRIPTION.response(response)
    contents, sha256, notes = read_files(RESOURCE, folder)
    member = RESOURCES[RESOURCE].members[0]
    names = ("year", "month", "day", "hour", "pm2.5", "DEWP", "TEMP", "PRES", "cbwd", "Iws", "Ir")
    columns = read_columns(contents[member.file], names, member.file)
    days = _days(columns)
    y = fill_gaps(_hourly(columns, "pm2.5", log=True).reshape(-1, 24), LONGEST_GAP)
    x = _predictors(columns)
    keep = ~np.isnan(y).any(axis=1)
    if sha256[member.file] == member.sha256:
        require(int(keep.sum()) == DAYS_KEPT, f"{keep.sum()} complete days where {DAYS_KEPT} are expected")
    particles, *scales = DESCRIPTION.variables
    hours = np.arange(24) + 0.5
    return CurveTable(
        hours=hours,
        hours_x=hours,
        domain=(0.0, 24.0),
        domain_x=(0.0, 24.0),
        y=particles.apply(y[keep]),
        x=np.stack([scale.apply(x[keep, j]) for j, scale in enumerate(scales)], axis=1),
        y_scale=particles,
        x_scales=tuple(scales),
        y_party=particles.holder,
        predictor_names=np.array([scale.name for scale in scales]),
        party_names=np.array([scale.holder for scale in scales]),
        block=np.array([(day - days[0]).days // BLOCK_DAYS for day in days])[keep],
        dates=np.array([day.isoformat() for day in days])[keep],
        sha256=sha256,
        notes=NOTES + notes,
    )


def _days(columns: dict[str, list[str]]) -> list[date]:
    """The days of the file, one after the other with 24 hours each, or a named error."""
    year, month, day, hour = (to_numbers(columns[name], name) for name in ("year", "month", "day", "hour"))
    require(hour.size > 0 and hour.size % 24 == 0, f"{hour.size} rows are no whole days")
    require(bool(np.array_equal(hour, np.arange(hour.size) % 24)), "the hours do not run from 0 to 23 in each day")
    try:
        first = date(int(year[0]), int(month[0]), int(day[0]))
    except ValueError:
        fail("the first row has no date")
    days = [first + timedelta(days=place) for place in range(hour.size // 24)]
    expected = np.repeat([(d.year, d.month, d.day) for d in days], 24, axis=0)
    require(bool(np.array_equal(np.stack([year, month, day], axis=1), expected)), "the dates are not consecutive days")
    return days


def _predictors(columns: dict[str, list[str]]) -> np.ndarray:
    """Predictor curves in the units of their scales, shape (days, 7, 24); none may be missing."""
    direction = np.array(columns["cbwd"])
    series = (
        _hourly(columns, "TEMP"),
        _hourly(columns, "DEWP"),
        _hourly(columns, "PRES"),
        _hourly(columns, "Iws", log=True),
        (direction == "NW").astype(float),
        (direction == "SE").astype(float),
        (_hourly(columns, "Ir") > 0).astype(float),
    )
    curves = np.stack([values.reshape(-1, 24) for values in series], axis=1)
    for j, predictor in enumerate(DESCRIPTION.predictors):
        require(not np.isnan(curves[:, j]).any(), f"{predictor.name} has missing hours")
    return curves


def _hourly(columns: dict[str, list[str]], name: str, *, log: bool = False) -> np.ndarray:
    """One column as numbers, or log(1 + number), which needs values that are not negative."""
    values = to_numbers(columns[name], name)
    if log:
        require(not (values < 0).any(), f"{name} has a negative value")
        return np.asarray(np.log1p(values))
    return values
