"""Flights from New York 2013 by airline: the arrival delay and seven numbers known when a flight lands.

The source of study 001 takes the seven variables as its R package has them.  Here the two clock times are hours of the
day (1830 is 18.5), and each variable has a public scale on which most of its values lie in [-1, 1]: calendar, clock and
round numbers, with the reason beside each.  They centre this sample to .06 of a scale; no value is read to choose them.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ..carriers import zip_member
from ..catalogue import RESOURCES
from ..curves import Scale, read_columns, require, to_numbers
from ..fetch import read_files
from ..tables import ClientTable

RESOURCE = "nyc_flights"
RESPONSE = "arr_delay"
SCALES = {
    "month": Scale("month", 6.5, 5.5, "1 to 12"),
    "day": Scale("day", 16.0, 15.0, "1 to 31"),
    "dep_delay": Scale("minutes", 15.0, 60.0, "late is more than 15 minutes; an hour is a heavy delay"),
    "arr_time": Scale("hours of the day", 15.0, 9.0, "6 to 24 h"),
    "sched_arr_time": Scale("hours of the day", 15.0, 9.0, "6 to 24 h"),
    "air_time": Scale("minutes", 150.0, 150.0, "0 to 5 hours"),
    "distance": Scale("miles", 1000.0, 1000.0, "up to 2000 miles, the medium range"),
}
CLOCKS = ("arr_time", "sched_arr_time")
SMALL, POOLED = ("FL", "AS", "F9", "YV", "HA", "OO"), "six small airlines"
ROWS, LARGE, POOLED_ROWS = 327346, 10, 5480
NOTES = (
    "The record of the privacy unit is a flight, not a passenger.",
    "Only ten airlines have at least 5 000 complete flights; the six small ones (FL, AS, F9, YV, HA, OO) are one "
    "client here, where the source has eleven airlines of 5 000 flights each.",
    "Air time and distance are nearly collinear.",
)


def load(folder: str | Path) -> ClientTable:
    """Read ``folder`` (such as ``resources/nyc_flights``, filled by ``datasets.fetch``)."""
    contents, sha256, notes = read_files(RESOURCE, folder)
    table = zip_member(contents["flights.csv.zip"], "flights.csv", "flights.csv.zip")
    columns = read_columns(table, (*SCALES, RESPONSE, "carrier"), "flights.csv")
    values = {name: to_numbers(columns[name], name) for name in (*SCALES, RESPONSE)}
    for name in CLOCKS:
        values[name] = values[name] // 100 + values[name] % 100 / 60
    raw = np.stack([values[name] for name in SCALES], axis=1)
    keep = np.isfinite(raw).all(axis=1) & np.isfinite(values[RESPONSE])
    carrier = np.array(columns["carrier"])[keep]
    carrier = np.where(np.isin(carrier, SMALL), POOLED, carrier)
    found, counts = np.unique(carrier, return_counts=True)
    clients = tuple(str(name) for name in found[np.argsort(-counts, kind="stable")])
    if sha256["flights.csv.zip"] == RESOURCES[RESOURCE].members[0].sha256:
        require(int(keep.sum()) == ROWS, f"{keep.sum()} complete flights where {ROWS} are expected")
        require(len(clients) == LARGE + 1, f"{len(clients)} clients where {LARGE + 1} are expected")
        pooled = int(np.sum(carrier == POOLED))
        require(pooled == POOLED_ROWS, f"{pooled} flights of small airlines where {POOLED_ROWS} are expected")
    scales = tuple(SCALES.values())
    X = np.stack([scale.apply(raw[keep, j]) for j, scale in enumerate(scales)], axis=1).astype(np.float32)
    number = {name: place for place, name in enumerate(clients)}
    return ClientTable(
        X=X,
        y=values[RESPONSE][keep],
        client=np.array([number[name] for name in carrier]),
        names=np.array(list(SCALES)),
        clients=clients,
        classes=(),
        scales=scales,
        sha256={"flights.csv.zip": sha256["flights.csv.zip"]},
        notes=NOTES + notes,
    )
